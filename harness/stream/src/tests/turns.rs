//! Turns: each result ends one, and the next starts afresh.

use super::*;

/// The first record of a turn in live mode.
fn init() -> String {
    system("init", "")
}

const OF_INIT: &str = "record system/init";

/// A prompt that the CLI repeats.
fn replayed(uuid: &str, text: &str) -> String {
    format!(
        r#"{{"type":"user","message":{{"content":"{text}"}},"isReplay":true,"uuid":"{uuid}","parent_tool_use_id":null}}"#
    )
}

/// A result that names the messages of its turn.
fn result_of(text: &str, messages: &str) -> String {
    result(text).replacen('{', &format!(r#"{{"begun_message_ids":[{messages}],"#), 1)
}

#[test]
pub(crate) fn t2_each_result_ends_a_turn() {
    let error = r#"{"type":"result","is_error":true,"result":"no"}"#;
    check(
        &[result("one"), error.into(), result("two"), init(), result("one")],
        &[
            r#"ok "one""#,
            r#"error "" other turn 2"#,
            r#"ok "two" turn 3"#,
            OF_INIT,
            r#"ok "one" turn 4"#,
        ],
    );
}

#[test]
pub(crate) fn b3_a_turn_without_a_result_has_an_outcome_at_the_end() {
    let cut = r#"incomplete "" no_result turn 2"#;
    let api = r#"{"type":"assistant","error":"x","message":{"id":"e","content":[]}}"#;
    for (record, event, opens) in [
        (init(), Some(OF_INIT), true),
        (replayed("u", "hi"), Some(r#"heard u "hi""#), true),
        (user(&text_block("hi")), Some("record user/-"), true),
        (message("b"), None, true),
        (api.to_owned(), None, true),
        // What may follow the last turn.
        (replayed("u", "<local-command-stdout>x"), Some("record user/-"), false),
        (user(&text_block("[Request interrupted by user]")), Some("record user/-"), false),
        (r#"{"type":"keep_alive"}"#.to_owned(), Some("record keep_alive/-"), false),
        (event(r#"{"type":"ping"}"#), None, false),
        (over(), None, false),
        (under("p", &message("b")), None, false),
    ] {
        let mut expect = vec![r#"ok "x""#];
        expect.extend(event);
        let records = [result("x"), record];
        let (mut seen, _) = run_all(records.join("\n").as_bytes());
        if opens {
            let last = seen.pop().unwrap();
            assert!(last.starts_with(r#"incomplete "" no_result"#) && last.contains("turn 2"));
        }
        seen.retain(|event| !event.starts_with("notice"));
        assert_eq!(seen, expect, "{records:?}");
    }
    check(&[init()], &[OF_INIT, r#"incomplete "" no_result"#]);
    check(&[result("x"), init()], &[r#"ok "x""#, OF_INIT, cut]);
}

#[test]
pub(crate) fn t1_a_turn_begins_with_an_empty_text() {
    check(
        &records![
            [message("a"), think(0, "why"), stop(0), text(1, "<think>so"), over()],
            [result("one"), message("b"), think(0, "how"), stop(0), text(1, "two")],
        ],
        &[
            r#"think a#0 "why""#,
            r#"text a "<think>so""#,
            r#"ok "one""#,
            r#"think b#0 "how""#,
            r#"text b "two""#,
            r#"incomplete "two" no_result turn 2"#,
        ],
    );
    // An id may be used again, and so may a message without one.
    for id in ["a", ""] {
        check(
            &[
                snapshot(id, &text_block("one")),
                result("one"),
                snapshot(id, &text_block("two")),
                result("two"),
            ],
            &[
                &format!(r#"text {id} "one""#),
                r#"ok "one""#,
                &format!(r#"text {id} "two""#),
                r#"ok "two" turn 2"#,
            ],
        );
    }
}

#[test]
pub(crate) fn t4_a_snapshot_of_an_ended_turn_adds_nothing() {
    check(
        &records![spoken("a", "one"), [result("one"), snapshot("a", &text_block("one"))]],
        &[r#"text a "one""#, r#"ok "one""#],
    );
}

#[test]
pub(crate) fn t6_an_error_of_one_turn_is_none_of_the_next() {
    let api = r#"{"type":"assistant","error":"overloaded","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}"#;
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 529"}"#;
    let silent = r#"{"type":"result","subtype":"error_during_execution"}"#;
    let notice = r#"notice assistant/api_error {"text":"API Error: 529","error":"overloaded"}"#;
    check(
        &[api.into(), failed.into(), init(), silent.into()],
        &[notice, r#"error "" overloaded"#, OF_INIT, r#"error "" execution turn 2"#],
    );
    let unmarked = snapshot("e", &text_block("API Error: 529"));
    check(
        &records![[unmarked, failed.into()], spoken("b", "Fine."), one(result("Fine."))],
        &[r#"error "" overloaded"#, r#"text b "Fine.""#, r#"ok "Fine." turn 2"#],
    );
}

#[test]
pub(crate) fn t5_an_interrupted_turn_keeps_its_text_and_ends_before_the_next() {
    // 2.1.330: no key `result`.
    let stopped = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["[ede_diagnostic] x"],"begun_message_ids":["a"]}"#;
    // 1.0.128 names no reason and no error.
    let old = r#"{"type":"result","subtype":"error_during_execution","is_error":false}"#;
    for (stopped, began) in [(stopped, r#" began ["a"]"#), (old, "")] {
        check(
            &records![
                [init()],
                spoken("a", "Half."),
                [user(&text_block("[Request interrupted by user]")), stopped.into(), init()],
                spoken("b", "Whole."),
                one(result("Whole.")),
            ],
            &[
                OF_INIT,
                r#"text a "Half.""#,
                "record user/-",
                &format!(r#"error "Half." interrupted{began}"#),
                OF_INIT,
                r#"text b "Whole.""#,
                r#"ok "Whole." turn 2"#,
            ],
        );
    }
}

#[test]
pub(crate) fn a_late_result_does_not_end_the_next_turn() {
    let late = result_of("one", r#""a""#).replace("success", "error_during_execution");
    check(
        &records![
            spoken("a", "one"),
            [result_of("one", r#""a""#), init(), message("b"), text(0, "tw"), late.clone()],
            [text(0, "o"), over(), result_of("two", r#""b""#), late],
        ],
        &[
            r#"text a "one""#,
            r#"ok "one" began ["a"]"#,
            OF_INIT,
            r#"text b "tw""#,
            "diagnostic late-result 9",
            r#"text b "o""#,
            r#"ok "two" turn 2 began ["b"]"#,
            "diagnostic late-result 13",
        ],
    );
    // Results that were held back name the messages of their turns.
    check(
        &records![
            spoken("a", "one"),
            spoken("b", "two"),
            [result_of("one", r#""a""#), result_of("two", r#""b""#)],
        ],
        &[
            r#"text a "one""#,
            r#"text b "\n\ntwo""#,
            r#"ok "one" began ["a"]"#,
            r#"ok "two" turn 2 began ["b"]"#,
        ],
    );
}

#[test]
pub(crate) fn a_result_that_comes_in_the_next_turn_takes_nothing_of_it() {
    // The turn of `a` was interrupted, and the next one has begun before its result comes.
    let stopped = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","begun_message_ids":["a"],"user_message_uuids":["u1"]}"#;
    check(
        &records![
            [init(), replayed("u1", "M1")],
            spoken("a", "Half"),
            [init(), replayed("u2", "M2"), message("b"), think(0, "why"), stop(0), text(1, "Wh")],
            [
                tool(2, "t", "{}"),
                json(2, r#"{"a":"#),
                stopped.into(),
                json(2, "1}"),
                stop(2),
                over()
            ],
            [tool_result("t", "ok")],
            spoken("c", "Done."),
            one(result_of("Done.", r#""b","c""#)),
        ],
        &[
            OF_INIT,
            r#"heard u1 "M1""#,
            r#"text a "Half""#,
            OF_INIT,
            r#"heard u2 "M2""#,
            r#"think b#0 "why""#,
            r#"text b "\n\nWh""#,
            r#"retract b leaves "Half" "" without []"#,
            r#"error "Half" interrupted answers ["u1"] began ["a"]"#,
            r#"think b#0 "why""#,
            r#"text b "Wh""#,
            r#"start t Bash {"a":1}"#,
            r#"result t Bash "ok""#,
            r#"text c "\n\nDone.""#,
            r#"ok "Wh\n\nDone." turn 2 answers ["u2"] began ["b", "c"]"#,
        ],
    );
    // The next turn has no message yet.
    check(
        &records![
            [init()],
            spoken("a", "one"),
            [init(), result_of("one", r#""a""#)],
            spoken("b", "tw"),
        ],
        &[
            OF_INIT,
            r#"text a "one""#,
            OF_INIT,
            r#"ok "one" began ["a"]"#,
            r#"text b "tw""#,
            r#"incomplete "tw" no_result turn 2"#,
        ],
    );
    check(
        &records![[init()], spoken("a", "one"), [init(), result_of("one", r#""a""#)]],
        &[
            OF_INIT,
            r#"text a "one""#,
            OF_INIT,
            r#"ok "one" began ["a"]"#,
            r#"incomplete "" no_result turn 2"#,
        ],
    );
}

#[test]
pub(crate) fn a_repeated_result_ends_no_turn() {
    check(
        &[
            result("x"),
            result("x"),
            format!("\u{feff}{}\r", result("x")),
            result("x").replacen('{', r#"{"new":{"result":"y"},"#, 1),
            r#"{"type":"keep_alive"}"#.into(),
            result("x"),
        ],
        &[
            r#"ok "x""#,
            "diagnostic repeated-result 2",
            "diagnostic repeated-result 3",
            "diagnostic repeated-result 4",
            "record keep_alive/-",
            r#"ok "x" turn 2"#,
        ],
    );
}

#[test]
pub(crate) fn t2_text_held_back_is_used_by_the_result_that_comes_for_it() {
    let streamed = [r#"text a "one""#, r#"text b "\n\ntwo""#, r#"text c "\n\nthree""#];
    let turns = records![spoken("a", "one"), spoken("b", "two"), spoken("c", "three")];
    check(
        &records![turns.clone(), [result("one"), result("three"), result("")]],
        &[&streamed[..], &[r#"ok "one""#, r#"ok "three" turn 2"#, r#"ok "" turn 3"#]].concat(),
    );
    check(
        &records![turns, [result("one")], spoken("d", "four"), [result("two"), result("four")]],
        &[
            &streamed[..],
            &[r#"ok "one""#, r#"text d "four""#, r#"ok "two" turn 2"#, r#"ok "four" turn 3"#],
        ]
        .concat(),
    );
}

#[test]
pub(crate) fn u3_calls_end_with_their_turn_except_those_of_a_background_subagent() {
    check(
        &records![
            called("a", "p"),
            [tool_result("p", "launched"), under("p", &snapshot("s", &call("u", "{}")))],
            called("b", "q"),
            one(under("q", &snapshot("t", &call("v", "{}")))),
            one(under("u", &snapshot("w", &call("x", "{}")))),
            [result("x"), under("p", &tool_result("u", "done")), tool_result("q", "late")],
        ],
        &[
            r#"start p Bash {"a":1}"#,
            r#"result p Bash "launched""#,
            "start u Bash {} @p",
            r#"start q Bash {"a":1}"#,
            "start v Bash {} @q",
            "start x Bash {} @u",
            "result q Bash incompletenull",
            "result v Bash incompletenull @q",
            r#"ok "x""#,
            r#"result u Bash "done" @p"#,
            "diagnostic duplicate-result 17",
            "result x Bash incompletenull @u",
        ],
    );
}

#[test]
pub(crate) fn an_outcome_names_the_messages_that_it_answers() {
    let lifecycle = |uuid: &str, state: &str| {
        format!(r#"{{"type":"command_lifecycle","command_uuid":"{uuid}","state":"{state}"}}"#)
    };
    let status = system("status", r#","status":"requesting","user_message_uuids":["u1"]"#);
    let passed = "record command_lifecycle/-";
    check(
        &[
            lifecycle("u1", "queued"),
            lifecycle("u1", "started"),
            init(),
            status,
            replayed("u1", "M1"),
            replayed("u2", "M2"),
            replayed("o", "<local-command-stdout>x"),
            result("x"),
            lifecycle("u1", "completed"),
            lifecycle("u3", "started"),
            result("y").replacen('{', r#"{"user_message_uuids":["u3","u4"],"#, 1),
            result("z").replacen('{', r#"{"origin":{"kind":"human"},"#, 1),
        ],
        &[
            passed,
            passed,
            OF_INIT,
            "record system/status",
            r#"heard u1 "M1""#,
            r#"heard u2 "M2""#,
            "record user/-",
            r#"ok "x" answers ["u1", "u2"]"#,
            passed,
            passed,
            r#"ok "y" turn 2 answers ["u3", "u4"]"#,
            r#"ok "z" turn 3"#,
        ],
    );
    check(
        &[replayed("u1", "M1")],
        &[r#"heard u1 "M1""#, r#"incomplete "" no_result answers ["u1"]"#],
    );
}

#[test]
pub(crate) fn t5_a_turn_that_has_begun_without_an_init_has_an_outcome_at_the_end() {
    let lifecycle = |state: &str| {
        format!(r#"{{"type":"command_lifecycle","command_uuid":"u2","state":"{state}"}}"#)
    };
    let passed = "record command_lifecycle/-";
    check(&[result("x"), lifecycle("queued")], &[r#"ok "x""#, passed]);
    check(
        &[result("x"), lifecycle("queued"), lifecycle("started")],
        &[r#"ok "x""#, passed, passed, r#"incomplete "" no_result turn 2 answers ["u2"]"#],
    );
    check(
        &[lifecycle("started"), result("x"), lifecycle("completed")],
        &[passed, r#"ok "x" answers ["u2"]"#, passed],
    );
}
