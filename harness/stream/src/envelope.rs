//! The fast path for stream events, and the only code that expects keys in a certain order.
//!
//! The CLI prints thousands of stream events in a row whose fields around the event are equal
//! except for those that the parser does not read, such as the uuid. This module compares these
//! fields with those of an earlier record, and reads only the event itself, or only the piece of a
//! delta. A record that differs in any other way is left to the general reader, [`RecordHead`].
//! Both give the same events; a property test compares them.

use std::ops::Range;

use crate::head::{ApiEvent, RecordHead};
use crate::json::{self, EscapedText, JsonCursor};

/// Beginning of the record of a stream event.
const EVENT: &str = r#"{"type":"stream_event","event":"#;

/// The fields that describe a stream event or name its conversation. All other fields may differ.
const ENVELOPE_FIELDS: [&str; 8] = [
    "type",
    "event",
    "parent_tool_use_id",
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "abandoned_blocks",
];

/// The kind of content that a delta extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DeltaTarget {
    #[default]
    Text,
    Thinking,
    Input,
}

impl DeltaTarget {
    /// Returns the target for a type of delta, or `None` if such a delta causes no event.
    pub(crate) fn read(delta_type: &str) -> Option<Self> {
        match delta_type {
            "text_delta" => Some(Self::Text),
            "thinking_delta" => Some(Self::Thinking),
            "input_json_delta" => Some(Self::Input),
            _ => None,
        }
    }
}

/// A piece of a content block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeltaPiece<'a> {
    /// Index of the block.
    pub(crate) index: u64,
    /// The kind of content that the piece extends.
    pub(crate) target: DeltaTarget,
    /// The text of the piece.
    pub(crate) text: EscapedText<'a>,
}

/// The envelopes that were learnt from earlier records: one for the starts of messages, which have
/// more fields, and one for all other events.
#[derive(Debug, Default)]
pub(crate) struct EnvelopeCache {
    tails: [EnvelopeTail; 2],
    prefix: EnvelopePrefix,
    /// The last piece without its escapes, if it had any.
    unescaped: String,
    /// Turns the fast path off, so that a test can compare it with the general reader.
    #[cfg(test)]
    pub(crate) is_off: bool,
}

/// The text before the piece of a delta. Most deltas extend the block of the delta before.
#[derive(Debug, Default)]
struct EnvelopePrefix {
    /// The text up to and including the opening quote of the piece; empty if nothing was learnt.
    text: String,
    index: u64,
    target: DeltaTarget,
}

/// The text behind the event of a record.
#[derive(Debug, Default)]
struct EnvelopeTail {
    /// The whole text; empty if nothing was learnt.
    tail: String,
    /// Range of the uuid without its quotes, which always differs.
    uuid: Range<usize>,
    /// Index of the conversation that the record belongs to.
    conversation: usize,
    /// All ranges that may differ; computed on the first mismatch.
    variable: Option<VariableRanges>,
}

/// The ranges of a tail that may differ between two records.
#[derive(Debug)]
struct VariableRanges {
    /// Ranges of the values.
    values: Vec<Range<usize>>,
    /// For each byte of the tail: 255 inside a string that may differ, otherwise 0.
    inside: Vec<u8>,
}

impl EnvelopeCache {
    /// Learns the envelope of a stream event that the general reader has read, and the index of its
    /// conversation.
    pub(crate) fn learn(&mut self, record: &str, head: &RecordHead<'_>, conversation: usize) {
        #[cfg(test)]
        if self.is_off {
            return;
        }
        let Some(event) = head.event.as_ref().filter(|_| head.abandoned.is_none()) else { return };
        let Some(tail) = record.strip_prefix(EVENT).and_then(|rest| {
            let same = std::ptr::eq(rest.as_ptr(), event.raw.get().as_ptr());
            rest.get(event.raw.get().len()..).filter(|_| same)
        }) else {
            return;
        };
        let uuid = json::escaped(head.uuid).unwrap_or_default();
        let from = (uuid.as_ptr() as usize).wrapping_sub(tail.as_ptr() as usize);
        let learnt = &mut self.tails[tail_index(event)];
        tail.clone_into(&mut learnt.tail);
        learnt.uuid = if from < tail.len() { from..from + uuid.len() } else { 0..0 };
        (learnt.conversation, learnt.variable) = (conversation, None);
    }

    /// Forgets all envelopes, because another session has begun.
    pub(crate) fn forget(&mut self) {
        for learnt in &mut self.tails {
            learnt.tail.clear();
        }
    }

