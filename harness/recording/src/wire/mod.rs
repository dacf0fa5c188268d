//! The lines that a host and the CLI write to each other: messages, requests of both sides and their answers.
//!
//! Each record has one reader and one writer here, for all crates of the harness. They use `serde_json` alone and not
//! the parser of `clitape_stream`, because that is the code under test. Fields are found by their names, in any order;
//! requests and answers keep their whole body as it was written, so that subtypes which have no type here lose nothing.

mod answer;
mod json;
mod message;
mod request;

pub use answer::{AnswerDecision, ControlResponse, PermissionAnswer, PermissionDecision};
pub use json::JsonText;
pub use message::{MessageTemplate, UserMessage};
pub use request::{
    ControlRequest, HOOK_CALLBACK, HookCall, PermissionQuestion, RegisteredHook, RequestKind,
};

use answer::RESPONSE;
use json::ObjectFields;
use request::REQUEST;

/// The type of a record with a message.
const MESSAGE: &str = "user";
/// The type of a record that takes a request back.
const CANCEL: &str = "control_cancel_request";

/// A line that one side wrote.
///
/// The host writes to the stdin of the CLI, and the CLI to its own stdout; both use the same records.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireLine {
    /// A `user` record: a message of a person, the same message repeated by the CLI, or the results of calls.
    Message(UserMessage),
    /// A request to the other side.
    Request(ControlRequest),
    /// The answer to a request of the other side, or that answer repeated by the CLI.
    Response(ControlResponse),
    /// The end of a request that its side takes back.
    Cancel {
        /// The id of the request.
        request_id: String,
    },
    /// Another record, such as `result` of the CLI or `keep_alive` of a host.
    Other {
        /// The type of the record; empty if it has none.
        kind: String,
        /// The subtype; empty if it has none.
        subtype: String,
    },
}

impl WireLine {
    /// Reads a line, with its LF or without; `None` if it is no JSON object.
    pub fn read(line: &[u8]) -> Option<Self> {
        let fields = ObjectFields::of(line)?;
        let kind = fields.text("type").unwrap_or_default();
        let request_id = || fields.text("request_id").unwrap_or_default();
        Some(match kind.as_str() {
            MESSAGE => Self::Message(UserMessage::read(&fields)),
            REQUEST => Self::Request(ControlRequest::of(request_id(), fields.body("request"))),
            RESPONSE => Self::Response(ControlResponse::of(fields.body("response"))),
            CANCEL => Self::Cancel { request_id: request_id() },
            _ => Self::Other { kind, subtype: fields.text("subtype").unwrap_or_default() },
        })
    }

    /// Returns the type of the record; empty if it has none.
    pub fn kind(&self) -> &str {
        match self {
            Self::Message(_) => MESSAGE,
            Self::Request(_) => REQUEST,
            Self::Response(_) => RESPONSE,
            Self::Cancel { .. } => CANCEL,
            Self::Other { kind, .. } => kind,
        }
    }
}

/// Returns true if records of this type belong to the control protocol: requests, answers, and the end of requests.
pub fn is_control(kind: &str) -> bool {
    kind.starts_with("control_")
}

#[cfg(test)]
mod tests;
