//! Puts the ids of the live session into recorded lines. Only the bytes of the ids change.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

/// The beginning of the canonical uuids that a cassette has in place of random ones.
const CANONICAL: &[u8] = b"00000000-0000-4000-8";
/// The length of a uuid in bytes.
const UUID: usize = 36;
/// The beginnings of the ids of messages and calls in a cassette.
const NAMED: [&[u8]; 2] = [b"msg_clitape_", b"toolu_clitape_"];

/// The ids of a cassette and their replacements.
#[derive(Debug, Clone)]
pub(super) struct LiveIds {
    /// The live id by the recorded one.
    bound: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The number of cassettes that began in this session, this one included: it makes the ids of each differ, because
    /// the CLI never uses an id twice.
    round: u64,
    /// The beginning of the uuids; `None` if they stay as recorded.
    start: Option<String>,
}

/// A replacement: a range of the line, and its new bytes.
pub(super) type Splice = (Range<usize>, Vec<u8>);

impl LiveIds {
    pub(super) fn new(round: u64) -> Self {
        let start = (round > 1).then(|| format!("{round:08x}"));
        Self { bound: BTreeMap::new(), round, start }
    }

    /// Gives the uuids a beginning that depends on the session, so that two processes never print the same id, and a
    /// gateway may identify a question by it.
    pub(super) fn of_session(mut self, session_id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (session_id, self.round).hash(&mut hasher);
        self.start = Some(format!("{:08x}", hasher.finish() >> 32));
        self
    }

    /// Replaces `recorded` by `live` from now on.
    pub(super) fn bind(&mut self, recorded: &str, live: &str) {
        self.bound.insert(recorded.as_bytes().to_vec(), json_escaped(live));
    }

    /// Returns the cassette's id for a live one, and the id itself if it is not a replaced one.
    pub(super) fn recorded(&self, live: &str) -> String {
        let escaped = json_escaped(live);
        if let Some((recorded, _)) = self.bound.iter().find(|(_, live)| **live == escaped) {
            return String::from_utf8_lossy(recorded).into_owned();
        }
        match self.start.as_ref().and_then(|start| live.strip_prefix(start)) {
            Some(rest) => format!("00000000{rest}"),
            None => live.to_owned(),
        }
    }

    /// Returns the replacements in a line, in order.
    pub(super) fn splices(&self, line: &[u8]) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut at = 0;
        while at < line.len() {
            match self.at(line, at) {
                Some((length, new)) => {
                    splices.push((at..at + length, new));
                    at += length;
                }
                None => at += 1,
            }
        }
        splices
    }

    /// Returns the length of the id that begins at `at`, and its replacement; `None` if no id begins there.
    fn at(&self, line: &[u8], at: usize) -> Option<(usize, Vec<u8>)> {
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_';
        if at > 0 && line.get(at - 1).is_some_and(is_inner) {
            return None;
        }
        let rest = &line[at..];
        if self.round > 1
            && let Some(name) = NAMED.iter().find(|name| rest.starts_with(name))
        {
            let mut new = name.to_vec();
            new.extend_from_slice(format!("r{}_", self.round).as_bytes());
            return Some((name.len(), new));
        }
        let is_whole = |length: usize| !rest.get(length).is_some_and(is_inner);
        let bound = self.bound.iter().find(|(id, _)| rest.starts_with(id) && is_whole(id.len()));
        if let Some((id, live)) = bound {
            return Some((id.len(), live.clone()));
        }
        let is_canonical = rest.starts_with(CANONICAL) && is_whole(UUID);
        let start = self.start.as_ref().filter(|_| is_canonical)?;
        Some((8, start.clone().into_bytes()))
    }

    /// Returns a text of several lines with its ids replaced.
    pub(super) fn bind_text(&self, text: &[u8]) -> Vec<u8> {
        Rendered::new(text, Vec::new(), self.splices(text), b"").bytes
    }
}

/// Returns `id` escaped for a JSON string, without the quotes.
pub(super) fn json_escaped(id: &str) -> Vec<u8> {
    let quoted = serde_json::Value::from(id).to_string();
    quoted.as_bytes()[1..quoted.len() - 1].to_vec()
}

/// A line as it is printed, with the place of each recorded byte in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rendered {
    /// The bytes to print.
    pub(super) bytes: Vec<u8>,
    before: usize,
    length: usize,
    splices: Vec<(Range<usize>, usize)>,
}

