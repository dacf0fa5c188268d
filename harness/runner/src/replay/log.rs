//! The trace of a replay as it is written, in the order in which things happen.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clitape_gateway::{Delivery, RunReport};
use clitape_recording::trace::{Entry, Lane, millis, object};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

/// The kind and the particulars of an entry, which traces share.
pub(super) type EntryParts = (Cow<'static, str>, Arc<Map<String, Value>>);

/// The trace as it is written; clones write to the same one.
#[derive(Clone)]
pub(super) struct TraceLog {
    began: Instant,
    written: Arc<Mutex<BufferedEntries>>,
}

/// What is written and not yet given away.
#[derive(Default)]
struct BufferedEntries {
    entries: VecDeque<Entry>,
    /// The number of entries that were given away before them.
    given: usize,
    /// The indices of the entries that may still change.
    open: BTreeSet<usize>,
}

impl TraceLog {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), written: Arc::default() }
    }

    /// The milliseconds since the replay began.
    pub(super) fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }

    /// Adds an entry, and returns its index in the trace.
    pub(super) fn add(
        &self,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: impl Into<Arc<Map<String, Value>>>,
    ) -> usize {
        let at = self.now();
        let mut written = self.written();
        written.entries.push_back(Entry::new(at, lane, kind, data));
        written.given + written.entries.len() - 1
    }

    /// Adds an entry that may still change, until [`close`](Self::close). Returns its index in the trace.
    pub(super) fn add_open(
        &self,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: impl Into<Arc<Map<String, Value>>>,
    ) -> usize {
        let index = self.add(lane, kind, data);
        self.written().open.insert(index);
        index
    }

    /// Changes the data of the entry with this index; nothing once the trace is taken.
    pub(super) fn change(&self, index: usize, change: impl FnOnce(&mut Map<String, Value>)) {
        let mut written = self.written();
        let place = index.checked_sub(written.given);
        if let Some(entry) = place.and_then(|place| written.entries.get_mut(place)) {
            change(entry.data_mut());
        }
    }

    /// Says that the entry with this index does not change any more.
    pub(super) fn close(&self, index: usize) {
        self.written().open.remove(&index);
    }

    /// Gives the next entry away, unless it or one before it may still change.
    pub(super) fn settled(&self) -> Option<Entry> {
        let mut written = self.written();
        if written.open.first() == Some(&written.given) {
            return None;
        }
        let entry = written.entries.pop_front()?;
        written.given += 1;
        Some(entry)
    }

    /// Adds the entry that names the messages with the final text of a turn, for the one channel.
    pub(super) fn final_message(&self, report: &RunReport, turn: u64) {
        let Some(channel) = report.channels.first() else { return };
        let (delivery, message_ids, reason) = match &channel.final_delivered {
            Delivery::Nobody => return,
            Delivery::Sent { message_ids } => ("sent", message_ids.clone(), None),
            Delivery::AlreadyShown { message_id } => ("already-shown", vec![*message_id], None),
            Delivery::ByTool => ("by-tool", Vec::new(), None),
            Delivery::Failed { reason } => ("failed", Vec::new(), Some(reason)),
        };
        let mut data = object(json!({ "delivery": delivery, "message_ids": message_ids }));
        if let Some(reason) = reason {
            data.insert("reason".into(), reason.as_str().into());
        }
        if let Some(why) = &channel.first_failure {
            data.insert("callback_failures".into(), channel.callback_failures.into());
            data.insert("first_failure".into(), why.as_str().into());
        }
        data.extend(turn_field(turn));
        self.add(Lane::Telegram, "final", data);
    }

    /// Gives away what is left.
    pub(super) fn take(&self) -> Vec<Entry> {
        let mut written = self.written();
        written.given += written.entries.len();
        written.open.clear();
        std::mem::take(&mut written.entries).into()
    }

    fn written(&self) -> MutexGuard<'_, BufferedEntries> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The field with the turn of an entry of a chat; entries of the first turn have none.
pub(super) fn turn_field(turn: u64) -> Option<(String, Value)> {
    (turn > 1).then(|| ("turn".to_owned(), turn.into()))
}
