//! The turns of a recording as gateways must show them: the texts, tools and questions of each.
//!
//! A gateway chooses the part of an answer that it shows: the last part alone, or the whole text of the model. Only the
//! last part, which is the `result` of the turn, is required. [`LazyFacts`] are read when a rule asks for them, because
//! many replays are compared and not judged.

use std::collections::{BTreeSet, HashSet};
use std::ops::Deref;
use std::sync::OnceLock;

use clitape_gateway::{ends_silent, sanitise};
use serde_json::Value;

use super::json::{texts_in, without_reasoning};
use super::model::{
    Facts, RecordedBlock, RecordedCall, RecordedFailure, RecordedMessage, RecordedQuestion,
    RecordedTurn,
};
use crate::capture::Capture;
use crate::cassette::Cassette;
use crate::text::asked::{AskedText, asked_texts};
use crate::text::shown::letters;

/// The fields of a tool's input with its main argument, the most specific first.
const MAIN_FIELDS: [&str; 12] = [
    "file_path",
    "notebook_path",
    "path",
    "command",
    "pattern",
    "query",
    "url",
    "description",
    "subject",
    "skill",
    "prompt",
    "text",
];

/// A turn, and the parts of it that a person must read.
#[derive(Debug)]
pub struct TurnFacts {
    /// The turn's `result`: the last text of the model.
    pub answer: Option<String>,
    /// The text of the model in the main conversation, in pieces between which a tool ran or a new message began.
    pub segments: Vec<TextSegment>,
    /// The calls of tools in the main conversation.
    pub tools: Vec<ToolFacts>,
    /// The questions of the CLI.
    pub questions: Vec<QuestionFacts>,
    /// The end of the turn.
    pub ending: TurnEnding,
    /// True if a turn that answers no message follows it, so that its answer may be replaced.
    pub is_interim: bool,
}

/// A piece of the model's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSegment {
    /// The id of the message.
    pub message_id: String,
    /// The text of the piece.
    pub text: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFacts {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The main argument in its input, such as a command or a path.
    pub main_argument: Option<String>,
    /// The input; `None` if the CLI never had the whole of it.
    pub input: Option<Value>,
    /// The outcome; `None` if the turn ended before it.
    pub outcome: Option<ToolOutcome>,
}

/// The outcome of a call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOutcome {
    /// The call has a result.
    Completed,
    /// The call has an error, or a person refused it.
    Failed,
}

/// A question of the CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionFacts {
    /// The tool that waits for the answer.
    pub name: String,
    /// The waiting call, if the CLI names it.
    pub call: Option<String>,
    /// The words that a person is asked: those of the questions, or the tool's main argument.
    pub words: Vec<String>,
    /// The texts that the person must be shown before the answer.
    pub texts: Vec<AskedText>,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnding {
    /// The turn has an answer.
    Answered,
    /// The answer is a word for silence, such as `NO_REPLY`.
    Silent,
    /// A person stopped the turn.
    Interrupted,
    /// The turn failed: the words of the CLI, or else its name for the failure.
    Failed(String),
    /// The CLI ended without a result.
    CutOff,
}

/// The parts of a turn.
#[derive(Default)]
struct TurnParts<'s> {
    messages: Vec<&'s RecordedMessage>,
    calls: Vec<&'s RecordedCall>,
    questions: Vec<&'s RecordedQuestion>,
}

impl Facts {
    /// Returns the turns, in order; the last one may lack its result.
    pub fn turn_facts(&self) -> Vec<TurnFacts> {
        let results = self.turns.iter().map(Some).chain(self.is_cut_off.then_some(None));
        let parts = self.parts().into_iter();
        let turns = results.zip(parts).map(|(result, parts)| self.turn(result, &parts));
        let mut turns: Vec<TurnFacts> = turns.collect();
        for (before, result) in turns.iter_mut().zip(self.turns.iter().skip(1)) {
            before.is_interim = result.origin.is_some();
        }
        turns
    }

