//! The versions of the CLI that a workspace keeps recordings of: how a new one comes in, how an old one leaves, and what
//! each takes on disk.
//!
//! `[versions]` of `clitape.toml` names them. [`accept`] adds what [`crate::drift`] recorded with a new version, [`leave`]
//! removes what only one version needs, and [`held`] tells the size of each.

mod accept;
mod error;
mod held;
mod leave;

pub use accept::{Accepted, accept};
pub use error::BaselineError;
pub use held::{HeldVersion, VersionInventory, held};
pub use leave::{RemovalCounts, leave};
