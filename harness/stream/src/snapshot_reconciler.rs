//! Matches the snapshots of a message with the text that was already streamed (T4).

use crate::json::SurrogateCarry;
use crate::transcript_buffer::ROOM;

/// The raw text (or reasoning) of one message.
#[derive(Debug, Default)]
pub(crate) struct SnapshotReconciler {
    /// All consumed text, streamed or from snapshots, without separators.
    consumed: String,
    /// Length of the part that snapshots have repeated.
    confirmed: usize,
}

/// How the block of a snapshot relates to the consumed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotFit {
    /// The block repeats consumed text; it is new from this byte on. At its end nothing is new.
    From(usize),
    /// The block contradicts the consumed text.
    Differs,
}

/// Facts about the record of a snapshot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SnapshotContext {
    /// The message came as stream events too.
    pub(crate) streamed: bool,
    /// A tool call separates the text so far from this block, which is the only one of its record.
    pub(crate) after_call: bool,
}

impl SnapshotReconciler {
    /// Appends what `write` writes, and returns that part.
    pub(crate) fn append(&mut self, write: impl FnOnce(&mut String)) -> &str {
        let start = self.consumed.len();
        if self.consumed.capacity() == 0 {
            self.consumed.reserve(ROOM);
        }
        write(&mut self.consumed);
        &self.consumed[start..]
    }

    /// Matches the block of a snapshot. `cursor` is the end of the previous block in the same
    /// record; a record contains one block, or all blocks of the message so far.
    pub(crate) fn fit(
        &mut self,
        block: &str,
        how: SnapshotContext,
        cursor: &mut Option<usize>,
    ) -> SnapshotFit {
        let starts = match *cursor {
            Some(at) => [at, at],
            None if how.after_call => [self.confirmed, self.confirmed],
            None => [self.confirmed, 0],
        };
        for start in starts {
            let rest = &self.consumed[start..];
            let common = rest.len().min(block.len());
            if common > 0 && rest.as_bytes()[..common] == block.as_bytes()[..common] {
                return self.confirm(start + common, common, cursor);
            }
        }
        let all_confirmed = starts[0] >= self.consumed.len();
        if all_confirmed && how.streamed && self.consumed.ends_with(block) {
            self.confirm(self.consumed.len(), block.len(), cursor)
        } else if all_confirmed {
            self.confirm(self.consumed.len(), 0, cursor)
        } else {
            self.confirmed = self.consumed.len();
            SnapshotFit::Differs
        }
    }

    /// Confirms the new end of a block that [`fit`](Self::fit) has matched and the caller has
    /// appended.
    pub(crate) fn confirm_all(&mut self, cursor: &mut Option<usize>) {
        self.confirmed = self.consumed.len();
        *cursor = Some(self.confirmed);
    }

    fn confirm(&mut self, to: usize, known: usize, cursor: &mut Option<usize>) -> SnapshotFit {
        self.confirmed = self.confirmed.max(to);
        *cursor = Some(to);
        SnapshotFit::From(known)
    }
}

/// A text or thinking block while it streams.
#[derive(Debug, Default)]
pub(crate) struct BlockStream {
    carry: SurrogateCarry,
    /// Text from the start of the block. It is emitted unless the deltas repeat it.
    prefill: String,
    /// Length of the part of the prefill that the deltas have repeated.
    repeated: usize,
}

impl BlockStream {
    pub(crate) fn new(prefill: String) -> Self {
        Self { prefill, ..Self::default() }
    }

    /// Writes the next piece without escapes.
    pub(crate) fn append(&mut self, escaped: &str, out: &mut String) {
        if self.prefill.is_empty() {
            self.carry.append(escaped, out);
            return;
        }
        let mut piece = String::new();
        self.carry.append(escaped, &mut piece);
        let rest = &self.prefill[self.repeated..];
        if rest.len() > piece.len() && rest.starts_with(&piece) {
            self.repeated += piece.len();
            return;
        }
        if !piece.starts_with(rest) {
            out.push_str(&self.prefill);
        }
        out.push_str(&self.prefill[..self.repeated]);
        out.push_str(&piece);
        self.prefill.clear();
    }

    /// Writes the withheld text at the end of the block.
    pub(crate) fn close(&mut self, out: &mut String) {
        self.write_prefill(out);
        self.carry.close(out);
    }

    /// Writes the prefill, if it is still withheld, before the text is compared with a snapshot.
    pub(crate) fn write_prefill(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.prefill));
    }

    /// Drops a surrogate half, because a snapshot has provided the character.
    pub(crate) fn clear_carry(&mut self) {
        self.carry = SurrogateCarry::default();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Matches snapshot records after `streamed`; `+` separates the blocks of a record. Compares
    /// the new text of each record; `!` marks a mismatch.
    fn check(streamed: &str, records: &[&str], expect: &[&str]) {
        let mut track = SnapshotReconciler::default();
        track.append(|out| out.push_str(streamed));
        let how = SnapshotContext { streamed: !streamed.is_empty(), after_call: false };
        let mut added = Vec::new();
        for record in records {
            let mut cursor = None;
            let blocks = record.split('+').map(|block| match track.fit(block, how, &mut cursor) {
                SnapshotFit::From(at) => {
                    if at < block.len() {
                        track.append(|out| out.push_str(&block[at..]));
                        track.confirm_all(&mut cursor);
                    }
                    block[at..].to_owned()
                }
                SnapshotFit::Differs => "!".to_owned(),
            });
            added.push(blocks.collect::<Vec<_>>().join("+"));
        }
        assert_eq!(added, expect, "{streamed:?} {records:?}");
    }

    #[test]
    pub(crate) fn t4_a_snapshot_never_repeats_what_was_streamed() {
        check("AB", &["A", "B"], &["", ""]);
        check("AB", &["AB", "AB"], &["", ""]);
        check("AB", &["A+B", "B"], &["+", ""]);
        check("Hel", &["Hello"], &["lo"]);
        check("Hel", &["Hel", "Hello", "new"], &["", "lo", "new"]);
    }

    #[test]
    pub(crate) fn t4_snapshots_alone_give_the_text() {
        check("", &["A", "B"], &["A", "B"]);
        check("", &["Hel", "Hello", "Hello"], &["Hel", "lo", ""]);
        check("", &["A", "A+B", "A+B+C"], &["A", "+B", "++C"]);
    }

    #[test]
    pub(crate) fn t4_a_divergent_snapshot_is_a_mismatch_once() {
        check("Hello", &["Goodbye", "More"], &["!", "More"]);
    }

    #[test]
    pub(crate) fn r1_a_prefill_is_emitted_unless_deltas_repeat_it() {
        for (prefill, deltas, expect) in [
            ("Let me ", vec!["think"], "Let me think"),
            ("Let me ", vec!["Let", " me ", "think"], "Let me think"),
            ("Let me", vec!["Let me think"], "Let me think"),
            ("Let me", vec!["Let"], "Let me"),
            ("Let me", vec!["Let", "ter"], "Let meLetter"),
            ("Let me", vec![], "Let me"),
        ] {
            let (mut flow, mut out) = (BlockStream::new(prefill.to_owned()), String::new());
            for delta in &deltas {
                flow.append(delta, &mut out);
            }
            flow.close(&mut out);
            assert_eq!(out, expect, "{prefill:?} {deltas:?}");
        }
    }
}
