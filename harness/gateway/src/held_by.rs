//! The tests and scenarios that check each rule of `docs/rules.md` and `docs/differences.md`. A test
//! that is renamed or removed no longer compiles here; `tests/tidy.rs` compares this table with the pages.

held_by! {
    "T3": [
        publish::tests::t3_text_of_a_subagent_bears_its_parent,
    ], ["subagent", "subagent-background"];
    "U1": [
        publish::tests::u1_truncated_args_are_never_an_empty_object,
    ], ["invalid-json-input", "empty-input"];
    "U4": [telegram::compose::tests::u4_an_id_used_again_is_a_new_line], ["same-id"];
    "U5": [telegram::compose::tests::u5_tools_of_a_subagent_are_below_their_parent], [];
    "B1": [
        bus::tests::b1_seq_from_one_without_gaps,
        bus::tests::b1_at_is_tokio_time,
        bus::tests::b1_what_a_listener_publishes_comes_next_to_all_in_the_same_order,
    ], [];
    "B2": [
        notice::tests::b2_notices_are_sanitised,
        publish::tests::b2_tool_events_are_sanitised,
        sanitise::tests::b2_texts,
        sanitise::tests::b2_values,
        sanitise::tests::b2_long_text_is_cut_with_a_mark,
        sanitise::tests::b2_image_and_document_data_is_replaced_by_its_size,
        sanitise::tests::b2_open_text_withholds_what_may_become_a_secret,
        sanitise::tests::b2_open_args_withhold_text_at_their_end_only,
        sanitise::random::b2_no_planted_secret_survives,
        sanitise::random::b2_no_planted_secret_survives_a_cut,
        sanitise::random::b2_open_text_only_grows,
        sanitise::random::b2_sanitising_twice_is_sanitising_once,
        sanitise::random::b2_tool_lines_contain_no_planted_secret,
        sanitise::table::tests::b2_secret_names,
        sanitise::value::tests::b2_references,
        display::tests::b2_tool_lines_are_redacted_and_short,
        display::shell::tests::b2_no_secret_is_shown,
    ], ["secrets", "secrets-asked", "mcp-image"];
    "B3": [
        bus::tests::b3_nothing_after_the_end,
        bus::tests::b3_one_start,
        run::tests::several::b3_nothing_comes_after_the_end_when_a_callback_publishes,
        run::tests::b3_one_start_and_one_end_whatever_happens,
        ending::tests::b3_the_error_is_one_short_line_without_secrets,
    ], [];
    "G1": [
        run::tests::g1_callbacks_run_in_order_one_at_a_time,
        run::tests::g1_what_is_taken_back_reaches_the_channel_in_its_turn,
        run::tests::several::g1_a_slow_channel_delays_no_other,
        run::tests::conformance::g1_bridge_case_1_slow_and_throwing_callbacks,
        run::tests::conformance::g1_bridge_case_2_order_across_bridges,
    ], ["three-tools"];
    "G2": [
        run::tests::g2_a_failing_callback_is_counted_and_the_later_ones_come,
        run::tests::g2_a_callback_that_never_settles_is_given_up,
        run::tests::several::g2_failures_are_counted_by_channel,
        bus::tests::g2_a_listener_that_panics_stops_no_other,
    ], ["stuck-callback"];
    "G3": [
        run::tests::g3_a_silent_run_reaches_no_callback,
        run::tests::g3_runs_do_not_mix,
        run::tests::conformance::g3_bridge_case_3_silent,
    ], ["silent-run"];
    "G4": [
        messaging::tests::g4_tools_that_send_a_message,
        run::tests::delivery::g4_no_progress_comes_once_a_message_was_sent,
        run::tests::delivery::g4_nothing_is_held_back_where_no_message_was_sent,
        run::tests::delivery::g4_a_run_that_fails_after_the_message_says_so,
        run::tests::delivery::g4_the_follow_up_path_bridges_tools_only,
        run::tests::delivery::g4_names_can_be_added,
    ], ["message-tool"];
    "G5": [
        run::tests::g5_starts_and_updates_go_to_one_callback_and_results_to_another,
    ], ["three-tools"];
    "G6": [
        run::tests::typing::g6_typing_begins_in_the_turn_of_the_first_tool,
        run::tests::typing::g6_typing_ends_when_the_run_fails_or_breaks,
        run::tests::typing::g6_typing_ends_when_the_run_is_dropped,
        run::tests::typing::g6_typing_ends_when_the_final_message_panics,
        telegram::tests::g6_the_sign_is_renewed_and_never_comes_after_the_final_message,
        telegram::tests::g6_the_sign_ends_with_its_channel,
    ], ["many-tools"];
    "G7": [
        run::tests::g7_the_end_is_published_after_the_final_message,
        run::tests::g7_a_dropped_run_leaves_nothing_behind,
        run::tests::ends::g7_no_listener_is_left_after_success,
        run::tests::ends::g7_no_listener_is_left_after_an_error,
        run::tests::ends::g7_no_listener_is_left_after_an_abort,
        run::tests::ends::g7_no_listener_is_left_after_a_panic,
    ], [];
    "G8": [
        watchdog::tests::g8_the_silence_is_a_share_of_the_limit,
        conversation::tests::g8_a_message_between_two_turns_that_nobody_takes_up_is_a_stall,
        run::tests::stalled::g8_silence_is_counted_from_the_last_bytes,
        run::tests::stalled::g8_a_tool_at_work_may_be_silent_for_900_s,
        run::tests::stalled::g8_the_final_message_says_that_the_agent_was_given_up,
        run::tests::stalled::g8_the_bus_has_the_stall_and_the_open_calls,
    ], ["stalled", "stalled-resumed", "slow-lines"];
    "V1": [
        telegram::tests::v1_modes,
        telegram::compose::tests::v1_block_mode_shows_blocks_that_have_ended,
    ], ["tools-after-text"];
    "V2": [
        display::tests::v2_tool_lines,
        display::tests::v2_commands_are_explained,
        telegram::compose::tests::v2_a_line_belongs_to_its_call,
        telegram::compose::tests::v2_equal_neighbours_are_counted,
        telegram::compose::tests::v2_older_lines_fold,
        display::tests::reference::v2_lines_of_the_reference,
        display::tests::r116350_a_label_owes_nothing_to_letter_case,
        display::shell::tests::v2_other_commands_are_shown_unchanged,
    ], ["many-tools", "equal-calls", "failed-among-good", "todo-write", "web-search", "mcp-image"];
    "V3": [
        telegram::compose::tests::v3_lines_show_before_between_and_after_text,
        run::tests::v3_a_whole_run_is_one_message,
        telegram::tests::v3_a_lost_answer_opens_one_more_draft_and_no_third,
    ], ["tools-after-text", "bash-count"];
    "V4": [
        telegram::tests::v4_first_at_once_then_once_a_window_by_itself,
        telegram::tests::v4_the_window_counts_after_a_slow_request,
        telegram::compose::tests::v4_a_first_message_needs_a_line_or_thirty_characters,
    ], ["chat-slow"];
    "V5": [
        telegram::tests::v5_a_long_answer_goes_on_in_the_next_message,
        telegram::page::tests::v5_pages_end_at_words,
        telegram::page::tests::v5_code_stays_code,
        telegram::page::tests::v5_nothing_is_lost_or_doubled_at_a_seam,
        telegram::markup::properties::v5_pages_say_what_the_markdown_says,
    ], ["long-answer"];
    "V6": [
        telegram::tests::v6_429_waits_and_then_sends_the_newest_by_itself,
        telegram::tests::v6_not_modified_is_success,
        telegram::tests::v6_network_errors_back_off_and_recover,
        telegram::tests::v6_other_errors_end_the_draft,
        telegram::api::tests::a_wait_has_a_limit_and_grows,
    ], ["chat-rate-limited"];
    "V7": [
        telegram::tests::v7_no_late_edit_overwrites_the_final_message,
        telegram::tests::v7_a_call_that_never_settles_does_not_delay_the_final_message,
        telegram::tests::v7_nothing_is_sent_twice,
        ending::tests::v7_every_outcome_has_something_to_say,
        telegram::tests::v7_a_new_message_whose_answer_is_lost_is_not_sent_again,
        telegram::tests::waits::an_endless_wait_causes_no_panic_and_is_reported,
    ], ["empty-answer", "max-turns", "sigint-mid-text"];
    "V8": [telegram::markup::tests::v8_markdown_becomes_html], [];
    "V9": [
        telegram::compose::tests::v9_reasoning_is_among_lines_with_the_time,
        telegram::tests::v9_a_running_call_shows_its_time_without_an_event,
    ], ["interleaved-thinking"];
    "V10": [
        telegram::markup::tests::v10_discord_and_slack_have_marks_of_their_own,
    ], ["long-answer"];
    "A1": [
        acp::tests::random::a1_a_client_can_follow_whatever_comes,
        acp::tests::cassettes::a1_a_client_can_follow_every_recorded_run,
        acp::tests::deltas::a1_a_cancelled_turn_leaves_no_call_open,
        acp::plan::tests::a1_tasks_are_entries_once_their_calls_have_ended,
    ], ["todo-write", "task-list", "subagent", "big-write", "sigint-mid-tool", "no-partials"];
    "A2": [
        acp::files::tests::a2_an_edit_of_a_known_file_shows_all_of_it,
        acp::files::tests::a2_what_is_not_known_is_null_or_the_replaced_part,
    ], ["big-write"];
    "S1": [
        sse::converter::tests::s1_a_call_is_sent_once_it_has_ended_after_the_text_before_it,
        sse::converter::tests::s1_input_comes_from_the_start,
        sse::converter::tests::s1_every_call_is_sent_before_the_end_and_none_twice,
        sse::summary::tests::s1_a_search_is_summarised,
        sse::summary::tests::s1_only_numbers_are_ids_and_each_is_listed_once,
        sse::summary::tests::s1_which_tools_are_searches,
        sse::summary::tests::s1_an_error_is_summarised_in_its_own_words,
        sse::summary::tests::s1_a_text_that_was_cut_is_summarised_by_its_whole_hits,
        sse::broker::tests::s1_a_late_reader_gets_the_backlog_and_then_the_end,
        sse::broker::tests::s1_every_reader_gets_every_event_once_and_a_slow_reader_is_dropped,
        sse::converter::tests::s1_what_a_person_waits_for_is_a_status,
    ], ["web-search", "compaction", "first-part-not-json", "three-tools", "search-snippets"];
    "S2": [
        sse::decode::tests::s2_any_cut_gives_the_same_frames,
        sse::collector::tests::s2_an_error_keeps_what_was_collected,
        sse::collector::tests::s2_found_texts_are_collected_once_and_all_turns_count,
        sse::collector::tests::s2_what_comes_twice_counts_once,
    ], ["max-turns", "stalled", "sse-error-mid-tool"];
    "Q1": [
        conversation::tests::q1_a_question_is_closed_once_whatever_comes,
        conversation::tests::q1_a_question_of_a_subagent_goes_on_in_the_next_turn,
        question::suggestion::tests::q1_every_suggestion_has_a_short_label,
        question::suggestion::tests::q1_what_a_label_has_no_room_for_is_said_in_full,
    ], [];
    "Q2": [
        question::press::tests::q2_the_data_of_a_button_is_short_and_read_back,
        telegram::action::tests::q2_presses_and_replies_are_read_from_updates,
        telegram::compose::tests::q2_the_line_of_a_call_that_waits_says_so,
        telegram::tests::questions::q2_a_question_has_buttons_until_it_is_decided,
        telegram::tests::questions::q2_a_question_is_sent_at_once_and_the_draft_says_what_waits,
        telegram::tests::questions::q2_choices_are_marked_and_chosen,
        telegram::tests::questions::q2_presses_and_replies_are_answers,
        telegram::tests::questions::q2_a_person_sees_what_the_call_would_do,
        telegram::tests::questions::q2_a_plan_is_shown_as_it_is_meant,
        telegram::tests::whole_questions::q2_the_whole_command_is_shown_whatever_its_length,
        telegram::tests::whole_questions::q2_all_that_is_asked_is_shown_whatever_the_tool,
        telegram::tests::whole_questions::q2_the_buttons_come_after_all_pages_or_not_at_all,
        telegram::tests::whole_questions::q2_nobody_says_yes_to_what_was_not_shown,
    ], ["permission-long"];
    "Q3": [
        telegram::tests::questions::q3_a_question_does_not_vanish_whatever_the_server_does,
        telegram::tests::questions::q3_a_question_that_nobody_saw_leaves_nothing_behind,
    ], [];
    "Q4": [
        question::open::tests::q4_an_answer_is_the_line_that_the_cli_takes,
        question::open::tests::q4_an_answer_that_does_not_fit_leaves_the_question_open,
        question::open::tests::q4_an_answer_that_is_late_twice_or_wrong_is_refused,
        conversation::tests::q4_an_answer_reaches_the_channels_at_once_and_counts_once,
    ], [];
    "Q5": [
        question::open::tests::q5_a_question_is_reminded_of_once_and_then_denied,
        conversation::tests::q5_a_question_that_nobody_answers_is_denied,
        conversation::tests::q5_silence_does_not_count_while_a_question_is_open,
    ], [];
    "Q6": [
        acp::tests::permissions::q6_a_call_is_announced_then_asked_about_and_then_in_progress,
        acp::tests::permissions::q6_a_question_that_is_over_is_cancelled_with_the_client,
        acp::tests::permissions::q6_a_call_that_was_never_announced_is_announced_for_the_question,
        acp::tests::permissions::q6_a_client_is_asked_about_all_of_the_input,
        acp::tests::permissions::q6_a_client_sees_what_an_option_has_no_room_for,
        acp::tests::permissions::q6_choices_are_requests_with_their_options,
        acp::tests::cassettes::q6_a_client_answers_every_recorded_question,
    ], [];
    "Q7": [
        conversation::tests::q7_each_turn_is_a_run_of_its_own,
        conversation::tests::q7_what_comes_between_two_turns_begins_none,
        conversation::tests::q7_a_subagent_that_runs_on_after_the_last_turn_ends_without_a_word,
    ], [];
    "Q8": [
        conversation::tests::q8_channels_wait_for_the_turn_before_and_buses_do_not,
    ], [];
    "Q9": [
        conversation::tests::q9_a_folded_message_is_heard,
        telegram::compose::tests::q9_a_message_that_was_heard_is_a_line,
    ], [];
    "Q10": [
        conversation::tests::q10_a_turn_that_answers_nobody_and_says_nothing_has_no_message,
        ending::tests::q10_a_turn_that_a_person_stopped_says_so_below_what_was_said,
    ], [];
    "X1": [
        session::tests::places::x1_a_working_folder_has_a_slug,
        session::tests::places::r145309_the_config_folder_of_the_environment_counts,
        session::tests::places::x1_ids_that_look_like_paths_are_refused_before_the_disk_is_touched,
        session::tests::places::x1_a_folder_is_found_in_either_spelling,
        session::tests::places::x1_links_out_of_the_projects_folder_are_refused,
        session::tests::growing::x1_a_transcript_that_grows_while_it_is_read,
        session::tests::reading::x1_every_line_is_counted_as_what_it_is,
        session::tests::random::x1_no_bytes_make_the_reader_fail,
        session::tests::rules::x2_conversations_of_the_reference,
    ], [];
    "X2": [
        session::tests::rules::x2_conversations_of_the_reference,
        session::tests::rules::x2_the_lines_of_one_message_belong_together,
        session::tests::rules::x2_a_branch_that_was_left_does_not_count,
        session::tests::rules::x2_a_message_that_was_cut,
        session::tests::rules::x2_what_the_cli_writes_when_it_is_killed,
        session::tests::random::x2_any_beginning_of_a_good_transcript_is_judged,
    ], ["resume-killed-parallel"];
    "X3": [
        session::gate::tests::x3_a_session_is_kept_once_its_transcript_shows_an_answer,
        session::gate::tests::x3_other_providers_and_paths_are_never_probed,
    ], [];
    "X4": [
        session::invalidation::tests::x4_what_each_reason_allows,
        session::invalidation::tests::x4_a_reason_gives_a_session_up_or_resumes_it,
    ], [];
    "X5": [
        session::tests::reseed::x5_histories_of_the_reference,
        session::tests::reseed::x5_the_end_of_a_long_history_is_kept,
        session::tests::reseed::x5_limits_are_a_share_of_what_the_model_takes,
        session::tests::reseed::x5_secrets_stay_behind,
        session::tests::reseed::x5_a_history_contains_only_what_was_said,
        session::tests::reseed::x5_a_history_is_refused_where_it_does_not_belong,
    ], [];
    "X6": [
        session::fingerprint::tests::x6_the_names_of_changed_settings_are_listed,
        session::fingerprint::tests::x6_a_fingerprint_that_cannot_be_read_says_so,
        session::fingerprint::tests::x6_names_are_few_short_and_without_secrets,
        session::fingerprint::tests::x6_no_value_is_ever_shown,
    ], [];
    "X7": [run::tests::stalls::x7_a_stall_after_any_read_ends_in_one_visible_outcome], [];
    "T5": [], ["sigint-mid-text", "sigint-mid-tool"];
    "T6": [], ["api-400"];
    "U3": [], ["sigint-mid-tool", "sse-error-mid-tool"];
    "R1": [], ["interleaved-thinking", "thinking"];
}
