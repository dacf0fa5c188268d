//! The canonical form of a recording: parts that differ between two runs of one script, and those that identify the
//! machine, become stable placeholders of the same JSON type.
//!
//! Recording a scenario again with the same CLI so gives the same bytes. All other bytes stay: no line is parsed and
//! printed again. In order: lines become trees of spans, read by the parser's own reader ([`clitape_stream::tree`]);
//! the rules by field blank values and collect ids (`rules`); ids and the facts of the machine (`facts`) are searched
//! in texts in which a value is whole, the deltas of a block joined, and all edits are made at once (`texts`). The
//! canonical form of a canonical form is itself.
//!
//! | rule | what it replaces |
//! |---|---|
//! | `session`, `uuid`, `task`, `run`, `hash`, `blob` | ids the CLI makes up, wherever they occur |
//! | `plan` | the random name of the file with a plan |
//! | `duration`, `time`, `cost` | numbers and points in time, by field; durations in running text as well |
//! | `pid`, `uid`, `address` | numbers of processes and users, also in the names of files, the model server's port |
//! | `project`, `home`, `tmp` | the folders of the run, plain and as the CLI's slug |
//! | `host`, `user` | names, as whole words |
//! | `racing` | fields that CLIs before 2.1.100 print one way or the other |
//! | `order` | members of `modelUsage`, sorted |
//! A session file is reduced to the conversation: the messages of the user, of the model and of the tools. Newer CLIs
//! also write their system prompt, tool schemas, request shapes and the machine's details there. Lines are accepted by
//! type, so that a new kind stays out.

use std::borrow::Cow;

use clitape_stream::tree::JsonNode;

use super::format::{Tick, TickKind};
use rules::Ids;
use texts::{ByteEdit, Matcher, Needle, TextParts, Texts, splice};

mod facts;
mod rules;
pub(crate) mod texts;

pub use facts::{MachineFacts, MachineFolder, guess};
pub use rules::is_uuid;
pub use texts::Canonical;

/// Returns the canonical form of stdout, and the substitutions for the other files of the run.
pub fn canonical(stdout: &[u8], facts: &MachineFacts) -> (Canonical, Substitutions) {
    let mut substitutions = Substitutions {
        facts: facts::needles(facts),
        races: facts.cli_version.as_deref().is_some_and(rules::races),
        ids: Ids::default(),
        matcher: Matcher::default(),
    };
    (substitutions.apply_lines(stdout), substitutions)
}

/// The placeholders of one recording.
#[derive(Debug, Clone)]
pub struct Substitutions {
    facts: Vec<Needle>,
    races: bool,
    ids: Ids,
    matcher: Matcher,
}

impl Substitutions {
    /// Returns the canonical form of another file of the run: transcript, stdin, stderr.
    ///
    /// New ids get the next numbers, so the order of the calls matters. In a line that is neither a JSON object nor an
    /// array of objects, only known values are replaced.
    pub fn apply_lines(&mut self, text: &[u8]) -> Canonical {
        let (raw, sorted) = in_order(text);
        let mut edits = Vec::new();
        let mut texts = Texts::default();
        for line in texts::lines(&raw) {
            let records = texts::records(&raw, &line);
            texts.add(&raw, &line, &records);
            for record in &records {
                rules::record(&raw, record, self.races, &mut self.ids, &mut edits);
            }
        }
        for text in &texts.all {
            rules::spoken(&text.bytes(&raw), &mut self.ids);
        }
        let known = self.facts.iter().cloned();
        self.matcher = Matcher::new(known.chain(self.ids.needles()));
        for text in &texts.all {
            self.values(&raw, text, &mut edits);
        }
        let mut canonical = splice(&raw, edits);
        if sorted > 0 {
            canonical.counts.insert("order".to_owned(), sorted);
        }
        canonical
    }

    /// Replaces the values of the run in a text without records, such as an argument of the command line.
    pub fn apply_text(&self, text: &str) -> String {
        let mut edits = Vec::new();
        self.values(text.as_bytes(), &TextParts::whole(text.len()), &mut edits);
        String::from_utf8_lossy(&splice(text.as_bytes(), edits).bytes).into_owned()
    }

    fn values(&self, raw: &[u8], text: &TextParts, edits: &mut Vec<ByteEdit>) {
        let bytes = text.bytes(raw);
        for found in self.matcher.find(&bytes) {
            if bytes[found.span.clone()] != *found.with.as_bytes() {
                text.replace(&found.span, found.with.as_bytes(), found.rule, edits);
            }
        }
    }
}

