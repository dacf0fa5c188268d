//! The test of this target that `docs/rules.md` names; `tests/tidy.rs` compares it with the page.

held_by! {
    "V6": [v6_every_fault_of_the_draft_ends_in_one_answer], [];
}
