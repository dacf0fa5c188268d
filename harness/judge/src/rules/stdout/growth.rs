//! The input of a call while it streams: each report is a beginning of the input, and none is missing.

use std::collections::HashMap;

use clitape_recording::facts::RecordedCall;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::Case;
use crate::rules::violation::{Broken, by, whole};

/// U2: what is reported of a growing input is a beginning of it, and goes on from what was reported before.
pub(in crate::rules) fn input_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let mut before: HashMap<(&str, &str), &Value> = HashMap::new();
    let mut inputs: HashMap<&str, Option<Value>> = HashMap::new();
    reports(case).find_map(|(report, call)| {
        let input = inputs.entry(&call.id).or_insert_with(|| call.input()).as_ref()?;
        let open = report.text("open");
        report.field("args")?.as_object()?.iter().find_map(|(key, value)| {
            let last = before.insert((&call.id, key), value);
            let is_right = match key == open {
                true => is_beginning(value, &input[key]),
                false => is_same(value, &input[key]),
            };
            if is_right && last.is_none_or(|last| is_beginning(last, value)) {
                return None;
            }
            by(
                report,
                format!(
                    "`{key}` of {} is reported as {value}, which is no beginning of it",
                    call.name
                ),
            )
        })
    })
}

/// U2: a field that is whole while the input goes on is reported before the call starts.
pub(in crate::rules) fn field_unreported(case: Case<'_>) -> Option<Broken<'_>> {
    let mut told: HashMap<&str, Vec<&Entry>> = HashMap::new();
    reports(case).for_each(|(report, call)| told.entry(&call.id).or_default().push(report));
    case.facts.single_calls().find_map(|call| {
        let input = call.input().filter(|_| !call.streamed.is_empty())?;
        let mut keys = places(input.as_object()?.keys(), &call.streamed);
        keys.sort_unstable();
        keys.windows(2).find_map(|pair| {
            let (next, key) = (pair[1].0, pair[0].1);
            let first = call.pieces.partition_point(|end| *end <= next);
            let came = call.pieces.get(first).is_some_and(|end| *end < call.streamed.len());
            let is_told = || {
                told.get(call.id.as_str())
                    .is_some_and(|all| all.iter().any(|it| has_field(it, key)))
            };
            let name = &call.name;
            let sentence =
                || format!("`{key}` of {name} is whole before its input is, and not reported");
            (came && !is_told()).then(sentence).and_then(whole)
        })
    })
}

/// U2: an open text is reported again only when it has grown by a good part of what was reported.
pub(in crate::rules) fn field_repeated(case: Case<'_>) -> Option<Broken<'_>> {
    let mut before: HashMap<(&str, &str), usize> = HashMap::new();
    reports(case).find_map(|(report, call)| {
        let key = report.text("open");
        let size =
            report.field("args")?.get(key).filter(|value| value.is_string())?.to_string().len();
        let last = before.insert((&call.id, key), size)?;
        let grown = format!(
            "`{key}` of {} is reported with {size} bytes, and had {last} before",
            call.name
        );
        (size < last + LITTLE.max(last / SHARE))
            .then_some(grown)
            .and_then(|grown| by(report, grown))
    })
}

/// The places of keys in an input as it streams, as far as they are there. Each is looked for behind the one before it,
/// because most come in their order.
fn places<'k>(keys: impl Iterator<Item = &'k String>, streamed: &str) -> Vec<(usize, &'k String)> {
    let mut behind = 0;
    let place = |key: &'k String| {
        let written = format!("{}:", Value::from(key.as_str()));
        let later = streamed[behind..].find(&written).map(|at| behind + at);
        let at = later.or_else(|| streamed.find(&written))?;
        behind = behind.max(at + written.len());
        Some((at, key))
    };
    keys.filter_map(place).collect()
}

fn has_field(report: &Entry, key: &str) -> bool {
    report.field("args").is_some_and(|args| args.get(key).is_some())
}

/// A field that has grown by fewer bytes of JSON is not worth a report.
const LITTLE: usize = 8;
/// A field that has grown by less than this part of it is not worth one either.
const SHARE: usize = 4;

/// The reports of growing inputs with the calls of stdout that they are about. An id that stdout uses twice is left
/// out.
fn reports(case: Case<'_>) -> impl Iterator<Item = (&Entry, &RecordedCall)> {
    let inputs = case.lane(Lane::Lifecycle).filter(|entry| entry.kind == "tool_input");
    let calls = case.facts.single_calls_by_id();
    inputs.filter_map(move |report| Some((report, *calls.get(report.text("id"))?)))
}

/// Whether `part` is a beginning of `value`.
fn is_beginning(part: &Value, value: &Value) -> bool {
    match (part, value) {
        (Value::String(part), Value::String(value)) => value.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(value)) => {
            let last = part.len().saturating_sub(1);
            part.len() <= value.len()
                && part.iter().zip(value).enumerate().all(|(at, (part, value))| {
                    if at == last { is_beginning(part, value) } else { is_same(part, value) }
                })
        }
        // A model may say a key twice, so that an object has another value in the end.
        (Value::Object(part), Value::Object(value)) => {
            part.keys().all(|key| value.contains_key(key))
        }
        (part, value) => is_same(part, value),
    }
}

/// Whether two values are equal. A number that the model writes as `1.0` is `1` in the CLI's snapshot.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}
