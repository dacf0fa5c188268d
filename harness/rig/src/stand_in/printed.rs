//! Reads a line that the CLI printed, and says what it is to the host.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;

/// A line of stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutLine {
    /// Its bytes, with the LF.
    pub(super) range: Range<usize>,
    /// What it is to the host.
    pub(super) role: Role,
}

/// What a line of stdout is to the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// The start of a turn.
    Init,
    /// A status.
    Status,
    /// The end of a turn.
    Result,
    /// Says which message is queued, worked on or done.
    Lifecycle,
    /// The message of the host, printed again.
    Replay,
    /// A piece of a message of the model, which only a host reads that asks for them (`stream_event`).
    Piece,
    /// The answer to a request of the host.
    Response {
        /// The id of the request.
        request_id: String,
    },
    /// The call of a hook.
    Hook {
        /// The id of the request.
        request_id: String,
        /// The event.
        event: String,
        /// The tool, where the event is about one.
        tool: Option<String>,
        /// The hook's id.
        callback_id: String,
    },
    /// Another request to the host, such as a permission question.
    Question(Question),
    /// Takes a request back.
    Cancel {
        /// The id of the request.
        request_id: String,
    },
    /// The answer of the host, printed again.
    Echo {
        /// The id of the request.
        request_id: String,
    },
    /// Anything else.
    Other,
}

/// A request of the CLI that is not the call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// The id of the request.
    pub(super) request_id: String,
    /// Which one it is, from 1.
    pub(super) number: usize,
    /// The tool that it is about, or what is asked for.
    pub(super) about: String,
    /// The call that it is about.
    pub(super) tool_use_id: Option<String>,
    /// Is true if it asks for a permission, so that it comes only with `--permission-prompt-tool`.
    pub(super) asks_permission: bool,
}

impl Question {
    /// Its name in a sentence: `question q1 (Bash)`.
    pub(super) fn words(&self) -> String {
        format!("question q{} ({})", self.number, self.about)
    }
}

/// Returns the `type` of a record, wherever it has it; `None` of what is no record.
pub(super) fn type_of(line: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    serde_json::from_slice(line).ok().map(|Typed { kind }| kind)
}

/// Whether `text` contains `part`.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// What a record is to the host. `asked` collects the ids of the CLI's requests.
pub(super) fn role(value: &Value, questions: &mut usize, asked: &mut Vec<String>) -> Role {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match (value["type"].as_str(), value["subtype"].as_str()) {
        (Some("system"), Some("init")) => Role::Init,
        (Some("system"), Some("status")) => Role::Status,
        (Some("result"), _) => Role::Result,
        (Some("command_lifecycle"), _) => Role::Lifecycle,
        (Some("stream_event"), _) => Role::Piece,
        (Some("user"), _) if is_replay(value) => Role::Replay,
        (Some("control_cancel_request"), _) => {
            Role::Cancel { request_id: text(&value["request_id"]) }
        }
        (Some("control_response"), _) => {
            let request_id = text(&value["response"]["request_id"]);
            match asked.contains(&request_id) {
                true => Role::Echo { request_id },
                false => Role::Response { request_id },
            }
        }
        (Some("control_request"), _) => {
            let request_id = text(&value["request_id"]);
            asked.push(request_id.clone());
            let request = &value["request"];
            if request["subtype"] == "hook_callback" {
                let (input, callback_id) = (&request["input"], text(&request["callback_id"]));
                let tool = input["tool_name"].as_str().map(str::to_owned);
                return Role::Hook {
                    request_id,
                    event: text(&input["hook_event_name"]),
                    tool,
                    callback_id,
                };
            }
            *questions += 1;
            let tool_use_id = request["tool_use_id"].as_str().map(str::to_owned);
            let about = request["tool_name"]
                .as_str()
                .map_or_else(|| text(&request["subtype"]), str::to_owned);
            let asks_permission = request["subtype"] == "can_use_tool";
            let number = *questions;
            Role::Question(Question { request_id, number, about, tool_use_id, asks_permission })
        }
        _ => Role::Other,
    }
}

/// Whether a `user` record repeats a message of the host. Old CLIs do not mark it, but all other `user` records
/// have blocks. The output of a command of the CLI's own is marked too.
fn is_replay(value: &Value) -> bool {
    let is_old = value.get("timestamp").is_none() && value["message"]["content"].is_string();
    let is_output = value["message"]["content"]
        .as_str()
        .is_some_and(|text| text.starts_with("<local-command-stdout>"));
    (value["isReplay"] == true || is_old)
        && value["parent_tool_use_id"].is_null()
        && value["isSynthetic"] != true
        && !is_output
}
