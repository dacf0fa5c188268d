//! The tests of this target that `docs/rules.md` names; `tests/tidy.rs` compares them with the page.

held_by! {
    "S1": [
        endpoint::s1_a_public_client_reads_a_run_in_order,
        endpoint::s1_a_reader_resumes_after_its_last_id,
        endpoint::s1_a_reader_that_does_not_read_is_dropped_with_a_word,
        endpoint::s1_refusals_are_sentences,
        endpoint::s1_only_this_machine_is_served_by_default,
    ], [];
    "Q11": [
        answers::q11_a_reader_answers_a_question,
        answers::q11_an_answer_that_no_host_takes_is_to_be_posted_again,
        answers::q11_an_answer_that_is_not_taken_has_a_sentence,
    ], [];
    "S2": [
        collect::s2_a_stream_that_breaks_off_is_resumed,
        collect::s2_what_fails_later_keeps_what_was_collected,
        collect::s2_one_session_for_all_turns_deleted_once,
    ], [];
}
