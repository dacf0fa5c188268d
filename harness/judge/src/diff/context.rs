//! What came in beside what a person saw, around the place where a golden and a replay part.

use clitape_recording::text::{Keep, truncate, width};
use clitape_recording::trace::{Entry, Lane};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Moments shown, the one of the divergence last.
const MOMENTS: usize = 5;
/// Characters shown of the end of what a chat shows.
const TAIL: usize = 36;

/// One moment of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Moment"))]
pub struct ContextMoment {
    /// Virtual milliseconds since the replay began.
    pub at: u64,
    /// What came in, in a few words each.
    #[serde(rename = "came")]
    pub input: Vec<String>,
    /// What was seen on the lane, in a few words each.
    #[serde(rename = "seen")]
    pub output: Vec<String>,
}

impl ContextMoment {
    /// The columns that a report has for a line of what was seen.
    pub const COLUMNS: usize = 60;
}

/// The moments of `lane` up to `until`, in virtual ms; without it, the last ones.
pub fn context(entries: &[Entry], lane: Lane, until: Option<u64>) -> Vec<ContextMoment> {
    let source = match lane {
        Lane::Read | Lane::Session => return Vec::new(),
        Lane::Lifecycle => Lane::Read,
        Lane::Bus | Lane::Telegram | Lane::Acp | Lane::Sse => Lane::Lifecycle,
    };
    let until = until.unwrap_or(u64::MAX);
    let mut moments: Vec<ContextMoment> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.at <= until) {
        if entry.lane != source && entry.lane != lane {
            continue;
        }
        if moments.last().is_none_or(|moment| moment.at != entry.at) {
            moments.push(ContextMoment { at: entry.at, input: Vec::new(), output: Vec::new() });
        }
        if let Some(moment) = moments.last_mut() {
            let words = if entry.lane == lane { &mut moment.output } else { &mut moment.input };
            words.extend(in_words(entry));
        }
    }
    moments.split_off(moments.len().saturating_sub(MOMENTS))
}

/// An entry in a few words; of what a chat shows, which grows, the end. What a refused call got has lines of its own.
fn in_words(entry: &Entry) -> Vec<String> {
    let text = entry.field("text").and_then(Value::as_str).unwrap_or_default();
    if entry.lane != Lane::Telegram || width(text) <= TAIL {
        return entry.headline_lines(ContextMoment::COLUMNS);
    }
    let end = truncate(text, TAIL + 1, Keep::End);
    let id = entry.field("message_id").map(|id| format!(" #{id}")).unwrap_or_default();
    let words = format!("{}{id} {}", entry.kind, Value::from(end));
    [vec![words], entry.refusal_lines(ContextMoment::COLUMNS)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_in_stands_beside_what_was_seen() {
        let entry = |line: &str| serde_json::from_str::<Entry>(line).unwrap();
        let text = |at: u64| {
            let data = format!(r#"{{"message_id":"m","delta":"{at}"}}"#);
            entry(&format!(r#"{{"at":{at},"lane":"lifecycle","kind":"text","data":{data}}}"#))
        };
        let said = |at: u64, text: &str| {
            let data = format!(r#"{{"message_id":1,"text":"{text}"}}"#);
            entry(&format!(r#"{{"at":{at},"lane":"telegram","kind":"sendMessage","data":{data}}}"#))
        };
        let long = "a long text of which the end is what matters most";
        let mut refused = said(3, long);
        refused.data_mut().insert("refused".into(), "Bad Request: chat not found".into());
        let entries = [text(1), said(1, "a"), text(2), text(3), refused, text(4)];
        let shown: Vec<String> = context(&entries, Lane::Telegram, Some(3))
            .iter()
            .map(|moment| format!("{} {:?} {:?}", moment.at, moment.input, moment.output))
            .collect();
        assert_eq!(
            shown,
            [
                r#"1 ["text \"1\""] ["sendMessage #1 \"a\""]"#,
                r#"2 ["text \"2\""] []"#,
                r#"3 ["text \"3\""] ["sendMessage #1 \"…f which the end is what matters most\"", "  → refused: Bad Request: chat not found"]"#,
            ]
        );
    }
}
