use super::*;
use crate::replay::faults::{AGENT_FAULTS, AgentFaultError};

const STDOUT: &[u8] = b"{\"a\":1}\n{\"b\":\"\xc3\xbc\"}\n{\"c\":3}\n";

/// The bytes that come with these faults, and the sizes of the steps that bring them.
#[track_caller]
fn check(faults: &[&str], expect: &str, sizes: &[u64]) {
    let (stdout, agent) = (STDOUT, faults.iter().map(|fault| fault.parse().unwrap()).collect());
    // A line end is inside the second piece, and the end of the third piece is one.
    let steps = [[0, 4], [5, 8], [7, 7], [9, 8]].map(Into::into).to_vec();
    let plan = Plan { steps, agent, ..Plan::at_once(0) };
    plan.check_agent(stdout).unwrap();
    let played = plan.played(Capture::from(stdout));
    assert_eq!(String::from_utf8_lossy(&played.stdout), expect);
    let of_steps: Vec<u64> = played.plan.steps.iter().map(|step| step.bytes).collect();
    assert_eq!(of_steps, sizes);
    assert_eq!(of_steps.iter().sum::<u64>(), played.stdout.len() as u64);
}

#[test]
fn a_fault_changes_the_bytes_that_a_plan_plays() {
    let (a, b, c) = ("{\"a\":1}\n", "{\"b\":\"ü\"}\n", "{\"c\":3}\n");
    check(&[], &format!("{a}{b}{c}"), &[4, 8, 7, 8]);
    // What is cut off brings nothing more, not even a pause.
    check(&["2:cut:3"], &format!("{a}{{\"b"), &[4, 7]);
    check(&["1:cut:0"], "", &[]);
    check(&["3:cut:7"], &format!("{a}{b}{{\"c\":3}}"), &[4, 8, 7, 7]);
    check(&["2:log-line"], &format!("{a}null\n{b}{c}"), &[4, 13, 7, 8]);
    check(&["3:log-line"], &format!("{a}{b}\n{c}"), &[4, 8, 8, 8]);
    check(
        &["2:log-inside:7"],
        &format!(
            "{a}{{\"b\":\"\u{fffd}2026-11-22T10:00:00Z WARN the pipe is shared\n\u{fffd}\"}}\n{c}"
        ),
        &[4, 8, 52, 8],
    );
    check(&["1:crlf"], &format!("{a}{b}{c}").replace('\n', "\r\n"), &[4, 9, 8, 9]);
    check(&["1:bom"], &format!("\u{feff}{a}{b}{c}"), &[7, 8, 7, 8]);
    check(&["2:twice"], &format!("{a}{b}{b}{c}"), &[4, 8, 18, 8]);
    check(&["2:swapped"], &format!("{a}{c}{b}"), &[4, 8, 7, 8]);
    let field = "\"from_the_future\":{\"type\":\"result\",\"text\":[1,\"\\u00e9\",null]},";
    let size = 8 + field.len() as u64;
    check(&["3:unknown-field:1"], &format!("{a}{b}{{{field}\"c\":3}}\n"), &[4, 8, 7, size]);
    check(&["1:bad-utf8:0"], &format!("\u{fffd}{a}{b}{c}"), &[5, 8, 7, 8]);
    // A callback is none of the bytes.
    check(&["3:callback-hangs"], &format!("{a}{b}{c}"), &[4, 8, 7, 8]);
    check(&["1:bom", "2:twice", "3:cut:1"], &format!("\u{feff}{a}{b}{b}{{"), &[7, 8, 18, 1]);
}

#[test]
fn a_line_of_the_host_is_written_before_what_comes_anew_at_its_place() {
    // The host writes when the first line has been read.
    let host = |fault: &str| {
        let host = vec![HostStep { line: 1, at: 8, after_ms: 0, wrong_id: false }];
        let plan = Plan { agent: vec![fault.parse().unwrap()], host, ..Plan::at_once(27) };
        plan.played(Capture::from(STDOUT)).plan.host[0].at
    };
    for (fault, expect) in [
        ("2:bom", 8),
        ("2:log-line", 8),
        ("2:swapped", 8),
        ("1:twice", 8),
        ("1:crlf", 9),
        ("1:bom", 11),
        ("2:cut:0", 8),
    ] {
        assert_eq!(host(fault), expect, "{fault}");
    }
}

