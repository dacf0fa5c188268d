//! Reasoning (R1), session ids, and token counts.

use super::*;

#[test]
pub(crate) fn r1_cumulative_with_a_blank_line_between_blocks() {
    check(
        &[
            message("a"),
            block(0, r#"{"type":"thinking","thinking":""}"#),
            think(0, "Let "),
            think(0, "me"),
            delta(0, "signature_delta", "signature", "abc"),
            stop(0),
            block(1, r#"{"type":"redacted_thinking","data":"xx"}"#),
            stop(1),
            think(2, "two"),
            snapshot(
                "a",
                r#"{"type":"thinking","thinking":"Let me"},{"type":"thinking","thinking":"two"}"#,
            ),
            stop(2),
        ],
        &[
            r#"think a#0 "Let ""#,
            r#"think a#0 "me""#,
            r#"think a#2 "\n\ntwo""#,
            r#"incomplete "" no_result"#,
        ],
    );
}

#[test]
pub(crate) fn r85381_text_in_the_start_block_is_emitted_if_no_delta_repeats_it() {
    let seeded = block(0, r#"{"type":"thinking","thinking":"seed"}"#);
    let end = r#"incomplete "" no_result"#;
    let start = message("a");
    check(&[start.clone(), seeded.clone(), stop(0)], &[r#"think a#0 "seed""#, end]);
    check(
        &[start.clone(), seeded.clone(), think(0, "ling"), stop(0)],
        &[r#"think a#0 "seedling""#, end],
    );
    check(
        &[start.clone(), seeded.clone(), think(0, "se"), think(0, "ed"), stop(0)],
        &[r#"think a#0 "seed""#, end],
    );
    let snapshot = snapshot("a", r#"{"type":"thinking","thinking":"seed"}"#);
    check(&[start, seeded, snapshot, stop(0)], &[r#"think a#0 "seed""#, end]);
}

#[test]
pub(crate) fn r1_snapshot_only_blocks_are_emitted_once() {
    let thought = snapshot("a", r#"{"type":"thinking","thinking":"whole"}"#);
    check(
        &[thought.clone(), thought, snapshot("a", &text_block("hi"))],
        &[r#"think a#0 "whole""#, r#"text a "hi""#, r#"incomplete "hi" no_result"#],
    );
}

#[test]
pub(crate) fn a_session_is_emitted_first_and_on_change() {
    check(
        &[
            r#"{"type":"system","subtype":"hook_started","session_id":" s "}"#.into(),
            r#"{"type":"system","subtype":"init","session_id":"s","model":"m","claude_code_version":"2"}"#.into(),
            r#"{"type":"keep_alive","session_id":"s"}"#.into(),
            r#"{"type":"system","subtype":"init","session_id":"s","model":"m","claude_code_version":"2"}"#.into(),
            r#"{"type":"keep_alive","session_id":"","conversationId":"s2"}"#.into(),
            result("x"),
        ],
        &[
            "session s",
            "record system/hook_started",
            "session s m 2",
            "record system/init",
            "record keep_alive/-",
            "record system/init",
            "session s2",
            "record keep_alive/-",
            r#"ok "x""#,
        ],
    );
}

#[test]
pub(crate) fn usage_of_messages_and_of_the_turn() {
    let start = r#"{"type":"message_start","message":{"id":"a","usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":1}}}"#;
    let change = r#"{"type":"message_delta","usage":{"output_tokens":9}}"#;
    let placeholder =
        r#"{"type":"assistant","message":{"id":"a","usage":{"output_tokens":1},"content":[]}}"#;
    let total = r#"{"usage":{"input_tokens":10,"output_tokens":-1,"cache_creation_input_tokens":"2"},"type":"result","result":"x"}"#;
    check(
        &[
            event(start),
            placeholder.into(),
            event(change),
            under("p", &event(change)),
            total.into(),
        ],
        &["usage 7 9 3 0", "usage 10 0 0 0 final", r#"ok "x" of 10"#],
    );
}
