//! Counts the replays that end on a thread, so that a watcher can tell a check that takes long from one that hangs.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// The count of the thread, if somebody watches it.
    static COUNT: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
}

/// Lets every replay that ends on this thread from now on add one to `count`.
pub(crate) fn count_replays(count: Arc<AtomicU64>) {
    COUNT.set(Some(count));
}

/// A replay has ended on this thread.
pub(crate) fn replay_ended() {
    COUNT.with_borrow(|count| {
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
}
