//! The harness: from a scenario to the findings that a person reads.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

pub mod baseline;
pub mod cache;
pub mod check;
pub mod compare;
pub mod conform;
pub mod corpus;
pub mod drift;
pub mod observed;
pub mod record;
pub mod replay;
pub mod report;
pub mod suite;
