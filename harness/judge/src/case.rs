//! The input of every rule: an observation, the facts of the recording, and what follows from both; and the violation
//! that a check reports.
//!
//! The transcripts of a session are read here too, with `serde_json` alone, because the rules compare the gateway's
//! verdict with them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};

use clitape_recording::chat::{ChatHistory, ChatView, PRESS, SeenMessage, WRITES};
use clitape_recording::facts::{LazyFacts, RecordedWords, TurnFacts};
use clitape_recording::scenario::Setup;
use clitape_recording::text::markup::without_tags;
use clitape_recording::trace::{Entries, Entry, Lane};
use serde_json::{Map, Value};

use crate::FindingKind;
use crate::neighbours::Neighbours;
use crate::observation::{
    Interlude, Observation, ObservedEnding, OwnReports, PlayedTurn, SubjectEvent, SubjectTraits,
    TurnSession,
};
use crate::words::{FEW_LETTERS, Piece, contains, count, letters, pieces};

/// The kinds of the person's acts.
pub(crate) const PERSON: [&str; 4] = [WRITES, PRESS, "(edit)", "(stop)"];

/// An observation with what follows from it, which is computed when a rule first asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'c> {
    /// The setup of the run.
    pub(crate) setup: Setup,
    /// The entries that were seen, on every lane.
    pub(crate) entries: &'c Entries,
    /// The facts of the recording that was played.
    pub(crate) facts: &'c LazyFacts,
    /// The end of the run.
    pub(crate) ending: &'c ObservedEnding,
    /// The promises of the subject.
    pub(crate) traits: SubjectTraits,
    /// The events of its bus; `None` if the subject has no bus.
    pub(crate) bus: Option<&'c [SubjectEvent]>,
    /// The reports of clitape's own gateway; `None` for another subject.
    pub(crate) own: Option<&'c OwnReports>,
    /// The other recordings of the run; `None` if the subject had no other conversation.
    pub(crate) neighbours: Option<&'c Neighbours>,
    /// The interlude in the midst of the recording.
    pub(crate) interlude: Option<&'c Interlude>,
    /// The sessions of the turns that the stand-in played; empty if they are unknown.
    pub(crate) sessions: &'c [TurnSession],
    /// The time at which the process of the last turn ended.
    pub(crate) exited_ms: Option<u64>,
    played: &'c [PlayedTurn],
    derived: &'c Derived,
}

/// The results that follow from an observation, each computed once.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    chat: OnceCell<ChatHistory>,
    answers: OnceCell<Vec<DueAnswer>>,
    told: OnceCell<String>,
    transcripts: OnceCell<Vec<RawTranscript>>,
}

/// An answer that must be in the chat.
#[derive(Debug)]
pub(crate) struct DueAnswer {
    /// The number of the turn, from 0.
    pub(crate) turn: usize,
    pub(crate) text: String,
    /// The words of the answer; at least one piece.
    pub(crate) pieces: Vec<Piece>,
}

impl<'c> Case<'c> {
    /// Makes a case of an observation; `derived` stores what follows from it.
    pub(crate) fn new(observation: &'c Observation, derived: &'c Derived) -> Self {
        Self {
            setup: observation.setup,
            entries: &observation.entries,
            facts: &observation.facts,
            ending: &observation.ending,
            traits: observation.traits,
            bus: observation.bus.as_deref(),
            own: observation.own.as_ref(),
            neighbours: observation.neighbours.as_ref(),
            interlude: observation.interlude.as_ref(),
            sessions: &observation.sessions,
            exited_ms: observation.exited_ms,
            played: &observation.turns,
            derived,
        }
    }

