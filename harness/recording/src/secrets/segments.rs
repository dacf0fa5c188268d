//! A file as texts in which a secret is whole.

use std::borrow::Cow;
use std::ops::Range;

use clitape_gateway::sanitise::{NameKind, ObjectSays, flag_kind};
use clitape_stream::tree::{JsonBody, JsonNode};

use crate::cassette::canon::texts::{self, Texts};

/// A text of a file.
#[derive(Debug)]
pub(super) struct Segment {
    /// The places its bytes come from, in order.
    pub(super) pieces: Vec<Range<usize>>,
    /// The kind of the text.
    pub(super) what: SegmentKind,
}

impl Segment {
    /// Its bytes.
    pub(super) fn bytes<'r>(&self, raw: &'r [u8]) -> Cow<'r, [u8]> {
        match &self.pieces[..] {
            [piece] => Cow::Borrowed(&raw[piece.clone()]),
            pieces => Cow::Owned(pieces.iter().flat_map(|p| &raw[p.clone()]).copied().collect()),
        }
    }

    /// Where the byte `at` of [`Segment::bytes`] is in the file.
    pub(super) fn place(&self, at: usize) -> usize {
        let mut before = 0;
        for piece in &self.pieces {
            if at < before + piece.len() {
                return piece.start + at - before;
            }
            before += piece.len();
        }
        self.pieces.last().map_or(0, |piece| piece.end)
    }
}

/// The kind of a [`Segment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentKind {
    /// Lines that are not JSON.
    Lines,
    /// The text between the quotes of a JSON string, or of several that continue each other.
    String,
    /// A JSON string or number under a secret name of this kind: it is a secret as a whole.
    Secret(NameKind),
}

/// The texts of a file, in the order of their first bytes.
pub(super) fn segments(raw: &[u8]) -> Vec<Segment> {
    let (mut found, mut texts) = (Vec::new(), Texts::default());
    for line in texts::lines(raw) {
        let node = JsonNode::read(raw, &line);
        let Some(node) = node.filter(|node| !matches!(node.body, JsonBody::Other)) else {
            add_line(&mut found, &line);
            continue;
        };
        let mut joined = texts.join(raw, &node);
        joined.sort_by_key(|span| span.start);
        SegmentWalk { raw, joined: &joined, found: &mut found }.value(&node, None);
    }
    let strings = texts.all.into_iter();
    found.extend(strings.map(|text| Segment { pieces: text.pieces, what: SegmentKind::String }));
    found.sort_by_key(|segment| segment.pieces.first().map_or(0, |piece| piece.start));
    found
}

/// Adds a line to the text of the lines before it: a key may have several.
fn add_line(found: &mut Vec<Segment>, line: &Range<usize>) {
    let last = found.last_mut().filter(|last| last.what == SegmentKind::Lines);
    match last.and_then(|last| last.pieces.last_mut()).filter(|piece| piece.end + 1 == line.start) {
        Some(piece) => piece.end = line.end,
        None => found.push(Segment { pieces: vec![line.clone()], what: SegmentKind::Lines }),
    }
}

struct SegmentWalk<'r> {
    raw: &'r [u8],
    /// The strings of the line that belong to a block of a message.
    joined: &'r [Range<usize>],
    found: &'r mut Vec<Segment>,
}

impl<'r> SegmentWalk<'r> {
    fn value(&mut self, node: &JsonNode, secret: Option<NameKind>) {
        match &node.body {
            JsonBody::Object(members) => {
                let texts = members.iter().map(|(name, value)| (&**name, self.text(value)));
                let says = ObjectSays::of(texts);
                let mut end = node.span.start + 1;
                for (name, value) in members {
                    self.key(end..value.span.start);
                    end = value.span.end;
                    self.value(value, says.kind(name, secret));
                }
            }
            JsonBody::Array(items) => {
                let mut before = None;
                for item in items {
                    self.value(item, secret.or_else(|| before.and_then(flag_kind)));
                    before = self.text(item);
                }
            }
            JsonBody::String => {
                if let Some(span) = node.interior() {
                    self.add(span, secret.map_or(SegmentKind::String, SegmentKind::Secret));
                }
            }
            JsonBody::Other => match (self.raw[node.span.start], secret) {
                // It nests deeper than the walk goes.
                (b'{' | b'[', _) => self.add(node.span.clone(), SegmentKind::String),
                (b'0'..=b'9' | b'-', Some(kind)) if self.is_plain_number(&node.span) => {
                    self.add(node.span.clone(), SegmentKind::Secret(kind));
                }
                _ => {}
            },
        }
    }

    /// The bytes between the quotes of a string, where they are UTF-8.
    fn text(&self, node: &JsonNode) -> Option<&'r str> {
        let span = node.interior().filter(|_| matches!(node.body, JsonBody::String))?;
        str::from_utf8(&self.raw[span]).ok()
    }

    /// Whether a number has digits only: a fake of one with an exponent would be no number.
    fn is_plain_number(&self, span: &Range<usize>) -> bool {
        self.raw[span.clone()].iter().all(|b| b.is_ascii_digit() || b".-".contains(b))
    }

    /// The key that is in `gap`, what is between a value and the one before it.
    fn key(&mut self, gap: Range<usize>) {
        let bytes = &self.raw[gap.clone()];
        let quote = |b: &u8| *b == b'"';
        if let (Some(first), Some(last)) =
            (bytes.iter().position(quote), bytes.iter().rposition(quote))
        {
            self.add(gap.start + first + 1..gap.start + last.max(first + 1), SegmentKind::String);
        }
    }

    fn add(&mut self, span: Range<usize>, what: SegmentKind) {
        let is_joined = self.joined.binary_search_by_key(&span.start, |s| s.start).is_ok();
        // Text in which no rule can match is not searched.
        if !is_joined && (span.len() >= SHORTEST || what != SegmentKind::String) && !span.is_empty()
        {
            self.found.push(Segment { pieces: vec![span], what });
        }
    }
}

/// The length in bytes below which no text has a secret in it, such as `token=a1b2`.
const SHORTEST: usize = 7;
