//! The tests of `clitape session` that `docs/rules.md` names; `tests/tidy.rs` compares them with the page.

held_by! {
    "X8": [
        x8_the_verdict_says_what_to_do,
        x8_a_session_is_found_by_its_id,
        x8_what_cannot_be_read_is_2,
    ], [];
}
