//! One line of the stream as a tree of byte spans.
//!
//! Only keys are decoded, so a line keeps its bytes, and escapes that no Rust string can contain
//! (a lone surrogate) pass.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// Containers below this depth are leaves: a line may nest deeper than the stack.
const DEPTH: usize = 96;

/// A value and its place in the whole stream.
#[derive(Debug)]
pub(crate) struct JsonNode {
    /// From its first byte to behind its last, quotes and braces included.
    pub(crate) span: Range<usize>,
    /// Its content.
    pub(crate) body: JsonBody,
}

/// The content of a [`Node`].
#[derive(Debug)]
pub(crate) enum JsonBody {
    /// Members in their order in the text.
    Object(Vec<(String, JsonNode)>),
    /// Items.
    Array(Vec<JsonNode>),
    /// A string.
    String,
    /// A number, `true`, `false`, `null`, or a container too deep to enter.
    Other,
}

impl JsonNode {
    /// The first member of that name.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().find_map(|(name, node)| (name == key).then_some(node))
    }

    /// The node at the end of a path of names.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The members of an object; none for anything else.
    pub(crate) fn members(&self) -> &[(String, Self)] {
        match &self.body {
            JsonBody::Object(members) => members,
            _ => &[],
        }
    }

    /// The place of the text of a string, without the quotes.
    pub(crate) fn interior(&self) -> Option<Range<usize>> {
        matches!(self.body, JsonBody::String).then(|| self.span.start + 1..self.span.end - 1)
    }

    /// The text of a string with its escapes; empty for any other value.
    pub(crate) fn text<'r>(&self, raw: &'r [u8]) -> &'r [u8] {
        self.interior().map_or(&[], |span| &raw[span])
    }
}

/// The spans of the lines of `raw`, their LF excluded.
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

/// The tree of one line, when it is a JSON object.
pub(crate) fn parse(raw: &[u8], line: &Range<usize>) -> Option<JsonNode> {
    value(raw, line).filter(|node| matches!(node.body, JsonBody::Object(_)))
}

/// The tree of one line, when it is a JSON value of any type.
pub(crate) fn value(raw: &[u8], line: &Range<usize>) -> Option<JsonNode> {
    let bytes = &raw[line.clone()];
    let value: &RawValue = serde_json::from_slice(bytes).ok()?;
    let origin = bytes.as_ptr().addr() - line.start;
    Some(tree(value, origin, DEPTH))
}

fn tree(value: &RawValue, origin: usize, depth: usize) -> JsonNode {
    let text = value.get();
    let start = text.as_ptr().addr() - origin;
    let body = match text.as_bytes().first() {
        Some(b'"') => JsonBody::String,
        Some(b'{') if depth > 0 => {
            serde_json::from_str::<Members<'_>>(text).map_or(JsonBody::Other, |members| {
                JsonBody::Object(
                    members
                        .0
                        .into_iter()
                        .map(|(key, value)| (key, tree(value, origin, depth - 1)))
                        .collect(),
                )
            })
        }
        Some(b'[') if depth > 0 => {
            serde_json::from_str::<Vec<&RawValue>>(text).map_or(JsonBody::Other, |items| {
                JsonBody::Array(
                    items.into_iter().map(|value| tree(value, origin, depth - 1)).collect(),
                )
            })
        }
        _ => JsonBody::Other,
    };
    JsonNode { span: start..start + text.len(), body }
}

/// The members of an object, in order, doubles kept.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Members)
    }
}
