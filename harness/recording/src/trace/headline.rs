//! An entry in a few words: what a timeline line, a sentence and a diff show of it.

use crate::text::{Keep, plain, truncate, width};
use crate::trace::{Entry, Lane};
use serde_json::Value;

/// The most columns of a text that is quoted in a headline.
const QUOTED: usize = 72;

/// The most useful fields of each kind, in the order they are shown. Strings of a key with `"`
/// are quoted; `?` shows the key's name when it is true.
const FIELDS: [(&str, &[&str]); 47] = [
    ("chunk", &["bytes"]),
    ("written", &["bytes"]),
    ("session", &["session_id", "model", "cli_version"]),
    ("text", &["delta\""]),
    ("thinking", &["delta\""]),
    ("assistant", &["delta\""]),
    ("tool_start", &["name", "id", "args", "truncated\""]),
    ("tool_input", &["name", "id", "args"]),
    ("retract", &["message_id", "length", "thinking_length", "calls"]),
    ("tool_result", &["name", "id", "is_error?", "incomplete", "result"]),
    ("tool", &["phase", "name", "id", "is_error?", "incomplete", "args", "truncated\"", "result"]),
    ("usage", &["input", "output", "cache_read", "cache_write", "final?"]),
    ("notice", &["type", "subtype"]),
    ("unknown", &["type", "subtype", "raw\""]),
    ("diagnostic", &["code", "message"]),
    ("outcome", &["status", "text\"", "error"]),
    ("start", &[]),
    ("lifecycle", &["phase", "text\"", "error"]),
    ("sendMessage", &["message_id", "final?", "answer", "text\"", "buttons"]),
    ("editMessageText", &["message_id", "final?", "answer", "text\"", "buttons"]),
    ("sendDocument", &["message_id", "answer", "text\"", "file"]),
    ("sendChatAction", &["action"]),
    ("final", &["delivery", "message_ids", "reason", "first_failure"]),
    ("agent_message_chunk", &["content"]),
    ("agent_thought_chunk", &["content"]),
    ("tool_call", &["toolCallId", "kind", "title\""]),
    ("tool_call_update", &["toolCallId", "status", "title\""]),
    ("response", &["stopReason", "error"]),
    ("failed", &["method", "error"]),
    ("verdict", &["run", "reason", "orphans"]),
    ("resume", &["run", "how", "went_on?", "session", "status", "words\"", "calls"]),
    ("disagreement", &["run", "sentence\""]),
    ("output", &["type", "content\""]),
    ("tool_use", &["name", "toolCallId", "isError?", "input", "result_summary"]),
    ("error", &["kind", "error\""]),
    ("complete", &["text\""]),
    ("status", &["text\""]),
    ("collected", &["output\"", "error\"", "metadata"]),
    ("question", &["id", "name", "call", "input", "asked", "waits", "closed"]),
    ("question_withdrawn", &["id"]),
    ("answered", &["id", "decision", "message\"", "decided", "answer"]),
    ("control", &["id", "subtype", "error"]),
    ("request", &["id", "subtype"]),
    ("host_message", &["type", "id", "text\""]),
    ("heard", &["id", "text\"", "folded?"]),
    ("request_permission", &["id", "toolCall", "options"]),
    ("cancel_request", &["requestId"]),
];

impl Entry {
    /// The entry in a few words, on one line, safe to be printed.
    pub fn headline(&self) -> String {
        self.words() + &self.refusal()
    }

    /// The headline on lines of at most `columns`: its words are cut, and the sentence of a refusal is whole.
    pub fn headline_lines(&self, columns: usize) -> Vec<String> {
        let words = truncate(&self.words(), columns, Keep::Start).into_owned();
        [vec![words], self.refusal_lines(columns)].concat()
    }

    /// The mark of a refused call on lines of at most `columns`, but for a longer word; none for other entries.
    pub fn refusal_lines(&self, columns: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in self.refusal().split_whitespace() {
            match lines.last_mut() {
                Some(last) if width(last) + 1 + width(word) <= columns => {
                    last.push(' ');
                    last.push_str(word);
                }
                _ => lines.push(format!("  {word}")),
            }
        }
        lines
    }

    /// Returns whether the chat's server refused the call.
    pub fn is_refused(&self) -> bool {
        self.lane == Lane::Telegram && !self.text("refused").is_empty()
    }

    /// The mark of a call that the chat's server refused, with the server's whole sentence; empty for other entries.
    pub fn refusal(&self) -> String {
        match self.is_refused() {
            true => format!(" → refused: {}", plain(self.text("refused"))),
            false => String::new(),
        }
    }