    /// Returns the parts of each turn, and those after the last result.
    fn parts(&self) -> Vec<TurnParts<'_>> {
        let mut parts: Vec<TurnParts<'_>> = Vec::new();
        parts.resize_with(self.turns.len() + 1, TurnParts::default);
        for message in self.messages.iter().filter(|message| message.parent.is_none()) {
            parts.get_mut(message.turn).into_iter().for_each(|it| it.messages.push(message));
        }
        for call in &self.calls {
            let is_main = call.parent.is_none() && !call.is_retracted;
            let turn = parts.get_mut(call.turn).filter(|_| is_main);
            turn.into_iter().for_each(|it| it.calls.push(call));
        }
        let mut ids = HashSet::new();
        for asked in &self.questions {
            // A repeated request is no new question.
            let is_new = ids.insert(asked.id.as_str()) && !asked.name.is_empty();
            let turn = parts.get_mut(asked.turn).filter(|_| is_new);
            turn.into_iter().for_each(|it| it.questions.push(asked));
        }
        parts
    }

    fn turn(&self, result: Option<&RecordedTurn>, parts: &TurnParts<'_>) -> TurnFacts {
        let failure = result.and_then(|result| result.failure.as_ref());
        let went_well = result.is_some() && failure.is_none();
        let segments = parts.segments(went_well);
        let last = || segments.last().map(|segment| segment.text.clone());
        let text = result.filter(|_| went_well).map(|result| result.answer.clone());
        let answer = text.filter(|text| !text.is_empty()).or_else(last);
        let ending = match failure {
            _ if result.is_none() => TurnEnding::CutOff,
            Some(RecordedFailure::CutOff) => TurnEnding::CutOff,
            Some(RecordedFailure::Interrupted) => TurnEnding::Interrupted,
            Some(RecordedFailure::Failed(words)) => TurnEnding::Failed(words.clone()),
            None if answer.as_deref().is_some_and(ends_silent) => TurnEnding::Silent,
            None => TurnEnding::Answered,
        };
        let tools = parts.calls.iter().map(|call| ToolFacts::of(call)).collect();
        let questions = parts.questions.iter().map(|asked| self.question(asked)).collect();
        TurnFacts { answer, segments, tools, questions, ending, is_interim: false }
    }

    fn question(&self, asked: &RecordedQuestion) -> QuestionFacts {
        let RecordedQuestion { name, call, .. } = asked;
        let texts = asked_texts(name, &self.asked_input(asked).unwrap_or_default());
        let questions = asked.input["questions"].as_array().into_iter().flatten();
        let questions = questions.filter_map(|one| one["question"].as_str()).map(str::to_owned);
        let words = questions.chain(main_argument(&asked.input)).collect();
        QuestionFacts { name: name.clone(), call: call.clone(), words, texts }
    }

    /// Returns the texts beside the answers that a gateway may show: thoughts, the words of subagents, of the host and
    /// of notices, the inputs and the results of tools.
    pub fn other_texts(&self) -> Vec<String> {
        let blocks = self.messages.iter().flat_map(|message| {
            let is_other = message.parent.is_some() || message.is_error;
            let texts = message.texts.iter().filter(move |_| is_other);
            message.reasoning.iter().chain(texts)
        });
        let blocks = blocks.map(|block| block.text().to_owned());
        let inputs = self.calls.iter().map(RecordedCall::input_text);
        let results = self.calls.iter().filter_map(|call| call.result.as_ref());
        let results = results.map(|(result, _)| texts_in(result).join("\n"));
        let host = self.host_messages.iter().map(|message| message.text.clone());
        blocks
            .chain(inputs)
            .chain(results)
            .chain(host)
            .chain(self.notices.iter().cloned())
            .collect()
    }

    /// Returns whether the CLI takes back text, reasoning or the input of a call, or prints text before the result of
    /// the turn before.
    pub fn has_retractions(&self) -> bool {
        let is_gone = |block: &RecordedBlock| block.is_retracted && !block.text().is_empty();
        let mut blocks = self.messages.iter().flat_map(|it| it.texts.iter().chain(&it.reasoning));
        let mut calls = self.calls.iter();
        let is_moved = |message: &RecordedMessage| message.is_early && message.has_text();
        self.messages.iter().any(is_moved)
            || blocks.any(is_gone)
            || calls.any(|call| call.is_retracted && !call.pieces.is_empty())
    }

    /// Returns whether work continues in the background after an answer.
    pub fn has_background(&self) -> bool {
        let is_background = |input: Value| input["run_in_background"] == true;
        self.calls.iter().filter_map(RecordedCall::input).any(is_background)
    }
}

