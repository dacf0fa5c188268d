//! Finds many values (needles) in a text at once. Where several values fit, the longest is taken.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// The places in which a needle may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// The needle may occur anywhere.
    Any,
    /// The needle must not be next to a letter, a digit or `_`.
    Word,
    /// As [`Edge::Word`]; in addition, the needle must be neither the key of an object nor the value of a
    /// field that names the object's kind, such as `type`.
    Value,
}

/// A value that is replaced wherever it occurs.
#[derive(Debug, Clone)]
pub(super) struct Needle {
    /// The bytes of the value as JSON writes them, at least [`SHORTEST`] of them.
    pub(super) text: Vec<u8>,
    /// The placeholder of the value.
    pub(super) with: String,
    /// The id of the rule that counts the replacement.
    pub(super) rule: &'static str,
    /// The places in which it may occur.
    pub(super) edge: Edge,
}

/// The least length of a needle, in bytes; shorter values are not replaced.
pub(super) const SHORTEST: usize = 3;

/// A number between two fixed texts, which becomes `0`.
struct Number {
    before: &'static [u8],
    after: &'static [u8],
    rule: &'static str,
}

const NUMBERS: [Number; 4] = [
    Number { before: b"duration_ms: ", after: b"", rule: "duration" },
    Number { before: b"<duration_ms>", after: b"</duration_ms>", rule: "duration" },
    Number { before: b"/cc-socks/", after: b".sock", rule: "pid" },
    Number { before: b"/claude-", after: b"/-", rule: "uid" },
];

/// A range of a text that is to be replaced.
#[derive(Debug)]
pub(super) struct NeedleMatch<'m> {
    /// The range of bytes in the text.
    pub(super) span: Range<usize>,
    /// The replacement.
    pub(super) with: &'m str,
    /// The id of the rule that counts the replacement.
    pub(super) rule: &'static str,
}

/// All needles, grouped by their first bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Matcher {
    needles: HashMap<[u8; SHORTEST], NeedleGroup>,
}

/// Needles with the same first bytes. They have few lengths, however many they are.
#[derive(Debug, Clone, Default)]
struct NeedleGroup {
    /// The lengths of their texts in bytes, the longest first.
    lengths: Vec<usize>,
    /// The needles of each text.
    by_text: HashMap<Vec<u8>, Vec<Needle>>,
}

impl Matcher {
    /// Makes a matcher of these needles. Of two needles with the same text, the first is used.
    pub(super) fn new(needles: impl IntoIterator<Item = Needle>) -> Self {
        let mut matcher = Self::default();
        for needle in needles {
            if let Some(head) = needle.text.first_chunk() {
                let group = matcher.needles.entry(*head).or_default();
                group.by_text.entry(needle.text.clone()).or_default().push(needle);
            }
        }
        for group in matcher.needles.values_mut() {
            let lengths: BTreeSet<usize> = group.by_text.keys().map(Vec::len).collect();
            group.lengths = lengths.into_iter().rev().collect();
        }
        matcher
    }

    /// Returns the ranges of `text` that are to be replaced, in order and without overlap.
    ///
    /// A placeholder is found too and is replaced by itself, so that a canonical text stays as it is.
    pub(super) fn find(&self, text: &[u8]) -> Vec<NeedleMatch<'_>> {
        let mut all = Vec::new();
        let mut at = 0;
        while at < text.len() {
            if let Some(found) = self.needle_at(text, at).or_else(|| number_at(text, at)) {
                at = found.span.end;
                all.push(found);
            } else {
                at += 1;
            }
        }
        all
    }

    fn needle_at(&self, text: &[u8], at: usize) -> Option<NeedleMatch<'_>> {
        let group = self.needles.get(text[at..].first_chunk::<SHORTEST>()?)?;
        let needle = group.lengths.iter().find_map(|length| {
            let same = group.by_text.get(text.get(at..at + length)?)?;
            same.iter().find(|needle| fits(text, at, needle))
        })?;
        Some(NeedleMatch {
            span: at..at + needle.text.len(),
            with: &needle.with,
            rule: needle.rule,
        })
    }
}

fn number_at(text: &[u8], at: usize) -> Option<NeedleMatch<'static>> {
    NUMBERS.iter().find_map(|number| {
        let before = text[..at].ends_with(number.before);
        let digits = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let end = at + digits;
        (before && digits > 0 && text[end..].starts_with(number.after)).then_some(NeedleMatch {
            span: at..end,
            with: "0",
            rule: number.rule,
        })
    })
}

fn fits(text: &[u8], at: usize, needle: &Needle) -> bool {
    let end = at + needle.text.len();
    let word = || !is_word_before(text, at) && !text.get(end).is_some_and(is_word);
    match needle.edge {
        Edge::Any => true,
        Edge::Word => word(),
        Edge::Value => {
            word() && !is_key(&text[..at], &text[end..]) && !is_kind(&text[..at], &text[end..])
        }
    }
}

/// Returns whether a byte belongs to a word.
pub(super) fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Returns whether the byte before `at` belongs to a word. The letter of an escape such as `\n` does not.
pub(super) fn is_word_before(text: &[u8], at: usize) -> bool {
    let escape = match &text[..at] {
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|x| x.is_ascii_hexdigit()),
        _ => false,
    };
    !escape && at.checked_sub(1).is_some_and(|i| is_word(&text[i]))
}

/// The fields that name the kind of an object. A user's name may equal a kind, such as `text`; the kind must
/// then stay as it is.
const KINDS: [&[u8]; 3] = [b"type", b"subtype", b"role"];

/// Returns whether the word between two parts of a text is the whole value of a field that names a kind. The
/// quotes may be escaped, as in JSON inside a string.
fn is_kind(before: &[u8], after: &[u8]) -> bool {
    let unquoted = |text: &[u8]| -> Option<usize> {
        let text = text.strip_suffix(b"\"")?;
        Some(text.len() - text.iter().rev().take_while(|byte| **byte == b'\\').count())
    };
    let key = unquoted(before).and_then(|end| {
        let before = before[..end].trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
        Some(&before[..unquoted(before)?])
    });
    let is_named = |key: &[u8]| {
        KINDS.iter().any(|kind| key.strip_suffix(*kind).is_some_and(|rest| rest.ends_with(b"\"")))
    };
    key.is_some_and(is_named) && (after.starts_with(b"\"") || after.starts_with(b"\\"))
}

fn is_key(before: &[u8], after: &[u8]) -> bool {
    let quoted = before.last() == Some(&b'"');
    quoted && (after.starts_with(b"\":") || after.starts_with(b"\\\":"))
}
