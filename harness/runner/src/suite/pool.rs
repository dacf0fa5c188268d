//! A pool of threads that hands on results in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// What happens while jobs run.
pub(crate) enum Progress<R> {
    /// This number of jobs has ended.
    Ended(usize),
    /// The result of the next item.
    Result(R),
}

/// Runs `job` on every item, on all cores. `take` gets each result in the order of the items, as soon as it and
/// those before it are there; after an error of `take` no further job begins.
pub(crate) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    job: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(Progress<R>) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, job) = (sender.clone(), &next, &job);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    // Nobody receives any more after an error.
                    if sender.send((index, job(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (ended, (index, result)) in (1..).zip(receiver) {
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                take(Progress::Result(result))?;
                due += 1;
            }
            take(Progress::Ended(ended))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..40).collect();
        let slow_first = |item: &u64| {
            thread::sleep(Duration::from_millis(if item.is_multiple_of(8) { 5 } else { 0 }));
            *item
        };
        let (mut results, mut ended) = (Vec::new(), 0);
        let taken = in_order(&items, slow_first, |progress| {
            match progress {
                Progress::Ended(count) => ended = count,
                Progress::Result(item) => results.push(item),
            }
            Ok::<(), ()>(())
        });
        assert_eq!((taken, results, ended), (Ok(()), items, 40));
    }

    #[test]
    fn an_error_ends_it() {
        let begun = AtomicUsize::new(0);
        let items = vec![(); 1_000];
        let job = |(): &()| {
            begun.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(in_order(&items, job, |_| Err("stop")), Err("stop"));
        assert!(begun.into_inner() < 1_000);
    }
}
