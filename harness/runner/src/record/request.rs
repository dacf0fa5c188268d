//! Reads a request to the scripted model: the parts that decide its answer.

use serde::Deserialize;
use serde_json::Value;

use clitape_recording::text::{Keep, truncate};

/// The parts of a Messages API request that the script uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ModelRequest {
    /// The name of the model, which the answer repeats.
    pub(crate) model: String,
    /// True if the request asks for a streamed answer.
    pub(crate) stream: bool,
    /// The system prompt.
    pub(crate) system: String,
    /// The text of the first user message; it identifies the conversation.
    pub(crate) first_user: String,
    /// The last text of a user message, without the CLI's reminders.
    pub(crate) last_user: String,
    /// The messages, oldest first.
    pub(crate) messages: Vec<ModelMessage>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelMessage {
    /// True if the model wrote it.
    pub(crate) by_model: bool,
    /// Its texts, one per line.
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct RequestBody {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    system: Value,
    messages: Vec<RequestMessage>,
}

#[derive(Deserialize)]
struct RequestMessage {
    role: String,
    content: Value,
}

impl ModelRequest {
    /// Reads the body of a request; as an error, the reason why the body is invalid.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let body: RequestBody = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let mut asked = Self {
            model: body.model,
            stream: body.stream,
            system: texts(&body.system).concat(),
            ..Self::default()
        };
        let mut users = 0;
        for message in &body.messages {
            let texts = texts(&message.content);
            if message.role == "user" {
                users += 1;
                if users == 1 {
                    asked.first_user = texts.join("\n");
                }
                let text = texts.iter().rfind(|text| !text.starts_with("<system-reminder>"));
                if let Some(text) = text {
                    asked.last_user = (*text).to_owned();
                }
            }
            let by_model = message.role == "assistant";
            asked.messages.push(ModelMessage { by_model, text: texts.join("\n") });
        }
        Ok(asked)
    }

    /// Returns the number of assistant messages after the last user message that contains `prompt`, or of
    /// all assistant messages if no message contains it.
    pub(crate) fn assistants_since(&self, prompt: &str) -> usize {
        let has_prompt =
            |message: &ModelMessage| !message.by_model && message.text.contains(prompt);
        let from = self.messages.iter().rposition(has_prompt).unwrap_or(0);
        self.messages[from..].iter().filter(|message| message.by_model).count()
    }

    /// Returns the number of assistant messages.
    pub(crate) fn assistants(&self) -> usize {
        self.messages.iter().filter(|message| message.by_model).count()
    }

    /// Returns whether a message contains `text`.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.messages.iter().any(|message| message.text.contains(text))
    }
}

/// Returns the texts of a message's content, including those in tool results.
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

/// Returns the start of a text as one line of at most `columns` columns.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate(&line, columns, Keep::Start).into_owned()
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
        let expect = ModelRequest {
            model: "m".into(),
            stream: false,
            system: "S1S2".into(),
            first_user: "<system-reminder>r\nGo MARK".into(),
            last_user: "out".into(),
            messages: [
                (false, "<system-reminder>r\nGo MARK"),
                (false, "env"),
                (true, ""),
                (false, "out\n<system-reminder>late"),
            ]
            .map(|(by_model, text)| ModelMessage { by_model, text: text.into() })
            .to_vec(),
        };
        let asked = ModelRequest::parse(body).unwrap();
        assert_eq!(asked, expect);
        assert!(asked.contains("MARK") && !asked.contains("MARK\nenv"));
        let since = |prompt| asked.assistants_since(prompt);
        assert_eq!((asked.assistants(), since("MARK"), since("late"), since("?")), (1, 1, 0, 1));
        assert_eq!(
            ModelRequest::parse(b"{}").unwrap_err(),
            "missing field `messages` at line 1 column 2"
        );
    }

    #[test]
    fn a_long_question_is_clipped_to_a_line() {
        assert_eq!(clip(" a\n\tb ", 9), "a b");
        assert_eq!(clip("éééé", 3), "éé…");
    }
}
