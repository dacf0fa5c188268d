//! Turns lifecycle events into agent bus events and into what a person sees in a chat.
//!
//! The crate knows nothing of the harness and reads no clock but tokio's, so that a paused runtime
//! replays a run in virtual time.
