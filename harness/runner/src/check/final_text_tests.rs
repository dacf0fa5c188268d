//! Every reader of a chat's final text shows the same.

use clitape_judge::wrong_final_text;
use clitape_recording::chat::ChatView;
use clitape_recording::scenario::{Chat, ChatMode, ChatProfile, Fault, RunSpec, Setup};
use clitape_recording::trace::Entry;
use serde_json::Value;

use super::sweep::tests::RUN;
use crate::compare::last;
use crate::replay::{Plan, Replay, replay};
use crate::report::proof::last_seen;
use crate::report::{Screen, TerminalChat, last_messages};

/// Replays [`RUN`] in a chat, with a message before its answer so that the answer comes as an edit, and with
/// a fault at a call.
fn run(fault: Option<&str>) -> Replay {
    let before = concat!(
        r#"{"type":"assistant","message":{"id":"m0","content":[{"type":"text","#,
        r#""text":"Einen Moment."}],"stop_reason":null},"session_id":"s"}"#,
        "\n{\"type\":\"assistant\"",
    );
    let stdout = RUN.replacen("{\"type\":\"assistant\"", before, 1);
    let channel = Some(Chat::of(ChatMode::Partial));
    let setup = Setup { run: RunSpec::default(), channel, acp: None };
    let faults = fault.map(|fault| fault.parse::<Fault>().unwrap());
    let plan = Plan::canonical(stdout.as_bytes(), 200).with_faults(faults);
    replay(stdout.as_bytes(), &plan, setup)
}

/// Returns the text in the boxes that a terminal draws, without their frames.
fn drawn(entries: &[Entry]) -> String {
    let mut chat = TerminalChat::default();
    let mut out = Vec::new();
    for entry in entries {
        chat.apply(entry);
    }
    chat.draw(&mut Screen::new(&mut out, None), 0).unwrap();
    let shown = anstream::adapter::strip_bytes(&out).into_vec();
    let shown = String::from_utf8(shown).unwrap();
    let lines = shown.lines().filter_map(|line| line.strip_prefix("│ "));
    lines.map(str::trim_end).collect::<Vec<_>>().join(" ")
}

/// The reply to the last edit is lost, and every reader of the chat still shows the same text.
#[test]
fn every_reader_of_the_final_text_agrees() {
    // Whether an entry is an edit with the final text whose reply is lost.
    let is_lost_edit =
        |entry: &Entry| entry.kind == "editMessageText" && entry.is_final() && entry.is_lost();
    let lost = (1..=8)
        .map(|call| run(Some(&format!("{call}:lost-reply"))).into_entries())
        .find(|entries| entries.iter().any(is_lost_edit))
        .expect("the run ends with an edit");
    let fault_free = run(None).into_entries();

    let text = ChatView::after(&fault_free).final_text().join(" ");
    assert!(text.contains("Grüße aus 世界 🌍"), "{text}");
    assert_eq!(ChatView::after(&lost).final_text().join(" "), text);
    assert!(wrong_final_text(&fault_free, &lost).is_none());
    let compared: Vec<Value> = last(&lost).iter().map(|call| call.data["text"].clone()).collect();
    assert_eq!(compared, [Value::from(text.as_str())]);
    assert_eq!(last_seen(&lost), text);
    let messages = last_messages(&lost, ChatProfile::Telegram);
    let shown = messages.iter().flat_map(|message| &message.spans).map(|span| span.text.as_str());
    assert_eq!(shown.collect::<String>(), text);
    assert_eq!(drawn(&lost), text);
}
