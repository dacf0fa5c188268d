//! A cassette on disk: its format, its canonical form, and the checks on reading one.

mod format;
mod store;

pub use format::{
    Cli, Counts, Exit, FORMAT, Manifest, Origin, Take, Tick, TickKind, parse_timeline,
    render_timeline,
};
pub use store::{Cassette, STDOUT, TapeError};
