//! The arguments of a call as the stream or a snapshot provides them, and the difference between
//! the two (U1).

use std::borrow::Cow;

use memchr::memmem;
use serde_json::Value;

use crate::json::{self, JsonField};
use crate::payload::{Fields, Json, ToolArguments};

/// Key under which the CLI (2.1.200 and later) wraps input that it could not parse.
const UNPARSED: &str = "__unparsedToolInput";

/// Arguments from one source: valid JSON, or text that never became valid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SourceArguments<'a> {
    Whole(Json<'a>),
    Cut(Cow<'a, str>),
}

impl<'a> SourceArguments<'a> {
    /// Reads the `input` of a block. Old CLIs print the input of server tools as a string of JSON.
    pub(crate) fn read(input: JsonField<'a>) -> Self {
        let Some(input) = input else { return Self::Whole(Json::EMPTY) };
        if memmem::find(input.get().as_bytes(), UNPARSED.as_bytes()).is_some() {
            let [wrapped] = json::inner(Some(input), &[UNPARSED]);
            let [raw] = json::inner(wrapped, &["raw"]);
            if let Some(raw) = json::string(raw) {
                return Self::Cut(raw);
            }
        }
        match json::string(Some(input)) {
            Some(Cow::Borrowed(text)) => Self::parse(text),
            Some(Cow::Owned(text)) => SourceArguments::parse(&text).into_owned(),
            None => Self::Whole(input.into()),
        }
    }

    /// Reads text that may be invalid JSON.
    pub(crate) fn parse(text: &'a str) -> Self {
        if text.trim().is_empty() {
            return Self::Whole(Json::EMPTY);
        }
        match json::whole(text) {
            Ok(raw) if !raw.get().starts_with('"') => Self::Whole(raw.into()),
            _ => Self::Cut(text.into()),
        }
    }

    /// Returns whether the arguments are `{}`.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Whole(json) if is_empty_object(json.get()))
    }

    pub(crate) fn into_owned(self) -> SourceArguments<'static> {
        match self {
            Self::Whole(json) => SourceArguments::Whole(json.into_owned()),
            Self::Cut(raw) => SourceArguments::Cut(Cow::Owned(raw.into_owned())),
        }
    }

    /// Returns the arguments in the form of the start event.
    pub(crate) fn args(&self) -> ToolArguments<'_> {
        match self {
            Self::Whole(json) => ToolArguments::Complete(json.by_ref()),
            Self::Cut(raw) => ToolArguments::Truncated(Cow::Borrowed(raw)),
        }
    }

    /// Returns whether the arguments are this input; the order of the fields does not matter.
    pub(crate) fn is_same(&self, input: &Json<'_>) -> bool {
        let Self::Whole(ours) = self else { return false };
        json::same_text(ours.get(), input.get())
            || same_members(ours.get(), input.get())
            || same_value(&ours.value(), &input.value())
    }

    /// Compares the arguments with `other`, which came later and wins. Returns the top-level fields
    /// that are new or changed, and a sentence about them; `None` if the two are equal.
    pub(crate) fn difference(
        &self,
        other: &SourceArguments<'_>,
    ) -> Option<(Fields<'static>, String)> {
        let (Self::Whole(ours), SourceArguments::Whole(theirs)) = (self, other) else {
            return None;
        };
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
                Some(ours) if !same_value(ours, value) => changed.push(key.as_str()),
                Some(_) => {}
            }
        }
        let parts = [("adds", &added), ("changes", &changed), ("leaves out", &left_out)];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let sentences: Vec<_> =
            parts.map(|(verb, names)| format!("it {verb} {}", names.join(", "))).collect();
        if sentences.is_empty() {
            return None;
        }
        let is_new = |key: &str| added.contains(&key) || changed.contains(&key);
        let mut new = Fields::new();
        for (key, value) in theirs.iter().filter(|(key, _)| is_new(key)) {
            new.add(key.clone(), value.into());
        }
        Some((new, sentences.join("; ")))
    }
}

/// Returns whether two objects have the same members, byte for byte, in any order. Returns false if
/// a key repeats or an object has more than 16 members.
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

/// Returns whether two values are equal. `1.0` equals `1`, because the CLI prints it so.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_value(a, b)))
        }
        _ => a == b,
    }
}

