//! Tests of the rules, each with runs that break it: replays of clitape's own gateway, chats and editors.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what can't be done fails the test"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clitape_judge::{FindingKind, judge};
use clitape_recording::cassette::Cassette;
use clitape_recording::facts::LazyFacts;
use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Setup};
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::replay::{Plan, Replay, replay};
use serde_json::Value;

mod asked;
mod chat;
mod editor;
mod own_chat;
mod stdout;

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn facts_of(cassette: &Cassette) -> Arc<LazyFacts> {
    Arc::new(LazyFacts::of(cassette))
}
