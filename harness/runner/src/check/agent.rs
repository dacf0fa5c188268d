//! The parts of a run that a person must see although the agent's side has a fault, and the invariants that do not
//! apply to it.
//!
//! The replay with the fault is held against the canonical replay of the recorded bytes, and against the bytes that
//! came: `serde_json` says which records of these are whole, so that the parser need not be believed.

use std::collections::{BTreeMap, HashMap, HashSet};

use clitape_judge::{Divergence, FinalTextDiff, FindingKind, Times, TraceDiff, wrong_final_text};
use clitape_recording::chat::ChatView;
use clitape_recording::facts::{read_record, records_with};
use clitape_recording::scenario::{DeliverySpec, RunSpec};
use clitape_recording::text::quoted;
use clitape_recording::trace::{Entry, Lane, sort_by_turn};
use serde_json::Value;

use crate::replay::{AgentFault, AgentFaultKind, MustSee, Replay};

/// The invariants for which each record has to be what the CLI printed.
const BROKEN_RECORD: &[FindingKind] = &[
    FindingKind::NotAnsweredOnce,
    FindingKind::RecordRefused,
    FindingKind::CallNotStated,
    FindingKind::CallMisread,
    FindingKind::ResultMisread,
    FindingKind::InputMisread,
    FindingKind::FieldUnreported,
    FindingKind::FieldRepeated,
    FindingKind::TextMisread,
    FindingKind::TextKept,
    FindingKind::EndingMisread,
    FindingKind::AnswerMisread,
    FindingKind::TextAfterCall,
    FindingKind::HitLost,
    FindingKind::StreamedTextLost,
    FindingKind::ResultAltered,
    FindingKind::EditorTextLost,
    FindingKind::EditorAnswerLost,
    FindingKind::EditorCallMissing,
    FindingKind::LinesMiscounted,
];

/// The invariants that are about what a callback shows.
const SHOWN: &[FindingKind] =
    &[FindingKind::CallbackFailed, FindingKind::SilentStart, FindingKind::LinesMiscounted];

/// The invariants that a fault of the agent's side takes away, with the reason.
const EXEMPT: [(AgentFaultKind, &[FindingKind], &str); 4] = [
    (
        AgentFaultKind::CallbackFails,
        SHOWN,
        "a callback fails, and the chat may show nothing of what it was about",
    ),
    (
        AgentFaultKind::CallbackHangs,
        SHOWN,
        "a callback never settles, and the chat shows nothing of what comes behind it",
    ),
    (
        AgentFaultKind::LogInside,
        BROKEN_RECORD,
        "the record that says what another one is about may be the one that is in two pieces",
    ),
    (
        AgentFaultKind::BadUtf8,
        BROKEN_RECORD,
        "the record that says what another one is about may be the one that is spoilt",
    ),
];

/// The invariants that do not apply to a run with a fault of `kind`.
fn exempt(kind: AgentFaultKind) -> &'static [FindingKind] {
    EXEMPT.iter().find(|(of, ..)| *of == kind).map_or(&[], |(_, kinds, _)| kinds)
}

/// Returns whether an invariant does not apply to a run with a fault.
///
/// A callback that a scenario lets hang may come behind the end of an output that is cut off.
pub(super) fn is_exempt(fault: AgentFault, rule: FindingKind, run: &RunSpec) -> bool {
    let is_cut = fault.kind == AgentFaultKind::Cut && run.stuck_callback.is_some();
    exempt(fault.kind).contains(&rule) || is_cut && rule == FindingKind::CallbackFailed
}

/// The way in which a replay with a fault shows a person too little, or something else.
pub(super) enum Unseen<'a> {
    /// A lane is not what it must be.
    Lane(Lane, Divergence, TraceDiff<'a>),
    /// A person ends up reading something else.
    FinalText(String, FinalTextDiff),
    /// Something is missing, in a lane.
    Missing(Lane, String),
}

