//! Fields of a tool's input while it streams, kept as JSON text and parsed on demand.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::payload::Json;

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

#[cfg(feature = "schema")]
mod schema {
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::Fields;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
