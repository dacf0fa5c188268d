//! Cuts the stream into texts so that each value is whole in one of them.
//!
//! A value may be split over several deltas of one block, so their strings are joined between their quotes: an escape
//! is never split, and a surrogate pair is whole again. The rest of a line is one more text. All values ([`Needle`])
//! are searched in a text at once; of several at one place, the longest is taken. All replacements in a text are made
//! at once as well, and every old offset maps to a new one ([`Canonical`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use clitape_stream::tree::{JsonBody, JsonNode};

/// Returns the spans of the lines of `raw` without their LF.
pub(crate) fn lines(raw: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = raw.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        let line = start..start + length;
        start += length + 1;
        Some(line)
    })
}

/// Returns the records of a line: one if it is a JSON object, several if it is an array of objects.
pub(super) fn records(raw: &[u8], line: &Range<usize>) -> Vec<JsonNode> {
    let is_object = |node: &JsonNode| matches!(node.body, JsonBody::Object(_));
    match JsonNode::read(raw, line) {
        Some(JsonNode { body: JsonBody::Array(nodes), .. }) if nodes.iter().all(is_object) => nodes,
        node => node.into_iter().filter(is_object).collect(),
    }
}

/// A text, as the list of places in the stream that its bytes come from.
#[derive(Debug, Default)]
pub(crate) struct TextParts {
    /// The spans of its bytes in the stream.
    pub(crate) pieces: Vec<Range<usize>>,
}

impl TextParts {
    /// Makes the text of the first `length` bytes.
    pub(crate) fn whole(length: usize) -> Self {
        Self { pieces: std::iter::once(0..length).collect() }
    }

    /// Returns the bytes of the text.
    pub(crate) fn bytes<'r>(&self, raw: &'r [u8]) -> Cow<'r, [u8]> {
        match &self.pieces[..] {
            [] => Cow::Borrowed(&[]),
            [piece] => Cow::Borrowed(&raw[piece.clone()]),
            pieces => Cow::Owned(pieces.iter().flat_map(|p| &raw[p.clone()]).copied().collect()),
        }
    }

    /// Adds the edits that replace `found`, a range of [`TextParts::bytes`], by `with`.
    ///
    /// A boundary `k` bytes into `found` is then `k` bytes into `with`, or at its end.
    pub(crate) fn replace(
        &self,
        found: &Range<usize>,
        with: &[u8],
        rule: &'static str,
        edits: &mut Vec<ByteEdit>,
    ) {
        let mut rule = Some(rule);
        let mut offset = 0;
        for piece in &self.pieces {
            let part = offset.max(found.start)..(offset + piece.len()).min(found.end);
            if part.start < part.end {
                let last = part.end == found.end;
                let from = (part.start - found.start).min(with.len());
                let to = if last { with.len() } else { part.end - found.start };
                edits.push(ByteEdit {
                    span: piece.start + part.start - offset..piece.start + part.end - offset,
                    with: with[from..to.min(with.len())].to_vec(),
                    rule: rule.take(),
                });
            }
            offset += piece.len();
        }
    }
}

/// The key of a string of a block: the conversation's parent, the index of the block, and the name of the delta's
/// field.
type Strand = (Vec<u8>, Vec<u8>, String);

/// Collects the texts of a stream, line by line.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// The texts so far.
    pub(crate) all: Vec<TextParts>,
    open: BTreeMap<Strand, usize>,
}

impl Texts {
    /// Adds a line with its records.
    pub(super) fn add(&mut self, raw: &[u8], line: &Range<usize>, records: &[JsonNode]) {
        let mut rest = line.start;
        for record in records {
            for span in self.join(raw, record) {
                self.plain(rest..span.start);
                rest = span.end;
            }
        }
        self.plain(rest..line.end);
    }

    /// Adds the strings of a record that continue a block of a message to the texts of that block; returns their spans,
    /// in the order of the line.
    pub(crate) fn join(&mut self, raw: &[u8], node: &JsonNode) -> Vec<Range<usize>> {
        let mut joined = Vec::new();
        for (strand, span) in self.strands(raw, node) {
            let text = *self.open.entry(strand).or_insert_with(|| {
                self.all.push(TextParts::default());
                self.all.len() - 1
            });
            self.all[text].pieces.push(span.clone());
            joined.push(span);
        }
        joined
    }

    fn plain(&mut self, span: Range<usize>) {
        if !span.is_empty() {
            self.all.push(TextParts { pieces: vec![span] });
        }
    }

    /// Returns the strings of a stream event that belong to a strand. The start of a message or of a
    /// block ends the strands before it.
    fn strands(&mut self, raw: &[u8], node: &JsonNode) -> Vec<(Strand, Range<usize>)> {
        let Some(event) = node.get("event") else {
            return Vec::new();
        };
        let bytes = |node: Option<&JsonNode>| node.map_or(&b""[..], |node| &raw[node.span.clone()]);
        let parent = bytes(node.get("parent_tool_use_id"));
        let index = bytes(event.get("index"));
        let of_block = |(p, i, _): &Strand| p == parent && i == index;
        let (holder, fields): (_, fn(&str) -> bool) =
            match event.get("type").map(|kind| kind.text(raw)) {
                Some(b"message_start") => {
                    self.open.retain(|(p, _, _), _| p != parent);
                    return Vec::new();
                }
                Some(b"content_block_start") => {
                    self.open.retain(|strand, _| !of_block(strand));
                    ("content_block", |key| matches!(key, "text" | "thinking"))
                }
                Some(b"content_block_delta") => ("delta", |key| key != "type"),
                _ => return Vec::new(),
            };
        let strings = event.get(holder).into_iter().flat_map(JsonNode::members);
        strings
            .filter(|(key, _)| fields(key))
            .filter_map(|(key, value)| {
                let strand = (parent.to_vec(), index.to_vec(), key.clone());
                Some((strand, value.interior()?))
            })
            .collect()
    }
}

/// The places in which a needle may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// The needle may occur anywhere.
    Any,
    /// The needle must not be next to a letter, a digit or `_`.
    Word,
    /// The same as [`Edge::Word`], and the needle must be neither the key of an object nor the value of a field that
    /// names the object's kind, such as `type`.
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

/// The needles with the same first bytes. They have few lengths, even if they are many.
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

/// Returns whether a byte belongs to a word: a letter, a digit or `_`.
fn is_word(byte: &u8) -> bool {
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

/// The fields that name the kind of an object. A user's name may equal a kind, such as `text`; the kind must then stay
/// unchanged.
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

/// A range that was replaced: its old place and its new one.
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
