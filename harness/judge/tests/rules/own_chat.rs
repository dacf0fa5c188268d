//! Tests that the rules for any chat find faults in clitape's own chat too, when its calls are changed.

use serde_json::Value;

use super::*;

/// Two messages of the model; the second is the answer.
const RECORDS: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look at both of the files that you named."},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"a.txt"}}]}}"#,
    "\n",
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a"}]}}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"They differ in their last line."}]}}"#,
    "\n",
    r#"{"type":"result","subtype":"success","is_error":false,"result":"They differ in their last line.","session_id":"s"}"#,
    "\n",
);

/// Replays [`RECORDS`], replaces the text of the call with the index `number` among those that set one, and expects
/// that the rule finds this and accepts the unchanged replay.
#[track_caller]
fn check(number: usize, change: impl Fn(&str) -> String, kind: FindingKind) {
    let channel = Some(Chat::of(ChatMode::Partial));
    let setup = Setup { run: RunSpec::default(), channel, acp: None };
    let plan = Plan::canonical(RECORDS.as_bytes(), 1_500);
    let mut replay = replay(RECORDS.as_bytes(), &plan, setup);
    assert_eq!(judge(&replay), [], "nothing is changed");
    let is_call = |entry: &&mut Entry| entry.lane == Lane::Telegram && entry.sets_text();
    let call = replay.entries.iter_mut().filter(is_call).nth(number).unwrap();
    let text = change(call.text("text"));
    call.data_mut().insert("text".to_owned(), Value::from(text));
    let found = judge(&replay);
    assert!(found.iter().any(|violation| violation.kind == kind), "{found:#?}");
}

#[test]
fn sb014_texts_of_the_own_chat_are_not_glued() {
    let glued = "I look at both of the files that you named.They differ in their last line.";
    check(3, |_| glued.to_owned(), FindingKind::TextGlued);
}

#[test]
fn sb015_no_text_of_the_own_chat_is_taken_back() {
    let shorter = |text: &str| text.replace(" you named.", "");
    check(1, shorter, FindingKind::TextTakenBack);
}

#[test]
fn sb010_nothing_runs_in_the_own_chat_when_the_run_is_over() {
    check(3, |text| format!("{text}\n\nRunning…"), FindingKind::RunningLeft);
}

#[test]
fn sb017_a_line_of_the_own_chat_has_its_argument() {
    check(1, |text| text.replace("from a.txt", "{}"), FindingKind::ArgumentsEmpty);
}

#[test]
fn sb003_the_own_chat_shows_no_markup() {
    check(3, |text| format!("{text} &amp;lt;b&amp;gt;"), FindingKind::AnswerAltered);
}
