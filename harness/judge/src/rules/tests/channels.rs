//! Tests the rules of the event stream and of the editor with traces that break them.

use clitape_recording::facts::LazyFacts;
use clitape_recording::scenario::AcpClient;

use crate::rules::tests::*;

const RUN_END: &str = r#"9 bus lifecycle {"run_id":"run-1","phase":"end"}"#;
const COMPLETE: &str = r#"9 sse complete {}"#;
const RESPONSE: &str = r#"9 acp response {"stopReason":"end_turn"}"#;
/// A message, a call, its result, and another message.
const STDOUT: [&str; 4] = [
    r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I look first."}]}}"#,
    r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"one"}]}}"#,
    r#"{"type":"assistant","message":{"id":"n","content":[{"type":"text","text":"There is one file here."}]}}"#,
];
const SEARCH: [&str; 2] = [
    r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"s","name":"mcp__a__search_memory","input":{}}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"s","content":[{"type":"text","text":"Two:"},{"type":"text","text":"{\"content\":[{\"id\":1},{\"id\":2}]}"}]}]}}"#,
];

/// Returns the violations of the rules of the event stream and of the editor in a replay of `stdout` with these
/// entries.
fn found(stdout: &[&str], entries: &[&str]) -> Vec<(FindingKind, String)> {
    let entries: Vec<Entry> = entries.iter().map(|line| entry(line)).collect();
    let acp = entries.iter().any(|entry| entry.lane == Lane::Acp);
    let acp = acp.then_some(AcpClient { terminal: false });
    let facts = LazyFacts::new(stdout.join("\n").as_bytes(), usize::MAX);
    let setup = Setup { run: RunSpec::default(), channel: None, acp };
    let own = Some(OwnReports { is_faithful: true, ..OwnReports::default() });
    let seen = Observation { own, ..Observation::new(setup, entries, Arc::new(facts)) };
    // The rules of a lane that a trace leaves out would report everything as missing.
    let lanes = [(Lane::Sse, "SE"), (Lane::Acp, "ED")];
    let lanes = lanes.into_iter().filter(|(lane, _)| seen.lane(*lane).next().is_some());
    let own = |kind: &FindingKind| lanes.clone().any(|(_, of)| kind.to_string().starts_with(of));
    let broken = judge(&seen).into_iter().filter(|broken| own(&broken.kind));
    broken.map(|Violation { kind, sentence, .. }| (kind, sentence)).collect()
}

#[track_caller]
fn check_channel(stdout: &[&str], entries: &[&str], expect: &[(FindingKind, &str)]) {
    let expect: Vec<_> = expect.iter().map(|(kind, what)| (*kind, (*what).to_owned())).collect();
    assert_eq!(found(stdout, entries), expect, "{entries:?}");
}