/// A run with a fault, and what it is held against.
pub(super) struct FaultyRun<'a> {
    pub(super) fault: AgentFault,
    /// The bytes as they were recorded.
    pub(super) recorded: &'a [u8],
    /// The bytes that came.
    pub(super) came: &'a [u8],
    /// The canonical replay of the recorded bytes.
    pub(super) base: &'a Replay,
    /// The replay with the fault.
    pub(super) faulty: &'a Replay,
}

impl<'a> FaultyRun<'a> {
    /// The first thing that a person must see and does not.
    pub(super) fn unseen(&self) -> Option<Unseen<'a>> {
        match self.fault.kind.row().seen {
            MustSee::Same if self.is_contradicted_twice() => self.other_final_text(),
            MustSee::Same => self.not_same().or_else(|| self.other_final_text()),
            MustSee::SameEnd => self.other_events().or_else(|| self.other_final_text()),
            MustSee::CutOff => self.lost_before().or_else(|| self.not_cut_off()),
            MustSee::Answer => self.lost_before().or_else(|| self.no_answer()),
        }
    }

    /// A lane that differs, times, diagnostics and unknown records aside.
    fn not_same(&self) -> Option<Unseen<'a>> {
        [Lane::Lifecycle, Lane::Bus, Lane::Acp, Lane::Sse].into_iter().find_map(|lane| {
            let [old, new] = [self.base, self.faulty].map(|replay| meant(replay, lane));
            let diff = TraceDiff::new(old, new, Times::Ignored).within(&self.faulty.entries);
            diff.first().map(|divergence| Unseen::Lane(lane, divergence, diff))
        })
    }

    /// Returns whether a record comes twice in a run whose whole messages contradict their pieces: the second one may
    /// then differ from the first.
    fn is_contradicted_twice(&self) -> bool {
        let is_mismatch = |entry: &Entry| entry.text("code") == "text-mismatch";
        self.fault.kind == AgentFaultKind::Twice && self.base.lane(Lane::Lifecycle).any(is_mismatch)
    }

    /// A person who ends up reading something else. Where the agent sends its answer with a tool, the chat ends with
    /// its draft, which may lack what a failed callback was about.
    fn other_final_text(&self) -> Option<Unseen<'a>> {
        let is_by_tool = self.faulty.setup.run.delivery == DeliverySpec::MessageToolOnly;
        if is_by_tool && self.fault.kind.is_of_channel() {
            return None;
        }
        let (sentence, diff) = wrong_final_text(&self.base.entries, &self.faulty.entries)?;
        Some(Unseen::FinalText(sentence, diff))
    }

    /// An event of the parser that is there once more or once less.
    fn other_events(&self) -> Option<Unseen<'a>> {
        let [old, new] = [self.base, self.faulty].map(|replay| {
            let mut entries = meant(replay, Lane::Lifecycle);
            // The text so far depends on the order.
            entries.sort_by_cached_key(|entry| Times::Ignored.line(entry));
            entries
        });
        let diff = TraceDiff::new(old, new, Times::Ignored);
        diff.first().map(|divergence| Unseen::Lane(Lane::Lifecycle, divergence, diff))
    }

    /// An event of the lines before the fault that is lost or has changed.
    fn lost_before(&self) -> Option<Unseen<'a>> {
        let mut lines = 0;
        let before = self.base.entries.iter().take_while(|entry| {
            lines += u64::from(entry.lane == Lane::Read && entry.kind == "chunk");
            lines < self.fault.number
        });
        let old: Vec<&Entry> = before.filter(|entry| entry.lane == Lane::Lifecycle).collect();
        let new: Vec<&Entry> = self.faulty.lane(Lane::Lifecycle).take(old.len()).collect();
        let diff = TraceDiff::new(old, new, Times::Ignored).within(&self.faulty.entries);
        diff.first().map(|divergence| Unseen::Lane(Lane::Lifecycle, divergence, diff))
    }

    /// A run that was cut off and does not say so, or has lost words; or a turn with a result that ends otherwise
    /// than without the fault.
    fn not_cut_off(&self) -> Option<Unseen<'a>> {
        let open = is_open(self.came);
        let turns = ends(self.faulty);
        let last = turns.keys().last().copied().unwrap_or(1);
        let expected = ends(self.base);
        let other = turns.iter().filter(|(turn, _)| !open || **turn < last).find(|(turn, end)| {
            let same = expected.get(turn).is_some_and(|expected| same_end(expected, end));
            !same
        });
        if let Some((turn, _)) = other {
            let what = format!("turn {turn} has a result, and the bus ends it otherwise");
            return Some(Unseen::Missing(Lane::Bus, what));
        }
        if open { self.untold(last, turns.get(&last).copied()) } else { None }
    }

    /// A turn without a result that does not say so in a lane, or whose words are not all there.
    fn untold(&self, turn: u64, end: Option<&'a Entry>) -> Option<Unseen<'a>> {
        let missing = |lane, what: String| Some(Unseen::Missing(lane, what));
        let error = end.filter(|end| end.text("phase") == "error");
        let Some(error) = error.and_then(|end| end.field("error")) else {
            return missing(
                Lane::Bus,
                format!("turn {turn} has no result, and the bus says none of it"),
            );
        };
        let field = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_interrupted = field("kind") == "interrupted";
        let setup = &self.faulty.setup;
        if setup.run.silent {
            return None;
        }
        let is_error = |entry: &&Entry| entry.turn() == turn && entry.kind == "error";
        if !is_interrupted && !self.faulty.lane(Lane::Sse).any(|entry| is_error(&entry)) {
            let what = format!("turn {turn} has no result, and the event stream has no error");
            return missing(Lane::Sse, what);
        }
        let response = self.faulty.lane(Lane::Acp).filter(|entry| entry.kind == "response").last();
        if response.is_some_and(|response| response.text("stopReason") == "end_turn") {
            return missing(
                Lane::Acp,
                format!("turn {turn} has no result, and the editor reads that it has ended"),
            );
        }
        if setup.channel.is_none() || setup.run.delivery != DeliverySpec::Automatic {
            return None;
        }
        let read = words(&final_text(self.faulty, Some(turn)));
        let said = if is_interrupted { "Stopped" } else { field("message") };
        if let Some(word) = lacking(&read, &words(said), None) {
            let what = format!(
                "turn {turn} was cut off, and the chat does not say so: no {}",
                quoted(&word)
            );
            return missing(Lane::Telegram, what);
        }
        // A person must read all words of the turn that they would read without the fault.
        let canonical = words(&final_text(self.base, None));
        let word = lacking(&read, &words(&self.streamed()?), Some(&canonical))?;
        missing(
            Lane::Telegram,
            format!("turn {turn} was cut off, and its word {} is lost", quoted(&word)),
        )
    }

    /// The words of the main thread in the turn that has no result; none where some of them were taken back.
    fn streamed(&self) -> Option<String> {
        let mut text = String::new();
        let mut is_whole = true;
        let mut rest = self.faulty.lane(Lane::Lifecycle).peekable();
        while let Some(entry) = rest.next() {
            let is_main = entry.field("parent").is_none();
            match entry.kind.as_ref() {
                "text" if is_main => text += entry.text("delta"),
                "retract" if is_main => is_whole = false,
                // The last outcome is that of the turn without a result.
                "outcome" if rest.peek().is_some() => (text, is_whole) = (String::new(), true),
                _ => {}
            }
        }
        is_whole.then_some(text)
    }

    /// A turn whose result came whole and whose words a person does not read; or one that has lost its result and
    /// does not say so.
    fn no_answer(&self) -> Option<Unseen<'a>> {
        let turns = ends(self.faulty);
        if is_open(self.came) {
            let last = turns.keys().last().copied().unwrap_or(1);
            return self.untold(last, turns.get(&last).copied());
        }
        let mut lines = self.recorded.split(|byte| *byte == b'\n');
        let damaged = lines.nth(usize::try_from(self.fault.number).ok()? - 1)?;
        if read_record(damaged).is_some_and(|record| text(&record, "type") == "result") {
            // The turn goes on with the next one, or ended before.
            return None;
        }
        let setup = &self.faulty.setup;
        let is_shown = setup.channel.is_some()
            && !setup.run.silent
            && setup.run.delivery == DeliverySpec::Automatic;
        if !is_shown {
            return None;
        }
        let canonical = words(&final_text(self.base, None));
        let read = words(&final_text(self.faulty, None));
        let results = records_with(self.came, &["type", "result"]);
        let results = results.filter(|record| text(record, "type") == "result");
        let said: Vec<String> = results.map(|result| text(&result, "result").to_owned()).collect();
        let word = lacking(&read, &words(&said.join(" ")), Some(&canonical))?;
        let what = format!("the result is whole, and nobody reads its word {}", quoted(&word));
        Some(Unseen::Missing(Lane::Telegram, what))
    }
}