    /// The entries of one lane.
    pub(crate) fn lane(self, lane: Lane) -> impl Iterator<Item = &'c Entry> {
        self.entries.lane(lane)
    }

    /// Returns the word for the subject in a sentence: `agent` in an editor, `gateway` in a chat.
    pub(crate) fn subject(self) -> &'static str {
        if self.setup.acp.is_some() { "agent" } else { "gateway" }
    }

    /// Returns whether the observation has the times of its turns.
    pub(crate) fn has_times(self) -> bool {
        !self.played.is_empty()
    }

    /// The chat over time.
    pub(crate) fn chat(self) -> &'c ChatHistory {
        self.derived.chat.get_or_init(|| ChatHistory::of(self.entries))
    }

    /// Returns the parts of each turn that a person must see, in order.
    pub(crate) fn turns(self) -> &'c [TurnFacts] {
        self.facts.turn_facts()
    }

    /// The words that a person may be shown.
    pub(crate) fn words(self) -> &'c RecordedWords {
        self.facts.words()
    }

    /// The text of the model in the editor, its messages joined in order.
    pub(crate) fn told(self) -> &'c str {
        self.derived.told.get_or_init(|| self.lane(Lane::Acp).filter_map(model_text).collect())
    }

    /// Returns the transcript after each run of a session, reduced to its calls and lines.
    pub(crate) fn transcripts(self) -> &'c [RawTranscript] {
        self.derived.transcripts.get_or_init(|| {
            let all = self.own.into_iter().flat_map(|own| &own.transcripts);
            all.map(|bytes| RawTranscript::read(bytes)).collect()
        })
    }

    /// The answers that must be in the chat.
    pub(crate) fn answers(self) -> &'c [DueAnswer] {
        self.derived.answers.get_or_init(|| {
            let turns = self.played().filter(|(_, turn)| turn.must_be_answered());
            let answer = |(number, turn): (usize, &TurnFacts)| {
                let text = turn.answer.clone()?;
                let pieces = pieces(&text);
                (!pieces.is_empty()).then_some(DueAnswer { turn: number, text, pieces })
            };
            turns.filter_map(answer).collect()
        })
    }

    /// The turns that the stand-in played, with their numbers from 0; all turns if their times are missing.
    pub(crate) fn played(self) -> impl Iterator<Item = (usize, &'c TurnFacts)> {
        let played = match self.played.len() {
            0 => usize::MAX,
            known => known,
        };
        self.turns().iter().enumerate().take(played)
    }

    /// Returns the times at which the stand-in played the turn; `None` if the observation lacks them.
    pub(crate) fn times(self, turn: usize) -> Option<PlayedTurn> {
        self.played.get(turn).copied()
    }

    /// Returns the start of a sentence about a turn, such as `Turn 2: `; empty if the run has one turn only.
    pub(crate) fn of_turn(self, turn: usize) -> String {
        match self.played().count() {
            0 | 1 => String::new(),
            _ => format!("Turn {}: ", turn + 1),
        }
    }

    /// The entries of the chat that the person could see, with their indexes.
    pub(crate) fn shown(self) -> impl Iterator<Item = (usize, &'c Entry)> {
        self.calls().filter(|(_, entry)| entry.is_shown())
    }

    /// The calls of the subject, with their indexes.
    pub(crate) fn calls(self) -> impl Iterator<Item = (usize, &'c Entry)> {
        let is_call =
            |entry: &&Entry| entry.lane == Lane::Telegram && !PERSON.contains(&entry.kind.as_ref());
        self.entries.iter().enumerate().filter(move |(_, entry)| is_call(entry))
    }

    /// Returns whether the chat shows the whole answer after the entry with this index.
    pub(crate) fn has_answer(self, answer: &DueAnswer, entry: usize) -> bool {
        let pages: Vec<&str> = self.chat().after(entry).map(SeenMessage::letters).collect();
        answer.pieces.iter().all(|piece| contains(&pages, &piece.letters))
    }

    /// The index of the first entry after which the chat has the whole answer.
    pub(crate) fn answered_by(self, answer: &DueAnswer) -> Option<usize> {
        self.shown().map(|(index, _)| index).find(|index| self.has_answer(answer, *index))
    }

    /// Counts these words in the texts of the recording; returns at least 1.
    pub(crate) fn times_recorded(self, letters: &str) -> usize {
        count(&self.words().recorded, letters).max(1)
    }

    /// Returns whether a text of the recording has these words, so that the subject may show them.
    pub(crate) fn is_recorded(self, letters: &str) -> bool {
        self.words().recorded.iter().any(|text| text.contains(letters))
    }

    /// The lines of a text that the subject itself wrote, which are in no text of the recording.
    pub(crate) fn own_lines(self, text: &str) -> Vec<&str> {
        let is_own = |line: &&str| {
            let line = letters(line);
            !line.is_empty() && !self.is_recorded(&line)
        };
        text.lines().filter(is_own).collect()
    }

    /// The letters of the messages that stay in the chat.
    pub(crate) fn end_pages(self) -> Vec<&'c str> {
        self.chat().at_end().map(|message| message.last().letters()).collect()
    }

    /// The same, without the tags and entities that a person reads in them.
    pub(crate) fn end_pages_between_tags(self) -> Vec<Cow<'c, str>> {
        self.chat().at_end().map(|message| letters_between_tags(message.last())).collect()
    }
}

