//! Findings about the output that a person saw.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

mod case;
mod diff;
mod finding;
mod golden;
pub mod known;
pub mod neighbours;
pub mod observation;
mod rules;
mod words;

pub use case::{finally_read, says_the_same};
pub use diff::divergence::{Divergence, moment, zoom};
pub use diff::pairs::{
    Change, Class, DiffLine, DiffSide, EntryMark, Pair, align_texts, between, entry_mark,
};
pub use diff::{
    ChatDiff, ContextMoment, FinalTextDiff, Times, TraceDiff, context, wrong_final_text,
};
pub use finding::explanation::Explanation;
pub use finding::{CheckResult, Finding, FindingCommand, FindingId, FindingKind, GoldenLine};
pub use golden::golden_chain::{DESCRIPTION, body};
pub use golden::{Golden, GoldenChange, UnreadableLine, View, parse};
pub use rules::{Needs, RULES, Rule, RuleScope, Stake, Violation, judge};
