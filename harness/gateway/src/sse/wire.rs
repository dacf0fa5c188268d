//! Events of a run's stream, their form on the wire, and the decoder that reads them back from bytes
//! cut anywhere.
//!
//! It takes what the standard allows (LF, CR or CRLF, a BOM, fields without the space, data on
//! several lines, comments) and bytes that are no UTF-8, which become U+FFFD.

use serde_json::{Map, Value};

use crate::limits::ByteSize;
use crate::limits::STREAM_EVENT;

/// An event for the readers of a stream: a name and a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct SseEvent {
    /// `output`, `tool_use`, `question`, `answered`, `status`, `error` or `complete`. The endpoint adds `connected`, `gap`
    /// and `dropped`.
    pub name: &'static str,
    /// The fields of the event.
    pub data: Map<String, Value>,
}

impl SseEvent {
    pub(crate) fn new(name: &'static str, data: Value) -> Self {
        let data = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        Self { name, data }
    }
}

/// An event as a backlog keeps it: its data is JSON text, which clones share.
#[cfg(feature = "sse-http")]
#[derive(Debug, Clone)]
pub(super) struct WireEvent {
    /// An event without an id leaves the reader's last id as it was.
    id: Option<u64>,
    name: &'static str,
    data: std::sync::Arc<str>,
}

#[cfg(feature = "sse-http")]
impl WireEvent {
    pub(super) fn new(id: Option<u64>, event: &SseEvent) -> Self {
        let data = Value::from(event.data.clone()).to_string().into();
        Self { id, name: event.name, data }
    }

    /// Returns the bytes of the name and the data.
    pub(super) fn size(&self) -> usize {
        self.name.len() + self.data.len()
    }
}

#[cfg(feature = "sse-http")]
impl From<WireEvent> for axum::response::sse::Event {
    fn from(WireEvent { id, name, data }: WireEvent) -> Self {
        let event = match id {
            Some(id) => Self::default().id(id.to_string()),
            None => Self::default(),
        };
        event.event(name).data(data)
    }
}

/// One event as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SseFrame {
    /// The id, when the frame has one; an empty one takes back those before.
    pub id: Option<String>,
    /// The name; `message` when the frame has none.
    pub name: String,
    /// The data; several lines are joined with LF.
    pub data: String,
}

/// A frame is longer than the limit of its decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an event of the stream is longer than {0}; raise the limit with `--max-event`, or see whether \
     the URL is an event stream"
)]
pub struct TooLong(
    /// The limit.
    pub ByteSize,
);

/// The decoder of one connection.
#[derive(Debug)]
pub struct SseDecoder {
    /// Bytes that a frame may have.
    limit: ByteSize,
    line: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line has been read, and with it a BOM.
    begun: bool,
    id: Option<String>,
    name: String,
    data: Option<String>,
    retry_ms: Option<u64>,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::within(STREAM_EVENT)
    }
}

impl SseDecoder {
    /// Makes a decoder for a new connection, whose events have at most [`STREAM_EVENT`]: more than any
    /// event of a run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a decoder for a new connection, whose events have at most `limit` bytes.
    pub fn within(limit: ByteSize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            begun: false,
            id: None,
            name: String::new(),
            data: None,
            retry_ms: None,
        }
    }

    /// The time to wait before connecting again that the server asked for last, in ms.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Takes more bytes and gives the frames that they complete. Text that the end of the stream
    /// leaves without an empty line after it is dropped.
    ///
    /// # Errors
    ///
    /// [`TooLong`]; the decoder can't be used any more then.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseFrame>, TooLong> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_second = rest[end] == b'\n' && end == 0 && self.after_cr;
            if !is_second {
                self.line.extend_from_slice(&rest[..end]);
                frames.extend(self.end_line());
            }
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
        }
        self.after_cr &= rest.is_empty();
        self.line.extend_from_slice(rest);
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if self.limit.is_below(held) { Err(TooLong(self.limit)) } else { Ok(frames) }
    }

    fn end_line(&mut self) -> Option<SseFrame> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let begun = std::mem::replace(&mut self.begun, true);
        let line = if begun { &*line } else { line.strip_prefix('\u{feff}').unwrap_or(&line) };
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => data.extend(["\n", value]),
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            _ => {}
        }
        None
    }

    /// An empty line ends a frame; one without data is none, and its name counts no more.
    fn dispatch(&mut self) -> Option<SseFrame> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take().filter(|data| !data.is_empty())?;
        let name = if name.is_empty() { "message".to_owned() } else { name };
        Some(SseFrame { id: self.id.take(), name, data })
    }
}

