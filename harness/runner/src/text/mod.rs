//! Text on its way out: made safe for a terminal, a log, Markdown, JSON and a shell.
//!
//! What is recorded, and what a scenario, a server, a program or a command line brings, may hold
//! characters that a terminal, a log or a reader obeys instead of showing. Whatever clitape prints goes
//! through one of these functions first.

mod json;
pub mod markdown;
mod safe;
mod shell;

pub use json::json;
pub use safe::{Marked, TerminalSafe, is_hidden, marked, plain};
pub use shell::shell_quote;
