//! Draws faults of the agent's side that a capture can have, changes the bytes of the capture as those of a plan say,
//! and moves the plan's steps onto the new bytes.

use std::borrow::Cow;

use clitape_recording::capture::{Capture, StdinLine};
use clitape_stream::ParserLimits;
use serde_json::Value;

use super::faults::{AGENT_FAULTS, AgentFault, AgentFaultKind, HostStep};
use super::plan::{Plan, PlanError, PlanStep, line_ends};
use super::random::AgentDraw;

/// The texts of [`AgentFaultKind::LogLine`]; the number of the line says which of them it is.
pub const LOG_LINES: [&str; 6] = [
    "Welcome! A new version is available. \u{26a0}\u{fe0f} Run `update` to get it.\n",
    "{\"level\":\"warn\",\"time\":1764000000000,\"msg\":\"slow network\",\"result\":\"none\"}\n",
    "null\n",
    "\n",
    "[]\n",
    "(node:4242) Warning: {\"type\":\"result\" is deprecated\n",
];
/// The text of [`AgentFaultKind::LogInside`].
const LOG_INSIDE: &str = "2026-11-22T10:00:00Z WARN the pipe is shared\n";
/// The records of [`AgentFaultKind::UnknownKind`]; the number of the line says which of them it is.
pub const UNKNOWN_RECORDS: [&str; 4] = [
    "{\"type\":\"from_the_future\",\"subtype\":\"success\",\"result\":\"Not the answer.\",\"is_error\":true}\n",
    "{\"type\":\"system\",\"subtype\":\"from_the_future\",\"content\":\"Not for people.\"}\n",
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"from_the_future\",\"index\":0,\"text\":\"Not the answer.\"}}\n",
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"from_the_future_delta\",\"text\":\"Not the answer.\"}}}\n",
];
/// The field of [`AgentFaultKind::UnknownField`].
const FIELD: &str = "\"from_the_future\":{\"type\":\"result\",\"text\":[1,\"\\u00e9\",null]},";
/// A byte that is in no UTF-8.
const BAD_BYTE: u8 = 0xff;
/// The byte order mark.
const BOM: &[u8] = "\u{feff}".as_bytes();
/// The least limit of a line in a replay with [`AgentFaultKind::LongLine`].
const LINE_LIMIT: usize = 64 << 10;

/// A change of the bytes at one place.
#[derive(Debug)]
struct Edit {
    /// Where, in the recorded bytes.
    at: usize,
    /// The number of bytes that go.
    removed: usize,
    /// The bytes that come in their place.
    inserted: Vec<u8>,
    /// Where they come, in the new bytes.
    new_at: usize,
}

impl Edit {
    fn insert(at: usize, inserted: impl Into<Vec<u8>>) -> Self {
        Self { at, removed: 0, inserted: inserted.into(), new_at: 0 }
    }

    /// Returns whether the output ends here.
    fn is_cut(&self) -> bool {
        self.removed > 0 && self.inserted.is_empty()
    }
}

/// A plan on the bytes that it plays: those of the capture, changed as its faults say.
#[derive(Debug, Clone)]
pub(crate) struct PlayedPlan<'a> {
    /// The bytes of stdout.
    pub(crate) stdout: Cow<'a, [u8]>,
    /// The lines of the host.
    pub(crate) stdin: &'a [StdinLine],
    /// The plan, whose sizes and places are those of `stdout`.
    pub(crate) plan: Cow<'a, Plan>,
    /// The longest line that the parser reads, where the faults say so.
    line_limit: Option<usize>,
    /// Set if the host's side is as it was recorded.
    pub(crate) is_faithful: bool,
}

impl PlayedPlan<'_> {
    /// Both sides as they are played.
    pub(crate) fn capture(&self) -> Capture<'_> {
        Capture { stdout: &self.stdout, stdin: self.stdin }
    }

    /// Returns the parser's limits.
    pub(crate) fn limits(&self) -> ParserLimits {
        let mut limits = ParserLimits::default();
        limits.line = self.line_limit.unwrap_or(limits.line);
        limits
    }

    /// The same bytes without the cuts: every line comes whole, at the moment the plan brings its last byte.
    pub(crate) fn uncut(&self) -> Self {
        Self { plan: Cow::Owned(self.plan.uncut(&self.stdout)), ..self.clone() }
    }
}

