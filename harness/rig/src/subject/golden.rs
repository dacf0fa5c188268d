//! The goldens of a subject: the chat at its last acceptance by a person, without times.
//!
//! The differing lines of two traces are added to a finding within limits, because a subject decides their length.

use std::collections::HashMap;
use std::io;

use clitape_judge::observation::ObservedEnding;
use clitape_judge::{DiffLine, Finding, FindingKind, Golden, Times, TraceDiff};
use clitape_recording::chat::CALL_HTML;
use clitape_recording::names::SubjectName;
use clitape_recording::scenario::Scenario;
use clitape_recording::trace::Entry;

use crate::chat_server::drawn;
use crate::limits::{KeptBytes, entry_bytes};

/// The keys of an entry that depend on the time or on other chats of the run, and the key that follows from the text
/// and its parse mode.
const LEFT_OUT: [&str; 5] = ["took_ms", "asked_ms", "answered_ms", "topic", CALL_HTML];

/// The chat of a cassette at a subject.
#[derive(Debug, Clone, Copy)]
pub(super) struct GoldenChat<'a> {
    /// The name of the subject.
    pub(super) subject: &'a SubjectName,
    /// The name as the command line has it.
    pub(super) shown: &'a str,
    /// The scenario.
    pub(super) scenario: &'a Scenario,
    /// The name of the cassette.
    pub(super) cassette: &'a str,
    /// The entries of the chat.
    pub(super) entries: &'a [Entry],
    /// The ending of the run.
    pub(super) ending: &'a ObservedEnding,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(super) struct GoldenComparison {
    /// The number of goldens that were compared.
    pub(super) goldens: u64,
    /// The difference from all of them, if there is one.
    pub(super) finding: Option<Finding>,
}

/// Compares a chat with the goldens of its subject. With `update`, a chat that equals none of them is written as a
/// pending golden.
pub(super) fn compare(
    chat: GoldenChat<'_>,
    update: bool,
    reproduce: &str,
    kept: &KeptBytes,
) -> io::Result<GoldenComparison> {
    // The chat of a run that did not come to its end is not an outcome to accept.
    if *chat.ending != ObservedEnding::Over {
        return Ok(GoldenComparison::default());
    }
    let GoldenChat { subject, shown, scenario, .. } = chat;
    let goldens = Golden::of_subject(scenario, subject)?;
    let entries = timeless(chat.entries);
    let is_one = goldens.iter().any(|golden| Times::Ignored.equal(&golden.entries, &entries));
    if update && !is_one {
        let text: String = entries.iter().map(|entry| entry.to_line() + "\n").collect();
        Golden::propose_of_subject(scenario, subject, &text)?;
    }
    let count = goldens.len() as u64;
    let Some(nearest) = goldens.first().filter(|_| !is_one) else {
        return Ok(GoldenComparison { goldens: count, finding: None });
    };
    let diff = TraceDiff::new(&nearest.entries, &entries, Times::Ignored);
    let what = diff.first().map(|first| first.sentence).unwrap_or_default();
    let others = match count {
        1 => String::new(),
        _ => format!("; {} further outcomes are allowed", count - 1),
    };
    let sentence = format!(
        "the chat is not what was accepted: {what}{others}; `clitape test --subject {shown} {} --update` proposes it",
        scenario.name
    );
    let place = format!("subject {shown}: {}", chat.cassette);
    let finding = Finding::new(FindingKind::GoldenDiffers, &place, sentence, reproduce.to_owned());
    let profile = scenario.first_chat().profile;
    let compared = [&nearest.entries[..], &entries];
    let finding = with_difference(finding, &diff, compared, kept);
    // The lines show the texts as sent, and the chat the texts as read.
    let read = compared.map(|entries| entries.iter().map(drawn).collect::<Vec<Entry>>());
    let chat = TraceDiff::new(&read[0], &read[1], Times::Ignored).chat(profile);
    let finding = finding.with_chat(chat);
    Ok(GoldenComparison { goldens: count, finding: Some(finding) })
}

/// Returns the number of pending goldens of a scenario.
pub(super) fn pending(scenario: &Scenario) -> io::Result<u64> {
    Ok(Golden::pending(scenario)?.len() as u64)
}

