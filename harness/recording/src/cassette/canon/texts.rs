//! Cuts the stream into texts so that each value is whole in one of them.
//!
//! A value may be split over several deltas of one block, so their strings are joined, as they
//! are between their quotes: an escape is never split, and a surrogate pair is whole again.
//! The rest of a line is one more text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use clitape_stream::tree::{JsonBody, JsonNode};

use super::splice::ByteEdit;

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

/// A text, as the places that its bytes come from, in order.
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

    /// Adds the edits that put `with` in the place of `found`, a part of [`TextParts::bytes`].
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

/// Identifies a string of a block: the conversation's parent, the index of the block, and the name
/// of the delta's field.
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

    /// Adds the strings of a record that continue a block of a message to the texts of that block, and
    /// returns where they are, in the order of the line.
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
