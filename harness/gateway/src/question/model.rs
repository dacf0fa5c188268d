//! A question as the bus has it, its outcome, and one short label for each change of permissions that
//! the CLI suggests.

use std::time::Duration;

use clitape_stream::{Decision, Event};
use serde_json::{Map, Value};

use crate::display;
use crate::excerpt::{short, short_by_words};
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

/// Characters of a label. With the mark before it, it fits on a button whole, because its last words say how far
/// the change goes.
const LABEL_LIMIT: usize = 58;

/// Where a change counts: the CLI's `destination` and the words for it.
const PLACES: [(&str, &str); 4] = [
    ("session", " in this session"),
    ("localSettings", " here"),
    ("projectSettings", " in this project"),
    ("userSettings", " everywhere"),
];

/// The effect of a rule: its `behavior` and the words before the rule.
const BEHAVIOURS: [(&str, &str); 3] =
    [("allow", "Always allow"), ("deny", "Never allow"), ("ask", "Always ask for")];

/// The word for a rule or a path that the CLI does not name.
const UNNAMED: &str = "this";

/// The modes that `setMode` sets.
const MODES: [(&str, &str); 5] = [
    ("acceptEdits", "Accept all edits"),
    ("plan", "Plan only"),
    ("default", "Ask each time"),
    ("bypassPermissions", "Allow everything"),
    ("dontAsk", "Deny what is not allowed, without asking"),
];

/// Returns the label of a suggestion, such as "Always allow `touch made` here". Where it is too long, the rule
/// or the path is cut, and the words around it stay.
fn label(suggestion: &Value) -> String {
    labelled(suggestion, LABEL_LIMIT)
}

