//! A question as the bus has it, and what becomes of it.

use std::time::Duration;

use clitape_stream::{Decision, Event};
use serde_json::{Map, Value};

use super::suggestion::{in_full, label};
use crate::display;
use crate::excerpt::short;
use crate::hidden::visible;
use crate::limits::{QUESTION_DENIED, QUESTION_REMINDED};
use crate::sanitise::{Masked, redact_text, sanitise_whole};

/// The tool whose questions a person answers by choosing.
pub(super) const ASK: &str = "AskUserQuestion";
/// The tool that asks whether a plan may be carried out.
const PLAN: &str = "ExitPlanMode";
/// Characters of a description or a reason that are passed on.
const DETAIL_LIMIT: usize = 300;

/// The times that a question waits for its answer ([Q5](crate::rules::Q5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuestionTimes {
    /// When the person is reminded of it.
    pub remind: Duration,
    /// When it is denied.
    pub deny: Duration,
}

impl Default for QuestionTimes {
    fn default() -> Self {
        Self { remind: QUESTION_REMINDED, deny: QUESTION_DENIED }
    }
}

/// A question of the CLI, which holds a call back until it is answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// Id of the request, which an answer names.
    pub id: String,
    /// Id of the call that waits, where the request names one.
    pub call: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// The line a person reads, that of the call ([V2](crate::rules::V2)).
    pub title: String,
    /// The kind of question.
    pub kind: QuestionKind,
    /// One short label for each change of permissions that the CLI suggests, in the CLI's order.
    pub suggestions: Vec<String>,
    /// Everything that each of them changes, one rule or path a line, where its label has no room for it.
    pub in_full: Vec<Option<String>>,
    /// The model's description of the call.
    pub description: Option<String>,
    /// The path because of which the CLI asks.
    pub blocked_path: Option<String>,
    /// The subagent's tool call.
    pub parent: Option<String>,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum QuestionKind {
    /// A permission for the tool to run.
    Permission {
        /// The arguments of the call: sanitised as those on the bus, and whole, however long they are.
        input: Value,
    },
    /// Choices for a person (`AskUserQuestion`); never empty.
    Choices(Vec<Choice>),
}

/// One of the things that `AskUserQuestion` asks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The question in the model's words.
    pub question: String,
    /// A word or two for it.
    pub header: Option<String>,
    /// The options.
    pub options: Vec<ChoiceOption>,
    /// True if several options can be chosen.
    pub multi_select: bool,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChoiceOption {
    /// A few words.
    pub label: String,
    /// The meaning of the option.
    pub description: Option<String>,
    /// A preview of its result, such as a sketch or some code.
    pub preview: Option<String>,
}

/// A question is closed: it was answered, or its answer is not needed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuestionClosed {
    /// Id of the request.
    pub id: String,
    /// The outcome of the question.
    pub closing: Closing,
    /// Who answered, where the host says so.
    pub by: Option<String>,
    /// The time that it was open, by tokio's clock.
    pub after: Duration,
}

/// A question has waited for some time, and the person is reminded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuestionWaits {
    /// Id of the request.
    pub id: String,
    /// The time that it has waited.
    pub after: Duration,
    /// The time left until it is denied.
    pub denied_in: Duration,
}

impl QuestionWaits {
    /// The line for a person who waits.
    pub fn line(&self) -> String {
        let [after, left] = [self.after, self.denied_in].map(|time| time.as_secs());
        format!("⏳ A question has waited {after} s for your answer; it is denied in {left} s")
    }
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closing {
    /// The tool runs.
    Allowed {
        /// The choices: the question in the model's words and the answer, in the order of the answer.
        answers: Vec<(String, String)>,
    },
    /// The tool does not run, and the turn goes on.
    Denied {
        /// The sentence for the model; empty when there is none.
        message: String,
    },
    /// The turn was stopped: a person denied and interrupted it, or it ended before an answer came.
    Stopped,
    /// The CLI took the question back.
    Withdrawn,
    /// The answer did not come in time, so that the question was denied.
    Expired,
    /// The result of the call came, and the answer is not known.
    Settled,
    /// The turn is over while a subagent of it still waits: the question goes on in the next turn.
    Moved,
}

impl Closing {
    /// Returns the word for it in traces and streams of events.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allowed { .. } => "allowed",
            Self::Denied { .. } => "denied",
            Self::Stopped => "stopped",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Settled => "settled",
            Self::Moved => "moved",
        }
    }
}

