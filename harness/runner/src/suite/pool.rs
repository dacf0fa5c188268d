//! A pool of threads that hands on results in order.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::check::IdleCores;

/// The items that a worker takes at a time where jobs are short.
const SHORT: usize = 64;

/// What happens while jobs run.
pub(crate) enum Progress<R, N = Infallible> {
    /// What a job says while it runs.
    Note(N),
    /// This number of jobs has ended.
    Ended(usize),
    /// The result of the next item.
    Result(R),
}

/// What a worker sends.
enum Sent<R, N> {
    /// What a job says.
    Note(N),
    /// The result of the item with this index.
    Result(usize, R),
}

/// Runs `job` on every item, on all cores. `take` gets each result in the order of the items, as soon as it and
/// those before it are there; after an error of `take` no further job begins.
pub(crate) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    job: impl Fn(&T) -> R + Sync,
    take: impl FnMut(Progress<R>) -> Result<(), E>,
) -> Result<(), E> {
    in_order_noting(items, None, &IdleCores::default(), |item, _| job(item), take)
}

/// The results of jobs that are so short that to hand each on by itself would cost as much as the job, in the order of the items;
/// or the first error.
pub(crate) fn short_jobs<T: Sync, R: Send, E: Send>(
    items: &[T],
    job: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let chunks: Vec<&[T]> = items.chunks(SHORT).collect();
    let mut results = Vec::with_capacity(items.len());
    let read = |chunk: &&[T]| chunk.iter().map(&job).collect::<Result<Vec<R>, E>>();
    in_order(&chunks, read, |progress| {
        if let Progress::Result(chunk) = progress {
            results.extend(chunk?);
        }
        Ok(())
    })?;
    Ok(results)
}

/// Like [`in_order`], on `workers` threads if it is a number. Those for which there is no item are added to `idle`. A job
/// also gets a function that passes what it says to `take`, at once and in no order.
pub(crate) fn in_order_noting<T: Sync, R: Send, N: Send, E>(
    items: &[T],
    workers: Option<usize>,
    idle: &IdleCores,
    job: impl Fn(&T, &dyn Fn(N)) -> R + Sync,
    mut take: impl FnMut(Progress<R, N>) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let allowed = workers.unwrap_or_else(cores).max(1);
    let workers = allowed.min(items.len().max(1));
    idle.add(allowed - workers);
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, job) = (sender.clone(), &next, &job);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    // After an error, nothing is received any more.
                    let note = |note| drop(sender.send(Sent::Note(note)));
                    if sender.send(Sent::Result(index, job(item, &note))).is_err() {
                        break;
                    }
                }
                idle.add(1);
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        let mut ended = 0;
        for sent in receiver {
            let (index, result) = match sent {
                Sent::Result(index, result) => (index, result),
                Sent::Note(note) => {
                    take(Progress::Note(note))?;
                    continue;
                }
            };
            ended += 1;
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
    fn jobs_say_something_while_they_run_on_as_many_threads_as_are_asked_for() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let job = |item: &usize, note: &dyn Fn(usize)| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            note(*item);
            thread::sleep(Duration::from_millis(1));
            running.fetch_sub(1, Ordering::SeqCst);
        };
        for (workers, expect) in [(1, 1), (3, 3)] {
            let (items, mut notes) = ((0..30).collect::<Vec<_>>(), Vec::new());
            let idle = IdleCores::default();
            let taken = in_order_noting(&items, Some(workers), &idle, job, |progress| {
                if let Progress::Note(item) = progress {
                    notes.push(item);
                }
                Ok::<(), ()>(())
            });
            notes.sort_unstable();
            assert_eq!((taken, notes), (Ok(()), items));
            assert!(most.swap(0, Ordering::SeqCst) <= expect);
        }
    }

    #[test]
    fn issue_20_point_5_short_jobs_have_their_results_in_order_or_the_first_error() {
        for count in [0, 1, 64, 65, 1_000] {
            let items: Vec<u64> = (0..count).collect();
            assert_eq!(short_jobs(&items, |item| Ok::<u64, ()>(*item)), Ok(items.clone()));
            let odd = |item: &u64| if item % 100 < 70 { Ok(*item) } else { Err(*item) };
            let first = items.iter().find(|item| odd(item).is_err());
            assert_eq!(short_jobs(&items, odd).err(), first.copied());
        }
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