impl TurnParts<'_> {
    /// Returns the text of the main conversation. A message that may be the CLI's own error counts as text in a
    /// successful turn.
    fn segments(&self, went_well: bool) -> Vec<TextSegment> {
        let is_text =
            |message: &&&RecordedMessage| !message.is_error || message.is_doubtful && went_well;
        let mut segments: Vec<TextSegment> = Vec::new();
        for message in self.messages.iter().filter(is_text) {
            let mut calls_before = None;
            for (block, text) in texts(message) {
                match segments.last_mut() {
                    Some(last) if calls_before == Some(block.calls_before) => {
                        last.text.push_str(text);
                    }
                    _ => segments.push(TextSegment {
                        message_id: message.id.clone(),
                        text: text.trim_start().to_owned(),
                    }),
                }
                calls_before = Some(block.calls_before);
            }
        }
        segments
    }
}

/// Returns the blocks of text of a message that the CLI does not take back, each with its visible text.
fn texts(message: &RecordedMessage) -> impl Iterator<Item = (&RecordedBlock, &str)> {
    let blocks = message.texts.iter().filter(|block| !block.is_retracted);
    let mut is_first = true;
    let texts = blocks.map(move |block| {
        let text = block.unspoilt_text();
        let is_begin = is_first && !text.trim().is_empty();
        is_first &= !is_begin;
        (block, if is_begin { without_reasoning(text) } else { text })
    });
    texts.filter(|(_, text)| !text.trim().is_empty())
}

impl TurnFacts {
    /// Returns all texts of the model.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let segments = self.segments.iter().map(|segment| segment.text.as_str());
        segments.chain(self.answer.as_deref())
    }

    /// Returns whether the turn must end with an answer that a person reads.
    pub fn must_be_answered(&self) -> bool {
        self.ending == TurnEnding::Answered && !self.is_interim
    }
}

impl ToolFacts {
    fn of(call: &RecordedCall) -> Self {
        let input = call.input();
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            main_argument: input.as_ref().and_then(main_argument),
            input,
            outcome: call.result.as_ref().map(|(_, is_error)| match is_error {
                true => ToolOutcome::Failed,
                false => ToolOutcome::Completed,
            }),
        }
    }
}

/// Returns the main argument in an input.
fn main_argument(input: &Value) -> Option<String> {
    MAIN_FIELDS.iter().find_map(|field| input.get(*field)?.as_str()).map(str::to_owned)
}

/// The bytes of stdout and their facts, which are read once, when a rule first asks for them.
#[derive(Debug, Default)]
pub struct LazyFacts {
    stdout: Vec<u8>,
    line_limit: usize,
    /// The text of stderr, which a person may be shown.
    stderr: String,
    facts: OnceLock<Facts>,
    secrets: OnceLock<BTreeSet<String>>,
    turns: OnceLock<Vec<TurnFacts>>,
    words: OnceLock<RecordedWords>,
}

/// The words of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedWords {
    /// The texts beside the answers that a subject may show.
    pub others: Vec<String>,
    /// The letters of each text of the model on the main thread.
    pub said: Vec<String>,
    /// The letters of all of these texts.
    pub recorded: Vec<String>,
}

