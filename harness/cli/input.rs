//! The input of commands: a file or standard input, and the limits that several commands share: how much of a file, a
//! recording or a capture is read, how many plans are replayed, and for how long.

use std::path::Path;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_recording::files;
use clitape_recording::limits::{CAPTURE, CHANNELS, PIECES, PLANS, ReplayLimits, set_most_input};

/// The name of standard input and of standard output, wherever a command takes the path of a file.
pub(crate) const STANDARD: &str = "-";

/// Returns whether a path means standard input or standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Returns the path to read for `path`: that of standard input for `-`.
pub(crate) fn named(path: &Path) -> &Path {
    if is_standard(path) { Path::new("/dev/stdin") } else { path }
}

/// The option of the commands that work on all cores.
#[derive(clap::Args, Default)]
pub(crate) struct JobsArg {
    /// Take this many scenarios or cassettes at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", help_heading = "Run",
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    jobs: Option<u16>,
}

impl JobsArg {
    /// Returns the number that the command line names.
    pub(crate) fn get(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }
}

/// The limits that every command has on what it reads.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct InputLimits {
    /// Size of the largest file that is read: of a workspace, a capture, a report
    #[arg(long, global = true, value_name = "SIZE", default_value_t = files::LARGEST)]
    max_file: ByteSize,
    /// Bytes that a recording may have, and a capture that is read as a whole; a replay takes up to twenty times as much
    /// memory
    #[arg(long, global = true, value_name = "SIZE", default_value_t = CAPTURE)]
    max_input: ByteSize,
    /// Lines that such a recording or capture may have, and pieces into which a plan may cut it
    #[arg(long, global = true, value_name = "N", default_value_t = PIECES,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_pieces: u64,
}

impl InputLimits {
    /// Applies the limits to the whole process.
    pub(crate) fn set(&self) {
        files::set_largest(self.max_file);
        set_most_input(self.max_input, self.max_pieces);
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

/// A time as people write it: a number of seconds, or one with `ms`, `s`, `m` or `h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ms = match &text[digits.len()..] {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let time = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(ms));
    let time = time.filter(|ms| (1..=86_400_000).contains(ms)).map(Duration::from_millis);
    time.ok_or_else(|| "write a time such as 90s, 500ms or 5m, of a day at most".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, ms) in
            [("90s", 90_000), ("90", 90_000), ("500ms", 500), ("5m", 300_000), ("24h", 86_400_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in
            ["", "0", "0s", "s", "-1s", "1.5s", "5 m", "5d", "25h", "ümin", "18446744073709551615h"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
