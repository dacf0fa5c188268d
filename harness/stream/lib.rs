//! Turns the stdout bytes of a `stream-json` CLI into lifecycle events.
//!
//! Feed [`Parser`] bytes as they come, cut anywhere; it calls back with one [`Event`] after
//! another. The crate does no IO, reads no clock and knows nothing of the harness: the events are
//! a function of the bytes alone.

mod block;
mod calls;
mod ending;
mod event;
mod json;
mod lane;
mod lead;
mod lines;
mod notices;
mod parser;
mod session;
mod snapshot;
mod stream;
mod tell;
mod track;
mod value;

pub use event::*;
pub use parser::Parser;
pub use tell::Stats;
pub use value::lenient_value;

#[cfg(test)]
mod tests;
