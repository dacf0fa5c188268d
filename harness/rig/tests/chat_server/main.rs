//! Tests of the chat server from outside, as a bot and a person use it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what can't be done fails the test"
)]

mod albums;
mod bot;
mod browser;
mod client;
mod drafts;
mod failures;
mod groups;
mod kept;
mod person;
mod strangers;
mod tls;
