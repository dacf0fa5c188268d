//! Reads a line that the host wrote, and says what it is.

use serde_json::Value;

/// What a host's line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostAct {
    /// A message of a person.
    Message(Message),
    /// The answer to a request of the CLI.
    Answer(Answer),
    /// A request of the host.
    Request(Request),
    /// A record that needs no reaction, such as `keep_alive`; its type.
    Other(String),
    /// A line that is not a JSON object.
    Unusable,
    /// A line of white space.
    Blank,
}

/// A message of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Its uuid, where the host gave one.
    pub(super) uuid: Option<String>,
    /// Its text, the blocks one after another.
    pub(super) text: String,
    /// The API's message as it was written.
    pub(super) message: Value,
}

/// The answer to a request of the CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The request that it answers.
    pub(super) request_id: String,
    /// What it says.
    pub(super) decision: Decision,
    /// The line itself, without its LF.
    pub(super) line: Vec<u8>,
}

/// What an answer to a request of the CLI says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Decision {
    /// Yes.
    Allow,
    /// No.
    Deny,
    /// Neither, as of a hook that lets things take their course.
    Neutral,
}

/// A request of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// Its id.
    pub(super) request_id: String,
    /// Its kind: `initialize`, `interrupt`, `set_model` …
    pub(super) subtype: String,
    /// The hooks of an `initialize`.
    pub(super) hooks: Vec<Hook>,
}

/// A hook that a host registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hook {
    /// The event: `PreToolUse`.
    pub(super) event: String,
    /// The tools that it is for; absent for all.
    pub(super) matcher: Option<String>,
    /// The id by which the CLI calls it.
    pub(super) callback_id: String,
}

/// The text of a content: a string, or the texts of its blocks.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The most hooks that a host registers.
const HOOKS: usize = 1_000;
/// The most bytes of the event, the tools and the id of a hook.
const HOOK_WORD: usize = 4_096;

/// The hooks of an `initialize`. Their events and tools are copied for each id, so that both have a limit.
fn hooks(hooks: &Value) -> Vec<Hook> {
    let mut all = Vec::new();
    for (event, matchers) in hooks.as_object().into_iter().flatten() {
        for entry in matchers.as_array().into_iter().flatten() {
            let matcher = entry["matcher"].as_str().filter(|text| !["", "*", ".*"].contains(text));
            let ids = entry["hookCallbackIds"].as_array().into_iter().flatten();
            for id in ids.filter_map(Value::as_str) {
                let words = [Some(event.as_str()), matcher, Some(id)];
                if all.len() < HOOKS && words.iter().flatten().all(|word| word.len() <= HOOK_WORD) {
                    all.push(Hook {
                        event: event.clone(),
                        matcher: matcher.map(str::to_owned),
                        callback_id: id.to_owned(),
                    });
                }
            }
        }
    }
    all
}

fn decision(response: &Value) -> Decision {
    let own = [&response["behavior"], &response["decision"]];
    let hook = &response["hookSpecificOutput"]["permissionDecision"];
    let words = own.into_iter().chain([hook]).filter_map(Value::as_str);
    let mut all = words.map(|word| match word {
        "allow" | "approve" => Decision::Allow,
        "deny" | "block" => Decision::Deny,
        _ => Decision::Neutral,
    });
    all.next().unwrap_or(Decision::Neutral)
}

impl HostAct {
    /// Reads a line, with its LF or without.
    pub(super) fn read(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Self::Blank;
        }
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return Self::Unusable };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match value["type"].as_str() {
            _ if !value.is_object() => Self::Unusable,
            Some("user") => Self::Message(Message {
                uuid: value["uuid"].as_str().filter(|uuid| !uuid.is_empty()).map(str::to_owned),
                text: text_of(&value["message"]["content"]),
                message: value["message"].clone(),
            }),
            Some("control_response") => Self::Answer(Answer {
                request_id: text(&value["response"]["request_id"]),
                decision: decision(&value["response"]["response"]),
                line: line.to_vec(),
            }),
            Some("control_request") => Self::Request(Request {
                request_id: text(&value["request_id"]),
                subtype: text(&value["request"]["subtype"]),
                hooks: hooks(&value["request"]["hooks"]),
            }),
            other => Self::Other(other.unwrap_or("a record without a type").to_owned()),
        }
    }
}

