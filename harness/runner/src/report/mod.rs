//! Shows traces and findings: as a timeline, as the screen a person sees, as a test run.
//!
//! A test run is one model ([`Report`]) with many writers: [`terminal`], [`junit`], [`tap`], [`json`], [`github`],
//! [`markdown`] and [`html()`] write the same findings with the same ids in the same words. A writer takes any `Write`;
//! those for a terminal add ANSI colours, which the caller strips for other outputs.

mod chat;
mod chat_diff;
mod compare;
mod drift;
mod formats;
mod groups;
mod html;
mod model;
mod page;
pub mod proof;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

pub use chat::TerminalChat;
pub use compare::{compare_page, compare_summary, compare_text};
pub use drift::{DriftReport, drift_json, drift_page, drift_summary, drift_text};
pub use formats::{Format, ReportFileError, ReportFiles, github, junit, markdown, tap};
pub use groups::Detail;
pub use html::{Pages, ReviewedGolden, html, review_page, write_change};
pub use model::{
    Cause, CheckRun, FORMAT, JudgedShard, Report, ReportError, ScenarioRun, Tally, Trouble, json,
    merge, read,
};
#[cfg(test)]
pub(crate) use page::frames::last_messages;
pub use page::{SeenRun, page, seen_page};
pub use terminal::{
    findings, footer, marks, scenario_line, summary, terminal, timings, write_diff, write_entry,
    write_finding,
};