#[test]
fn a_line_too_long_is_longer_than_the_parser_reads() {
    let plan = Plan { agent: vec!["2:long-line".parse().unwrap()], ..Plan::at_once(27) };
    let played = plan.played(Capture::from(STDOUT));
    let limit = played.line_limit.unwrap();
    let longest = played.stdout.split(|&byte| byte == b'\n').map(<[u8]>::len).max();
    assert_eq!((limit, longest > Some(limit)), (64 << 10, true));
}

#[test]
fn a_fault_reads_as_it_is_written() {
    for row in &AGENT_FAULTS {
        let text = format!("7:{}{}", row.word, if row.has_byte { ":120" } else { "" });
        assert_eq!(text.parse::<AgentFault>().unwrap().to_string(), text);
        assert_eq!(row.kind.row().word, row.word);
    }
    for text in
        ["", "twice", "0:twice", "7", "7:cut", "7:twice:1", "7:cut:x", "7:cut:1:2", "7:cut:+1"]
    {
        let error = text.parse::<AgentFault>().unwrap_err();
        assert_eq!(error, AgentFaultError::Form(text.to_owned()));
    }
    let error = "7:late".parse::<AgentFault>().unwrap_err().to_string();
    assert!(
        error.starts_with("there is no fault `late` of the agent's side; write cut, log-line,"),
        "{error}"
    );
}

#[test]
fn a_plan_keeps_its_faults_and_names_one_that_is_not_there() {
    let text = r#"{"format":1,"steps":[[0,20],[9,7]],"agent":["3:cut:5"]}"#;
    let plan = Plan::parse(text, 27).unwrap();
    assert_eq!(plan.to_line(), text);
    assert_eq!(
        (plan.uncut(STDOUT).agent, plan.glued(0, 2).agent),
        (plan.agent.clone(), plan.agent)
    );
    for (fault, is_there) in [
        ("3:cut:7", true),
        ("3:cut:8", false),
        ("4:twice", false),
        ("2:swapped", true),
        ("3:swapped", false),
        ("99:callback-fails", true),
    ] {
        let plan = Plan { agent: vec![fault.parse().unwrap()], ..Plan::at_once(27) };
        assert_eq!(plan.check_agent(STDOUT).is_ok(), is_there, "{fault}");
    }
    let plan = Plan { agent: vec!["4:twice".parse().unwrap()], ..Plan::at_once(27) };
    let error = plan.check_agent(STDOUT).unwrap_err().to_string();
    assert!(
        error.starts_with("the plan has the fault `4:twice`, and the input, which has 3 lines"),
        "{error}"
    );
}

#[test]
fn a_seed_draws_the_same_fault_everywhere() {
    let drawn = |seed, stdout: &[u8]| {
        let plan = Plan::seeded_agent_fault(Capture::from(stdout), seed, 200);
        plan.check_agent(stdout).unwrap();
        plan.agent.iter().map(AgentFault::to_string).collect::<Vec<_>>().join(" ")
    };
    let first: Vec<String> = (1..=6).map(|seed| drawn(seed, STDOUT)).collect();
    assert_eq!(first, PINNED);
    assert_eq!(drawn(1, b""), "");
    // Another capture draws others.
    let other: Vec<String> = (1..=6).map(|seed| drawn(seed, &STDOUT[1..])).collect();
    assert_ne!(other, first);
}

const PINNED: [&str; 6] = [
    "1:unknown-field:1",
    "3:unknown-field:1",
    "2:cut:2",
    "2:log-inside:7",
    "1:crlf",
    "7:callback-fails",
];

#[test]
fn a_record_that_is_told_again_does_not_come_twice() {
    let check = |record: &str, expect: bool| {
        let record: Value = serde_json::from_str(record).unwrap();
        assert_eq!(says_the_same_twice(&record), expect, "{record}");
    };
    check(r#"{"type":"assistant","message":{"model":"claude"}}"#, true);
    check(r#"{"type":"assistant","message":{"model":"<synthetic>"}}"#, false);
    check(r#"{"type":"assistant","aborted":true,"message":{"model":"claude"}}"#, false);
    check(r#"{"type":"user","message":{"content":[{"tool_use_id":"t"}]}}"#, true);
    check(r#"{"type":"user","message":{"content":"hi"}}"#, false);
    check(r#"{"type":"result"}"#, true);
    check(r#"{"type":"system"}"#, false);
}
