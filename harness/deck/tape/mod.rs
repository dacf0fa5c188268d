//! A cassette on disk: its format, its canonical form, and the checks on reading one.

pub mod canon;
mod format;
mod further;
mod import;
mod store;

pub(crate) use format::today;
pub use format::{
    Cli, Counts, Exit, FORMAT, Manifest, Origin, Take, Tick, TickKind, line_by_line,
    parse_timeline, render_timeline,
};
pub(crate) use further::file_of_run;
pub use further::{FurtherRun, Resume, RunFacts};
pub use import::{ImportError, import};
pub use store::{Cassette, TapeError};
pub(crate) use store::{raw_of_run, sha256, sha256_of_file};