/// The entries of a lane in the order of the turns, without what is said of broken and unknown records.
fn meant(replay: &Replay, lane: Lane) -> Vec<&Entry> {
    let is_meant = |entry: &&Entry| !matches!(&*entry.kind, "diagnostic" | "unknown");
    let mut entries: Vec<&Entry> =
        replay.lane(lane).filter(|entry| lane != Lane::Lifecycle || is_meant(entry)).collect();
    sort_by_turn(&mut entries);
    entries
}

/// The end of each turn on the bus.
fn ends(replay: &Replay) -> BTreeMap<u64, &Entry> {
    let ends = replay.lane(Lane::Bus).filter(|entry| entry.kind == "lifecycle");
    ends.map(|entry| (entry.turn(), entry)).collect()
}

/// Returns whether two ends are equal but for their numbers on the bus.
fn same_end(one: &Entry, two: &Entry) -> bool {
    ["phase", "text", "error"].iter().all(|key| one.field(key) == two.field(key))
}

/// Returns the text that a person reads at the end, in a turn or in all of them.
fn final_text(replay: &Replay, turn: Option<u64>) -> String {
    let entries = replay.lane(Lane::Telegram);
    let entries = entries.filter(|entry| turn.is_none_or(|turn| entry.turn() == turn)).cloned();
    ChatView::after(&entries.collect::<Vec<_>>()).final_text().join("\n")
}

