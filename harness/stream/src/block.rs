//! Content blocks while they stream, and what is known of a tool block's input (U1).

use std::borrow::Cow;

use crate::event::{Event, ToolKind};
use crate::given::Given;
use crate::json::{Escaped, Field, Joint};
use crate::partial::Partial;
use crate::payload::Json;
use crate::tell::Tell;
use crate::track::Flow;

/// Bytes of input there is room for before more must be asked for.
const ROOM: usize = 256;

/// A block that has started and is not settled.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) index: u64,
    pub(crate) kind: Kind,
    /// Its start was printed: a delta did not open it by itself.
    pub(crate) started: bool,
}

impl Block {
    /// Whether it is of this type.
    pub(crate) fn holds(&self, block_type: &str) -> bool {
        match &self.kind {
            Kind::Text(_) => block_type == "text",
            Kind::Thinking(_) => block_type == "thinking",
            Kind::Tool(input) => block_type == input.kind.as_str(),
            Kind::Quiet | Kind::Unknown => false,
        }
    }

    /// Whether its stop is still to come.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.started && !matches!(&self.kind, Kind::Tool(input) if input.stopped)
    }
}

/// What a block holds.
#[derive(Debug)]
pub(crate) enum Kind {
    Text(Flow),
    Thinking(Flow),
    Tool(Box<Input>),
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
    own: Option<Given<'static>>,
    deltas: String,
    joint: Joint,
    partial: Partial,
    /// Something of the input was told while it came.
    told: bool,
}

impl Input {
    pub(crate) fn new(id: &str, name: &str, kind: ToolKind, own: Field<'_>) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
            stopped: false,
            hollow: false,
            own: Some(Given::read(own).into_owned()).filter(|own| !own.is_empty()),
            deltas: String::with_capacity(ROOM),
            joint: Joint::default(),
            partial: Partial::default(),
            told: false,
        }
    }

    /// Takes the next piece of the JSON text; tells the fields that it makes new (U2). The piece
    /// that ends the object gives none: the call's start follows, and tells them all.
    pub(crate) fn append(&mut self, piece: Escaped<'_>, parent: Option<&str>, tell: &mut Tell<'_>) {
        self.joint.append(piece, &mut self.deltas);
        let new = self.partial.update(&self.deltas);
        let Some(args) = new.filter(|_| !self.partial.is_over()) else { return };
        self.told = true;
        let (id, name) = (self.id.as_str().into(), self.name.as_str().into());
        tell.event(Event::ToolInput { id, name, args, parent: parent.map(Into::into) });
    }

    /// Whether something of the input was told while it came.
    pub(crate) fn is_told(&self) -> bool {
        self.told
    }

    /// Whether the stream said anything of the input, so that `{}` can't be all of it (#113631).
    pub(crate) fn says_something(&self) -> bool {
        self.own.is_some() || self.has_deltas()
    }

    /// Whether the deltas are these arguments as they are printed.
    pub(crate) fn spells(&self, given: &Given<'_>) -> bool {
        matches!(given, Given::Whole(json) if json.get() == self.deltas)
    }

    /// Whether the deltas say anything.
    fn has_deltas(&self) -> bool {
        !self.deltas.trim().is_empty()
    }

    /// The block stops.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.close();
    }

    /// No more input comes: half a pair stays alone.
    pub(crate) fn close(&mut self) {
        self.joint.close(&mut self.deltas);
    }

    /// The arguments as the stream alone gives them. A block that never stopped and never got
    /// input was cut off, so it does not count as `{}`.
    pub(crate) fn streamed(&self) -> Given<'_> {
        if self.has_deltas() {
            Given::parse(&self.deltas)
        } else if let Some(own) = &self.own {
            own.clone()
        } else if self.stopped {
            Given::Whole(Json::EMPTY)
        } else {
            Given::Cut(Cow::Borrowed(""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn check(own: &str, deltas: &[&str], stopped: bool, expect: &str) {
        let mut input = Input::new("t", "Bash", ToolKind::ToolUse, json::whole(own).ok());
        for delta in deltas {
            input.joint.append(*delta, &mut input.deltas);
        }
        input.close();
        input.stopped = stopped;
        let printed = match input.streamed() {
            Given::Whole(json) => json.value().to_string(),
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