impl LazyFacts {
    /// Takes the bytes that a parser read. A line of more than `line_limit` bytes is ignored.
    pub fn new(stdout: &[u8], line_limit: usize) -> Self {
        Self { stdout: stdout.to_owned(), line_limit, ..Self::default() }
    }

    /// Takes both sides of a recorded process, with no limit on lines.
    pub fn of(cassette: &Cassette) -> Self {
        Self {
            stderr: String::from_utf8_lossy(&cassette.stderr).into_owned(),
            facts: Facts::of(cassette).into(),
            ..Self::new(&cassette.stdout, usize::MAX)
        }
    }

    /// Takes all runs of a cassette, as one conversation.
    pub fn of_runs(cassette: &Cassette) -> Self {
        let further = cassette.further.iter().map(|run| &run.stderr[..]);
        let stderr = std::iter::once(&cassette.stderr[..]).chain(further).collect::<Vec<_>>();
        Self {
            stderr: String::from_utf8_lossy(&stderr.concat()).into_owned(),
            facts: Facts::of_runs(cassette).into(),
            ..Self::new(&cassette.whole_stdout(), usize::MAX)
        }
    }

    /// Returns whether these bytes and this limit are those of the facts.
    pub fn is_of(&self, stdout: &[u8], line_limit: usize) -> bool {
        self.line_limit == line_limit && self.stdout == stdout
    }

    /// Returns the secrets in inputs and results of calls that are not in the model's own text.
    pub fn secrets(&self) -> &BTreeSet<String> {
        self.secrets.get_or_init(|| Facts::secrets(self))
    }

    /// Returns the parts of each turn that a person must see, in order.
    pub fn turn_facts(&self) -> &[TurnFacts] {
        self.turns.get_or_init(|| Facts::turn_facts(self))
    }

