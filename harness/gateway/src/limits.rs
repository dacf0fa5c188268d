//! Every limit on what other programs send to the gateway, with its default, and the sizes in which limits are written:
//! `64MiB`.
//!
//! `docs/limits.md` lists them with what happens at each; `tests/commands/limits.rs` compares the page with
//! these values.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The longest time that a channel may take for a run's final message, waits included.
pub const FINAL_MESSAGE: Duration = Duration::from_secs(300);
/// The number of waits in a row for the final message, because the chat's server answers 429.
pub const FINAL_MESSAGE_WAITS: u32 = 10;
/// The longest wait that is kept from a `retry_after`, whatever the server asks for.
pub const RETRY_AFTER: Duration = Duration::from_secs(86_400);
/// The longest time of one call of the Bot API, its answer included.
pub const BOT_API_CALL: Duration = Duration::from_secs(15);
/// Bytes of one answer of the Bot API.
pub const BOT_API_ANSWER: ByteSize = ByteSize::mib(1);

/// The limits on waits for a chat's server. Each field is an option of `clitape replay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatLimits {
    /// The longest time of one call, its answer included; `--api-timeout`.
    pub call: Duration,
    /// The longest time of a run's final message, its waits included; `--api-wait`.
    pub final_message: Duration,
    /// The number of waits in a row for the final message; `--api-waits`.
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

/// The time after which a person is reminded of a question that waits for an answer.
pub const QUESTION_REMINDED: Duration = Duration::from_secs(60);
/// The time after which a question without an answer is denied.
pub const QUESTION_DENIED: Duration = Duration::from_secs(600);

/// Bytes of one event of a stream that is collected.
pub const STREAM_EVENT: ByteSize = ByteSize::mib(16);
/// Bytes of the streams that one collection reads.
pub const STREAM_BYTES: ByteSize = ByteSize::mib(64);
/// Bytes of an answer that is not a stream; a collection reads one for each message it sends.
pub const COLLECTED_ANSWER: ByteSize = ByteSize::mib(1);
/// Bytes of the answer and of the calls that one collection keeps.
pub const COLLECTED_BYTES: ByteSize = ByteSize::mib(16);
/// Calls that one collection keeps.
pub const COLLECTED_CALLS: usize = 10_000;
/// The number of times that one collection opens its stream again.
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
/// The longest time in which the host reports the outcome of a posted answer.
pub const POSTED_ANSWER_TIME: Duration = Duration::from_secs(5);
/// The longest time in which the head of a request reaches the event server.
pub const REQUEST_HEAD: Duration = Duration::from_secs(3);

/// A number of bytes. It reads and writes `512`, `64KiB`, `64MiB` and `2GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

/// The units, the largest first.
const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];

/// An error if a word is not a number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no size; write a number of bytes from 1 to 1024GiB, such as 512KiB, 64MiB or 2GiB"
)]
pub struct SizeError(String);

impl ByteSize {
    /// The largest size that is accepted.
    const MOST: u64 = 1 << 40;

    /// Makes a size of `n` bytes.
    pub const fn bytes(n: u64) -> Self {
        Self(n)
    }

    /// Makes a size of `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// Makes a size of `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns whether `n` bytes are more than this.
    pub fn is_below(self, n: usize) -> bool {
        u64::try_from(n).map_or(true, |n| n > self.0)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |&&(_, shift): &&(&str, u32)| self.0 > 0 && self.0.trailing_zeros() >= shift;
        match UNITS.iter().find(whole) {
            Some((unit, shift)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl FromStr for ByteSize {
    type Err = SizeError;

    fn from_str(word: &str) -> Result<Self, SizeError> {
        let unit = UNITS.iter().find_map(|(unit, shift)| Some((word.strip_suffix(unit)?, *shift)));
        let (digits, shift) = unit.unwrap_or((word.strip_suffix('B').unwrap_or(word), 0));
        let number = digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+'));
        let bytes = number.and_then(|n| n.checked_mul(1 << shift));
        let bytes = bytes.filter(|n| (1..=Self::MOST).contains(n));
        bytes.map(Self).ok_or_else(|| SizeError(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_reads_as_it_is_written() {
        for (size, word) in [
            (ByteSize::bytes(1), "1B"),
            (ByteSize::bytes(1_500), "1500B"),
            (ByteSize::kib(3), "3KiB"),
            (ByteSize::mib(64), "64MiB"),
            (ByteSize::mib(2_048), "2GiB"),
        ] {
            assert_eq!(size.to_string(), word);
            assert_eq!(word.parse(), Ok(size));
        }
        assert_eq!("4096".parse(), Ok(ByteSize::kib(4)));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for word in
            ["", "0", "-1", "+1", "1MB", "1.5MiB", "MiB", "1025GiB", "18446744073709551615GiB"]
        {
            let error = word.parse::<ByteSize>().unwrap_err().to_string();
            assert!(error.contains("from 1 to 1024GiB"), "{error}");
        }
    }
}
