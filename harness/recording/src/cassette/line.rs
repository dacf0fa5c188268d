//! The beginning of a line of stream-json: which record it is, and what is left of one in a line that is none.

use serde::Deserialize;
use serde_json::Value;

use crate::wire::is_control;

/// The kinds of records that are recognised by their beginning alone, beside those of the control protocol.
const KINDS: [&str; 6] =
    ["system", "assistant", "user", "stream_event", "result", "rate_limit_event"];
/// The first fields of a `result` of newer versions.
const FIELDS_OF_RESULTS: [&str; 2] = ["{\"is_error\":", "{\"duration_api_ms\":"];
/// The most bytes of a text in which a record begins, before the kind of the record ends.
const BEGINNING: usize = 64;
/// The mark with which some programs begin a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The fields of a record that say what it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LineHead {
    #[serde(rename = "type")]
    kind: Value,
    pub(super) subtype: Value,
    session_id: Value,
    pub(super) claude_code_version: Value,
}

impl LineHead {
    /// Reads a line; `None` if it is not a JSON object.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let line = trimmed(line);
        serde_json::from_slice(line).ok().filter(|_| line.starts_with(b"{"))
    }

    /// Reads a line that may have several objects, as far as it has them.
    pub(super) fn all_of(line: &[u8]) -> Vec<Self> {
        let line = trimmed(line);
        let objects = serde_json::Deserializer::from_slice(line).into_iter();
        objects
            .map_while(Result::ok)
            .take(if line.starts_with(b"{") { usize::MAX } else { 0 })
            .collect()
    }

    /// The kind of the record.
    pub(super) fn kind(&self) -> Option<&str> {
        self.kind.as_str()
    }

    /// The session that the record names.
    pub(super) fn session(&self) -> Option<&str> {
        self.session_id.as_str().filter(|id| !id.is_empty())
    }
}

/// Removes the blanks around a line, and a byte order mark before it.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_prefix(BYTE_ORDER_MARK).map_or(line, <[u8]>::trim_ascii_start)
}

/// The part of a record in a line that is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPart {
    /// The line begins as a record: it is cut, broken by another line, or has two records.
    Begun,
    /// A record begins after something else, as in a log.
    Logged,
}

impl RecordPart {
    /// Finds the part of a record in a line that is no record.
    pub fn of(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(trimmed(line));
        let mut braces = line.match_indices('{').map(|(at, _)| at);
        let is_record = |at: &usize| {
            let heads = LineHead::all_of(line[*at..].as_bytes());
            heads.iter().filter_map(LineHead::kind).any(is_kind)
        };
        let first = braces.clone().next()?;
        match braces.find(|at| is_beginning(&line[*at..])).or(Some(first).filter(is_record))? {
            0 => Some(Self::Begun),
            _ => Some(Self::Logged),
        }
    }
}

fn is_kind(kind: &str) -> bool {
    KINDS.contains(&kind) || is_control(kind)
}

/// Returns whether a text begins as a record does, also with the escapes of a string of JSON, and if it ends in the kind.
pub(super) fn is_beginning(text: &str) -> bool {
    let mut end = text.len().min(BEGINNING);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let plain = text[..end].replace('\\', "");
    if FIELDS_OF_RESULTS.iter().any(|field| plain.starts_with(field)) {
        return true;
    }
    let mut rest = Some(plain.as_str());
    for token in ["{", "\"type\"", ":", "\""] {
        rest = rest.and_then(|rest| rest.strip_prefix(token)).map(str::trim_start);
    }
    match rest.map(|rest| rest.split_once('"').ok_or(rest)) {
        Some(Ok((kind, _))) => is_kind(kind),
        Some(Err(cut)) => is_control(cut) || KINDS.iter().any(|kind| kind.starts_with(cut)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_record_may_have_a_part_of_one() {
        use RecordPart::{Begun, Logged};
        for (line, expect) in [
            (r#"{"type":"user","text":"a"#, Some(Begun)),
            ("\u{feff} {\"type\" : \"res", Some(Begun)),
            (r#"{"is_error":fal"#, Some(Begun)),
            (r#"{"type":"user"}{"type":"result"}"#, Some(Begun)),
            (r#">>> {"type":"user"}"#, Some(Logged)),
            (r#">>> {"message":{},"type":"user"}"#, Some(Logged)),
            (r#"{"line":"{\"type\":\"user\""#, Some(Logged)),
            (r#"{"type":"http","text":"a"#, None),
            ("a banner {", None),
            ("", None),
        ] {
            assert_eq!(RecordPart::of(line.as_bytes()), expect, "{line}");
        }
    }
}
