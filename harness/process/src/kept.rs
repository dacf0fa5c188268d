//! An account of the memory that other programs make a run keep, with a limit.
//!
//! [`KeptBytes`] is the account of a command. Code that stores data of a compared program, a gateway, an agent or a bot
//! first counts it with [`KeptBytes::try_keep`], and calls [`KeptBytes::release`] when it is removed. A [`Held`]
//! releases by itself. [`clitape_recording::limits`] computes the memory that JSON takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clitape_gateway::ByteSize;

use clitape_recording::limits::KEPT;

/// An account of bytes with a limit. It may be shared between threads.
#[derive(Debug)]
pub struct KeptBytes {
    limit: ByteSize,
    bytes: AtomicU64,
    was_full: AtomicBool,
}

/// The error of an account that has reached its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {limit} would have to be kept in memory; raise the limit with `--max-kept`")]
pub struct Full {
    /// The limit.
    pub limit: ByteSize,
}

impl KeptBytes {
    /// Makes an empty account.
    pub fn within(limit: ByteSize) -> Self {
        Self { limit, bytes: AtomicU64::new(0), was_full: AtomicBool::new(false) }
    }

    /// Counts bytes that are about to be kept.
    ///
    /// # Errors
    ///
    /// [`Full`] if they exceed the rest of the limit; they are then not counted, and must not be kept.
    pub fn try_keep(&self, bytes: usize) -> Result<(), Full> {
        let more =
            |kept: u64| kept.checked_add(bytes as u64).filter(|kept| *kept <= self.limit.get());
        match self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(_) => {
                self.was_full.store(true, Ordering::Relaxed);
                Err(self.full())
            }
        }
    }

    /// Counts bytes that are kept regardless of the limit, because they are small or were counted until now in another
    /// form. Beyond the limit, [`KeptBytes::try_keep`] fails until enough is released.
    pub fn keep(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Subtracts bytes that are no longer kept.
    pub fn release(&self, bytes: usize) {
        let less = |kept: u64| Some(kept.saturating_sub(bytes as u64));
        // The closure always returns a number.
        let _ = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Returns the bytes that are kept now.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the limit that was reached, from the first refusal on.
    pub fn overflow(&self) -> Option<Full> {
        self.was_full.load(Ordering::Relaxed).then(|| self.full())
    }

    fn full(&self) -> Full {
        Full { limit: self.limit }
    }
}

impl Default for KeptBytes {
    fn default() -> Self {
        Self::within(KEPT)
    }
}

/// A part of an account, which is released when it is dropped.
#[derive(Debug, Default)]
pub struct Held {
    account: Arc<KeptBytes>,
    bytes: usize,
}

impl Held {
    /// Makes an empty part of an account.
    pub fn of(account: &Arc<KeptBytes>) -> Self {
        Self { account: account.clone(), bytes: 0 }
    }

    /// Counts bytes as [`KeptBytes::try_keep`] does.
    ///
    /// # Errors
    ///
    /// Those of [`KeptBytes::try_keep`].
    pub fn try_keep(&mut self, bytes: usize) -> Result<(), Full> {
        self.account.try_keep(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Counts bytes as [`KeptBytes::keep`] does.
    pub fn keep(&mut self, bytes: usize) {
        self.account.keep(bytes);
        self.bytes += bytes;
    }

    /// Subtracts bytes, at most those that this part has.
    pub fn release(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.account.release(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_up_to_the_limit_and_released() {
        let account = KeptBytes::within(ByteSize::bytes(10));
        for (keep, release, expect) in [
            (6, 0, Ok(6)),
            (4, 0, Ok(10)),
            (1, 0, Err(10)),
            (usize::MAX, 3, Err(7)),
            (3, 99, Ok(0)),
        ] {
            let kept = account.try_keep(keep);
            account.release(release);
            assert_eq!(kept.is_ok(), expect.is_ok(), "{keep}");
            assert_eq!(account.bytes(), expect.unwrap_or_else(|bytes| bytes), "{keep} {release}");
        }
        let words =
            "more than 10B would have to be kept in memory; raise the limit with `--max-kept`";
        assert_eq!(account.overflow().expect("it was full").to_string(), words);
        assert_eq!(KeptBytes::default().overflow(), None);
    }

    #[test]
    fn what_is_held_is_released_at_the_end() {
        let account = Arc::new(KeptBytes::within(ByteSize::bytes(10)));
        let mut held = Held::of(&account);
        assert!(held.try_keep(8).is_ok() && held.try_keep(8).is_err());
        held.keep(8);
        held.release(1);
        assert_eq!(account.bytes(), 15);
        drop(held);
        assert_eq!(account.bytes(), 0);
    }
}
