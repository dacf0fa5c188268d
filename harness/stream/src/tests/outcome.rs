//! The end of a run: the kinds of failure, and the message for a person.

use super::*;

/// Compares the kind and the message of the failure at the end of `records`, and the text.
fn check_failure(records: &[String], kind: &str, message: &str, text: &str) {
    let bytes: String = records.iter().map(|record| format!("{record}\n")).collect();
    let mut parser = Parser::new();
    let mut found = None;
    let mut sink = |event: Event<'_>| {
        if let Event::Outcome(outcome) = event {
            found = Some(outcome.into_owned());
        }
    };
    parser.feed_with(bytes.as_bytes(), &mut sink);
    parser.finish_with(&mut sink);
    let outcome = found.unwrap();
    let error = outcome.error.unwrap();
    assert_eq!((error.kind.as_str(), error.message.as_str()), (kind, message), "of\n{bytes}");
    assert_eq!(outcome.text, text, "of\n{bytes}");
}

fn failed(fields: &str) -> String {
    format!(r#"{{{fields},"is_error":true,"type":"result"}}"#)
}

fn ends(reason: &str) -> String {
    event(&format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#))
}

#[test]
pub(crate) fn b3_a_failure_has_a_kind_and_a_sentence() {
    let refusal = || vec![message("a"), text(0, "I can"), stop(0)];
    for (record, kind, expect) in [
        (
            failed(r#""subtype":"success","api_error_status":400,"result":"API Error: 400 no""#),
            "bad_request",
            "API Error: 400 no",
        ),
        (
            failed(r#""subtype":"success","terminal_reason":"prompt_too_long""#),
            "bad_request",
            "The CLI ended the turn with the result success and gave no reason.",
        ),
        (
            failed(r#""subtype":"error_during_execution","errors":["no such session"]"#),
            "execution",
            "no such session",
        ),
        (
            failed(r#""subtype":"error_max_turns""#),
            "max_turns",
            "The limit of turns was reached; raise it or ask again.",
        ),
        (
            failed(r#""subtype":"error_max_budget_usd""#),
            "max_budget",
            "The budget was used up; raise it or ask again.",
        ),
        (
            failed(r#""subtype":"success","stop_reason":"refusal","result":"API Error: refused""#),
            "refusal",
            "API Error: refused",
        ),
        (
            failed(r#""subtype":"error_during_execution","terminal_reason":"aborted_tools""#),
            "interrupted",
            "The turn was interrupted before it was done; send a message to go on from here.",
        ),
        (
            failed(
                r#""subtype":"success","result":"API Error: response exceeded the 32000 output token maximum""#,
            ),
            "max_tokens",
            "API Error: response exceeded the 32000 output token maximum",
        ),
        (failed(r#""subtype":"odd","result":"Odd.""#), "other", "Odd."),
    ] {
        // Refused text is withheld.
        let text = if kind == "refusal" { "" } else { "I can" };
        check_failure(&records![refusal(), one(record)], kind, expect, text);
    }
}

#[test]
pub(crate) fn r134697_refusal_and_output_limit_are_known_by_how_the_last_message_ended() {
    let api = failed(r#""subtype":"success","result":"API Error: no""#);
    for (reason, kind) in
        [("refusal", "refusal"), ("max_tokens", "max_tokens"), ("end_turn", "api")]
    {
        let records = records![[message("a"), ends(reason), over()], one(api.clone())];
        check_failure(&records, kind, "API Error: no", "");
    }
    // The next message ends differently.
    let records = records![[message("a"), ends("refusal"), over(), message("b")], one(api)];
    check_failure(&records, "api", "API Error: no", "");
}

#[test]
pub(crate) fn a_refusal_without_words_is_a_failure_though_the_cli_calls_it_success() {
    let words = "The model declined to answer; put the request in other words.";
    let empty = result("");
    check_failure(&[message("a"), ends("refusal"), over(), empty], "refusal", words, "");
    let refused = r#"{"type":"result","stop_reason":"refusal","result":"I can"}"#;
    check_failure(&records![spoken("a", "I can"), one(refused)], "refusal", words, "");
}

#[test]
fn the_output_limit_is_a_failure_only_of_a_result_that_says_it_failed() {
    check(&[message("a"), ends("max_tokens"), over(), result("")], &[r#"ok """#]);
}

#[test]
pub(crate) fn t5_output_without_an_end_says_why_as_far_as_it_is_known() {
    let cut = "The output ended without a result, so the answer may be cut off; send a message to \
               go on.";
    check_failure(&spoken("a", "half"), "no_result", cut, "half");
    check_failure(
        &[],
        "no_output",
        "The CLI printed nothing; see its exit code and what it wrote to stderr.",
        "",
    );
    let user =
        r#"{"type":"user","message":{"content":"[Request interrupted by user for tool use]"}}"#;
    let aborted = snapshot("a", &text_block("half")).replacen('{', r#"{"aborted":true,"#, 1);
    for by in [user, &aborted] {
        check_failure(
            &records![spoken("a", "half"), one(by)],
            "interrupted",
            "The turn was interrupted before it was done; send a message to go on from here.",
            "half",
        );
    }
    // No person interrupted the main thread.
    for other in [user.replace("interrupted", "made"), under("p", user), under("p", &aborted)] {
        check_failure(&records![spoken("a", "half"), one(other)], "no_result", cut, "half");
    }
    let error = r#"{"type":"error","error":{"message":"Overloaded"}}"#;
    let found = format!("{cut} The API's last word was: Overloaded");
    check_failure(&[error.into()], "no_result", &found, "");
}

#[test]
fn an_error_of_the_api_without_words_leaves_no_empty_sentence() {
    let error = r#"{"type":"assistant","error":"x","message":{"id":"a","content":[]}}"#.to_owned();
    let cut = "The output ended without a result, so the answer may be cut off; send a message to \
               go on.";
    check_failure(std::slice::from_ref(&error), "no_result", cut, "");
    let result = failed(r#""subtype":"success""#);
    let words = "The CLI ended the turn with the result success and gave no reason.";
    check_failure(&[error, result], "api", words, "");
}

#[test]
pub(crate) fn usage_is_that_of_the_turn_and_never_a_sum() {
    let usage = |input: u64| {
        format!(r#"{{"type":"result","result":"x{input}","usage":{{"input_tokens":{input}}}}}"#)
    };
    let snapshot =
        r#"{"type":"assistant","message":{"id":"a","usage":{"input_tokens":7},"content":[]}}"#;
    check(
        &[snapshot.into(), snapshot.into(), usage(3), usage(5)],
        &[
            "usage 3 0 0 0 final",
            r#"ok "x3" of 3"#,
            "usage 5 0 0 0 final",
            r#"ok "x5" of 5 turn 2"#,
        ],
    );
}
