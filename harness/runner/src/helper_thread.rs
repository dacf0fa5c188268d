//! A thread that works for a command in the background, and whose death the command learns of.
//!
//! No caller waits for the end of a server or a reader on a thread of its own. When it panics, the command would wait for
//! ever for the thread's next act. Its owner asks [`HelperThread::check`] wherever it waits.

use std::io;
use std::thread::{Builder, JoinHandle};

/// A thread that goes on until its owner ends its work and drops this.
#[derive(Debug)]
pub struct HelperThread {
    name: &'static str,
    thread: Option<JoinHandle<()>>,
}

/// A thread has ended although its owner still needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "clitape's own thread `{name}` has ended, so that the command can't go on; this is a bug of clitape: please report \
     it with the lines above"
)]
pub struct ThreadDied {
    /// The name of the thread.
    pub name: &'static str,
}

impl HelperThread {
    /// Starts a thread.
    ///
    /// # Errors
    ///
    /// The system allows no more threads.
    pub fn start(name: &'static str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let thread = Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self { name, thread: Some(thread) })
    }

    /// Checks that the thread still works.
    ///
    /// # Errors
    ///
    /// [`ThreadDied`] if it has ended by itself, which only a panic does.
    pub fn check(&self) -> Result<(), ThreadDied> {
        match self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            true => Ok(()),
            false => Err(ThreadDied { name: self.name }),
        }
    }
}

/// Waits for the end of the thread, whose work its owner has ended before.
impl Drop for HelperThread {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic was printed when it happened, and `check` has reported it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_thread_that_panics_is_reported_and_one_that_works_is_not() {
        let (end, ended) = channel::<()>();
        let works = HelperThread::start("works", move || ended.iter().for_each(drop)).unwrap();
        let dies = HelperThread::start("dies", || panic!("out of order")).unwrap();
        let begin = Instant::now();
        while dies.check().is_ok() {
            assert!(begin.elapsed() < Duration::from_secs(60), "its end is not seen");
            std::thread::yield_now();
        }
        assert!(dies.check().unwrap_err().to_string().contains("thread `dies` has ended"));
        assert_eq!(works.check(), Ok(()));
        drop(end);
        drop(works);
    }
}
