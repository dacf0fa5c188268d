//! Ids the CLI makes up: their shapes, and their placeholders.
//!
//! A placeholder has the shape of its id, so that every reader still takes it for one, and it is
//! numbered in the order of first appearance. Uuids count by the type of the record that shows
//! them first: one more `system` record leaves the numbers of all others alone.

use std::collections::{BTreeMap, HashMap};

use super::needles::{Edge, Needle, SHORTEST};

/// The kinds of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdKind {
    /// A session: a uuid.
    Session,
    /// A record, a hook, a request, a prompt: a uuid.
    Uuid,
    /// A subagent: `a` and 16 hexadecimal digits, in old versions 7 of them.
    Agent,
    /// A background task: as [`Kind::Agent`], or a letter that says what runs and 8 of base 36;
    /// in old versions 6 hexadecimal digits.
    Task,
    /// A run of a task: base 36, `-`, 8 hexadecimal digits.
    Run,
    /// A hash of text with other ids: 16 hexadecimal digits.
    Hash,
    /// A file with the result of a tool: milliseconds since 1970, `-`, up to 6 of base 36.
    Blob,
}

/// The fourth group of a uuid's placeholder, by the record that shows it first.
const GROUPS: [(&[u8], &str); 5] = [
    (b"stream_event", "8e7e"),
    (b"assistant", "8a55"),
    (b"user", "805e"),
    (b"system", "8575"),
    (b"result", "8e50"),
];

impl IdKind {
    /// Whether `text` can be an id of this kind.
    pub(super) fn shapes(self, text: &[u8]) -> bool {
        let hex = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
        let base36 = |text: &[u8]| {
            let one = |b: &u8| b.is_ascii_digit() || b.is_ascii_lowercase();
            text.iter().all(one)
        };
        match (self, text) {
            (Self::Session | Self::Uuid, _) => is_uuid(text),
            (Self::Agent | Self::Task, [b'a', rest @ ..]) if rest.len() == 16 => hex(rest),
            (Self::Agent, _) => text.len() == 7 && hex(text),
            (Self::Task, [first, rest @ ..]) if rest.len() == 8 => {
                first.is_ascii_lowercase() && base36(rest)
            }
            (Self::Task, _) => matches!(text.len(), 6 | 7) && hex(text),
            (Self::Hash, _) => text.len() == 16 && hex(text),
            (Self::Blob, _) => text.split_at_checked(14).is_some_and(|(time, rest)| {
                let digits = time[..13].iter().all(u8::is_ascii_digit);
                digits && time[13] == b'-' && (1..=6).contains(&rest.len()) && base36(rest)
            }),
            (Self::Run, _) => {
                let dash = text.iter().position(|&b| b == b'-').unwrap_or(0);
                (6..=12).contains(&dash)
                    && base36(&text[..dash])
                    && text.len() == dash + 9
                    && hex(&text[dash + 1..])
            }
        }
    }

    /// Whether an id in running text continues with `byte`.
    pub(super) fn goes_on(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || (self == Self::Blob && byte == b'-')
    }

    /// Id of the rule that counts it.
    fn rule(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Uuid => "uuid",
            Self::Agent | Self::Task => "task",
            Self::Run => "run",
            Self::Hash => "hash",
            Self::Blob => "blob",
        }
    }

    /// The series its placeholder is numbered in.
    fn series(self, record: &[u8]) -> &'static str {
        let group = GROUPS.iter().find(|(name, _)| *name == record);
        match self {
            Self::Session => "85e5",
            Self::Uuid => group.map_or("8000", |(_, group)| *group),
            _ => self.rule(),
        }
    }

    fn placeholder(self, series: &str, text: &[u8], number: u64) -> String {
        let width = text.len();
        match self {
            Self::Session | Self::Uuid => format!("00000000-0000-4000-{series}-{number:012}"),
            Self::Run => {
                let zeros = "0".repeat(width.saturating_sub(9));
                format!("{zeros}-{number:08}")
            }
            Self::Blob => format!("0000000000000-{number:06}"),
            Self::Agent | Self::Task | Self::Hash => {
                let kind = text.first().filter(|_| width == 9).unwrap_or(&b'a');
                let rest = width.saturating_sub(1);
                format!("{}{number:0rest$}", char::from(*kind))
            }
        }
    }
}

/// The ids seen so far, each with its placeholder.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    known: HashMap<Vec<u8>, Needle>,
    counters: BTreeMap<&'static str, u64>,
}

impl Ids {
    /// Notes an id that a record of type `record` shows; not again when it is known.
    pub(super) fn add(&mut self, kind: IdKind, record: &[u8], text: &[u8]) {
        if text.len() < SHORTEST || !kind.shapes(text) || self.known.contains_key(text) {
            return;
        }
        let series = kind.series(record);
        let counter = self.counters.entry(series).or_default();
        *counter += 1;
        let needle = Needle {
            text: text.to_vec(),
            with: kind.placeholder(series, text, *counter),
            rule: kind.rule(),
            edge: match kind {
                IdKind::Session | IdKind::Uuid => Edge::Any,
                _ => Edge::Word,
            },
        };
        self.known.insert(text.to_vec(), needle);
    }

    /// A needle for each.
    pub(super) fn needles(&self) -> impl Iterator<Item = Needle> + '_ {
        self.known.values().cloned()
    }
}

fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
