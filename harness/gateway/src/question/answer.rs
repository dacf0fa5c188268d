//! The answer of a host to a question, the line that it writes to the CLI ([Q4](crate::rules::Q4)), and
//! the questions that are open ([Q5](crate::rules::Q5)).
//!
//! A chat service gives the data of a button back when a person presses it. Telegram takes at most
//! [`DATA_LIMIT`] bytes, so that an id that is too long has a short handle.

use std::collections::VecDeque;
use std::fmt;

use clitape_stream::Event;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::model::{ASK, Choice, Closing, QuestionTimes, answers, choices};
use crate::excerpt::short;
use crate::sanitise::redact_text;

/// The words for the model when a person denies a call and gives no reason.
const DENIED: &str = "The person said no.";
/// Characters of a reason that are passed on to channels.
const REASON_LIMIT: usize = 300;

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// The call runs.
    Allow {
        /// The input with which it runs, if another than it asked for.
        input: Option<Value>,
        /// Which of the suggested changes of permissions are made, from 0.
        suggestions: Vec<usize>,
    },
    /// The options that a person chose (`AskUserQuestion`): one for each choice, in their order.
    Choose(Vec<Chosen>),
    /// The call does not run, and the turn goes on.
    Deny {
        /// Why, for the model; a plain sentence stands for an empty one.
        message: String,
    },
    /// The call does not run, and the turn ends.
    Stop {
        /// Why, for the model; a plain sentence stands for an empty one.
        message: String,
    },
}

/// The answer to one choice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chosen {
    /// Options, from 0; more than one only where that is allowed.
    Options(Vec<usize>),
    /// An answer in the person's own words.
    Text(String),
}

impl Answer {
    /// The call runs as it asked to.
    pub fn allow() -> Self {
        Self::Allow { input: None, suggestions: Vec::new() }
    }

    /// The call runs, and the suggested change `index`, from 0, is made.
    pub fn allow_with(index: usize) -> Self {
        Self::Allow { input: None, suggestions: vec![index] }
    }

    /// The call does not run.
    pub fn deny(message: impl Into<String>) -> Self {
        Self::Deny { message: message.into() }
    }
}

/// A line for the CLI's stdin, with its line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLine(String);

impl HostLine {
    /// The bytes to write.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for HostLine {
    /// Writes the line without its line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end_matches('\n'))
    }
}

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// No question of this id was asked.
    #[error("nobody asked the question `{id}`; see its id, which may be that of another agent")]
    Unknown {
        /// The id.
        id: String,
    },
    /// The question was answered before.
    #[error("the question `{id}` has its answer already; only the first one counts")]
    Twice {
        /// The id.
        id: String,
    },
    /// The question is closed already.
    #[error("the answer to the question `{id}` is too late: {why}; send a message instead")]
    Late {
        /// The id.
        id: String,
        /// The state of the question, in a few words.
        why: &'static str,
    },
    /// The answer is about a suggestion that the CLI did not make.
    #[error("the CLI made {count} suggestions, and number {number} is none of them")]
    NoSuggestion {
        /// The number, from 1.
        number: usize,
        /// The number of suggestions.
        count: usize,
    },
    /// The host chose an option where the question has none.
    #[error("this question is about a permission; answer it with allow or deny")]
    NotAChoice,
    /// The question is what to choose.
    #[error("this question asks to choose; answer each of its {count} parts, or deny it")]
    NeedsChoice {
        /// The number of parts.
        count: usize,
    },
    /// The options that were chosen are none, or not as many as may be.
    #[error("part {number} takes {what}; choose again")]
    WrongOption {
        /// The number of the part, from 1.
        number: usize,
        /// The options that it takes.
        what: &'static str,
    },
}

/// The CLI's question in its own words; it never goes on the bus.
#[derive(Debug, Clone)]
struct AskedInput {
    /// The input of the call.
    pub(super) input: Value,
    /// The changes of permissions that are suggested.
    pub(super) suggestions: Vec<Value>,
    /// The choices, where the question is one.
    pub(super) choices: Vec<Choice>,
}

impl AskedInput {
    pub(super) fn new(name: &str, input: Value, suggestions: &Value) -> Self {
        let choices = if name == ASK { choices(&input) } else { Vec::new() };
        let suggestions = suggestions.as_array().cloned().unwrap_or_default();
        Self { input, suggestions, choices }
    }