#[test]
fn se001_the_last_event_is_complete() {
    let error = r#"9 sse error {"error":"no"}"#;
    let kind = FindingKind::EventAfterComplete;
    check_channel(&[], &[error, COMPLETE, RUN_END, r#"9 sse collected {}"#], &[]);
    let late = (kind, "`error` comes after `complete`");
    check_channel(&[], &[COMPLETE, error, RUN_END], &[late]);
    let never = (kind, "the event stream of turn 1 never says `complete`");
    check_channel(&[], &[error, RUN_END], &[never]);
    check_channel(&[], &[error], &[]);
}

#[test]
fn se002_se007_the_texts_of_stdout_are_in_the_stream_in_order_and_once() {
    let output = |text: &str| format!(r#"1 sse output {{"type":"delta","content":"{text}"}}"#);
    let (first, last) = (output("I look first."), output("\\n\\nThere is one file here."));
    let call = r#"2 sse tool_use {"toolCallId":"t","name":"Bash","isError":false}"#;
    check_channel(&STDOUT, &[&first, call, &last, COMPLETE], &[]);
    let late = (FindingKind::TextAfterCall, "Bash comes before the text “I look first.”");
    check_channel(&STDOUT, &[call, &first, &last, COMPLETE], &[late]);
    let lost = "the event stream does not have the text “There is one file here.”";
    let lost = (FindingKind::StreamedTextLost, lost);
    check_channel(&STDOUT, &[&first, call, COMPLETE], &[lost]);
    let twice = "the event stream has the text “There is one file here.” more often than stdout";
    let twice = (FindingKind::StreamedTextLost, twice);
    check_channel(&STDOUT, &[&first, call, &last, &last, COMPLETE], &[twice]);
    let replace = r#"3 sse output {"type":"replace","content":"I look first."}"#;
    check_channel(&STDOUT, &[&first, call, &last, replace, &last, COMPLETE], &[]);
}

#[test]
fn se003_to_se005_each_call_of_the_bus_is_in_the_stream_as_it_was() {
    let start = r#"1 bus tool {"run_id":"run-1","phase":"start","id":"t","name":"Bash","args":{"command":"ls"}}"#;
    let result =
        r#"2 bus tool {"run_id":"run-1","phase":"result","id":"t","name":"Bash","is_error":false}"#;
    let call = |input: &str, is_error: bool| {
        format!(r#"2 sse tool_use {{"toolCallId":"t","name":"Bash"{input},"isError":{is_error}}}"#)
    };
    let input = r#","input":{"command":"ls"}"#;
    let check = |uses: &[&str], expect: &[(FindingKind, &str)]| {
        let entries = [&[start, result], uses, &[COMPLETE, RUN_END]].concat();
        check_channel(&[], &entries, expect);
    };
    let well = call(input, false);
    check(&[&well], &[]);
    let none = (FindingKind::StreamedCallNotOnce, "the stream has no `tool_use` of call t");
    check(&[], &[none]);
    let twice = (FindingKind::StreamedCallNotOnce, "call t is told a second time");
    check(&[&well, &well], &[twice]);
    let altered = "the input of call t is not that with which it started";
    check(&[&call("", false)], &[(FindingKind::StreamedCallAltered, altered)]);
    let altered = "call t succeeded, and the stream says that it failed";
    check(&[&call(input, true)], &[(FindingKind::StreamedCallAltered, altered)]);
    let collected = |calls: &str| format!(r#"9 sse collected {{"metadata":{{{calls}}}}}"#);
    let kept = collected(r#""toolCalls":[{"toolCallId":"t","name":"Bash"}]"#);
    check_channel(&[], &[&well, COMPLETE, &kept], &[]);
    // A turn of many calls is collected in parts.
    check_channel(&[], &[&well, &kept, COMPLETE, &collected("")], &[]);
    let lost = (FindingKind::CallUncollected, "call t of the stream is not collected");
    check_channel(&[], &[&well, COMPLETE, &collected("")], &[lost]);
}

#[test]
fn se006_each_hit_of_a_search_is_in_its_summary() {
    let call = |ids: &str| {
        let summary = format!(r#"{{"event_ids":[{ids}]}}"#);
        format!(
            r#"2 sse tool_use {{"toolCallId":"s","name":"mcp__a__search_memory","result_summary":{summary}}}"#
        )
    };
    check_channel(&SEARCH, &[&call("1,2"), COMPLETE], &[]);
    let lost = "the summary of mcp__a__search_memory does not name the hit 2";
    check_channel(&SEARCH, &[&call("1"), COMPLETE], &[(FindingKind::HitLost, lost)]);
}

#[test]
fn ed001_to_ed003_a_call_is_announced_asked_about_run_and_ended() {
    let call = r#"1 acp tool_call {"toolCallId":"c","status":"pending"}"#;
    let runs = r#"1 acp tool_call {"toolCallId":"c","status":"in_progress"}"#;
    let asked = r#"2 acp request_permission {"toolCall":{"toolCallId":"c","status":"pending"}}"#;
    let update = r#"2 acp tool_call_update {"toolCallId":"c"}"#;
    let progress = r#"3 acp tool_call_update {"toolCallId":"c","status":"in_progress"}"#;
    let end = r#"4 acp tool_call_update {"toolCallId":"c","status":"completed"}"#;
    let check = |entries: &[&str], expect: &[(FindingKind, &str)]| {
        check_channel(&[], &[entries, &[RESPONSE, RUN_END]].concat(), expect);
    };
    check(&[call, update, asked, progress, end], &[]);
    let unknown = "an update names call c, which was not announced";
    let unknown = (FindingKind::UnannouncedUpdate, unknown);
    check(&[update], &[unknown]);
    let twice = (FindingKind::UnannouncedUpdate, "call c is announced a second time");
    let left = (FindingKind::CallEndNotOnce, "the turn is over for the editor, and call c is open");
    check(&[call, call, end], &[twice, left]);
    let early = "call c is in_progress for the editor when the person is asked whether it may run";
    check(&[runs, asked, end], &[(FindingKind::InProgressWhileAsked, early)]);
    check(&[call], &[left]);
    let again = (FindingKind::CallEndNotOnce, "call c is completed for the editor after its end");
    check(&[call, end, end], &[again]);
}

#[test]
fn ed004_a_turn_has_one_response_and_nothing_after_it() {
    let kind = FindingKind::ResponseNotOnce;
    let chunk = r#"9 acp agent_message_chunk {"content":{"type":"text","text":"a"}}"#;
    check_channel(&[], &[chunk, RESPONSE, RUN_END], &[]);
    let late = (kind, "agent_message_chunk comes after the last response");
    check_channel(&[], &[RESPONSE, chunk, RUN_END], &[late]);
    let none = (kind, "1 turn ended, and the editor has 0 responses");
    check_channel(&[], &[chunk, RUN_END], &[none]);
}

#[test]
fn ed005_to_ed007_the_editor_has_what_stdout_states() {
    let chunk = |text: &str| {
        format!(r#"1 acp agent_message_chunk {{"content":{{"type":"text","text":"{text}"}}}}"#)
    };
    let (first, last) = (chunk("I look first."), chunk("\\n\\nThere is one file here."));
    let call = r#"1 acp tool_call {"toolCallId":"t","status":"pending"}"#;
    let end = |content: &str, is_error: bool| {
        format!(
            r#"2 acp tool_call_update {{"toolCallId":"t","status":"completed","rawOutput":{{"content":[{content}],"isError":{is_error}}}}}"#
        )
    };
    let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let one = end(&block("one"), false);
    let check = |entries: &[&str], expect: &[(FindingKind, &str)]| {
        check_channel(&STDOUT, &[entries, &[RESPONSE, RUN_END]].concat(), expect);
    };
    check(&[&first, call, &one, &last], &[]);
    let spread = ["o", "n", "e"].map(block).join(",");
    let altered = "the result of call t is not the one of stdout";
    let altered = (FindingKind::ResultAltered, altered);
    check(&[&first, call, &end(&spread, false), &last], &[altered]);
    let altered = "call t succeeded, and the editor learns that it failed";
    let altered = (FindingKind::ResultAltered, altered);
    check(&[&first, call, &end(&block("one"), true), &last], &[altered]);
    let lost = "the editor does not have the text “There is one file here.”";
    check(&[&first, call, &one], &[(FindingKind::EditorTextLost, lost)]);
    let missing = "call t of Bash ran, and the editor never learns of it";
    check(&[&first, &last], &[(FindingKind::EditorCallMissing, missing)]);
}

#[test]
fn ed008_to_ed010_the_editor_has_answers_withdrawals_and_the_newest_list() {
    let chunk = |id: &str, text: &str| {
        let content = format!(r#""content":{{"type":"text","text":"{text}"}}"#);
        format!(r#"1 acp agent_message_chunk {{"messageId":"{id}",{content}}}"#)
    };
    let check = |stdout: &[&str], entries: &[&str], expect: &[(FindingKind, &str)]| {
        check_channel(stdout, &[entries, &[RESPONSE, RUN_END]].concat(), expect);
    };
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"There are two files."}"#;
    let lost = "the editor does not have the answer “There are two files.”";
    check(&[result], &[&chunk("m", "There are\\n two files.")], &[]);
    check(&[result], &[&chunk("m", "There are.")], &[(FindingKind::EditorAnswerLost, lost)]);
    let later = result.replace("There are two files.", "Both are empty.");
    let lost = "the editor does not have the answer “Both are empty.”";
    let lost = (FindingKind::EditorAnswerLost, lost);
    check(&[result, &later], &[&chunk("m", "Both are empty. There are two files.")], &[lost]);

    let back = |length: usize| format!(r#"1 bus assistant {{"retract":true,"length":{length}}}"#);
    let said = r#"1 bus assistant {"message_id":"m","delta":"One"}"#;
    let (first, again, told) = (chunk("m", "One"), chunk("n", "Two"), chunk("m", "Withdrawn."));
    let untold = "the text of message m was withdrawn, and the editor is not told so";
    check(&[], &[said, &first, &back(0), &told, &again], &[]);
    check(&[], &[said, &first, &back(3), &again], &[]);
    check(&[], &[said, &back(0), &again], &[]);
    let untold = (FindingKind::EditorWithdrawalUntold, untold);
    check(&[], &[said, &first, &back(0), &again], &[untold]);

    let write = |id: &str, state: &str| {
        let todos = format!(r#"[{{"content":"Look","status":"{state}"}}]"#);
        let call = format!(
            r#"{{"type":"tool_use","id":"{id}","name":"TodoWrite","input":{{"todos":{todos}}}}}"#
        );
        let done = format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}"#);
        [
            format!(r#"{{"type":"assistant","message":{{"id":"{id}","content":[{call}]}}}}"#),
            format!(r#"{{"type":"user","message":{{"content":[{done}]}}}}"#),
        ]
    };
    let written = [write("a", "pending"), write("b", "completed")].concat();
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    let plan = |state: &str| {
        format!(r#"1 acp plan {{"entries":[{{"content":"Look","status":"{state}"}}]}}"#)
    };
    let (old, new) = (plan("pending"), plan("completed"));
    check(&written, &[&old, &new], &[]);
    let stale = "the last plan does not have “look” as completed, as the model's last list has it";
    check(&written, &[&new, &old], &[(FindingKind::PlanStale, stale)]);
    let none = "the model writes a list, and the editor has no plan";
    check(&written, &[&chunk("m", "x")], &[(FindingKind::PlanStale, none)]);
}
