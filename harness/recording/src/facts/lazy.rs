//! Reads the facts when a rule asks for them, because many replays are compared and not judged.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::OnceLock;

use super::model::Facts;
use super::turn_facts::TurnFacts;
use crate::capture::Capture;
use crate::cassette::Cassette;
use crate::text::shown::letters;

/// The bytes of stdout and the facts in them, which are read once, when a rule first asks for them.
#[derive(Debug, Default)]
pub struct LazyFacts {
    stdout: Vec<u8>,
    line_limit: usize,
    /// What the process printed on stderr, which a person may be shown.
    stderr: String,
    facts: OnceLock<Facts>,
    secrets: OnceLock<BTreeSet<String>>,
    turns: OnceLock<Vec<TurnFacts>>,
    words: OnceLock<RecordedWords>,
}

/// The words that a recording states.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedWords {
    /// The texts beside the answers that a subject may show.
    pub others: Vec<String>,
    /// The letters of each text that the model says on the main thread.
    pub said: Vec<String>,
    /// The letters of all of these texts.
    pub recorded: Vec<String>,
}

impl LazyFacts {
    /// Takes the bytes that a parser read. A line of more than `line_limit` bytes states nothing.
    pub fn new(stdout: &[u8], line_limit: usize) -> Self {
        Self { stdout: stdout.to_owned(), line_limit, ..Self::default() }
    }

    /// Takes both sides of a recorded process, of which no line is too long.
    pub fn of(cassette: &Cassette) -> Self {
        Self {
            stderr: String::from_utf8_lossy(&cassette.stderr).into_owned(),
            facts: Facts::of(cassette).into(),
            ..Self::new(&cassette.stdout, usize::MAX)
        }
    }

    /// Whether a parser that read these bytes with this limit read the same.
    pub fn is_of(&self, stdout: &[u8], line_limit: usize) -> bool {
        self.line_limit == line_limit && self.stdout == stdout
    }

    /// The secrets in inputs and results of calls that the model itself does not say.
    pub fn secrets(&self) -> &BTreeSet<String> {
        self.secrets.get_or_init(|| Facts::secrets(self))
    }

    /// What a person must see of each turn, in order.
    pub fn turn_facts(&self) -> &[TurnFacts] {
        self.turns.get_or_init(|| Facts::turn_facts(self))
    }

    /// The words that a person may be shown.
    pub fn words(&self) -> &RecordedWords {
        self.words.get_or_init(|| {
            let mut others = self.other_texts();
            others.push(self.stderr.clone());
            let mut said: Vec<String> = Vec::new();
            for turn in self.turn_facts() {
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
            RecordedWords { others, said, recorded }
        })
    }
}

impl Deref for LazyFacts {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::read(Capture::from(&self.stdout), self.line_limit))
    }
}

/// Two are equal that have the same bytes and the same limit, and so state the same.
impl PartialEq for LazyFacts {
    fn eq(&self, other: &Self) -> bool {
        self.is_of(&other.stdout, other.line_limit)
    }
}
