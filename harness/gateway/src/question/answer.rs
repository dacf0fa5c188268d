//! The answer of a host to a question, and the line that it writes to the CLI
//! ([Q4](crate::rules::Q4)).

use std::fmt;

use serde_json::{Map, Value, json};

use super::model::{ASK, Choice, Closing, answers, choices};
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
pub(super) struct AskedInput {
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
