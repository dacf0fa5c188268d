//! The table `[[record.say]]`: the lines that the host writes to the CLI's stdin, step by step.
//!
//! ```toml
//! [[record.say]]
//! message = "Make a file."                      # at the start
//!
//! [[record.say]]
//! answer = { behavior = "allow" }
//! when = { asked = "Bash" }
//! delay_ms = 300
//! ```
//!
//! The steps fire in the order of the file: a step waits for its own trigger and for the steps before it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

/// One step: an action, and the moment at which it takes place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "SayFile")]
pub struct SayStep {
    /// The line to write.
    pub action: SayAction,
    /// The output of the CLI that must come before; a step without it waits only for the steps before it.
    pub when: Option<SayTrigger>,
    /// The milliseconds from then on.
    pub delay_ms: u64,
}

/// The line that a step writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SayAction {
    /// A message of a person.
    Message {
        /// A text, or the API's content blocks.
        content: Value,
        /// True if the message has a uuid; the host decides if absent.
        uuid: Option<bool>,
    },
    /// A request to stop the turn.
    Interrupt,
    /// The answer to the permission question that the trigger names.
    Answer(SayAnswer),
    /// The answer to the `AskUserQuestion` that the trigger names: a label, or several, for each question.
    Choose(BTreeMap<String, ChosenLabels>),
    /// The first line of many hosts.
    Initialize(SayInitialize),
    /// A line of these bytes and an LF.
    Raw(String),
    /// The end of stdin.
    Close,
}

impl SayAction {
    /// Returns the key of `[[record.say]]` for this action.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Message { content: Value::String(_), .. } => "message",
            Self::Message { .. } => "blocks",
            Self::Interrupt => "interrupt",
            Self::Answer(_) => "answer",
            Self::Choose(_) => "choose",
            Self::Initialize(_) => "initialize",
            Self::Raw(_) => "raw",
            Self::Close => "close",
        }
    }
}

/// The answer to a permission question: `answer`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SayAnswer {
    /// The decision: yes or no.
    pub behavior: SayBehavior,
    /// The input with which the tool is to run; that of the question if absent.
    #[serde(default)]
    pub input: Option<Map<String, Value>>,
    /// The reason of a no.
    #[serde(default)]
    pub message: Option<String>,
    /// The number, from 1, of the suggestion of the question that a yes accepts for the future.
    #[serde(default)]
    pub suggestion: Option<u64>,
}

/// The decision on a permission question: `answer.behavior`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SayBehavior {
    /// The tool may run.
    Allow,
    /// The tool may not run, and the turn continues.
    Deny,
    /// The tool may not run, and the turn ends.
    DenyAndInterrupt,
}

/// One label, or several for a question that accepts several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a label, or a list of labels")]
pub enum ChosenLabels {
    /// One label.
    One(String),
    /// Several labels, which the answer joins with commas.
    Several(Vec<String>),
}

/// The request with which many hosts begin: `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SayInitialize {
    /// The events of the hooks that the host registers.
    pub hooks: Vec<String>,
    /// A text after the system prompt.
    pub append_system_prompt: Option<String>,
}

/// The output of the CLI that must come before a step.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "TriggerFile")]
pub enum SayTrigger {
    /// The n-th `result` record.
    Result(u64),
    /// The n-th `control_response` to a request of the host.
    Response(u64),
    /// A permission question about this tool.
    Asked(NamedTool),
    /// The start of a call of this tool, with complete arguments.
    Tool(NamedTool),
    /// This text of the model, on any thread.
    Text(String),
}

/// A tool, and the number of its question or call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTool {
    /// The name of the tool.
    pub name: String,
    /// The number of the question or call, from 1; if absent, the first that no earlier step has waited for.
    pub number: Option<u64>,
}