    /// The entry in a few words, without the sentence of a refusal.
    fn words(&self) -> String {
        let kind = self.kind.as_ref();
        let fields = FIELDS.iter().find(|(name, _)| *name == kind).map(|(_, fields)| *fields);
        let mut words = vec![plain(kind)];
        match fields {
            Some(fields) => words.extend(fields.iter().filter_map(|field| self.word(field))),
            None => {
                let mut value = self.value();
                if let Some(data) = value.as_object_mut().filter(|_| self.is_refused()) {
                    data.retain(|key, _| !matches!(key.as_str(), "refused" | "shown" | "took_ms"));
                }
                words.push(quote(&value.to_string(), false));
            }
        }
        // A notice has fields of its own.
        if kind == "notice" {
            let rest =
                self.data.iter().filter(|(key, _)| !matches!(key.as_str(), "type" | "subtype"));
            words.extend(rest.map(|(key, value)| format!("{}={}", plain(key), short(value))));
        }
        if let Some(parent) = self.field("parent").and_then(Value::as_str) {
            words.push(format!("(under {})", plain(parent)));
        }
        words.join(" ")
    }

    fn word(&self, field: &str) -> Option<String> {
        let name = field.trim_end_matches(['"', '?']);
        let value = self.field(name).filter(|value| !value.is_null())?;
        if field.ends_with('?') {
            return (value == &Value::Bool(true)).then(|| name.to_owned());
        }
        if field.ends_with('"') {
            return Some(quote(value.as_str()?, true));
        }
        if self.lane == Lane::Telegram && name == "message_id" {
            return Some(format!("#{value}"));
        }
        Some(short(value))
    }
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text, false),
        other => quote(&other.to_string(), false),
    }
}

/// The text; a long one without its middle.
pub fn shortened(text: &str) -> String {
    truncate(text, QUOTED, Keep::Ends).into_owned()
}

/// The text on one line, cut in the middle; in quotes, or with blanks for its line breaks.
fn quote(text: &str, quoted: bool) -> String {
    let cut = shortened(text);
    if quoted {
        return format!("\"{}\"", plain(&cut.replace('\\', r"\\").replace('"', "\\\"")));
    }
    plain(&cut.replace(['\n', '\r', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: &str) {
        let entry: Entry = serde_json::from_str(line).unwrap();
        assert_eq!(entry.headline(), expect);
    }

    #[test]
    fn a_headline_is_one_short_line() {
        check(
            r#"{"at":0,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"a\nb","final":true}}"#,
            r#"editMessageText #1 final "a\nb""#,
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"tool_result","data":{"id":"t","name":"Bash","is_error":false,"result":"x\ny","parent":"p"}}"#,
            "tool_result Bash t x y (under p)",
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"notice","data":{"type":"system","subtype":"api_retry","attempt":1}}"#,
            "notice system api_retry attempt=1",
        );
        check(r#"{"at":0,"lane":"bus","kind":"new","data":{"a":1}}"#, r#"new {"a":1}"#);
        check(
            r#"{"at":0,"lane":"telegram","kind":"editMessageText","data":{"message_id":2,"text":"\n","refused":"Bad Request: message text is empty","shown":false}}"#,
            r#"editMessageText #2 "\n" → refused: Bad Request: message text is empty"#,
        );
        check(
            r#"{"at":0,"lane":"telegram","kind":"sendDice","data":{"refused":"Not Found","shown":false}}"#,
            "sendDice {} → refused: Not Found",
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"k\u001b","data":{"a":"\u202e\u200b","parent":"p\n::x"}}"#,
            r#"k\u{1b} {"a":"\u{202e}\u{200b}","parent":"p\n::x"} (under p\n::x)"#,
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"text","data":{"delta":"\\\"\u009b👩‍👩‍👧"}}"#,
            r#"text "\\\"\u{9b}👩‍👩‍👧""#,
        );
        let data = r#""text":"a","refused":"Bad Request: message text is empty""#;
        let line =
            format!(r#"{{"at":0,"lane":"telegram","kind":"sendMessage","data":{{{data}}}}}"#);
        let entry: Entry = serde_json::from_str(&line).unwrap();
        let lines =
            ["sendMessage \"a\"", "  → refused: Bad", "  Request: message", "  text is empty"];
        assert_eq!(entry.headline_lines(18), lines);
        let long = "é".repeat(200);
        let line =
            format!(r#"{{"at":0,"lane":"lifecycle","kind":"text","data":{{"delta":"{long}"}}}}"#);
        check(&line, &format!("text \"{}…{}\"", "é".repeat(48), "é".repeat(23)));
    }
}