/// The words of a text with their numbers. A word at the end of the text may be cut.
fn words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    words
}

/// The first word of `expected` that is not as often in `read`, at most as often as in `canonical`.
fn lacking(
    read: &HashMap<String, usize>,
    expected: &HashMap<String, usize>,
    canonical: Option<&HashMap<String, usize>>,
) -> Option<String> {
    let number = |of: &HashMap<String, usize>, word| of.get(word).copied().unwrap_or(0);
    let mut lacking: Vec<&String> = expected
        .iter()
        .filter(|(word, expected)| {
            let most = canonical.map_or(usize::MAX, |canonical| number(canonical, *word));
            number(read, *word) < most.min(**expected)
        })
        .map(|(word, _)| word)
        .collect();
    lacking.sort();
    lacking.first().map(|word| (*word).clone())
}

/// Returns whether the bytes end in a turn without a result. Bytes without a record do.
pub(crate) fn is_open(stdout: &[u8]) -> bool {
    let (mut open, mut begun) = (true, HashSet::new());
    let read = ["type", "subtype", "state", "parent_tool_use_id", "message", "event"];
    for record in records_with(stdout, &read) {
        let message = record.pointer("/message/id").or_else(|| record.pointer("/event/message/id"));
        let message = message.and_then(Value::as_str).map(str::to_owned);
        let is_main = record.get("parent_tool_use_id").is_none_or(Value::is_null);
        match text(&record, "type") {
            "result" => open = false,
            "system" => open |= text(&record, "subtype") == "init",
            "command_lifecycle" => open |= text(&record, "state") == "started",
            // A whole message may follow the result of the turn that has streamed it.
            "assistant" if is_main => open |= message.is_none_or(|id| begun.insert(id)),
            "stream_event" if is_main => open |= message.is_some_and(|id| begun.insert(id)),
            _ => {}
        }
    }
    open
}

/// A field that is text; empty when it is not there.
fn text<'v>(record: &'v Value, key: &str) -> &'v str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
