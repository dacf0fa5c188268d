//! Reads a line that the CLI printed, and says what it is to the host.

use std::ops::Range;

use clitape_recording::wire::{ControlRequest, RequestKind, WireLine};

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
    Question(CliQuestion),
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
pub(super) struct CliQuestion {
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

impl CliQuestion {
    /// Its name in a sentence: `question q1 (Bash)`.
    pub(super) fn words(&self) -> String {
        format!("question q{} ({})", self.number, self.about)
    }
}

/// Whether `text` contains `part`.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Tells the roles of the lines of a process, one line after the other.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// The number of questions so far.
    questions: usize,
    /// The ids of the CLI's requests.
    asked: Vec<String>,
}

impl Roles {
    /// Returns the role of the next line.
    pub(super) fn next(&mut self, line: &[u8]) -> Role {
        match WireLine::read(line) {
            Some(WireLine::Message(message)) if message.is_replay => Role::Replay,
            Some(WireLine::Request(request)) => self.request(request),
            Some(WireLine::Response(response)) => {
                let request_id = response.request_id;
                match self.asked.contains(&request_id) {
                    true => Role::Echo { request_id },
                    false => Role::Response { request_id },
                }
            }
            Some(WireLine::Cancel { request_id }) => Role::Cancel { request_id },
            Some(WireLine::Other { kind, subtype }) => match (kind.as_str(), subtype.as_str()) {
                ("system", "init") => Role::Init,
                ("system", "status") => Role::Status,
                ("result", _) => Role::Result,
                ("command_lifecycle", _) => Role::Lifecycle,
                ("stream_event", _) => Role::Piece,
                _ => Role::Other,
            },
            _ => Role::Other,
        }
    }

    fn request(&mut self, request: ControlRequest) -> Role {
        self.asked.push(request.request_id.clone());
        let subtype = request.subtype().to_owned();
        let ControlRequest { request_id, kind, .. } = request;
        let (about, tool_use_id, asks_permission) = match kind {
            RequestKind::Hook(call) => {
                return Role::Hook {
                    request_id,
                    event: call.event,
                    tool: call.tool_name,
                    callback_id: call.callback_id,
                };
            }
            RequestKind::Permission(question) => (question.tool_name, question.tool_use_id, true),
            RequestKind::Other { tool_use_id, .. } => (subtype, tool_use_id, false),
            _ => (subtype, None, false),
        };
        self.questions += 1;
        let number = self.questions;
        Role::Question(CliQuestion { request_id, number, about, tool_use_id, asks_permission })
    }
}
