//! Replacements over a stretch of bytes, made in one go, and where every old offset went.

use std::collections::BTreeMap;
use std::ops::Range;

/// One replacement that changes something.
#[derive(Debug, Clone)]
pub(crate) struct ByteEdit {
    /// The bytes to go.
    pub(crate) span: Range<usize>,
    /// The bytes to come.
    pub(crate) with: Vec<u8>,
    /// Id of the rule that counts it; none for the further parts of a split value.
    pub(crate) rule: Option<&'static str>,
}

/// Bytes in canonical form, and how they came about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Canonical {
    /// The canonical bytes.
    pub bytes: Vec<u8>,
    /// Replacements that changed something, by rule id.
    pub counts: BTreeMap<String, u64>,
    moves: Vec<Move>,
}

/// A stretch that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Move {
    from: Range<usize>,
    to: Range<usize>,
}

impl Canonical {
    /// The offset in the canonical bytes for the offset `raw` in the bytes before the replacements.
    ///
    /// It never falls when `raw` grows, keeps the ends of lines, and an offset inside a replaced
    /// value stays inside its placeholder. Meant for read boundaries.
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

/// Makes the replacements; of two that overlap, the one that starts first or is longer.
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
