//! The pipe to the stdin of another program. A separate thread writes, because a program that does not read blocks its
//! writer: so no caller waits for one, and the caller's time limits apply.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::threads::{NoMoreThreads, start};

/// A piece to be written; it is dropped once the program has taken it.
type StdinPiece = Box<dyn AsRef<[u8]> + Send>;

/// The open stdin of a program.
pub struct StdinPipe {
    writer: Option<Sender<StdinPiece>>,
    queue: Arc<WriteQueue>,
}

/// The bytes between the callers and the thread that writes.
#[derive(Debug)]
struct WriteQueue {
    bytes: AtomicU64,
    /// The time at which the program last took some of them, or the first of them came.
    progress: Mutex<Instant>,
    /// True if the program no longer reads.
    is_closed: AtomicBool,
}

/// The error of a closed stdin: the program has ended or closed it, or it was closed for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it reads no more")]
pub struct StdinClosed;

/// The bytes that wait for a program to read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    /// The number of bytes, without those in the system's pipe.
    pub bytes: u64,
    /// The time since the program last took some of them.
    pub stuck: Duration,
}

impl StdinPipe {
    /// Starts the thread that writes to a pipe.
    ///
    /// # Errors
    ///
    /// [`NoMoreThreads`].
    pub fn new(pipe: impl Write + Send + 'static) -> Result<Self, NoMoreThreads> {
        let (writer, pieces) = channel();
        let queue = Arc::new(WriteQueue {
            bytes: AtomicU64::new(0),
            progress: Mutex::new(Instant::now()),
            is_closed: AtomicBool::new(false),
        });
        let own = queue.clone();
        start("stdin", move || own.write(pipe, &pieces))?;
        Ok(Self { writer: Some(writer), queue })
    }

    /// Writes bytes as soon as the program takes them, after those that were written before. Until then they are stored
    /// without a limit: a caller must count those that another program causes.
    ///
    /// # Errors
    ///
    /// [`StdinClosed`] if the program no longer reads.
    pub fn write(&self, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<(), StdinClosed> {
        let length = bytes.as_ref().len() as u64;
        if self.queue.bytes.fetch_add(length, Ordering::SeqCst) == 0 {
            self.queue.note_progress();
        }
        let sent = self.writer.as_ref().map(|writer| writer.send(Box::new(bytes)));
        if let Some(Ok(())) = sent {
            return Ok(());
        }
        self.queue.bytes.fetch_sub(length, Ordering::SeqCst);
        Err(StdinClosed)
    }

    /// Closes stdin once the program has taken everything.
    pub fn close(&mut self) {
        self.writer = None;
    }

    /// Returns the bytes that wait for the program to read them; `None` if it has taken all.
    pub fn unread(&self) -> Option<Unread> {
        let bytes = self.queue.bytes.load(Ordering::SeqCst);
        // Setting a time does not panic.
        let progress = *self.queue.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unread = bytes > 0 && !self.queue.is_closed.load(Ordering::SeqCst);
        is_unread.then(|| Unread { bytes, stuck: progress.elapsed() })
    }
}

impl fmt::Debug for StdinPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdinPipe").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl WriteQueue {
    /// Writes the pieces until the last sender is dropped or the program no longer reads.
    fn write(&self, mut pipe: impl Write, pieces: &Receiver<StdinPiece>) {
        for piece in pieces {
            let mut rest = (*piece).as_ref();
            while !rest.is_empty() {
                match pipe.write(rest) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => return self.is_closed.store(true, Ordering::SeqCst),
                    Ok(length) => {
                        rest = &rest[length..];
                        self.note_progress();
                        self.bytes.fetch_sub(length as u64, Ordering::SeqCst);
                    }
                }
            }
        }
    }

    fn note_progress(&self) {
        // Setting a time does not panic.
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until a program has taken everything, or the rest stays the same for a moment; returns the rest.
    fn settle(pipe: &StdinPipe) -> Option<u64> {
        let begin = Instant::now();
        while let Some(unread) = pipe.unread() {
            if unread.stuck > Duration::from_millis(300) {
                return Some(unread.bytes);
            }
            assert!(begin.elapsed() < LONG, "{unread:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    #[test]
    fn a_program_that_does_not_read_blocks_no_writer() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut pipe = StdinPipe::new(writer).unwrap();
        assert_eq!(pipe.write(vec![b'x'; 200 << 10]), Ok(()));
        // The system's pipe has a part of it, whose size depends on the system.
        let waiting = settle(&pipe).expect("the pipe is full");
        assert_eq!(pipe.write(vec![b'x'; 100 << 10]), Ok(()));
        assert_eq!(settle(&pipe), Some(waiting + (100 << 10)));
        pipe.close();
        assert_eq!(pipe.write("more"), Err(StdinClosed));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), 300 << 10);
    }

    #[test]
    fn a_program_that_has_ended_takes_no_more() {
        let (reader, writer) = io::pipe().unwrap();
        let pipe = StdinPipe::new(writer).unwrap();
        drop(reader);
        let begin = Instant::now();
        while pipe.write("x") != Err(StdinClosed) {
            assert!(begin.elapsed() < LONG);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(settle(&pipe), None);
    }
}
