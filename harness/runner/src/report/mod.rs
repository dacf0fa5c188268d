//! Shows traces and findings: as a timeline, as the screen a person sees, as a test run.
//!
//! A test run is one model ([`Report`]) with many writers: [`terminal`], [`junit`], [`tap`], [`json`], [`github`],
//! [`markdown`] and [`html()`] write the same findings with the same ids in the same words. A writer takes any `Write`;
//! those for a terminal add ANSI colours, which the caller strips for other outputs.

mod chat_diff;
mod compare;
mod drift;
mod files;
mod github;
mod groups;
mod html;
mod json;
mod junit;
mod markdown;
mod marks;
mod model;
mod page;
pub mod proof;
mod review;
mod style;
mod tap;
mod terminal;
mod terminal_chat;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod two_sided;

pub use compare::{compare_page, compare_summary, compare_text};
pub use drift::{DriftReport, drift_json, drift_page, drift_summary, drift_text};
pub use files::{Format, ReportFileError, ReportFiles};
pub use github::github;
pub use groups::Detail;
pub use html::{Pages, html};
pub use json::{ReportError, json, merge, read};
pub use junit::junit;
pub use markdown::markdown;
pub use marks::marks;
pub use model::{Cause, CheckRun, FORMAT, JudgedShard, Report, ScenarioRun, Tally, Trouble};
#[cfg(test)]
pub(crate) use page::frames::last_messages;
pub use page::{SeenRun, page, seen_page};
pub use review::{ReviewedGolden, review_page, write_change};
pub use tap::tap;
pub use terminal::{
    findings, scenario_line, summary, terminal, timings, write_diff, write_finding,
};
pub use terminal_chat::TerminalChat;
pub use timeline::{footer, write_entry};
