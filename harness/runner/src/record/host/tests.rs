//! Tests of the host without a CLI: lines of stdout in, lines of stdin out.

use super::*;
use crate::record::workspace::Folders;

const RESULT: &str = r#"{"type":"result","subtype":"success"}"#;
const INIT: &str = r#"{"type":"system","subtype":"init"}"#;
const CALL: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"half"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}}"#;
const ASKED: &str = r#"{"type":"control_request","request_id":"q-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"a \u00e9"},"tool_use_id":"toolu_1","permission_suggestions":[{"type":"setMode","mode":"acceptEdits"}]}}"#;
const COLOUR: &str = r#"{"type":"control_request","request_id":"q-2","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?"}]}}}"#;
const HOOK: &str = r#"{"type":"control_request","request_id":"h-1","request":{"subtype":"hook_callback","callback_id":"PreToolUse","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}}}"#;
const BEGUN: &str =
    r#"{"type":"control_response","response":{"subtype":"success","request_id":"clitape-1"}}"#;

const YES: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q-1","response":{"behavior":"allow","updatedInput":{"command":"a \u00e9"},"toolUseID":"toolu_1"}}}"#;
const NO: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q-1","response":{"behavior":"deny","message":"Not now.","interrupt":true,"toolUseID":"toolu_1"}}}"#;
const STOP: &str =
    r#"{"type":"control_request","request_id":"clitape-1","request":{"subtype":"interrupt"}}"#;

fn script(record: &str) -> HostScript {
    let record = toml::from_str(record).unwrap();
    HostScript::new(&record, &Folders::canonical()).unwrap()
}

fn message(text: &str) -> String {
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

/// Checks the lines that the host of `record` writes at the start and after each line of stdout. Each has the number of
/// the line of stdout at whose end its offset is. Every way to cut stdout must give the same.
#[track_caller]
fn check(record: &str, stdout: &[&str], expect: &[(usize, &str)]) {
    let script = script(record);
    let bytes: Vec<u8> = stdout.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let ends: Vec<u64> = std::iter::once(0)
        .chain((0..).zip(&bytes).filter(|(_, b)| **b == b'\n').map(|(at, _): (u64, _)| at + 1))
        .collect();
    for size in [1, 100, bytes.len().max(1)] {
        let begin = Instant::now();
        let mut host = Host::new(&script, begin);
        let mut found = Vec::new();
        let mut take = |host: &mut Host<'_>| {
            while let Some(DueLine { text, offset }) = host.next_due(begin).unwrap() {
                found.push((ends.iter().position(|end| *end == offset).unwrap(), text));
            }
        };
        take(&mut host);
        for piece in bytes.chunks(size) {
            host.feed(begin, piece).unwrap();
            take(&mut host);
        }
        let found: Vec<_> = found.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(found, expect, "cut every {size} bytes");
    }
}

#[test]
fn messages_go_out_in_order_and_wait_for_results() {
    let steps = "[[say]]\nmessage = 'a'\n[[say]]\nmessage = 'b'\nwhen = { result = 2 }\n\
                 [[say]]\nmessage = 'c'\nwhen = { result = 1 }";
    let [a, b, c] = ["a", "b", "c"].map(message);
    check(steps, &[INIT, RESULT, RESULT], &[(0, &a), (3, &b), (3, &c)]);
    check(steps, &[INIT, RESULT], &[(0, &a)]);
}

#[test]
fn an_answer_names_the_question_and_its_input() {
    let when = "when = { asked = 'Bash' }";
    check(
        &format!("[[say]]\nanswer = {{ behavior = 'allow' }}\n{when}"),
        &[CALL, ASKED],
        &[(2, YES)],
    );
    let no = "answer = { behavior = 'deny-and-interrupt', message = 'Not now.' }";
    check(&format!("[[say]]\n{no}\n{when}"), &[ASKED], &[(1, NO)]);
    let yes =
        "answer = { behavior = 'allow', input = { command = 'cd {{project}}' }, suggestion = 1 }";
    let changed = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q-1","response":{"behavior":"allow","updatedInput":{"command":"cd /clitape/project"},"updatedPermissions":[{"type":"setMode","mode":"acceptEdits"}],"toolUseID":"toolu_1"}}}"#;
    check(&format!("[[say]]\n{yes}\n{when}"), &[ASKED], &[(1, changed)]);
    let chosen = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q-2","response":{"behavior":"allow","updatedInput":{"questions":[{"question":"Which?"}],"answers":{"Which?":"Red, Blue"}}}}}"#;
    check(
        "[[say]]\nchoose = { 'Which?' = ['Red', 'Blue'] }\nwhen = { asked = 'AskUserQuestion' }",
        &[ASKED, COLOUR],
        &[(2, chosen)],
    );
}

