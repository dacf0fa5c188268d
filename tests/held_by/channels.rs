//! The test of the channels that `docs/rules.md` names; `tests/tidy.rs` compares it with the page.

held_by! {
    "S2": [s2_a_stream_is_collected], [];
}
