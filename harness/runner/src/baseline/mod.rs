//! The versions of the CLI whose recordings a workspace has.
//!
//! `[versions]` of `clitape.toml` names them. [`accept`] adds the recordings that [`crate::drift`] made with a new
//! version, [`leave`] removes the files that only one version needs, and [`held`] returns the size of each.

mod accept;
mod error;
mod held;
mod leave;

pub use accept::{Accepted, accept};
pub use error::BaselineError;
pub use held::{HeldVersion, VersionInventory, held};
pub use leave::{RemovalCounts, leave};
