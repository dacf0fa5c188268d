//! Records like the one before. The CLI prints thousands of deltas in a row that differ in their
//! piece of text and their uuid alone; such a record need not be read again, only compared.

use crate::head::Head;
use crate::json::{self, Field, Scan};

/// What a delta adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adds {
    Text,
    Thinking,
    Input,
}

impl Adds {
    /// What deltas of this type add to; nothing is told of any other.
    pub(crate) fn read(delta_type: &str) -> Option<Self> {
        match delta_type {
            "text_delta" => Some(Self::Text),
            "thinking_delta" => Some(Self::Thinking),
            "input_json_delta" => Some(Self::Input),
            _ => None,
        }
    }
}

/// A delta record without its piece and its uuid.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Up to the piece, with the quote before it.
    before: String,
    /// From the quote behind the piece to the one before the uuid.
    between: String,
    /// Length of the uuid.
    uuid: usize,
    /// From the quote behind the uuid on.
    after: String,
    /// The lane it belongs to.
    pub(crate) lane: usize,
    /// The block it adds to.
    pub(crate) index: u64,
    /// What it adds.
    pub(crate) adds: Adds,
}

impl Shape {
    /// The shape of a delta that was read, if records like it can be told by comparing.
    pub(crate) fn learn(record: &str, head: &Head<'_>, lane: usize) -> Option<Self> {
        let event = head.event.as_ref()?;
        if json::string(event.kind)? != "content_block_delta" {
            return None;
        }
        let adds = Adds::read(&json::string(event.delta.kind)?)?;
        let piece = match adds {
            Adds::Text => event.delta.text,
            Adds::Thinking => event.delta.thinking,
            Adds::Input => event.delta.json,
        };
        let index = event.index?.get().parse().ok()?;
        let (piece, uuid) = (inside(record, piece)?, inside(record, head.uuid)?);
        let before = record.get(..piece.start)?.to_owned();
        let between = record.get(piece.end..uuid.start)?.to_owned();
        let after = record.get(uuid.end..)?.to_owned();
        Some(Self { before, between, uuid: uuid.len(), after, lane, index, adds })
    }

    /// The piece of a record that is otherwise as the one that was learnt, escapes as they stand.
    pub(crate) fn piece<'r>(&self, record: &'r str) -> Option<&'r str> {
        let rest = record.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let (rest, uuid) = rest.split_at_checked(rest.len().checked_sub(self.uuid)?)?;
        let piece = rest.strip_suffix(&*self.between)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let end = self.before.len() + piece.len() + 1;
        let is_string = || Scan::from(record, self.before.len() - 1).string_ends_at(end);
        (uuid.bytes().all(plain) && is_string()).then_some(piece)
    }
}

/// Where the inside of a string that was sliced from `record` stands in it.
fn inside(record: &str, field: Field<'_>) -> Option<std::ops::Range<usize>> {
    let text = json::escaped(field)?;
    let start = (text.as_ptr() as usize).checked_sub(record.as_ptr() as usize)?;
    Some(start..start + text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"a"}},"uuid":"0-1","parent_tool_use_id":null}"#;

    fn check(record: &str, expect: Option<&str>) {
        let shape = Shape::learn(RECORD, &Head::read(RECORD).unwrap(), 3).unwrap();
        assert_eq!((shape.lane, shape.index, shape.adds), (3, 2, Adds::Text));
        assert_eq!(shape.piece(record), expect, "{record}");
    }

    #[test]
    fn a_record_that_differs_in_piece_and_uuid_alone_is_known() {
        check(RECORD, Some("a"));
        for piece in ["", "more", r"\n\ud83d", r#"\"}},\"uuid\":\""#, "😀"] {
            check(&RECORD.replace(r#""a""#, &format!("\"{piece}\"")), Some(piece));
        }
        check(&RECORD.replace("0-1", "a-f"), Some("a"));
    }

    #[test]
    fn any_other_difference_is_not() {
        for (from, to) in [
            ("\"index\":2", "\"index\":3"),
            ("null", "\"p\""),
            ("0-1", "0-12"),
            ("0-1", "\"-1"),
            ("0-1", "\\n1"),
            ("\"a\"", "\"a\",\"x\":\"b\""),
            ("\"a\"", "\"a\\\""),
            ("\"a\"", "\"\u{1}\""),
            ("\"a\"", "\"\\x\""),
            ("text_delta", "Text_delta"),
        ] {
            check(&RECORD.replace(from, to), None);
        }
    }

    #[test]
    fn what_is_no_delta_of_a_block_has_no_shape() {
        for (from, to) in [
            ("content_block_delta", "content_block_start"),
            ("text_delta", "signature_delta"),
            ("\"text\":\"a\"", "\"text\":1"),
            ("\"uuid\"", "\"guid\""),
            ("\"index\":2", "\"index\":\"2\""),
        ] {
            let record = RECORD.replace(from, to);
            assert!(Shape::learn(&record, &Head::read(&record).unwrap(), 0).is_none(), "{record}");
        }
    }
}
