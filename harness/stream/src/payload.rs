//! JSON values inside events: kept as text and parsed on demand.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::json::RawJson;
use crate::value;

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
        value::lenient_value(&self.0).expect("the text of a `Json` is valid")
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

    use super::{Json, ToolArguments};

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
}
