//! Retractions: blocks that the CLI abandons, records that it supersedes, answers of a model that
//! it falls back from, and text that continues where it was cut off.

use super::*;

/// The end of a message, made up by the CLI.
fn abandon(id: &str, from: u64) -> String {
    over().replacen(
        '{',
        &format!(r#"{{"abandoned_blocks":{{"api_message_id":"{id}","from_block_index":{from}}},"#),
        1,
    )
}

/// A record with a uuid and more fields.
fn with(record: &str, fields: &str) -> String {
    record.replacen('{', &format!("{{{fields},"), 1)
}

#[test]
pub(crate) fn text_of_a_message_that_broke_off_is_retracted() {
    check(
        &[
            message("a"),
            text(0, "This stream breaks in th"),
            stop(0),
            abandon("a", 0),
            snapshot("b", &text_block("Second try is whole.")),
            result("Second try is whole."),
        ],
        &[
            r#"text a "This stream breaks in th""#,
            r#"retract a leaves "" "" without []"#,
            r#"text b "Second try is whole.""#,
            r#"ok "Second try is whole.""#,
        ],
    );
}

#[test]
pub(crate) fn an_abandoned_call_never_starts_and_what_came_before_it_stays() {
    let go_on = r#"{"type":"user","isSynthetic":true,"message":{"content":[{"type":"text","text":"Your response above was cut off mid-stream. Resume directly from where it stops."}]}}"#;
    check(
        &[
            message("a"),
            think(0, "hm"),
            text(1, "About to call."),
            stop(1),
            tool(2, "t", "{}"),
            json(2, r#"{"command":"ec"#),
            think(3, "lost"),
            abandon("a", 2),
            go_on.into(),
            message("b"),
            text(0, "Second try."),
            stop(0),
            over(),
            result("Second try."),
        ],
        &[
            r#"think a#0 "hm""#,
            r#"text a "About to call.""#,
            r#"input t Bash {"command":"ec"}"#,
            r#"think a#3 "\n\nlost""#,
            r#"retract a leaves "About to call." "hm" without ["t"]"#,
            "record user/-",
            r#"text b "\n\nSecond try.""#,
            r#"ok "About to call.\n\nSecond try.""#,
        ],
    );
}

#[test]
fn a_message_goes_on_in_the_next_only_where_the_cli_asked_for_it() {
    let by_a_person = r#"{"type":"user","message":{"content":"Resume directly from there."}}"#;
    let of_another_matter = r#"{"type":"user","isSynthetic":true,"message":{"content":"Look."}}"#;
    for user in [by_a_person, of_another_matter] {
        check(
            &records![spoken("a", "one"), one(user), spoken("b", "two"), one(result("two"))],
            &[r#"text a "one""#, "record user/-", r#"text b "\n\ntwo""#, r#"ok "two""#],
        );
    }
}

#[test]
pub(crate) fn blocks_abandoned_before_any_event_cause_no_event() {
    check(&[message("a"), tool(0, "t", "{}"), abandon("a", 0), result("x")], &[r#"ok "x""#]);
    check(&[abandon("z", 0), result("x")], &[r#"ok "x""#]);
}

#[test]
pub(crate) fn a_record_that_supersedes_others_retracts_them() {
    check(
        &[
            with(&snapshot("a", &text_block("one")), r#""uuid":"u1""#),
            with(&snapshot("a", &text_block("two")), r#""uuid":"u2""#),
            with(&snapshot("a", &call("t", "{}")), r#""uuid":"u3""#),
            with(
                &snapshot("a", &text_block("three")),
                r#""uuid":"u4","supersedes":["u2","u3","u9"]"#,
            ),
            result("onethree"),
        ],
        &[
            r#"text a "one""#,
            r#"text a "two""#,
            "start t Bash {}",
            r#"retract a leaves "one" "" without []"#,
            "result t Bash incompletenull",
            r#"text a "\n\nthree""#,
            r#"ok "onethree""#,
        ],
    );
}

#[test]
pub(crate) fn a_fallback_to_another_model_retracts_what_it_names() {
    let fallback = |names: &str| {
        format!(
            r#"{{"type":"system","subtype":"model_refusal_fallback","retracted_message_uuids":[{names}]}}"#
        )
    };
    check(
        &[
            message("a"),
            text(0, "I can"),
            with(&snapshot("a", &text_block("I can")), r#""uuid":"u1""#),
            stop(0),
            over(),
            fallback(r#""u1""#),
            fallback(r#""u1""#),
            message("b"),
            text(0, "Sure."),
            result("Sure."),
        ],
        &[
            r#"text a "I can""#,
            "notice system/model_refusal_fallback {}",
            r#"retract a leaves "" "" without []"#,
            "notice system/model_refusal_fallback {}",
            r#"text b "Sure.""#,
            r#"ok "Sure.""#,
        ],
    );
}

#[test]
pub(crate) fn an_aborted_message_is_reported_and_stays() {
    let interrupted = r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
    let end = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] x"]}"#;
    check(
        &[
            message("a"),
            text(0, "half a wo"),
            with(&snapshot("a", &text_block("half a wo")), r#""aborted":true"#),
            interrupted.into(),
            stop(0),
            over(),
            end.into(),
        ],
        &[
            r#"text a "half a wo""#,
            r#"notice assistant/aborted {"message_id":"a"}"#,
            "record user/-",
            r#"error "half a wo" interrupted"#,
        ],
    );
}

#[test]
pub(crate) fn t2_a_message_cut_off_by_the_output_limit_goes_on_in_the_next() {
    let end = |reason: &str| {
        event(&format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#))
    };
    check(
        &[
            message("a"),
            text(0, "cut in the mid"),
            end("max_tokens"),
            over(),
            message("b"),
            text(0, "dle of"),
            end("max_tokens"),
            over(),
            message("c"),
            text(0, " a word."),
            end("end_turn"),
            over(),
            result(" a word."),
            message("d"),
            text(0, "Next."),
            over(),
            result("Next."),
        ],
        &[
            r#"text a "cut in the mid""#,
            r#"text b "dle of""#,
            r#"text c " a word.""#,
            r#"ok "cut in the middle of a word.""#,
            r#"text d "Next.""#,
            r#"ok "Next." turn 2"#,
        ],
    );
}

#[test]
pub(crate) fn an_unfinished_message_is_retracted_when_another_replaces_it() {
    // CLIs up to 2.1.148 print nothing about the failure: neither a stop nor what is abandoned.
    let whole = format!("{},{}", text_block("Counting."), call("u", "{}"));
    let broken = [
        message("a"),
        block(0, r#"{"type":"text","text":""}"#),
        text(0, "Counting."),
        snapshot("a", &text_block("Counting.")),
        stop(0),
        tool(1, "t", "{}"),
        json(1, r#"{"command":"wc"#),
    ];
    let retracted = r#"retract a leaves "" "" without ["t"]"#;
    let first = [r#"text a "Counting.""#, r#"input t Bash {"command":"wc"}"#, retracted];
    check(
        &records![
            broken.clone(),
            [
                snapshot("b", &whole),
                tool_result("u", "4"),
                snapshot("c", &text_block("Four.")),
                result("Four.")
            ]
        ],
        &[
            &first[..],
            &[
                r#"text b "Counting.""#,
                "start u Bash {}",
                r#"result u Bash "4""#,
                r#"text c "\n\nFour.""#,
                r#"ok "Counting.\n\nFour.""#,
            ],
        ]
        .concat(),
    );
    let streamed = records![broken, spoken("b", "Again."), one(result("Again."))];
    check(&streamed, &[&first[..], &[r#"text b "Again.""#, r#"ok "Again.""#]].concat());
}

#[test]
pub(crate) fn a_message_that_only_lacks_its_end_is_not_retracted() {
    // The block has stopped or was never started, so the message did not break off.
    for open in [vec![message("a"), text(0, "one"), stop(0)], vec![message("a"), text(0, "one")]] {
        check(
            &records![open, [snapshot("b", &text_block("two")), result("two")]],
            &[r#"text a "one""#, r#"text b "\n\ntwo""#, r#"ok "two""#],
        );
    }
}

#[test]
pub(crate) fn a_refused_message_is_retracted_when_the_model_is_asked_again() {
    let asked = r#"{"type":"user","isSynthetic":true,"refused_message_id":"a","message":{"content":[{"type":"text","text":"Your response above was stopped by a safety classifier."}]}}"#;
    check(
        &records![spoken("a", "Here is how"), one(asked), spoken("b", "No."), one(result("No."))],
        &[
            r#"text a "Here is how""#,
            r#"retract a leaves "" "" without []"#,
            "record user/-",
            r#"text b "No.""#,
            r#"ok "No.""#,
        ],
    );
}

#[test]
pub(crate) fn t2_without_stream_events_the_record_between_says_that_the_next_message_goes_on() {
    let asked = r#"{"type":"user","isSynthetic":true,"message":{"content":"Output token limit hit. Resume directly."}}"#;
    check(
        &[
            snapshot("a", &text_block("one, t")),
            asked.into(),
            snapshot("b", &text_block("wo.")),
            result("wo."),
        ],
        &[r#"text a "one, t""#, "record user/-", r#"text b "wo.""#, r#"ok "one, two.""#],
    );
    // The same words by a person are not such a record.
    let by_person = asked.replace(r#""isSynthetic":true,"#, "");
    check(
        &[
            snapshot("a", &text_block("one, t")),
            by_person,
            snapshot("b", &text_block("wo.")),
            result("wo."),
        ],
        &[r#"text a "one, t""#, "record user/-", r#"text b "\n\nwo.""#, r#"ok "wo.""#],
    );
}

#[test]
pub(crate) fn t7_an_empty_block_has_no_snapshot_and_shifts_no_other() {
    let empty = block(0, r#"{"type":"text","text":""}"#);
    let open = [message("a"), empty, stop(0), block(1, r#"{"type":"text","text":""}"#)];
    let shown = with(&snapshot("a", &text_block("one")), r#""uuid":"u1""#);
    let again = with(&snapshot("b", &text_block("two")), r#""uuid":"u2","supersedes":["u1"]"#);
    check(
        &records![open.clone(), [text(1, "one"), shown, stop(1), over(), again, result("two")]],
        &[
            r#"text a "one""#,
            r#"retract a leaves "" "" without []"#,
            r#"text b "two""#,
            r#"ok "two""#,
        ],
    );
    // The snapshot of an open call is of the block with that call.
    let shown = with(&snapshot("a", &call("t", r#"{"a":1,"b":2}"#)), r#""uuid":"u1""#);
    let again = with(&snapshot("b", &text_block("two")), r#""uuid":"u2","supersedes":["u1"]"#);
    let begun = [message("a"), tool(3, "t", "{}"), json(3, r#"{"a":1,"#)];
    check(
        &records![begun, [shown, again, over(), result("two")]],
        &[
            r#"input t Bash {"a":1}"#,
            r#"start t Bash {"a":1,"b":2}"#,
            r#"retract a leaves "" "" without ["t"]"#,
            "result t Bash incompletenull",
            r#"text b "two""#,
            r#"ok "two""#,
        ],
    );
    check(
        &records![
            open,
            [
                text(1, "on"),
                snapshot("a", &text_block("one")),
                stop(1),
                abandon("a", 1),
                result("x")
            ]
        ],
        &[r#"text a "on""#, r#"text a "e""#, r#"retract a leaves "" "" without []"#, r#"ok "x""#],
    );
}