impl Rendered {
    /// Renders a recorded line with lines before and after it, and with parts replaced.
    pub(super) fn new(line: &[u8], before: Vec<u8>, splices: Vec<Splice>, after: &[u8]) -> Self {
        let mut bytes = before;
        let (from, mut at, mut sizes) = (bytes.len(), 0, Vec::with_capacity(splices.len()));
        for (range, new) in splices {
            bytes.extend_from_slice(&line[at..range.start]);
            bytes.extend_from_slice(&new);
            at = range.end;
            sizes.push((range, new.len()));
        }
        bytes.extend_from_slice(&line[at..]);
        bytes.extend_from_slice(after);
        Self { bytes, before: from, length: line.len(), splices: sizes }
    }

    /// Renders a line of `length` bytes that is left out.
    pub(super) fn nothing(length: usize) -> Self {
        Self { length, ..Self::default() }
    }

    /// Returns the place in `bytes` of the recorded byte `at`. The lines before it come with the first byte, the lines
    /// after it with the last.
    pub(super) fn position(&self, at: usize) -> usize {
        if at == 0 || self.bytes.is_empty() {
            return 0;
        }
        if at >= self.length {
            return self.bytes.len();
        }
        let (mut position, mut read) = (self.before, 0);
        for (range, size) in &self.splices {
            if at <= range.start {
                break;
            }
            position += range.start - read;
            if at < range.end {
                return position + (at - range.start).min(*size);
            }
            (position, read) = (position + size, range.end);
        }
        position + at - read
    }
}

/// Returns a random uuid of version 4.
pub(super) fn fresh_uuid() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    // The keys of a `RandomState` are random and differ each time.
    let draw = || RandomState::new().build_hasher().finish();
    let (high, low) = (draw(), draw());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "00000000-0000-4000-85e5-000000000001";

    #[track_caller]
    fn check(round: u64, line: &str, expect: &str) {
        let mut ids = LiveIds::new(round);
        ids.bind(SESSION, "s");
        ids.bind("clitape-1", "req \"1\"");
        assert_eq!(String::from_utf8(ids.bind_text(line.as_bytes())).unwrap(), expect);
    }

    #[test]
    fn ids_are_replaced_and_nothing_else() {
        let line = format!(r#"{{"a":"{SESSION}","p":"/x/{SESSION}.jsonl","b":"{SESSION}1"}}"#);
        check(1, &line, &format!(r#"{{"a":"s","p":"/x/s.jsonl","b":"{SESSION}1"}}"#));
        check(
            1,
            r#"{"id":"clitape-1","o":"clitape-11","p":"my-clitape-1"}"#,
            r#"{"id":"req \"1\"","o":"clitape-11","p":"my-clitape-1"}"#,
        );
    }

    #[test]
    fn a_second_round_has_ids_of_its_own() {
        let line = r#"{"uuid":"00000000-0000-4000-8e7e-000000000002","id":"msg_clitape_main_1","t":"toolu_clitape_main_1_2"}"#;
        check(1, line, line);
        check(
            18,
            line,
            r#"{"uuid":"00000012-0000-4000-8e7e-000000000002","id":"msg_clitape_r18_main_1","t":"toolu_clitape_r18_main_1_2"}"#,
        );
        let ids = LiveIds::new(18);
        let live = "00000012-0000-4000-8000-000000000004";
        assert_eq!(ids.recorded(live), "00000000-0000-4000-8000-000000000004");
        assert_eq!(LiveIds::new(1).recorded(live), live);
    }

    #[test]
    fn cuts_of_a_line_join_up_whatever_their_place() {
        let line = format!("{{\"id\":\"{SESSION}\",\"x\":\"{SESSION}\"}}\n");
        let mut ids = LiveIds::new(1);
        for live in ["short", &"long".repeat(30), ""] {
            ids.bind(SESSION, live);
            let splices = ids.splices(line.as_bytes());
            let rendered = Rendered::new(line.as_bytes(), b"first\n".to_vec(), splices, b"last\n");
            let mut at = 0;
            for cut in 0..=line.len() {
                let position = rendered.position(cut);
                assert!(position >= at, "{live}: {cut}");
                at = position;
            }
            assert_eq!((rendered.position(0), at), (0, rendered.bytes.len()));
        }
    }

    #[test]
    fn a_fresh_uuid_is_one() {
        let (one, two) = (fresh_uuid(), fresh_uuid());
        assert_ne!(one, two);
        let shape: String = one.chars().map(|c| if c == '-' { '-' } else { 'x' }).collect();
        assert_eq!(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
        assert_eq!(&one[14..15], "4");
    }
}