    /// Makes the line that answers the question `id` with `answer`, and what becomes of the question.
    pub(super) fn answer(
        &self,
        id: &str,
        answer: &Answer,
    ) -> Result<(HostLine, Closing), AnswerError> {
        let (response, closing) = match answer {
            Answer::Allow { input: None, .. } if !self.choices.is_empty() => {
                return Err(AnswerError::NeedsChoice { count: self.choices.len() });
            }
            Answer::Allow { input, suggestions } => {
                let input = input.as_ref().unwrap_or(&self.input);
                let mut response = json!({ "behavior": "allow", "updatedInput": input });
                if !suggestions.is_empty() {
                    response["updatedPermissions"] = self.permissions(suggestions)?.into();
                }
                (response, Closing::Allowed { answers: answers(input) })
            }
            Answer::Choose(chosen) => {
                let mut input = self.input.clone();
                let pairs = self.chosen(chosen)?;
                let answers =
                    pairs.iter().cloned().map(|(question, answer)| (question, answer.into()));
                input["answers"] = Value::Object(answers.collect::<Map<_, _>>());
                let redacted = |text: String| redact_text(&text).into_owned();
                let pairs = pairs.into_iter().map(|(q, a)| (redacted(q), redacted(a))).collect();
                let response = json!({ "behavior": "allow", "updatedInput": input });
                (response, Closing::Allowed { answers: pairs })
            }
            Answer::Deny { message } => {
                let response = json!({ "behavior": "deny", "message": reason(message) });
                (response, Closing::Denied { message: short(message, REASON_LIMIT) })
            }
            Answer::Stop { message } => {
                let message = reason(message);
                let response = json!({ "behavior": "deny", "message": message, "interrupt": true });
                (response, Closing::Stopped)
            }
        };
        Ok((line(id, &response), closing))
    }

    /// The suggestions with the numbers `chosen`.
    fn permissions(&self, chosen: &[usize]) -> Result<Vec<Value>, AnswerError> {
        let count = self.suggestions.len();
        let suggestion = |index: &usize| {
            let number = index.saturating_add(1);
            let suggestion = self.suggestions.get(*index).cloned();
            suggestion.ok_or(AnswerError::NoSuggestion { number, count })
        };
        chosen.iter().map(suggestion).collect()
    }

    /// Each question in the model's own words and its answer.
    fn chosen(&self, chosen: &[Chosen]) -> Result<Vec<(String, String)>, AnswerError> {
        let count = self.choices.len();
        if count == 0 {
            return Err(AnswerError::NotAChoice);
        }
        if chosen.len() != count {
            return Err(AnswerError::NeedsChoice { count });
        }
        let pair = |(index, (choice, chosen)): (usize, (&Choice, &Chosen))| {
            let answer = choice.answer(chosen);
            let wrong = |what| AnswerError::WrongOption { number: index + 1, what };
            Ok((choice.question.clone(), answer.map_err(wrong)?))
        };
        self.choices.iter().zip(chosen).enumerate().map(pair).collect()
    }
}

impl Choice {
    /// The words of an answer: labels with a comma between them, as the CLI takes them.
    pub(crate) fn answer(&self, chosen: &Chosen) -> Result<String, &'static str> {
        match chosen {
            Chosen::Text(text) if text.trim().is_empty() => Err("an answer of at least a word"),
            Chosen::Text(text) => Ok(text.trim().to_owned()),
            Chosen::Options(options) => {
                let label = |index: &usize| self.options.get(*index).map(|one| one.label.as_str());
                let labels: Option<Vec<&str>> = options.iter().map(label).collect();
                match labels {
                    None => Err("only the options that it lists"),
                    Some(labels) if labels.is_empty() => Err("at least one option"),
                    Some(labels) if labels.len() > 1 && !self.multi_select => Err("one option"),
                    Some(labels) => Ok(labels.join(", ")),
                }
            }
        }
    }
}

/// The words for the model that give a person's reason.
fn reason(message: &str) -> &str {
    if message.trim().is_empty() { DENIED } else { message }
}

/// The line of a `control_response` to the request `id`.
fn line(id: &str, response: &Value) -> HostLine {
    let record = json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": response },
    });
    HostLine(format!("{record}\n"))
}

/// Closed questions that are remembered, to recognise late answers.
const REMEMBERED: usize = 1_024;

