//! Starts every thread of clitape, because the system may let no more start, as under a limit of processes in CI.
//!
//! No caller waits for the end of a server or a reader on a separate thread. If it panics, the command would wait for
//! ever for the thread's next act. The owner of such a [`HelperThread`] therefore calls [`HelperThread::check`]
//! wherever it waits.

use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::error::ProcessError;
pub use crate::error::{NoMoreThreads, ThreadDied};

/// The time for which the thread that looks up names is kept: longer than any command runs.
const FOR_EVER: Duration = Duration::from_secs(1_000_000_000);

/// Starts a thread. Its owner need not wait for it.
///
/// # Errors
///
/// [`NoMoreThreads`].
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, NoMoreThreads> {
    Builder::new().name(name.to_owned()).spawn(work).map_err(|_| NoMoreThreads)
}

/// Starts a thread of a scope.
///
/// # Errors
///
/// [`NoMoreThreads`].
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, NoMoreThreads> {
    Builder::new().spawn_scoped(scope, work).map_err(|_| NoMoreThreads)
}

/// Starts threads of a scope that do the same work, at most `count` and as many as the system lets start. The shared
/// work must be completed without them, too.
pub fn start_some<'scope, T: Send + 'scope, F: FnOnce() -> T + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    mut work: impl FnMut() -> F,
) -> Vec<ScopedJoinHandle<'scope, T>> {
    (0..count).map_while(|_| start_in(scope, work()).ok()).collect()
}

/// Makes a runtime with the one further thread that it needs, which looks up the addresses of servers. Tokio would
/// panic later if the system lets no more start.
///
/// # Errors
///
/// [`ProcessError`] if the system lets no more threads start, or has no more files.
pub fn client_runtime() -> Result<Runtime, ProcessError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime =
        builder.enable_all().max_blocking_threads(1).thread_keep_alive(FOR_EVER).build()?;
    // A first thread shows that another can start; a panic in it has been printed.
    let _ = start("lookup", || ())?.join();
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}

/// A thread that runs until its owner ends its work and drops this.
#[derive(Debug)]
pub struct HelperThread {
    name: &'static str,
    thread: Option<JoinHandle<()>>,
}

impl HelperThread {
    /// Starts a thread.
    ///
    /// # Errors
    ///
    /// [`NoMoreThreads`].
    pub fn start(
        name: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<Self, NoMoreThreads> {
        Ok(Self { name, thread: Some(start(name, work)?) })
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