    /// Returns the words that a person may be shown.
    pub fn words(&self) -> &RecordedWords {
        self.words.get_or_init(|| {
            let mut others = self.other_texts();
            others.push(self.stderr.clone());
            let mut said: Vec<String> = Vec::new();
            for turn in self.turn_facts() {
                said.extend(turn.segments.iter().map(|segment| letters(&segment.text)));
                // The result repeats the last message.
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

/// Compares the bytes and the limit, which determine the facts.
impl PartialEq for LazyFacts {
    fn eq(&self, other: &Self) -> bool {
        self.is_of(&other.stdout, other.line_limit)
    }
}

/// The length below which a secret may be in a text by chance.
const SHORT: usize = 8;

impl Facts {
    /// Returns the secrets in inputs and results of calls that are not in the model's own text.
    pub fn secrets(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut find = |text: &str| {
            let line = format!("{text}\n");
            let secrets =
                sanitise::find(&line).into_iter().map(|found| line[found.bytes].trim().to_owned());
            found.extend(secrets.filter(|secret| secret.chars().count() >= SHORT));
        };
        for call in &self.calls {
            let result = call.result.as_ref().map(|(result, _)| result);
            call.whole.iter().chain(result).flat_map(texts_in).for_each(&mut find);
            match &call.whole {
                Some(input) => find(&input.to_string()),
                None => find(&call.streamed),
            }
        }
        let said: Vec<&str> = self
            .messages
            .iter()
            .flat_map(|message| message.texts.iter().chain(&message.reasoning))
            .map(RecordedBlock::text)
            .collect();
        found.retain(|secret| !said.iter().any(|text| text.contains(secret.as_str())));
        found
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cassette::Cassette;

    fn read(name: &str) -> Facts {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
        Facts::of(&Cassette::load(&root.join(name)).unwrap())
    }

    #[test]
    fn the_last_part_is_the_answer_and_the_rest_may_be_read() {
        let turns = read("three-tools/2.1.329").turn_facts();
        let [turn] = &turns[..] else { panic!("one turn") };
        let answer =
            "They do not agree: the server listens on port 8080, the client asks for port 8081.";
        assert_eq!(turn.answer.as_deref(), Some(answer));
        let counts = (turn.segments.len(), turn.tools.len());
        assert_eq!((counts, &turn.ending), ((4, 3), &TurnEnding::Answered));
        assert_eq!(turn.tools[0].main_argument.as_deref(), Some("/clitape/project/server.conf"));
    }

    #[test]
    fn a_turn_says_how_it_ended() {
        for (name, endings) in [
            ("plain-text/2.1.329", vec![TurnEnding::Answered]),
            ("silent-run/2.1.329", vec![TurnEnding::Silent]),
            ("resume-killed-mid-text/2.1.329", vec![TurnEnding::CutOff]),
            ("live-interrupt-text/2.1.332", vec![TurnEnding::Interrupted]),
            ("max-turns/1.0.128", vec![TurnEnding::Failed("error_max_turns".to_owned())]),
        ] {
            let turns = read(name).turn_facts();
            let found: Vec<TurnEnding> = turns.into_iter().map(|turn| turn.ending).collect();
            assert_eq!(found, endings, "{name}");
        }
        let [turn] = &read("api-400/2.1.329").turn_facts()[..] else { panic!("one turn") };
        let TurnEnding::Failed(words) = &turn.ending else { panic!("{turn:?}") };
        assert!(words.contains("400"), "{words}");
    }

    #[test]
    fn questions_and_background_work_are_read() {
        let turns = read("permission-allow/2.1.332").turn_facts();
        assert_eq!(turns[0].questions[0].name, "Bash");
        assert_eq!(turns[0].answer.as_deref(), Some("The file made.txt is there."));
        let turns = read("ask-user/2.1.332").turn_facts();
        let question = &turns[0].questions[0];
        assert_eq!(question.name, "AskUserQuestion");
        assert!(question.words[0].contains('?'), "{question:?}");
        assert!(read("bash-left-running/2.1.329").has_background());
    }

    #[test]
    fn text_of_a_message_that_broke_off_is_taken_back_block_by_block() {
        let facts = read("sse-error-mid-tool/2.1.329");
        let turns = facts.turn_facts();
        let texts: Vec<&str> = turns[0].segments.iter().map(|it| it.text.as_str()).collect();
        let second = "notes.txt has three lines, and none of them is empty.";
        assert_eq!((texts, facts.has_retractions()), (vec!["I'll count them.", second], true));
    }

    #[test]
    fn the_runs_of_a_session_are_one_conversation() {
        let check = |name: &str, expect: &[(TurnEnding, &str)]| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
            let facts = Facts::of_runs(&Cassette::load(&root.join(name)).unwrap());
            let turns = facts.turn_facts();
            let answers = turns
                .iter()
                .map(|turn| (turn.ending.clone(), turn.answer.as_deref().unwrap_or_default()));
            assert_eq!(answers.collect::<Vec<_>>(), expect, "{name}");
            let calls: Vec<usize> = turns.iter().map(|turn| turn.tools.len()).collect();
            assert_eq!(facts.calls.len(), calls.iter().sum::<usize>(), "{name}: {calls:?}");
        };
        let cut_off = |text| (TurnEnding::CutOff, text);
        let answered = |text| (TurnEnding::Answered, text);
        check("resume-good/2.1.332", &[answered("Noted: maple."), answered("It was maple.")]);
        check(
            "resume-twice/2.1.332",
            &[
                cut_off("I'll wait for the build."),
                answered("We waited for the build; it was not done."),
                answered("Still not done."),
            ],
        );
        check(
            "resume-killed-mid-text/1.0.128",
            &[cut_off("The build is made of four stages, an"), cut_off("")],
        );
    }

    #[test]
    fn an_old_cli_asks_about_a_call_without_its_id() {
        let turns = read("permission-allow/1.0.128").turn_facts();
        let turn = &turns[0];
        assert_eq!(turn.questions[0].call.as_ref(), Some(&turn.tools[0].id));
    }
}