/// A table of the questions that wait for an answer; it takes one answer for each.
///
/// It is fed with the parser's events. A [`Conversation`](crate::Conversation) has one of its own.
#[derive(Debug)]
pub struct OpenQuestions {
    times: QuestionTimes,
    open: Vec<AskedQuestion>,
    closed: VecDeque<(String, Closed)>,
}

#[derive(Debug)]
struct AskedQuestion {
    id: String,
    call: Option<String>,
    is_of_subagent: bool,
    asked: AskedInput,
    at: Instant,
    reminded: bool,
}

/// The reason for which a question was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    Answered,
    Withdrawn,
    Expired,
    Settled,
    Over,
}

impl Closed {
    /// Why an answer is refused now.
    fn refuses(self, id: &str) -> AnswerError {
        let id = id.to_owned();
        let why = match self {
            Self::Answered => return AnswerError::Twice { id },
            Self::Withdrawn => "the agent took it back",
            Self::Expired => "it had waited too long and was denied",
            Self::Settled => "the call has its result",
            Self::Over => "the turn is over",
        };
        AnswerError::Late { id, why }
    }
}

/// The next step for a question that has waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// The person is reminded of it.
    Remind(String),
    /// It is denied.
    Deny(String),
}

impl OpenQuestions {
    /// Makes an empty table.
    pub fn new(times: QuestionTimes) -> Self {
        Self { times, open: Vec::new(), closed: VecDeque::new() }
    }

    /// Takes the parser's next event.
    pub fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Question { id, name, call, input, suggestions, parent, .. }
                if self.ids().all(|open| open != &**id) =>
            {
                self.open.push(AskedQuestion {
                    id: id.to_string(),
                    call: call.as_deref().map(str::to_owned),
                    is_of_subagent: parent.is_some(),
                    asked: AskedInput::new(name, input.value(), &suggestions.value()),
                    at: Instant::now(),
                    reminded: false,
                });
            }
            Event::QuestionWithdrawn { id } => {
                self.close(Closed::Withdrawn, |open| open.id == **id);
            }
            Event::Answered { id, .. } => {
                self.close(Closed::Answered, |open| open.id == **id);
            }
            Event::ToolResult { id, .. } => {
                self.close(Closed::Settled, |open| open.call.as_deref() == Some(id));
            }
            // A subagent may run on, and wait for its answer, until the process ends.
            Event::Outcome(outcome) => {
                let is_over = outcome.status == clitape_stream::RunStatus::Incomplete;
                self.close(Closed::Over, |open| is_over || !open.is_of_subagent);
            }
            _ => {}
        }
    }

    /// Ids of the questions that are open, in the order in which they were asked.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(|open| open.id.as_str())
    }

    /// The id of the open question whose button was pressed.
    pub fn pressed(&self, press: &Press) -> Option<&str> {
        self.ids().find(|id| press.is_for(id))
    }

    /// Answers the question `id`: the line for the CLI's stdin.
    ///
    /// # Errors
    ///
    /// [`AnswerError`] when the question has an answer, is closed or was never asked, or when the answer
    /// does not fit it. The last leaves the question open.
    pub fn answer(&mut self, id: &str, answer: &Answer) -> Result<HostLine, AnswerError> {
        self.take(id, answer).map(|(line, _)| line)
    }

    /// Answers the question `id`, and says what becomes of it.
    pub(crate) fn take(
        &mut self,
        id: &str,
        answer: &Answer,
    ) -> Result<(HostLine, Closing), AnswerError> {
        let Some(open) = self.open.iter().find(|open| open.id == id) else {
            let closed = self.closed.iter().rev().find(|(closed, _)| closed == id);
            let unknown = || AnswerError::Unknown { id: id.to_owned() };
            return Err(closed.map_or_else(unknown, |(_, how)| how.refuses(id)));
        };
        let taken = open.asked.answer(id, answer)?;
        self.close(Closed::Answered, |open| open.id == id);
        Ok(taken)
    }

    /// When the next question has waited long enough for something to be done about it.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.open.iter().map(|open| open.due(self.times)).min()
    }

    /// The first question that has waited long enough; it is reminded of once.
    pub(crate) fn overdue(&mut self) -> Option<Overdue> {
        let (now, times) = (Instant::now(), self.times);
        let open = self.open.iter_mut().find(|open| open.due(times) <= now)?;
        let id = open.id.clone();
        if open.at + times.deny <= now {
            return Some(Overdue::Deny(id));
        }
        open.reminded = true;
        Some(Overdue::Remind(id))
    }

    /// Denies the question `id`, which is still without an answer.
    pub(crate) fn expire(&mut self, id: &str) -> Option<HostLine> {
        let message = format!(
            "Nobody answered within {} s, so it was denied. Go on without it, or ask later.",
            self.times.deny.as_secs_f64()
        );
        let (line, _) = self.take(id, &Answer::deny(message)).ok()?;
        if let Some((_, how)) = self.closed.back_mut() {
            *how = Closed::Expired;
        }
        Some(line)
    }

    /// The times after which something is done.
    pub(crate) fn times(&self) -> QuestionTimes {
        self.times
    }

    /// Takes the questions from the table that `is_it` names.
    fn close(&mut self, how: Closed, is_it: impl Fn(&AskedQuestion) -> bool) {
        for open in self.open.extract_if(.., |open| is_it(open)) {
            self.closed.push_back((open.id, how));
        }
        let surplus = self.closed.len().saturating_sub(REMEMBERED);
        self.closed.drain(..surplus);
    }
}