impl Plan {
    /// The bytes of `capture` as the plan's faults of the agent's side change them, and the plan for these bytes.
    pub(crate) fn played<'a>(&'a self, capture: Capture<'a>) -> PlayedPlan<'a> {
        let Capture { stdout, stdin } = capture;
        let is_faithful = self.is_faithful(stdin);
        let edits = edits(&self.agent, stdout);
        let is_long = |fault: &AgentFault| fault.kind == AgentFaultKind::LongLine;
        let line_limit = self.agent.iter().any(is_long).then(|| line_limit(stdout));
        let (stdout, plan) = match edits.is_empty() {
            true => (Cow::Borrowed(stdout), Cow::Borrowed(self)),
            false => (Cow::Owned(altered(stdout, &edits)), Cow::Owned(self.moved(&edits))),
        };
        PlayedPlan { stdout, stdin, plan, line_limit, is_faithful }
    }

    /// Checks that the lines and bytes of the faults of the agent's side are there.
    ///
    /// # Errors
    ///
    /// [`PlanError::OtherLines`] when a fault names a line or a byte that the capture does not have.
    pub fn check_agent(&self, stdout: &[u8]) -> Result<(), PlanError> {
        let lines = Lines::of(stdout);
        for fault in self.agent.iter().filter(|fault| !fault.kind.is_of_channel()) {
            let line = lines.get(fault.number);
            let follows =
                fault.kind != AgentFaultKind::Swapped || lines.get(fault.number + 1).is_some();
            if line.is_none_or(|line| line.size() < fault.byte) || !follows {
                return Err(PlanError::OtherLines {
                    fault: *fault,
                    lines: lines.ends.len() as u64,
                });
            }
        }
        Ok(())
    }

    /// The same plan for the bytes that `edits` give.
    fn moved(&self, edits: &[Edit]) -> Self {
        let cut = edits.last().filter(|edit| edit.is_cut());
        let end = cut.map_or(u64::MAX, |edit| edit.at as u64);
        let (mut from, mut to) = (0_u64, 0_u64);
        let mut steps = Vec::with_capacity(self.steps.len());
        // What comes anew at the end of a piece belongs to it. A line of the host is written before it: its place is
        // the end of a line, and what comes anew there may be the beginning of the next one.
        let through = |place| &edits[..edits.partition_point(|edit| edit.at as u64 <= place)];
        let before = |place| &edits[..edits.partition_point(|edit| (edit.at as u64) < place)];
        for step in &self.steps {
            // A killed process brings neither bytes nor a pause.
            if from >= end {
                break;
            }
            from += step.bytes;
            let place = moved(from, through(from));
            steps.push(PlanStep { after_ms: step.after_ms, bytes: place - to });
            to = place;
        }
        let host = self.host.iter().filter(|step| step.at <= end);
        let moved = |at| moved(at, before(at));
        let host = host.map(|step| HostStep { at: moved(step.at), ..step.clone() });
        Self { steps, host: host.collect(), ..self.clone() }
    }
}

/// A line of stdout: where it begins, where its text ends, and where it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) start: usize,
    text_end: usize,
    pub(super) end: usize,
}

impl Line {
    /// The number of bytes without the line feed.
    fn size(self) -> u64 {
        (self.text_end - self.start) as u64
    }

    /// The bytes without the line feed.
    pub(super) fn text(self, stdout: &[u8]) -> &[u8] {
        &stdout[self.start..self.text_end]
    }
}

/// The lines of stdout.
pub(super) struct Lines<'a> {
    stdout: &'a [u8],
    ends: Vec<u64>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(stdout: &'a [u8]) -> Self {
        Self { stdout, ends: line_ends(stdout) }
    }

    /// The number of lines.
    pub(super) fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The line with this number, from 1.
    pub(super) fn get(&self, number: u64) -> Option<Line> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let place = |at: u64| usize::try_from(at).ok();
        let end = place(*self.ends.get(index)?)?;
        let start = index.checked_sub(1).map_or(Some(0), |before| place(self.ends[before]))?;
        let is_ended = self.stdout[start..end].ends_with(b"\n");
        Some(Line { start, text_end: end - usize::from(is_ended), end })
    }
}

