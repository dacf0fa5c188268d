//! Every limit on scenarios, captures and programs, with its default, and the checks of an input.
//!
//! `docs/limits.md` lists them with their effects; `tests/commands/limits.rs` compares the page with these values. The
//! ranges of the keys of a scenario are in `scenario/bounds.rs`, because they are part of the format, like the ranges
//! of a plan and of its faults below.
//!
//! A replay keeps its whole trace in memory, where a few bytes of input, such as a blank line, take a thousand. JSON
//! takes up to a hundred times its length once it is parsed, as `[0,0]` does; [`parsed_bytes`] and [`json_bytes`]
//! compute the size.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clitape_gateway::ByteSize;
use serde_json::{Map, Value};

/// The limits on the output of one program. A program that exceeds one is ended, and the rest of its output is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// The bytes of its stdout, and as many of its stderr.
    pub bytes: ByteSize,
    /// The bytes of a line.
    pub line: ByteSize,
    /// The lines of each of the two, and the reads in which they come.
    pub lines: u64,
}

impl OutputLimits {
    /// The limits of a CLI that is recorded.
    pub const RECORDED: Self =
        Self { bytes: ByteSize::mib(64), line: ByteSize::mib(32), lines: 500_000 };
    /// The limits of a program that `clitape compare` calls.
    pub const COMPARED: Self =
        Self { bytes: ByteSize::mib(32), line: ByteSize::mib(16), lines: 500_000 };

    /// Returns the limits of a program whose bytes alone are counted: lines may be as long and as many as these allow.
    pub const fn within(bytes: ByteSize) -> Self {
        Self { bytes, line: bytes, lines: bytes.get() }
    }
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self::RECORDED
    }
}

/// The time that a CLI may take for one recorded run, whatever its scenario allows.
pub const RECORDED_TIME: Duration = Duration::from_secs(86_400);
/// The time that `claude --version` may take.
pub const VERSION_TIME: Duration = Duration::from_secs(30);
/// The bytes that `claude --version` may print on stdout, and as many on stderr.
pub const VERSION_OUTPUT: ByteSize = ByteSize::mib(1);
/// The time that npm may take to install a CLI.
pub const INSTALL_TIME: Duration = Duration::from_secs(900);
/// The bytes that npm may print on stdout while it installs a CLI, and as many on stderr.
pub const INSTALL_OUTPUT: ByteSize = ByteSize::mib(1);
/// The time that a program of `clitape compare` may take for one replay.
pub const COMPARED_TIME: Duration = Duration::from_secs(60);

/// The bytes of memory that the output of all other programs of a command may take.
pub const KEPT: ByteSize = ByteSize::mib(256);

/// The limits of one replay of a program of `clitape compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// The time that it may take.
    pub time: Duration,
    /// The limits on its output.
    pub output: OutputLimits,
    /// The bytes of memory that the output of all programs may take at a time, set by the command.
    pub kept: ByteSize,
}

impl CallLimits {
    /// The limits of a command without its own.
    pub const DEFAULT: Self =
        Self { time: COMPARED_TIME, output: OutputLimits::COMPARED, kept: KEPT };
}

/// The time for which a check of `clitape test` may run without the end of a replay before it counts as hanging. A
/// replay takes milliseconds, so that neither a slow machine nor many plans reach it.
pub const CHECK_TIME: Duration = Duration::from_secs(120);

/// The bytes of a recording or a capture that is replayed; every file that is read has the limit
/// [`crate::files::LARGEST`] as well.
pub const CAPTURE: ByteSize = ByteSize::mib(64);
/// The lines of a replayed input, and the pieces into which a plan cuts it, with the lines of the host.
pub const PIECES: u64 = 500_000;
/// The seeded plans that a scenario may ask for.
pub const PLANS: u64 = 10_000;
/// The channels that a scenario may have.
pub const CHANNELS: u64 = 50;

/// The limits on the work that a scenario may ask of a command that replays it.
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

/// The bytes that the files of a scenario's workspace may have together.
pub const WORKSPACE_BYTES: ByteSize = ByteSize::mib(256);
/// The files, folders and links that a scenario's workspace may have.
pub const WORKSPACE_FILES: usize = 100_000;
/// The lines that all `{{lines:N}}` of a `model.toml` may ask for, about 6.5 MB of text.
pub const MODEL_LINES: usize = 100_000;
/// The bytes of a request to the scripted model, as many as the API takes.
pub const MODEL_REQUEST: ByteSize = ByteSize::mib(32);

/// The longest pause before a piece of a plan, and before a line of the host, in ms.
pub const PAUSE_MS: u64 = 86_400_000;
/// The number of faults of a plan.
pub const FAULTS: usize = 1_000;
/// The seconds that a fault `rate-limit` may ask to wait.
pub const FAULT_WAIT_S: u64 = 86_400;
/// The milliseconds that a fault `slow` may take.
pub const FAULT_SLOW_MS: u64 = 3_600_000;

static MOST_BYTES: AtomicU64 = AtomicU64::new(CAPTURE.get());
static MOST_PIECES: AtomicU64 = AtomicU64::new(PIECES);

