//! How much of a recording, or of a capture that is read as a whole, is taken: the replay of one keeps its whole trace in
//! memory, and a few bytes of input, such as a blank line, take a thousand there.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clitape_gateway::ByteSize;

use crate::limits::{CAPTURE, PIECES};

static BYTES: AtomicU64 = AtomicU64::new(CAPTURE.get());
static MOST_PIECES: AtomicU64 = AtomicU64::new(PIECES);

/// The part of an input that exceeds a limit.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Its bytes.
    #[error(
        "{path} has {bytes} bytes, and {most} are the most that is taken; raise the limit with `--max-input`"
    )]
    Bytes {
        /// The file.
        path: PathBuf,
        /// How many it has.
        bytes: usize,
        /// The limit.
        most: ByteSize,
    },
    /// Its lines, or the pieces that a plan cuts it into, with the lines of the host.
    #[error(
        "{path} has {count} {what}, and {most} are the most that is taken; raise the limit with `--max-pieces`"
    )]
    Pieces {
        /// The file.
        path: PathBuf,
        /// `lines` or `pieces`.
        what: &'static str,
        /// How many it has.
        count: u64,
        /// The limit.
        most: u64,
    },
}

/// Sets how many bytes an input may have, and how many lines and pieces.
pub fn set_most(bytes: ByteSize, pieces: u64) {
    BYTES.store(bytes.get(), Ordering::Relaxed);
    MOST_PIECES.store(pieces, Ordering::Relaxed);
}

/// Checks the bytes of the file at `path`, and the number of their lines.
///
/// # Errors
///
/// [`InputError`] when they are too many.
pub fn check(path: &Path, bytes: &[u8]) -> Result<(), InputError> {
    let most = ByteSize::bytes(BYTES.load(Ordering::Relaxed));
    if most.is_below(bytes.len()) {
        return Err(InputError::Bytes { path: path.to_owned(), bytes: bytes.len(), most });
    }
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    check_count(path, "lines", lines as u64)
}

/// Checks the number of the pieces that a plan cuts the file at `path` into, with the host's lines, which cut
/// pieces too.
///
/// # Errors
///
/// [`InputError`] when they are too many.
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
