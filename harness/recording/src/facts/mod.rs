//! The facts that stdout and stdin state, read with `serde_json` alone.
//!
//! The rules of a replay compare the parser, the bus and the channels with them, and the rules for gateways under test
//! a chat or an editor ([`TurnFacts`]). This module shares no code with the parser under test, because a mistake of the
//! parser must not excuse itself. Where stdout is ambiguous, so are the facts, and the rules that need them do not
//! apply.

mod json;
mod model;
mod reader;
mod session;
mod turn_facts;

pub use json::{record as read_record, records, records_with, texts_in};
pub use model::{
    Facts, HostMessage, RecordedBlock, RecordedCall, RecordedFailure, RecordedMessage,
    RecordedQuestion, RecordedTurn, RecordedUsage,
};
pub use session::RecordedSession;
pub use turn_facts::{
    LazyFacts, QuestionFacts, RecordedWords, TextSegment, ToolFacts, ToolOutcome, TurnEnding,
    TurnFacts,
};

#[cfg(test)]
mod tests;
