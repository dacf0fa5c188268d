//! Reads a line that the CLI printed, and classes it by its role for the host.

use std::ops::Range;

use clitape_recording::wire::{ControlRequest, RequestKind, WireLine};

/// A line of stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutLine {
    /// The bytes of the line, with its LF.
    pub(super) range: Range<usize>,
    /// The role of the line.
    pub(super) role: Role,
}

/// The role of a line of stdout for the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// The start of a turn.
    Init,
    /// A status of the CLI.
    Status,
    /// The end of a turn.
    Result,
    /// The state of a message: queued, worked on or done.
    Lifecycle,
    /// A message of the host, printed again.
    Replay,
    /// A piece of a message of the model (`stream_event`), printed only for a host that asks for pieces.
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
        /// The event of the hook.
        event: String,
        /// The tool, if the event is about one.
        tool: Option<String>,
        /// The id under which the host registered the hook.
        callback_id: String,
    },
    /// Another request to the host, such as a permission question.
    Question(CliQuestion),
    /// The end of a request that the CLI takes back.
    Cancel {
        /// The id of the request.
        request_id: String,
    },
    /// An answer of the host, printed again.
    Echo {
        /// The id of the request.
        request_id: String,
    },
    /// A line of any other kind.
    Other,
}

/// A request of the CLI that does not call a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CliQuestion {
    /// The id of the request.
    pub(super) request_id: String,
    /// The number of the question in the run, from 1.
    pub(super) number: usize,
    /// The tool that it is about, or else the `subtype` of the request.
    pub(super) about: String,
    /// The id of the call that it is about.
    pub(super) tool_use_id: Option<String>,
    /// True if it asks for a permission, so that it comes only with `--permission-prompt-tool`.
    pub(super) asks_permission: bool,
}

impl CliQuestion {
    /// Returns the name of the question in a sentence: `question q1 (Bash)`.
    pub(super) fn words(&self) -> String {
        format!("question q{} ({})", self.number, self.about)
    }
}

/// Returns whether `text` contains `part`.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The state for finding the roles of the lines of a process, one after another.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// The number of questions so far.
    questions: usize,
    /// The ids of the CLI's requests so far.
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