/// The longest line that is read where a longer one is planned.
fn line_limit(stdout: &[u8]) -> usize {
    let longest = stdout.split(|&byte| byte == b'\n').map(<[u8]>::len).max();
    longest.unwrap_or(0).max(LINE_LIMIT)
}

/// Returns the changes of the faults, in the order of the bytes. A change inside another one, and one behind the end of
/// the output, is left out.
fn edits(faults: &[AgentFault], stdout: &[u8]) -> Vec<Edit> {
    let faults = || faults.iter().filter(|fault| !fault.kind.is_of_channel());
    if faults().next().is_none() {
        return Vec::new();
    }
    let lines = Lines::of(stdout);
    let mut edits: Vec<Edit> = faults().flat_map(|fault| edits_of(*fault, &lines)).collect();
    edits.sort_by_key(|edit| edit.at);
    let (mut from, mut size, mut is_over) = (0, 0, false);
    edits.retain_mut(|edit| {
        let is_free = !is_over && edit.at >= from;
        if is_free {
            edit.new_at = size + (edit.at - from);
            size = edit.new_at + edit.inserted.len();
            from = edit.at + edit.removed;
            is_over = edit.is_cut();
        }
        is_free
    });
    edits
}

fn edits_of(fault: AgentFault, lines: &Lines<'_>) -> Vec<Edit> {
    let AgentFault { number, kind, byte } = fault;
    let Some(line) = lines.get(number) else { return Vec::new() };
    let stdout = lines.stdout;
    let inside = line.start + usize::try_from(byte.min(line.size())).unwrap_or(0);
    let one_of = |texts: &[&str]| {
        let index = usize::try_from(number % texts.len() as u64).unwrap_or(0);
        Edit::insert(line.start, texts[index])
    };
    let edit = match kind {
        AgentFaultKind::Cut => {
            Edit { at: inside, removed: stdout.len() - inside, inserted: Vec::new(), new_at: 0 }
        }
        AgentFaultKind::LogLine => one_of(&LOG_LINES),
        AgentFaultKind::UnknownKind => one_of(&UNKNOWN_RECORDS),
        AgentFaultKind::LogInside => Edit::insert(inside, LOG_INSIDE),
        AgentFaultKind::UnknownField => Edit::insert(inside, FIELD),
        AgentFaultKind::BadUtf8 => Edit::insert(inside, [BAD_BYTE]),
        AgentFaultKind::Bom => Edit::insert(line.start, BOM),
        AgentFaultKind::LongLine => Edit::insert(line.start, long_line(line_limit(stdout))),
        AgentFaultKind::Twice => {
            let again = line.text(stdout);
            match line.end > line.text_end {
                true => Edit::insert(line.end, [again, b"\n"].concat()),
                false => Edit::insert(line.end, [b"\n", again].concat()),
            }
        }
        AgentFaultKind::Swapped => {
            let Some(next) = lines.get(number + 1) else { return Vec::new() };
            let feed = &stdout[next.text_end..next.end];
            let inserted = [next.text(stdout), b"\n", line.text(stdout), feed].concat();
            Edit { at: line.start, removed: next.end - line.start, inserted, new_at: 0 }
        }
        AgentFaultKind::Crlf => {
            let feeds = (line.start..stdout.len()).filter(|&at| stdout[at] == b'\n');
            return feeds.map(|at| Edit::insert(at, *b"\r")).collect();
        }
        AgentFaultKind::CallbackFails | AgentFaultKind::CallbackHangs => return Vec::new(),
    };
    vec![edit]
}

/// A record of more bytes than `limit`, whose text a person would read.
fn long_line(limit: usize) -> Vec<u8> {
    let head = "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_too_long\",\"content\":[{\"type\":\"text\",\"text\":\"";
    let text = "too long ".repeat(limit / 9 + 1);
    format!("{head}{text}\"}}]}}}}\n").into_bytes()
}