impl Question {
    /// Makes the question of `event`, sanitised; `None` for any other event. `fields` is the input of the call
    /// that waits: CLI 2.1.330 asks about `ExitPlanMode` without the plan.
    pub(crate) fn of(
        event: &Event<'_>,
        fields: Option<&Map<String, Value>>,
        masked: &mut Masked,
    ) -> Option<Self> {
        let Event::Question { id, name, call, input, suggestions, detail, parent } = event else {
            return None;
        };
        let input = match (input.value(), fields) {
            (Value::Object(own), Some(fields)) if own.is_empty() => Value::Object(fields.clone()),
            (input, _) => input,
        };
        let command = input.get("command").and_then(Value::as_str);
        let suggestions = suggestions.value();
        let labels = suggestions.as_array().map(Vec::as_slice).unwrap_or_default();
        let words = |key: &str, limit| text_of(detail, key).map(|words| short(words, limit));
        Some(Self {
            id: id.to_string(),
            call: call.as_deref().map(str::to_owned),
            name: name.to_string(),
            title: display::title(name, &input),
            kind: kind(name, &input, masked),
            suggestions: labels.iter().map(label).collect(),
            in_full: labels.iter().map(|suggestion| in_full(suggestion, command)).collect(),
            description: words("description", DETAIL_LIMIT).filter(|words| !words.is_empty()),
            blocked_path: words("blocked_path", usize::MAX).filter(|words| !words.is_empty()),
            parent: parent.as_deref().map(str::to_owned),
        })
    }

    /// The same question with signs for the characters that hide or change the order of what a person reads. It is
    /// for a person alone: the real input is what runs.
    #[must_use]
    pub(crate) fn visible(&self) -> Self {
        let all = |words: &Option<String>| words.as_deref().map(visible);
        Self {
            name: visible(&self.name),
            title: visible(&self.title),
            kind: match &self.kind {
                QuestionKind::Permission { input } => {
                    QuestionKind::Permission { input: visible_value(input) }
                }
                QuestionKind::Choices(choices) => {
                    QuestionKind::Choices(choices.iter().map(Choice::visible).collect())
                }
            },
            suggestions: self.suggestions.iter().map(|label| visible(label)).collect(),
            in_full: self.in_full.iter().map(all).collect(),
            description: all(&self.description),
            blocked_path: all(&self.blocked_path),
            ..self.clone()
        }
    }

    /// The labels of the suggestions that have no room for all that they change, and all of it.
    pub fn suggestions_in_full(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.suggestions.iter().zip(&self.in_full);
        pairs.filter_map(|(label, all)| Some((label.as_str(), all.as_deref()?)))
    }

    /// Returns the text that a person decides about where it is more than a line: the plan of
    /// `ExitPlanMode`.
    pub fn plan(&self) -> Option<&str> {
        match &self.kind {
            QuestionKind::Permission { input } if self.name == PLAN => input.get("plan")?.as_str(),
            _ => None,
        }
    }
}

impl Choice {
    /// The same with signs for characters that hide.
    pub(crate) fn visible(&self) -> Self {
        let all = |words: &Option<String>| words.as_deref().map(visible);
        let option = |option: &ChoiceOption| ChoiceOption {
            label: visible(&option.label),
            description: all(&option.description),
            preview: all(&option.preview),
        };
        Self {
            question: visible(&self.question),
            header: all(&self.header),
            options: self.options.iter().map(option).collect(),
            multi_select: self.multi_select,
        }
    }
}

