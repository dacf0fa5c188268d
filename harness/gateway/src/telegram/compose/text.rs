//! A stretch of text in the draft, of the answer or of the reasoning.

use std::sync::Arc;

use super::super::DraftMode;
use super::super::markup::{Style, StyledText, finished, mend, piece, read};
use crate::excerpt::prefix;

/// Characters of one stretch of reasoning that show, the newest.
const THOUGHT_LIMIT: usize = 1_000;
/// The messages' worth of bytes that are read of a text that still grows: more than the first
/// message shows, whatever marks there are in it.
const READ: usize = 4;
/// The messages' worth of bytes that are kept of an answer: more than is read of it, so that it
/// looks as it would with its rest.
const RETAINED: usize = 16;
/// The messages' worth of characters that are kept of a text that has ended: more than its first
/// message shows, so that it is known to go on.
const KEPT: usize = 3;

/// The source of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::telegram) enum TextLane {
    Answer,
    Thought,
}

/// A stretch of text.
#[derive(Debug)]
pub(super) struct TextPart {
    pub(super) lane: TextLane,
    /// The text; of a long answer the beginning.
    text: String,
    /// The bytes of all of it.
    length: usize,
    /// The bytes in blocks that have ended. They stay so, although a line may come that continues the last one.
    finished: usize,
    /// Its look once something follows it.
    ended: Option<TextLook>,
    /// Its look while it may still grow, and the number of bytes of it that were read for that.
    growing: Option<(TextLook, usize)>,
}

/// The look of a text.
#[derive(Debug, Clone)]
pub(super) struct TextLook {
    pub(super) pieces: Arc<[StyledText]>,
    /// The number of letters that show.
    pub(super) letters: usize,
}

/// The mode in which a text is shown, and the number of characters that a message may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    pub(super) mode: DraftMode,
    pub(super) limit: usize,
}

impl TextPart {
    /// A text for messages of so many characters.
    pub(super) fn new(lane: TextLane, text: &str, limit: usize) -> Self {
        let mut part =
            Self { lane, text: String::new(), length: 0, finished: 0, ended: None, growing: None };
        part.push(text, limit);
        part
    }

    pub(super) fn push(&mut self, more: &str, limit: usize) {
        let room = match self.lane {
            TextLane::Answer => (RETAINED * limit).saturating_sub(self.text.len()),
            TextLane::Thought => usize::MAX,
        };
        // A text that was cut can't grow at its end.
        if self.is_whole() && room > 0 {
            self.text.push_str(prefix(more, room));
            self.ended = None;
        }
        self.length += more.len();
    }

    /// The bytes of all of it.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Returns whether all of it is kept.
    fn is_whole(&self) -> bool {
        self.text.len() == self.length
    }

    /// Returns whether it is so long that more text shows only when something follows it.
    pub(super) fn is_beyond(&self, limit: usize) -> bool {
        self.lane == TextLane::Answer && self.length > READ * limit
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Keeps the beginning that `left` has in common with it; of a long answer no more than is kept
    /// here, because the rest can't be compared. Returns the part of `left` behind the text, which
    /// is empty unless all of the text is kept.
    pub(super) fn keep_beginning_of<'l>(&mut self, left: &'l str) -> &'l str {
        if let Some(rest) = left.strip_prefix(self.text.as_str())
            && self.is_whole()
        {
            return rest;
        }
        let same = self.text.chars().zip(left.chars()).take_while(|(a, b)| a == b);
        self.text.truncate(same.map(|(c, _)| c.len_utf8()).sum());
        self.length = self.text.len();
        self.finished = 0;
        (self.ended, self.growing) = (None, None);
        ""
    }

    /// Returns its look when something follows; `None` if it has no letter.
    pub(super) fn ended(&mut self, how: Shown) -> Option<&TextLook> {
        let (text, lane) = (&self.text, self.lane);
        let look = self.ended.get_or_insert_with(|| {
            TextLook::of(beginning(pieces(lane, text, false, how.mode), KEPT * how.limit))
        });
        (look.letters > 0).then_some(&*look)
    }

    /// Returns its look while it may still grow; `None` if it has no letter.
    pub(super) fn growing(&mut self, how: Shown) -> Option<&TextLook> {
        let text = match self.lane {
            TextLane::Answer => prefix(&self.text, READ * how.limit),
            TextLane::Thought => &self.text,
        };
        // Text behind the part that is read does not change the look.
        let known = self.growing.take().filter(|(_, read)| *read == text.len());
        let read = || {
            let shown = match (self.lane, how.mode) {
                (TextLane::Answer, DraftMode::Block) => {
                    self.finished = self.finished.max(finished(text).len());
                    &text[..self.finished]
                }
                _ => text,
            };
            (TextLook::of(pieces(self.lane, shown, true, how.mode)), text.len())
        };
        let (look, _) = self.growing.insert(known.unwrap_or_else(read));
        (look.letters > 0).then_some(&*look)
    }
}

impl TextLook {
    fn of(pieces: Vec<StyledText>) -> Self {
        Self { letters: letters(&pieces), pieces: pieces.into() }
    }
}

/// The pieces of a text, which may still grow if it `is_open`.
fn pieces(lane: TextLane, text: &str, is_open: bool, mode: DraftMode) -> Vec<StyledText> {
    let text = text.trim_start_matches('\n');
    match (lane, mode) {
        // Reasoning is plain text, not Markdown.
        (TextLane::Thought, _) => vec![piece(Style::ITALIC, newest(text.trim()))],
        (TextLane::Answer, DraftMode::Block) if is_open => read(text),
        (TextLane::Answer, _) if is_open => read(&mend(text.trim_end())),
        (TextLane::Answer, _) => read(text.trim_end()),
    }
}

