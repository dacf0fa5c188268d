//! A session of an editor with an agent: its prompts, its entries and its open questions.
//!
//! A form of the agent is filled in with the choices of a person. Every message of the agent is checked against the
//! types of the official crate of the Agent Client Protocol.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, Error, InitializeResponse, NewSessionResponse, PromptResponse,
    RequestPermissionRequest, SessionNotification,
};
use clitape_recording::trace::{Entry, Lane};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::connection::{AgentCall, AgentConnection, AgentMessage, EditorError, Incoming};
use crate::limits::{Full, Held, entry_bytes, json_bytes};

/// The error code of JSON-RPC for a method that the editor does not have.
const NO_METHOD: i64 = -32_601;
/// The error code for a request that the agent has taken back.
const TAKEN_BACK: i64 = -32_800;

/// The answer of a person to a question of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionChoice {
    /// The option of this kind, name or id, such as `allow_once`; in a form, the choice with this label.
    Option(String),
    /// The choices with these labels, in a form.
    Labels(Vec<String>),
    /// No choice: the question is cancelled.
    Cancel,
}

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentQuestionKind {
    /// A request for permission to run a tool.
    Permission,
    /// A form to fill in.
    Form,
}

/// A question of the agent that is still open.
#[derive(Debug)]
pub struct OpenQuestion {
    kind: AgentQuestionKind,
    id: Value,
    params: Value,
    /// The time at which it came.
    pub since: Instant,
}

impl OpenQuestion {
    /// Returns the id of the tool call that it is about, if it names one.
    pub fn tool_call(&self) -> Option<&str> {
        let id = match self.kind {
            AgentQuestionKind::Permission => &self.params["toolCall"]["toolCallId"],
            AgentQuestionKind::Form => &self.params["toolCallId"],
        };
        id.as_str()
    }

    /// Returns the result that answers the request.
    fn outcome(&self, choice: &PermissionChoice) -> Value {
        if self.kind == AgentQuestionKind::Form {
            return match choice {
                PermissionChoice::Option(label) => {
                    filled_form(&self.params, std::slice::from_ref(label))
                }
                PermissionChoice::Labels(labels) => filled_form(&self.params, labels),
                PermissionChoice::Cancel => json!({ "action": "cancel" }),
            };
        }
        let options = self.params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_named = |option: &&Value, word: &str| {
            ["kind", "name", "optionId"].iter().any(|field| option[field] == word)
        };
        let option = match choice {
            PermissionChoice::Option(word) => options.iter().find(|option| is_named(option, word)),
            PermissionChoice::Labels(labels) => {
                options.iter().find(|option| labels.iter().any(|label| is_named(option, label)))
            }
            PermissionChoice::Cancel => None,
        };
        let outcome = match option {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        };
        json!({ "outcome": outcome })
    }
}