/// The bytes after the changes.
fn altered(stdout: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(stdout.len());
    let mut from = 0;
    for edit in edits {
        bytes.extend_from_slice(&stdout[from..edit.at]);
        bytes.extend_from_slice(&edit.inserted);
        from = edit.at + edit.removed;
    }
    bytes.extend_from_slice(&stdout[from..]);
    bytes
}

/// The place of a recorded place behind these changes; what comes anew at the beginning belongs to the first piece.
fn moved(place: u64, before: &[Edit]) -> u64 {
    let at = usize::try_from(place).unwrap_or(usize::MAX);
    let Some(edit) = before.last().filter(|_| at > 0) else { return place };
    let (behind, size) = (at - edit.at, edit.inserted.len());
    let moved = match behind < edit.removed {
        true => edit.new_at + behind.min(size),
        false => edit.new_at + size + (behind - edit.removed),
    };
    moved as u64
}

/// The most lines that are read in search of one that a kind of fault fits.
const SEARCHED: u64 = 256;
/// The last callback that fails.
const LAST_CALLBACK: u32 = 8;
/// Records between which the CLI may print others, such as the pieces of a text.
const ANYWHERE: [&str; 3] = ["rate_limit_event", "tool_progress", "keep_alive"];

impl Plan {
    /// The plan of `seed` with one fault of the agent's side: random cuts and delays, and the lines of the host at
    /// their places. The same seed gives the same plan for the same capture on every machine.
    pub(crate) fn seeded_agent_fault(capture: Capture<'_>, seed: u64, pace_ms: u64) -> Self {
        let total = capture.stdout.len() as u64;
        let mut plan = Self::random(capture.stdout, seed).with_dialogue(capture.stdin, pace_ms);
        plan.agent = drawn_fault(capture, &mut AgentDraw::new(seed, total)).into_iter().collect();
        plan
    }
}

/// A fault of the first kind that fits the capture, from a random kind on.
fn drawn_fault(capture: Capture<'_>, draw: &mut AgentDraw) -> Option<AgentFault> {
    let lines = Lines::of(capture.stdout);
    if lines.len() == 0 {
        return None;
    }
    let first = draw.below(AGENT_FAULTS.len() as u64) as usize;
    let kinds = AGENT_FAULTS.iter().cycle().skip(first).take(AGENT_FAULTS.len());
    kinds.map(|row| row.kind).find_map(|kind| fault_of_kind(kind, capture, &lines, draw))
}

/// Draws a fault of a kind; `None` if it fits no line that is searched.
pub(super) fn fault_of_kind(
    kind: AgentFaultKind,
    capture: Capture<'_>,
    lines: &Lines<'_>,
    draw: &mut AgentDraw,
) -> Option<AgentFault> {
    let stdout = capture.stdout;
    let fault = |number, byte| AgentFault { number, kind, byte };
    let mut number = 1 + draw.below(lines.len());
    match kind {
        AgentFaultKind::Cut => {
            // The last line is the one in which an output often ends.
            if draw.below(3) == 0 {
                number = lines.len();
            }
            let size = lines.get(number)?.size();
            Some(fault(number, draw.below(size + 1)))
        }
        AgentFaultKind::LogLine
        | AgentFaultKind::Bom
        | AgentFaultKind::UnknownKind
        | AgentFaultKind::LongLine => Some(fault(number, 0)),
        AgentFaultKind::Crlf => Some(fault(1, 0)),
        AgentFaultKind::LogInside => {
            let line = lines.get(number).filter(|line| line.size() > 1)?;
            let byte = 1 + draw.below(line.size() - 1);
            let is_inside_character = draw.below(2) == 0;
            let text = line.text(stdout);
            let inside = (1..).zip(&text[1..]).find(|(_, byte)| **byte & 0xc0 == 0x80);
            let inside = inside.filter(|_| is_inside_character).map(|(at, _)| at);
            Some(fault(number, inside.unwrap_or(byte)))
        }
        AgentFaultKind::BadUtf8 => {
            let size = lines.get(number)?.size();
            Some(fault(number, draw.below(size + 1)))
        }
        AgentFaultKind::Twice => search_line(number, lines, |_, line| {
            says_the_same_twice(&record(line, stdout)?).then_some(0)
        })
        .map(|(number, byte)| fault(number, byte)),
        AgentFaultKind::Swapped if !capture.stdin.is_empty() => None,
        AgentFaultKind::Swapped => search_line(number, lines, |number, line| {
            let next = lines.get(number + 1)?;
            let (one, two) = (record(line, stdout)?, record(next, stdout)?);
            may_swap(&one, &two).then_some(0)
        })
        .map(|(number, byte)| fault(number, byte)),
        AgentFaultKind::UnknownField => {
            let is_inner = draw.below(2) == 0;
            search_line(number, lines, |_, line| {
                let text = line.text(stdout);
                record(line, stdout)?;
                let inner = ["\"message\":{\"", "\"event\":{\""].iter().find_map(|key| {
                    let at = text.windows(key.len()).position(|bytes| bytes == key.as_bytes())?;
                    (text[..at].last() != Some(&b'\\')).then_some((at + key.len() - 1) as u64)
                });
                let outer = text.starts_with(b"{\"").then_some(1);
                inner.filter(|_| is_inner).or(outer)
            })
            .map(|(number, byte)| fault(number, byte))
        }
        // A callback that shows a question is not distinguished from the others here.
        AgentFaultKind::CallbackFails | AgentFaultKind::CallbackHangs => {
            let number = 1 + draw.below(u64::from(LAST_CALLBACK));
            capture.stdin.is_empty().then(|| fault(number, 0))
        }
    }
}