impl fmt::Display for SayTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = |f: &mut fmt::Formatter<'_>, key, tool: &NamedTool| match tool.number {
            Some(number) => write!(f, "{{ {key} = {:?}, number = {number} }}", tool.name),
            None => write!(f, "{{ {key} = {:?} }}", tool.name),
        };
        match self {
            Self::Result(n) => write!(f, "{{ result = {n} }}"),
            Self::Response(n) => write!(f, "{{ response = {n} }}"),
            Self::Asked(named) => tool(f, "asked", named),
            Self::Tool(named) => tool(f, "tool", named),
            Self::Text(text) => write!(f, "{{ text = {text:?} }}"),
        }
    }
}

/// The keys of `when`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerFile {
    /// The number of a `result` record, from 1.
    result: Option<u64>,
    /// The number of a `control_response` to a request of the host, from 1.
    response: Option<u64>,
    /// The tool that a permission question is about.
    asked: Option<String>,
    /// The tool of a call that starts with complete arguments.
    tool: Option<String>,
    /// A text of the model, on any thread.
    text: Option<String>,
    /// The number of the question or call, from 1; if absent, the first that no earlier step has waited for.
    number: Option<u64>,
}

impl TryFrom<TriggerFile> for SayTrigger {
    type Error = String;

    fn try_from(file: TriggerFile) -> Result<Self, String> {
        let number = file.number;
        let named = |name| NamedTool { name, number };
        let triggers = [
            ("result", file.result.map(Self::Result)),
            ("response", file.response.map(Self::Response)),
            ("asked", file.asked.map(|name| Self::Asked(named(name)))),
            ("tool", file.tool.map(|name| Self::Tool(named(name)))),
            ("text", file.text.map(Self::Text)),
        ];
        let trigger = only_one("`when`", triggers)?;
        match &trigger {
            Self::Text(text) if text.is_empty() => {
                Err("`text` is empty; write the text that the step waits for".into())
            }
            Self::Asked(_) | Self::Tool(_) => Ok(trigger),
            _ if number.is_some() => {
                Err("`number` says which question or call is meant; write it beside `asked` or \
                     `tool`"
                    .into())
            }
            _ => Ok(trigger),
        }
    }
}

/// The keys of a step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SayFile {
    /// A message of a person.
    message: Option<String>,
    /// A message as the API's content blocks.
    blocks: Option<Vec<Value>>,
    /// True if the message has a uuid; the host decides if absent.
    uuid: Option<bool>,
    /// True for a request to stop the turn.
    interrupt: Option<bool>,
    /// The answer to the permission question that `when` names.
    answer: Option<SayAnswer>,
    /// The answer to the `AskUserQuestion` that `when` names: a label, or several, for each question.
    choose: Option<BTreeMap<String, ChosenLabels>>,
    /// The first line of many hosts.
    initialize: Option<SayInitialize>,
    /// A line of these bytes and a line feed.
    raw: Option<String>,
    /// True for the end of stdin.
    close: Option<bool>,
    /// The output of the CLI that must come before; a step without it waits only for the steps before it.
    when: Option<SayTrigger>,
    /// The milliseconds from then on; 0 by default.
    #[serde(default)]
    delay_ms: u64,
}

impl TryFrom<SayFile> for SayStep {
    type Error = String;

    fn try_from(file: SayFile) -> Result<Self, String> {
        let uuid = file.uuid;
        let message = |content| SayAction::Message { content, uuid };
        let blocks = file.blocks.map(|blocks| blocks.iter().map(type_first).collect());
        let actions = [
            ("message", file.message.map(|text| message(Value::from(text)))),
            ("blocks", blocks.map(message)),
            ("interrupt", switched("interrupt", file.interrupt)?.map(|()| SayAction::Interrupt)),
            ("answer", file.answer.map(SayAction::Answer)),
            ("choose", file.choose.map(SayAction::Choose)),
            ("initialize", file.initialize.map(SayAction::Initialize)),
            ("raw", file.raw.map(SayAction::Raw)),
            ("close", switched("close", file.close)?.map(|()| SayAction::Close)),
        ];
        let action = only_one("a step of `[[record.say]]`", actions)?;
        let step = Self { action, when: file.when, delay_ms: file.delay_ms };
        match step.complaint(uuid) {
            None => Ok(step),
            Some(what) => Err(what.into()),
        }
    }
}

