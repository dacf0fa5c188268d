//! How much of a recording or a capture is taken, for all commands that replay one.

use clitape_gateway::ByteSize;
use clitape_runner::input::set_most;
use clitape_runner::limits::{CAPTURE, PIECES};

/// How much is taken
#[derive(clap::Args)]
pub(crate) struct InputLimits {
    /// Bytes that a recording or a capture may have; a replay takes up to twenty times as much memory
    #[arg(long, global = true, value_name = "SIZE", default_value_t = CAPTURE)]
    max_input: ByteSize,
    /// Lines that it may have, and pieces that a plan may cut it into
    #[arg(long, global = true, value_name = "N", default_value_t = PIECES,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_pieces: u64,
}

impl InputLimits {
    /// Makes them count.
    pub(crate) fn set(&self) {
        set_most(self.max_input, self.max_pieces);
    }
}
