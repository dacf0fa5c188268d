//! Reading a transcript from its first line to its last ([X1](crate::rules::X1)).

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};

use super::line::{self, Author, LineContent, LineKind, Parent, SessionKey, UserTurn};
use crate::sanitise::redact_text;

/// Bytes of text that are kept for a reseed, the newest: no reseed takes more.
const RETAINED: usize = 1 << 20;

/// A transcript that was read: who said what and after what, and of the texts the newest 1 MiB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// The lines that say what they follow, or that others follow.
    pub(super) nodes: Vec<TranscriptNode>,
    pub(super) count: LineTally,
    /// Bytes of text in `nodes`.
    retained: usize,
    /// Prompts so far.
    turn: u64,
    /// The first of `nodes` that may have text.
    oldest: usize,
}

/// A line among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TranscriptNode {
    /// From 1.
    pub(super) line: u64,
    /// Prompts up to this line; two lines of one message have the same number, and two messages
    /// whose ids are the same have not.
    pub(super) turn: u64,
    /// The one before it in the conversation; always an earlier one.
    pub(super) parent: Option<usize>,
    /// `None`: it only links others, as an attachment does.
    pub(super) content: Option<LineContent>,
    /// Its texts were let go of.
    pub(super) is_dropped: bool,
}

/// The numbers of lines, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineTally {
    pub(super) whole: u64,
    pub(super) conversation: u64,
    pub(super) sidechain: u64,
    pub(super) other: BTreeMap<String, u64>,
    pub(super) unusable: u64,
    pub(super) unfinished: u64,
    /// Records that name the session as transcripts do.
    of_transcript: u64,
    /// Records that name the session as stdout does.
    of_stdout: u64,
}

/// The kind of a file that was taken for a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoTranscript {
    /// The stdout of a CLI with `--output-format stream-json`.
    StreamJson,
    /// It has lines, and none of them is a JSON object.
    NoRecords,
}

/// Reads a transcript of any size line by line ([X1](crate::rules::X1)): it keeps one line at a
/// time and of each what the rules need.
///
/// Lines of subagents (`isSidechain`) are skipped, lines of other types counted by type, and so are
/// lines that are not JSON. Bytes behind the last line feed are a line still being written and
/// does not count, unless it is a whole record.
///
/// # Errors
/// Those of the reader; what was read so far is lost.
pub fn read(mut reader: impl BufRead) -> io::Result<Transcript> {
    let mut transcript = Transcript::default();
    let mut ids = HashMap::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        transcript.add_line(&line, &mut ids);
        line.clear();
    }
    Ok(transcript)
}

impl Transcript {
    /// The kind of the file, if it was taken for a transcript by mistake. An empty file is a transcript without a
    /// line so far, and so is one whose only line is still being written.
    #[must_use]
    pub fn mistaken_for(&self) -> Option<NoTranscript> {
        let LineTally { whole, unusable, of_transcript, of_stdout, .. } = self.count;
        match (of_transcript, of_stdout) {
            (0, 1..) => Some(NoTranscript::StreamJson),
            _ if whole > 0 && unusable == whole => Some(NoTranscript::NoRecords),
            _ => None,
        }
    }

    fn add_line(&mut self, line: &[u8], ids: &mut HashMap<String, usize>) {
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
        match record.session {
            SessionKey::Transcript => self.count.of_transcript += 1,
            SessionKey::Stdout => self.count.of_stdout += 1,
            SessionKey::None => {}
        }
        let said = match record.kind {
            LineKind::Sidechain => {
                self.count.sidechain += 1;
                return;
            }
            LineKind::Other(name) => {
                *self.count.other.entry(name).or_default() += 1;
                None
            }
            LineKind::Conversation(said) => {
                self.count.conversation += 1;
                Some(said)
            }
        };
        if said.is_none() && record.uuid.is_none() {
            return;
        }
        let before = || self.nodes.iter().rposition(|node| node.content.is_some());
        let parent = match record.parent {
            Parent::Nothing => None,
            Parent::Line(uuid) => ids.get(&uuid).copied().or_else(before),
            Parent::Unsaid => before(),
        };
        if let Some(uuid) = record.uuid {
            ids.insert(uuid, self.nodes.len());
        }
        if let Some(said) = &said {
            self.retained += said.size();
            self.turn += u64::from(said.is_prompt());
        }
        let (line, turn) = (self.count.whole, self.turn);
        self.nodes.push(TranscriptNode { line, turn, parent, content: said, is_dropped: false });
        self.drop_oldest();
    }

