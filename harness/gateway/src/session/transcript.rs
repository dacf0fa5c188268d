//! The transcript of a session: its path, its lines, and the conversation that counts
//! ([X1](crate::rules::X1), [X2](crate::rules::X2)).
//!
//! The CLI keeps it at `<config folder>/projects/<slug of the working folder>/<session>.jsonl`.
//! Lines name the one they follow. A resume that goes round what the CLI could not use, a rewind or
//! an edited prompt leaves a branch behind. What counts is the chain that leads to the last line.
//! Parallel calls are siblings: each line of the message follows the one before, each result follows
//! its own call, and the next message follows the result that came last. So a message that the chain
//! leaves by a result counts whole, with all its results; one that it leaves by a prompt, up to there.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use clitape_stream::{ToolKind, lenient_value};
use serde_json::Value;
use thiserror::Error;
use unicode_normalization::UnicodeNormalization as _;

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

    /// Returns whether most of its records name their session as transcripts do, and not as stdout does.
    #[must_use]
    pub fn is_recognised(&self) -> bool {
        self.count.of_transcript > self.count.of_stdout
    }

    fn add_line(&mut self, line: &[u8], ids: &mut HashMap<String, usize>) {
        let is_ended = line.ends_with(b"\n");
        let record = read_line(line);
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
                let start = redacted.ceil_char_boundary(redacted.len().saturating_sub(left));
                *text = redacted[start..].to_owned();
            }
            left -= text.len();
        }
    }
}

/// A line of a transcript that is one JSON object.
struct TranscriptLine {
    /// The line's own id, by which later lines name it.
    pub(super) uuid: Option<String>,
    pub(super) parent: Parent,
    pub(super) kind: LineKind,
    pub(super) session: SessionKey,
}

/// Under which key a record names its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKey {
    /// `sessionId`, as lines of transcripts do.
    Transcript,
    /// `session_id`, as records on stdout do.
    Stdout,
    None,
}

/// The reference of a line to the one it follows.
pub(super) enum Parent {
    /// None: transcripts before the chains had no reference.
    Unsaid,
    /// It is the first line of a chain.
    Nothing,
    Line(String),
}

pub(super) enum LineKind {
    /// The main conversation.
    Conversation(LineContent),
    /// A subagent's conversation.
    Sidechain,
    /// Another line, by its `type`.
    Other(String),
}

/// A part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineContent {
    pub(super) by: Author,
    pub(super) timestamp: Option<String>,
    /// Texts, without blanks around them.
    pub(super) texts: Vec<String>,
    /// Answers to calls: those of the CLI's tools in user lines, those of the API's in assistant lines.
    pub(super) answers: Vec<ToolAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Author {
    User(UserTurn),
    Assistant(AssistantMessage),
}

/// The purpose of a user line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserTurn {
    /// The model is to answer it.
    Prompt,
    /// It ends the turn: `[Request interrupted by user]`.
    Interruption,
    /// A summary of the conversation before it: a compaction.
    Summary,
    /// A text without an answer: a local command, a note of the CLI's.
    Note,
}

/// A line of an API message; the CLI writes one for each block, all with the message's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AssistantMessage {
    pub(super) id: Option<String>,
    /// The CLI wrote it in the model's place: an API error, `No response requested.`
    pub(super) is_synthetic: bool,
    pub(super) stop: TranscriptEnd,
    pub(super) calls: Vec<TranscriptCall>,
}