/// Returns whether JSON text is an object without fields.
fn is_empty_object(text: &str) -> bool {
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inside.is_some_and(|inside| inside.trim().is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn check_difference(streamed: &str, snapshot: &str, expect: Option<(&str, &str)>) {
        let arguments = |text| SourceArguments::Whole(json::whole(text).unwrap().into());
        let found = arguments(streamed).difference(&arguments(snapshot));
        let found = found.map(|(new, what)| (Value::Object(new.to_map()).to_string(), what));
        assert_eq!(found, expect.map(|(new, what)| (new.to_owned(), what.to_owned())));
    }

    #[test]
    pub(crate) fn u1_differences_between_snapshot_and_stream() {
        check_difference(r#"{"a": 1, "b":[2]}"#, r#"{"b":[2],"a":1}"#, None);
        check_difference(r#"{"a":{"n":[1.0,1e2,-0]}}"#, r#"{"a":{"n":[1,100,0]}}"#, None);
        for (ours, theirs) in
            [("[1]", "[1,2]"), ("{}", r#"{"c":1}"#), ("[1.5]", "[1]"), ("1", "true")]
        {
            let new = format!(r#"{{"a":{theirs}}}"#);
            let expect = Some((new.as_str(), "it changes a"));
            check_difference(&format!(r#"{{"a":{ours}}}"#), &new, expect);
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

    #[test]
    fn two_objects_have_the_same_members_byte_for_byte_or_not() {
        let check = |a: &str, b: &str, expect: bool| {
            assert_eq!(same_members(a, b), expect, "{a} {b}");
        };
        check("{}", "{}", true);
        check("[]", "[]", false);
        check("{}", "[]", false);
        check(r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, true);
        check(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":3}"#, false);
        check(r#"{"a":1,"b":2}"#, r#"{"a":1,"c":2}"#, false);
        check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false);
        check(r#"{"a":1,"b":2}"#, r#"{"a":1}"#, false);
        check(r#"{"a":1}"#, r#"{"a":1.0}"#, false);
        // A key that repeats.
        check(r#"{"a":1,"a":1}"#, r#"{"a":1,"a":1}"#, false);
        check(r#"{"a":1,"a":1}"#, r#"{"a":1,"b":1}"#, false);
        check(r#"{"a":1,"b":1}"#, r#"{"a":1,"a":1}"#, false);
        let many = |count: usize| {
            let members: Vec<_> = (0..count).map(|n| format!("\"k{n}\":{n}")).collect();
            format!("{{{}}}", members.join(","))
        };
        check(&many(16), &many(16), true);
        check(&many(17), &many(17), false);
    }

    #[test]
    fn two_values_are_equal_or_not() {
        let check = |a: &str, b: &str, expect: bool| {
            let [x, y] = [a, b].map(|json| json::whole(json).map(Json::from).unwrap().value());
            assert_eq!((same_value(&x, &y), same_value(&y, &x)), (expect, expect), "{a} {b}");
        };
        for (a, b) in [
            ("1", "1.0"),
            ("1", "1"),
            ("[1,[2.0]]", "[1.0,[2]]"),
            (r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#),
            ("[]", "[]"),
            ("{}", "{}"),
            (r#""x""#, r#""x""#),
            ("null", "null"),
        ] {
            check(a, b, true);
        }
        for (a, b) in [
            ("1", "2"),
            ("1", r#""1""#),
            ("[1]", "[1,2]"),
            ("[1,2]", "[1,3]"),
            ("[]", "{}"),
            (r#"{"a":1}"#, r#"{"a":2}"#),
            (r#"{"a":1}"#, r#"{"b":1}"#),
            (r#"{"a":1}"#, r#"{"a":1,"b":1}"#),
            (r#""x""#, r#""y""#),
            ("null", "false"),
        ] {
            check(a, b, false);
        }
    }

    #[test]
    fn arguments_are_the_same_input_whatever_the_order_and_the_blanks() {
        fn json(text: &str) -> Json<'_> {
            json::whole(text).unwrap().into()
        }
        let check = |ours: &str, input: &str, expect: bool| {
            let found = SourceArguments::Whole(json(ours)).is_same(&json(input));
            assert_eq!(found, expect, "{ours} {input}");
        };
        check(r#"[1, 2]"#, "[1,2]", true);
        check(r#"{"a":1,"b":[2]}"#, r#"{"b":[2],"a":1}"#, true);
        check(r#"{"a":1}"#, r#"{"a":1.0}"#, true);
        check(r#"{"a":1}"#, r#"{"a":2}"#, false);
        check(r#"{"a":1}"#, "{}", false);
        assert!(!SourceArguments::Cut("{".into()).is_same(&json("{}")));
    }

    #[test]
    fn an_object_without_fields_is_empty_whatever_the_blanks() {
        for (text, expect) in [
            ("{}", true),
            ("{ \n}", true),
            (r#"{"a":1}"#, false),
            ("[]", false),
            ("{", false),
            ("}", false),
        ] {
            assert_eq!(is_empty_object(text), expect, "{text}");
        }
    }
}
