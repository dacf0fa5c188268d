//! Reads the event bus of a gateway: the file `{bus}`, to which the gateway or a hook in it appends JSON lines.
//!
//! ```json
//! {"chat":7000002,"kind":"tool","phase":"start","id":"toolu_01","name":"Read","args":{"file_path":"a.txt"}}
//! {"chat":7000002,"kind":"tool","phase":"result","id":"toolu_01","name":"Read"}
//! ```
//!
//! `chat` is the number of the chat, as a number or a string. Lines of other kinds only show that the bus is connected.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use clitape_judge::observation::SubjectEvent;
use clitape_recording::files;
use clitape_recording::limits::OutputLimits;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::{Held, parsed_bytes};

/// The most bytes of a call's arguments; longer ones are dropped.
const LONGEST_ARGUMENTS: usize = 64 * 1024;
/// The bytes that an event counts for, beside its texts and arguments.
const EVENT: usize = size_of::<SubjectEvent>();

/// The reason why the events of a chat can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BusError {
    /// The file can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A limit is reached, described in words.
    #[error("{0}")]
    Limit(String),
}

/// A line of the file, with the fields that are used.
#[derive(Deserialize)]
struct BusLine<'a> {
    #[serde(borrow)]
    chat: &'a RawValue,
    #[serde(borrow)]
    kind: &'a RawValue,
    #[serde(borrow)]
    phase: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

/// Reads the events of a chat, which count in the account. A missing file has none; a line that is not an object with a
/// chat is skipped.
///
/// # Errors
///
/// [`BusError`] if the file can't be read, or is larger than the limits allow.
pub(crate) fn read(
    path: &Path,
    chat: i64,
    limits: OutputLimits,
    held: &mut Held,
) -> Result<Vec<SubjectEvent>, BusError> {
    // Opened with care, because the gateway may put anything in its place, such as a pipe without a writer.
    let file = match files::open(path) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        file => file.map_err(io::Error::from)?,
    };
    let too_much = |what: String, option: &str| {
        let words = format!("{what} in the file of its event bus; raise the limit with `{option}`");
        Err(BusError::Limit(words))
    };
    let mut reader = BufReader::new(file);
    let (mut events, mut line, mut read) = (Vec::new(), Vec::new(), 0);
    loop {
        line.clear();
        let length = reader.by_ref().take(limits.line.get() + 1).read_until(b'\n', &mut line)?;
        read += length as u64;
        if length == 0 {
            return Ok(events);
        }
        if limits.line.is_below(length) {
            return too_much(format!("a line of more than {}", limits.line), "--max-line");
        }
        if read > limits.bytes.get() {
            return too_much(format!("more than {}", limits.bytes), "--max-output");
        }
        let is_object = line.trim_ascii_start().starts_with(b"{");
        let parsed = serde_json::from_slice::<BusLine<'_>>(&line).ok().filter(|_| is_object);
        let Some(event) = parsed.filter(|line| line.is_of(chat)) else { continue };
        let bytes = EVENT + event.bytes();
        held.try_keep(bytes).map_err(|full| BusError::Limit(full.to_string()))?;
        events.extend(event.event());
    }
}

impl BusLine<'_> {
    /// Returns whether the line is about this chat, given as a number or a string.
    fn is_of(&self, chat: i64) -> bool {
        self.chat.get().trim_matches('"').parse() == Ok(chat)
    }

    /// Returns the arguments, unless they are too long.
    fn arguments(&self) -> Option<&RawValue> {
        self.args.filter(|args| args.get().len() <= LONGEST_ARGUMENTS)
    }

    /// Returns the bytes of the line's texts and arguments.
    fn bytes(&self) -> usize {
        let texts = [Some(self.kind), self.phase, self.id, self.name].into_iter().flatten();
        let arguments = self.arguments().map_or(0, |args| parsed_bytes(args.get().as_bytes()));
        texts.map(|text| text.get().len()).sum::<usize>() + arguments
    }

    fn event(&self) -> Option<SubjectEvent> {
        let text = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).ok();
        Some(SubjectEvent {
            kind: text(self.kind)?,
            phase: self.phase.and_then(text),
            id: self.id.and_then(text),
            name: self.name.and_then(text),
            args: self.arguments().and_then(|args| serde_json::from_str(args.get()).ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clitape_gateway::ByteSize;

    use super::*;
    use crate::limits::KeptBytes;

    fn limits(bytes: u64, line: u64) -> OutputLimits {
        OutputLimits { bytes: ByteSize::bytes(bytes), line: ByteSize::bytes(line), lines: 9 }
    }

    #[test]
    fn the_events_of_a_chat_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bus");
        let read = |chat| {
            let mut held = Held::of(&Arc::new(KeptBytes::default()));
            read(&path, chat, limits(9_999, 999), &mut held).unwrap()
        };
        assert!(read(7).is_empty());
        let lines = "{\"chat\":7,\"kind\":\"tool\",\"phase\":\"start\",\"id\":\"t\",\"name\":\"Read\",\"args\":{}}\n\
                     no json\n{\"kind\":\"tool\"}\n[]\n{\"chat\":\"-8\",\"kind\":\"text\",\"id\":5}\n{\"chat\":7,\"ki";
        std::fs::write(&path, lines).unwrap();
        assert_eq!((read(7).len(), read(-8).len(), read(9).len()), (1, 1, 0));
        let event = &read(7)[0];
        assert_eq!((event.kind.as_str(), event.phase.as_deref()), ("tool", Some("start")));
        assert_eq!(event.args, Some(serde_json::json!({})));
        let other = &read(-8)[0];
        assert_eq!((&other.name, &other.id, other.kind.as_str()), (&None, &None, "text"));
    }

    #[test]
    fn a_bus_has_limits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bus");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let read_pipe = read(&path, 7, limits(9, 9), &mut Held::default());
        assert!(matches!(read_pipe, Err(BusError::Io(_))), "{read_pipe:?}");
        std::fs::remove_file(&path).unwrap();
        let line = format!("{{\"chat\":7,\"kind\":\"x\",\"args\":[{}0]}}\n", "0,".repeat(400));
        std::fs::write(&path, line.repeat(3)).unwrap();
        let line = line.len() as u64;
        for (bytes, longest, kept, expect) in [
            (3 * line, line, ByteSize::mib(1), Ok(3)),
            (
                3 * line - 1,
                line,
                ByteSize::mib(1),
                Err("in the file of its event bus; raise the limit with `--max-output`"),
            ),
            (
                3 * line,
                line - 1,
                ByteSize::mib(1),
                Err("in the file of its event bus; raise the limit with `--max-line`"),
            ),
            (3 * line, line, ByteSize::kib(200), Err("raise the limit with `--max-kept`")),
        ] {
            let mut held = Held::of(&Arc::new(KeptBytes::within(kept)));
            let read = read(&path, 7, limits(bytes, longest), &mut held);
            let read = read.map(|events| events.len()).map_err(|error| error.to_string());
            let is_expected = match (&read, expect) {
                (Ok(read), Ok(expect)) => *read == expect,
                (Err(words), Err(expect)) => words.ends_with(expect),
                _ => false,
            };
            assert!(is_expected, "{read:?} {expect:?}");
        }
    }
}
