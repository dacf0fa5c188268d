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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use tokio::task::yield_now;
    use tokio::time::{Instant, sleep};

    use super::*;

    /// Another task gives way so often, and then waits a millisecond.
    fn check(times: u32) {
        in_virtual_time(async {
            let began = Instant::now();
            let count = Arc::new(AtomicU32::new(0));
            let counted = count.clone();
            let task = tokio::spawn(async move {
                for _ in 0..times {
                    yield_now().await;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                sleep(Duration::from_millis(1)).await;
                counted.fetch_add(1, Ordering::Relaxed);
            });
            let now = || (count.load(Ordering::Relaxed), began.elapsed());
            nothing_is_due().await;
            assert_eq!(now(), (times, Duration::ZERO));
            task.await.unwrap();
            assert_eq!(now(), (times + 1, Duration::from_millis(1)));
        });
    }

    #[test]
    fn nothing_is_due_once_every_task_waits() {
        [0, 1, 100].into_iter().for_each(check);
    }
}