impl SayStep {
    /// Returns the numbers of the step, each with the key of its range.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let named = |tool: &NamedTool| ("record.say.when.number", tool.number.unwrap_or(1));
        let trigger = self.when.as_ref().and_then(|when| match when {
            SayTrigger::Result(n) => Some(("record.say.when.result", *n)),
            SayTrigger::Response(n) => Some(("record.say.when.response", *n)),
            SayTrigger::Asked(tool) | SayTrigger::Tool(tool) => Some(named(tool)),
            SayTrigger::Text(_) => None,
        });
        let suggestion = match &self.action {
            SayAction::Answer(answer) => answer.suggestion,
            _ => None,
        };
        let suggestion = suggestion.map(|n| ("record.say.answer.suggestion", n));
        let delay = ("record.say.delay_ms", self.delay_ms);
        std::iter::once(delay).chain(trigger).chain(suggestion)
    }

    /// Returns a sentence about keys of a step that contradict each other.
    fn complaint(&self, uuid: Option<bool>) -> Option<&'static str> {
        let is_asked = matches!(self.when, Some(SayTrigger::Asked(_)));
        match &self.action {
            SayAction::Message { .. } => None,
            _ if uuid.is_some() => Some("only a message has a `uuid`; remove it"),
            SayAction::Answer(_) | SayAction::Choose(_) if !is_asked => {
                Some("an answer needs the question; write `when = { asked = \"TOOL\" }`")
            }
            SayAction::Answer(answer) => answer.complaint(),
            SayAction::Raw(line) if line.contains('\n') => {
                Some("`raw` is one line; write a step for each line")
            }
            _ => None,
        }
    }
}

impl SayAnswer {
    fn complaint(&self) -> Option<&'static str> {
        let Self { behavior, input, message, suggestion } = self;
        match behavior {
            SayBehavior::Allow if message.is_some() => {
                Some("`message` is the reason of a no; remove it, or write `behavior = \"deny\"`")
            }
            SayBehavior::Deny | SayBehavior::DenyAndInterrupt
                if input.is_some() || suggestion.is_some() =>
            {
                Some(
                    "`input` and `suggestion` belong to a yes; remove them, or write `behavior = \
                     \"allow\"`",
                )
            }
            _ => None,
        }
    }
}

/// Returns the only entry that is set, or a sentence with the possible keys.
fn only_one<T, const N: usize>(
    place: &str,
    entries: [(&'static str, Option<T>); N],
) -> Result<T, String> {
    let keys: Vec<_> = entries.iter().map(|(key, _)| format!("`{key}`")).collect();
    let mut found = entries.into_iter().filter_map(|(key, entry)| Some((key, entry?)));
    match (found.next(), found.next()) {
        (Some((_, entry)), None) => Ok(entry),
        (None, _) => Err(format!("{place} has none of {}; write one of them", keys.join(", "))),
        (Some((first, _)), Some((second, _))) => {
            Err(format!("{place} has both `{first}` and `{second}`; write one of them"))
        }
    }
}

/// A key that is `true` or absent.
fn switched(key: &str, value: Option<bool>) -> Result<Option<()>, String> {
    match value {
        Some(false) => Err(format!("`{key} = false` does nothing; remove it")),
        Some(true) => Ok(Some(())),
        None => Ok(None),
    }
}

/// Returns the value with `type` as the first key of each object, as the API writes it, because TOML does not keep the
/// order of keys.
fn type_first(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(type_first).collect(),
        Value::Object(table) => {
            let (first, rest): (Vec<_>, Vec<_>) = table.iter().partition(|(key, _)| *key == "type");
            let members = first.into_iter().chain(rest);
            members.map(|(key, value)| (key.clone(), type_first(value))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
