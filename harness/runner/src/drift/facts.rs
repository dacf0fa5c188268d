//! Gathers the values in the records of one version, place by place, so that two versions can be compared.
//!
//! A place is written as a path: `result/success.usage.iterations[]<message>.type`. It begins with the kind of the
//! record; the kind of an object inside it is added in `<…>`.

use std::collections::{BTreeMap, BTreeSet};

use clitape_recording::cassette::{Cassette, Manifest};
use clitape_recording::facts::records;
use clitape_recording::names::ScenarioName;
use clitape_recording::text::{Keep, truncate};
use serde_json::{Map, Value};

use crate::observed::{Inside, JsonType, Tag};

/// The most columns of an example.
const LONGEST: usize = 100;
/// The most words of a closed set; a field with more counts as open.
const WORDS: usize = 64;
/// The most characters of a word of a closed set.
const WORD: usize = 48;

/// The values at one place.
#[derive(Debug, Default)]
pub(super) struct Field {
    /// The place of the object or the array that contains them.
    pub(super) parent: String,
    pub(super) count: u64,
    pub(super) types: BTreeSet<JsonType>,
    /// The words with the scenarios that have them; `None` if some value is not a word, or there are too many.
    pub(super) words: Option<BTreeMap<String, BTreeSet<ScenarioName>>>,
    pub(super) scenarios: BTreeSet<ScenarioName>,
    pub(super) example: String,
}

/// The objects of one kind at one place.
#[derive(Debug, Default)]
pub(super) struct Object {
    /// The place of the value; `None` for a record.
    pub(super) parent: Option<String>,
    pub(super) count: u64,
    pub(super) scenarios: BTreeSet<ScenarioName>,
    /// The orders in which the keys came.
    pub(super) orders: BTreeSet<Vec<String>>,
    pub(super) example: String,
}

/// The values at all places of the records of one version.
#[derive(Debug, Default)]
pub(super) struct RecordFacts {
    pub(super) fields: BTreeMap<String, Field>,
    pub(super) objects: BTreeMap<String, Object>,
}

impl RecordFacts {
    /// Gathers the values of all runs of these recordings.
    pub(super) fn of<'a>(cassettes: impl Iterator<Item = &'a Cassette>) -> Self {
        let mut facts = Self::default();
        for cassette in cassettes {
            for stdout in cassette.outputs() {
                records(stdout).for_each(|record| facts.add(&record, &cassette.manifest));
            }
        }
        facts
    }

    /// Adds a record of a scenario; a line without a `type` is left out.
    fn add(&mut self, record: &Value, of: &Manifest) {
        if let Value::Object(object) = record
            && object.get("type").is_some_and(Value::is_string)
        {
            self.object(&Tag::of(object).name(), None, object, of);
        }
    }

    fn object(
        &mut self,
        place: &str,
        parent: Option<&str>,
        object: &Map<String, Value>,
        of: &Manifest,
    ) {
        let known = self.objects.entry(place.to_owned()).or_default();
        if known.count == 0 {
            known.parent = parent.map(str::to_owned);
            known.example = shown(&Value::Object(object.clone()));
        }
        known.count += 1;
        known.scenarios.insert(of.scenario.clone());
        let order: Vec<String> = object.keys().cloned().collect();
        known.orders.insert(order);
        for (key, value) in object {
            self.value(&format!("{place}.{key}"), place, value, Inside::of(key), of);
        }
    }

    fn value(&mut self, place: &str, parent: &str, value: &Value, inside: Inside, of: &Manifest) {
        let field = self.fields.entry(place.to_owned()).or_default();
        if field.count == 0 {
            field.parent = parent.to_owned();
            field.words = Some(BTreeMap::new());
        }
        if field.example.is_empty() || field.example == "null" {
            field.example = shown(value);
        }
        field.count += 1;
        field.types.insert(JsonType::of(value));
        field.scenarios.insert(of.scenario.clone());
        if let Value::String(text) = value
            && **text != *of.cli.version
        {
            field.word(text, &of.scenario);
        }
        match (value, inside) {
            (Value::Array(_) | Value::Object(_), Inside::Open) => {}
            (Value::Array(items), _) => {
                let items_place = format!("{place}[]");
                for item in items {
                    self.value(&items_place, place, item, Inside::Described, of);
                }
            }
            (Value::Object(object), Inside::Map) => {
                let values_place = format!("{place}{{}}");
                for value in object.values() {
                    self.value(&values_place, place, value, Inside::Described, of);
                }
            }
            (Value::Object(object), Inside::Described) => {
                self.object(&of_kind(object, place), Some(place), object, of);
            }
            _ => {}
        }
    }
}

impl Field {
    /// Adds a word, or marks the set as open.
    fn word(&mut self, text: &str, scenario: &ScenarioName) {
        let Some(words) = &mut self.words else { return };
        if words.len() > WORDS || !is_word(text) {
            self.words = None;
            return;
        }
        words.entry(text.to_owned()).or_default().insert(scenario.clone());
    }
}

/// Returns whether a text may be a word of a closed set: it has no space, is short, and does not look like an id that a
/// machine made.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:*()".contains(c);
    let hex = text.chars().filter(char::is_ascii_hexdigit).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_made = digits > 6 || (text.len() >= 16 && hex * 10 > text.len() * 9);
    !text.is_empty() && text.len() <= WORD && text.chars().all(is_plain) && !is_made
}

/// Returns the place of an object, with its kind where it has one.
pub(super) fn of_kind(object: &Map<String, Value>, place: &str) -> String {
    let tag = Tag::of(object);
    if tag.is_some() { format!("{place}<{}>", tag.name()) } else { place.to_owned() }
}

/// Returns a value as an example.
fn shown(value: &Value) -> String {
    truncate(&value.to_string(), LONGEST, Keep::Start).into_owned()
}
