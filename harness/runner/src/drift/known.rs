//! Removes from a recording the records, fields and words that are new, so that the older version could have printed
//! it.
//!
//! If the replay of the rest equals that of the older version, the lanes of the whole recording differ only because the
//! gateway uses the new parts.

use clitape_recording::cassette::{Cassette, TickKind};
use clitape_recording::facts::read_record;
use serde_json::{Map, Value};

use super::facts::{RecordFacts, of_kind};
use crate::observed::{Inside, Tag};

/// Returns the recording without the new parts. The lines of the host stay after the records that they came after.
pub(super) fn without_news(cassette: &Cassette, known: &RecordFacts) -> Cassette {
    let mut cassette = cassette.clone();
    // The offset of the end of each line, before and after.
    let mut ends = vec![(0, 0)];
    let (mut old, mut stdout) = (0, Vec::new());
    for line in cassette.stdout.split_inclusive(|byte| *byte == b'\n') {
        old += line.len() as u64;
        stdout.extend(stripped(line, known));
        ends.push((old, stdout.len() as u64));
    }
    cassette.stdout = stdout;
    for run in &mut cassette.further {
        let lines = run.stdout.split_inclusive(|byte| *byte == b'\n');
        run.stdout = lines.flat_map(|line| stripped(line, known)).collect();
    }
    let mut read = 0;
    for tick in &mut cassette.timeline {
        match &mut tick.kind {
            TickKind::Out(bytes) => read += *bytes,
            TickKind::In { offset, .. } => {
                let before = offset.unwrap_or(read);
                let at = ends.partition_point(|(old, _)| *old <= before);
                *offset = ends.get(at.saturating_sub(1)).map(|(_, new)| *new);
            }
            TickKind::Err(_) | TickKind::Marker(_) | TickKind::Exit(_) => {}
        }
    }
    cassette
}

/// Returns a line without its new parts; empty for a record of a new kind.
fn stripped(line: &[u8], known: &RecordFacts) -> Vec<u8> {
    let Some(Value::Object(mut record)) = read_record(line) else { return line.to_vec() };
    let place = Tag::of(&record).name();
    if !known.objects.contains_key(&place) {
        return Vec::new();
    }
    if !strip(&mut record, &place, known) {
        return line.to_vec();
    }
    format!("{}\n", Value::Object(record)).into_bytes()
}

/// Removes the new parts from an object, and returns whether there were any.
fn strip(object: &mut Map<String, Value>, place: &str, known: &RecordFacts) -> bool {
    let before = object.len();
    object.retain(|key, _| known.fields.contains_key(&format!("{place}.{key}")));
    let mut changed = object.len() < before;
    for (key, value) in object.iter_mut() {
        changed |= strip_value(value, &format!("{place}.{key}"), Inside::of(key), known);
    }
    changed
}

fn strip_value(value: &mut Value, place: &str, inside: Inside, known: &RecordFacts) -> bool {
    match (value, inside) {
        (_, Inside::Open | Inside::Map) => false,
        (Value::Array(items), Inside::Described) => {
            let place = format!("{place}[]");
            let words = known.fields.get(&place).and_then(|field| field.words.as_ref());
            let before = items.len();
            items.retain(|item| match (item, words) {
                (Value::String(word), Some(words)) => words.contains_key(word),
                (Value::Object(object), _) => known.objects.contains_key(&of_kind(object, &place)),
                _ => true,
            });
            let mut changed = items.len() < before;
            for item in items {
                changed |= strip_value(item, &place, Inside::Described, known);
            }
            changed
        }
        (Value::Object(object), Inside::Described) => {
            let place = of_kind(object, place);
            known.objects.contains_key(&place) && strip(object, &place, known)
        }
        _ => false,
    }
}
