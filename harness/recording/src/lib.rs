//! A recording of a coding agent on disk, and how it is read and written.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

pub mod cassette;
pub mod clock;
pub mod files;
pub mod input;
pub mod limits;
pub mod names;
pub mod scenario;
pub mod secrets;
pub mod text;
pub mod toml_text;
