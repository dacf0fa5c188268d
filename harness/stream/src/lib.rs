//! Lifecycle events from the stdout bytes of a stream-json CLI.
//!
#![doc = include_str!("../README.md")]

mod answer;
mod block;
mod body;
mod calls;
mod ending;
mod event;
mod failure;
mod feed;
mod fields;
mod frame;
mod given;
mod head;
mod json;
mod lane;
mod lead;
mod limits;
mod lines;
mod notices;
mod outcome;
mod parser;
mod partial;
mod payload;
mod run;
mod said;
mod session;
mod snapshot;
mod stream;
mod tell;
mod track;
mod value;
mod verdict;

pub use event::*;
pub use feed::{Feed, Finish};
pub use fields::Fields;
pub use json::Malformed;
pub use limits::Limits;
pub use outcome::*;
pub use parser::Parser;
pub use payload::{Args, Json};
pub use tell::Stats;
pub use value::lenient_value;

#[cfg(test)]
mod tests;
