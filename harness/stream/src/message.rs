//! The state of a message, and the comparison of its snapshots with the text that was already
//! streamed (T4).
//!
//! Some models write `<think>…</think>` into their text. That section is reasoning and not part of the
//! answer (T6); a section that never closes is text after all.

use crate::block::BlockState;
use crate::outcome::Usage;
use crate::transcript::{ROOM, TextKind};

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

/// Names of the tags, in lower case; any case matches.
const TAGS: [&str; 4] = ["think", "thinking", "thought", "antthinking"];

/// The position of a message relative to its leading section.
#[derive(Debug)]
pub(crate) enum ThinkTagFilter {
    /// The text so far could still become an opening tag.
    Maybe(String),
    /// After an opening tag, before its closing tag.
    Inside {
        /// The text so far, including the tag.
        retained: String,
        /// Position at which the reasoning begins.
        body: usize,
        /// The entry of [`TAGS`].
        tag: &'static str,
        /// Position up to which no closing tag was found.
        searched: usize,
    },
    /// The section has closed. White space after it belongs to it.
    After,
    /// All further text is answer.
    Done,
}

impl Default for ThinkTagFilter {
    fn default() -> Self {
        Self::Maybe(String::new())
    }
}

/// Result of looking for an opening tag at the beginning of a text.
enum TagOpening {
    No,
    NotYet,
    Tag(&'static str, usize),
}

impl ThinkTagFilter {
    /// Sorts the next piece, and withholds it only while it could belong to a section.
    pub(crate) fn push(&mut self, piece: &str, out: &mut dyn FnMut(TextKind, &str)) {
        match self {
            Self::Done => out(TextKind::Answer, piece),
            Self::After => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    *self = Self::Done;
                    out(TextKind::Answer, text);
                }
            }
            Self::Maybe(retained)
                if retained.is_empty() && matches!(opening(piece), TagOpening::No) =>
            {
                *self = Self::Done;
                out(TextKind::Answer, piece);
            }
            Self::Maybe(retained) => {
                retained.push_str(piece);
                match opening(retained) {
                    TagOpening::NotYet => {}
                    TagOpening::No => self.end(out),
                    TagOpening::Tag(tag, body) => {
                        let retained = std::mem::take(retained);
                        *self = Self::Inside { retained, body, tag, searched: body };
                        self.close(out);
                    }
                }
            }
            Self::Inside { retained, .. } => {
                retained.push_str(piece);
                self.close(out);
            }
        }
    }

    /// Ends the block and releases the withheld text as answer. White space alone leaves the
    /// question open.
    pub(crate) fn end(&mut self, out: &mut dyn FnMut(TextKind, &str)) {
        if let Self::Maybe(retained) | Self::Inside { retained, .. } =
            std::mem::replace(self, Self::Done)
        {
            if retained.trim().is_empty() {
                *self = Self::default();
            }
            if !retained.is_empty() {
                out(TextKind::Answer, &retained);
            }
        }
    }

    /// Ends the section if its closing tag has come.
    fn close(&mut self, out: &mut dyn FnMut(TextKind, &str)) {
        let Self::Inside { retained, body, tag, searched } = self else { return };
        let closing = format!("</{tag}>");
        let found = retained[*searched..].to_ascii_lowercase().find(&closing);
        let Some(end) = found.map(|at| at + *searched) else {
            let next = retained.len().saturating_sub(closing.len()).max(*body);
            *searched = retained.floor_char_boundary(next).max(*body);
            return;
        };
        let (retained, body) = (std::mem::take(retained), *body);
        *self = Self::After;
        out(TextKind::Reasoning, &retained[body..end]);
        self.push(&retained[end + closing.len()..], out);
    }
}

fn opening(retained: &str) -> TagOpening {
    let text = retained.trim_start();
    let Some(inside) = text.strip_prefix('<') else {
        return if text.is_empty() { TagOpening::NotYet } else { TagOpening::No };
    };
    match inside.split_once('>') {
        Some((name, _)) => match TAGS.iter().find(|tag| tag.eq_ignore_ascii_case(name)) {
            Some(tag) => TagOpening::Tag(tag, retained.len() - inside.len() + name.len() + 1),
            None => TagOpening::No,
        },
        None => {
            let begun = |tag: &&str| {
                tag.get(..inside.len()).is_some_and(|t| t.eq_ignore_ascii_case(inside))
            };
            if TAGS.iter().any(begun) { TagOpening::NotYet } else { TagOpening::No }
        }
    }
}

/// Returns a whole text without its leading section.
pub(crate) fn visible(text: &str) -> String {
    let (mut filter, mut shown) = (ThinkTagFilter::default(), String::new());
    let mut keep = |kind, piece: &str| {
        if kind == TextKind::Answer {
            shown.push_str(piece);
        }
    };
    filter.push(text, &mut keep);
    filter.end(&mut keep);
    shown
}

#[cfg(test)]
mod tests {
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

    /// Feeds `text` in pieces of every size, and compares its `(reasoning, visible)` parts.
    fn check_think_tags(text: &str, expect: (&str, &str)) {
        for size in 1..=text.len().max(1) {
            let (mut filter, mut sorted) =
                (ThinkTagFilter::default(), (String::new(), String::new()));
            let mut keep = |kind, piece: &str| match kind {
                TextKind::Reasoning => sorted.0.push_str(piece),
                TextKind::Answer => sorted.1.push_str(piece),
            };
            let mut piece = String::new();
            for c in text.chars() {
                piece.push(c);
                if piece.len() >= size {
                    filter.push(&std::mem::take(&mut piece), &mut keep);
                }
            }
            filter.push(&piece, &mut keep);
            filter.end(&mut keep);
            assert_eq!((sorted.0.as_str(), sorted.1.as_str()), expect, "{text:?} by {size}");
        }
        assert_eq!(visible(text), expect.1);
    }

    #[test]
    pub(crate) fn t6_a_leading_section_is_reasoning() {
        check_think_tags("<think>plan é</think>\n\nHi <think>", ("plan é", "Hi <think>"));
        check_think_tags(" \n<THINKING>a</think></Thinking>b", ("a</think>", "b"));
        check_think_tags("<thought></thought>x", ("", "x"));
    }

    #[test]
    pub(crate) fn t6_anything_else_is_text() {
        for text in [
            "plain",
            "",
            "  ",
            " <b>x</b>",
            "<thinker>x",
            "<think>never closed",
            "x<think>y</think>",
            "<",
        ] {
            check_think_tags(text, ("", text));
        }
    }

    #[test]
    fn t6_text_is_withheld_only_while_it_could_be_a_tag() {
        let mut filter = ThinkTagFilter::default();
        let mut seen = Vec::new();
        for piece in ["<th", "x", "y"] {
            filter.push(piece, &mut |kind, piece| seen.push(format!("{kind:?} {piece}")));
            seen.push("|".to_owned());
        }
        assert_eq!(seen.concat(), "|Answer <thx|Answer y|");
    }
}
