//! One writer of a folder at a time. A reader who finds an unfinished file knows by the lock that its writer has ended.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::error::FileError;

/// The time that a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(30);
/// The shortest and the longest pause before a writer looks again.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// Waits until no one else writes to `dir`; the lock ends when it is dropped or its process ends.
///
/// # Errors
///
/// [`FileError::Busy`] when another writer does not end, and [`FileError::Write`] when the folder can't be locked.
pub fn lock(dir: &Path) -> Result<Flock<File>, FileError> {
    let refused = |error: io::Error| FileError::Write { path: dir.to_owned(), error };
    let begin = Instant::now();
    let [mut pause, longest] = PAUSES;
    let mut file = File::open(dir).map_err(refused)?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((again, Errno::EWOULDBLOCK)) if begin.elapsed() < PATIENCE => {
                file = again;
                thread::sleep(pause);
                pause = longest.min(pause * 2);
            }
            Err((_, Errno::EWOULDBLOCK)) => return Err(FileError::Busy(dir.to_owned())),
            Err((_, error)) => return Err(refused(error.into())),
        }
    }
}

/// Keeps writers from `dir` for as long as the lock is kept; `None` while one writes there.
///
/// # Errors
///
/// When the folder can't be opened.
pub(super) fn without_writers(dir: &Path) -> io::Result<Option<Flock<File>>> {
    Ok(Flock::lock(File::open(dir)?, FlockArg::LockSharedNonblock).ok())
}
