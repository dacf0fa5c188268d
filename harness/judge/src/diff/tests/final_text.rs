use crate::diff::entry_line::entry;
use crate::diff::*;

/// Compares two chats with these messages, and expects this sentence and these consequences.
fn check(old: &[&str], new: &[&str], sentence: Option<&str>, consequences: &[&str]) {
    let entries = |texts: &[&str]| -> Vec<Entry> {
        let sent = |(id, text): (u64, &&str)| {
            let data = serde_json::json!({ "message_id": id, "text": text });
            entry(&format!("{id} telegram sendMessage {data}"))
        };
        (1..).zip(texts).map(sent).collect()
    };
    let diff = FinalTextDiff::new(&entries(old), &entries(new));
    assert_eq!(diff.first().as_deref(), sentence);
    let (change, lines) = diff.difference();
    assert_eq!((change.is_some(), !lines.is_empty()), (sentence.is_some(), sentence.is_some()));
    assert_eq!(change.map(|change| change.consequences).unwrap_or_default(), consequences);
}

#[test]
fn final_texts_are_compared_as_texts() {
    check(&["Hello"], &["Hello"], None, &[]);
    check(&["Hello"], &["Hell\n"], Some("expected “Hello”, got “Hell\\n”"), &[]);
    check(&["a"], &["a", "b"], Some("expected nothing more, got “b”"), &[]);
    check(&["a", "b"], &["a"], Some("expected “b”, got nothing more"), &[]);
    let consequences = ["1 × a line that is no entry missing"];
    check(&["a", "b"], &["c"], Some("expected “a”, got “c”"), &consequences);
}