/// The part of an input that exceeds a limit.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The input has too many bytes.
    #[error(
        "{path} has {bytes} bytes, and {most} are the most that is taken; raise the limit with `--max-input`"
    )]
    Bytes {
        /// The file.
        path: PathBuf,
        /// The number of bytes.
        bytes: usize,
        /// The limit.
        most: ByteSize,
    },
    /// The input has too many lines, or a plan cuts it into too many pieces, with the lines of the host.
    #[error(
        "{path} has {count} {what}, and {most} are the most that is taken; raise the limit with `--max-pieces`"
    )]
    Pieces {
        /// The file.
        path: PathBuf,
        /// The counted parts, `lines` or `pieces`.
        what: &'static str,
        /// The number of these parts.
        count: u64,
        /// The limit.
        most: u64,
    },
}

/// Sets the largest number of bytes of an input, and of its lines and pieces.
pub fn set_most_input(bytes: ByteSize, pieces: u64) {
    MOST_BYTES.store(bytes.get(), Ordering::Relaxed);
    MOST_PIECES.store(pieces, Ordering::Relaxed);
}

/// Checks the bytes of the file at `path`, and the number of their lines.
///
/// # Errors
///
/// [`InputError`] if they are too many.
pub fn check_input(path: &Path, bytes: &[u8]) -> Result<(), InputError> {
    let most = ByteSize::bytes(MOST_BYTES.load(Ordering::Relaxed));
    if most.is_below(bytes.len()) {
        return Err(InputError::Bytes { path: path.to_owned(), bytes: bytes.len(), most });
    }
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    check_count(path, "lines", lines as u64)
}

/// Checks the number of the pieces into which a plan cuts the file at `path`, including the host's lines, which cut
/// pieces too.
///
/// # Errors
///
/// [`InputError`] if they are too many.
pub fn check_pieces(path: &Path, count: u64) -> Result<(), InputError> {
    check_count(path, "pieces", count)
}

fn check_count(path: &Path, what: &'static str, count: u64) -> Result<(), InputError> {
    let most = MOST_PIECES.load(Ordering::Relaxed);
    if count > most {
        return Err(InputError::Pieces { path: path.to_owned(), what, count, most });
    }
    Ok(())
}

/// Returns the bytes of memory that a JSON value takes.
pub fn json_bytes(value: &Value) -> usize {
    size_of::<Value>() + heap(value)
}

/// Returns the bytes of memory that the members of a JSON object take.
pub fn map_bytes(map: &Map<String, Value>) -> usize {
    // The table of an object has a power of two of slots and is seven eighths full at most.
    let slots = match map.len() {
        0 => return 0,
        1..=3 => 4,
        len => (len * 8 / 7 + 1).next_power_of_two(),
    };
    let members = map.len().max(slots * 7 / 8) * (MEMBER + size_of::<Value>());
    slots * SLOT
        + members
        + map.iter().map(|(key, value)| key.capacity() + heap(value)).sum::<usize>()
}

/// The bytes of an object's table, without its slots.
const TABLE: usize = 16;
/// The bytes of a slot of an object's table.
const SLOT: usize = 9;
/// The bytes of a member of an object, without its value.
const MEMBER: usize = 32;

/// Returns the bytes of a value besides its own place.
fn heap(value: &Value) -> usize {
    match value {
        Value::String(text) => text.capacity(),
        Value::Array(values) => {
            let empty = values.capacity().saturating_sub(values.len()) * size_of::<Value>();
            empty + values.iter().map(json_bytes).sum::<usize>()
        }
        Value::Object(map) => map_bytes(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns the most bytes of memory that a JSON text takes once it is parsed.
pub fn parsed_bytes(text: &[u8]) -> usize {
    // Lists and objects with one member have room for four; longer ones may be half empty.
    let member = SLOT + MEMBER + size_of::<Value>();
    let [list, object] = [4 * size_of::<Value>(), TABLE + 4 * member];
    let of = |byte: &u8| match byte {
        b'[' => list,
        b'{' => object,
        b',' => 2 * member,
        _ => 1,
    };
    size_of::<Value>() + text.iter().map(of).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compares the estimate for a text with the size of the parsed value; both are at least `least`.
    fn check(text: &str, least: usize) {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let (parsed, real) = (parsed_bytes(text.as_bytes()), json_bytes(&value));
        let text = &text[..text.len().min(40)];
        assert!(least <= real && real <= parsed, "{text}: {least} {real} {parsed}");
        assert!(parsed <= real * 8, "{text}: {real} {parsed}");
    }

    #[test]
    fn a_json_text_takes_no_more_memory_than_is_said() {
        let many = |part: &str| format!("[{}0]", part.repeat(10_000));
        for (part, least) in [
            ("0,", 720_000),
            ("[],", 720_000),
            ("[0],", 3_600_000),
            ("{\"a\":0},", 3_800_000),
            ("\"word\",", 760_000),
            ("{\"a\":0,\"b\":0,\"c\":0,\"d\":0},", 8_000_000),
            ("[[[[[[[[]]]]]]]],", 20_000_000),
        ] {
            check(&many(part), least);
        }
        let members: Vec<String> = (0..10_000).map(|number| format!("\"{number}\":0")).collect();
        check(&format!("{{{}}}", members.join(",")), 1_100_000);
        check(&json!("x".repeat(1_000)).to_string(), 1_000);
    }
}
