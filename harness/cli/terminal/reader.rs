//! Standard output whose reader may go away, as `head` does: the command continues without it, and ends with the same
//! exit code and files.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// True once the reader of standard output has gone away.
static IS_GONE: AtomicBool = AtomicBool::new(false);

/// Returns whether the reader of standard output has gone away, so that the output can end.
pub(crate) fn reader_is_gone() -> bool {
    IS_GONE.load(Ordering::Relaxed)
}

/// A writer that passes bytes to standard output until its reader goes away, and drops them from then on.
pub(super) struct UntilGone<W>(pub(super) W);

/// Turns the error of a closed pipe into success.
fn unless_gone<T>(result: io::Result<T>, instead: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            IS_GONE.store(true, Ordering::Relaxed);
            Ok(instead)
        }
        result => result,
    }
}

impl<W: Write> Write for UntilGone<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match reader_is_gone() {
            true => Ok(bytes.len()),
            false => unless_gone(self.0.write(bytes), bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match reader_is_gone() {
            true => Ok(()),
            false => unless_gone(self.0.flush(), ()),
        }
    }
}
