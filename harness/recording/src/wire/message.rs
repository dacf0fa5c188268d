//! The `user` records: messages of a person, and what the CLI makes of them.

use serde_json::{Value, json};

use super::json::{JsonText, ObjectFields};

/// A `user` record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// The id of the message, where its writer chose one.
    pub uuid: Option<String>,
    /// The API's message, with its role and its content.
    pub message: JsonText,
    /// True for a record in which the CLI repeats a message of the host.
    pub is_replay: bool,
}

impl UserMessage {
    /// Makes the message of a person who writes this text.
    pub fn prompt(text: &str) -> Self {
        let message = JsonText::of(&json!({"role": "user", "content": text}));
        Self { uuid: None, message, is_replay: false }
    }

    pub(super) fn read(fields: &ObjectFields<'_>) -> Self {
        let message = fields.json("message").unwrap_or_else(|| JsonText::of(&Value::Null));
        let uuid = fields.text("uuid").filter(|uuid| !uuid.is_empty());
        Self { uuid, is_replay: is_replay(fields), message }
    }

    /// Returns the text of the message: its content, or the texts of its blocks, one below the other.
    pub fn text(&self) -> String {
        match self.content() {
            Value::String(text) => text,
            Value::Array(blocks) => {
                let texts = blocks.iter().filter_map(|block| block["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }

    /// Returns the text of the message if it consists of text alone.
    pub fn text_alone(&self) -> Option<String> {
        let is_text = |block: &Value| block["text"].is_string();
        let is_alone = match self.content() {
            Value::String(_) => true,
            Value::Array(blocks) => blocks.iter().all(is_text),
            _ => false,
        };
        is_alone.then(|| self.text())
    }

    fn content(&self) -> Value {
        self.message.value()["content"].take()
    }
}

/// Returns true if a `user` record of the CLI repeats a message of the host. Old CLIs do not mark it, but all of their
/// other `user` records have blocks. The output of a command of the CLI's own is marked too.
fn is_replay(fields: &ObjectFields<'_>) -> bool {
    let message = fields.object("message");
    let text = message.text("content");
    let is_old = fields.raw("timestamp").is_none() && text.is_some();
    let is_output = text.is_some_and(|text| text.starts_with("<local-command-stdout>"));
    (fields.is_true("isReplay") || is_old)
        && fields.raw("parent_tool_use_id").is_none()
        && !fields.is_true("isSynthetic")
        && !is_output
}

/// The way in which a host writes messages: one of its messages, with null in the place of the content and of the uuid.
#[derive(Debug, Clone)]
pub struct MessageTemplate(Value);

impl MessageTemplate {
    /// Reads a template; `None` if it is no JSON object with a message.
    pub fn read(template: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(template).ok()?;
        line["message"].is_object().then_some(Self(line))
    }

    /// Returns true if the host gives its messages a uuid.
    pub fn has_uuid(&self) -> bool {
        self.0.get("uuid").is_some()
    }

    /// Writes the line of a message, without its LF, with this uuid or with none.
    pub fn line(&self, content: Value, uuid: Option<String>) -> String {
        let mut line = self.0.clone();
        line["message"]["content"] = content;
        match (uuid, line.as_object_mut()) {
            (Some(uuid), Some(fields)) => drop(fields.insert("uuid".to_owned(), Value::from(uuid))),
            (None, Some(fields)) => drop(fields.shift_remove("uuid")),
            (_, None) => {}
        }
        line.to_string()
    }
}
