//! Reading a transcript from its first line to its last (X1).

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};

use super::line::{self, By, Kind, Parent, Said, Turn};
use crate::sanitise::redact_text;

/// Bytes of text that are kept for a reseed, the newest: no reseed takes more.
const KEPT: usize = 1 << 20;

/// A transcript that was read: who said what and after what, and of the texts the newest 1 MiB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// The lines that say what they follow, or that others follow.
    pub(super) nodes: Vec<Node>,
    pub(super) count: Count,
    /// Bytes of text in `nodes`.
    kept: usize,
    /// Prompts so far.
    turn: u64,
    /// The first of `nodes` that may have text.
    oldest: usize,
}

/// A line among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// From 1.
    pub(super) line: u64,
    /// Prompts up to this line; two lines of one message have the same number, and two messages
    /// whose ids are the same have not.
    pub(super) turn: u64,
    /// The one before it in the conversation; always an earlier one.
    pub(super) parent: Option<usize>,
    /// `None`: it only links others, as an attachment does.
    pub(super) said: Option<Said>,
    /// Its texts were let go of.
    pub(super) is_dropped: bool,
}

/// How many lines there are, by what they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) whole: u64,
    pub(super) said: u64,
    pub(super) sidechain: u64,
    pub(super) other: BTreeMap<String, u64>,
    pub(super) unusable: u64,
    pub(super) unfinished: u64,
}

/// Reads a transcript of any size line by line (X1): it holds one line at a time and of each what
/// the rules need.
///
/// Lines of subagents (`isSidechain`) are skipped, lines of other types counted by type, and so are
/// lines that are not JSON. What stands behind the last line feed is a line still being written and
/// does not count, unless it is a whole record.
///
/// # Errors
/// Those of the reader; what was read so far is lost.
pub fn read(mut reader: impl BufRead) -> io::Result<Transcript> {
    let mut transcript = Transcript::default();
    let mut ids = HashMap::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        transcript.take(&line, &mut ids);
        line.clear();
    }
    Ok(transcript)
}

impl Transcript {
    fn take(&mut self, line: &[u8], ids: &mut HashMap<String, usize>) {
        let is_ended = line.ends_with(b"\n");
        let record = line::read(line);
        if record.is_none() && !is_ended {
            self.count.unfinished = line.len() as u64;
            return;
        }
        self.count.whole += 1;
        let Some(record) = record else {
            let is_blank = line.iter().all(u8::is_ascii_whitespace);
            self.count.unusable += u64::from(!is_blank);
            return;
        };
        let said = match record.kind {
            Kind::Sidechain => {
                self.count.sidechain += 1;
                return;
            }
            Kind::Other(name) => {
                *self.count.other.entry(name).or_default() += 1;
                None
            }
            Kind::Said(said) => {
                self.count.said += 1;
                Some(said)
            }
        };
        if said.is_none() && record.uuid.is_none() {
            return;
        }
        let before = || self.nodes.iter().rposition(|node| node.said.is_some());
        let parent = match record.parent {
            Parent::Nothing => None,
            Parent::Line(uuid) => ids.get(&uuid).copied().or_else(before),
            Parent::Unsaid => before(),
        };
        if let Some(uuid) = record.uuid {
            ids.insert(uuid, self.nodes.len());
        }
        if let Some(said) = &said {
            self.kept += said.size();
            self.turn += u64::from(said.is_prompt());
        }
        let (line, turn) = (self.count.whole, self.turn);
        self.nodes.push(Node { line, turn, parent, said, is_dropped: false });
        self.forget();
    }

    /// Lets go of the oldest texts until the rest fits; one that does not fit alone loses its
    /// beginning.
    fn forget(&mut self) {
        while self.kept > KEPT {
            let is_last = self.oldest + 1 == self.nodes.len();
            let Some(node) = self.nodes.get_mut(self.oldest) else { return };
            if let Some(said) = &mut node.said {
                self.kept -= said.size();
                node.is_dropped = said.size() > 0;
                if is_last {
                    said.shorten();
                    self.kept += said.size();
                    return;
                }
                said.let_go();
            }
            self.oldest += 1;
        }
    }
}

impl Said {
    fn is_prompt(&self) -> bool {
        self.by == By::User(Turn::Prompt) && self.answers.is_empty()
    }

    fn size(&self) -> usize {
        let answers = self.answers.iter().map(|answer| answer.text.len());
        self.texts.iter().map(String::len).chain(answers).sum()
    }

    fn let_go(&mut self) {
        self.texts.clear();
        self.answers.iter_mut().for_each(|answer| answer.text.clear());
    }

    /// Keeps the end of what it says. Secrets go first: half a secret is not known as one.
    fn shorten(&mut self) {
        let answers = self.answers.iter_mut().map(|answer| &mut answer.text);
        let mut left = KEPT;
        for text in self.texts.iter_mut().chain(answers).rev() {
            if text.len() > left {
                let redacted = redact_text(text);
                *text = tail(&redacted, left).to_owned();
            }
            left -= text.len();
        }
    }
}

/// The end of `text`, of at most `limit` bytes.
fn tail(text: &str, limit: usize) -> &str {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