impl Answer {
    /// The reason that the host gives with a no.
    pub(super) fn reason(&self) -> Option<String> {
        let line: Value = serde_json::from_slice(&self.line).ok()?;
        line["response"]["response"]["message"].as_str().map(str::to_owned)
    }
}

impl Hook {
    /// Whether the hook is called for this event and tool.
    pub(super) fn is_for(&self, event: &str, tool: Option<&str>) -> bool {
        self.event == event
            && match (&self.matcher, tool) {
                (Some(matcher), Some(tool)) => matcher.split('|').any(|name| name == tool),
                _ => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &str) {
        let short = match HostAct::read(line.as_bytes()) {
            HostAct::Message(m) => format!("message {:?} {}", m.uuid.as_deref(), m.text),
            HostAct::Answer(a) => format!("answer {} {}", a.request_id, a.decision),
            HostAct::Request(r) => {
                let hook = |hook: Hook| format!(" {}={}", hook.event, hook.callback_id);
                let hooks: String = r.hooks.into_iter().map(hook).collect();
                format!("request {} {}{hooks}", r.request_id, r.subtype)
            }
            HostAct::Other(kind) => format!("other {kind}"),
            other => format!("{other:?}"),
        };
        assert_eq!(short, expect, "{line}");
    }

    #[test]
    fn hooks_have_limits() {
        for (event, ids, expect) in [
            ("Stop".to_owned(), 9, 9),
            ("Stop".to_owned(), 9_999, HOOKS),
            ("x".repeat(9_999), 9, 0),
        ] {
            let ids: Vec<String> = (0..ids).map(|id| format!("\"{id}\"")).collect();
            let hooks = format!("{{\"{event}\":[{{\"hookCallbackIds\":[{}]}}]}}", ids.join(","));
            let request = format!("{{\"subtype\":\"initialize\",\"hooks\":{hooks}}}");
            let line = format!(
                "{{\"type\":\"control_request\",\"request_id\":\"i\",\"request\":{request}}}"
            );
            let HostAct::Request(request) = HostAct::read(line.as_bytes()) else {
                panic!("{line}");
            };
            assert_eq!(request.hooks.len(), expect);
        }
    }

    #[test]
    fn every_line_is_classed() {
        for (line, expect) in [
            (
                r#"{"type":"user","message":{"role":"user","content":"a"},"uuid":"u"}"#,
                r#"message Some("u") a"#,
            ),
            (
                r#"{"type":"user","uuid":"","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#,
                "message None a\nb",
            ),
            (
                r#"{"type":"control_request","request_id":"i","request":{"subtype":"initialize","hooks":{"Stop":[{"hookCallbackIds":["s1"]}]}}}"#,
                "request i initialize Stop=s1",
            ),
            (
                r#"{"type":"control_request","request_id":"i","request":{"subtype":"interrupt"}}"#,
                "request i interrupt",
            ),
            (
                r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny"}}}"#,
                "answer q deny",
            ),
            (
                r#"{"type":"control_response","response":{"request_id":"q","response":{"hookSpecificOutput":{"permissionDecision":"allow"}}}}"#,
                "answer q allow",
            ),
            (
                r#"{"type":"control_response","response":{"request_id":"q","response":{}}}"#,
                "answer q neutral",
            ),
            (r#"{"type":"keep_alive"}"#, "other keep_alive"),
            ("{}", "other a record without a type"),
            ("[1]", "Unusable"),
            ("hello", "Unusable"),
            (" \n", "Blank"),
        ] {
            check(line, expect);
        }
    }
}
