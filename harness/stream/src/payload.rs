//! JSON values and fields inside events: kept as text and parsed on demand, leniently, so that
//! well-formed JSON that `serde_json` refuses is kept.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::json::{self, JsonCursor, JsonResult, Malformed, RawJson};

/// A JSON value as the stream printed it: validated text that is parsed on demand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Json<'a>(Cow<'a, str>);

impl<'a> Json<'a> {
    /// `null`.
    pub const NULL: Json<'static> = Json(Cow::Borrowed("null"));
    /// `{}`.
    pub(crate) const EMPTY: Json<'static> = Json(Cow::Borrowed("{}"));

    /// Wraps text that is known to be valid JSON.
    pub(crate) fn valid(text: impl Into<Cow<'a, str>>) -> Self {
        Self(text.into())
    }

    /// Returns the JSON text.
    pub fn get(&self) -> &str {
        &self.0
    }

    /// Parses the value leniently (see [`lenient_value`](crate::lenient_value)).
    #[allow(clippy::expect_used, reason = "the text is validated, or printed from a `Value`")]
    pub fn value(&self) -> Value {
        lenient_value(&self.0).expect("the text of a `Json` is valid")
    }

    /// Copies borrowed text, so that the value outlives the parser.
    pub fn into_owned(self) -> Json<'static> {
        Json(Cow::Owned(self.0.into_owned()))
    }

    /// Returns the same value with borrowed text.
    pub fn by_ref(&self) -> Json<'_> {
        Json(Cow::Borrowed(&self.0))
    }
}

impl<'a> From<RawJson<'a>> for Json<'a> {
    fn from(raw: RawJson<'a>) -> Self {
        Self(Cow::Borrowed(raw.get()))
    }
}

impl From<&Value> for Json<'static> {
    fn from(value: &Value) -> Self {
        Self(Cow::Owned(value.to_string()))
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// Arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolArguments<'a> {
    /// The whole input, an object in nearly every case.
    Complete(Json<'a>),
    /// The raw text of an input that never became valid JSON. It is never replaced by `{}` (rule
    /// [U1](crate::rules::U1)).
    Truncated(Cow<'a, str>),
}

impl ToolArguments<'_> {
    /// Copies borrowed text, so that the arguments outlive the parser.
    pub fn into_owned(self) -> ToolArguments<'static> {
        match self {
            Self::Complete(json) => ToolArguments::Complete(json.into_owned()),
            Self::Truncated(raw) => ToolArguments::Truncated(Cow::Owned(raw.into_owned())),
        }
    }
}

/// Serialises the arguments as `args`; truncated ones as `null`, with the raw text as `truncated`.
impl Serialize for ToolArguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Complete(json) => map.serialize_entry("args", json)?,
            Self::Truncated(raw) => {
                map.serialize_entry("args", &Value::Null)?;
                map.serialize_entry("truncated", raw)?;
            }
        }
        map.end()
    }
}

#[cfg(feature = "schema")]
mod schema {
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Fields, Json, ToolArguments};

    impl JsonSchema for Json<'_> {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Json".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!(true)
        }
    }

    impl JsonSchema for ToolArguments<'_> {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "ToolArguments".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": "object",
                "required": ["args"],
                "properties": {
                    "args": { "description": "The arguments; null when they are truncated." },
                    "truncated": {
                        "type": "string",
                        "description": "The raw input that never became valid JSON.",
                    },
                },
            })
        }
    }

    impl JsonSchema for Fields<'_> {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Fields".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": "object",
                "required": ["args"],
                "properties": {
                    "args": {
                        "type": "object",
                        "description": "The top-level fields that are new or have changed, with their whole values.",
                    },
                    "open": {
                        "type": "string",
                        "description": "The key of the last of these fields, if its value has not ended yet.",
                    },
                },
            })
        }
    }
}

/// Top-level fields of a tool's input in the order of the stream, each key once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields<'a> {
    list: Vec<(Cow<'a, str>, Json<'a>)>,
    /// The value of the last field has not ended yet.
    is_open: bool,
}

