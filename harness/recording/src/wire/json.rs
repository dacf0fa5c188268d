//! JSON as it was written, and the fields of an object whatever their order.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A JSON value as it was written, byte for byte, because a host repeats the input of a question in its answer.
///
/// Two are equal if they mean the same.
#[derive(Debug, Clone)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// Writes a value as JSON.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn of(value: &impl Serialize) -> Self {
        Self(serde_json::value::to_raw_value(value).expect("every key of a line is a string"))
    }

    /// Returns the JSON as it was written.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the parsed value; null of a value that is nested too deeply.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        let parsed = |json: &Self| serde_json::from_str::<Value>(json.as_str());
        self.as_str() == other.as_str()
            || matches!((parsed(self), parsed(other)), (Ok(one), Ok(two)) if one == two)
    }
}

impl Eq for JsonText {}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The fields of an object, each as it was written. Of a key that comes twice the last one counts.
#[derive(Debug, Default)]
pub(super) struct ObjectFields<'a>(HashMap<String, &'a RawValue>);

impl<'a> ObjectFields<'a> {
    /// Reads the fields of an object; `None` if the text is no object.
    pub(super) fn of(object: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(object).ok().map(Self)
    }

    /// Returns a field as it was written; `None` if it is absent or null.
    pub(super) fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }

    /// Returns a copy of a field as it was written; `None` if it is absent or null.
    pub(super) fn json(&self, key: &str) -> Option<JsonText> {
        let is_there = self.raw(key).is_some();
        self.0.get(key).filter(|_| is_there).map(|raw| JsonText((*raw).to_owned()))
    }

    /// Returns a copy of a field as it was written; an empty object if it is absent or null.
    pub(super) fn body(&self, key: &str) -> JsonText {
        self.json(key).unwrap_or_else(|| JsonText::of(&Map::new()))
    }

    /// Returns a field that is a string.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.raw(key).filter(|raw| raw.starts_with('"'))?).ok()
    }

    /// Returns true if a field is `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.raw(key) == Some("true")
    }

    /// Returns the elements of a field that is an array.
    pub(super) fn list(&self, key: &str) -> Option<Vec<JsonText>> {
        let elements: Vec<Box<RawValue>> = serde_json::from_str(self.raw(key)?).ok()?;
        Some(elements.into_iter().map(JsonText).collect())
    }

    /// Returns the fields of a field that is an object; none if it is not one.
    pub(super) fn object(&self, key: &str) -> Self {
        self.raw(key).and_then(|raw| Self::of(raw.as_bytes())).unwrap_or_default()
    }
}
