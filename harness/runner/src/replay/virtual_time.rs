//! Virtual time: a paused tokio runtime without any IO, in which a wait takes no time.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

thread_local! {
    /// Wakes the one who waits on this thread until nothing is due.
    static WAITING: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// Runs `work` to its end, in virtual time.
pub(super) fn in_virtual_time<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .on_thread_park(|| WAITING.take().into_iter().for_each(Waker::wake))
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(work),
        // A runtime without IO asks nothing of the system that could fail.
        Err(error) => unreachable!("no runtime in memory: {error}"),
    }
}

/// Waits within [`in_virtual_time`] until every task waits for a later moment, and settles before time goes on. The work
/// that is run there awaits it, and one at a time.
pub(super) async fn nothing_is_due() {
    let mut waits = false;
    poll_fn(|context| {
        WAITING.with_borrow_mut(|waiting| {
            if waits && waiting.is_none() {
                return Poll::Ready(());
            }
            waits = true;
            *waiting = Some(context.waker().clone());
            Poll::Pending
        })
    })
    .await;
}
