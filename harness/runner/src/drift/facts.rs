//! Gathers the values in the records of a version, place by place, and compares those of two versions.
//!
//! A place is written as a path: `result/success.usage.iterations[]<message>.type`. It begins with the kind of the
//! record; the kind of an object inside it is added in `<…>`.

use std::collections::{BTreeMap, BTreeSet};

use clitape_recording::cassette::Cassette;
use clitape_recording::names::ScenarioName;
use clitape_recording::text::plural;
use clitape_recording::wire::is_control;
use serde_json::{Map, Value};

use super::model::{ChangeKind, DriftChange, Part};
use crate::observed::{JsonType, ObjectShape, Shape, Sightings, Tag};

/// The most words that a sentence names; the others are counted.
const NAMED: usize = 12;

/// Returns the changes of the records. Changes of the same form in several kinds of a record are one change.
pub(super) fn schema(from: &RecordFacts, to: &RecordFacts) -> Vec<DriftChange> {
    let mut changes = Gathered::default();
    for (place, object) in &to.objects {
        if !from.objects.contains_key(place) && is_of_known(place, object, from) {
            changes.add(
                ChangeKind::KindNew,
                place,
                String::new(),
                &object.scenarios,
                &object.example,
            );
        }
    }
    for (place, object) in &from.objects {
        match to.objects.get(place) {
            None if is_of_known(place, object, to) => {
                changes.add(
                    ChangeKind::KindGone,
                    place,
                    String::new(),
                    &object.scenarios,
                    &object.example,
                );
            }
            None => {}
            Some(other) => {
                for key in moved(&object.orders, &other.orders) {
                    let place = format!("{place}.{key}");
                    changes.add(ChangeKind::KeyMoved, &place, String::new(), &other.scenarios, "");
                }
            }
        }
    }
    for (place, field) in &to.fields {
        if !from.fields.contains_key(place) && holds(from, &field.parent) {
            changes.add(
                ChangeKind::FieldNew,
                place,
                String::new(),
                &field.scenarios,
                &field.example,
            );
        }
    }
    for (place, field) in &from.fields {
        match to.fields.get(place) {
            None if holds(to, &field.parent) => {
                changes.add(
                    ChangeKind::FieldGone,
                    place,
                    String::new(),
                    &field.scenarios,
                    &field.example,
                );
            }
            None => {}
            Some(other) => {
                changes.types(place, field, other);
                let of = |facts: &RecordFacts| {
                    facts.objects.get(&field.parent).map(|object| object.count)
                };
                changes.presence(place, (field, of(from)), (other, of(to)));
                changes.words(place, field, other);
            }
        }
    }
    changes.into_changes()
}

/// Returns whether the other version has the field with the object. An object without a kind is compared as the type of
/// its field.
fn is_of_known(place: &str, object: &Object, other: &RecordFacts) -> bool {
    match &object.parent {
        None => true,
        Some(parent) => parent != place && other.fields.contains_key(parent),
    }
}

/// Returns whether the records have an object, an array or a map at this place.
fn holds(facts: &RecordFacts, place: &str) -> bool {
    facts.objects.contains_key(place) || facts.fields.contains_key(place)
}

/// Returns the keys that were before another one in every object of one version, and after it in every object of the
/// other. As few keys as explain all are named: first the one with the most others around it.
fn moved(from: &BTreeSet<Vec<String>>, to: &BTreeSet<Vec<String>>) -> Vec<String> {
    if from == to {
        return Vec::new();
    }
    let [before, after] = [pairs(from), pairs(to)];
    let swapped = |pair: &&(&str, &str)| {
        let back = (pair.1, pair.0);
        !before.contains(&back) && after.contains(&back) && !after.contains(*pair)
    };
    let mut open: Vec<(&str, &str)> = before.iter().filter(swapped).copied().collect();
    let mut keys = Vec::new();
    while !open.is_empty() {
        let mut often: BTreeMap<&str, usize> = BTreeMap::new();
        for (a, b) in &open {
            *often.entry(a).or_default() += 1;
            *often.entry(b).or_default() += 1;
        }
        let Some((key, _)) = often.into_iter().max_by_key(|(_, count)| *count) else { break };
        open.retain(|(a, b)| *a != key && *b != key);
        keys.push(key.to_owned());
    }
    keys
}

