//! The trace: one ordered list of entries, the schema every part of the harness speaks.
//!
//! `schemas/trace.json` states it. One JSON object a line, keys in the order `at`, `lane`, `kind`,
//! `data`.

mod entries;
mod entry;
mod headline;

pub use entries::Entries;
pub use entry::{Entry, Lane, entry_bytes, millis, object, sort_by_turn};
pub use headline::shortened;
