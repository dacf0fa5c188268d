//! Which session on disk may be resumed, and what a gateway does when one may not.
//!
//! The CLI keeps each session as a transcript, a file of JSON lines. A session whose transcript never
//! got an answer is not found again; one that ends in a tool call nobody answered is repaired by
//! some versions of the CLI and hangs gateways that do not expect it. The rules, by their ids:
//!
//! * **X1** reading: [`transcript`] and [`locate`]; streamed, whole lines, sidechains skipped.
//! * **X2** [`resumability()`]: whether the session may be resumed, and why (or why not).
//! * **X3** [`gate`]: a session is kept only once its transcript shows an answer.
//! * **X4** [`Invalidation`]: why a session was given up, and whether what was said may be told again.
//! * **X5** [`reseed`]: what was said, for the session that takes the place of a dead one.
//! * **X6** [`fingerprint`]: which settings changed, by name and never by value.
//! * **X7** the watchdog of [`Run`](crate::Run): silence ends a run, and everybody is told.
//! * **X8** `clitape session` says all of this at the terminal.

pub mod fingerprint;
pub mod gate;
pub mod reseed;
mod resumability;
pub mod transcript;

pub use resumability::{
    Invalidation, LineSummary, Orphan, Reason, Reseed, Resumability, ResumeRules, resumability,
};
pub use transcript::{
    LocateError, NoTranscript, Transcript, config_dir, locate, locate_short, slug,
};

#[cfg(test)]
pub(crate) mod tests;
