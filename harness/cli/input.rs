//! What commands read: a file or standard input, and the limits that several of them have: how much is read of a file,
//! a recording or a capture, and how many plans are replayed.

use std::path::Path;

use clitape_gateway::ByteSize;
use clitape_runner::files;
use clitape_runner::input::set_most;
use clitape_runner::limits::{CAPTURE, CHANNELS, PIECES, PLANS, ReplayLimits};

/// The name of standard input and of standard output, wherever a command takes the path of a file.
pub(crate) const STANDARD: &str = "-";

/// Whether a path names standard input or standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// The path to read what is named by `path`: `-` is standard input.
pub(crate) fn named(path: &Path) -> &Path {
    if is_standard(path) { Path::new("/dev/stdin") } else { path }
}

/// The limits that every command has on what it reads.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct InputLimits {
    /// Size of the largest file that is read: of a workspace, a capture, a report
    #[arg(long, global = true, value_name = "SIZE", default_value_t = files::LARGEST)]
    max_file: ByteSize,
    /// Bytes that a recording or a capture may have; a replay takes up to twenty times as much memory
    #[arg(long, global = true, value_name = "SIZE", default_value_t = CAPTURE)]
    max_input: ByteSize,
    /// Lines that a recording or a capture may have, and pieces into which a plan may cut it
    #[arg(long, global = true, value_name = "N", default_value_t = PIECES,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_pieces: u64,
}

impl InputLimits {
    /// Applies the limits to the whole process.
    pub(crate) fn set(&self) {
        files::set_largest(self.max_file);
        set_most(self.max_input, self.max_pieces);
    }
}

/// The limits on plans and channels, for the commands that replay them.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct WorkLimits {
    /// Seeded plans that a scenario may ask for with `sweep.plans`
    #[arg(long, value_name = "N", default_value_t = PLANS,
        value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    max_plans: u64,
    /// Channels that a scenario may have
    #[arg(long, value_name = "N", default_value_t = CHANNELS,
        value_parser = clap::value_parser!(u64).range(..=1_000))]
    max_channels: u64,
}

impl WorkLimits {
    /// The limits as values.
    pub(crate) fn limits(&self) -> ReplayLimits {
        ReplayLimits { plans: self.max_plans, channels: self.max_channels }
    }
}
