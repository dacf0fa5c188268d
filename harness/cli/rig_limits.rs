//! The limits on what gateways, agents and bots send, for the commands that start one or serve one.

use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_recording::limits::OutputLimits;
use clitape_rig::limits::{ChatServerLimits, KEPT, RigLimits, SubjectLimits};

/// The limits of a subject where the command line names no others.
const SUBJECT: SubjectLimits = SubjectLimits::DEFAULT;
/// The limits of a chat server where the command line names no others.
const CHAT: ChatServerLimits = ChatServerLimits::DEFAULT;

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
struct SubjectCalls {
    /// Calls of a gateway in one chat
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = SUBJECT.calls as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_calls: u64,
}

/// The limits of a chat server.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct ChatLimitArgs {
    /// Connections that the chat server has at a time
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = CHAT.connections as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_connections: u64,
    /// Seconds until the head of the first request of a connection has come
    #[arg(long, global = true, hide_short_help = true, value_name = "S", default_value_t = CHAT.head_time.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    head_timeout: u64,
    /// Seconds that an open connection may wait for its next request
    #[arg(long, global = true, hide_short_help = true, value_name = "S", default_value_t = CHAT.idle_time.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    idle_timeout: u64,
    /// Bytes that the head of a request may have; 8KiB at least
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = CHAT.head)]
    max_head: ByteSize,
    /// Bytes that a call may have, its files included
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = CHAT.request)]
    max_request: ByteSize,
    /// Chats of the chat server
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = CHAT.chats as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_chats: u64,
    /// Messages of a chat
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = CHAT.messages as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_messages: u64,
    /// Calls and acts of the person that are kept of a chat, and calls of no chat
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = CHAT.entries as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_entries: u64,
    /// Updates that wait for the bot
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = CHAT.updates as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_updates: u64,
    /// Scopes and languages for which the bot sets commands
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = CHAT.scopes as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_scopes: u64,
    /// Bytes of all files that the bot sends
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = CHAT.files)]
    max_files: ByteSize,
    /// Lines of the chat server's log
    #[arg(long, global = true, hide_short_help = true, value_name = "N", default_value_t = CHAT.log as u64,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_log: u64,
    /// Seconds that the bot's webhook may take to answer
    #[arg(long, global = true, hide_short_help = true, value_name = "S", default_value_t = CHAT.webhook_time.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    webhook_timeout: u64,
    /// Bytes that an answer of the webhook may have
    #[arg(long, global = true, hide_short_help = true, value_name = "SIZE", default_value_t = CHAT.webhook_answer)]
    max_webhook_answer: ByteSize,
}

/// The limits of a run of a subject.
#[derive(clap::Args)]
pub(crate) struct RigLimitArgs {
    #[command(flatten)]
    output: SubjectOutput,
    #[command(flatten)]
    others: RunLimitArgs,
}

/// The limits of a run of a subject, its output aside.
#[derive(clap::Args)]
pub(crate) struct RunLimitArgs {
    #[command(flatten)]
    used: SubjectUse,
    #[command(flatten)]
    calls: SubjectCalls,
    #[command(flatten)]
    chat: ChatLimitArgs,
}

impl SubjectOutput {
    /// Returns the limits as values.
    pub(crate) fn limits(&self) -> OutputLimits {
        OutputLimits { bytes: self.max_output, line: self.max_line, lines: self.max_lines }
    }
}

impl SubjectUse {
    /// Returns the limits as values, together with those of the output.
    pub(crate) fn limits(&self, output: OutputLimits) -> RigLimits {
        let subject = SubjectLimits {
            output,
            memory: self.max_memory,
            messages: count(self.max_agent_messages),
            ..SUBJECT
        };
        RigLimits { kept: self.kept.max_kept, subject, ..RigLimits::default() }
    }
}

impl ChatLimitArgs {
    /// Returns the limits as values.
    pub(crate) fn limits(&self) -> ChatServerLimits {
        ChatServerLimits {
            connections: count(self.max_connections),
            head_time: Duration::from_secs(self.head_timeout),
            idle_time: Duration::from_secs(self.idle_timeout),
            head: self.max_head,
            request: self.max_request,
            act: CHAT.act,
            chats: count(self.max_chats),
            messages: count(self.max_messages),
            entries: count(self.max_entries),
            updates: count(self.max_updates),
            scopes: count(self.max_scopes),
            files: self.max_files,
            log: count(self.max_log),
            webhook_time: Duration::from_secs(self.webhook_timeout),
            webhook_answer: self.max_webhook_answer,
        }
    }
}

impl RunLimitArgs {
    /// Returns the limit on the memory for what others send.
    pub(crate) fn kept(&self) -> ByteSize {
        self.used.kept.max_kept
    }

    /// Returns the limits as values, together with those of the output.
    pub(crate) fn limits(&self, output: OutputLimits) -> RigLimits {
        let limits = self.used.limits(output);
        let subject = SubjectLimits { calls: count(self.calls.max_calls), ..limits.subject };
        RigLimits { subject, chat: self.chat.limits(), ..limits }
    }
}

impl RigLimitArgs {
    /// Returns the limits as values.
    pub(crate) fn limits(&self) -> RigLimits {
        self.others.limits(self.output.limits())
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
