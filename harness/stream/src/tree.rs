//! The values of a line as a tree of byte spans, for tools that change a part of a capture and keep
//! all other bytes.
//!
//! The tree reads each line that the [`Parser`](crate::Parser) reads, with the same reader: bytes
//! that are not UTF-8 and raw control characters may be in a string, and half of a surrogate pair
//! in a key becomes U+FFFD.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::{self, JsonCursor, JsonResult};
use crate::lines;

/// Number of levels below which arrays and objects have no nodes, because a line may nest deeper
/// than the stack of a thread that walks the tree.
const MAX_DEPTH: usize = 96;

/// A value and its place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonNode {
    /// The span from the first byte of the value to its last, including quotes and braces.
    pub span: Range<usize>,
    /// The content of the value.
    pub body: JsonBody,
}

/// The content of a [`JsonNode`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonBody {
    /// The members of an object in the order of the text; equal keys are kept.
    Object(Vec<(String, JsonNode)>),
    /// The elements of an array.
    Array(Vec<JsonNode>),
    /// A string.
    String,
    /// A number, `true`, `false`, `null`, or an array or object more than 96 levels deep.
    Other,
}

impl JsonNode {
    /// Reads the line at `line` in `file`. Returns `None` if the line is not one JSON value for the
    /// parser.
    ///
    /// ```
    /// use clitape_stream::tree::JsonNode;
    ///
    /// let file = b"{\"id\":\"a\xff\tb\"}\n";
    /// let node = JsonNode::read(file, &(0..file.len() - 1)).expect("the parser reads the line");
    /// assert_eq!(node.get("id").map(|id| id.text(file)), Some(&b"a\xff\tb"[..]));
    /// ```
    pub fn read(file: &[u8], line: &Range<usize>) -> Option<Self> {
        let text = same_length_text(&file[line.clone()]);
        let record = lines::trim(&text);
        let start = line.start + record.as_ptr().addr() - text.as_ptr().addr();
        let whole = |record: &str| {
            let mut cursor = JsonCursor::new(record);
            let node = read_node(&mut cursor, start, MAX_DEPTH).ok()?;
            cursor.end().is_ok().then_some(node)
        };
        // Like the escape of a control character, a slash is allowed anywhere in a string, even
        // behind a backslash, and nowhere else.
        let slash = |_, text: &mut String| text.push('/');
        whole(record).or_else(|| whole(&lines::replace_controls(record, slash)?))
    }

    /// Returns the first member with this key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().find_map(|(name, node)| (name == key).then_some(node))
    }

    /// Returns the value at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the members of an object; another value has none.
    pub fn members(&self) -> &[(String, Self)] {
        match &self.body {
            JsonBody::Object(members) => members,
            _ => &[],
        }
    }

    /// Returns the span of a string without its quotes.
    pub fn interior(&self) -> Option<Range<usize>> {
        matches!(self.body, JsonBody::String).then(|| self.span.start + 1..self.span.end - 1)
    }

    /// Returns the bytes of a string with its escapes; another value has none.
    pub fn text<'f>(&self, file: &'f [u8]) -> &'f [u8] {
        self.interior().map_or(&[], |span| &file[span])
    }

    /// Returns the text of a string without escapes; another value has none. U+FFFD takes the place
    /// of bytes that are not UTF-8.
    pub fn unescaped(&self, file: &[u8]) -> String {
        json::unescape(&String::from_utf8_lossy(self.text(file))).into_owned()
    }
}

/// Reads the value at the cursor, whose text begins at byte `start` of the file.
fn read_node(cursor: &mut JsonCursor<'_>, start: usize, depth: usize) -> JsonResult<JsonNode> {
    let first = cursor.ahead();
    let from = start + cursor.offset();
    let body = match first {
        b'{' if depth > 0 => {
            let mut members = Vec::new();
            cursor.object(&mut |key, cursor| {
                let key = key.get().to_owned();
                members.push((key, read_node(cursor, start, depth - 1)?));
                Ok(())
            })?;
            JsonBody::Object(members)
        }
        b'[' if depth > 0 => {
            let mut elements = Vec::new();
            cursor.array(&mut |cursor| {
                elements.push(read_node(cursor, start, depth - 1)?);
                Ok(())
            })?;
            JsonBody::Array(elements)
        }
        _ => {
            cursor.skip()?;
            if first == b'"' { JsonBody::String } else { JsonBody::Other }
        }
    };
    Ok(JsonNode { span: from..start + cursor.offset(), body })
}