#[test]
fn a_question_and_a_call_fire_one_step_each() {
    let second = ASKED.replace("q-1", "q-3");
    let yes = "[[say]]\nanswer = { behavior = 'allow' }\nwhen = { asked = 'Bash' }\n";
    let after = YES.replace("q-1", "q-3");
    check(&yes.repeat(2), &[ASKED, CALL, &second], &[(1, YES), (3, &after)]);
    let stop = "[[say]]\ninterrupt = true\nwhen = { tool = 'Bash' }\n";
    let other = CALL.replace("toolu_1", "toolu_2").replace("\"m\"", "\"n\"");
    let again = STOP.replace("clitape-1", "clitape-2");
    check(&stop.repeat(2), &[CALL, RESULT, &other], &[(1, STOP), (3, &again)]);
    let late = "[[say]]\ninterrupt = true\nwhen = { asked = 'Bash' }\n\
                [[say]]\nanswer = { behavior = 'allow' }\nwhen = { asked = 'Bash', number = 1 }";
    check(late, &[ASKED], &[(1, STOP), (1, YES)]);
    check("[[say]]\ninterrupt = true\nwhen = { text = 'alf' }", &[CALL], &[(1, STOP)]);
}

#[test]
fn a_live_host_begins_and_answers_hooks_at_once() {
    let begin = r#"{"type":"control_request","request_id":"clitape-1","request":{"subtype":"initialize","hooks":{"UserPromptSubmit":[{"hookCallbackIds":["UserPromptSubmit"]}],"PreToolUse":[{"hookCallbackIds":["PreToolUse"]}]}}}"#;
    let first = r#"{"type":"user","message":{"role":"user","content":"p"},"parent_tool_use_id":null,"uuid":"c11fa9e0-0000-4000-8000-000000000001"}"#;
    let hook = r#"{"type":"control_response","response":{"subtype":"success","request_id":"h-1","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}}}}"#;
    let echo = r#"{"type":"control_response","response":{"subtype":"success","request_id":"h-1"}}"#;
    check(
        "host = 'live'\nprompt = 'p'\n[[say]]\ninterrupt = true\nwhen = { response = 2 }",
        &[BEGUN, INIT, HOOK, echo, RESULT],
        &[(0, begin), (1, first), (3, hook)],
    );
    let plain = r#"{"type":"control_response","response":{"subtype":"success","request_id":"h-1","response":{}}}"#;
    let declined = r#"{"type":"control_response","response":{"subtype":"success","request_id":"h-1","response":{"action":"decline"}}}"#;
    let unknown = r#"{"type":"control_response","response":{"subtype":"error","request_id":"h-1","error":"Unsupported control request subtype: mcp_message"}}"#;
    let own = r#"{"type":"control_request","request_id":"clitape-1","request":{"subtype":"initialize","hooks":{"PreToolUse":[{"hookCallbackIds":["PreToolUse"]}]},"appendSystemPrompt":"Be brief."}}"#;
    let steps =
        "[[say]]\ninitialize = { hooks = ['PreToolUse'], append_system_prompt = 'Be brief.' }";
    let asked = |subtype: &str| HOOK.replace("hook_callback", subtype);
    check(steps, &[HOOK], &[(0, own), (1, plain)]);
    check(steps, &[&asked("elicitation")], &[(0, own), (1, declined)]);
    check(steps, &[&asked("mcp_message")], &[(0, own), (1, unknown)]);
}

#[test]
fn each_host_writes_messages_in_its_own_way() {
    for (record, expect) in [
        (
            "host = 'openclaw-2026.6.1'\nprompt = 'p'",
            r#"{"type":"user","session_id":"","parent_tool_use_id":null,"message":{"role":"user","content":"p"}}"#,
        ),
        (
            "[[say]]\nblocks = [{ type = 'text', text = 'p' }]\nuuid = true",
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"p"}]},"uuid":"c11fa9e0-0000-4000-8000-000000000001"}"#,
        ),
        ("[[say]]\nraw = 'no {{project}}'", "no /clitape/project"),
    ] {
        check(record, &[], &[(0, expect)]);
    }
    let begin = r#"{"type":"control_request","request_id":"clitape-1","request":{"subtype":"initialize","hooks":null}}"#;
    let sdk = r#"{"type":"user","session_id":"","message":{"role":"user","content":[{"type":"text","text":"p"}]},"parent_tool_use_id":null}"#;
    check("host = 'sdk'\nprompt = 'p'", &[BEGUN], &[(0, begin), (1, sdk)]);
}

