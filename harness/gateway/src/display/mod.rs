//! Describes a tool call to a person: `📖 Read: from /etc/hosts` ([V2](crate::rules::V2)).
//!
//! [`title`] is the whole line. A channel with a layout of its own takes the parts: [`label`],
//! [`detail`] and, where the client draws the icon, [`kind`]. The line has all the arguments that
//! have come, and leaves out those that are missing because the input still streams. Pass such an
//! input as [`sanitise`](crate::sanitise) leaves it: half a secret looks like none.
//!
//! The titles of tools and the arguments that are worth a word are data: `tools.toml`, read by
//! `tools`. `shell` turns a shell command into words, with a table of its own; the phrases of both
//! tables are `template`s.

pub(crate) mod shell;
mod template;
mod tools;

use serde_json::Value;

use crate::excerpt::{clip, counted, first_line, plain};
use crate::sanitise::sanitise_args;
use tools::{FieldSlot, TABLE, ToolName, ValueForm};

pub use tools::ToolCategory;

/// Characters of a whole line, and of a detail.
const LINE_LIMIT: usize = 200;
/// A tool of an MCP server.
const MCP: &str = "🔌";
/// A tool that is not in the table.
const UNKNOWN: &str = "🧩";

/// The name of a tool in a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// One emoji.
    pub emoji: &'static str,
    /// The name, the same in whatever case the call writes it (openclaw#116350).
    pub title: String,
}

/// The line for a call of the tool `name` with `args`, without markup, of at most 200 characters
/// ([V2](crate::rules::V2)). It is redacted, however whole `args` are ([B2](crate::rules::B2)).
#[must_use]
pub fn title(name: &str, args: &Value) -> String {
    let name = ToolName::from(name);
    let Label { emoji, title } = label_of(&name);
    let line = match (detail_of(&name, args), &name) {
        (Some(detail), ToolName::Mcp { .. }) => format!("{emoji} {title} ({detail})"),
        (Some(detail), _) => format!("{emoji} {title}: {detail}"),
        (None, _) => format!("{emoji} {title}"),
    };
    clip(&plain(&line), LINE_LIMIT)
}

/// Returns the name of the tool `name` in a chat ([V2](crate::rules::V2)): `📖` and `Read`.
#[must_use]
pub fn label(name: &str) -> Label {
    label_of(&ToolName::from(name))
}

/// Returns the subject of a call of the tool `name` with `args` ([V2](crate::rules::V2)):
/// `from /etc/hosts`, redacted ([B2](crate::rules::B2)) and of at most 200 characters. `None` if no
/// argument is worth a word.
#[must_use]
pub fn detail(name: &str, args: &Value) -> Option<String> {
    detail_of(&ToolName::from(name), args).map(|detail| clip(&plain(&detail), LINE_LIMIT))
}

/// Returns the category of the tool `name` ([A1](crate::rules::A1)). Tools of MCP servers, and
/// tools without an entry, are [`Other`](ToolCategory::Other).
#[must_use]
pub fn kind(name: &str) -> ToolCategory {
    match ToolName::from(name) {
        ToolName::Known(_, tool) => tool.kind,
        ToolName::Mcp { .. } | ToolName::Unknown(_) => ToolCategory::Other,
    }
}

fn label_of(name: &ToolName<'_>) -> Label {
    match name {
        ToolName::Known(_, tool) => Label { emoji: &tool.emoji, title: tool.title.clone() },
        ToolName::Mcp { server, tool } => {
            Label { emoji: MCP, title: plain(&format!("{server}: {tool}")) }
        }
        ToolName::Unknown(name) => Label { emoji: UNKNOWN, title: plain(&words_of(name)) },
    }
}

/// `Create Goal` for `create_goal`; letters that are large already stay so. A call without a name is
/// one of a `Tool`.
fn words_of(name: &str) -> String {
    let words = name.split(|c: char| c == '_' || c.is_whitespace()).filter(|word| !word.is_empty());
    let words: Vec<String> = words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters).collect()
        })
        .collect();
    if words.is_empty() { "Tool".to_owned() } else { words.join(" ") }
}

/// Characters of one value.
const VALUE_LIMIT: usize = 160;
/// Values of a list, and files of a patch.
const LIST_LIMIT: usize = 3;
/// Values of a tool that is not in the table.
const GENERIC_LIMIT: usize = 8;

