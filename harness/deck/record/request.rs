//! What is asked of the scripted model: the parts of a request that decide its answer.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

/// The parts of a Messages API request that matter here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Asked {
    /// The model's name, echoed in the answer.
    pub(crate) model: String,
    /// Whether the answer is to be streamed.
    pub(crate) stream: bool,
    /// How many assistant messages the conversation has.
    pub(crate) assistants: usize,
    /// The system prompt.
    pub(crate) system: String,
    /// The text of the first user message, by which conversations are told apart.
    pub(crate) first_user: String,
    /// The last text a user message holds, the CLI's reminders left out.
    pub(crate) last_user: String,
    /// The text of all messages.
    pub(crate) messages: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    system: Value,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Value,
}

impl Asked {
    /// Reads the body of a request; on failure what is wrong with it.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let body: Body = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let mut asked = Self {
            model: body.model,
            stream: body.stream,
            system: texts(&body.system).concat(),
            ..Self::default()
        };
        let mut users = 0;
        for message in &body.messages {
            let texts = texts(&message.content);
            match message.role.as_str() {
                "assistant" => asked.assistants += 1,
                "user" => {
                    users += 1;
                    if users == 1 {
                        asked.first_user = texts.join("\n");
                    }
                    let said = texts.iter().rfind(|text| !text.starts_with("<system-reminder>"));
                    if let Some(said) = said {
                        asked.last_user = (*said).to_owned();
                    }
                }
                _ => {}
            }
            let _ = writeln!(asked.messages, "{}", texts.join("\n"));
        }
        Ok(asked)
    }
}

/// The texts of a message's content, those inside tool results too.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().flat_map(texts).collect(),
        Value::Object(block) => {
            ["text", "content"].iter().filter_map(|key| block.get(*key)).flat_map(texts).collect()
        }
        _ => Vec::new(),
    }
}

/// The first `longest` characters of a text, on one line.
pub(crate) fn clip(text: &str, longest: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(longest) {
        None => line,
        Some((at, _)) => format!("{}…", &line[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_by_its_texts() {
        let body = br#"{"model":"m","max_tokens":9,"system":[{"type":"text","text":"S1"},{"type":"text","text":"S2"}],
            "messages":[
            {"role":"user","content":[{"type":"text","text":"<system-reminder>r"},{"type":"text","text":"Go MARK"}]},
            {"role":"system","content":"env"},
            {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"content":"no"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"out"}]},
                {"type":"text","text":"<system-reminder>late"}]}]}"#;
        let expect = Asked {
            model: "m".into(),
            stream: false,
            assistants: 1,
            system: "S1S2".into(),
            first_user: "<system-reminder>r\nGo MARK".into(),
            last_user: "out".into(),
            messages: "<system-reminder>r\nGo MARK\nenv\n\nout\n<system-reminder>late\n".into(),
        };
        assert_eq!(Asked::parse(body).unwrap(), expect);
        assert_eq!(Asked::parse(b"{}").unwrap_err(), "missing field `messages` at line 1 column 2");
    }

    #[test]
    fn a_long_question_is_clipped_to_a_line() {
        assert_eq!(clip(" a\n\tb ", 9), "a b");
        assert_eq!(clip("éééé", 3), "ééé…");
    }
}
