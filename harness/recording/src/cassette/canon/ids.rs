//! Recognises the ids that the CLI generates by their shapes, and gives each a placeholder.
//!
//! A placeholder has the shape of its id, so that every reader still accepts it as an id. Placeholders are
//! numbered in the order of first appearance. The type of the record that shows a uuid first has numbers of
//! its own, so that one more `system` record does not change the numbers of the others.

use std::collections::{BTreeMap, HashMap};

use super::needles::{Edge, Needle, SHORTEST};

/// The kind of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdKind {
    /// The id of a session: a uuid.
    Session,
    /// The id of a record, a hook, a request or a prompt: a uuid.
    Uuid,
    /// The id of a subagent: `a` and 16 hexadecimal digits; in old versions 7 hexadecimal digits.
    Agent,
    /// The id of a background task: as [`IdKind::Agent`], or a letter that says what runs and 8 characters
    /// of base 36; in old versions 6 hexadecimal digits.
    Task,
    /// The id of a run of a task: characters of base 36, `-`, and 8 hexadecimal digits.
    Run,
    /// A hash of a text that contains other ids: 16 hexadecimal digits.
    Hash,
    /// The name of a file with the result of a tool: the milliseconds since 1970, `-`, and up to 6 characters
    /// of base 36.
    Blob,
    /// The name of a file with a plan, without its ending: three or more words with `-` between them, the last of
    /// which are random.
    Plan,
}

/// The fourth group of a uuid's placeholder, by the type of the record that shows the uuid first.
const GROUPS: [(&[u8], &str); 5] = [
    (b"stream_event", "8e7e"),
    (b"assistant", "8a55"),
    (b"user", "805e"),
    (b"system", "8575"),
    (b"result", "8e50"),
];

impl IdKind {
    /// Returns whether `text` has the shape of this kind of id.
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
            (Self::Plan, _) => {
                let words = text.split(|&b| b == b'-');
                words.clone().count() >= 3 && words.into_iter().all(|w| !w.is_empty() && base36(w))
            }
            (Self::Run, _) => {
                let dash = text.iter().position(|&b| b == b'-').unwrap_or(0);
                (6..=12).contains(&dash)
                    && base36(&text[..dash])
                    && text.len() == dash + 9
                    && hex(&text[dash + 1..])
            }
        }
    }

    /// Returns whether `byte` can be part of an id of this kind in running text.
    pub(super) fn goes_on(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || matches!(self, Self::Blob | Self::Plan) && byte == b'-'
    }

    /// Returns the id of the rule that counts this kind.
    fn rule(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Uuid => "uuid",
            Self::Agent | Self::Task => "task",
            Self::Run => "run",
            Self::Hash => "hash",
            Self::Blob => "blob",
            Self::Plan => "plan",
        }
    }

    /// Returns the name of the series in which an id that a record of type `record` shows first is numbered.
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
            Self::Plan => format!("clitape-plan-{number:06}"),
            Self::Agent | Self::Task | Self::Hash => {
                let kind = text.first().filter(|_| width == 9).unwrap_or(&b'a');
                let rest = width.saturating_sub(1);
                format!("{}{number:0rest$}", char::from(*kind))
            }
        }
    }
}

/// The ids found so far, each with its placeholder.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    known: HashMap<Vec<u8>, Needle>,
    counters: BTreeMap<&'static str, u64>,
}

impl Ids {
    /// Adds an id that a record of type `record` shows, unless it is known already, is too short or does not
    /// have the shape of its kind.
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

    /// Returns a needle for each id.
    pub(super) fn needles(&self) -> impl Iterator<Item = Needle> + '_ {
        self.known.values().cloned()
    }
}

/// Returns whether a text has the form of a uuid.
pub fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