/// A session. Its entries are in the lane `acp`; `at` counts milliseconds since the session was opened.
pub struct Session<'e> {
    connection: &'e AgentConnection,
    sender: Sender<Incoming>,
    inbox: Receiver<Incoming>,
    id: String,
    begin: Instant,
    entries: Vec<Entry>,
    /// The numbers of the prompts' requests, in their order.
    prompts: Vec<u64>,
    unanswered: usize,
    questions: Vec<OpenQuestion>,
    is_over: bool,
    /// The most entries; more are an error.
    most: usize,
    /// The account of the entries and the questions.
    held: Held,
    full: Option<Full>,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'e> Session<'e> {
    /// Creates a session from `result`, the answer to `session/new`.
    pub(super) fn new(
        connection: &'e AgentConnection,
        sender: Sender<Incoming>,
        inbox: Receiver<Incoming>,
        begin: Instant,
        result: &Value,
        most: usize,
    ) -> Self {
        let id = result["sessionId"].as_str().unwrap_or_default().to_owned();
        let mut session = Self {
            connection,
            sender,
            inbox,
            id,
            begin,
            entries: Vec::new(),
            prompts: Vec::new(),
            unanswered: 0,
            questions: Vec::new(),
            is_over: false,
            most,
            held: Held::of(connection.kept()),
            full: None,
        };
        if let Some(refused) = refusal("session/new", result) {
            session.enter("session/new", result.clone(), Some(refused));
        }
        session
    }

    /// Returns the entries so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the open questions, the oldest first.
    pub fn questions(&self) -> &[OpenQuestion] {
        &self.questions
    }

    /// Returns the number of prompts that the agent has not answered yet.
    pub fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// Returns whether the agent's output has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Sends a prompt. The answer becomes an entry `response`.
    ///
    /// # Errors
    ///
    /// [`EditorError::Closed`] if the agent does not read any more, [`EditorError::Kept`] if too much waits for it to
    /// read.
    pub fn prompt(&mut self, text: &str) -> Result<(), EditorError> {
        let number = self.prompts.len() + 1;
        self.enter("(user)", json!({ "prompt": number, "text": text }), None);
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": self.id, "prompt": prompt });
        self.prompts.push(self.connection.ask("session/prompt", &params, &self.sender)?);
        self.unanswered += 1;
        Ok(())
    }

    /// Cancels the turn: sends `session/cancel`, and answers all open questions as cancelled.
    ///
    /// # Errors
    ///
    /// [`EditorError::Closed`] if the agent does not read any more, [`EditorError::Kept`] if too much waits for it to
    /// read.
    pub fn cancel(&mut self) -> Result<(), EditorError> {
        self.enter("(cancel)", json!({}), None);
        let params = json!({ "sessionId": self.id });
        let message = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params });
        self.connection.send(&message)?;
        while !self.questions.is_empty() {
            self.answer(0, &PermissionChoice::Cancel)?;
        }
        Ok(())
    }

    /// Answers the open question at this index of [`Self::questions`].
    ///
    /// # Errors
    ///
    /// [`EditorError::Closed`] if the agent does not read any more, [`EditorError::Kept`] if too much waits for it to
    /// read.
    ///
    /// # Panics
    ///
    /// Panics if the index is out of range.
    pub fn answer(&mut self, index: usize, choice: &PermissionChoice) -> Result<(), EditorError> {
        let question = self.questions.remove(index);
        let result = question.outcome(choice);
        let mut data = result.clone();
        if let (Some(data), Some(call)) = (data.as_object_mut(), question.tool_call()) {
            data.insert("toolCallId".into(), call.into());
        }
        self.enter("(answer)", data, None);
        self.reply(&question.id, &json!({ "result": result }))
    }

    fn reply(&self, id: &Value, outcome: &Value) -> Result<(), EditorError> {
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        if let (Some(message), Some(outcome)) = (message.as_object_mut(), outcome.as_object()) {
            message.extend(outcome.clone());
        }
        self.connection.send(&message)
    }

    /// Handles the agent's messages; returns after those that are there, or after `within` if none comes.
    ///
    /// # Errors
    ///
    /// [`EditorError::Flood`] if the agent sent too many messages, [`EditorError::Kept`] if they take too much memory.
    pub fn read(&mut self, within: Duration) -> Result<(), EditorError> {
        let (begin, mut wait) = (Instant::now(), within);
        loop {
            match self.inbox.recv_timeout(wait) {
                Ok(incoming) => self.handle(incoming.take()),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => self.is_over = true,
            }
            if let Some(full) = self.full {
                return Err(full.into());
            }
            if self.entries.len() > self.most {
                let most = self.most;
                return Err(EditorError::Flood(format!(
                    "more than {most} messages in a session; raise the limit with `--max-agent-messages`"
                )));
            }
            // Returns at the caller's limit, because a stream of large messages may take longer.
            if self.is_over || begin.elapsed() > within {
                return Ok(());
            }
            wait = Duration::ZERO;
        }
    }

    fn handle(&mut self, message: AgentMessage) {
        match message {
            AgentMessage::Call(call) => {
                let session = &call.params["sessionId"];
                let stray = || format!("it is for the session {session}, which is not open");
                let refused = call.unreadable.clone().or_else(|| call.is_stray.then(stray));
                let refused = refused.or_else(|| refusal(&call.method, &call.params));
                self.call(call, refused);
            }
            AgentMessage::Answer(request, answer) => self.answered(request, answer),
            AgentMessage::Wrong(words) => {
                let refused = format!("the line is no message of JSON-RPC: {words}");
                self.enter("line", json!({}), Some(refused));
            }
            AgentMessage::End => self.is_over = true,
        }
    }

    /// Enters the answer to a prompt.
    fn answered(&mut self, request: u64, answer: Result<Value, Value>) {
        let Some(index) = self.prompts.iter().position(|prompt| *prompt == request) else { return };
        self.unanswered = self.unanswered.saturating_sub(1);
        let prompt = index + 1;
        match answer {
            Ok(mut result) => {
                let refused = refusal("session/prompt", &result);
                if let Some(result) = result.as_object_mut() {
                    result.insert("prompt".into(), prompt.into());
                }
                self.enter("response", result, refused);
            }
            Err(error) => {
                let data = json!({ "prompt": prompt, "error": error["message"] });
                self.enter("response", data, refusal("error", &error));
            }
        }
    }

    /// Enters a notification or a request, and answers or opens the request.
    fn call(&mut self, call: AgentCall, refused: Option<String>) {
        let AgentCall { method, id, mut params, is_stray, .. } = call;
        let (method, id) = (&*method, id.filter(|_| !is_stray));
        if method == "$/cancel_request" {
            return self.take_back(&params["requestId"]);
        }
        if let Some(params) = params.as_object_mut() {
            params.shift_remove("sessionId");
        }
        if method == "session/update" {
            let mut update = params["update"].take();
            let kind =
                update.as_object_mut().and_then(|update| update.shift_remove("sessionUpdate"));
            let kind = kind.as_ref().and_then(Value::as_str).unwrap_or(method);
            return self.enter(kind, update, refused);
        }
        let kind = match method {
            "session/request_permission" => Some(AgentQuestionKind::Permission),
            "elicitation/create" => Some(AgentQuestionKind::Form),
            _ => None,
        };
        let entry = method.strip_prefix("session/").unwrap_or(method);
        self.enter(entry, params.clone(), refused);
        let Some(id) = id else { return };
        match kind {
            Some(kind) => {
                if self.has_room(json_bytes(&params) + json_bytes(&id)) {
                    self.questions.push(OpenQuestion { kind, id, params, since: Instant::now() });
                }
            }
            None => {
                let words = "the editor does not have this method";
                let error = json!({ "error": { "code": NO_METHOD, "message": words } });
                // An agent that does not read ends, which the next read reports.
                let _ = self.reply(&id, &error);
            }
        }
    }

    /// Closes a question that the agent has taken back. The id may be that of another session's question.
    fn take_back(&mut self, id: &Value) {
        let Some(index) = self.questions.iter().position(|question| question.id == *id) else {
            return;
        };
        let question = self.questions.remove(index);
        self.enter("$/cancel_request", json!({ "toolCallId": question.tool_call() }), None);
        let error = json!({ "code": TAKEN_BACK, "message": "the request was cancelled" });
        // An agent that does not read ends, which the next read reports.
        let _ = self.reply(&question.id, &json!({ "error": error }));
    }

    /// Counts bytes that are about to be kept, and returns whether there is room for them. Without room, [`Self::read`]
    /// ends the session with an error.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.full = self.full.or(self.held.try_keep(bytes).err());
        self.full.is_none()
    }

    /// Adds an entry if the account has room for it.
    pub(super) fn enter(&mut self, kind: &str, data: Value, refused: Option<String>) {
        let mut data = match data {
            Value::Object(data) => data,
            Value::Null => Map::new(),
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        if let Some(words) = refused {
            data.insert("refused".into(), words.into());
        }
        let at = u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let entry = Entry::new(at, Lane::Acp, kind.to_owned(), data);
        if self.has_room(entry_bytes(&entry)) {
            self.entries.push(entry);
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.connection.forget(&self.id);
    }
}

/// Returns the result of `elicitation/create`: each field gets those of its choices that have one of the labels. A form
/// without any such choice is declined.
fn filled_form(params: &Value, labels: &[String]) -> Value {
    let fields = params["requestedSchema"]["properties"].as_object();
    let mut content = Map::new();
    for (name, field) in fields.into_iter().flatten() {
        let is_list = field["type"] == "array";
        let choices = match is_list {
            true => choices(&field["items"]),
            false => choices(field),
        };
        let is_chosen = |(label, value): &(&str, &Value)| {
            labels.iter().any(|wanted| wanted == label || *value == wanted.as_str())
        };
        let mut chosen = choices.into_iter().filter(is_chosen).map(|(_, value)| value.clone());
        if is_list {
            let chosen: Vec<Value> = chosen.collect();
            if !chosen.is_empty() {
                content.insert(name.clone(), chosen.into());
            }
        } else if let Some(value) = chosen.next() {
            content.insert(name.clone(), value);
        }
    }
    match content.is_empty() {
        true => json!({ "action": "decline" }),
        false => json!({ "action": "accept", "content": content }),
    }
}

/// Returns the choices of a field, each as its label and its value.
fn choices(field: &Value) -> Vec<(&str, &Value)> {
    let named = ["oneOf", "anyOf"].into_iter().filter_map(|key| field[key].as_array()).flatten();
    let named =
        named.map(|choice| (choice["title"].as_str().unwrap_or_default(), &choice["const"]));
    let plain = field["enum"].as_array().into_iter().flatten();
    let plain = plain.map(|value| (value.as_str().unwrap_or_default(), value));
    named.chain(plain).collect()
}

/// A check of a message's parameters or of its result; returns the reason of a refusal.
type MessageCheck = fn(&Value) -> Option<String>;

/// The messages of an agent that are checked, by their methods.
const CHECKED_MESSAGES: [(&str, MessageCheck); 7] = [
    ("initialize", refusal_of::<InitializeResponse>),
    ("session/new", refusal_of::<NewSessionResponse>),
    ("session/prompt", refusal_of::<PromptResponse>),
    ("session/update", refusal_of::<SessionNotification>),
    ("session/request_permission", refusal_of::<RequestPermissionRequest>),
    ("elicitation/create", refusal_of::<CreateElicitationRequest>),
    ("error", refusal_of::<Error>),
];

fn refusal_of<T: DeserializeOwned>(value: &Value) -> Option<String> {
    T::deserialize(value).err().map(|error| error.to_string())
}

/// Returns the reason why the official type of a method's message refuses it; `None` if it accepts the message or does
/// not know the method.
pub(super) fn refusal(method: &str, value: &Value) -> Option<String> {
    let row = CHECKED_MESSAGES.iter().find(|(known, _)| *known == method);
    row.and_then(|(_, check)| check(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_get_the_choices_with_the_labels() {
        let params = json!({ "requestedSchema": { "type": "object", "properties": {
            "a": { "type": "string", "oneOf": [{ "const": "b", "title": "Blue" }, { "const": "g", "title": "Green" }] },
            "l": { "type": "array", "items": { "anyOf": [{ "const": "x", "title": "x" }, { "const": "y", "title": "y" }] } },
            "e": { "type": "string", "enum": ["x"] },
            "n": { "type": "string" },
        } } });
        let check = |labels: &[&str], expect: Value| {
            let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
            assert_eq!(filled_form(&params, &labels), expect, "{labels:?}");
        };
        check(&["Green"], json!({ "action": "accept", "content": { "a": "g" } }));
        check(&["x", "y"], json!({ "action": "accept", "content": { "l": ["x", "y"], "e": "x" } }));
        check(&["red"], json!({ "action": "decline" }));
    }

    #[test]
    fn the_official_types_refuse_what_is_no_message() {
        for (method, value, is_refused) in [
            ("initialize", json!({ "protocolVersion": 1 }), false),
            ("session/new", json!({ "sessionId": "s" }), false),
            ("session/new", json!({ "session": "s" }), true),
            ("session/prompt", json!({ "stopReason": "end_turn" }), false),
            ("session/prompt", json!({ "stopReason": "tired" }), true),
            (
                "session/update",
                json!({ "sessionId": "s", "update": { "sessionUpdate": "agent_message_chunk",
                    "content": { "type": "text", "text": "x" } } }),
                false,
            ),
            ("session/update", json!({ "sessionId": "s" }), true),
            ("fs/read_text_file", json!({}), false),
        ] {
            assert_eq!(refusal(method, &value).is_some(), is_refused, "{method} {value}");
        }
    }
}