/// A value whose keys and texts have signs for characters that hide.
fn visible_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(text)),
        Value::Array(list) => list.iter().map(visible_value).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| (visible(key), visible_value(value))).collect()
        }
        other => other.clone(),
    }
}

/// Reads what is asked. Choices without a question that can be read are a permission.
fn kind(name: &str, input: &Value, masked: &mut Masked) -> QuestionKind {
    let choices = if name == ASK { choices(input) } else { Vec::new() };
    if choices.is_empty() {
        QuestionKind::Permission { input: sanitise_whole(input, masked) }
    } else {
        QuestionKind::Choices(choices.iter().map(Choice::redacted).collect())
    }
}

/// Reads the choices of `AskUserQuestion`, in the model's own words.
pub(super) fn choices(input: &Value) -> Vec<Choice> {
    let asked = input.get("questions").and_then(Value::as_array);
    asked.map(|asked| asked.iter().filter_map(Choice::read).collect()).unwrap_or_default()
}

impl Choice {
    fn read(asked: &Value) -> Option<Self> {
        let asked = asked.as_object()?;
        let options = asked.get("options").and_then(Value::as_array);
        let option = |option: &Value| {
            let option = option.as_object()?;
            Some(ChoiceOption {
                label: text_of(option, "label")?.to_owned(),
                description: text_of(option, "description").map(str::to_owned),
                preview: text_of(option, "preview").map(str::to_owned),
            })
        };
        Some(Self {
            question: text_of(asked, "question")?.to_owned(),
            header: text_of(asked, "header").map(str::to_owned),
            options: options.map(|all| all.iter().filter_map(option).collect()).unwrap_or_default(),
            multi_select: asked.get("multiSelect").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// Masks the secrets in all texts ([B2](crate::rules::B2)).
    fn redacted(&self) -> Self {
        let redacted = |text: &str| redact_text(text).into_owned();
        let option = |option: &ChoiceOption| ChoiceOption {
            label: redacted(&option.label),
            description: option.description.as_deref().map(redacted),
            preview: option.preview.as_deref().map(redacted),
        };
        Self {
            question: redacted(&self.question),
            header: self.header.as_deref().map(redacted),
            options: self.options.iter().map(option).collect(),
            multi_select: self.multi_select,
        }
    }
}

/// Returns the outcome of the question that `event` answers; `None` for any other event.
pub(crate) fn closing(event: &Event<'_>) -> Option<Closing> {
    let Event::Answered { decision, message, input, .. } = event else { return None };
    Some(match decision {
        Decision::Allow => Closing::Allowed { answers: answers(&input.value()) },
        Decision::Deny => {
            let words = message.as_deref().unwrap_or_default();
            Closing::Denied { message: short(words, DETAIL_LIMIT) }
        }
        // `DenyAndInterrupt`, and decisions that a later version of the parser may add.
        _ => Closing::Stopped,
    })
}

/// The answers in the input with which a call runs, redacted.
pub(super) fn answers(input: &Value) -> Vec<(String, String)> {
    let redacted = |text: &str| redact_text(text).into_owned();
    let pair = |(question, answer): (&String, &Value)| {
        let answer = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
        (redacted(question), redacted(&answer))
    };
    let answers = input.get("answers").and_then(Value::as_object);
    answers.map(|answers| answers.iter().map(pair).collect()).unwrap_or_default()
}

fn text_of<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q2_a_question_that_waits_says_how_long() {
        let check = |after: u64, denied_in: u64, expect: &str| {
            let [after, denied_in] = [after, denied_in].map(Duration::from_millis);
            let waits = QuestionWaits { id: "q1".to_owned(), after, denied_in };
            assert_eq!(waits.line(), expect);
        };
        let line = "⏳ A question has waited 60 s for your answer; it is denied in 540 s";
        check(60_000, 540_999, line);
        check(0, 1_000, "⏳ A question has waited 0 s for your answer; it is denied in 1 s");
    }
}
