//! Every limit on what scenarios, captures and programs bring, with its default.
//!
//! `docs/limits.md` lists them with what happens at each; `tests/commands/limits.rs` compares the page with
//! these values. The ranges of the keys of a scenario are in `scenario/bounds.rs`: they are part of the
//! format, as the ranges of a plan and of its faults are below.

use std::time::Duration;

use clitape_gateway::ByteSize;

/// The limits on the output of one program. A program that exceeds one is ended, and the rest is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes of its stdout, and as many of its stderr.
    pub bytes: ByteSize,
    /// Bytes of a line.
    pub line: ByteSize,
    /// Lines of each of the two, and reads in which they come.
    pub lines: u64,
}

impl OutputLimits {
    /// The limits of a CLI that is recorded.
    pub const RECORDED: Self =
        Self { bytes: ByteSize::mib(64), line: ByteSize::mib(32), lines: 500_000 };
    /// The limits of a program that `clitape compare` calls.
    pub const COMPARED: Self =
        Self { bytes: ByteSize::mib(32), line: ByteSize::mib(16), lines: 500_000 };

    /// The limits of a program whose bytes alone are counted: a line may be as long as they allow, and as
    /// many lines.
    pub const fn within(bytes: ByteSize) -> Self {
        Self { bytes, line: bytes, lines: bytes.get() }
    }
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self::RECORDED
    }
}

/// How long a CLI may take for one run that is recorded, whatever its scenario allows.
pub const RECORDED_TIME: Duration = Duration::from_secs(86_400);
/// How long `claude --version` may take.
pub const VERSION_TIME: Duration = Duration::from_secs(30);
/// Bytes that `claude --version` may print on stdout, and as many on stderr.
pub const VERSION_OUTPUT: ByteSize = ByteSize::mib(1);
/// How long npm may take to install a CLI.
pub const INSTALL_TIME: Duration = Duration::from_secs(900);
/// Bytes that npm may print on stdout while it installs a CLI, and as many on stderr.
pub const INSTALL_OUTPUT: ByteSize = ByteSize::mib(1);
/// The time that a program of `clitape compare` may take for one replay.
pub const COMPARED_TIME: Duration = Duration::from_secs(60);

/// Bytes of memory that all other programs of a command can make clitape keep.
pub const KEPT: ByteSize = ByteSize::mib(256);

/// The limits of one replay of a program of `clitape compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// The time that it may take.
    pub time: Duration,
    /// What it may print.
    pub output: OutputLimits,
    /// Bytes of memory that what all programs print may take at a time; the command names them.
    pub kept: ByteSize,
}

impl CallLimits {
    /// The limits where no others are named.
    pub const DEFAULT: Self =
        Self { time: COMPARED_TIME, output: OutputLimits::COMPARED, kept: KEPT };
}

/// How long a check of `clitape test` may go on without the end of a replay, before it counts as one that hangs. A
/// replay takes milliseconds, so that a slow machine does not reach it, and neither do many plans.
pub const CHECK_TIME: Duration = Duration::from_secs(120);

/// Bytes of a recording or a capture that is replayed; every file that is read has the limit
/// [`crate::files::LARGEST`] as well.
pub const CAPTURE: ByteSize = ByteSize::mib(64);
/// Lines of what is replayed, and pieces that a plan cuts it into, with the lines of the host.
pub const PIECES: u64 = 500_000;
/// Seeded plans that a scenario may ask for.
pub const PLANS: u64 = 10_000;
/// Channels that a scenario may have.
pub const CHANNELS: u64 = 50;

/// How much work a scenario may ask of a command that replays it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayLimits {
    /// The most seeded plans.
    pub plans: u64,
    /// The most channels.
    pub channels: u64,
}

impl Default for ReplayLimits {
    fn default() -> Self {
        Self { plans: PLANS, channels: CHANNELS }
    }
}

/// Bytes that the files of a scenario's workspace may have together.
pub const WORKSPACE_BYTES: ByteSize = ByteSize::mib(256);
/// Files, folders and links that a scenario's workspace may have.
pub const WORKSPACE_FILES: usize = 100_000;
/// Lines that all `{{lines:N}}` of a `model.toml` may ask for, about 6.5 MB of text.
pub const MODEL_LINES: usize = 100_000;
/// Bytes of a request to the scripted model, as many as the API takes.
pub const MODEL_REQUEST: ByteSize = ByteSize::mib(32);

/// The longest pause before a piece of a plan, and before a line of the host, in ms.
pub const PAUSE_MS: u64 = 86_400_000;
/// Faults of a plan.
pub const FAULTS: usize = 1_000;
/// Seconds that a fault `rate-limit` may ask to wait.
pub const FAULT_WAIT_S: u64 = 86_400;
/// Milliseconds that a fault `slow` may take.
pub const FAULT_SLOW_MS: u64 = 3_600_000;