    /// Lets go of the oldest texts until the rest fits; one that does not fit alone loses its
    /// beginning.
    fn drop_oldest(&mut self) {
        while self.retained > RETAINED {
            let is_last = self.oldest + 1 == self.nodes.len();
            let Some(node) = self.nodes.get_mut(self.oldest) else { return };
            if let Some(said) = &mut node.content {
                self.retained -= said.size();
                node.is_dropped = said.size() > 0;
                if is_last {
                    said.shorten();
                    self.retained += said.size();
                    return;
                }
                said.clear_texts();
            }
            self.oldest += 1;
        }
    }
}

impl LineContent {
    fn is_prompt(&self) -> bool {
        self.by == Author::User(UserTurn::Prompt) && self.answers.is_empty()
    }

    fn size(&self) -> usize {
        let answers = self.answers.iter().map(|answer| answer.text.len());
        self.texts.iter().map(String::len).chain(answers).sum()
    }

    fn clear_texts(&mut self) {
        self.texts.clear();
        self.answers.iter_mut().for_each(|answer| answer.text.clear());
    }

    /// Keeps the end of what it says. Secrets go first: half a secret is not known as one.
    fn shorten(&mut self) {
        let answers = self.answers.iter_mut().map(|answer| &mut answer.text);
        let mut left = RETAINED;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of text that are kept of lines with texts of these lengths, and which are dropped.
    fn check(lengths: &[usize], kept: &[usize], dropped: &[bool]) {
        let line = |length: &usize| {
            let text = "x".repeat(*length);
            format!(r#"{{"type":"user","message":{{"role":"user","content":"{text}"}}}}"#)
        };
        let lines: Vec<String> = lengths.iter().map(line).collect();
        let read = read(lines.join("\n").as_bytes()).expect("bytes in memory always read");
        let sizes: Vec<usize> =
            read.nodes.iter().filter_map(|node| Some(node.content.as_ref()?.size())).collect();
        assert_eq!(sizes, kept);
        assert_eq!(read.nodes.iter().map(|node| node.is_dropped).collect::<Vec<_>>(), dropped);
        assert_eq!(read.retained, kept.iter().sum::<usize>());
    }

    #[test]
    fn x1_the_newest_mebibyte_of_text_is_kept() {
        const HALF: usize = RETAINED / 2;
        check(&[RETAINED], &[RETAINED], &[false]);
        check(&[RETAINED + 1], &[RETAINED], &[true]);
        check(&[HALF, HALF], &[HALF, HALF], &[false, false]);
        check(&[HALF, HALF, 1], &[0, HALF, 1], &[true, false, false]);
        check(&[1, HALF, HALF + 2], &[0, 0, HALF + 2], &[true, true, false]);
        check(&[1, RETAINED, 0, 1], &[0, 0, 0, 1], &[true, true, false, false]);
        check(&[9, RETAINED + 9, 9], &[0, 0, 9], &[true, true, false]);
    }

    #[test]
    fn what_is_no_transcript_is_told_from_one() {
        let check = |text: &str, expect: Option<NoTranscript>| {
            let read = read(text.as_bytes()).expect("bytes in memory always read");
            assert_eq!(read.mistaken_for(), expect, "{text}");
        };
        let (line, printed) = (r#"{"sessionId":"s"}"#, r#"{"session_id":"s"}"#);
        check("", None);
        check("still being written", None);
        check(&format!("{line}\n"), None);
        check(&format!("{line}\nword\n"), None);
        check("{}\nword\n", None);
        check(&format!("{line}\n{printed}\n"), None);
        check(&format!("{printed}\n"), Some(NoTranscript::StreamJson));
        check(&format!("{printed}\n{printed}\nword\n"), Some(NoTranscript::StreamJson));
        check("word\nword\n", Some(NoTranscript::NoRecords));
    }

    #[test]
    fn x1_a_line_that_is_too_long_keeps_the_end_of_its_newest_texts() {
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let blocks = [text(&"a".repeat(RETAINED)), text("éé"), text(&"c".repeat(RETAINED - 3))];
        let blocks = blocks.join(",");
        let line = format!(r#"{{"type":"user","message":{{"role":"user","content":[{blocks}]}}}}"#);
        let read = read(line.as_bytes()).expect("bytes in memory always read");
        let said = read.nodes[0].content.as_ref().expect("it is of the conversation");
        let lengths: Vec<usize> = said.texts.iter().map(String::len).collect();
        assert_eq!((lengths, &*said.texts[1]), (vec![1, 2, RETAINED - 3], "é"));
    }
}
