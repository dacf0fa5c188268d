//! What all rules read: the observation, what the cassette expects, and the history of the chat.

use clitape_recording::chat::{ChatHistory, SeenMessage};
use clitape_recording::facts::{Facts, TurnFacts};
use clitape_recording::trace::{Entry, Lane};

use super::words::{FEW_LETTERS, Piece, contains, count, letters, pieces};
use crate::observation::{Observation, PlayedTurn};

/// The kinds of the person's acts.
pub(super) const PERSON: [&str; 2] = ["(user)", "(press)"];

/// An observation and what it is compared with.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) observation: &'a Observation<'a>,
    /// The facts of the cassette.
    pub(super) facts: Facts,
    /// Its turns, in order.
    pub(super) turns: Vec<TurnFacts>,
    /// The texts beside the answers that a gateway may show.
    pub(super) others: Vec<String>,
    pub(super) chat: ChatHistory,
    /// The answers that must be in the chat.
    pub(super) answers: Vec<Answer>,
    /// The letters of all that the model said on the main thread.
    pub(super) said: Vec<String>,
    /// The letters of all that the cassette contains.
    pub(super) recorded: Vec<String>,
}

/// An answer that must be in the chat.
#[derive(Debug)]
pub(super) struct Answer {
    /// The number of the turn, from 0.
    pub(super) turn: usize,
    pub(super) text: String,
    /// Its words; at least one piece.
    pub(super) pieces: Vec<Piece>,
}

impl<'a> Case<'a> {
    pub(super) fn new(observation: &'a Observation<'a>) -> Self {
        let facts = Facts::of(observation.cassette);
        let turns = facts.turn_facts();
        let mut others = facts.other_texts();
        others.push(String::from_utf8_lossy(&observation.cassette.stderr).into_owned());
        let chat = ChatHistory::of(&observation.entries);
        let mut said = Vec::new();
        for turn in &turns {
            said.extend(turn.segments.iter().map(|segment| letters(&segment.text)));
            // The result says again what the last message said.
            if let Some(answer) = turn.answer.as_deref().map(letters)
                && !said.iter().any(|text| text.contains(&answer))
            {
                said.push(answer);
            }
        }
        let letters_of_others = others.iter().map(|text| letters(text));
        let recorded = said.iter().cloned().chain(letters_of_others).collect();
        let mut case =
            Self { observation, facts, turns, others, chat, answers: Vec::new(), said, recorded };
        case.answers = case.answers();
        case
    }

    fn answers(&self) -> Vec<Answer> {
        let turns = self.played().filter(|(_, turn)| turn.must_be_answered());
        let answer = |(number, turn): (usize, &TurnFacts)| {
            let text = turn.answer.clone()?;
            let pieces = pieces(&text);
            (!pieces.is_empty()).then_some(Answer { turn: number, text, pieces })
        };
        turns.filter_map(answer).collect()
    }

    /// The turns that the stand-in played, with their numbers from 0.
    pub(super) fn played(&self) -> impl Iterator<Item = (usize, &TurnFacts)> {
        let played = match self.observation.turns.len() {
            0 => usize::MAX,
            known => known,
        };
        self.turns.iter().enumerate().take(played)
    }

    /// When the stand-in played the turn, if anybody knows.
    pub(super) fn times(&self, turn: usize) -> Option<PlayedTurn> {
        self.observation.turns.get(turn).copied()
    }

    /// `Turn 2: ` where there are several.
    pub(super) fn of_turn(&self, turn: usize) -> String {
        match self.played().count() {
            0 | 1 => String::new(),
            _ => format!("Turn {}: ", turn + 1),
        }
    }

    /// The entries of the chat that the person could see, with their indexes.
    pub(super) fn shown(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        self.calls().filter(|(_, entry)| entry.is_shown())
    }

    /// The calls of the subject, with their indexes.
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        let entries: &'a [Entry] = &self.observation.entries;
        let is_call =
            |entry: &&Entry| entry.lane == Lane::Telegram && !PERSON.contains(&entry.kind.as_ref());
        entries.iter().enumerate().filter(move |(_, entry)| is_call(entry))
    }

    /// Whether the chat has the whole answer once the entry with this index has happened.
    pub(super) fn has_answer(&self, answer: &Answer, entry: usize) -> bool {
        let pages: Vec<&str> = self.chat.after(entry).map(SeenMessage::letters).collect();
        answer.pieces.iter().all(|piece| contains(&pages, &piece.letters))
    }

    /// The index of the first entry after which the chat has the whole answer.
    pub(super) fn answered_by(&self, answer: &Answer) -> Option<usize> {
        self.shown().map(|(index, _)| index).find(|index| self.has_answer(answer, *index))
    }

    /// How often the cassette itself has these words, at least once.
    pub(super) fn times_recorded(&self, letters: &str) -> usize {
        count(&self.recorded, letters).max(1)
    }

    /// Whether the cassette has these words, so that a gateway shows what was recorded.
    pub(super) fn is_recorded(&self, letters: &str) -> bool {
        self.recorded.iter().any(|text| text.contains(letters))
    }

    /// The lines of a text that the subject itself wrote: they are in no text of the cassette.
    pub(super) fn own_lines<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let is_own = |line: &&str| {
            let line = letters(line);
            !line.is_empty() && !self.is_recorded(&line)
        };
        text.lines().filter(is_own).collect()
    }

    /// The letters of the messages that stay in the chat.
    pub(super) fn end_pages(&self) -> Vec<&str> {
        self.chat.at_end().map(|message| message.last().letters()).collect()
    }
}

impl Answer {
    /// The number of its letters and digits.
    pub(super) fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.letters.len()).sum()
    }

    /// Whether the words are too few to know them again.
    pub(super) fn is_short(&self) -> bool {
        self.length() < FEW_LETTERS
    }
}
