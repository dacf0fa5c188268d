//! Tests the facts of a few records each.

use super::*;
use crate::capture::Capture;

const START: &str =
    r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}"#;

fn read(stdout: &str, limit: usize) -> Facts {
    Facts::read(Capture::from(stdout.as_bytes()), limit)
}

/// Reads `records`, one a line.
fn facts_of(records: &[&str]) -> Facts {
    read(&records.join("\n"), usize::MAX)
}

#[test]
fn a_block_is_what_streamed_and_what_the_whole_message_says() {
    let check = |records: &[&str], expect: &[(&str, Option<&str>)]| {
        let facts = facts_of(records);
        let blocks = facts.messages.iter().flat_map(|message| &message.texts);
        let texts: Vec<_> =
            blocks.map(|block| (block.streamed.as_str(), block.whole.as_deref())).collect();
        assert_eq!(texts, expect, "{records:?}");
    };
    let open = r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}}"#;
    let delta = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}}"#;
    let whole =
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"ab"}]}}"#;
    check(&[START, open, delta], &[("ab", None)]);
    check(&[START, open, delta, whole], &[("ab", Some("ab"))]);
    check(&[whole], &[("", Some("ab"))]);
    check(&[whole, whole], &[("", Some("ab"))]);
    check(&[START, open, START, open, delta], &[("a", None), ("ab", None)]);
}

