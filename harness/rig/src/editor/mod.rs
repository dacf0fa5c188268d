//! An editor for an agent of the Agent Client Protocol: a client on the agent's stdin and stdout.
//!
//! [`run`] starts the agent, opens a session, sends the prompts one after another and answers what the agent
//! asks. Each update is an entry of the lane `acp`, as a replay of a cassette has it: the update's
//! `sessionUpdate` is the kind; `request_permission` is a question of the agent, and `response` the answer to a
//! prompt. A message that the official crate's types refuse has the reason in `refused`.

mod agent;
mod error;
mod official;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clitape_runner::replay::{Entry, Lane};
use serde_json::{Map, Value, json};

use agent::{Agent, AgentMessage};
pub use error::EditorError;
use error::MAX_ENTRIES;

/// The error of JSON-RPC for a method that the editor does not have.
const NO_METHOD: i64 = -32_601;

/// What the person answers when the agent asks for a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionChoice {
    /// The option of this kind, name or id, such as `allow_once`.
    Option(String),
    /// None: the question is cancelled.
    Cancel,
}

/// What an editor does.
#[derive(Debug, Clone)]
pub struct EditorSettings {
    /// The agent: a program and its arguments.
    pub command: Vec<OsString>,
    /// The folder of the session, as an absolute path.
    pub folder: PathBuf,
    /// The prompts, each sent when the one before it is answered.
    pub prompts: Vec<String>,
    /// The answers to the agent's questions; the last one serves all further questions.
    pub choices: Vec<PermissionChoice>,
    /// How long the run may take.
    pub within: Duration,
}

/// The state of a run.
struct Run<'r> {
    agent: Agent,
    settings: &'r EditorSettings,
    started: Instant,
    next_id: u64,
    asked: usize,
    entries: usize,
    on_entry: &'r mut dyn FnMut(&Entry),
}

/// Runs an agent through the prompts; `on_entry` gets each entry as it comes. The agent is ended with its group.
///
/// # Errors
///
/// [`EditorError`] when the agent does not start, ends early, is late, or talks nonsense.
pub fn run(settings: &EditorSettings, on_entry: &mut dyn FnMut(&Entry)) -> Result<(), EditorError> {
    let agent = Agent::start(&settings.command, &settings.folder)?;
    let started = Instant::now();
    let mut run = Run { agent, settings, started, next_id: 0, asked: 0, entries: 0, on_entry };
    let capabilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false },
        "terminal": false });
    let about = json!({ "name": "clitape", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities,
        "clientInfo": about });
    run.ask("initialize", &hello)?;
    let session = json!({ "cwd": settings.folder, "mcpServers": [] });
    let session = run.ask("session/new", &session)?["sessionId"].clone();
    for prompt in &settings.prompts {
        let prompt = json!([{ "type": "text", "text": prompt }]);
        run.ask("session/prompt", &json!({ "sessionId": session, "prompt": prompt }))?;
    }
    Ok(())
}

impl Run<'_> {
    /// Makes a request and handles what comes until its answer, which it returns.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, EditorError> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if self.agent.send(&request).is_err() {
            return Err(self.ended(method));
        }
        loop {
            let left = self.settings.within.saturating_sub(self.started.elapsed());
            let message = match self.agent.next(left) {
                AgentMessage::Value(message) => message,
                AgentMessage::Wrong(words) => return Err(EditorError::Line(words)),
                AgentMessage::End => return Err(self.ended(method)),
                AgentMessage::Late => {
                    let within_s = self.settings.within.as_secs();
                    return Err(EditorError::Late { method: method.to_owned(), within_s });
                }
            };
            if message.get("method").is_some() {
                self.handle(&message)?;
            } else if message["id"] == id {
                return self.answered(method, &message);
            }
        }
    }

    /// Takes the answer to a request.
    fn answered(&mut self, method: &str, message: &Value) -> Result<Value, EditorError> {
        if let Some(error) = message.get("error") {
            let words = error["message"].as_str().unwrap_or_default();
            if method == "session/prompt" {
                self.enter("response", json!({ "error": words }), None)?;
            }
            let method = method.to_owned();
            return Err(EditorError::Refused { method, words: words.to_owned() });
        }
        let result = message.get("result").cloned().unwrap_or_default();
        let refused = official::refusal(method, &result);
        if method == "session/prompt" {
            self.enter("response", result.clone(), refused)?;
        } else if refused.is_some() {
            self.enter(method, result.clone(), refused)?;
        }
        Ok(result)
    }

    /// Handles a notification or a request of the agent.
    fn handle(&mut self, message: &Value) -> Result<(), EditorError> {
        let method = message["method"].as_str().unwrap_or_default();
        let params = message.get("params").cloned().unwrap_or_default();
        let refused = official::refusal(method, &params);
        let result = match method {
            "session/update" => {
                let mut update = params["update"].clone();
                let kind =
                    update.as_object_mut().and_then(|update| update.shift_remove("sessionUpdate"));
                let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("session/update");
                return self.enter(kind, update, refused);
            }
            "session/request_permission" => {
                let outcome = self.choose(&params);
                let mut data = params;
                if let Some(data) = data.as_object_mut() {
                    data.shift_remove("sessionId");
                    data.insert("answer".into(), outcome.clone());
                }
                self.enter("request_permission", data, refused)?;
                Ok(json!({ "outcome": outcome }))
            }
            _ => {
                self.enter(method, params, refused)?;
                Err(json!({ "code": NO_METHOD, "message": "the editor does not have this method" }))
            }
        };
        let Some(id) = message.get("id") else { return Ok(()) };
        let answer = match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        self.agent.send(&answer).map_err(|_| self.ended(method))
    }

    /// The error of an agent that has ended.
    fn ended(&self, method: &str) -> EditorError {
        EditorError::Ended { method: method.to_owned(), last_words: self.agent.last_words() }
    }

    /// Returns the outcome of a question: the option that the person chooses, or that it is cancelled.
    fn choose(&mut self, params: &Value) -> Value {
        let choices = &self.settings.choices;
        let choice = choices.get(self.asked).or(choices.last());
        self.asked += 1;
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let option = match choice {
            Some(PermissionChoice::Option(word)) => options.iter().find(|option| {
                ["kind", "name", "optionId"].iter().any(|field| option[field] == word.as_str())
            }),
            Some(PermissionChoice::Cancel) | None => None,
        };
        match option {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        }
    }

    /// Adds an entry.
    fn enter(
        &mut self,
        kind: &str,
        data: Value,
        refused: Option<String>,
    ) -> Result<(), EditorError> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(EditorError::Flood);
        }
        let mut data = match data {
            Value::Object(data) => data,
            Value::Null => Map::new(),
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        if let Some(words) = refused {
            data.insert("refused".into(), words.into());
        }
        let at = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        (self.on_entry)(&Entry { at, lane: Lane::Acp, kind: kind.to_owned().into(), data });
        Ok(())
    }
}