/// Decodes a line to a text of the same length, in which each byte that is not UTF-8 is a question
/// mark. Like U+FFFD, JSON allows it in strings alone.
fn same_length_text(line: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = simdutf8::basic::from_utf8(line) {
        return Cow::Borrowed(text);
    }
    let chunks = line.utf8_chunks();
    Cow::Owned(chunks.map(|c| c.valid().to_owned() + &"?".repeat(c.invalid().len())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Parser};

    /// The parser and the tree read the line alike. Returns the spans of the values as text.
    fn check(line: &[u8], expect: &[&str]) {
        let file = [b"x\n", line, b"\n"].concat();
        let node = JsonNode::read(&file, &(2..file.len() - 1));
        let mut is_record = true;
        let mut parser = Parser::new();
        parser.feed_with(&file[2..], &mut |event| {
            use crate::DiagnosticCode::NotJson;
            is_record &= !matches!(event, Event::Diagnostic { code: NotJson, .. });
        });
        let is_object = node.as_ref().is_some_and(|node| matches!(node.body, JsonBody::Object(_)));
        let line = String::from_utf8_lossy(line);
        assert_eq!(is_object, is_record, "{line}");
        let mut found = Vec::new();
        node.iter().for_each(|node| add_spans(node, &file, &mut found));
        assert_eq!(found, expect, "{line}");
    }

    fn add_spans(node: &JsonNode, file: &[u8], found: &mut Vec<String>) {
        found.push(String::from_utf8_lossy(&file[node.span.clone()]).into_owned());
        match &node.body {
            JsonBody::Object(list) => list.iter().for_each(|(_, n)| add_spans(n, file, found)),
            JsonBody::Array(list) => list.iter().for_each(|n| add_spans(n, file, found)),
            JsonBody::String | JsonBody::Other => {}
        }
    }

    #[test]
    fn a_tree_has_the_span_of_each_value() {
        let line = r#"{"a": [1, "é"], "b":{"c":null}, "a":"\"" }"#;
        let parts = [line, r#"[1, "é"]"#, "1", r#""é""#, r#"{"c":null}"#, "null", r#""\"""#];
        check(line.as_bytes(), &parts);
        check(format!("\u{feff} {line}\r").as_bytes(), &parts);
    }

    #[test]
    fn a_tree_reads_what_the_parser_reads() {
        check(
            b"{\"a\":\"x\xff\xf0\x9f\"}",
            &["{\"a\":\"x\u{fffd}\u{fffd}\"}", "\"x\u{fffd}\u{fffd}\""],
        );
        check(
            b"{\"a\":\"x\t\x01\\\x01\"}",
            &["{\"a\":\"x\t\u{1}\\\u{1}\"}", "\"x\t\u{1}\\\u{1}\""],
        );
        check(br#"{"\ud83d":"\ude00"}"#, &[r#"{"\ud83d":"\ude00"}"#, r#""\ude00""#]);
        for bad in [
            &b"{\"a\":\xff1}"[..],
            b"{\"a\":\x01 1}",
            b"{\"a\":\t\"\x01\"}",
            b"{\"a\":\"\\\xff\"}",
            b"{\"a\":1",
            b"{} {}",
            b"",
        ] {
            let is_blank = bad.is_empty();
            let node = JsonNode::read(bad, &(0..bad.len()));
            assert_eq!(node, None);
            if !is_blank {
                check(bad, &[]);
            }
        }
    }

    #[test]
    fn deep_nesting_is_one_value() {
        let deep = "[".repeat(9_000) + &"]".repeat(9_000);
        let mut node = &JsonNode::read(deep.as_bytes(), &(0..deep.len())).unwrap();
        let mut depth = 0;
        while let JsonBody::Array(elements) = &node.body {
            (node, depth) = (&elements[0], depth + 1);
        }
        assert_eq!((depth, node.span.clone()), (MAX_DEPTH, MAX_DEPTH..deep.len() - MAX_DEPTH));
    }
}