/// The end of a message, as a message line reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptEnd {
    /// `tool_use`.
    ToolUse,
    /// It was still being written, or broken off.
    Open,
    /// It ended, or the CLI is one that does not say.
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TranscriptCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: ToolKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolAnswer {
    pub(super) call: String,
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// Reads a line; `None` when it is not one JSON object.
fn read_line(line: &[u8]) -> Option<TranscriptLine> {
    let record = lenient_value(String::from_utf8_lossy(line).trim()).ok()?;
    record.is_object().then(|| TranscriptLine {
        uuid: string(&record, "uuid"),
        parent: parent(&record),
        kind: kind(&record),
        session: session_key(&record),
    })
}

fn session_key(record: &Value) -> SessionKey {
    match (record.get("sessionId"), record.get("session_id")) {
        (Some(_), _) => SessionKey::Transcript,
        (None, Some(_)) => SessionKey::Stdout,
        (None, None) => SessionKey::None,
    }
}

/// A compaction begins a new chain, and says which line it logically follows.
fn parent(record: &Value) -> Parent {
    match (string(record, "parentUuid"), string(record, "logicalParentUuid")) {
        (Some(line), _) | (None, Some(line)) => Parent::Line(line),
        (None, None) if record.get("parentUuid").is_some() => Parent::Nothing,
        (None, None) => Parent::Unsaid,
    }
}

fn kind(record: &Value) -> LineKind {
    // A line without a type is a line of another kind, whose name is empty.
    let name = string(record, "type").unwrap_or_default();
    let message = &record["message"];
    let by = match (name.as_str(), message["role"].as_str()) {
        _ if record["isSidechain"] == true => {
            return LineKind::Sidechain;
        }
        ("assistant", Some("assistant")) => Author::Assistant(self::message(record, message)),
        ("user", Some("user")) => Author::User(UserTurn::Prompt),
        _ => return LineKind::Other(name),
    };
    let content = &message["content"];
    let blocks = blocks(content);
    let texts: Vec<String> = match content {
        Value::String(text) => vec![text.trim().to_owned()],
        _ => blocks.iter().filter_map(text).collect(),
    };
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    let answers: Vec<ToolAnswer> = blocks.iter().filter_map(answer).collect();
    let by = match by {
        Author::User(_) => Author::User(turn(record, &texts, &answers)),
        by @ Author::Assistant(_) => by,
    };
    LineKind::Conversation(LineContent {
        by,
        timestamp: string(record, "timestamp"),
        texts,
        answers,
    })
}

fn turn(record: &Value, texts: &[String], answers: &[ToolAnswer]) -> UserTurn {
    const NOTES: [&str; 4] =
        ["<local-command-", "<command-name>", "<command-message>", "<bash-stdout>"];
    let begins = |mark: &str| texts.first().is_some_and(|text| text.starts_with(mark));
    if record["isCompactSummary"] == true {
        UserTurn::Summary
    } else if begins("[Request interrupted by user") {
        UserTurn::Interruption
    } else if answers.is_empty()
        && (record["isMeta"] == true || NOTES.iter().any(|note| begins(note)))
    {
        UserTurn::Note
    } else {
        UserTurn::Prompt
    }
}

/// Returns the blocks of a content. A content that is not an array has none.
fn blocks(content: &Value) -> &[Value] {
    content.as_array().map_or(&[], Vec::as_slice)
}

fn message(record: &Value, message: &Value) -> AssistantMessage {
    let blocks = blocks(&message["content"]);
    AssistantMessage {
        id: string(message, "id"),
        is_synthetic: message["model"] == "<synthetic>",
        stop: stop(record, message),
        calls: blocks.iter().filter_map(call).collect(),
    }
}

/// Version 1 of the CLI wrote `null` for messages that had ended.
fn stop(record: &Value, message: &Value) -> TranscriptEnd {
    let is_first_version = record["version"].as_str().is_none_or(|v| v.starts_with("1."));
    match message.get("stop_reason") {
        Some(Value::String(reason)) if reason == "tool_use" => TranscriptEnd::ToolUse,
        Some(Value::Null) if !is_first_version => TranscriptEnd::Open,
        _ => TranscriptEnd::Ended,
    }
}

fn call(block: &Value) -> Option<TranscriptCall> {
    const KINDS: [ToolKind; 3] = [ToolKind::ToolUse, ToolKind::ServerToolUse, ToolKind::McpToolUse];
    let kind = KINDS.into_iter().find(|kind| block["type"] == kind.as_str())?;
    // A call without a name can be answered all the same.
    let name = string(block, "name").unwrap_or_default();
    Some(TranscriptCall { id: string(block, "id")?, name, kind })
}

/// `tool_result`, `web_search_tool_result`, `mcp_tool_result` and whatever else ends so.
fn answer(block: &Value) -> Option<ToolAnswer> {
    block["type"].as_str().filter(|name| name.ends_with("tool_result"))?;
    let content = &block["content"];
    let text = match content {
        Value::String(text) => text.trim().to_owned(),
        _ => blocks(content).iter().filter_map(self::text).collect::<Vec<_>>().join("\n"),
    };
    let is_error = block["is_error"] == true;
    Some(ToolAnswer { call: string(block, "tool_use_id")?, is_error, text })
}

/// The text of a text block.
fn text(block: &Value) -> Option<String> {
    let text = block["text"].as_str().filter(|_| block["type"] == "text")?;
    Some(text.trim().to_owned())
}

/// A field that contains more than blanks, trimmed.
fn string(value: &Value, name: &str) -> Option<String> {
    let text = value[name].as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

impl Transcript {
    /// The lines of the conversation that counts, in the order they were written.
    pub(super) fn conversation(&self) -> Vec<&TranscriptNode> {
        let mut on = vec![false; self.nodes.len()];
        let mut messages = HashSet::new();
        let mut is_whole = true;
        let mut at = self.nodes.iter().rposition(|node| node.content.is_some());
        while let Some(index) = at {
            let node = &self.nodes[index];
            if let Some(said) = &node.content {
                on[index] = true;
                match (&said.by, message_id(node)) {
                    (Author::User(_), _) => is_whole = !said.answers.is_empty(),
                    (Author::Assistant(_), Some(id)) if is_whole => {
                        messages.insert(id);
                    }
                    (Author::Assistant(_), _) => {}
                }
            }
            at = node.parent;
        }
        let mut calls = HashSet::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(said) = &node.content else { continue };
            on[index] |= message_id(node).is_some_and(|id| messages.contains(&id));
            on[index] |= said.answers.iter().any(|answer| calls.contains(answer.call.as_str()));
            if let (true, Author::Assistant(message)) = (on[index], &said.by) {
                calls.extend(message.calls.iter().map(|call| call.id.as_str()));
            }
        }
        self.nodes.iter().zip(on).filter(|(_, on)| *on).map(|(node, _)| node).collect()
    }
}

/// The message a line is of, and its turn.
fn message_id(node: &TranscriptNode) -> Option<(u64, &str)> {
    match &node.content {
        Some(LineContent { by: Author::Assistant(message), .. }) => {
            Some((node.turn, message.id.as_deref()?))
        }
        _ => None,
    }
}

/// Characters of a slug; a longer one is cut there and gets a hash.
const SLUG: usize = 200;

/// Why a transcript could not be found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocateError {
    /// The id is not one: it is empty, or would lead to another folder.
    #[error("the session id {0:?} is no id; give the one the CLI printed as session_id")]
    Id(String),
    /// The file does not exist.
    #[error("there is no transcript {}; check the id, and the folder the session ran in", .0.display())]
    NotFound(PathBuf),
    /// Several sessions have ids that begin so.
    #[error("several sessions begin with {id:?}; write more of the id: {}", .ids.join(", "))]
    Several {
        /// The start of the ids.
        id: String,
        /// The ids, sorted.
        ids: Vec<String>,
    },
    /// The file is a link that leads out of the projects folder, or no file at all.
    #[error("{} is no file of the projects folder; remove what stands in its place", .0.display())]
    Outside(PathBuf),
    /// It could not be looked at.
    #[error("can't look at {}: {source}; check who may read it", .path.display())]
    Io {
        /// The path that was read.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The CLI's config folder: `CLAUDE_CONFIG_DIR` if it is set and not empty, else `.claude` in HOME;
/// `None` if neither is known. openclaw#145309, openclaw#147745: the variable counts here too.
#[must_use]
pub fn config_dir(claude_config_dir: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    set(claude_config_dir).or_else(|| set(home).map(|home| home.join(".claude")))
}

/// Returns the folder name of a working folder: each UTF-16 unit other than an ASCII letter or digit becomes `-`; a
/// name longer than 200 becomes its first 200 and a hash.
#[must_use]
pub fn slug(cwd: &str) -> String {
    let plain = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    let slug: String = cwd.encode_utf16().map(plain).collect();
    match slug.get(..SLUG) {
        Some(start) if slug.len() > SLUG => format!("{start}-{}", base36(hash(cwd))),
        _ => slug,
    }
}

/// The hash of the CLI: `h * 31 + unit` in 32 bits, without its sign.
fn hash(path: &str) -> u32 {
    let step = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    path.encode_utf16().fold(0, step).unsigned_abs()
}

fn base36(number: u32) -> String {
    let mut digits = Vec::new();
    let mut left = number;
    loop {
        digits.extend(char::from_digit(left % 36, 36));
        left /= 36;
        if left == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Returns whether `id` can be a session's: not empty, and no way to another folder.
pub(super) fn is_id(id: &str) -> bool {
    let is_plain = |c: char| !matches!(c, '/' | '\\' | ':') && !c.is_control();
    !id.trim().is_empty() && !id.starts_with('.') && id.chars().all(is_plain)
}

/// The transcript of session `id`, run in the folder `cwd` ([X1](crate::rules::X1)), in
/// `config_dir`, see [`config_dir()`]. A folder whose name is not in Unicode's NFC is looked for as
/// it is spelled, which is how 2.1.329 writes it, and then in NFC, as versions before did.
///
/// # Errors
/// When the id looks like a path, which is reported before the disk is touched; when the transcript is missing; when
/// it is not a file, or is a link out of the projects folder; when the disk can't be read.
pub fn locate(config_dir: &Path, cwd: &Path, id: &str) -> Result<PathBuf, LocateError> {
    if !is_id(id) {
        return Err(LocateError::Id(id.to_owned()));
    }
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let cwd = cwd.to_string_lossy();
    let composed: String = cwd.nfc().collect();
    let projects = config_dir.join("projects");
    let find = |cwd: &str| file(&projects, &projects.join(slug(cwd)).join(format!("{id}.jsonl")));
    match find(&cwd) {
        Err(LocateError::NotFound(path)) => find(&composed).map_err(|error| match error {
            LocateError::NotFound(_) => LocateError::NotFound(path),
            error => error,
        }),
        found => found,
    }
}

/// Like [`locate`], for a person who writes only the start of an id: where no session has the id itself, it is that of
/// the one session of the folder that begins so.
///
/// # Errors
/// As [`locate`], and when several sessions begin so.
pub fn locate_short(config_dir: &Path, cwd: &Path, id: &str) -> Result<PathBuf, LocateError> {
    let missing = match locate(config_dir, cwd, id) {
        Err(LocateError::NotFound(path)) => path,
        found => return found,
    };
    let folders = missing.parent().into_iter().flat_map(std::fs::read_dir);
    let names = folders.flatten().flatten().map(|entry| entry.file_name());
    let mut ids: Vec<String> = names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".jsonl")?.to_owned()))
        .filter(|known| known.starts_with(id))
        .collect();
    ids.sort_unstable();
    match &ids[..] {
        [] => Err(LocateError::NotFound(missing)),
        [whole] => locate(config_dir, cwd, whole),
        _ => Err(LocateError::Several { id: id.to_owned(), ids }),
    }
}

/// `path` without links, if it is a file below `projects`.
fn file(projects: &Path, path: &Path) -> Result<PathBuf, LocateError> {
    let real = |place: &Path| {
        place.canonicalize().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                LocateError::NotFound(path.to_owned())
            }
            _ => LocateError::Io { path: path.to_owned(), source },
        })
    };
    let found = real(path)?;
    if found.starts_with(real(projects)?) && found.is_file() {
        Ok(found)
    } else {
        Err(LocateError::Outside(path.to_owned()))
    }
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
            assert!(expect.is_none() || !read.is_recognised(), "{text}");
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
