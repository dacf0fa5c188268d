//! The SSE endpoint over real HTTP on this machine, read by a public client and by the collector.

#![allow(clippy::unwrap_used, reason = "a test whose parts can't be set up fails")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]

mod answers;
mod collect;
mod endpoint;
mod gateway;
mod hostile;
