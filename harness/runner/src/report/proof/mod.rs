//! Writes a proof: the real run, its results, and what was not tested.

mod cast;
mod check;
mod chromium;
mod evidence;
mod picture;
mod run_report;
mod text;

pub use cast::cast;
pub use check::{Checked, ProofField, ProofStatus, check, check_against};
pub use chromium::{Browser, Chromium, Photo, PhotoError, photo};
pub use picture::picture;
pub use run_report::ProofRunReport;
#[cfg(test)]
pub(crate) use text::last_seen;
pub use text::text;
