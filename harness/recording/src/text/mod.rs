//! Text for people and programs: made safe, short and grammatical.
//!
//! Recordings, scenarios, servers, programs and command lines may contain characters that a terminal, a
//! log or a reader obeys instead of showing. Whatever clitape prints passes through one of these
//! functions first:
//!
//! * [`TerminalSafe`] and [`plain`] escape what steers or hides, for a terminal or a log;
//! * [`markdown`], [`json()`] and [`shell_quote`] do so in the syntax of their formats;
//! * [`truncate`] makes a long text fit on a number of columns, with one mark for what is cut away;
//! * [`whole`] lists a text that a person agrees to, with its end;
//! * [`shown`] says whether a person was shown a text, whatever a chat makes of it, and [`asked`] what a question is about;
//! * `changed_words` marks which words of two texts differ, and `TextSearch` finds many texts in another one;
//! * [`plural`] counts things, [`megabytes`] says how large they are, and [`near`] finds the names that a misspelt one may mean.

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
    Keep, MARK, common_end, common_start, end, megabytes, pad, plural, start, truncate, whole,
    width,
};