/// The first line from `number` on, and then from the beginning, that `fits`, with the byte that it gives.
fn search_line(
    number: u64,
    lines: &Lines<'_>,
    fits: impl Fn(u64, Line) -> Option<u64>,
) -> Option<(u64, u64)> {
    let all = lines.len();
    (0..all.min(SEARCHED)).find_map(|step| {
        let number = (number - 1 + step) % all + 1;
        Some((number, fits(number, lines.get(number)?)?))
    })
}

/// The record of a line.
fn record(line: Line, stdout: &[u8]) -> Option<Value> {
    serde_json::from_slice(line.text(stdout)).ok().filter(Value::is_object)
}

/// A field that is text; empty when it is not there.
fn text_field<'v>(record: &'v Value, key: &str) -> &'v str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether a record has no effect when it comes again: a whole message, the result of a call, and the result of
/// a turn. A message that the CLI itself made up, one that it marks as aborted, and a message of the host are shown
/// again.
pub fn says_the_same_twice(record: &Value) -> bool {
    match text_field(record, "type") {
        "assistant" if record["aborted"] == true => false,
        "assistant" => record.pointer("/message/model").is_none_or(|model| model != "<synthetic>"),
        "user" => record.pointer("/message/content/0/tool_use_id").is_some(),
        kind => kind == "result",
    }
}

/// Returns whether the CLI may print two records in either order: results of two calls, records of two subagents, a
/// whole text and the end of its block, and records that belong to no message between the pieces of a text.
fn may_swap(one: &Value, two: &Value) -> bool {
    let [of_one, of_two] = [one, two].map(|record| text_field(record, "parent_tool_use_id"));
    let is_between = |record: &Value| ANYWHERE.contains(&text_field(record, "type"));
    let is_piece = |record: &Value| {
        record.pointer("/event/type").is_some_and(|kind| kind == "content_block_delta")
    };
    let result = |record: &Value| {
        let id = record.pointer("/message/content/0/tool_use_id")?.as_str()?;
        (text_field(record, "type") == "user").then(|| id.to_owned())
    };
    let are_results = result(one).zip(result(two)).is_some_and(|(one, two)| one != two);
    let is_text = text_field(one, "type") == "assistant"
        && one.pointer("/message/content/0/type").is_some_and(|kind| kind == "text");
    let is_stop = two.pointer("/event/type").is_some_and(|kind| kind == "content_block_stop");
    let are_of_subagents = !of_one.is_empty() && !of_two.is_empty() && of_one != of_two;
    is_between(one) && is_piece(two)
        || is_piece(one) && is_between(two)
        || are_results && of_one == of_two
        || is_text && is_stop && of_one == of_two
        || are_of_subagents
}

#[cfg(test)]
mod tests;
