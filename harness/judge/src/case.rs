//! All that a rule reads: an observation, the facts of the recording, and what follows from both.

use std::cell::OnceCell;

use clitape_recording::chat::{ChatHistory, SeenMessage};
use clitape_recording::facts::{LazyFacts, RecordedWords, TurnFacts};
use clitape_recording::scenario::Setup;
use clitape_recording::trace::{Entries, Entry, Lane};

use crate::observation::{
    Observation, ObservedEnding, OwnReports, PlayedTurn, SubjectEvent, SubjectTraits,
};
use crate::transcript::RawTranscript;
use crate::words::{FEW_LETTERS, Piece, contains, count, letters, pieces};

/// The kinds of the person's acts.
pub(crate) const PERSON: [&str; 2] = ["(user)", "(press)"];

/// An observation with what follows from it, which is found out when a rule first asks.
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
    /// The events of its bus; `None` if the subject has none of its own.
    pub(crate) bus: Option<&'c [SubjectEvent]>,
    /// The reports of clitape's own gateway; `None` of a subject of others.
    pub(crate) own: Option<&'c OwnReports>,
    played: &'c [PlayedTurn],
    derived: &'c Derived,
}

/// The results that follow from an observation, each found out once.
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
    /// Its words; at least one piece.
    pub(crate) pieces: Vec<Piece>,
}

impl<'c> Case<'c> {
    /// Takes an observation, and a place for what follows from it.
    pub(crate) fn new(observation: &'c Observation, derived: &'c Derived) -> Self {
        Self {
            setup: observation.setup,
            entries: &observation.entries,
            facts: &observation.facts,
            ending: &observation.ending,
            traits: observation.traits,
            bus: observation.bus.as_deref(),
            own: observation.own.as_ref(),
            played: &observation.turns,
            derived,
        }
    }

    /// The entries of one lane.
    pub(crate) fn lane(self, lane: Lane) -> impl Iterator<Item = &'c Entry> {
        self.entries.lane(lane)
    }

    /// The word for the subject.
    pub(crate) fn subject(self) -> &'static str {
        if self.setup.acp.is_some() { "agent" } else { "gateway" }
    }

    /// Returns whether the times of turns are known.
    pub(crate) fn has_times(self) -> bool {
        !self.played.is_empty()
    }

    /// The chat over time.
    pub(crate) fn chat(self) -> &'c ChatHistory {
        self.derived.chat.get_or_init(|| ChatHistory::of(self.entries))
    }

    /// Returns what a person must see of each turn, in order.
    pub(crate) fn turns(self) -> &'c [TurnFacts] {
        self.facts.turn_facts()
    }

    /// The words that a person may be shown.
    pub(crate) fn words(self) -> &'c RecordedWords {
        self.facts.words()
    }

    /// The text that came to an editor as the model's, message after message.
    pub(crate) fn told(self) -> &'c str {
        self.derived.told.get_or_init(|| self.lane(Lane::Acp).filter_map(model_text).collect())
    }

    /// Returns what the transcript after each run of a session says of itself.
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

    /// The turns that the stand-in played, with their numbers from 0.
    pub(crate) fn played(self) -> impl Iterator<Item = (usize, &'c TurnFacts)> {
        let played = match self.played.len() {
            0 => usize::MAX,
            known => known,
        };
        self.turns().iter().enumerate().take(played)
    }

    /// Returns when the stand-in played the turn; `None` if that is not known.
    pub(crate) fn times(self, turn: usize) -> Option<PlayedTurn> {
        self.played.get(turn).copied()
    }

    /// `Turn 2: ` where there are several.
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

    /// Returns whether the chat has the whole answer once the entry with this index has happened.
    pub(crate) fn has_answer(self, answer: &DueAnswer, entry: usize) -> bool {
        let pages: Vec<&str> = self.chat().after(entry).map(SeenMessage::letters).collect();
        answer.pieces.iter().all(|piece| contains(&pages, &piece.letters))
    }

    /// The index of the first entry after which the chat has the whole answer.
    pub(crate) fn answered_by(self, answer: &DueAnswer) -> Option<usize> {
        self.shown().map(|(index, _)| index).find(|index| self.has_answer(answer, *index))
    }

    /// Counts these words in the recording, at least once.
    pub(crate) fn times_recorded(self, letters: &str) -> usize {
        count(&self.words().recorded, letters).max(1)
    }

    /// Returns whether the recording has these words, so that a gateway shows what was recorded.
    pub(crate) fn is_recorded(self, letters: &str) -> bool {
        self.words().recorded.iter().any(|text| text.contains(letters))
    }

    /// The lines of a text that the subject itself wrote: they are in no text of the cassette.
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
}

impl DueAnswer {
    /// The number of its letters and digits.
    pub(crate) fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.letters.len()).sum()
    }

    /// Returns whether the words are too few to know them again.
    pub(crate) fn is_short(&self) -> bool {
        self.length() < FEW_LETTERS
    }
}

/// Returns whether an entry is text of the model.
pub(crate) fn is_text(entry: &Entry) -> bool {
    entry.kind == "agent_message_chunk"
}

/// Returns the text of the model that an entry of an editor has.
pub(crate) fn model_text(entry: &Entry) -> Option<&str> {
    if is_text(entry) { entry.data.get("content")?["text"].as_str() } else { None }
}
