use clitape_recording::cassette::parse_timeline;

use super::*;

const INIT: &str = r#"{"type":"control_request","request_id":"r-1","request":{"subtype":"initialize","hooks":{"PreToolUse":[{"hookCallbackIds":["h"]}]}}}"#;
const MESSAGE: &str = r#"{"type":"user","message":{"role":"user","content":"go"},"uuid":"u-1"}"#;
const NEXT: &str = r#"{"type":"user","message":{"role":"user","content":"next"}}"#;
const ALLOW: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q-1","response":{"behavior":"allow"}}}"#;
const DENY: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q-1","response":{"behavior":"deny"}}}"#;
const HOOK: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"h-1","response":{}}}"#;
const BLOCKED: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"h-1","response":{"decision":"block"}}}"#;
const STOP: &str =
    r#"{"type":"control_request","request_id":"r-2","request":{"subtype":"interrupt"}}"#;
const MODEL: &str =
    r#"{"type":"control_request","request_id":"r-3","request":{"subtype":"set_model"}}"#;

/// The lines that the CLI printed, each with the line of the host for which it waited before.
const PRINTED: [(&str, Option<&str>); 9] = [
    (
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"r-1"}}"#,
        Some(INIT),
    ),
    (r#"{"type":"system","subtype":"init","session_id":"s"}"#, Some(MESSAGE)),
    (
        r#"{"type":"control_request","request_id":"h-1","request":{"subtype":"hook_callback","callback_id":"h","input":{"hook_event_name":"PreToolUse","tool_name":"Bash"}}}"#,
        None,
    ),
    (
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"h-1","response":{}}}"#,
        Some(HOOK),
    ),
    (
        r#"{"type":"control_request","request_id":"q-1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t"}}"#,
        None,
    ),
    (
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#,
        Some(ALLOW),
    ),
    (
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"r-2"}}"#,
        Some(STOP),
    ),
    (r#"{"type":"result","session_id":"s"}"#, None),
    (r#"{"type":"system","subtype":"init","session_id":"s"}"#, Some(NEXT)),
];

fn dialogue() -> Dialogue {
    let (mut stdout, mut stdin, mut timeline) = (String::new(), String::new(), String::new());
    let mut count = 0;
    for (line, awaited) in PRINTED {
        if let Some(awaited) = awaited {
            count += 1;
            stdin.push_str(&format!("{awaited}\n"));
            timeline.push_str(&format!("[0,\"i\",{count},{}]\n", stdout.len()));
        }
        stdout.push_str(&format!("{line}\n"));
        timeline.push_str(&format!("[0,\"o\",{}]\n", line.len() + 1));
    }
    Dialogue::of(stdout.as_bytes(), stdin.as_bytes(), &parse_timeline(&timeline).unwrap())
}

/// Prints every line that may be printed, and returns the number of lines so far.
fn print(lockstep: &mut Lockstep) -> usize {
    while let Next::Print(range) = lockstep.next() {
        lockstep.printed(range.end);
    }
    lockstep.dialogue.lines.iter().filter(|line| line.range.end <= lockstep.printed).count()
}

/// Hands over the lines, each once everything before it is printed, and compares the fit of the last one and the number
/// of lines that are printed after it. A line that begins with `!` comes at once.
#[track_caller]
fn check(lines: &[&str], expect: &str) {
    let mut lockstep = Lockstep::new(Rc::new(dialogue()));
    let mut last = String::new();
    for line in lines {
        if !line.starts_with('!') {
            print(&mut lockstep);
        }
        let act = HostAct::read(line.trim_start_matches('!').as_bytes());
        let heard = lockstep.hear(&act);
        if let HostAct::Request(request) = &act
            && let RequestKind::Initialize(hooks) = &request.kind
        {
            lockstep.fit(true, hooks);
        }
        last = match heard {
            LineFit::Taken(index) => format!("taken {index}"),
            LineFit::Unrecorded => "unrecorded".to_owned(),
            LineFit::Ignored(what) => format!("ignored: {what}"),
            LineFit::Wrong(what) => what,
        };
    }
    let printed = print(&mut lockstep);
    assert_eq!(format!("{last}, {printed} printed"), expect, "{lines:?}");
}

fn early(line: &str) -> String {
    format!("!{line}")
}

#[test]
fn the_recorded_host_gets_everything() {
    check(&[INIT], "taken 0, 1 printed");
    check(&[INIT, MESSAGE], "taken 1, 3 printed");
    check(&[INIT, MESSAGE, HOOK], "taken 2, 5 printed");
    check(&[INIT, MESSAGE, HOOK, ALLOW], "taken 3, 6 printed");
    check(&[INIT, MESSAGE, HOOK, ALLOW, STOP], "taken 4, 8 printed");
    check(&[INIT, MESSAGE, HOOK, ALLOW, STOP, NEXT], "taken 5, 9 printed");
}

#[test]
fn lines_that_come_early_wait_for_their_place() {
    check(&[INIT, &early(MESSAGE)], "taken 1, 3 printed");
    check(&[INIT, MESSAGE, &early(NEXT)], "taken 5, 3 printed");
    check(&[INIT, MESSAGE, &early(NEXT), HOOK, ALLOW, STOP], "taken 4, 9 printed");
    check(&[INIT, MESSAGE, STOP, HOOK, ALLOW], "taken 3, 8 printed");
}

#[test]
fn a_wrong_line_is_described_by_what_was_expected() {
    let no_initialize =
        r#"{"type":"control_response","response":{"request_id":"x","response":{}}}"#;
    for (lines, expect) in [
        (
            &[INIT, MESSAGE, HOOK, NEXT][..],
            "expected the answer to question q1 (Bash), got a user message, 5 printed",
        ),
        (
            &[INIT, MESSAGE, HOOK, DENY],
            "expected `allow` as the answer to question q1 (Bash), got `deny`, 5 printed",
        ),
        (
            &[INIT, MESSAGE, HOOK, STOP],
            "expected the answer to question q1 (Bash), got an interrupt, 5 printed",
        ),
        (
            &[INIT, MESSAGE, NEXT],
            "expected the answer to the hook PreToolUse (Bash), got a user message, 3 printed",
        ),
        (
            &[INIT, MESSAGE, ALLOW],
            "expected the answer to the hook PreToolUse (Bash), got an answer to `q-1`, which the CLI has not \
             asked, 3 printed",
        ),
        (
            &[INIT, MESSAGE, BLOCKED],
            "expected `neutral` as the answer to the hook PreToolUse (Bash), got `deny`, 3 printed",
        ),
        (
            &[INIT, MESSAGE, "oops"],
            "expected the answer to the hook PreToolUse (Bash), got a line that is not JSON, 3 printed",
        ),
        (
            &[INIT, no_initialize],
            "expected a user message, got an answer to `x`, which the CLI has not asked, 1 printed",
        ),
        (
            &[INIT, MESSAGE, HOOK, ALLOW, STOP, NEXT, STOP],
            "expected nothing more, got an interrupt, 9 printed",
        ),
    ] {
        check(lines, expect);
    }
}

#[test]
fn what_the_cli_takes_at_any_time_is_not_wrong() {
    check(&[INIT, MODEL], "unrecorded, 1 printed");
    check(&[INIT, MESSAGE, MODEL], "unrecorded, 3 printed");
    check(&[INIT, STOP], "unrecorded, 1 printed");
    check(&[INIT, INIT], "unrecorded, 1 printed");
    let over = "ignored: the CLI ignores an answer to question q1 (Bash), which is over, 6 printed";
    check(&[INIT, MESSAGE, HOOK, ALLOW, ALLOW], over);
    let kept = "ignored: the CLI ignores a line of type `keep_alive`, 1 printed";
    check(&[INIT, r#"{"type":"keep_alive"}"#], kept);
}

#[test]
fn a_host_without_initialize_and_without_hooks_goes_on() {
    check(&[MESSAGE], "taken 1, 5 printed");
    check(&[MESSAGE, ALLOW], "taken 3, 6 printed");
    let plain = INIT.replace("\"PreToolUse\"", "\"Stop\"");
    check(&[&plain, MESSAGE], "taken 1, 5 printed");
    check(&[&plain, MESSAGE, ALLOW], "taken 3, 6 printed");
}

#[test]
fn nobody_is_asked_where_nobody_can_answer() {
    let mut lockstep = Lockstep::new(Rc::new(dialogue()));
    lockstep.ask_nobody();
    for line in [INIT, MESSAGE, HOOK] {
        print(&mut lockstep);
        lockstep.hear(&HostAct::read(line.as_bytes()));
    }
    assert_eq!(print(&mut lockstep), 6);
    assert_eq!(lockstep.expected(), "an interrupt");
}

#[test]
fn the_end_of_stdin_ends_no_question_to_a_tool() {
    for (asks_elsewhere, expect) in [(false, Next::Closed), (true, Next::Wait)] {
        let mut lockstep = Lockstep::new(Rc::new(dialogue()));
        if asks_elsewhere {
            lockstep.ask_elsewhere();
        }
        for line in [INIT, MESSAGE, HOOK] {
            print(&mut lockstep);
            lockstep.hear(&HostAct::read(line.as_bytes()));
        }
        print(&mut lockstep);
        lockstep.close();
        assert_eq!(lockstep.next(), expect);
    }
}

#[test]
fn the_end_of_stdin_ends_it_where_it_waits() {
    let mut lockstep = Lockstep::new(Rc::new(dialogue()));
    lockstep.hear(&HostAct::read(INIT.as_bytes()));
    lockstep.close();
    assert_eq!(print(&mut lockstep), 1);
    assert_eq!(lockstep.next(), Next::Closed);
}

#[test]
fn turns_are_counted() {
    let mut lockstep = Lockstep::new(Rc::new(dialogue()));
    let mut turns = Vec::new();
    for line in [INIT, MESSAGE, HOOK, ALLOW, STOP, NEXT] {
        print(&mut lockstep);
        lockstep.hear(&HostAct::read(line.as_bytes()));
        print(&mut lockstep);
        turns.push((lockstep.turns(), lockstep.is_in_turn(), lockstep.awaits_message()));
    }
    let working = (1, true, false);
    assert_eq!(
        turns,
        [(0, false, true), working, working, working, (1, false, true), (2, true, false)]
    );
}
