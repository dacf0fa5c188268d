//! The host's side: its messages and requests, and its answers to questions.

use super::dialog::{cancel, question, request, response};
use super::*;

/// A line of one of the sides.
#[derive(Debug, Clone)]
pub(super) enum SideLine {
    Cli(String),
    Host(String),
}

use SideLine::{Cli, Host};

/// Feeds the lines in their order, in pieces of the sizes that `cut` asks for, and prints the events.
pub(super) fn run_sides(lines: &[SideLine], mut cut: impl FnMut() -> usize) -> Vec<String> {
    let mut parser = Parser::new();
    let mut seen = Vec::new();
    let mut sink = |event: Event<'_>| seen.push(show(&event));
    for line in lines {
        let (Cli(text) | Host(text)) = line;
        let line_end = format!("{text}\n");
        let mut rest = line_end.as_bytes();
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(cut().clamp(1, rest.len()));
            match line {
                Cli(_) => parser.feed_with(piece, &mut sink),
                Host(_) => parser.feed_stdin_with(piece, &mut sink),
            }
            rest = tail;
        }
    }
    let Stats { lines: count, blank, records, unknown, unusable, .. } = parser.stdin_stats();
    assert_eq!(count, blank + records + unknown + unusable, "every line is accounted for");
    let written = lines.iter().filter(|line| matches!(line, Host(_))).count();
    assert_eq!(count, written as u64, "every line of the host is counted");
    parser.finish_with(&mut sink);
    seen
}

/// Compares the events of both sides, cut anywhere.
fn check_sides(lines: &[SideLine], expect: &[&str]) {
    for size in [usize::MAX, 1, 2, 7, 50] {
        assert_eq!(run_sides(lines, || size), expect, "{lines:?} in pieces of {size}");
    }
}

const ASKED: &str = r#"question q Bash t {"a":1} null {}"#;

