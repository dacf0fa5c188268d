//! Content blocks while they stream, and how a tool block's input becomes arguments (U1).

use serde_json::{Map, Value};

use crate::event::{Args, ToolKind};
use crate::json::{Field, Joint};
use crate::track::Flow;
use crate::value;

/// The key under which the CLI (2.1.200 and later) wraps input it could not parse.
const UNPARSED: &str = "__unparsedToolInput";

/// A block that has started and is not settled.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) index: u64,
    pub(crate) kind: Kind,
}

/// What a block holds.
#[derive(Debug)]
pub(crate) enum Kind {
    Text(Flow),
    Thinking(Flow),
    Tool(Input),
    /// Nothing of its deltas is told: results, redacted reasoning, calls without an id.
    Quiet,
    /// Of an unknown type, as its deltas are.
    Unknown,
}

/// The tool kind a block type stands for.
pub(crate) fn tool_kind(block_type: &str) -> Option<ToolKind> {
    [ToolKind::ToolUse, ToolKind::ServerToolUse, ToolKind::McpToolUse]
        .into_iter()
        .find(|kind| kind.as_str() == block_type)
}

/// A tool block: what is known of its input.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: ToolKind,
    /// The block has stopped; its deltas were no JSON, and a snapshot may still repair them.
    pub(crate) stopped: bool,
    /// A snapshot said `{}` while there were deltas.
    pub(crate) hollow: bool,
    /// Input that the start of the block carried.
    own: Option<Given>,
    deltas: String,
    joint: Joint,
}

/// Arguments as they were given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    Whole(Value),
    Cut(String),
}

impl Given {
    /// Reads a block's `input`. Old CLIs print that of server tools as a string of JSON.
    pub(crate) fn read(input: Field<'_>) -> Self {
        match input.map(value::value) {
            None => Self::empty(),
            Some(value) => Self::from(value),
        }
    }

    fn from(value: Value) -> Self {
        let unparsed = value.get(UNPARSED).and_then(|wrapped| wrapped.get("raw"));
        if let Some(raw) = unparsed.and_then(Value::as_str) {
            return Self::Cut(raw.to_owned());
        }
        match value {
            Value::String(text) => Self::parse(text),
            value => Self::Whole(value),
        }
    }

    fn parse(text: String) -> Self {
        if text.trim().is_empty() {
            return Self::empty();
        }
        match value::lenient_value(&text) {
            Ok(Value::String(_)) | Err(_) => Self::Cut(text),
            Ok(value) => Self::Whole(value),
        }
    }

    fn empty() -> Self {
        Self::Whole(Value::Object(Map::new()))
    }

    /// Whether this is `{}`.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Whole(Value::Object(map)) if map.is_empty())
    }

    /// As the event prints it.
    pub(crate) fn args(&self) -> Args<'_> {
        match self {
            Self::Whole(value) => Args::Complete(value),
            Self::Cut(raw) => Args::Truncated(raw),
        }
    }
}

impl Input {
    pub(crate) fn new(id: &str, name: &str, kind: ToolKind, own: Field<'_>) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
            stopped: false,
            hollow: false,
            own: Some(Given::read(own)).filter(|own| !own.is_empty()),
            deltas: String::new(),
            joint: Joint::default(),
        }
    }

    /// Takes the next piece of the JSON text.
    pub(crate) fn append(&mut self, escaped: &str) {
        self.joint.append(escaped, &mut self.deltas);
    }

    /// Whether the deltas say anything.
    pub(crate) fn has_deltas(&self) -> bool {
        !self.deltas.trim().is_empty()
    }

    /// The arguments as the stream alone gives them. A block that never stopped and never got
    /// input was cut off, so it does not count as `{}`.
    pub(crate) fn streamed(&mut self) -> Given {
        self.joint.close(&mut self.deltas);
        if self.has_deltas() {
            Given::parse(self.deltas.clone())
        } else if let Some(own) = &self.own {
            own.clone()
        } else if self.stopped {
            Given::empty()
        } else {
            Given::Cut(String::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: &str, deltas: &[&str], stopped: bool, expect: &str) {
        let own = serde_json::from_str(own).unwrap();
        let mut input = Input::new("t", "Bash", ToolKind::ToolUse, Some(own));
        deltas.iter().for_each(|delta| input.append(delta));
        input.stopped = stopped;
        let printed = match input.streamed() {
            Given::Whole(value) => value.to_string(),
            Given::Cut(raw) => format!("cut {raw}"),
        };
        assert_eq!(printed, expect, "{deltas:?}");
    }

    #[test]
    fn u1_arguments_from_the_stream() {
        check("{}", &[r#"{\"a\":"#, "1}"], true, r#"{"a":1}"#);
        check("{}", &[r#"{\"a\":"#], true, r#"cut {"a":"#);
        check("{}", &[r#"{\"a\":\"\ud83d"#], true, "cut {\"a\":\"\u{fffd}");
        check("{}", &["", " "], true, "{}");
        check("{}", &[], false, "cut ");
        check(r#"{"q":1}"#, &[], true, r#"{"q":1}"#);
        check(r#"{"q":1}"#, &[r#"{\"q\":2}"#], true, r#"{"q":2}"#);
        check(r#""{\"q\":1}""#, &[], true, r#"{"q":1}"#);
        check(r#""{\"q\":""#, &[], true, r#"cut {"q":"#);
        check(r#"{"__unparsedToolInput":{"raw":"{\"q","len":3}}"#, &[], true, r#"cut {"q"#);
        check("{}", &[r#"{\"a\":\"\ud83d"#, r#"\ude00\"}"#], true, r#"{"a":"😀"}"#);
    }
}
