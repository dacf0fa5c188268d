//! Every limit on the data that a gateway, an agent, a bot or a web page sends to clitape, with its default; and the
//! account of the memory that other programs make a run keep, with the memory that JSON and the entries of a trace
//! take.
//!
//! `docs/limits.md` lists the limits and the effect of each; `tests/commands/limits.rs` compares that page with these
//! values.

use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_recording::limits::OutputLimits;

pub use clitape_process::kept::{Full, Held, KeptBytes};
pub use clitape_recording::limits::{KEPT, json_bytes, map_bytes, parsed_bytes};
pub use clitape_recording::trace::entry_bytes;

/// The limits of a run of a gateway or an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RigLimits {
    /// Bytes of memory that other programs can make clitape keep, over all parts of a run; `--max-kept`.
    pub kept: ByteSize,
    /// The limits of the program under test.
    pub subject: SubjectLimits,
    /// The limits of the chat server.
    pub chat: ChatServerLimits,
}

impl Default for RigLimits {
    fn default() -> Self {
        Self { kept: KEPT, subject: SubjectLimits::DEFAULT, chat: ChatServerLimits::DEFAULT }
    }
}

/// The limits of a gateway, an agent or a parser. Each field is an option of the commands that start one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectLimits {
    /// The output of stdout and of stderr, each; `--max-output`, `--max-line` and `--max-lines`. The same limits of
    /// bytes apply to the file of its event bus and to the log of the stand-in.
    pub output: OutputLimits,
    /// The memory of the program and its descendants together; `--max-memory`.
    pub memory: ByteSize,
    /// Calls of a chat in one run, and acts of the person; `--max-calls`.
    pub calls: usize,
    /// Messages of an agent in one session, and acts of the person; `--max-agent-messages`.
    pub messages: usize,
}

impl SubjectLimits {
    /// The default limits of a run.
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

/// The time that the stand-in waits for a line of its host; `CLITAPE_WAIT_S`.
pub const HOST_WAIT: Duration = Duration::from_secs(30);
/// Bytes of one line that the host writes to the stand-in; `CLITAPE_MAX_LINE`.
pub const HOST_LINE: ByteSize = ByteSize::mib(32);

/// The limits of a chat server. Each field is an option of the commands that start one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatServerLimits {
    /// Connections at a time; `--max-connections`.
    pub connections: usize,
    /// The time until the head of a connection's first request is complete; `--head-timeout`.
    pub head_time: Duration,
    /// The time that an open connection may wait for its next request; `--idle-timeout`.
    pub idle_time: Duration,
    /// Bytes of the head of a request; `--max-head`.
    pub head: ByteSize,
    /// Bytes of a call, its files included; `--max-request`.
    pub request: ByteSize,
    /// Bytes of an act of the person by HTTP; `--max-act`.
    pub act: ByteSize,
    /// Chats that the server keeps at a time; `--max-chats`.
    pub chats: usize,
    /// Messages that the server keeps of a chat; `--max-messages`.
    pub messages: usize,
    /// Calls and acts that the server keeps of a chat, and calls that name no chat; `--max-entries`.
    pub entries: usize,
    /// Updates that wait for the bot to fetch them; `--max-updates`.
    pub updates: usize,
    /// Pairs of a scope and a language for which the bot has set commands; `--max-scopes`.
    pub scopes: usize,
    /// Bytes of all files that the bot has sent; `--max-files`.
    pub files: ByteSize,
    /// Lines that the log keeps; `--max-log`.
    pub log: usize,
    /// The time that the bot's webhook may take to answer; `--webhook-timeout`.
    pub webhook_time: Duration,
    /// Bytes of an answer of the webhook; `--max-webhook-answer`.
    pub webhook_answer: ByteSize,
}

impl ChatServerLimits {
    /// The default limits of a chat server.
    pub const DEFAULT: Self = Self {
        connections: 512,
        head_time: Duration::from_secs(3),
        idle_time: Duration::from_secs(300),
        head: ByteSize::kib(128),
        request: ByteSize::mib(20),
        act: ByteSize::kib(64),
        chats: 1_000,
        messages: 10_000,
        entries: 20_000,
        updates: 10_000,
        scopes: 1_000,
        files: ByteSize::mib(64),
        log: 20_000,
        webhook_time: Duration::from_secs(60),
        webhook_answer: ByteSize::mib(1),
    };
}

impl Default for ChatServerLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
