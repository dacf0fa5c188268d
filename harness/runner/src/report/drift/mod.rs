//! Writes the drift from one version of the CLI to another: on the terminal, as Markdown, as a page and as JSON.

mod json;
mod markdown;
mod page;
mod terminal;
mod words;

pub use json::{DriftReport, drift_json};
pub use markdown::drift_text;
pub use page::drift_page;
pub use terminal::drift_summary;
