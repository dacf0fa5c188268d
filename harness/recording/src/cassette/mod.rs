//! A cassette on disk: its format, its canonical form, and the checks on reading one.

pub mod canon;
mod format;
mod import;
mod line;
mod log;
mod store;

pub use canon::{moved, timeline};
pub use format::{
    Cli, Confinement, FORMAT, LINE_PACE_MS, Manifest, Origin, RecordCounts, RunFacts, Tick,
    TickKind, line_by_line, parse_timeline, render_timeline,
};
pub use import::{
    CaptureFacts, CapturedSession, CapturedWrite, ImportError, import, parse_stdin_capture,
    reduced, select_lines,
};
pub use line::RecordPart;
pub use log::{LoggedRecords, from_folded, from_log};
pub use store::{
    Cassette, CassetteError, FurtherRun, Take, abandoned, hex, name, remove, sealed, sha256,
    sha256_of_file,
};

pub use crate::scenario::{Exit, Resume};