impl AskedQuestion {
    /// When something is to be done about it next.
    fn due(&self, times: QuestionTimes) -> Instant {
        if self.reminded || times.remind >= times.deny {
            self.at + times.deny
        } else {
            self.at + times.remind
        }
    }
}

/// Bytes of a button's data, at most.
pub const DATA_LIMIT: usize = 64;
/// Bytes of an id that is its own handle.
const HANDLE_LIMIT: usize = 40;
/// The beginning of the data of all buttons of questions.
const PREFIX: &str = "q";

/// A button that a person pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// The handle of the question.
    handle: String,
    /// The pressed button.
    pub button: PressedButton,
}

/// The meaning of a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PressedButton {
    /// The call runs.
    Allow,
    /// The call does not run.
    Deny,
    /// The call runs, and the suggested change of this number, from 0, is made.
    Suggestion(usize),
    /// An option of a choice.
    Option {
        /// The number of the choice, from 0.
        choice: usize,
        /// The number of the option, from 0.
        option: usize,
    },
    /// The options of a choice are chosen.
    Done {
        /// The number of the choice, from 0.
        choice: usize,
    },
}

impl Press {
    /// Makes the button of the question `id` that says `button`.
    pub fn new(id: &str, button: PressedButton) -> Self {
        Self { handle: handle(id), button }
    }

    /// Reads the data of a button; `None` for that of any other button.
    pub fn parse(data: &str) -> Option<Self> {
        let mut parts = data.split(':');
        let (prefix, handle, button) = (parts.next()?, parts.next()?, parts.next()?);
        if prefix != PREFIX || handle.is_empty() || parts.next().is_some() {
            return None;
        }
        let (kind, numbers) = button.split_at_checked(1)?;
        let button = match (kind, numbers) {
            ("a", "") => PressedButton::Allow,
            ("d", "") => PressedButton::Deny,
            ("s", number) => PressedButton::Suggestion(number.parse().ok()?),
            ("k", number) => PressedButton::Done { choice: number.parse().ok()? },
            ("o", numbers) => {
                let (choice, option) = numbers.split_once('.')?;
                PressedButton::Option { choice: choice.parse().ok()?, option: option.parse().ok()? }
            }
            _ => return None,
        };
        Some(Self { handle: handle.to_owned(), button })
    }

    /// The data of the button, of at most [`DATA_LIMIT`] bytes.
    pub fn data(&self) -> String {
        let button = match self.button {
            PressedButton::Allow => "a".to_owned(),
            PressedButton::Deny => "d".to_owned(),
            PressedButton::Suggestion(number) => format!("s{number}"),
            PressedButton::Done { choice } => format!("k{choice}"),
            PressedButton::Option { choice, option } => format!("o{choice}.{option}"),
        };
        format!("{PREFIX}:{}:{button}", self.handle)
    }

    /// Returns whether the button belongs to the question `id`.
    pub fn is_for(&self, id: &str) -> bool {
        self.handle == handle(id)
    }
}

/// The handle of the question `id`: the id itself, or 16 digits made of it where it is too long.
fn handle(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !id.is_empty() && id.len() <= HANDLE_LIMIT && id.chars().all(is_plain) {
        return id.to_owned();
    }
    // FNV-1a: the same in every process, which a hasher with a seed is not.
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = id.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("~{hash:016x}")
}

#[cfg(test)]
mod tests;
