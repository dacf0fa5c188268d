//! Makes all replacements in a text at once, and maps every old offset to its new one.

use std::collections::BTreeMap;
use std::ops::Range;

/// One replacement, which changes at least one byte.
#[derive(Debug, Clone)]
pub(crate) struct ByteEdit {
    /// The range of the bytes that are replaced.
    pub(crate) span: Range<usize>,
    /// The bytes that replace them.
    pub(crate) with: Vec<u8>,
    /// The id of the rule that counts the replacement; `None` for the further parts of a split value.
    pub(crate) rule: Option<&'static str>,
}

/// The canonical form of a text, and the replacements that made it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Canonical {
    /// The canonical bytes.
    pub bytes: Vec<u8>,
    /// The number of replacements, by the id of their rule.
    pub counts: BTreeMap<String, u64>,
    moves: Vec<Move>,
}

/// A range that was replaced, before and after the replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Move {
    from: Range<usize>,
    to: Range<usize>,
}

impl Canonical {
    /// Returns the offset in the canonical bytes for the offset `raw` in the bytes before the replacements.
    ///
    /// The result never falls when `raw` grows, the end of a line stays the end of that line, and an offset
    /// inside a replaced value stays inside its placeholder. The timeline's read boundaries are mapped with it.
    pub fn map_offset(&self, raw: u64) -> u64 {
        let raw = usize::try_from(raw).unwrap_or(usize::MAX);
        let before = self.moves.partition_point(|step| step.from.start < raw);
        let mapped = match before.checked_sub(1).and_then(|i| self.moves.get(i)) {
            None => raw,
            Some(Move { from, to }) if raw < from.end => {
                to.start + (raw - from.start).min(to.len())
            }
            Some(Move { from, to }) => to.end.saturating_add(raw - from.end),
        };
        mapped.min(self.bytes.len()) as u64
    }
}

/// Makes the replacements. Of two that overlap, it makes the one that starts first, or else the longer one.
pub(crate) fn splice(raw: &[u8], mut edits: Vec<ByteEdit>) -> Canonical {
    edits.sort_by(|a, b| {
        (a.span.start, b.span.end, &a.rule).cmp(&(b.span.start, a.span.end, &b.rule))
    });
    let mut result = Canonical::default();
    let mut done = 0;
    for edit in edits {
        if edit.span.start < done {
            continue;
        }
        result.bytes.extend(&raw[done..edit.span.start]);
        done = edit.span.end;
        let start = result.bytes.len();
        result.bytes.extend(&edit.with);
        result.moves.push(Move { from: edit.span, to: start..result.bytes.len() });
        if let Some(rule) = edit.rule {
            *result.counts.entry(rule.to_owned()).or_default() += 1;
        }
    }
    result.bytes.extend(&raw[done..]);
    result
}
