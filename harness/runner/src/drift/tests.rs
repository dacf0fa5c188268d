//! Tests that each way to change a recording is found as its own kind of change, at its place.

use clitape_recording::cassette::Cassette;
use clitape_recording::scenario::Workspace;
use serde_json::{Value, json};

use super::facts::RecordFacts;
use super::pairs::of_records;
use super::{ChangeKind as K, DriftChange, Part};

fn cassette(name: &str) -> Cassette {
    let workspace = Workspace::at(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    Cassette::find(&workspace, &name.parse().unwrap(), &"2.1.329".parse().unwrap()).unwrap()
}

fn changes(before: &Cassette, after: &Cassette) -> Vec<DriftChange> {
    let facts = [before, after].map(|one| RecordFacts::of([one].into_iter()));
    of_records(&[[before, after]], &facts)
}

/// Changes the records of a recording, and checks the changes that are found.
#[track_caller]
fn check(scenario: &str, alter: impl Fn(&mut Vec<Value>), expect: &[(Part, K, &str)]) {
    let before = cassette(scenario);
    let mut after = before.clone();
    let lines = before.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut records: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    alter(&mut records);
    after.stdout = records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect();
    let found = changes(&before, &after);
    let found: Vec<_> = found.iter().map(|one| (one.part, one.kind, one.place.as_str())).collect();
    assert_eq!(found, expect);
}

fn is(record: &Value, kind: &str, subtype: &str) -> bool {
    record["type"] == kind && (subtype.is_empty() || record["subtype"] == subtype)
}

/// Returns a function that changes the result of the run.
fn result(change: impl Fn(&mut serde_json::Map<String, Value>)) -> impl Fn(&mut Vec<Value>) {
    move |records| {
        for record in records.iter_mut().filter(|record| is(record, "result", "")) {
            change(record.as_object_mut().unwrap());
        }
    }
}

const PLAIN: &str = "plain-text";

#[test]
fn nothing_changes_where_nothing_is_changed() {
    check(PLAIN, |_| {}, &[]);
    let other = |fields: &mut serde_json::Map<String, Value>| {
        fields.insert("duration_ms".into(), json!(1));
        fields.insert("session_id".into(), json!("11111111-2222-4333-8444-555555555555"));
        fields.insert("result".into(), json!("Other words of the model."));
    };
    check(PLAIN, result(other), &[]);
}

#[test]
fn fields_are_new_gone_and_renamed() {
    let place = "result/success.num_turns";
    check(
        PLAIN,
        result(|fields| {
            fields.insert("new".into(), json!([1]));
        }),
        &[(Part::Schema, K::FieldNew, "result/success.new")],
    );
    check(
        PLAIN,
        result(|fields| {
            fields.shift_remove("num_turns");
        }),
        &[(Part::Schema, K::FieldGone, place)],
    );
    let rename = |fields: &mut serde_json::Map<String, Value>| {
        let turns = fields.shift_remove("num_turns").unwrap();
        fields.insert("turns".into(), turns);
    };
    let both =
        [(Part::Schema, K::FieldNew, "result/success.turns"), (Part::Schema, K::FieldGone, place)];
    check(PLAIN, result(rename), &both);
}

#[test]
fn fields_are_retyped_null_and_missing() {
    let turns = |value: Value| {
        result(move |fields| {
            fields.insert("num_turns".into(), value.clone());
        })
    };
    let place = "result/success.num_turns";
    check(PLAIN, turns(json!("1")), &[(Part::Schema, K::Retyped, place)]);
    check(PLAIN, turns(Value::Null), &[(Part::Schema, K::Nullable, place)]);
    let one_lacks = |records: &mut Vec<Value>| {
        let deltas =
            records.iter_mut().filter(|record| record["event"]["type"] == "content_block_delta");
        let last = deltas.last().unwrap();
        last.as_object_mut().unwrap().shift_remove("session_id");
    };
    check(PLAIN, one_lacks, &[(Part::Schema, K::Optional, "stream_event.session_id")]);
}

#[test]
fn kinds_are_new_and_gone() {
    let more = |records: &mut Vec<Value>| {
        records.insert(1, json!({ "type": "system", "subtype": "greeting", "words": "Hello" }));
    };
    check(PLAIN, more, &[(Part::Schema, K::KindNew, "system/greeting")]);
    let fewer = |records: &mut Vec<Value>| records.retain(|record| !is(record, "result", ""));
    check(PLAIN, fewer, &[(Part::Schema, K::KindGone, "result/success")]);
}

#[test]
fn words_are_new_and_gone() {
    let init = |change: fn(&mut Vec<Value>)| {
        move |records: &mut Vec<Value>| {
            let init = records.iter_mut().find(|record| is(record, "system", "init")).unwrap();
            change(init["tools"].as_array_mut().unwrap());
        }
    };
    let place = "system/init.tools[]";
    check(PLAIN, init(|tools| tools.push(json!("Sing"))), &[(Part::Schema, K::ValueNew, place)]);
    check(PLAIN, init(|tools| drop(tools.remove(0))), &[(Part::Schema, K::ValueGone, place)]);
}

#[test]
fn keys_and_records_come_in_another_order() {
    let key = |fields: &mut serde_json::Map<String, Value>| {
        let uuid = fields.shift_remove("uuid").unwrap();
        fields.shift_insert(0, "uuid".into(), uuid);
    };
    check(PLAIN, result(key), &[(Part::Schema, K::KeyMoved, "result/success.uuid")]);
    let records = |records: &mut Vec<Value>| {
        let last = records.len() - 1;
        records.swap(last, last - 1);
    };
    check(PLAIN, records, &[(Part::Order, K::Order, "records: order")]);
    let twice = |records: &mut Vec<Value>| {
        let status = records.iter().position(|record| is(record, "system", "status")).unwrap();
        records.insert(status, records[status].clone());
    };
    check(PLAIN, twice, &[(Part::Order, K::Count, "records: system/status")]);
}

#[test]
fn the_dialogue_is_compared_with_the_lines_of_the_host() {
    const ASKS: &str = "permission-allow";
    let silent = |records: &mut Vec<Value>| {
        records.retain(|record| record["request"]["subtype"] != "can_use_tool");
    };
    let count = "dialogue: CLI control_request/can_use_tool Bash";
    check(
        ASKS,
        silent,
        &[(Part::Dialogue, K::KindGone, "control_request"), (Part::Dialogue, K::Count, count)],
    );
    // The new name is as long as the old one, so that the host's lines keep their places.
    let renamed = |records: &mut Vec<Value>| {
        let asks = records.iter_mut().find(|one| one["request"]["subtype"] == "can_use_tool");
        let request = asks.unwrap()["request"].as_object_mut().unwrap();
        let name = request.shift_remove("display_name").unwrap();
        request.insert("visible_name".into(), name);
    };
    let place = |key: &str| format!("control_request.request<can_use_tool>.{key}");
    let expect = [
        (Part::Dialogue, K::FieldNew, &*place("visible_name")),
        (Part::Dialogue, K::FieldGone, &*place("display_name")),
    ];
    check(ASKS, renamed, &expect);
}

#[test]
fn runs_end_in_another_way() {
    let before = cassette(PLAIN);
    let mut after = before.clone();
    after.manifest.exit = Some(clitape_recording::cassette::Exit::Code(3));
    let found = changes(&before, &after);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].place.as_str()), (K::Exit, "exit of run 1"));
    assert_eq!(found[0].what, "is code 3 where it was code 0");
}
