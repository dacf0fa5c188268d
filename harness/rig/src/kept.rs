//! An account of the memory that other programs make a run keep, with a limit.
//!
//! [`KeptBytes`] is the account of a run. Whoever stores what a gateway, an agent or a bot sent counts it with
//! [`KeptBytes::try_keep`] before, and calls [`KeptBytes::release`] when it is removed. A [`Held`] releases by itself.
//! [`json_bytes`] says how much memory a JSON value takes, and [`parsed_bytes`] how much a text takes once it is
//! parsed: `[0,0]` takes up to a hundred times its length.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clitape_gateway::ByteSize;
use clitape_runner::replay::Entry;
use serde_json::{Map, Value};

use crate::limits::KEPT;

/// An account of bytes with a limit. It may be shared between threads.
#[derive(Debug)]
pub struct KeptBytes {
    limit: ByteSize,
    bytes: AtomicU64,
    was_full: AtomicBool,
}

/// The limit of an account was reached.
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
    /// [`Full`] if they are more than the limit leaves; they are not counted then, and must not be kept.
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

    /// Counts bytes that are kept whatever the limit says, because they are small or were counted until now in another
    /// form. Beyond the limit, nothing else is kept until enough is released.
    pub fn keep(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes off that are no longer kept.
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

/// A part of an account, which is released when this is dropped.
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

    /// Counts bytes off, at most those that this part has.
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

/// Returns the bytes of memory that a JSON value takes.
pub fn json_bytes(value: &Value) -> usize {
    size_of::<Value>() + heap(value)
}

/// Returns the bytes of memory that the members of a JSON object take.
pub fn map_bytes(map: &Map<String, Value>) -> usize {
    // The table of an object has a power of two of slots and is seven eighths full at most.
    let slots = match map.len() {
        0 => return 0,
        1..=3 => 4,
        len => (len * 8 / 7 + 1).next_power_of_two(),
    };
    let members = map.len().max(slots * 7 / 8) * (MEMBER + size_of::<Value>());
    slots * SLOT
        + members
        + map.iter().map(|(key, value)| key.capacity() + heap(value)).sum::<usize>()
}

/// Returns the bytes of memory that an entry of a trace takes.
pub fn entry_bytes(entry: &Entry) -> usize {
    size_of::<Entry>() + entry.kind.len() + size_of::<Map<String, Value>>() + map_bytes(&entry.data)
}

/// The bytes of an object's table, its slots aside.
const TABLE: usize = 16;
/// The bytes of a slot of an object's table.
const SLOT: usize = 9;
/// The bytes of a member of an object, its value aside.
const MEMBER: usize = 32;

/// The bytes that a value has beside its own place.
fn heap(value: &Value) -> usize {
    match value {
        Value::String(text) => text.capacity(),
        Value::Array(values) => {
            let empty = values.capacity().saturating_sub(values.len()) * size_of::<Value>();
            empty + values.iter().map(json_bytes).sum::<usize>()
        }
        Value::Object(map) => map_bytes(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns the most bytes of memory that a JSON text takes once it is parsed.
pub fn parsed_bytes(text: &[u8]) -> usize {
    // Lists and objects of one member have room for four; longer ones may be half empty.
    let member = SLOT + MEMBER + size_of::<Value>();
    let [list, object] = [4 * size_of::<Value>(), TABLE + 4 * member];
    let of = |byte: &u8| match byte {
        b'[' => list,
        b'{' => object,
        b',' => 2 * member,
        _ => 1,
    };
    size_of::<Value>() + text.iter().map(of).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    /// Compares the estimate of a text with the value that it is parsed to; both are at least `least`.
    fn check(text: &str, least: usize) {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let (parsed, real) = (parsed_bytes(text.as_bytes()), json_bytes(&value));
        let text = &text[..text.len().min(40)];
        assert!(least <= real && real <= parsed, "{text}: {least} {real} {parsed}");
        assert!(parsed <= real * 8, "{text}: {real} {parsed}");
    }

    #[test]
    fn a_json_text_takes_no_more_memory_than_is_said() {
        let many = |part: &str| format!("[{}0]", part.repeat(10_000));
        for (part, least) in [
            ("0,", 720_000),
            ("[],", 720_000),
            ("[0],", 3_600_000),
            ("{\"a\":0},", 3_800_000),
            ("\"word\",", 760_000),
            ("{\"a\":0,\"b\":0,\"c\":0,\"d\":0},", 8_000_000),
            ("[[[[[[[[]]]]]]]],", 20_000_000),
        ] {
            check(&many(part), least);
        }
        let members: Vec<String> = (0..10_000).map(|number| format!("\"{number}\":0")).collect();
        check(&format!("{{{}}}", members.join(",")), 1_100_000);
        check(&json!("x".repeat(1_000)).to_string(), 1_000);
    }
}
