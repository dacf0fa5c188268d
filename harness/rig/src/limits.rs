//! Every limit on what a gateway, an agent, a bot or a web page sends to clitape, with its default.
//!
//! `docs/limits.md` lists them with what happens at each; `tests/commands/limits.rs` compares the page with
//! these values.

use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_runner::limits::OutputLimits;

/// Bytes of memory that all other programs of a run can make clitape keep.
pub const KEPT: ByteSize = ByteSize::mib(256);

/// The limits of a run of a gateway or an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RigLimits {
    /// Bytes of memory that other programs can make clitape keep; `--max-kept`.
    pub kept: ByteSize,
    /// The limits of the program.
    pub subject: SubjectLimits,
}

impl Default for RigLimits {
    fn default() -> Self {
        Self { kept: KEPT, subject: SubjectLimits::DEFAULT }
    }
}

/// The limits of a gateway, an agent or a parser. Each field is an option of the commands that start one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectLimits {
    /// What it prints, on stdout and on stderr each; `--max-output`, `--max-line` and `--max-lines`. The file of its
    /// event bus and the log of the stand-in have the same limits of bytes.
    pub output: OutputLimits,
    /// The memory that it and its descendants may use; `--max-memory`.
    pub memory: ByteSize,
    /// Calls of a chat in one run, and acts of the person; `--max-calls`.
    pub calls: usize,
    /// Messages of an agent in one session, and acts of the person; `--max-agent-messages`.
    pub messages: usize,
}

impl SubjectLimits {
    /// The limits where no others are named.
    pub const DEFAULT: Self = Self {
        output: OutputLimits {
            bytes: ByteSize::mib(256),
            line: ByteSize::mib(32),
            lines: 5_000_000,
        },
        memory: ByteSize::mib(4096),
        calls: 5_000,
        messages: 100_000,
    };
}

/// How long the stand-in waits for a line of its host; `CLITAPE_WAIT_S`.
pub const HOST_WAIT: Duration = Duration::from_secs(30);
/// Bytes of a line of the host of the stand-in; `CLITAPE_MAX_LINE`.
pub const HOST_LINE: ByteSize = ByteSize::mib(32);
