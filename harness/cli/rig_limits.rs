//! The limits on what gateways, agents and bots send, for the commands that start one or serve one.

use clitape_gateway::ByteSize;
use clitape_rig::limits::{KEPT, RigLimits, SubjectLimits};
use clitape_runner::limits::OutputLimits;

/// The limits where the command line names no others.
const SUBJECT: SubjectLimits = SubjectLimits::DEFAULT;

/// The limit on what other programs make a run keep.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct KeptLimit {
    /// Bytes of memory that what other programs send may take, calls that are under way included
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = KEPT)]
    pub(crate) max_kept: ByteSize,
}

/// The limits on the output of a subject or an agent.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct SubjectOutput {
    /// Bytes that a subject or an agent may print on stdout, and as many on stderr
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = SUBJECT.output.bytes)]
    max_output: ByteSize,
    /// Bytes that a line of it may have
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = SUBJECT.output.line)]
    max_line: ByteSize,
    /// Lines that it may print, and reads in which they may come
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = SUBJECT.output.lines,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_lines: u64,
}

/// The limits on a subject or an agent, its output aside.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct SubjectUse {
    #[command(flatten)]
    kept: KeptLimit,
    /// Bytes of memory that a subject or an agent may use, with all that it started
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = SUBJECT.memory)]
    max_memory: ByteSize,
    /// Messages that an agent may send in one session
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = SUBJECT.messages as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_agent_messages: u64,
}

/// The limit on the calls of a gateway.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct SubjectCalls {
    /// Calls of a gateway in one chat
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = SUBJECT.calls as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_calls: u64,
}

/// The limits of a run of a subject.
#[derive(clap::Args)]
pub(crate) struct RigLimitArgs {
    #[command(flatten)]
    output: SubjectOutput,
    #[command(flatten)]
    used: SubjectUse,
    #[command(flatten)]
    calls: SubjectCalls,
}

impl SubjectOutput {
    /// The limits as values.
    pub(crate) fn limits(&self) -> OutputLimits {
        OutputLimits { bytes: self.max_output, line: self.max_line, lines: self.max_lines }
    }
}

impl SubjectUse {
    /// The limit on what is kept.
    pub(crate) fn kept(&self) -> ByteSize {
        self.kept.max_kept
    }

    /// The limits as values, with those of the output.
    pub(crate) fn limits(&self, output: OutputLimits) -> RigLimits {
        let subject = SubjectLimits {
            output,
            memory: self.max_memory,
            messages: count(self.max_agent_messages),
            ..SUBJECT
        };
        RigLimits { kept: self.kept.max_kept, subject }
    }
}

impl SubjectCalls {
    /// The same limits with that of the calls.
    pub(crate) fn of(&self, limits: RigLimits) -> RigLimits {
        let subject = SubjectLimits { calls: count(self.max_calls), ..limits.subject };
        RigLimits { subject, ..limits }
    }
}

impl RigLimitArgs {
    /// The limits as values.
    pub(crate) fn limits(&self) -> RigLimits {
        self.calls.of(self.used.limits(self.output.limits()))
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
