//! Text for people and programs: made safe, short and grammatical.
//!
//! Recordings, scenarios, servers, programs and command lines may contain characters that a terminal, a log or a reader
//! obeys instead of showing. Every output of clitape passes through one of these functions first:
//!
//! * [`TerminalSafe`] and [`plain`] escape characters that steer or hide, for a terminal or a log;
//! * [`markdown`], [`json()`] and [`shell_quote`] do so in the syntax of their formats;
//! * [`truncate`] fits a long text into a number of columns, with one mark for the part that is cut;
//! * [`whole`] lists a text that a person agrees to, with its end;
//! * [`shown`] compares a text with the messages that a person was shown, and [`asked`] lists the texts of a question;
//! * `changed_words` marks the words of two texts that differ, and `TextSearch` finds many texts in another one;
//! * [`plural`] counts things, [`megabytes`] formats their size, and [`near`] finds the names that a misspelt one may
//!   mean.

pub mod asked;
pub mod markdown;
pub mod markup;
mod safe;
mod search;
mod short;
pub mod shown;

pub use safe::{Marked, TerminalSafe, is_hidden, json, marked, plain, shell_quote, shell_words};
pub use search::{
    TextSearch, WordDiff, changed_words, did_you_mean, distance, near, solid, solid_chars,
};
pub use short::{
    Keep, MARK, common_end, common_start, end, megabytes, pad, plural, quoted, shortened, start,
    truncate, whole, width,
};
