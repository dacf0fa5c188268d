//! Writes a proof: the real run, its results, and what was not tested.

mod check;
mod chromium;
mod picture;
mod text;

pub use check::{Checked, ProofField, ProofStatus, check, check_against};
pub use chromium::{Browser, Chromium, Photo, PhotoError, photo};
pub use picture::{cast, picture};
#[cfg(test)]
pub(crate) use text::last_seen;
pub use text::{ProofRunReport, TestedSubject, seen_head, subject_text, text};