/// The words for a call with `args`, redacted; `None` if no argument is worth a word.
fn detail_of(name: &ToolName<'_>, args: &Value) -> Option<String> {
    let ToolName::Known(name, tool) = name else {
        return generic(args);
    };
    let fill =
        |slot: &FieldSlot| slot.keys.iter().find_map(|key| say(&slot.form, at(args, key)?, args));
    (args.get("action").and_then(Value::as_str))
        .and_then(|action| TABLE.action(name, action)?.say(fill))
        .or_else(|| tool.say.as_ref()?.say(fill))
}

/// The value at `key`, whose parts are fields and numbers in a list.
fn at<'a>(args: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(args, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => value.get(part),
    })
}

fn say(form: &ValueForm, value: &Value, args: &Value) -> Option<String> {
    match form {
        ValueForm::Words => words(value),
        ValueForm::Quoted => join(value, |text| format!("\"{text}\"")),
        ValueForm::Verb => words(value).map(|text| text.replace(['_', '-'], " ")),
        ValueForm::Chars => Some(counted(value.as_str()?.chars().count(), "char")),
        ValueForm::Count(one) => Some(counted(value.as_array()?.len(), one)),
        ValueForm::Lines => words(value).map(|path| lines(&path, args)),
        ValueForm::Command => match value {
            Value::String(command) => Some(shell::explain(command)).filter(|said| !said.is_empty()),
            _ => words(value),
        },
        ValueForm::Progress => progress(value.as_array()?),
        ValueForm::Patch => patch(value.as_str()?),
    }
}

/// The arguments that are worth showing of a tool that is not in the table.
fn generic(args: &Value) -> Option<String> {
    let found: Vec<(&String, String)> = (TABLE.generic_keys.iter())
        .filter_map(|key| Some((key, words(args.get(key)?)?)))
        .take(GENERIC_LIMIT)
        .collect();
    match found.as_slice() {
        [] => None,
        [(_, value)] => Some(value.clone()),
        _ => {
            let pairs: Vec<String> = found.iter().map(|(key, v)| format!("{key} {v}")).collect();
            Some(pairs.join(", "))
        }
    }
}

/// A value as words: the first line of a text, a number, the first three of a list.
fn words(value: &Value) -> Option<String> {
    join(value, |text| text)
}

fn join(value: &Value, form: fn(String) -> String) -> Option<String> {
    match value {
        Value::String(text) => first_line(text, VALUE_LIMIT).map(form),
        Value::Bool(true) => Some("true".to_owned()),
        Value::Number(number) if number.as_f64() != Some(0.0) => Some(number.to_string()),
        Value::Array(_) => {
            // A word of a list may be secret because of the word before it.
            let Value::Array(items) = sanitise_args(value) else {
                return None;
            };
            let mut parts = items.iter().filter_map(|item| join(item, form));
            let mut told: Vec<String> = parts.by_ref().take(LIST_LIMIT).collect();
            told.extend(parts.next().map(|_| "…".to_owned()));
            (!told.is_empty()).then(|| clip(&told.join(", "), VALUE_LIMIT))
        }
        _ => None,
    }
}

fn lines(path: &str, args: &Value) -> String {
    let number = |key: &str| args.get(key).and_then(Value::as_u64).filter(|number| *number > 0);
    match (number("offset"), number("limit")) {
        (Some(offset), Some(1)) => format!("line {offset} from {path}"),
        (Some(offset), Some(limit)) => {
            let last = offset.saturating_add(limit).saturating_sub(1);
            format!("lines {offset}-{last} from {path}")
        }
        (Some(offset), None) => format!("from line {offset} in {path}"),
        (None, Some(1)) => format!("first line of {path}"),
        (None, Some(limit)) => format!("first {limit} lines of {path}"),
        (None, None) => format!("from {path}"),
    }
}

/// The progress of the steps of a plan, and the step under way.
fn progress(steps: &[Value]) -> Option<String> {
    let with = |status: &'static str| {
        (steps.iter())
            .filter(move |step| step.get("status").and_then(Value::as_str) == Some(status))
    };
    let doing = with("in_progress")
        .find_map(|step| ["activeForm", "content"].iter().find_map(|key| words(step.get(key)?)));
    let done = format!("{} of {} done", with("completed").count(), steps.len());
    match doing {
        _ if steps.is_empty() => None,
        Some(doing) => Some(format!("{done}, doing: {doing}")),
        None => Some(done),
    }
}

/// The files that a patch changes, without their changes.
fn patch(text: &str) -> Option<String> {
    const HEADS: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let files: Vec<Value> = (text.lines())
        .filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)))
        .map(Value::from)
        .collect();
    words(&Value::Array(files))
}

#[cfg(test)]
mod tests;