#[test]
pub(crate) fn an_answer_of_the_host_decides_a_question_once() {
    let error = r#"{"type":"control_response","response":{"subtype":"error","request_id":"q","error":"gone"}}"#;
    let allow = response("q", r#"{"behavior":"allow","updatedInput":{"a":2}}"#);
    let late = "diagnostic answer-without-question 2";
    for (answer, expect) in [
        (allow.clone(), r#"answered q allow - {"a":2}"#),
        (response("q", r#"{"behavior":"allow"}"#), "answered q allow - null"),
        (
            response("q", r#"{"behavior":"deny","message":"Not now."}"#),
            "answered q deny Not now. null",
        ),
        (
            response("q", r#"{"behavior":"deny","message":"Stop.","interrupt":true}"#),
            "answered q deny_and_interrupt Stop. null",
        ),
        (error.to_owned(), "answered q deny gone null"),
    ] {
        check_sides(
            &[Cli(question("q", "t")), Host(answer), Host(allow.clone()), Cli(result("x"))],
            &[ASKED, expect, late, END],
        );
    }
}

#[test]
pub(crate) fn an_answer_that_fits_no_open_question_is_reported() {
    let allow = |id: &str| Host(response(id, r#"{"behavior":"allow"}"#));
    let unfit = |line: u64| format!("diagnostic answer-without-question {line}");
    check_sides(
        &[
            allow("q"),
            Cli(question("q", "t")),
            allow("holo"),
            Cli(cancel("q")),
            allow("q"),
            Cli(question("r", "t")),
            Cli(result("x")),
            allow("r"),
        ],
        &[
            &unfit(1),
            ASKED,
            &unfit(2),
            "withdrawn q",
            &unfit(3),
            &ASKED.replace('q', "r").replace("ruestion", "question"),
            "withdrawn r",
            END,
            &unfit(4),
        ],
    );
    // Neither yes nor no: the question stays open.
    check_sides(
        &[Cli(question("q", "t")), Host(response("q", "{}")), allow("q"), Cli(result("x"))],
        &[ASKED, "diagnostic bad-record 1", "answered q allow - null", END],
    );
}

#[test]
pub(crate) fn parallel_questions_are_answered_in_any_order() {
    let deny = r#"{"behavior":"deny","message":"No."}"#;
    check_sides(
        &[
            Cli(question("q1", "t")),
            Cli(question("q2", "u")),
            Host(response("q2", deny)),
            Host(response("q1", r#"{"behavior":"allow"}"#)),
            Cli(result("x")),
        ],
        &[
            r#"question q1 Bash t {"a":1} null {}"#,
            r#"question q2 Bash u {"a":1} null {}"#,
            "answered q2 deny No. null",
            "answered q1 allow - null",
            END,
        ],
    );
}

#[test]
pub(crate) fn messages_and_requests_of_the_host_are_emitted() {
    let blocks = format!("[{},{}]", text_block("M2"), text_block("M3"));
    let message = |content: &str, more: &str| {
        Host(format!(r#"{{"type":"user","message":{{"role":"user","content":{content}}}{more}}}"#))
    };
    check_sides(
        &[
            Host(request("r1", "initialize", r#","hooks":null"#)),
            Cli(response("r1", r#"{"claude_code_version":"2.1.332","still_queued":1}"#)),
            message(r#""M1""#, r#","uuid":"u1""#),
            message(&blocks, ""),
            Cli(result("x")),
            Host(request("r2", "interrupt", "")),
            Host(request("r3", "holo", "")),
            Cli(response("r2", r#"{"still_queued":[]}"#)),
            Cli(response("r2", r#"{"still_queued":[]}"#)),
            Cli(response("r3", r#"{"still_queued":[]}"#)),
        ],
        &[
            "host r1 initialize -",
            r#"control r1 initialize - {"claude_code_version":"2.1.332"}"#,
            "host u1 user M1",
            "host - user M2\nM3",
            END,
            "host r2 interrupt -",
            "host r3 holo -",
            r#"control r2 interrupt - {"still_queued":[]}"#,
            r#"control r2 - - {"still_queued":[]}"#,
            r#"control r3 holo - {"still_queued":[]}"#,
        ],
    );
}

#[test]
pub(crate) fn an_answer_to_another_request_of_the_cli_causes_no_event() {
    check_sides(
        &[
            Cli(request("h", "hook_callback", r#","callback_id":"Stop""#)),
            Host(response("h", "{}")),
            Cli(response("h", "{}")),
            Host(response("h", "{}")),
            Cli(request("z", "holo", "")),
            Host(response("z", "{}")),
            Cli(response("z", "{}")),
            Cli(result("x")),
        ],
        &[
            r#"request h hook_callback {"callback_id":"Stop"}"#,
            "record control_response/success",
            "diagnostic answer-without-question 2",
            &format!("unknown control_request {}", request("z", "holo", "")),
            "record control_response/success",
            END,
        ],
    );
}

#[test]
pub(crate) fn a_bad_line_of_the_host_is_reported_with_its_own_number() {
    check_sides(
        &[
            Cli("{".into()),
            Host(String::new()),
            Host("{".into()),
            Host(r#"{"type":"holo"}"#.into()),
            Host(r#"{"type":"user"}"#.into()),
            Host(r#"{"type":"control_request","request_id":"1"}"#.into()),
            Host(r#"{"type":"control_response"}"#.into()),
            // Its values may be secret.
            Host(r#"{"type":"update_environment_variables","variables":{"A":"b"}}"#.into()),
            Host(r#"{"type":"keep_alive"}"#.into()),
            Cli(result("x")),
        ],
        &[
            "diagnostic not-json 1",
            "diagnostic not-json 2",
            r#"unknown stdin/holo {"type":"holo"}"#,
            "diagnostic bad-record 4",
            "diagnostic bad-record 5",
            "diagnostic bad-record 6",
            END,
        ],
    );
    // The last line may lack its LF, and the two sides may be cut inside their lines.
    let mut parser = Parser::new();
    let mut seen = Vec::new();
    let mut sink = |event: Event<'_>| seen.push(show(&event));
    let message = r#"{"type":"user","message":{"content":"M1"}}"#;
    let end = result("x") + "\n";
    parser.feed_stdin_with(&message.as_bytes()[..9], &mut sink);
    parser.feed_with(&end.as_bytes()[..9], &mut sink);
    parser.feed_stdin_with(&message.as_bytes()[9..], &mut sink);
    parser.feed_with(&end.as_bytes()[9..], &mut sink);
    parser.finish_with(&mut sink);
    assert_eq!(seen, [END, "host - user M1"]);
}
