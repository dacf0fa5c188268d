//! A gateway of any kind under test.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

pub mod chat_server;
mod clock;
pub mod editor;
pub mod limits;
pub mod reach;
pub mod serve;
pub mod stand_in;
pub mod subject;
