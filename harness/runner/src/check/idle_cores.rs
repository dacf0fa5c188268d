//! The cores that other work leaves, so that the plans of one large scenario are replayed on all of them.
//!
//! Which cores are free changes how long a sweep takes and nothing else: results come in the order of the plans.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clitape_process::threads::start_some;

use crate::replay::{count_of_this_thread, count_replays};

/// The items that are taken for each core at a time: few enough that not much is replayed behind a plan that fails.
const ITEMS: usize = 4;

/// The number of cores that have nothing to do. Clones are handles to the same number.
#[derive(Debug, Clone, Default)]
pub struct IdleCores(Arc<AtomicUsize>);

/// Cores that were taken, which are idle again when this is dropped.
pub(super) struct TakenCores<'a> {
    from: &'a IdleCores,
    count: usize,
}

impl IdleCores {
    /// Further cores have nothing to do.
    pub fn add(&self, count: usize) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Takes all of them.
    pub(super) fn take(&self) -> TakenCores<'_> {
        TakenCores { from: self, count: self.0.swap(0, Ordering::Relaxed) }
    }
}

impl Drop for TakenCores<'_> {
    fn drop(&mut self) {
        self.from.add(self.count);
    }
}

impl TakenCores<'_> {
    /// The number of items to take at a time: one if this thread is alone.
    pub(super) fn batch(&self) -> usize {
        if self.count == 0 { 1 } else { (self.count + 1) * ITEMS }
    }

    /// Runs `job` on every item, on these cores and on this thread's. The results are in the order of the items.
    pub(super) fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        job: impl Fn(&T) -> R + Sync,
    ) -> Vec<R> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { return done };
                done.push((index, job(item)));
            }
        };
        let mut done = thread::scope(|scope| {
            let count = count_of_this_thread();
            // This thread does what no other can do.
            let helpers = start_some(scope, self.count, || {
                let (work, count) = (&work, count.clone());
                move || {
                    if let Some(count) = count {
                        count_replays(count);
                    }
                    work()
                }
            });
            let mut done = work();
            for helper in helpers {
                match helper.join() {
                    Ok(more) => done.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        });
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_cores_are_given_back() {
        let items: Vec<u32> = (0..50).collect();
        for count in [0, 1, 3] {
            let cores = IdleCores::default();
            cores.add(count);
            let taken = cores.take();
            assert_eq!(cores.take().count, 0, "{count}: all are taken");
            let all_done = taken.map(&items, |item| item * 2);
            assert_eq!(all_done, items.iter().map(|item| item * 2).collect::<Vec<_>>(), "{count}");
            drop(taken);
            assert_eq!(cores.take().count, count);
        }
    }

    #[test]
    fn replays_on_idle_cores_count_for_the_watcher() {
        let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
        count_replays(count.clone());
        let cores = IdleCores::default();
        cores.add(2);
        cores.take().map(&[(); 9], |()| crate::replay::replay_ended());
        assert_eq!(count.load(Ordering::Relaxed), 9);
    }
}