    /// Returns the conversation and the piece of a delta whose envelope is known.
    #[inline]
    pub(crate) fn piece<'r>(&'r mut self, record: &'r str) -> Option<(usize, DeltaPiece<'r>)> {
        let Self { prefix, tails: [learnt, _], unescaped, .. } = self;
        let is_known = !prefix.text.is_empty() && record.starts_with(&*prefix.text);
        if !is_known {
            prefix.learn(record)?;
        }
        let (from, index, target) = (prefix.text.len(), prefix.index, prefix.target);
        let conversation = learnt.conversation;
        let piece = |text| (conversation, DeltaPiece { index, target, text });
        let unescaped = learnt
            .piece_end(record)
            .and_then(|to| json::unescape_range(record, from..to, unescaped));
        if let Some(text) = unescaped {
            return Some(piece(EscapedText { text, plain: true }));
        }
        let mut scan = JsonCursor::from(record, from - 1);
        let text = scan.string_here()?;
        (scan.literal("}}") && learnt.matches(scan)).then(|| piece(text))
    }

    /// Reads the event of a record whose envelope is known, and returns its conversation. Returns
    /// `None` if the general reader must read the record.
    #[inline]
    pub(crate) fn event<'r>(&mut self, record: &'r str, event: &mut ApiEvent<'r>) -> Option<usize> {
        if self.tails.iter().all(|learnt| learnt.tail.is_empty()) {
            return None;
        }
        let mut cursor = JsonCursor::new(record);
        if !cursor.literal(EVENT) || !event.fill(&mut cursor).ok()? {
            return None;
        }
        let learnt = &mut self.tails[tail_index(event)];
        learnt.matches(cursor).then_some(learnt.conversation)
    }
}

/// Returns the index of the tail for an event.
fn tail_index(event: &ApiEvent<'_>) -> usize {
    usize::from(event.kind.is_some_and(|kind| kind.get() == r#""message_start""#))
}

impl EnvelopeTail {
    /// Returns the end of the piece of a delta, if the record ends with a tail of the same length
    /// that matches.
    #[inline]
    fn piece_end(&mut self, record: &str) -> Option<usize> {
        let record = record.as_bytes();
        let at = record.len().checked_sub(self.tail.len())?;
        let (event, rest) = record.split_at(at);
        (event.ends_with(b"\"}}") && self.is_same(rest)).then(|| at - 3)
    }

    /// Whether a text equals the tail except for the uuid and other variable values of the same
    /// length.
    #[inline]
    fn is_same(&mut self, text: &[u8]) -> bool {
        let (tail, Range { start, end }) = (self.tail.as_bytes(), self.uuid.clone());
        if tail.is_empty() || tail.len() != text.len() {
            return false;
        }
        text[..start] == tail[..start]
            && text[end..] == tail[end..]
            && json::has_no_special(text, start..end)
            || {
                let variable = self.variable.get_or_insert_with(|| VariableRanges::of(&self.tail));
                json::equals_except(text, tail, &variable.inside)
            }
    }

    /// Whether the rest of the record matches the tail.
    #[inline]
    fn matches(&mut self, mut scan: JsonCursor<'_>) -> bool {
        if self.is_same(scan.rest()) {
            return true;
        }
        if self.tail.is_empty() {
            return false;
        }
        let mut from = 0;
        let variable = self.variable.get_or_insert_with(|| VariableRanges::of(&self.tail));
        for value in &variable.values {
            if !scan.literal(&self.tail[from..value.start]) || scan.skip().is_err() {
                return false;
            }
            from = value.end;
        }
        scan.literal(&self.tail[from..]) && scan.is_over()
    }
}

impl VariableRanges {
    /// Finds the ranges that may differ: all values except those that the parser reads.
    #[allow(clippy::expect_used, reason = "only records that were read are learnt")]
    fn of(tail: &str) -> Self {
        let (mut values, mut inside) = (Vec::new(), vec![0; tail.len()]);
        let read = JsonCursor::new(tail).members(&mut |key, scan| {
            scan.ahead();
            let from = scan.at();
            scan.skip()?;
            if !ENVELOPE_FIELDS.iter().any(|name| key == *name) {
                values.push(from..scan.at());
            }
            Ok(())
        });
        read.expect("the tail ends a record that was read");
        for value in values.iter().filter(|value| tail[(*value).clone()].starts_with('"')) {
            inside[value.start + 1..value.end - 1].fill(255);
        }
        Self { values, inside }
    }
}

impl EnvelopePrefix {
    /// Learns the prefix of a record, if it is a delta in the form that the CLI prints.
    fn learn(&mut self, record: &str) -> Option<()> {
        let mut scan = JsonCursor::new(record);
        if !scan.literal(EVENT) || !scan.literal(r#"{"type":"content_block_delta","index":"#) {
            return None;
        }
        let index = scan.small_number()?;
        if !scan.literal(r#","delta":{"type":""#) {
            return None;
        }
        let target = if scan.literal(r#"input_json_delta","partial_json":"#) {
            DeltaTarget::Input
        } else if scan.literal(r#"text_delta","text":"#) {
            DeltaTarget::Text
        } else if scan.literal(r#"thinking_delta","thinking":"#) {
            DeltaTarget::Thinking
        } else {
            return None;
        };
        (self.index, self.target) = (index, target);
        if !scan.literal("\"") {
            return None;
        }
        record.get(..scan.at())?.clone_into(&mut self.text);
        Some(())
    }
}

#[cfg(test)]
mod tests;
