//! A pool of threads that returns results in order.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use clitape_process::threads::start_some;

/// The number of items that a worker takes at a time if jobs are short.
const SHORT: usize = 64;

/// The progress of the jobs of [`in_order_noting`].
#[derive(Debug)]
pub(super) enum Progress<R, N = Infallible> {
    /// A note of a job that still runs.
    Note(N),
    /// This number of jobs has ended.
    Ended(usize),
    /// The result of the next item.
    Result(R),
}

/// The message of a worker.
enum Sent<R, N> {
    /// A note of a job that still runs.
    Note(N),
    /// The result of the item with this index.
    Result(usize, R),
}

/// Does the same as [`in_order_noting`] on all cores, with jobs that note nothing.
fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    job: impl Fn(&T) -> R + Sync,
    take: impl FnMut(Progress<R>) -> Result<(), E>,
) -> Result<(), E> {
    in_order_noting(items, None, || true, |item, _| job(item), take)
}

/// Runs short jobs, and returns their results in the order of the items, or the first error. A worker takes many items
/// at a time, because to pass on each result would cost as much as the job.
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

/// Runs `job` on every item, on all cores or on `workers` threads. `take` gets the results in the order of the items,
/// each as soon as all before it are there, and what a job notes, at once and in any order. After an error of `take`, no
/// further job begins.
///
/// # Errors
///
/// The first error of `take`.
///
/// If the system lets fewer threads start, or `is_ready` returns false on one of them, the other threads do its work.
/// Without any, this thread does it, and passes on the notes of a job when the job is over.
pub(super) fn in_order_noting<T: Sync, R: Send, N: Send, E>(
    items: &[T],
    workers: Option<usize>,
    is_ready: impl Fn() -> bool + Sync,
    job: impl Fn(&T, &dyn Fn(N)) -> R + Sync,
    mut take: impl FnMut(Progress<R, N>) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.unwrap_or_else(cores).clamp(1, items.len().max(1));
    // Does one job; returns false if there is none left, or if the receiver is gone.
    let work = |sender: &Sender<Sent<R, N>>| {
        let index = next.fetch_add(1, Ordering::Relaxed);
        items.get(index).is_some_and(|item| {
            let note = |note| drop(sender.send(Sent::Note(note)));
            sender.send(Sent::Result(index, job(item, &note))).is_ok()
        })
    };
    let (mut early, mut due, mut ended) = (BTreeMap::new(), 0, 0);
    let mut receive = |sent| {
        let (index, result) = match sent {
            Sent::Result(index, result) => (index, result),
            Sent::Note(note) => return take(Progress::Note(note)),
        };
        ended += 1;
        early.insert(index, result);
        while let Some(result) = early.remove(&due) {
            take(Progress::Result(result))?;
            due += 1;
        }
        take(Progress::Ended(ended))
    };
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let (work, is_ready) = (&work, &is_ready);
        let started = start_some(scope, workers, || {
            let sender = sender.clone();
            move || {
                if is_ready() {
                    while work(&sender) {}
                }
            }
        });
        drop(sender);
        receiver.into_iter().try_for_each(&mut receive)?;
        for worker in started {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        Ok(())
    })?;
    let (sender, receiver) = mpsc::channel();
    while work(&sender) {
        receiver.try_iter().try_for_each(&mut receive)?;
    }
    Ok(())
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
            let taken = in_order_noting(
                &items,
                Some(workers),
                || true,
                job,
                |progress| {
                    if let Progress::Note(item) = progress {
                        notes.push(item);
                    }
                    Ok::<(), ()>(())
                },
            );
            notes.sort_unstable();
            assert_eq!((taken, notes), (Ok(()), items));
            assert!(most.swap(0, Ordering::SeqCst) <= expect);
        }
    }

    #[test]
    fn the_thread_that_waits_does_what_no_other_can_do() {
        let items: Vec<usize> = (0..9).collect();
        for can_work in [0, 1] {
            let ready = AtomicUsize::new(0);
            let is_ready = || ready.fetch_add(1, Ordering::Relaxed) < can_work;
            let (mut results, mut notes) = (Vec::new(), Vec::new());
            let job = |item: &usize, note: &dyn Fn(usize)| {
                note(*item);
                (*item, thread::current().id())
            };
            let taken = in_order_noting(&items, Some(3), is_ready, job, |progress| {
                match progress {
                    Progress::Note(item) => notes.push(item),
                    Progress::Result(result) => results.push(result),
                    Progress::Ended(_) => {}
                }
                Ok::<(), ()>(())
            });
            let (done, threads): (Vec<usize>, Vec<_>) = results.into_iter().unzip();
            assert_eq!((taken, &done, &notes), (Ok(()), &items, &items));
            let own = thread::current().id();
            assert!(threads.iter().all(|thread| (*thread == own) == (can_work == 0)));
        }
    }

    #[test]
    fn short_jobs_have_their_results_in_order_or_the_first_error() {
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