/// Returns the entries of a chat without the parts that differ from run to run: times, typing signals, edits to the text
/// that is there already, and the numbers of messages, which are counted anew. How often a message is edited depends on
/// the time, so that it has the last text that it had before the person acted.
pub(super) fn timeless(entries: &[Entry]) -> Vec<Entry> {
    let mut numbers: HashMap<u64, u64> = HashMap::new();
    let mut kept: Vec<Entry> = Vec::new();
    // The entries since the person acted that have the text of a message, by its number.
    let mut texts: HashMap<u64, usize> = HashMap::new();
    for entry in entries {
        let changes_nothing = entry.is_not_modified() && !entry.is_shown();
        if entry.is_typing() || changes_nothing {
            continue;
        }
        let mut entry = entry.at_time(0);
        entry.data_mut().retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
        for key in ["message_id", "user_message_id", "reply_to_message_id"] {
            if let Some(id) = entry.data.get(key).and_then(serde_json::Value::as_u64) {
                let next = numbers.len() as u64 + 1;
                let number = *numbers.entry(id).or_insert(next);
                entry.data_mut().insert(key.to_owned(), number.into());
            }
        }
        let is_act = entry.kind.starts_with('(');
        if is_act {
            texts.clear();
        }
        let id = entry.data.get("message_id").and_then(serde_json::Value::as_u64);
        if let Some(id) = id.filter(|_| !is_act && entry.is_shown()) {
            match texts.get(&id).filter(|_| entry.kind == "editMessageText") {
                Some(earlier) => {
                    kept[*earlier].data = entry.data;
                    continue;
                }
                None => drop(texts.insert(id, kept.len())),
            }
        }
        kept.push(entry);
    }
    kept
}

/// The most bytes of entries that are compared word by word, which takes a second or two.
const COMPARED: usize = 4 << 20;

/// Adds the lines in which two traces differ to a finding, unless they are too long or the account has no room for
/// them. The finding's sentence names the first difference in any case.
pub(super) fn with_difference(
    finding: Finding,
    diff: &TraceDiff<'_>,
    entries: [&[Entry]; 2],
    kept: &KeptBytes,
) -> Finding {
    if entries.into_iter().flatten().map(entry_bytes).sum::<usize>() > COMPARED {
        return finding;
    }
    let lines = diff.lines();
    let parts = |line: &DiffLine| {
        let texts = line.parts.iter().map(|(_, text)| size_of::<(bool, String)>() + text.len());
        size_of::<DiffLine>() + texts.sum::<usize>()
    };
    match kept.try_keep(lines.iter().map(parts).sum()) {
        Ok(()) => finding.with_difference(diff.change(), lines),
        Err(_) => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let entries = |base: u64, took: u64| -> Vec<Entry> {
            let lines = [
                format!(
                    r#"{{"at":{took},"lane":"telegram","kind":"(user)","data":{{"text":"hi"}}}}"#
                ),
                r#"{"at":3,"lane":"telegram","kind":"sendChatAction","data":{"action":"typing"}}"#
                    .to_owned(),
                format!(
                    r#"{{"at":5,"lane":"telegram","kind":"sendMessage","data":{{"message_id":{base},"text":"a","took_ms":{took}}}}}"#
                ),
                format!(
                    r#"{{"at":9,"lane":"telegram","kind":"editMessageText","data":{{"message_id":{base},"text":"b"}}}}"#
                ),
            ];
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let first = timeless(&entries(41, 7));
        assert_eq!(first, timeless(&entries(1_003, 99)));
        assert_eq!(first.len(), 2);
        assert_eq!(
            (&first[1].data["message_id"], &first[1].data["text"]),
            (&1.into(), &"b".into())
        );
    }

    /// Compares the texts of a chat. Each call is its kind, the number of a message and a text; one with a `!` is refused
    /// because the text is there already.
    fn check(calls: &str, expect: &str) {
        let entry = |call: &str| -> Entry {
            let [kind, id, text] = call.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{call}")
            };
            let refused = r#","shown":false,"refused":"message is not modified""#;
            let refused = if kind.ends_with('!') { refused } else { "" };
            let kind = match kind.trim_end_matches('!') {
                "send" => "sendMessage",
                "edit" => "editMessageText",
                act => act,
            };
            let data = format!(r#"{{"message_id":{id},"text":"{text}"{refused}}}"#);
            let line = format!(r#"{{"at":0,"lane":"telegram","kind":"{kind}","data":{data}}}"#);
            serde_json::from_str(&line).unwrap()
        };
        let read = |calls: &str| calls.split(", ").map(entry).collect::<Vec<_>>();
        assert_eq!(timeless(&read(calls)), read(expect), "{calls}");
    }

    #[test]
    fn the_number_of_edits_is_left_out() {
        check("send 7 a, edit 7 ab, edit! 7 ab", "send 1 ab");
        check("send 7 a, send 9 x, edit 7 ab", "send 1 ab, send 2 x");
        check("send 7 a, (press) 7 yes, edit 7 b, edit 7 c", "send 1 a, (press) 1 yes, edit 1 c");
    }
}