impl<'a> Fields<'a> {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field and replaces an earlier field with the same key.
    pub fn push(&mut self, key: impl Into<Cow<'a, str>>, value: Json<'a>) {
        let key = key.into();
        match self.list.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.add(key, value),
        }
    }

    /// Adds a field whose key is new.
    pub(crate) fn add(&mut self, key: impl Into<Cow<'a, str>>, value: Json<'a>) {
        self.list.push((key.into(), value));
    }

    /// Keeps the fields for which `keep` returns true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &Json<'a>) -> bool) {
        self.list.retain(|(key, value)| keep(key, value));
    }

    /// Returns whether there is a field with this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.list.iter().any(|(known, _)| known == key)
    }

    /// Adds a field whose value has not ended yet, with the value so far.
    pub(crate) fn push_open(&mut self, key: impl Into<Cow<'a, str>>, value: Json<'a>) {
        self.add(key, value);
        self.is_open = true;
    }

    /// Iterates over the keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.list.iter().map(|(key, value)| (&**key, value))
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The key of the last field, if its value has not ended yet.
    pub fn open(&self) -> Option<&str> {
        let (key, _) = self.list.last().filter(|_| self.is_open)?;
        Some(key)
    }

    /// Parses the values leniently (see [`lenient_value`](crate::lenient_value)).
    pub fn to_map(&self) -> Map<String, Value> {
        self.iter().map(|(key, value)| (key.to_owned(), value.value())).collect()
    }

    /// Copies borrowed text, so that the fields outlive the parser.
    pub fn into_owned(self) -> Fields<'static> {
        let own = |(key, value): (Cow<'_, str>, Json<'_>)| {
            (Cow::Owned(key.into_owned()), value.into_owned())
        };
        Fields { list: self.list.into_iter().map(own).collect(), is_open: self.is_open }
    }
}

/// Serialises the fields as `args`, and the key of the unfinished field as `open`.
impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("args", &self.to_map())?;
        if let Some(open) = self.open() {
            map.serialize_entry("open", open)?;
        }
        map.end()
    }
}

/// Depth from which arrays and objects stay raw text, so that a value can be printed into a trace
/// entry and read back by readers that stop at 128 levels.
const MAX_DEPTH: usize = 100;

/// Parses JSON text into a value and accepts all well-formed JSON.
///
/// A lone surrogate becomes U+FFFD. A number that no `f64` can represent, and an array or object
/// more than 100 levels deep, become strings of their raw text.
///
/// # Errors
///
/// Returns [`Malformed`] if the text is not one JSON value.
pub fn lenient_value(raw: &str) -> Result<Value, Malformed> {
    let mut scan = JsonCursor::new(raw);
    let value = next(&mut scan, 0)?;
    scan.end()?;
    Ok(value)
}

/// Parses the fields of an object whose names `is_read` takes, as [`lenient_value`] does; the others are only checked.
/// Other values than objects have no fields.
///
/// # Errors
///
/// As [`lenient_value`].
pub(crate) fn lenient_fields(
    raw: &str,
    is_read: impl Fn(&str) -> bool,
) -> Result<Map<String, Value>, Malformed> {
    let mut scan = JsonCursor::new(raw);
    let mut fields = Map::new();
    scan.object(&mut |key, scan| match is_read(key.get()) {
        true => {
            fields.insert(key.get().to_owned(), next(scan, 1)?);
            Ok(())
        }
        false => scan.skip(),
    })?;
    scan.end()?;
    Ok(fields)
}

