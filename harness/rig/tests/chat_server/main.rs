//! The chat server as a bot and a person reach it.

mod bot;
mod browser;
mod client;
mod failures;
mod person;
