//! Lifecycle events from the stdout bytes of a stream-json CLI.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

mod block;
mod calls;
pub mod control;
mod conversation;
mod emitter;
mod ending;
mod event;
mod id_index;
mod json;
mod lines;
mod message;
mod notices;
mod outcome;
mod parser;
mod partial;
mod payload;
mod record;
pub mod rules;
mod run;
mod snapshot;
mod stream;
mod tool_args;
mod transcript;
pub mod tree;
mod words;

pub use emitter::{OTHER_KINDS, Stats};
pub use event::{
    Decision, DiagnosticCode, EVENT_KINDS, Event, Incomplete, OmittedText, OwnedEvent, ToolKind,
};
pub use id_index::{IdIndex, IdSet};
pub use json::{Expected, Malformed};
pub use outcome::{Failure, FailureKind, Outcome, RunStatus, Usage};
pub use parser::{FeedEvents, FinishEvents, Parser, ParserLimits};
pub use payload::{Fields, Json, ToolArguments, lenient_value};
pub use words::UnknownWord;

#[cfg(test)]
mod tests;
