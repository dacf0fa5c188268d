//! Tests the rules about stdout with a replay that keeps them, and with changes that break them.

use clitape_recording::text::plural;
use serde_json::json;

use super::*;

/// A turn with reasoning, a text, a call whose input comes in pieces and whose result has a secret, a subagent's words,
/// and an answer.
const RECORDS: &[&str] = &[
    r#"{"type":"system","subtype":"init","session_id":"s"}"#,
    r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"The notes are long, so a helper counts them for me."}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_stop","index":0}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"I look."}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_stop","index":1}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"cat notes.txt; cat mo"}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"re-notes.txt\",\"timeout\":5"}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"}"}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_stop","index":2}}"#,
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"The notes are long, so a helper counts them for me."},{"type":"text","text":"I look."},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cat notes.txt; cat more-notes.txt","timeout":5}}]}}"#,
    r#"{"type":"stream_event","event":{"type":"message_stop"}}"#,
    r#"{"type":"assistant","parent_tool_use_id":"t","message":{"id":"h1","content":[{"type":"text","text":"The helper has counted all of the notes."}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"token ghp_0123456789abcdefghijABCDEFGHIJ456789"}]}}"#,
    r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"Two lines."}]}}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"result":"Two lines.","session_id":"s"}"#,
];

/// Replays [`RECORDS`], changes the entries of a lane and a kind, and expects exactly these violations. `edit` returns
/// `false` for an entry to be removed.
fn check(
    lane: Lane,
    kind: &str,
    edit: impl Fn(&mut Entry) -> bool,
    expect: &[(FindingKind, &str)],
) {
    let stdout = RECORDS.join("\n") + "\n";
    let channel = Some(Chat::of(ChatMode::Partial));
    let setup = Setup { run: RunSpec::default(), channel, acp: None };
    let mut replay = replay(stdout.as_bytes(), &Plan::canonical(stdout.as_bytes(), 1_500), setup);
    let sound: Vec<_> = judge(&replay).into_iter().map(|broken| broken.sentence).collect();
    assert_eq!(sound, [""; 0], "nothing is changed");
    replay.entries.retain_mut(|entry| entry.lane != lane || entry.kind != kind || edit(entry));
    let found = judge(&replay);
    let kinds: Vec<_> = found.iter().map(|broken| broken.kind).collect();
    assert_eq!(kinds, expect.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), "{found:?}");
    for (broken, (_, words)) in found.iter().zip(expect) {
        assert!(broken.sentence.contains(words), "{}", broken.sentence);
    }
}

fn set(entry: &mut Entry, key: &str, value: Value) -> bool {
    entry.data_mut().insert(key.to_owned(), value);
    true
}

#[test]
fn a_call_is_what_stdout_states() {
    let (call, result) = (FindingKind::CallMisread, FindingKind::ResultMisread);
    let life = Lane::Lifecycle;
    check(life, "tool_start", |start| set(start, "args", json!({})), &[(call, "starts with “{}”")]);
    check(life, "tool_start", |start| set(start, "name", json!("Read")), &[(call, "Bash (main)")]);
    check(life, "tool_result", |end| set(end, "result", json!("x")), &[(result, "ghp_01")]);
    check(life, "tool_result", |end| set(end, "is_error", json!(true)), &[(result, "otherwise")]);
    let lost = [
        (FindingKind::CallNotStated, "it never starts"),
        (FindingKind::ToolUnbalanced, "without having started"),
        (FindingKind::BusDiffers, "the start of t is on the bus"),
    ];
    check(life, "tool_start", |_| false, &lost);
}

#[test]
fn a_growing_input_begins_as_the_input_does() {
    let life = Lane::Lifecycle;
    let misread = [(FindingKind::InputMisread, "which is no beginning of it")];
    let shrunk = |report: &mut Entry| match report.field("open").is_some() {
        true => set(report, "args", json!({"command": "cat n\u{fffd}"})),
        false => true,
    };
    check(life, "tool_input", shrunk, &misread);
    let unreported = [(FindingKind::FieldUnreported, "`command` of Bash is whole")];
    check(life, "tool_input", |_| false, &unreported);
}

#[test]
fn texts_and_endings_are_those_of_stdout() {
    let life = Lane::Lifecycle;
    let text = FindingKind::TextMisread;
    let louder = |entry: &mut Entry| {
        let delta = entry.text("delta").to_uppercase();
        set(entry, "delta", json!(delta))
    };
    check(life, "text", louder, &[(text, "is “ILOOK.”")]);
    check(life, "thinking", louder, &[(text, "the reasoning of message m1")]);
    let empty = |entry: &mut Entry| set(entry, "delta", json!(""));
    check(life, "thinking", empty, &[(text, "is “”"), (FindingKind::EmptyDelta, "no word")]);
    let failed = |entry: &mut Entry| set(entry, "status", json!("error"));
    check(life, "outcome", failed, &[(FindingKind::EndingMisread, "is no failure")]);
    let half = |entry: &mut Entry| set(entry, "text", json!("Two lines."));
    let short = [
        (FindingKind::AnswerMisread, "stdout has “Ilook.Twolines.”"),
        (FindingKind::EndedByOther, "the text of another one"),
    ];
    check(life, "outcome", half, &short);
}

