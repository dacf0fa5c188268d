//! Content blocks while they stream, and how a tool block's input becomes arguments (U1).

use std::borrow::Cow;

use serde_json::Value;

use crate::event::{Event, ToolKind};
use crate::fields::Fields;
use crate::json::{self, Escaped, Field, Joint};
use crate::partial::Partial;
use crate::payload::{Args, Json};
use crate::tell::Tell;
use crate::track::Flow;

/// The key under which the CLI (2.1.200 and later) wraps input it could not parse.
const UNPARSED: &str = "__unparsedToolInput";

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

/// Arguments as they were given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given<'a> {
    Whole(Json<'a>),
    Cut(Cow<'a, str>),
}

impl<'a> Given<'a> {
    /// Reads a block's `input`. Old CLIs print that of server tools as a string of JSON.
    pub(crate) fn read(input: Field<'a>) -> Self {
        let Some(input) = input else { return Self::Whole(Json::EMPTY) };
        let inside = input.get().trim_start_matches(['{', '"', ' ']);
        if inside.starts_with(UNPARSED) {
            let [wrapped] = json::inner(Some(input), &[UNPARSED]);
            let [raw] = json::inner(wrapped, &["raw"]);
            if let Some(raw) = json::string(raw) {
                return Self::Cut(raw);
            }
        }
        match json::string(Some(input)) {
            Some(Cow::Borrowed(text)) => Self::parse(text),
            Some(Cow::Owned(text)) => Given::parse(&text).into_owned(),
            None => Self::Whole(input.into()),
        }
    }

    fn parse(text: &'a str) -> Self {
        if text.trim().is_empty() {
            return Self::Whole(Json::EMPTY);
        }
        match json::whole(text) {
            Ok(raw) if !raw.get().starts_with('"') => Self::Whole(raw.into()),
            _ => Self::Cut(text.into()),
        }
    }

    /// Whether this is `{}`.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Whole(json) if is_hollow(json.get()))
    }

    pub(crate) fn into_owned(self) -> Given<'static> {
        match self {
            Self::Whole(json) => Given::Whole(json.into_owned()),
            Self::Cut(raw) => Given::Cut(Cow::Owned(raw.into_owned())),
        }
    }

    /// As the event prints it.
    pub(crate) fn args(&self) -> Args<'_> {
        match self {
            Self::Whole(json) => Args::Complete(json.by_ref()),
            Self::Cut(raw) => Args::Truncated(Cow::Borrowed(raw)),
        }
    }

    /// The top-level fields that `other`, which came later and counts, says otherwise than this,
    /// and a sentence about them; `None` where the two are the same.
    pub(crate) fn difference(&self, other: &Given<'_>) -> Option<(Fields<'static>, String)> {
        let (Self::Whole(ours), Given::Whole(theirs)) = (self, other) else { return None };
        if json::same_text(ours.get(), theirs.get()) || same_members(ours.get(), theirs.get()) {
            return None;
        }
        let (ours, theirs) = (ours.value(), theirs.value());
        let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else { return None };
        let left_out = ours.keys().filter(|key| !theirs.contains_key(*key));
        let left_out: Vec<_> = left_out.map(String::as_str).collect();
        let (mut added, mut changed) = (Vec::new(), Vec::new());
        for (key, value) in &theirs {
            match ours.get(key) {
                None => added.push(key.as_str()),
                Some(ours) if !same(ours, value) => changed.push(key.as_str()),
                Some(_) => {}
            }
        }
        let parts = [("adds", &added), ("changes", &changed), ("leaves out", &left_out)];
        let told = parts.iter().filter(|(_, names)| !names.is_empty());
        let told: Vec<_> =
            told.map(|(verb, names)| format!("it {verb} {}", names.join(", "))).collect();
        if told.is_empty() {
            return None;
        }
        let is_new = |key: &str| added.contains(&key) || changed.contains(&key);
        let mut new = Fields::new();
        for (key, value) in theirs.iter().filter(|(key, _)| is_new(key)) {
            new.add(key.clone(), value.into());
        }
        Some((new, told.join("; ")))
    }
}

/// Whether two objects have the same members, printed alike, in any order. Where one of a few
/// members comes twice, or there are many, it is not said.
fn same_members(a: &str, b: &str) -> bool {
    const FEW: usize = 16;
    let (Some(a), Some(b)) = (json::entries(a), json::entries(b)) else { return false };
    a.len() == b.len()
        && a.len() <= FEW
        && a.iter().enumerate().all(|(at, (key, ours))| {
            let mut same = b.iter().filter(|(name, _)| name == key);
            let is_first = a.iter().position(|(name, _)| name == key) == Some(at);
            is_first
                && same.next().is_some_and(|(_, theirs)| ours == theirs)
                && same.next().is_none()
        })
}

/// Whether two values are the same: `1.0` is `1`, as the CLI prints it again.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Whether JSON text is an object without fields.
fn is_hollow(text: &str) -> bool {
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inside.is_some_and(|inside| inside.trim().is_empty())
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

    fn check_difference(streamed: &str, snapshot: &str, expect: Option<(&str, &str)>) {
        let given = |text| Given::Whole(json::whole(text).unwrap().into());
        let told = given(streamed).difference(&given(snapshot));
        let told = told.map(|(new, what)| (Value::Object(new.to_map()).to_string(), what));
        assert_eq!(told, expect.map(|(new, what)| (new.to_owned(), what.to_owned())));
    }

    #[test]
    fn u1_what_a_snapshot_says_otherwise() {
        check_difference(r#"{"a": 1, "b":[2]}"#, r#"{"b":[2],"a":1}"#, None);
        check_difference(r#"{"a":{"n":[1.0,1e2,-0]}}"#, r#"{"a":{"n":[1,100,0]}}"#, None);
        for (ours, theirs) in
            [("[1]", "[1,2]"), ("{}", r#"{"c":1}"#), ("[1.5]", "[1]"), ("1", "true")]
        {
            let new = format!(r#"{{"a":{theirs}}}"#);
            let told = Some((new.as_str(), "it changes a"));
            check_difference(&format!(r#"{{"a":{ours}}}"#), &new, told);
        }
        check_difference(
            r#"{"a":1}"#,
            r#"{"a":1,"b":false}"#,
            Some((r#"{"b":false}"#, "it adds b")),
        );
        check_difference(
            r#"{"a":1,"b":2,"c":3}"#,
            r#"{"b":3,"a":1,"d":4,"e":5}"#,
            Some((r#"{"b":3,"d":4,"e":5}"#, "it adds d, e; it changes b; it leaves out c")),
        );
        check_difference(
            r#"{"a":"x y"}"#,
            r#"{"a":"xy"}"#,
            Some((r#"{"a":"xy"}"#, "it changes a")),
        );
        check_difference("[1]", r#"{"a":1}"#, None);
    }
}
