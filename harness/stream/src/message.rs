//! The state of a message, and the comparison of its snapshots with the text that was already
//! streamed (T4).

use crate::block::BlockState;
use crate::outcome::Usage;
use crate::think_tags::ThinkTagFilter;
use crate::transcript::ROOM;

/// The state of one message. A run has many, of which only the newest have their content: an evicted one is small.
#[derive(Debug, Default)]
pub(crate) struct MessageState {
    pub(crate) id: Box<str>,
    /// The message came as stream events.
    pub(crate) streamed: bool,
    /// The message was evicted from the bounded history, and its content with it.
    pub(crate) evicted: bool,
    /// Number of blocks that snapshots have shown.
    pub(crate) shown: u64,
    content: Option<Box<StreamedContent>>,
}

/// The content of a message as far as it is stored.
#[derive(Debug, Default)]
pub(crate) struct StreamedContent {
    /// The blocks that have started and are not settled yet.
    pub(crate) blocks: Vec<BlockState>,
    /// The consumed text of each kind.
    pub(crate) consumed: [SnapshotReconciler; 2],
    pub(crate) think_tags: ThinkTagFilter,
    /// Token counts of `message_start`.
    pub(crate) usage: Usage,
}

impl MessageState {
    /// A message of which only the id is known.
    pub(crate) fn new(id: &str) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Its content so far.
    pub(crate) fn content(&mut self) -> &mut StreamedContent {
        self.parts().1
    }

    /// Its id and its content, which can be changed while the id is read.
    pub(crate) fn parts(&mut self) -> (&str, &mut StreamedContent) {
        (&self.id, self.content.get_or_insert_default())
    }

    /// The blocks that have started and are not settled yet.
    pub(crate) fn blocks(&self) -> &[BlockState] {
        self.content.as_ref().map_or(&[], |content| &content.blocks)
    }

    /// The same blocks, which can be changed.
    pub(crate) fn blocks_mut(&mut self) -> &mut Vec<BlockState> {
        &mut self.content().blocks
    }

    /// Token counts of `message_start`.
    pub(crate) fn usage(&self) -> Usage {
        self.content.as_ref().map(|content| content.usage).unwrap_or_default()
    }

    /// Takes the blocks that are not settled yet.
    pub(crate) fn take_blocks(&mut self) -> Vec<BlockState> {
        self.content.as_mut().map(|content| std::mem::take(&mut content.blocks)).unwrap_or_default()
    }

    /// Forgets the content of a message that has ended without a text: no snapshot has to be compared with it.
    pub(crate) fn end(&mut self) {
        let is_textless = |content: &StreamedContent| {
            content.blocks.is_empty() && content.consumed.iter().all(SnapshotReconciler::is_empty)
        };
        self.content.take_if(|content| is_textless(content));
    }

    /// Forgets the content.
    pub(crate) fn evict(&mut self) {
        self.content = None;
        self.evicted = true;
    }

    /// Forgets the text, and that it was streamed, because it was taken back.
    pub(crate) fn begin_again(&mut self) {
        self.content().consumed = Default::default();
        self.streamed = false;
    }

    /// Returns the index of the block of this type that a snapshot shows now, and counts the block
    /// as shown.
    ///
    /// That is the open block of this type. Without one it is the number of blocks shown before,
    /// because an empty block has no snapshot.
    pub(crate) fn next_shown_index(&mut self, block_type: &str) -> u64 {
        let open = self
            .blocks()
            .iter()
            .find(|block| block.is_of_type(block_type))
            .map(|block| block.index);
        let index = open.unwrap_or(self.shown);
        self.shown = index + 1;
        index
    }
}

/// The text of one kind of a message, for the comparison with its snapshots (T4).
#[derive(Debug, Default)]
pub(crate) struct SnapshotReconciler {
    /// All consumed text, streamed or from snapshots, without separators.
    consumed: String,
    /// Length of the part that snapshots have repeated.
    confirmed: usize,
}

/// The circumstances of a snapshot, which decide what it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotContext {
    /// The message came as stream events too.
    Streamed,
    /// A tool call separates the text so far from this block, which is the only one of its record.
    AfterCall,
    /// The message comes as snapshots alone.
    Plain,
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

    /// Returns whether there was no text.
    fn is_empty(&self) -> bool {
        self.consumed.is_empty()
    }

    /// Matches the block of a snapshot with the consumed text. Returns the byte from which the block
    /// is new, or `None` if it contradicts the consumed text. At the end of the block, all of it is known.
    ///
    /// `cursor` is the end of the previous block in the same record; a record contains one block, or
    /// all blocks of the message so far.
    pub(crate) fn fit(
        &mut self,
        block: &str,
        context: SnapshotContext,
        cursor: &mut Option<usize>,
    ) -> Option<usize> {
        let starts = match *cursor {
            Some(at) => [at, at],
            None if context == SnapshotContext::AfterCall => [self.confirmed, self.confirmed],
            None => [self.confirmed, 0],
        };
        for start in starts {
            let rest = &self.consumed[start..];
            let common = rest.len().min(block.len());
            if common > 0 && rest.as_bytes()[..common] == block.as_bytes()[..common] {
                return Some(self.confirm(start + common, common, cursor));
            }
        }
        let all_confirmed = starts[0] >= self.consumed.len();
        if !all_confirmed {
            self.confirmed = self.consumed.len();
            return None;
        }
        let is_repeated = context == SnapshotContext::Streamed && self.consumed.ends_with(block);
        let known = if is_repeated { block.len() } else { 0 };
        Some(self.confirm(self.consumed.len(), known, cursor))
    }

    /// Confirms the new end of a block that [`fit`](Self::fit) has matched and the caller has
    /// appended.
    pub(crate) fn confirm_all(&mut self, cursor: &mut Option<usize>) {
        self.confirmed = self.consumed.len();
        *cursor = Some(self.confirmed);
    }

    fn confirm(&mut self, to: usize, known: usize, cursor: &mut Option<usize>) -> usize {
        self.confirmed = self.confirmed.max(to);
        *cursor = Some(to);
        known
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Matches snapshot records after `streamed`; `+` separates the blocks of a record. Compares
    /// the new text of each record; `!` marks a mismatch.
    fn check(streamed: &str, records: &[&str], expect: &[&str]) {
        let mut text = SnapshotReconciler::default();
        text.append(|out| out.push_str(streamed));
        let context = match streamed {
            "" => SnapshotContext::Plain,
            _ => SnapshotContext::Streamed,
        };
        let mut added = Vec::new();
        for record in records {
            let mut cursor = None;
            let blocks =
                record.split('+').map(|block| match text.fit(block, context, &mut cursor) {
                    Some(at) => {
                        if at < block.len() {
                            text.append(|out| out.push_str(&block[at..]));
                            text.confirm_all(&mut cursor);
                        }
                        block[at..].to_owned()
                    }
                    None => "!".to_owned(),
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
}
