//! Lifecycle events from the stdout bytes of a stream-json CLI.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

mod block;
mod body;
mod calls;
pub mod control;
mod conversation;
mod diagnostic;
mod dialog;
mod emitter;
mod ending;
mod event;
mod failure;
mod feed;
mod fields;
mod head;
mod id_index;
mod json;
mod limits;
mod lines;
mod message;
mod notices;
mod outcome;
mod owned;
mod parser;
mod partial;
mod payload;
mod result_record;
pub mod rules;
mod run;
mod session;
mod snapshot;
mod stream;
mod think_tags;
mod tool_args;
mod transcript;
pub mod tree;
mod turns;
mod value;
mod words;

pub use diagnostic::DiagnosticCode;
pub use emitter::{OTHER_KINDS, Stats};
pub use event::{Decision, Event, Incomplete, ToolKind};
pub use feed::{FeedEvents, FinishEvents};
pub use fields::Fields;
pub use id_index::{IdIndex, IdSet};
pub use json::{Expected, Malformed};
pub use limits::ParserLimits;
pub use outcome::{Failure, FailureKind, Outcome, RunStatus, Usage};
pub use owned::{OmittedText, OwnedEvent};
pub use parser::Parser;
pub use payload::{Json, ToolArguments};
pub use value::lenient_value;
pub use words::UnknownWord;

#[cfg(test)]
mod tests;