/// Returns the letters of a message without the tags and entities that a person reads in it, because words are there
/// that have a tag in their midst.
pub(crate) fn letters_between_tags(message: &SeenMessage) -> Cow<'_, str> {
    let text = message.plain_text();
    match text.contains(['<', '&']) {
        true => Cow::Owned(letters(&without_tags(text))),
        false => Cow::Borrowed(message.letters()),
    }
}

impl DueAnswer {
    /// Counts the letters and digits.
    fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.letters.len()).sum()
    }

    /// Returns whether the answer has too few letters to be recognised in a chat.
    pub(crate) fn is_short(&self) -> bool {
        self.length() < FEW_LETTERS
    }
}

/// Returns whether an entry of an editor is text of the model.
pub(crate) fn is_text(entry: &Entry) -> bool {
    entry.kind == "agent_message_chunk"
}

/// Returns the text of the model in an entry of an editor; `None` for another entry.
pub(crate) fn model_text(entry: &Entry) -> Option<&str> {
    if is_text(entry) { entry.data.get("content")?["text"].as_str() } else { None }
}

/// A rule that an observation breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The kind of the rule.
    pub kind: FindingKind,
    /// A sentence in plain text: the fact in the chat, its time, and the expected one; it may quote recorded text.
    pub sentence: String,
    /// The index of the entry that breaks the rule; `None` if an entry is missing.
    pub entry: Option<usize>,
    /// The name of another recording of the run without which the rule is not broken.
    pub beside: Option<String>,
}

/// A violation as a check finds it, without the kind of its rule.
#[derive(Debug)]
pub(crate) struct Broken<'c> {
    /// The entry that breaks the rule; `None` if an entry is missing.
    pub(crate) entry: Option<&'c Entry>,
    /// The sentence of the violation.
    pub(crate) sentence: String,
    /// The name of another recording of the run without which the rule is not broken.
    pub(crate) beside: Option<String>,
}

impl Broken<'_> {
    /// Adds the recording that must be played beside this one.
    pub(crate) fn beside(self, recording: &str) -> Self {
        Self { beside: Some(recording.to_owned()), ..self }
    }
}

/// Reports that `entry` breaks the rule.
pub(crate) fn by(entry: &Entry, sentence: String) -> Option<Broken<'_>> {
    Some(Broken { entry: Some(entry), sentence, beside: None })
}

