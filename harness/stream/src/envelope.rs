//! Records framed like the one before. The CLI prints thousands of stream events in a row whose
//! fields around the event are the same but for those that nobody reads, as the uuid: they are
//! compared with the record before, and only the event itself is read.

use std::ops::Range;

use crate::head::{ApiEvent, EVENT, RecordHead};
use crate::json::{self, EscapedText, JsonCursor};

/// The fields that say something of a stream event, or whose it is. All others may differ.
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

/// What a delta adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DeltaTarget {
    #[default]
    Text,
    Thinking,
    Input,
}

impl DeltaTarget {
    /// What deltas of this type add to; nothing is told of any other.
    pub(crate) fn read(delta_type: &str) -> Option<Self> {
        match delta_type {
            "text_delta" => Some(Self::Text),
            "thinking_delta" => Some(Self::Thinking),
            "input_json_delta" => Some(Self::Input),
            _ => None,
        }
    }
}

/// A piece of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeltaPiece<'a> {
    /// The block it adds to.
    pub(crate) index: u64,
    /// What it adds.
    pub(crate) target: DeltaTarget,
    /// The piece.
    pub(crate) text: EscapedText<'a>,
}

/// The frames that were learnt: of the starts of messages, which the CLI prints more of, and of all
/// other events.
#[derive(Debug, Default)]
pub(crate) struct EnvelopeCache {
    tails: [EnvelopeTail; 2],
    prefix: EnvelopePrefix,
    /// The piece that came last, when it has escapes.
    unescaped: String,
    /// Nothing is learnt.
    #[cfg(test)]
    pub(crate) is_off: bool,
}

/// What stands before the piece of a delta: most deltas go on where the one before left off.
#[derive(Debug, Default)]
struct EnvelopePrefix {
    /// Up to the piece, its quote included; empty when nothing was learnt.
    text: String,
    index: u64,
    adds: DeltaTarget,
}

/// What stands behind the event of a record.
#[derive(Debug, Default)]
struct EnvelopeTail {
    /// All of it; empty when nothing was learnt.
    tail: String,
    /// The inside of its uuid, which always differs.
    uuid: Range<usize>,
    /// The conversation the record belongs to.
    conversation: usize,
    /// What else of it may differ, from when that is asked for.
    variable: Option<VariableRanges>,
}

/// What may differ in a tail.
#[derive(Debug)]
struct VariableRanges {
    /// The values.
    values: Vec<Range<usize>>,
    /// For each byte of the tail 255, when it is inside a string that may differ, else 0.
    inside: Vec<u8>,
}

impl EnvelopeCache {
    /// Learns from a stream event that was read, and the number of its conversation.
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
        let frame = &mut self.tails[kind(event)];
        tail.clone_into(&mut frame.tail);
        frame.uuid = if from < tail.len() { from..from + uuid.len() } else { 0..0 };
        (frame.conversation, frame.variable) = (conversation, None);
    }

    /// Forgets what was learnt: another session has begun.
    pub(crate) fn forget(&mut self) {
        for frame in &mut self.tails {
            frame.tail.clear();
        }
    }

    /// The piece that a record adds which is framed like one before, and its conversation.
    #[inline]
    pub(crate) fn piece<'r>(&'r mut self, record: &'r str) -> Option<(usize, DeltaPiece<'r>)> {
        let Self { prefix, tails: [frame, _], unescaped, .. } = self;
        let is_led = !prefix.text.is_empty() && record.starts_with(&*prefix.text);
        if !is_led {
            prefix.learn(record)?;
        }
        let (from, index, adds) = (prefix.text.len(), prefix.index, prefix.adds);
        let conversation = frame.conversation;
        let piece = |text| (conversation, DeltaPiece { index, target: adds, text });
        let unescaped =
            frame.before(record).and_then(|to| json::unescape_range(record, from..to, unescaped));
        if let Some(text) = unescaped {
            return Some(piece(EscapedText { text, plain: true }));
        }
        let mut scan = JsonCursor::from(record, from - 1);
        let text = scan.string_here()?;
        (scan.literal("}}") && frame.fits(scan)).then(|| piece(text))
    }

    /// The conversation of a record that is framed like one before: the cursor is behind its event.
    #[inline]
    pub(crate) fn conversation(
        &mut self,
        event: &ApiEvent<'_>,
        scan: JsonCursor<'_>,
    ) -> Option<usize> {
        let frame = &mut self.tails[kind(event)];
        frame.fits(scan).then_some(frame.conversation)
    }
}

/// Which frame an event has.
fn kind(event: &ApiEvent<'_>) -> usize {
    usize::from(event.kind.is_some_and(|kind| kind.get() == r#""message_start""#))
}

impl EnvelopeTail {
    /// Where the piece of a delta ends, when the record ends like the tail, as long as it.
    #[inline]
    fn before(&mut self, record: &str) -> Option<usize> {
        let record = record.as_bytes();
        let at = record.len().checked_sub(self.tail.len())?;
        let (event, rest) = record.split_at(at);
        (event.ends_with(b"\"}}") && self.is_like(rest)).then(|| at - 3)
    }

    /// Whether a text of the length of the tail is like it.
    #[inline]
    fn is_like(&mut self, text: &[u8]) -> bool {
        let (tail, Range { start, end }) = (self.tail.as_bytes(), self.uuid.clone());
        if tail.is_empty() || tail.len() != text.len() {
            return false;
        }
        text[..start] == tail[..start]
            && text[end..] == tail[end..]
            && json::has_no_special(text, start..end)
            || {
                let free = self.variable.get_or_insert_with(|| VariableRanges::of(&self.tail));
                json::equals_except(text, tail, &free.inside)
            }
    }

    /// Whether what is ahead is the tail to the end.
    #[inline]
    fn fits(&mut self, mut scan: JsonCursor<'_>) -> bool {
        if self.is_like(scan.rest()) {
            return true;
        }
        if self.tail.is_empty() {
            return false;
        }
        let mut from = 0;
        let free = self.variable.get_or_insert_with(|| VariableRanges::of(&self.tail));
        for value in &free.values {
            if !scan.literal(&self.tail[from..value.start]) || scan.skip().is_err() {
                return false;
            }
            from = value.end;
        }
        scan.literal(&self.tail[from..]) && scan.is_over()
    }
}

impl VariableRanges {
    /// What may differ in a tail: all values but those that are read.
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
    /// Learns from a record, when it is a delta as the CLI prints it.
    fn learn(&mut self, record: &str) -> Option<()> {
        let mut scan = JsonCursor::new(record);
        if !scan.literal(EVENT) || !scan.literal(r#"{"type":"content_block_delta","index":"#) {
            return None;
        }
        let index = scan.small()?;
        if !scan.literal(r#","delta":{"type":""#) {
            return None;
        }
        let adds = if scan.literal(r#"input_json_delta","partial_json":"#) {
            DeltaTarget::Input
        } else if scan.literal(r#"text_delta","text":"#) {
            DeltaTarget::Text
        } else if scan.literal(r#"thinking_delta","thinking":"#) {
            DeltaTarget::Thinking
        } else {
            return None;
        };
        (self.index, self.adds) = (index, adds);
        if !scan.literal("\"") {
            return None;
        }
        record.get(..scan.at())?.clone_into(&mut self.text);
        Some(())
    }
}

#[cfg(test)]
mod tests;
