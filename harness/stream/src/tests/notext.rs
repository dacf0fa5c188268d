//! Text that is not an answer: reasoning sections, API errors, text by the CLI itself (T6).

use super::*;

#[test]
pub(crate) fn t6_an_error_record_makes_a_failure_without_words_the_api_s() {
    let error = r#"{"type":"error","error":{"message":"Overloaded"}}"#.to_owned();
    let status = r#"{"type":"system","subtype":"status","status":"requesting"}"#.to_owned();
    let failed =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#.to_owned();
    let notice = r#"notice error/- {"message":"Overloaded"}"#;
    let passed = "record system/status";
    check(&[error, status.clone(), failed.clone()], &[notice, passed, r#"error "" api"#]);
    check(&[status, failed], &[passed, r#"error "" execution"#]);
}

#[test]
pub(crate) fn t6_a_leading_section_is_reasoning_streamed_or_not() {
    check(
        &[
            message("a"),
            text(0, " <thi"),
            text(0, "nk>why</th"),
            text(0, r"ink>\n\nBecause"),
            snapshot("a", &text_block(r" <think>why</think>\n\nBecause")),
            stop(0),
            over(),
            snapshot("b", &text_block(r"<thinking>so</thinking>Done")),
            result(r"<thinking>so</thinking>\nDone"),
        ],
        &[
            r#"think a#0 "why""#,
            r#"text a "Because""#,
            r#"think b#0 "\n\nso""#,
            r#"text b "\n\nDone""#,
            r#"ok "Done""#,
        ],
    );
}

#[test]
fn t6_white_space_before_a_section_may_be_a_block_of_its_own() {
    check(
        &[message("a"), text(0, " "), stop(0), text(1, "<think>why</think>so"), result("so")],
        &[r#"text a " ""#, r#"think a#1 "why""#, r#"text a "so""#, r#"ok "so""#],
    );
}

#[test]
pub(crate) fn t6_an_unclosed_section_is_shown_as_it_is() {
    check(
        &[message("a"), text(0, "<think>open"), stop(0), text(1, "<b>"), result("")],
        &[r#"text a "<think>open""#, r#"text a "<b>""#, r#"ok "<think>open<b>""#],
    );
}

#[test]
pub(crate) fn t6_api_error_text_is_no_answer() {
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 529"}"#;
    let marked = r#"{"type":"assistant","error":"overloaded","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}"#;
    let notice = r#"notice assistant/api_error {"text":"API Error: 529","error":"overloaded"}"#;
    check(&[marked.into(), failed.into()], &[notice, r#"error "" overloaded"#]);
    check(&[marked.into()], &[notice, r#"incomplete "" no_result"#]);
    check(&[marked.into(), result("API Error: 529")], &[notice, r#"ok "API Error: 529""#]);
    let old = marked.replace(r#""error":"overloaded","#, "");
    let notice = r#"notice assistant/api_error {"text":"API Error: 529"}"#;
    check(&[old, failed.into()], &[notice, r#"error "" overloaded"#]);
}

#[test]
pub(crate) fn t6_a_marked_record_of_the_model_itself_is_not_left_out() {
    let mark = |record: String| record.replacen('{', r#"{"error":"max_output_tokens","#, 1);
    check(
        &[
            mark(snapshot("a", &format!("{},{}", text_block("Hi"), call("t", "{}")))),
            tool_result("t", "ok"),
            message("b"),
            text(0, "o"),
            mark(snapshot("b", &text_block("one"))),
            result(""),
        ],
        &[
            r#"text a "Hi""#,
            "start t Bash {}",
            r#"result t Bash "ok""#,
            r#"text b "\n\no""#,
            r#"text b "ne""#,
            r#"ok "Hi\n\none""#,
        ],
    );
}

#[test]
pub(crate) fn t6_unmarked_api_error_text_is_an_answer_only_if_the_run_goes_on() {
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 529"}"#;
    let unmarked = snapshot("e", &text_block("API Error: 529"));
    check(&[unmarked.clone(), failed.into()], &[r#"error "" overloaded"#]);
    check(
        &[unmarked, snapshot("f", &text_block("means overloaded")), result("means overloaded")],
        &[
            r#"text e "API Error: 529""#,
            r#"text f "\n\nmeans overloaded""#,
            r#"ok "means overloaded""#,
        ],
    );
}

#[test]
pub(crate) fn t6_text_by_the_cli_is_no_answer_of_a_failed_run() {
    // 1.0.128 marks no error, and these texts do not begin like other errors.
    let synthetic = |text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"e","model":"<synthetic>","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let failed = |text: &str| {
        format!(r#"{{"type":"result","subtype":"success","is_error":true,"result":"{text}"}}"#)
    };
    let poor = "Credit balance is too low";
    check(&[synthetic(poor), failed(poor)], &[r#"error "" billing"#]);
    check(
        &records![
            spoken("a", "Working"),
            one(synthetic("Prompt is too long")),
            one(failed("Prompt is too long"))
        ],
        &[r#"text a "Working""#, r#"error "Working" bad_request"#],
    );
    check(&[synthetic("Done."), result("Done.")], &[r#"text e "Done.""#, r#"ok "Done.""#]);
    // In the middle of a block it retracts no text.
    check(
        &[
            message("a"),
            block(0, r#"{"type":"text","text":""}"#),
            text(0, "He"),
            synthetic("Note."),
            text(0, "llo"),
            stop(0),
        ],
        &[
            r#"text a "He""#,
            r#"text e "\n\nNote.""#,
            r#"text a "\n\nllo""#,
            r#"incomplete "He\n\nNote.\n\nllo" no_result"#,
        ],
    );
}

#[test]
pub(crate) fn t6_a_synthetic_no_response_is_a_failure() {
    let no_response = r#"{"type":"assistant","message":{"id":"n","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}"#;
    check(&[no_response.into(), result("")], &[r#"error "" other"#]);
    check(&[no_response.into(), result("x")], &[r#"ok "x""#]);
    // A call in the same turn counts; a call in the turn before does not.
    let call = [snapshot("a", &call("t", "{}")), tool_result("t", "ok")];
    let of_call = ["start t Bash {}", r#"result t Bash "ok""#];
    check(
        &records![call.clone(), [no_response.into(), result("")]],
        &[&of_call[..], &[r#"ok """#]].concat(),
    );
    check(
        &records![call, [result("x"), no_response.into(), result("")]],
        &[&of_call[..], &[r#"ok "x""#, r#"error "" other turn 2"#]].concat(),
    );
}