/// Returns everything that a suggestion changes, one rule or path a line, where its label has no room for it: a person
/// would allow it unseen. None too for the rule of the `command` that is asked about, which is shown anyway.
fn in_full(suggestion: &Value, command: Option<&str>) -> Option<String> {
    let items = ["rules", "directories"].iter().find_map(|key| suggestion[*key].as_array());
    let items = items.map(Vec::as_slice).unwrap_or_default();
    let whole = labelled(suggestion, usize::MAX);
    let is_asked = |item: &Value| {
        command.is_some() && item["ruleContent"].as_str().map(str::trim) == command.map(str::trim)
    };
    match items {
        [item] if is_asked(item) => return None,
        [] | [_] if whole == label(suggestion) => return None,
        [] => return Some(whole),
        _ => {}
    }
    let line = |item: &Value| match (item.as_str(), item["ruleContent"].as_str()) {
        (Some(path), _) => redact_text(path).into_owned(),
        (None, content) => {
            let name = item["toolName"].as_str().unwrap_or(UNNAMED);
            let content = content.filter(|content| !content.is_empty());
            let content = content.map(|content| format!("({})", redact_text(content)));
            format!("{name}{}", content.unwrap_or_default())
        }
    };
    Some(items.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The words for a suggestion, of at most `limit` characters.
fn labelled(suggestion: &Value, limit: usize) -> String {
    let fitted = |before: &str, name: &str, after: &str| fitted(before, name, after, limit);
    let field = |key: &str| suggestion[key].as_str().unwrap_or_default();
    let place = word(&PLACES, field("destination")).unwrap_or_default();
    match field("type") {
        "addRules" => {
            let verb = word(&BEHAVIOURS, field("behavior")).unwrap_or("Change the rule for");
            let (rule, more) = first_of(&suggestion["rules"]);
            let after = format!("{more}{place}");
            match rule["ruleContent"].as_str().filter(|content| !content.is_empty()) {
                Some(content) => fitted(&format!("{verb} `"), content, &format!("`{after}")),
                None => {
                    let name = rule["toolName"].as_str().unwrap_or(UNNAMED);
                    fitted(&format!("{verb} "), name, &after)
                }
            }
        }
        "addDirectories" => {
            let (path, more) = first_of(&suggestion["directories"]);
            let path = path.as_str().unwrap_or(UNNAMED);
            fitted("Allow access to ", path, &format!("{more}{place}"))
        }
        "setMode" => match word(&MODES, field("mode")) {
            Some(words) => format!("{words}{place}"),
            None => fitted("Switch to the mode ", field("mode"), place),
        },
        "" => format!("Change the permissions{place}"),
        other => fitted("Change the permissions (", other, &format!("){place}")),
    }
}

/// `name` between `before` and `after`, cut so that the whole fits into `limit`.
fn fitted(before: &str, name: &str, after: &str, limit: usize) -> String {
    let around = before.chars().count() + after.chars().count();
    // The mark of the cut counts too.
    let name = short_by_words(name, limit.saturating_sub(around + 1));
    format!("{before}{name}{after}")
}

fn word(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| *name == key).map(|(_, words)| *words)
}

/// The first of `all`, and words for how many more there are.
fn first_of(all: &Value) -> (&Value, String) {
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    let more = match all.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    (all.first().unwrap_or(&Value::Null), more)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    fn check(suggestion: &Value, expect: &str) {
        assert_eq!(label(suggestion), expect, "{suggestion}");
    }

    #[test]
    pub(crate) fn q1_every_suggestion_has_a_short_label() {
        let rules = |rules: Value| {
            json!({"type": "addRules", "behavior": "allow", "rules": rules,
            "destination": "localSettings"})
        };
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": "touch made"}])),
            "Always allow `touch made` here",
        );
        check(&rules(json!([{"toolName": "Read"}, {}])), "Always allow Read and 1 more here");
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": "TOKEN=abcdefgh\nls"}])),
            "Always allow `TOKEN=*** ls` here",
        );
        check(
            &json!({"type": "addDirectories", "directories": ["/a"], "destination": "session"}),
            "Allow access to /a in this session",
        );
        check(
            &json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}),
            "Accept all edits in this session",
        );
        // What is long is cut, and what follows it stays.
        let long = "touch /clitape/project/made.txt && ls /clitape/project";
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": long}])),
            "Always allow `touch /clitape/project/made.txt && ls…` here",
        );
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": long}, {}, {}])),
            "Always allow `touch /clitape/project…` and 2 more here",
        );
        check(
            &json!({"type": "addDirectories", "directories": ["/a/".repeat(40)],
            "destination": "projectSettings"}),
            &format!("Allow access to {}… in this project", "/a/".repeat(8)),
        );
        check(&json!({"type": "setMode", "mode": "new"}), "Switch to the mode new");
        check(&json!({"type": "removeRules"}), "Change the permissions (removeRules)");
        check(&Value::Null, "Change the permissions");
    }

    #[test]
    pub(crate) fn q1_what_a_label_has_no_room_for_is_said_in_full() {
        let check = |suggestion: Value, expect: Option<&str>| {
            assert_eq!(in_full(&suggestion, Some("make a")).as_deref(), expect, "{suggestion}");
        };
        let rule = |content: &str| json!({"toolName": "Bash", "ruleContent": content});
        let rules = |rules: &[Value]| {
            json!({"type": "addRules", "behavior": "allow", "rules": rules,
            "destination": "session"})
        };
        let long = "touch /clitape/project/made.txt && ls /clitape/project";
        check(rules(&[rule("make b")]), None);
        check(rules(&[rule(long)]), Some(&format!("Bash({long})")));
        let lines = "Bash(make a)\nBash(TOKEN=*** make)\nRead";
        let secret = rule("TOKEN=abcdefgh make");
        check(rules(&[rule("make a"), secret, json!({"toolName": "Read"})]), Some(lines));
        let folders = |all: &[&str]| json!({"type": "addDirectories", "directories": all});
        check(folders(&["/a"]), None);
        check(folders(&["/a", "/b"]), Some("/a\n/b"));
        check(json!({"type": "setMode", "mode": "acceptEdits"}), None);
        let mode = format!("Switch to the mode {}", "m".repeat(90));
        check(json!({"type": "setMode", "mode": "m".repeat(90)}), Some(&mode));
        // The rule of a long command says no more than the command.
        assert_eq!(in_full(&rules(&[rule(long)]), Some(long)), None);
    }
}
