//! A cassette on disk: its format, its canonical form, and the checks on reading one.

pub mod canon;
mod format;
mod hash;
mod import;
mod parts;
mod seal;
mod store;
mod take;
mod timeline;
mod write;

pub use format::LINE_PACE_MS;
pub use format::{
    Cli, Confinement, FORMAT, Manifest, Origin, RecordCounts, RunFacts, Tick, TickKind,
    line_by_line, parse_timeline, render_timeline,
};
pub use hash::{hex, sha256, sha256_of_file};
pub use import::{CapturedWrite, ImportError, import, parse_stdin_capture, reduced};
pub use seal::sealed;
pub use store::{Cassette, CassetteError};
pub use timeline::{moved, timeline};
pub use write::{abandoned, remove};

pub use crate::scenario::{Exit, Resume};
pub use take::{FurtherRun, Take};