/// Reports that the entry with the index `entry` breaks the rule.
pub(crate) fn by_index(case: Case<'_>, entry: usize, sentence: String) -> Option<Broken<'_>> {
    Some(Broken { entry: case.entries.get(entry), sentence, beside: None })
}

/// Reports that the observation as a whole breaks the rule.
pub(crate) fn whole<'c>(sentence: String) -> Option<Broken<'c>> {
    Some(Broken { entry: None, sentence, beside: None })
}

/// Groups the entries of a lane by the number of their turn.
pub(crate) fn by_turn(case: Case<'_>, lane: Lane) -> BTreeMap<u64, Vec<&Entry>> {
    let entries: Vec<&Entry> = case.lane(lane).collect();
    let mut turns: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
    for same in entries.chunk_by(|a, b| a.turn() == b.turn()) {
        let [first, ..] = same else { continue };
        turns.entry(first.turn()).or_default().extend(same);
    }
    turns
}

/// Returns whether an entry of the bus ends its run.
pub(crate) fn is_run_end(entry: &Entry) -> bool {
    entry.kind == "lifecycle" && matches!(entry.text("phase"), "end" | "error")
}

/// Returns whether a call of the chat has a fault of its server, because then the server decides what is seen.
pub(crate) fn has_server_faults(case: Case<'_>) -> bool {
    case.lane(Lane::Telegram).any(|entry| entry.field("answer").is_some())
}

/// Returns a text field of an object; empty if the field is missing or has another type.
pub(crate) fn text<'v>(fields: &'v Map<String, Value>, key: &str) -> &'v str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The calls and the lines of a transcript, as far as rules need them.
#[derive(Debug, Default)]
pub(crate) struct RawTranscript {
    /// True if the main conversation has words or a call of the model.
    pub(crate) has_answer: bool,
    /// The ids of the calls of its last message that have no result.
    pub(crate) open: Vec<String>,
    /// The number of lines of subagents.
    pub(crate) sidechain: u64,
}

impl RawTranscript {
    /// Reads a transcript with `serde_json` alone.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines: Vec<Value> =
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let is_sidechain = |line: &&Value| line["isSidechain"] == true;
        let main: Vec<&Value> =
            lines.iter().filter(|line| !is_sidechain(line) && is_said(line)).collect();
        Self {
            has_answer: main.iter().any(|line| line["type"] == "assistant"),
            open: open_calls(&main),
            sidechain: lines.iter().filter(is_sidechain).count() as u64,
        }
    }
}

/// Returns whether a line belongs to the conversation.
fn is_said(line: &Value) -> bool {
    let said = &line["message"]["role"];
    ["assistant", "user"].iter().any(|role| line["type"] == *role && said == role)
}

/// Returns the calls of the last message that have no result; a message may have a line for each of its blocks.
fn open_calls(main: &[&Value]) -> Vec<String> {
    let Some(last) = main.iter().rposition(|line| line["type"] == "assistant") else {
        return Vec::new();
    };
    let id = &main[last]["message"]["id"];
    let is_prompt =
        |line: &Value| line["type"] == "user" && blocks(line).all(|block| !is_result(block));
    let first = (0..=last).rev().take_while(|place| !is_prompt(main[*place]));
    let is_of_it =
        |place: &usize| *place == last || !id.is_null() && main[*place]["message"]["id"] == *id;
    let first = first.filter(is_of_it).last().unwrap_or(last);
    let answered: HashSet<&str> = main[first..]
        .iter()
        .flat_map(|line| blocks(line))
        .filter(|block| is_result(block))
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    let lines = main[first..=last].iter().filter(|line| line["message"]["id"] == *id);
    let calls = lines.flat_map(|line| blocks(line)).filter(|block| is_call(block));
    let ids = calls.filter_map(|call| call["id"].as_str());
    ids.filter(|id| !answered.contains(id)).map(str::to_owned).collect()
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

fn is_call(block: &Value) -> bool {
    block["type"].as_str().is_some_and(|kind| kind.ends_with("tool_use"))
}

fn is_result(block: &Value) -> bool {
    block["type"].as_str().is_some_and(|kind| kind.ends_with("tool_result"))
}

/// Returns the texts that a person reads at the end: each message that is left in the chat, without its markup, or the
/// text of the model in an editor.
pub fn finally_read(entries: &[Entry]) -> Vec<String> {
    let view = ChatView::after(entries);
    let messages = view.messages().map(|message| message.plain_text().trim().to_owned());
    let told: String = entries.iter().filter_map(model_text).collect();
    messages.chain((!told.is_empty()).then_some(told)).collect()
}

/// Returns whether two texts have the same words, apart from numbers, because many gateways show how long a step took.
pub fn says_the_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> String {
        letters(text).chars().filter(|letter| !letter.is_numeric()).collect()
    };
    words(one) == words(other)
}
