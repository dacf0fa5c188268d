//! Every limit on what other programs send to the gateway, with its default.
//!
//! `docs/limits.md` lists them with what happens at each; `tests/commands/limits.rs` compares the page with
//! these values.

use std::time::Duration;

use crate::size::ByteSize;

/// The longest time that a channel may take for a run's final message, waits included.
pub const FINAL_MESSAGE: Duration = Duration::from_secs(300);
/// How often in a row the final message waits because the chat's server answers 429.
pub const FINAL_MESSAGE_WAITS: u32 = 10;
/// The longest wait that is kept from a `retry_after`, whatever the server asks for.
pub const RETRY_AFTER: Duration = Duration::from_secs(86_400);
/// How long one call of the Bot API may take, its answer included.
pub const BOT_API_CALL: Duration = Duration::from_secs(15);
/// Bytes of one answer of the Bot API.
pub const BOT_API_ANSWER: ByteSize = ByteSize::mib(1);

/// How long a chat's server is waited for. Each field is an option of `clitape replay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatLimits {
    /// How long one call may take, its answer included; `--api-timeout`.
    pub call: Duration,
    /// How long the final message of a run may take, its waits included; `--api-wait`.
    pub final_message: Duration,
    /// How often in a row the final message waits; `--api-waits`.
    pub waits: u32,
    /// The longest wait that is kept from a `retry_after`; `--api-retry-after`.
    pub retry_after: Duration,
}

impl Default for ChatLimits {
    fn default() -> Self {
        Self {
            call: BOT_API_CALL,
            final_message: FINAL_MESSAGE,
            waits: FINAL_MESSAGE_WAITS,
            retry_after: RETRY_AFTER,
        }
    }
}

/// When a person is reminded of a question that waits for an answer.
pub const QUESTION_REMINDED: Duration = Duration::from_secs(60);
/// When a question that nobody answers is denied.
pub const QUESTION_DENIED: Duration = Duration::from_secs(600);

/// Bytes of one event of a stream that is collected.
pub const STREAM_EVENT: ByteSize = ByteSize::mib(16);
/// Bytes of the streams that one collection reads.
pub const STREAM_BYTES: ByteSize = ByteSize::mib(64);
/// Bytes of an answer that is no stream; a collection reads one for each message it sends.
pub const COLLECTED_ANSWER: ByteSize = ByteSize::mib(1);
/// Bytes of the answer and of the calls that one collection keeps.
pub const COLLECTED_BYTES: ByteSize = ByteSize::mib(16);
/// Calls that one collection keeps.
pub const COLLECTED_CALLS: usize = 10_000;
/// How often one collection opens its stream again.
pub const RECONNECTS: u32 = 100;
/// The shortest wait before a stream is opened again, whatever the server asks for.
pub const RECONNECT_FLOOR: Duration = Duration::from_millis(100);
/// The longest wait before a stream is opened again, whatever the server asks for.
pub const RECONNECT_CEILING: Duration = Duration::from_secs(30);

/// Connections that the event server has open at a time.
pub const CONNECTIONS: usize = 1_024;
/// Connections of the event server whose request has not come yet; one more replaces the oldest.
pub const CONNECTIONS_WAITING: usize = 128;
/// Bytes of an answer to a question that is posted to the event server.
pub const POSTED_ANSWER: ByteSize = ByteSize::kib(64);
/// How long the host may take to say what became of a posted answer.
pub const POSTED_ANSWER_TIME: Duration = Duration::from_secs(5);
/// How long the event server waits for the head of a request.
pub const REQUEST_HEAD: Duration = Duration::from_secs(3);