/// Puts the members of unordered objects in order; returns the bytes, and the number of objects that changed.
fn in_order(text: &[u8]) -> (Cow<'_, [u8]>, u64) {
    let mut raw = Cow::Borrowed(text);
    let mut sorted = 0;
    for record in texts::lines(text).flat_map(|line| texts::records(text, &line)) {
        sorted += rules::sort_members(&mut raw, &record);
    }
    (raw, sorted)
}

/// The types of the lines that are kept.
const CONVERSATION: [&[u8]; 3] = [b"user", b"assistant", b"summary"];

/// The subtypes of the `system` lines that are kept: they mark the places where the conversation was cut.
const SYSTEM_KINDS: [&[u8]; 2] = [b"compact_boundary", b"microcompact_boundary"];

/// The fields of a kept line that identify the machine or contain the CLI's own text, which are emptied.
const EMPTIED: [&str; 5] = ["gitBranch", "osVersion", "shell", "systemPrompt", "tools"];

/// Returns the lines of a transcript that belong to the conversation, with their bytes.
///
/// These are the lines of type `user`, `assistant` and `summary`, and those of type `system` that
/// mark a compaction. All other lines are left out, also those that are not JSON objects. The fields
/// of a line that contain the git branch, the operating system, the shell, the system prompt or tool
/// schemas are emptied to `""`, `[]` or `{}`.
pub fn conversation_lines(transcript: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    for span in texts::lines(transcript) {
        let line = &transcript[span];
        let node = JsonNode::read(line, &(0..line.len()));
        if let Some(node) = node.filter(|node| is_conversation(line, node)) {
            kept.extend(splice(line, emptied(line, &node)).bytes);
            kept.push(b'\n');
        }
    }
    kept
}

fn is_conversation(raw: &[u8], node: &JsonNode) -> bool {
    let text = |key| node.get(key).map_or(&b""[..], |value| value.text(raw));
    CONVERSATION.contains(&text("type"))
        || (text("type") == b"system" && SYSTEM_KINDS.contains(&text("subtype")))
}

fn emptied(raw: &[u8], node: &JsonNode) -> Vec<ByteEdit> {
    EMPTIED
        .iter()
        .filter_map(|key| node.get(key))
        .filter_map(|value| {
            let with: &[u8] = match raw[value.span.start] {
                b'"' => b"\"\"",
                b'[' => b"[]",
                b'{' => b"{}",
                _ => return None,
            };
            Some(ByteEdit { span: value.span.clone(), with: with.to_vec(), rule: None })
        })
        .collect()
}

/// Makes a timeline of `events`, each with its milliseconds since the start and with sizes before replacements; `out`
/// and `err` map the offsets of stdout and stderr to those after them.
///
/// A read without remaining bytes is removed, and its time becomes a part of the next interval.
pub fn timeline(
    events: impl IntoIterator<Item = (u64, TickKind)>,
    out: impl Fn(u64) -> u64,
    err: impl Fn(u64) -> u64,
) -> Vec<Tick> {
    let (mut at, mut out_at, mut err_at) = (0, 0, 0);
    let size = |from: &mut u64, n: u64, map: &dyn Fn(u64) -> u64| {
        let start = map(*from);
        *from = from.saturating_add(n);
        map(*from) - start
    };
    let mut ticks = Vec::new();
    for (when, kind) in events {
        let kind = match kind {
            TickKind::Out(n) => TickKind::Out(size(&mut out_at, n, &out)),
            TickKind::Err(n) => TickKind::Err(size(&mut err_at, n, &err)),
            TickKind::In { line, offset } => TickKind::In { line, offset: offset.map(&out) },
            other => other,
        };
        if !matches!(kind, TickKind::Out(0) | TickKind::Err(0)) {
            let after_ms = when.saturating_sub(at);
            at = when;
            ticks.push(Tick { after_ms, kind });
        }
    }
    ticks
}

/// Returns the timeline of a recording after replacements in its `out` and `err`.
pub fn moved(ticks: &[Tick], out: &Canonical, err: &Canonical) -> Vec<Tick> {
    let events = ticks.iter().scan(0_u64, |at, tick| {
        *at = at.saturating_add(tick.after_ms);
        Some((*at, tick.kind.clone()))
    });
    timeline(events, |raw| out.map_offset(raw), |raw| err.map_offset(raw))
}

#[cfg(test)]
mod tests;
