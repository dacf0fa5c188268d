//! Tests the policy of the fold, call by call.

use super::*;
use crate::trace::Entry;

/// Reads a call such as `send 1 a`, `edit 1 b "answer":"lost-reply"` or `buttons 1 -`: a method, the number of a
/// message, a text, and further fields. The call with the index `number` is made at ten times the next number.
fn entry(number: usize, call: &str) -> Entry {
    let mut words = call.splitn(4, ' ');
    let [kind, id, text, fields] = std::array::from_fn(|_| words.next().unwrap_or("-"));
    let (kind, ids) = match kind {
        "send" => ("sendMessage", "message_id"),
        "file" => ("sendDocument", "message_id"),
        "edit" => ("editMessageText", "message_id"),
        "caption" => ("editMessageCaption", "message_id"),
        "buttons" => ("editMessageReplyMarkup", "message_id"),
        "delete" => ("deleteMessage", "message_id"),
        "deletes" => ("deleteMessages", "message_ids"),
        "final" => ("final", "message_ids"),
        kind => (kind, "message_id"),
    };
    let mut data = vec![format!(r#""{ids}":{id}"#)];
    data.extend((text != "-").then(|| format!(r#""text":"{text}""#)));
    data.extend((fields != "-").then(|| fields.to_owned()));
    let (at, data) = (10 * (number + 1), data.join(","));
    let line = format!(r#"{{"at":{at},"lane":"telegram","kind":"{kind}","data":{{{data}}}}}"#);
    serde_json::from_str(&line).unwrap()
}

/// Applies the calls, and compares the messages: `1: a@10 b@20` is a message with the number 1 that was `a` from 10 ms
/// on and `b` from 20 ms on. Its buttons, its file and its flags follow the texts.
fn check(calls: &[&str], expect: &[&str]) {
    let entries: Vec<Entry> =
        calls.iter().enumerate().map(|(number, call)| entry(number, call)).collect();
    let history = ChatHistory::of(&entries);
    let shown = history.messages().map(|message| {
        let mut words = vec![format!("{}:", message.id)];
        for version in &message.versions {
            let buttons: String =
                version.buttons.concat().iter().map(|label| format!("[{label}]")).collect();
            let file =
                version.file.as_ref().map(|file| format!("+{}", file.name)).unwrap_or_default();
            words.push(format!("{}{file}{buttons}@{}", version.plain_text(), version.at));
        }
        let now = history
            .now()
            .numbered()
            .find(|(id, now)| *id == message.id && now.entry == message.last().entry);
        words.extend(message.deleted.map(|deletion| format!("deleted@{}", deletion.at)));
        words.extend(now.filter(|(_, now)| now.is_final).map(|_| "final".to_owned()));
        words.extend(now.filter(|(_, now)| now.is_orphaned()).map(|_| "orphan".to_owned()));
        words.join(" ")
    });
    assert_eq!(shown.collect::<Vec<_>>(), expect, "{calls:?}");
    // The chat after each call is the same in the history as in a view that ends there.
    let state =
        |message: &SeenMessage| (message.text.clone(), message.buttons.clone(), message.edits);
    for end in 0..entries.len() {
        let view = ChatView::after(&entries[..=end]);
        let then: Vec<_> = history.after(end).map(state).collect();
        assert_eq!(view.messages().map(state).collect::<Vec<_>>(), then, "{calls:?} {end}");
    }
}

/// Applies the calls, and compares the final text.
fn check_final(calls: &[&str], expect: &[&str]) {
    let entries: Vec<Entry> =
        calls.iter().enumerate().map(|(number, call)| entry(number, call)).collect();
    assert_eq!(ChatView::after(&entries).final_text(), expect, "{calls:?}");
}

#[test]
fn a_message_has_the_text_of_the_last_call_about_it() {
    check(&[], &[]);
    check(&["send 1 a", "edit 1 b", "edit 1 b"], &["1: a@10 b@20 b@30"]);
    check(&["send 2 b", "send 1 a"], &["1: a@20", "2: b@10"]);
    check(&["edit 1 a"], &["1: a@10"]);
    check(&["send 1 a", "final [1]", "final [7]"], &["1: a@10 final"]);
    check(&["send 1 a", "(press) 1 - \"label\":\"b\"", "pinChatMessage 1"], &["1: a@10"]);
}

#[test]
fn a_refused_call_changes_nothing() {
    check(&["send 1 a", r#"edit 1 b "answer":"server-error","shown":false"#], &["1: a@10"]);
    check(&["send 1 a", r#"edit 1 b "refused":"message is too long""#], &["1: a@10"]);
    check(&["send 1 a", r#"delete 1 - "shown":false"#, "delete 2"], &["1: a@10"]);
    // The server may report this for an edit that it made.
    let not_modified = r#""refused":"Bad Request: message is not modified: it is the same""#;
    check(&["send 1 a", &format!("edit 1 b {not_modified}")], &["1: a@10 b@20"]);
    check(&["send 1 a", &format!(r#"edit 1 b {not_modified},"shown":false"#)], &["1: a@10"]);
}

#[test]
fn a_call_whose_reply_is_lost_is_seen() {
    check(&["send 1 a", r#"edit 1 b "answer":"lost-reply""#], &["1: a@10 b@20"]);
    let lost = r#"send 1 a "answer":"lost-reply""#;
    check(&[lost, "send 2 b"], &["1: a@10 orphan", "2: b@20"]);
    check_final(&[lost, "send 2 b"], &["b"]);
    check_final(&[r#"file 1 a "answer":"hang""#, "send 2 b"], &["b"]);
    // A final text stays visible although its place is unknown, and a caller that edits a message knows its number.
    check_final(&[r#"send 1 a "answer":"hang","final":true"#], &["a"]);
    check(&[lost, "edit 1 b"], &["1: a@10 b@20"]);
    check(&[r#"edit 1 a "answer":"lost-reply""#], &["1: a@10"]);
}

#[test]
fn a_message_that_was_deleted_does_not_come_back() {
    check(&["send 1 a", "send 2 b", "delete 1"], &["1: a@10 deleted@30", "2: b@20"]);
    check(
        &["send 1 a", "send 2 b", "deletes [1,2,3]"],
        &["1: a@10 deleted@30", "2: b@20 deleted@30"],
    );
    check(&["send 1 a", "delete 1", "edit 1 b", "buttons 1", "delete 1"], &["1: a@10 deleted@20"]);
    check(
        &["send 1 a", "delete 1", "send 1 b", "edit 1 c"],
        &["1: a@10 deleted@20", "1: b@30 c@40"],
    );
}

#[test]
fn a_draft_is_no_message() {
    check(&["sendMessageDraft 1 a", "sendRichMessageDraft 1 a", "sendChatAction 1 a"], &[]);
}

/// Applies the calls, and compares the drafts: `7: a@10 b@20 gone@30` had two texts, and was gone at 30 ms; one that is
/// visible is compared with the view.
fn check_drafts(calls: &[&str], expect: &[&str]) {
    let entries: Vec<Entry> =
        calls.iter().enumerate().map(|(number, call)| entry(number, call)).collect();
    let history = ChatHistory::of(&entries);
    let shown = history.drafts().map(|draft| {
        let topic = draft.topic.map(|topic| format!(" in {topic}")).unwrap_or_default();
        let mut words = vec![format!("{}{topic}:", draft.id)];
        let text = |text: &SeenMessage| format!("{}@{}", text.plain_text(), text.at);
        words.extend(draft.text.versions.iter().map(text));
        words.extend(draft.text.deleted.map(|gone| format!("gone@{}", gone.at)));
        words.join(" ")
    });
    assert_eq!(shown.collect::<Vec<_>>(), expect, "{calls:?}");
    let visible = ChatView::after(&entries);
    let visible = visible.drafts().map(|(topic, draft)| (topic, draft.id));
    let not_gone = history.drafts().filter(|draft| draft.text.deleted.is_none());
    let not_gone = not_gone.map(|draft| (draft.topic, draft.id));
    assert_eq!(visible.collect::<BTreeSet<_>>(), not_gone.collect::<BTreeSet<_>>(), "{calls:?}");
}

#[test]
fn a_draft_is_seen_until_a_message_comes() {
    let draft = |text: &str, fields: &str| format!(r#"sendMessageDraft 0 {text} {fields}"#);
    let one = draft("a", r#""draft_id":7"#);
    let more = draft("ab", r#""draft_id":7"#);
    check_drafts(&[&one, &more], &["7: a@10 ab@20"]);
    check_drafts(&[&one, &more, "send 1 abc"], &["7: a@10 ab@20 gone@30"]);
    check_drafts(&[&one, "edit 1 b", "sendChatAction 0 -"], &["7: a@10"]);
    check_drafts(&[&one, r#"send 1 b "refused":"no""#], &["7: a@10"]);
    check_drafts(&[&one, &draft("b", r#""draft_id":8"#)], &["7: a@10 gone@20", "8: b@20"]);
    check_drafts(&[&draft("-", r#""draft_id":7"#)], &["7: Thinking…@10"]);
    check_drafts(&[&draft("a", r#""draft_id":7,"shown":false"#)], &[]);
    check_drafts(
        &[r#"sendRichMessageDraft 0 # "draft_id":7,"html":"<b>a</b>""#, "sendRichMessage 1 a"],
        &["7: a@10 gone@20"],
    );
}

#[test]
fn a_draft_belongs_to_its_topic() {
    let draft = |fields: &str| format!(r#"sendMessageDraft 0 a {fields}"#);
    let (one, two) = (draft(r#""draft_id":7,"topic":2"#), draft(r#""draft_id":7,"topic":3"#));
    check_drafts(
        &[&one, &two, "send 1 b", r#"send 2 c "topic":2"#],
        &["7 in 2: a@10 gone@40", "7 in 3: a@20"],
    );
}

#[test]
fn a_draft_goes_by_itself_or_when_the_person_stops_it() {
    let one = r#"sendMessageDraft 0 a "draft_id":7"#;
    let late = r#"sendChatAction 0 - "took_ms":30000"#;
    check_drafts(&[one, late], &["7: a@10 gone@30010"]);
    check_drafts(&[one, r#"(stop) 0 - "draft_id":7"#], &["7: a@10 gone@20"]);
    check_drafts(&[one, r#"(stop) 0 - "draft_id":7,"kept":true"#], &["7: a@10"]);
}

#[test]
fn an_album_is_a_message_for_each_part() {
    let album = r#"sendMediaGroup 0 - "album":[{"message_id":1,"file":"f","text":"a"},{"message_id":2,"file":"g","text":"*b*","html":"<b>b</b>"}]"#;
    check(&[album], &["1: a+f@10", "2: b+g@10"]);
    check(&[album, "caption 2 c", "delete 1"], &["1: a+f@10 deleted@30", "2: b+g@10 c+g@20"]);
    let lost = album.replacen("\"album\"", "\"answer\":\"lost-reply\",\"album\"", 1);
    check(&[&lost], &["1: a+f@10 orphan", "2: b+g@10 orphan"]);
}

#[test]
fn every_text_that_was_ever_seen_is_known() {
    let calls = ["send 1 a", r#"sendMessageDraft 0 b "draft_id":7"#, "edit 1 c", "send 2 d"];
    let entries: Vec<Entry> =
        calls.iter().enumerate().map(|(number, call)| entry(number, call)).collect();
    let history = ChatHistory::of(&entries);
    let texts: Vec<&str> = history.ever_seen().map(SeenMessage::plain_text).collect();
    assert_eq!(texts, ["a", "c", "d", "b"]);
}

#[test]
fn captions_files_and_buttons_belong_to_their_message() {
    check(&[r#"file 1 a "file":"f""#, "caption 1 b"], &["1: a+f@10 b+f@20"]);
    check(
        &[r#"file 1 - "file":"f","caption":"a""#, r#"caption 1 - "caption":"b""#],
        &["1: a+f@10 b+f@20"],
    );
    let asks = r#"send 1 a "buttons":[["y","n"]]"#;
    check(&[asks, "edit 1 b"], &["1: a[y][n]@10 b@20"]);
    check(&[asks, "buttons 1", "buttons 2"], &["1: a[y][n]@10 a@20"]);
    check(&[asks, r#"buttons 1 a "buttons":[["n"]]"#], &["1: a[y][n]@10 a[n]@20"]);
}

#[test]
fn of_calls_that_overlap_the_last_one_done_counts() {
    let edits = [r#"edit 1 b "done_at":90"#, r#"edit 1 c "done_at":80"#];
    check(&["send 1 a", edits[0], edits[1]], &["1: a@10 c@80 b@90"]);
    check(&["send 1 a", edits[1], edits[0]], &["1: a@10 c@80 b@90"]);
}

#[test]
fn a_text_is_seen_from_the_answer_on() {
    check(&[r#"send 1 a "took_ms":5"#, r#"delete 1 - "took_ms":7"#], &["1: a@15 deleted@27"]);
}

#[test]
fn a_text_is_read_as_the_html_that_the_server_shows() {
    check(&["send 1 <b>I&#x27;ll</b>&nbsp;"], &["1: I'll&nbsp;@10"]);
    check(&[r#"send 1 *a*\\. "parse_mode":"MarkdownV2","html":"<b>a</b>.""#], &["1: a.@10"]);
    check(&[r#"send 1 &lt; "html":"&amp;lt;""#], &["1: &lt;@10"]);
    check(&["send 1 \u{202e}a"], &["1: \u{202e}a@10"]);
}