#[test]
fn the_bus_has_what_the_parser_says() {
    let differs = FindingKind::BusDiffers;
    let orphan = |entry: &mut Entry| {
        entry.data_mut().shift_remove("parent");
        true
    };
    check(Lane::Bus, "assistant", orphan, &[(differs, "text of h1 of the subagent t is not")]);
    let raw = |entry: &mut Entry| {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
        match entry.text("phase") {
            "result" => set(entry, "result", json!(token)),
            _ => true,
        }
    };
    check(Lane::Bus, "tool", raw, &[(FindingKind::SecretTold, "ghp_01…6789")]);
}

#[test]
fn a_chat_shows_lines_and_neither_reasoning_nor_a_subagent() {
    let chat = Lane::Telegram;
    let says = |entry: &mut Entry, words: &str| {
        let text = format!("{}\n{words}", entry.text("text"));
        if entry.field("text").is_some() { set(entry, "text", json!(text)) } else { true }
    };
    let reasoning = |entry: &mut Entry| says(entry, "The notes are long, so a <b>helper</b>");
    check(chat, "editMessageText", reasoning, &[(FindingKind::ReasoningShown, "Thenotesarelong")]);
    let helper = |entry: &mut Entry| says(entry, "The helper has counted all");
    check(chat, "editMessageText", helper, &[(FindingKind::SubagentShown, "Thehelperhascoun")]);
    let twice = |entry: &mut Entry| says(entry, "🛠️ Bash: once more");
    check(chat, "editMessageText", twice, &[(FindingKind::LinesMiscounted, "lines of 2 calls")]);
    let long = |entry: &mut Entry| says(entry, &"long ".repeat(1_000));
    check(chat, "editMessageText", long, &[(FindingKind::PageTooLong, "4096 are the most")]);
}

/// Makes a message that streams one text, which breaks off unless the message `is_whole`.
fn streamed(id: &str, text: &str, is_whole: bool) -> String {
    let event = |event: Value| json!({ "type": "stream_event", "event": event }).to_string();
    let block = json!({ "type": "text", "text": "" });
    let delta = json!({ "type": "text_delta", "text": text });
    let content = json!([{ "type": "text", "text": text }]);
    let whole = json!({ "type": "assistant", "message": { "id": id, "content": content } });
    let mut records = vec![
        event(json!({ "type": "message_start", "message": { "id": id } })),
        event(json!({ "type": "content_block_start", "index": 0, "content_block": block })),
        event(json!({ "type": "content_block_delta", "index": 0, "delta": delta })),
    ];
    if is_whole {
        records.push(whole.to_string());
        records.push(event(json!({ "type": "content_block_stop", "index": 0 })));
        records.push(event(json!({ "type": "message_stop" })));
    }
    records.join("\n")
}

/// Makes the result of a turn in which one message has begun to stream.
fn result(id: &str, text: &str) -> String {
    json!({ "type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": "s",
        "begun_message_ids": [id] })
    .to_string()
}

#[test]
fn a_result_names_the_messages_that_began_to_stream_in_its_turn() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#.to_owned();
    let again =
        r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"Again."}]}}"#;
    let late = [
        init.clone(),
        streamed("m1", "One.", true),
        init.clone(),
        // The second turn already has text when the result of the first comes.
        streamed("m2", "Two.", true),
        result("m1", "One."),
        result("m2", "Two."),
    ];
    // A second try comes whole, and the result names the first one alone.
    let second_try =
        [init, streamed("m1", "Half", false), again.to_owned(), result("m1", "Again.")];
    for records in [&late[..], &second_try] {
        let stdout = records.join("\n") + "\n";
        let setup = Setup { run: RunSpec::default(), channel: None, acp: None };
        let replay = replay(stdout.as_bytes(), &Plan::canonical(stdout.as_bytes(), 200), setup);
        let said: Vec<_> = judge(&replay).into_iter().map(|broken| broken.sentence).collect();
        assert_eq!(said, [""; 0], "{stdout}");
    }
}

/// The output of a run with one answer.
const RUN: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Done."}],"stop_reason":null},"session_id":"s"}"#,
    "\n",
    r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}"#,
    "\n",
);

#[test]
fn st001_lines_are_counted_in_the_bytes() {
    let setup = Setup { run: RunSpec::default(), channel: None, acp: None };
    // A blank line, a line that is no record, and a last line without LF count as the others do.
    let unusual = ["\n  \nnot a record\n", RUN.trim_end()].concat();
    for (stdout, lines) in [(RUN, 3), (&*unusual, 6), ("", 0), ("\n", 1), ("x", 1)] {
        let plan = Plan::canonical(stdout.as_bytes(), 200);
        let mut replay = replay(stdout.as_bytes(), &plan, setup);
        let sentences = |replay: &Replay| -> Vec<String> {
            let lost = judge(replay).into_iter().filter(|one| one.kind == FindingKind::LineLost);
            lost.map(|broken| broken.sentence).collect()
        };
        assert_eq!(sentences(&replay), [""; 0], "{stdout:?}");
        assert_eq!(replay.own().counted.lines(), lines, "{stdout:?}");
        // A parser that skips a line before it counts it; its own sum is correct.
        let Some(fewer) = replay.own().stats.lines.checked_sub(1) else { continue };
        let stats = &mut replay.own_mut().stats;
        stats.lines = fewer;
        let lost = [&mut stats.records, &mut stats.blank, &mut stats.unusable];
        *lost.into_iter().find(|count| **count > 0).unwrap() -= 1;
        let came = plural(lines, "line");
        let expect = format!("stdout brought {came}, and the parser counts {fewer}");
        assert_eq!(sentences(&replay), [expect], "{stdout:?}");
    }
}
