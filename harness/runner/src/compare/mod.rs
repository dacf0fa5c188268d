//! Compares two sides, such as a program before and after a change, on the same cassettes, lane by lane.
//!
//! The command line names two sides ([`SideName`]). [`select`] chooses the cassettes. [`resolve`] turns each
//! side into a subject, for which it may build a revision of the project. [`gather`] asks both subjects for every
//! trace, and lists what was not covered. The result is a [`Comparison`], which has the differences side by side.
//! Programs are called in real time, outside every replay.

mod gather;
mod model;
mod select;
mod subject;

pub(crate) use gather::compare_versions;
pub use gather::gather;
#[cfg(test)]
pub(crate) use gather::last;
pub use model::{
    Cell, Compared, Comparison, ComparisonCounts, DiffRow, Failed, FinalChats, LaneDiff,
    SideDescription,
};
pub use select::{CompareError, CompareSelection, SideName, select};
pub use subject::{CompareFolders, CompareSubject, resolve};
