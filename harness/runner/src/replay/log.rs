//! The trace of a replay as it is written, in the order in which things happen.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clitape_gateway::{Delivery, RunReport};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::trace::{Entry, Lane, millis, object};

/// The trace as it is written; clones write to the same one.
#[derive(Clone)]
pub(super) struct Log {
    began: Instant,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Log {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), entries: Arc::default() }
    }

    /// The milliseconds since the replay began.
    pub(super) fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }

    /// Adds an entry, and returns its index.
    pub(super) fn add(
        &self,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: Map<String, Value>,
    ) -> usize {
        let at = self.now();
        let mut entries = self.entries();
        entries.push(Entry { at, lane, kind: kind.into(), data });
        entries.len() - 1
    }

    /// Changes the data of the entry with this index; nothing once the trace is taken.
    pub(super) fn change(&self, index: usize, change: impl FnOnce(&mut Map<String, Value>)) {
        if let Some(entry) = self.entries().get_mut(index) {
            change(&mut entry.data);
        }
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

    pub(super) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries())
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The field with the turn of an entry of a chat; entries of the first turn have none.
pub(super) fn turn_field(turn: u64) -> Option<(String, Value)> {
    (turn > 1).then(|| ("turn".to_owned(), turn.into()))
}
