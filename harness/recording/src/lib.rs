//! Recordings of a coding agent on disk, with their reader and writer.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

#[cfg(windows)]
compile_error!("clitape runs on Linux and macOS; on Windows, build it and run it inside WSL2");

pub mod capture;
pub mod cassette;
pub mod chat;
pub mod clock;
pub mod facts;
pub mod files;
pub mod limits;
pub mod names;
pub mod rename;
pub mod scenario;
pub mod secrets;
pub mod text;
pub mod toml_text;
pub mod trace;
pub mod wire;
