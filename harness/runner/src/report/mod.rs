//! Shows traces and findings: as a timeline, as the screen a person sees, as a test run.
//!
//! A test run is one model ([`Report`]) with many writers: [`terminal`], [`junit`], [`tap`], [`json`], [`github`],
//! [`markdown`] and [`html()`] write the same findings with the same ids in the same words. A comparison and a drift are
//! a [`Document`], which writes itself to the terminal, as Markdown and as a page. Writers for a terminal add ANSI
//! colours, which the caller strips for other outputs.

mod chat;
mod chat_diff;
mod compare;
mod document;
mod drift;
mod formats;
mod groups;
mod html;
mod lines;
mod model;
mod page;
pub mod proof;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

pub use chat::TerminalChat;
pub use compare::compare_document;
pub use document::Document;
pub use drift::{DriftReport, drift_document, drift_json};
pub use formats::{Format, ReportFileError, ReportFiles, github, junit, markdown, tap};
pub use groups::Detail;
pub use html::{Pages, ReviewedGolden, html, review_page, write_change};
pub use model::{
    Cause, CheckRun, FORMAT, JudgedShard, Report, ReportError, ScenarioRun, Tally, Trouble, json,
    merge, read,
};
#[cfg(test)]
pub(crate) use page::frames::last_messages;
pub use page::{ONE_RUN, OWN_BRIDGE, SeenRun, page, seen_page};
pub use screen::Screen;
pub use terminal::{
    findings, footer, marks, scenario_line, summary, terminal, timings, write_diff, write_entry,
    write_finding,
};
