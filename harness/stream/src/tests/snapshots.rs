//! Messages that come as snapshots, in part or as a whole: what of them is new, and what is withheld (T4, T6).

use super::*;

fn thought(escaped: &str) -> String {
    format!(r#"{{"type":"thinking","thinking":"{escaped}"}}"#)
}

#[test]
fn t4_only_a_block_of_the_answer_alone_in_its_record_is_new_after_a_call() {
    let called = snapshot("a", &call("t", "{}"));
    let end = [tool_result("t", "ok"), result("x")];
    // A thought that has grown.
    check(
        &records![
            [snapshot("a", &thought("Hel")), called.clone(), snapshot("a", &thought("Hello"))],
            end.clone(),
        ],
        &[
            r#"think a#0 "Hel""#,
            "start t Bash {}",
            r#"think a#2 "\n\nlo""#,
            r#"result t Bash "ok""#,
            END,
        ],
    );
    // A record with all blocks so far.
    let all = format!("{},{},{}", text_block("Hel"), call("t", "{}"), text_block("More"));
    check(
        &records![[snapshot("a", &text_block("Hel")), called, snapshot("a", &all)], end],
        &[
            r#"text a "Hel""#,
            "start t Bash {}",
            r#"text a "\n\nMore""#,
            r#"result t Bash "ok""#,
            END,
        ],
    );
}

#[test]
fn t4_a_snapshot_of_a_part_confirms_that_part_alone() {
    check(
        &[
            message("a"),
            text(0, "AB"),
            snapshot("a", &text_block("A")),
            snapshot("a", &text_block("C")),
            stop(0),
            result("AB"),
        ],
        &[r#"text a "AB""#, "diagnostic text-mismatch 4", r#"ok "AB""#],
    );
}

#[test]
fn t6_only_a_new_answer_without_a_stream_is_withheld_as_an_error() {
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 529"}"#;
    let words = "API Error: 529";
    check(
        &[snapshot("a", &thought(words)), failed.into()],
        &[r#"think a#0 "API Error: 529""#, r#"error "" overloaded"#],
    );
    check(
        &[message("a"), snapshot("a", &text_block(words)), failed.into()],
        &[r#"text a "API Error: 529""#, r#"error "API Error: 529" overloaded"#],
    );
    let more = "API Error: 529 is what it says";
    check(
        &[snapshot("a", &text_block(words)), snapshot("a", &text_block(more)), result(more)],
        &[
            r#"text a "API Error: 529""#,
            r#"text a " is what it says""#,
            r#"ok "API Error: 529 is what it says""#,
        ],
    );
}

#[test]
fn t6_a_snapshot_ends_a_section_only_if_its_message_does_not_stream() {
    check(
        &[
            snapshot("a", &text_block("<think>open")),
            snapshot("a", &call("t", "{}")),
            tool_result("t", "ok"),
            result("x"),
        ],
        &[r#"text a "<think>open""#, "start t Bash {}", r#"result t Bash "ok""#, END],
    );
    check(
        &[
            message("a"),
            text(0, "<think>wh"),
            snapshot("a", &text_block("<think>wh")),
            text(0, "y</think>so"),
            stop(0),
            result("so"),
        ],
        &[r#"think a#0 "why""#, r#"text a "so""#, r#"ok "so""#],
    );
}

#[test]
fn t4_only_the_main_thread_has_late_snapshots_and_only_of_messages_that_ended() {
    let first = records![spoken("a", "one"), one(result("one"))];
    // A subagent's message has the id of one of the main thread.
    check(
        &records![first.clone(), one(under("p", &snapshot("a", &text_block("two"))))],
        &[r#"text a "one""#, r#"ok "one""#, r#"text a "two" @p"#],
    );
    // A message has the id of one of the turn before.
    let again = [message("a"), text(0, "tw"), snapshot("a", &text_block("two")), stop(0), over()];
    check(
        &records![first.clone(), again, one(result("two"))],
        &[
            r#"text a "one""#,
            r#"ok "one""#,
            r#"text a "tw""#,
            r#"text a "o""#,
            r#"ok "two" turn 2"#,
        ],
    );
    check(
        &records![first, one(snapshot("a", &text_block("one"))), one(result("x"))],
        &[r#"text a "one""#, r#"ok "one""#, r#"ok "x" turn 2"#],
    );
}
