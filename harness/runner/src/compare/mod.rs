//! Before and after: two sides on the same cassettes, lane beside lane.
//!
//! In order: the command line names two sides ([`SideName`]); what they are compared on is selected
//! ([`select`]); each side becomes a subject ([`resolve`]), for which `build` builds a revision of the
//! project and `call` calls a program; both are asked for every trace ([`gather`]); `rows` lays what
//! differs side by side; `uncovered` says what was not covered. What came of it is a [`Comparison`].
//! Programs are called in real time, outside every replay.

mod build;
mod call;
mod error;
mod gather;
mod model;
mod rows;
mod select;
mod side;
mod subject;
mod uncovered;

pub use build::BuildProgress;
pub use error::CompareError;
pub use gather::gather;
#[cfg(test)]
pub(crate) use gather::last;
pub use model::{
    About, Cell, Chats, Compared, Comparison, ComparisonCounts, DiffRow, Failed, LaneDiff,
};
pub use select::{Selection, select};
pub use side::SideName;
pub use subject::{CompareFolders, Subject, resolve};
