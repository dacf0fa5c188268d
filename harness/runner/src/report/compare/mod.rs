//! Writes a comparison of two sides as a page, as a text for a pull request, and to the terminal.

mod markdown;
mod page;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

pub use markdown::compare_text;
pub use page::compare_page;
pub(in crate::report) use page::{STYLE, sections};
pub use terminal::compare_summary;
