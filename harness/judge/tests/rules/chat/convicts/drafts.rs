//! Tests that a draft is text that a person reads.

use serde_json::json;

use super::*;

/// Makes a draft as the chat server writes it.
fn draft(at: u64, id: i64, text: &str) -> Entry {
    call(at, "sendMessageDraft", json!({ "draft_id": id, "text": text }))
}

/// Judges drafts before a good answer.
fn check_drafts(drafts: &[Entry], expect: &[K]) -> Vec<Violation> {
    check(&[&[send(500, 6, TOOLS)], drafts, &[send(60_000, 7, ANSWER)]].concat(), expect)
}

#[test]
fn a_draft_is_read() {
    for (text, expect) in [
        ("They do not agree: the server", &[][..]),
        ("Let me look at both files.Now the oth", &[K::TextGlued]),
        ("They do not agree: theserver listens", &[K::BlanksLost]),
        (r#"{"type":"stream_event","event":{}}"#, &[K::RecordShown]),
        ("🔧 Read {}", &[K::ArgumentsEmpty]),
    ] {
        check_drafts(&[draft(5_000, 1, text)], expect);
    }
    let rich = call(5_000, "sendRichMessageDraft", json!({ "draft_id": 1, "text": "🔧 Read {}" }));
    check_drafts(&[rich], &[K::ArgumentsEmpty]);
    // A draft is no message, so it is neither the answer nor left beside it.
    check(&[draft(5_000, 1, &format!("{TOOLS}\n\n{ANSWER}"))], &[K::AnswerMissing]);
}

#[test]
fn sb015_a_draft_does_not_become_shorter() {
    let (more, less) = (&ANSWER[..60], &ANSWER[..40]);
    let found = check_drafts(&[draft(5_000, 1, more), draft(6_000, 1, less)], &[K::TextTakenBack]);
    assert!(found[0].sentence.contains("at 6.0 s the draft shows less"), "{found:?}");
    check_drafts(&[draft(5_000, 1, less), draft(6_000, 1, more)], &[]);
    check_drafts(&[draft(5_000, 1, more), draft(6_000, 2, less)], &[]);
}

#[test]
fn sb025_drafts_keep_their_distance() {
    let drafts = |every: u64| -> Vec<Entry> {
        (0..40).map(|n| draft(5_000 + n * every, 1, &format!("{TOOLS} {n}"))).collect()
    };
    check_drafts(&drafts(1_000), &[]);
    let found = check_drafts(&drafts(200), &[K::TooManyCalls]);
    assert!(found[0].sentence.contains("got 26 drafts and edits"), "{found:?}");
}

#[test]
fn sb012_sb013_a_draft_is_a_sign_of_life() {
    let lines = good_but(1, &[delete(5_000, 7), draft(5_100, 1, TOOLS), send(9_000, 8, ANSWER)]);
    check(&lines, &[]);
    let slow = |first: Entry, expect: &[K]| {
        let lines = [first, send(40_000, 7, TOOLS), edit(41_000, 7, ANSWER)];
        check_seen(Seen { lines: &lines, turns: played(41_000), ..Seen::default() }, expect);
    };
    slow(draft(1_000, 1, "On it"), &[]);
    slow(typing(1_000), &[K::NoSignOfLife]);
}
