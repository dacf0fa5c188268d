//! Findings about what a person saw.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

mod case;
mod diff;
mod final_read;
mod finding;
mod golden;
pub mod known;
pub mod observation;
mod rules;
mod transcript;
mod words;

pub use diff::change::{Change, Class, between, entry_mark};
pub use diff::chat_diff::ChatDiff;
pub use diff::context::{ContextMoment, context};
pub use diff::divergence::{Divergence, moment, quoted, zoom};
pub use diff::final_text::{FinalTextDiff, wrong_final_text};
pub use diff::lines::{DiffLine, DiffSide, align_texts};
pub use diff::pairs::{EntryMark, Pair};
pub use diff::trace_diff::{Times, TraceDiff};
pub use final_read::{finally_read, says_the_same};
pub use finding::{CheckResult, Finding, FindingCommand, FindingId, FindingKind, GoldenLine};
pub use golden::snap_file::body;
pub use golden::view::View;
pub use golden::{Golden, GoldenChange, UnreadableLine, parse};
pub use rules::{Needs, RULES, Rule, RuleScope, Stake, Violation, judge};