/// The addresses that an endpoint serves and a collector reads.
#[cfg(feature = "sse-http")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Those of this machine only.
    #[default]
    Loopback,
    /// Any.
    Anywhere,
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(feature = "sse-http")]
    pub(in crate::sse) use event::on_the_wire;

    fn decode(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = SseDecoder::new();
        let frames = pieces.iter().flat_map(|piece| decoder.feed(piece).unwrap());
        frames.map(|f| format!("{}|{}|{}", f.id.unwrap_or("-".into()), f.name, f.data)).collect()
    }

    #[track_caller]
    fn check(stream: &str, expect: &[&str]) {
        assert_eq!(decode(&[stream.as_bytes()]), expect, "{stream:?}");
    }

    #[test]
    fn s2_a_stream_is_read_as_the_standard_says() {
        check("event: a\ndata: 1\n\n", &["-|a|1"]);
        check(
            "\u{feff}data:1\r\n\r\ndata: 2\r\rdata: 3\n\n",
            &["-|message|1", "-|message|2", "-|message|3"],
        );
        check("data:  x\ndata\ndata: y\n\n", &["-|message| x\n\ny"]);
        check(": ping\n\nid: 7\n: note\nevent: e\nother: 1\ndata: z\n\n", &["7|e|z"]);
        check(
            "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            &["1|message|a", "-|message|b", "|message|c"],
        );
        check("id: a\0b\ndata: x\n\n", &["-|message|x"]);
        // A frame without data is none, and the next does not bear its name.
        check("event: a\n\ndata: x\n\nevent: b\ndata:\n\n", &["-|message|x"]);
        check("data: whole\n\ndata: cut\n", &["-|message|whole"]);
        check("data: {\ndata: \"a\": 1}\n\n", &["-|message|{\n\"a\": 1}"]);
    }

    #[test]
    fn s2_the_wait_is_the_last_that_makes_sense() {
        let mut decoder = SseDecoder::new();
        for (line, expect) in [
            ("data: a\n", None),
            ("retry: 250\n", Some(250)),
            ("retry: soon\nretry:\n", Some(250)),
            ("retry: 99999999999999999999999\n", Some(250)),
            ("retry: 1\n", Some(1)),
        ] {
            decoder.feed(line.as_bytes()).unwrap();
            assert_eq!(decoder.retry_ms(), expect, "{line}");
        }
    }

    #[test]
    fn s2_an_endless_frame_is_no_stream() {
        let piece = vec![b'x'; 1 << 20];
        for stream in [&b""[..], b"data: x\ndata:"] {
            let mut decoder = SseDecoder::new();
            decoder.feed(stream).unwrap();
            assert!((0..17).any(|_| decoder.feed(&piece).is_err()));
        }
    }

    #[test]
    pub(crate) fn s2_any_cut_gives_the_same_frames() {
        proptest!(|(
            lines in prop::collection::vec(
                ("(data|event|id|retry|)(:| |: ?)[a-zé🌍\0\u{feff}]{0,6}|", "\n|\r|\r\n"), 0..40),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        )| {
            let stream: String = lines.iter().flat_map(|(line, end)| [&**line, end]).collect();
            let bytes = stream.as_bytes();
            let whole = decode(&[bytes]);
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(&decode(&pieces), &whole);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(decode(&single), whole);
        });
    }

    #[cfg(feature = "sse-http")]
    #[allow(clippy::unwrap_used, reason = "a test that fails may panic")]
    mod event {
        use std::convert::Infallible;

        use axum::response::IntoResponse as _;
        use axum::response::sse::{Event, Sse};
        use serde_json::json;

        use super::super::*;

        /// Returns the bytes that a reader gets of `event`.
        pub(in crate::sse) async fn on_the_wire(event: Event) -> String {
            let events = futures_util::stream::iter([Ok::<_, Infallible>(event)]);
            let body = Sse::new(events).into_response().into_body();
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        }

        #[tokio::test]
        async fn s1_an_event_has_one_line_for_each_field() {
            let event = SseEvent::new("output", json!({"type": "delta", "content": "a\r\nb\n"}));
            let data = "event: output\ndata: {\"type\":\"delta\",\"content\":\"a\\r\\nb\\n\"}\n\n";
            let wire = |id| on_the_wire(WireEvent::new(id, &event).into());
            assert_eq!(wire(None).await, data);
            assert_eq!(wire(Some(7)).await, format!("id: 7\n{data}"));
        }
    }
}