#[test]
fn what_the_cli_says_itself_is_doubtful_where_nothing_calls_it_an_error() {
    let check = |model: &str, text: &str, more: &str, expect: (bool, bool)| {
        let record = format!(
            r#"{{"type":"assistant","message":{{"id":"m","model":"{model}","content":[{{"type":"text","text":"{text}"}}]}}{more}}}"#
        );
        let message = &facts_of(&[&record]).messages[0];
        assert_eq!((message.is_error, message.is_doubtful), expect, "{record}");
    };
    check("<synthetic>", "API Error: 529", "", (true, false));
    check("<synthetic>", "No response requested.", "", (true, false));
    check("<synthetic>", "Not enough messages to compact.", "", (true, true));
    check("<synthetic>", "Prompt is too long", r#","isApiErrorMessage":true"#, (true, false));
    check("claude", "Invalid", r#","error":"authentication_failed""#, (true, false));
    check("claude", "API Error is what I saw.", "", (false, false));
}

#[test]
fn a_text_is_in_doubt_when_its_pieces_and_the_whole_differ() {
    let check = |streamed: &str, whole: Option<&str>, expect: bool| {
        let (streamed, whole) = (streamed.to_owned(), whole.map(str::to_owned));
        let block = RecordedBlock { streamed, whole, ..RecordedBlock::default() };
        assert_eq!(block.is_plain(), expect, "{block:?}");
    };
    check("a b", Some("a b\n"), true);
    check("a b", None, true);
    check("", Some("a b"), true);
    check("a b", Some(""), true);
    check("a b", Some("a c"), false);
    check("a\u{fffd}", Some("ab"), false);
    check("<think>a</think>b", None, false);
}

#[test]
fn a_call_has_its_input_and_its_result() {
    let open = r#"{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":" t ","name":"Bash","input":{}}}}"#;
    let piece = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}}"#;
    let whole = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"a":2}}]}}"#;
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x","is_error":true}]}}"#;
    let other = whole.replace("\"m\"", "\"n\"");
    let check = |records: &[&str], expect: &[(Option<&str>, bool)]| {
        let facts = facts_of(records);
        let input = |call: &RecordedCall| call.input().map(|input| input.to_string());
        let calls: Vec<_> =
            facts.calls.iter().map(|call| (input(call), call.result.is_some())).collect();
        let expect: Vec<_> =
            expect.iter().map(|(input, has)| (input.map(str::to_owned), *has)).collect();
        assert_eq!(calls, expect, "{records:?}");
    };
    check(&[START, open], &[(None, false)]);
    // A log has lost the start of the message.
    check(&[open, piece, result], &[(Some(r#"{"a":1}"#), true)]);
    check(&[START, open, piece, result], &[(Some(r#"{"a":1}"#), true)]);
    check(&[START, open, piece, whole], &[(Some(r#"{"a":2}"#), false)]);
    check(&[START, open, whole, result, whole], &[(Some(r#"{"a":2}"#), true)]);
    let two = (Some(r#"{"a":2}"#), true);
    check(&[whole, result, &other, result], &[two, two]);
}

#[test]
fn a_single_call_has_an_id_of_its_own() {
    let call = |message: &str, id: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{message}","content":[{{"type":"tool_use","id":"{id}","name":"Bash"}}]}}}}"#
        )
    };
    let result = |id: &str| {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}"}}]}}}}"#
        )
    };
    let records = [call("m", "t"), result("t"), call("m", "u"), call("n", "t")];
    let facts = facts_of(&records.each_ref().map(String::as_str));
    assert_eq!(facts.calls.len(), 3);
    assert_eq!(facts.single_calls().map(|call| &*call.id).collect::<Vec<_>>(), ["u"]);
    let check = |id: &str, expect: Option<&str>| {
        assert_eq!(facts.single_calls_by_id().get(id).map(|call| &*call.id), expect, "{id}");
    };
    check("u", Some("u"));
    check("t", None);
    check("x", None);
}

#[test]
fn a_result_is_a_failure_or_not_or_leaves_it_open() {
    let check = |fields: &str, expect: Option<bool>| {
        let facts = facts_of(&[&format!(r#"{{"type":"result",{fields}}}"#)]);
        assert_eq!(facts.turns[0].is_failure, expect, "{fields}");
    };
    check(r#""subtype":"success","is_error":false,"result":"yes""#, Some(false));
    check(r#""subtype":"success","is_error":true,"result":"API Error""#, Some(true));
    check(r#""subtype":"error_max_turns""#, Some(true));
    check(r#""subtype":"success","result":"no","stop_reason":"refusal""#, Some(true));
    check(r#""subtype":"success","result":"","terminal_reason":"hook_stopped""#, Some(true));
    check(r#""subtype":"success","result":"","terminal_reason":"completed""#, Some(false));
    check(r#""subtype":"success","result":"""#, None);
}

#[test]
fn a_long_line_and_a_result_that_is_said_again_state_nothing() {
    let result = r#"{"type":"result","result":"yes"}"#;
    let read = |limit| read(&[result, result, "", result].join("\n"), limit);
    assert_eq!((read(result.len()).turns.len(), read(result.len()).objects), (1, 3));
    for (other, turns) in [
        (format!("\u{feff}{result}\r"), 1),
        (result.replace('{', r#"{"new":{"a":1},"#), 1),
        (result.replace('{', r#"{"uuid":"u","#), 2),
        (result.replace("yes", "no"), 2),
        (format!("{{}}\n{result}"), 2),
    ] {
        let facts = self::read(&[result, &other].join("\n"), usize::MAX);
        assert_eq!(facts.turns.len(), turns, "{other}");
    }
    assert_eq!(read(result.len() - 1), Facts { is_cut_off: true, ..Facts::default() });
}

/// The case was found by a plan that `clitape test --marks` had asked for, because no recording contained it.
#[test]
fn a_result_that_comes_again_ends_no_turn() {
    let started = |id: &str| START.replace("\"m\"", &format!("\"{id}\""));
    let result = |ids: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","result":"x","begun_message_ids":[{ids}]}}"#
        )
    };
    let turns = |records: &[String]| read(&records.join("\n"), usize::MAX).turns.len();
    let first = [started("m1"), result(r#""m1""#), started("m2"), result(r#""m1""#)];
    assert_eq!(turns(&first), 1);
    assert_eq!(turns(&[&first[..], &[result(r#""m2""#)]].concat()), 2);
    assert_eq!(turns(&[started("m1"), result(""), started("m2"), result(r#""m1""#)]), 1);
    assert_eq!(turns(&[started("m1"), result(r#""m1""#), result(r#""m1","m2""#)]), 2);
}