/// Returns each key with each key that comes after it.
fn pairs(orders: &BTreeSet<Vec<String>>) -> BTreeSet<(&str, &str)> {
    let of = |order: &'_ Vec<String>| -> Vec<(usize, usize)> {
        (0..order.len()).flat_map(|i| (i + 1..order.len()).map(move |j| (i, j))).collect()
    };
    orders
        .iter()
        .flat_map(|order| {
            of(order).into_iter().map(|(i, j)| (order[i].as_str(), order[j].as_str()))
        })
        .collect()
}

/// The form of a change. Changes of the same form in several kinds of a record are one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ChangeForm {
    kind: ChangeKind,
    /// The part of the place that names the record, such as `result`.
    head: String,
    /// The rest of the place, such as `.usage.iterations[]`.
    tail: String,
    /// The detail of the change, such as `number → string`.
    detail: String,
}

/// The changes while they are gathered: for each form the kinds of records, the scenarios, and an example.
#[derive(Default)]
struct Gathered(BTreeMap<ChangeForm, (BTreeSet<String>, BTreeSet<ScenarioName>, String)>);

impl Gathered {
    fn add(
        &mut self,
        kind: ChangeKind,
        place: &str,
        detail: String,
        scenarios: &BTreeSet<ScenarioName>,
        example: &str,
    ) {
        let (top, tail) = place.split_at(place.find(['.', '[', '{', '<']).unwrap_or(place.len()));
        // A new or missing kind of record is a change by itself.
        let head = if tail.is_empty() { top } else { top.split('/').next().unwrap_or(top) };
        let form = ChangeForm { kind, head: head.to_owned(), tail: tail.to_owned(), detail };
        let (tops, all, one) = self.0.entry(form).or_default();
        tops.insert(top.to_owned());
        all.extend(scenarios.iter().cloned());
        if one.is_empty() {
            example.clone_into(one);
        }
    }

    fn types(&mut self, place: &str, from: &Field, to: &Field) {
        let null = |field: &Field| field.types.contains(&JsonType::Null);
        let rest = |field: &Field| -> Vec<&str> {
            let types = field.types.iter().filter(|one| **one != JsonType::Null);
            types.map(|one| one.word()).collect()
        };
        let [a, b] = [rest(from), rest(to)];
        if a != b && !a.is_empty() && !b.is_empty() {
            let detail = format!("{} → {}", a.join(" or "), b.join(" or "));
            self.add(ChangeKind::Retyped, place, detail, &to.scenarios, &to.example);
        }
        let kind = match (null(from), null(to)) {
            (false, true) => ChangeKind::Nullable,
            (true, false) => ChangeKind::NeverNull,
            _ => return,
        };
        self.add(kind, place, String::new(), &to.scenarios, &to.example);
    }

    /// Adds a change if a field was in every object and now is not, or the other way round.
    fn presence(&mut self, place: &str, from: (&Field, Option<u64>), to: (&Field, Option<u64>)) {
        let (Some(of_from), Some(of_to)) = (from.1, to.1) else { return };
        let kind = match (from.0.count == of_from, to.0.count == of_to) {
            (true, false) => ChangeKind::Optional,
            (false, true) => ChangeKind::Required,
            _ => return,
        };
        let counts = format!("{} of {of_from} → {} of {of_to}", from.0.count, to.0.count);
        self.add(kind, place, String::new(), &to.0.scenarios, &counts);
    }

    fn words(&mut self, place: &str, from: &Field, to: &Field) {
        let (Some(a), Some(b)) = (&from.words, &to.words) else { return };
        if [from, to].iter().any(|field| !field.types.contains(&JsonType::String)) {
            return;
        }
        for (kind, all, other) in [(ChangeKind::ValueNew, b, a), (ChangeKind::ValueGone, a, b)] {
            let own = all.iter().filter(|(word, _)| !other.contains_key(*word));
            let mut scenarios = BTreeSet::new();
            let mut words = Vec::new();
            for (word, of) in own {
                words.push(format!("`{word}`"));
                scenarios.extend(of.iter().cloned());
            }
            if words.is_empty() {
                continue;
            }
            let over = words.len().saturating_sub(NAMED);
            words.truncate(NAMED);
            let more =
                if over == 0 { String::new() } else { format!(" and {}", plural(over, "other")) };
            self.add(kind, place, words.join(", ") + &more, &scenarios, "");
        }
    }

