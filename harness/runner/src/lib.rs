//! The harness: from a scenario to the findings that a person reads.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

pub mod baseline;
pub mod cache;
pub mod cassette;
pub mod check;
pub mod clock;
pub mod compare;
pub mod drift;
pub mod files;
pub mod host;
pub mod input;
pub mod json_size;
pub mod kept;
pub mod limits;
pub mod names;
pub mod observed;
pub mod record;
pub mod replay;
pub mod report;
pub mod scenario;
pub mod secrets;
pub mod suite;
pub mod text;
pub mod threads;
pub mod toml_text;