/// Reads the value at the cursor, which is nested in `depth` others.
fn next(scan: &mut JsonCursor<'_>, depth: usize) -> JsonResult<Value> {
    match scan.ahead() {
        b'{' if depth < MAX_DEPTH => {
            let mut map = Map::new();
            scan.object(&mut |key, scan| {
                map.insert(key.get().to_owned(), next(scan, depth + 1)?);
                Ok(())
            })?;
            Ok(Value::Object(map))
        }
        b'[' if depth < MAX_DEPTH => {
            let mut list = Vec::new();
            scan.array(&mut |scan| {
                list.push(next(scan, depth + 1)?);
                Ok(())
            })?;
            Ok(Value::Array(list))
        }
        b'{' | b'[' => Ok(Value::String(scan.value()?.get().to_owned())),
        b'"' => Ok(Value::String(json::unescape(json::quoted(scan.value()?.get())).into_owned())),
        _ => {
            let raw = scan.value()?.get();
            Ok(serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.to_owned())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Expected;

    #[test]
    fn u2_fields_serialise_with_the_open_one() {
        let json = |value: Value| Json::from(&value);
        let mut fields = Fields::new();
        assert_eq!((fields.is_empty(), fields.open()), (true, None));
        fields.push("a", json(1.into()));
        fields.push("b", json("x".into()));
        fields.push("a", json(2.into()));
        let print = |fields: &Fields<'_>| serde_json::to_string(fields).unwrap();
        assert_eq!((fields.len(), fields.open()), (2, None));
        assert_eq!(print(&fields), r#"{"args":{"a":2,"b":"x"}}"#);
        fields.push_open("c", json("y".into()));
        let fields = fields.into_owned();
        assert_eq!(fields.open(), Some("c"));
        assert_eq!(print(&fields), r#"{"args":{"a":2,"b":"x","c":"y"},"open":"c"}"#);
    }

    fn check(raw: &str, expect: &str) {
        let printed = lenient_value(raw).map_or_else(|e| e.to_string(), |v| v.to_string());
        assert_eq!(printed, expect, "of {raw:?}");
    }

    #[test]
    fn the_other_fields_of_an_object_are_checked_and_not_read() {
        let read = |raw: &str| lenient_fields(raw, |name| name != "b").map(Value::Object);
        let check = |raw: &str, expect: &str| {
            let printed = read(raw).map_or_else(|e| e.to_string(), |v| v.to_string());
            assert_eq!(printed, expect, "of {raw:?}");
        };
        check(r#"{"a":1,"b":{"a":[2]},"c":{"b":"\u00e9"}}"#, r#"{"a":1,"c":{"b":"é"}}"#);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        for raw in ["{}", "[1]", "null", r#"{"b":1}"#] {
            check(raw, "{}");
        }
        for raw in [r#"{"b":tru}"#, r#"{"a":1}}"#, r#"{"b":[}"#] {
            assert!(read(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn values_that_serde_json_accepts_come_out_the_same() {
        for raw in [
            r#"{"b":1,"a":[true,null,-0.5,1e-7],"c":{"d":"x\n\"\u00e9😀"}}"#,
            "[]",
            "{}",
            r#""""#,
            "12345678901234567890",
            "1.0",
        ] {
            check(raw, &serde_json::from_str::<Value>(raw).unwrap().to_string());
        }
    }

    #[test]
    pub(crate) fn json_that_serde_json_refuses_is_kept() {
        check(r#"{"a":"x\ud83dy"}"#, "{\"a\":\"x\u{fffd}y\"}");
        check(
            r#"["\udc00","\ud83d\ude00","\ud83d\ud83d"]"#,
            "[\"\u{fffd}\",\"😀\",\"\u{fffd}\u{fffd}\"]",
        );
        check(r#"{"\ud800":1}"#, "{\"\u{fffd}\":1}");
        check("[1e999]", r#"["1e999"]"#);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        for (raw, expect) in [(r#"{"a":1,}"#, Expected::Key), ("[1,]", Expected::Value)] {
            check(raw, &Malformed::at(raw.len() - 1, expect).to_string());
        }
        assert!(lenient_value("{\"a\":").is_err() && lenient_value("{} {}").is_err());
    }

    #[test]
    pub(crate) fn deep_nesting_stays_raw_text() {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let nest =
                |levels: usize| format!("{}\"]\"{}", open.repeat(levels), close.repeat(levels));
            let mut value = &lenient_value(&nest(5_000)).unwrap();
            let mut levels = 0;
            while let Some(inner) = value.get(0).or(value.get("a")) {
                (value, levels) = (inner, levels + 1);
            }
            let raw = Value::String(nest(5_000 - MAX_DEPTH));
            assert_eq!((levels, value), (MAX_DEPTH, &raw), "{open}");
        }
    }
}