    fn into_changes(self) -> Vec<DriftChange> {
        let change =
            |(form, (tops, scenarios, example)): (ChangeForm, (BTreeSet<String>, _, String))| {
                let tops: Vec<String> = tops.into_iter().collect();
                let place = match &tops[..] {
                    [top] => format!("{top}{}", form.tail),
                    _ => format!("{}{}", form.head, form.tail),
                };
                let among =
                    if tops.len() > 1 { format!(" in {}", tops.join(", ")) } else { String::new() };
                let is_of_dialogue = is_control(&form.head);
                let set: BTreeSet<ScenarioName> = scenarios;
                DriftChange {
                    part: if is_of_dialogue { Part::Dialogue } else { Part::Schema },
                    kind: form.kind,
                    place,
                    what: sentence(form.kind, &form.tail, &form.detail) + &among,
                    scenarios: set.into_iter().collect(),
                    example: Some(example).filter(|example| !example.is_empty()),
                }
            };
        self.0.into_iter().map(change).collect()
    }
}

/// Returns the sentence about a place, without the place.
fn sentence(kind: ChangeKind, tail: &str, detail: &str) -> String {
    let of = if tail.is_empty() { "kind of record" } else { "kind of object" };
    match kind {
        ChangeKind::KindNew => format!("is a new {of}"),
        ChangeKind::KindGone => format!("no longer comes, a {of}"),
        ChangeKind::FieldNew => "is new".to_owned(),
        ChangeKind::FieldGone => "is gone".to_owned(),
        ChangeKind::Retyped => format!("has another type, {detail},"),
        ChangeKind::Nullable => "can be null now".to_owned(),
        ChangeKind::NeverNull => "is null no longer".to_owned(),
        ChangeKind::Optional => "is no longer in every object".to_owned(),
        ChangeKind::Required => "is in every object now".to_owned(),
        ChangeKind::ValueNew => format!("has the new value {detail}"),
        ChangeKind::ValueGone => format!("no longer has the value {detail}"),
        ChangeKind::KeyMoved => "stands at another place among the keys".to_owned(),
        ChangeKind::Count
        | ChangeKind::Order
        | ChangeKind::FlagNew
        | ChangeKind::FlagGone
        | ChangeKind::FlagChanged
        | ChangeKind::Lane
        | ChangeKind::Exit => detail.to_owned(),
    }
}

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
    orders: BTreeSet<Vec<String>>,
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
        let mut shape = Shape::default();
        cassettes.for_each(|cassette| shape.add_cassette(cassette));
        let mut facts = Self::default();
        for (tag, object) in shape.objects {
            facts.object(tag.name(), None, object);
        }
        facts
    }

    fn object(&mut self, place: String, parent: Option<&str>, object: ObjectShape) {
        for (key, field) in object.fields {
            self.field(format!("{place}.{key}"), &place, field);
        }
        let parent = parent.map(str::to_owned);
        let Sightings { count, scenarios, .. } = object.seen;
        let (orders, example) = (object.orders, object.excerpt);
        self.objects.insert(place, Object { parent, count, scenarios, orders, example });
    }

    fn field(&mut self, place: String, parent: &str, shape: Shape) {
        // An array or a map that was always empty has no place inside.
        let is_seen = |inside: &Shape| inside.seen.count > 0;
        if let Some(items) = shape.items.filter(|items| is_seen(items)) {
            self.field(format!("{place}[]"), &place, *items);
        }
        if let Some(values) = shape.values.filter(|values| is_seen(values)) {
            self.field(format!("{place}{{}}"), &place, *values);
        }
        for (tag, object) in shape.objects {
            self.object(of_tag(&tag, &place), Some(&place), object);
        }
        let Sightings { count, scenarios, .. } = shape.seen;
        let field = Field {
            parent: parent.to_owned(),
            count,
            types: shape.types,
            words: shape.words.closed().cloned(),
            scenarios,
            example: shape.excerpt,
        };
        self.fields.insert(place, field);
    }
}

/// Returns the place of an object, with its kind where it has one.
pub(super) fn of_kind(object: &Map<String, Value>, place: &str) -> String {
    of_tag(&Tag::of(object), place)
}

fn of_tag(tag: &Tag, place: &str) -> String {
    if tag.is_some() { format!("{place}<{}>", tag.name()) } else { place.to_owned() }
}