/// The number of characters other than blanks.
fn letters(pieces: &[StyledText]) -> usize {
    let all = pieces.iter().flat_map(|piece| piece.text.chars());
    all.filter(|c| !c.is_whitespace()).count()
}

/// The pieces up to the first letter behind so many characters.
fn beginning(mut pieces: Vec<StyledText>, characters: usize) -> Vec<StyledText> {
    let mut left = characters;
    let end = pieces.iter().enumerate().find_map(|(place, piece)| {
        let mut all = piece.text.char_indices();
        let within = all.by_ref().take(left).count();
        left -= within;
        let (at, c) = all.find(|(_, c)| left == 0 && !c.is_whitespace())?;
        Some((place, at + c.len_utf8()))
    });
    if let Some((place, at)) = end {
        pieces.truncate(place + 1);
        pieces[place].text.truncate(at);
        pieces.shrink_to_fit();
    }
    pieces
}

/// The end of `text`, from a word.
fn newest(text: &str) -> String {
    let Some((start, _)) = text.char_indices().rev().nth(THOUGHT_LIMIT - 1) else {
        return text.to_owned();
    };
    if start == 0 {
        return text.to_owned();
    }
    let end = &text[start..];
    // A text without a blank begins inside a word.
    let word = end.find(char::is_whitespace).unwrap_or_default();
    format!("…{}", &end[word..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_ends_with_a_letter() {
        let check = |texts: &[&str], characters, expect: &[&str]| {
            let pieces = texts.iter().map(|text| piece(Style::PLAIN, *text)).collect();
            let kept: Vec<_> = beginning(pieces, characters).into_iter().map(|p| p.text).collect();
            assert_eq!(kept, expect);
        };
        check(&["abc"], 5, &["abc"]);
        check(&["abc"], 3, &["abc"]);
        check(&["abc"], 2, &["abc"]);
        check(&["abcd"], 2, &["abc"]);
        check(&["ab", "cd", "ef"], 3, &["ab", "cd"]);
        check(&["ab", "cd", "ef"], 2, &["ab", "c"]);
        check(&["ab  ", "  \n", " éf", "g"], 2, &["ab  ", "  \n", " é"]);
        check(&["ab  ", "  "], 2, &["ab  ", "  "]);
    }

    #[test]
    fn an_answer_is_read_from_its_beginning_and_reasoning_from_its_end() {
        let long = "x".repeat(READ * 10 + 1);
        for (lane, text, expect) in [
            (TextLane::Answer, &long[..], true),
            (TextLane::Answer, &long[1..], false),
            (TextLane::Thought, &long, false),
        ] {
            assert_eq!(TextPart::new(lane, text, 10).is_beyond(10), expect, "{lane:?}");
        }
    }

    #[test]
    fn what_is_added_behind_the_part_that_is_read_is_not_read_again() {
        let how = Shown { mode: DraftMode::Partial, limit: 10 };
        for (size, expect) in [(READ * 10, true), (READ * 10 - 2, false)] {
            let mut text = TextPart::new(TextLane::Answer, &"x".repeat(size), how.limit);
            let mut look = || {
                text.push("y", how.limit);
                text.growing(how).expect("a letter shows").pieces.clone()
            };
            let (before, after) = (look(), look());
            assert_eq!(Arc::ptr_eq(&before, &after), expect, "{size}");
        }
    }

    #[test]
    fn a_block_that_has_ended_stays_when_a_line_continues_it() {
        let how = Shown { mode: DraftMode::Block, limit: 100 };
        let mut text = TextPart::new(TextLane::Answer, "- one\n\n", how.limit);
        let mut look = |more: &str| {
            text.push(more, how.limit);
            let look = text.growing(how).expect("the list shows");
            look.pieces.iter().map(|piece| piece.text.as_str()).collect::<String>()
        };
        assert_eq!(look(""), "• one");
        assert_eq!(look("  more of it\n"), "• one");
        assert_eq!(look("\nafter it"), "• one\n\n  more of it");
    }

    #[test]
    fn of_a_long_answer_the_beginning_is_kept() {
        let long = "é".repeat(RETAINED * 10);
        for (lane, text, kept) in [
            (TextLane::Answer, &long[..], RETAINED * 10),
            (TextLane::Answer, &long[..RETAINED * 10 - 2], RETAINED * 10 - 2),
            (TextLane::Thought, &long, long.len()),
        ] {
            let mut part = TextPart::new(lane, text, 10);
            part.push("", 10);
            assert_eq!((part.text.len(), part.len()), (kept, text.len()), "{lane:?}");
            let rest = part.keep_beginning_of(&format!("{long}behind")).len();
            let is_whole = kept == text.len();
            assert_eq!(rest, if is_whole { long.len() + 6 - kept } else { 0 }, "{lane:?}");
            assert_eq!(part.len(), kept, "{lane:?}");
        }
    }

    #[test]
    fn v9_the_end_of_reasoning_begins_with_a_word() {
        assert_eq!(newest("a b"), "a b");
        let long = format!("{} end", "x".repeat(THOUGHT_LIMIT));
        assert_eq!(newest(&long), "… end");
        assert_eq!(newest(&"é".repeat(THOUGHT_LIMIT)), "é".repeat(THOUGHT_LIMIT));
        assert_eq!(
            newest(&"é".repeat(THOUGHT_LIMIT + 1)),
            format!("…{}", "é".repeat(THOUGHT_LIMIT))
        );
    }
}
