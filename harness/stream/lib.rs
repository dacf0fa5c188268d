//! Turns the stdout bytes of a `stream-json` CLI into lifecycle events.
//!
//! Feed [`Parser`] bytes as they come, cut anywhere; it calls back with one [`Event`] after
//! another. The crate does no IO, reads no clock and knows nothing of the harness: the events are
//! a function of the bytes alone.

mod event;

pub use event::*;