#[test]
fn a_delay_counts_from_the_trigger_or_from_the_step_before() {
    let script = script(
        "[[say]]\nmessage = 'a'\ndelay_ms = 100\n[[say]]\nmessage = 'b'\nwhen = { result = 1 }\ndelay_ms = 50",
    );
    let begin = Instant::now();
    let at = |ms| begin + Duration::from_millis(ms);
    let mut host = Host::new(&script, begin);
    host.feed(at(10), format!("{RESULT}\n").as_bytes()).unwrap();
    assert_eq!(host.next_due(at(99)), Ok(None));
    let first = host.next_due(at(105)).unwrap().unwrap();
    assert_eq!((first.text, first.offset), (message("a"), 0));
    assert_eq!(host.next_due(at(154)), Ok(None));
    let second = host.next_due(at(155)).unwrap().unwrap();
    assert_eq!((second.text, second.offset), (message("b"), RESULT.len() as u64 + 1));

    let hook = format!("{RESULT}\n{HOOK}\n");
    let mut host = Host::new(&script, begin);
    host.feed(begin, hook.as_bytes()).unwrap();
    let offsets = std::iter::from_fn(|| host.next_due(at(999)).unwrap().map(|line| line.offset));
    assert_eq!(offsets.collect::<Vec<_>>(), [hook.len() as u64; 2]);
}

/// Checks whether stdin is closed a second after these lines.
#[track_caller]
fn check_over(record: &str, stdout: &[&str], expect: bool) {
    let script = script(record);
    let begin = Instant::now();
    let mut host = Host::new(&script, begin);
    while host.next_due(begin).unwrap().is_some() {}
    for line in stdout {
        host.feed(begin, format!("{line}\n").as_bytes()).unwrap();
        while host.next_due(begin).unwrap().is_some() {}
    }
    assert_eq!(host.is_over(begin + QUIET), expect, "{record}: {stdout:?}");
    let closes = record.contains("close = true");
    assert_eq!(host.is_over(begin), expect && closes, "{record}: {stdout:?}, at once");
}

#[test]
fn stdin_is_open_until_everything_is_said_and_answered() {
    let one = "[[say]]\nmessage = 'a'";
    check_over(one, &[], false);
    check_over(one, &[INIT], false);
    check_over(one, &[INIT, RESULT], true);
    check_over(one, &[RESULT, INIT], false);
    check_over(one, &[ASKED, RESULT], false);
    let withdrawn = r#"{"type":"control_cancel_request","request_id":"q-1"}"#;
    check_over(one, &[ASKED, withdrawn, RESULT], true);
    let asked = format!("{one}\n[[say]]\ninterrupt = true\nwhen = {{ tool = 'Bash' }}");
    check_over(&asked, &[CALL, RESULT], false);
    check_over(&asked, &[CALL, BEGUN, RESULT], true);
    check_over(&format!("{one}\n[[say]]\nclose = true"), &[], true);
    check_over("[[say]]\nraw = '{\"type\":\"user\"}'", &[], false);
    check_over("[[say]]\nraw = 'bad'", &[], true);
}

#[test]
fn what_was_not_said_is_described() {
    let script = script(
        "[[say]]\nmessage = 'a'\n[[say]]\nanswer = { behavior = 'allow' }\nwhen = { asked = 'Read' }",
    );
    let begin = Instant::now();
    let mut host = Host::new(&script, begin);
    assert_eq!(
        host.unfired().unwrap(),
        "step 1 of `[[record.say]]` (`message`) waits for its delay of 0 ms"
    );
    while host.next_due(begin).unwrap().is_some() {}
    host.feed(begin, format!("{ASKED}\n").as_bytes()).unwrap();
    assert_eq!(
        host.unfired().unwrap(),
        "step 2 of `[[record.say]]` (`answer`) waits for `when = { asked = \"Read\" }`"
    );
    assert_eq!(
        host.unanswered().unwrap(),
        "no step answers the question about `Bash` (call toolu_1): {\"command\":\"a \\u00e9\"}"
    );
}

#[test]
fn an_answer_that_can_not_be_given_is_an_error() {
    for (step, line, expect) in [
        (
            "answer = { behavior = 'allow', suggestion = 2 }\nwhen = { asked = 'Bash' }",
            ASKED,
            "accepts suggestion 2, and the question has 1; write one of them",
        ),
        (
            "choose = { 'When?' = 'Red' }\nwhen = { asked = 'AskUserQuestion' }",
            COLOUR,
            "chooses for `When?`, which was not asked; write the text of a question: `Which?`",
        ),
    ] {
        let script = script(&format!("[[say]]\n{step}"));
        let mut host = Host::new(&script, Instant::now());
        let error = host.feed(Instant::now(), format!("{line}\n").as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    }
}
