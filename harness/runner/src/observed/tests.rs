//! Tests of the schema that is made from records, and of the check against it.

use serde_json::{Value, json};

use super::{Printed, Shape, conform};

/// Returns the schema of records of these versions.
fn observed(records: &[(&str, Value)]) -> Value {
    let mut shape = Shape::default();
    let scenario = &"any".parse().unwrap();
    for (version, record) in records {
        shape.add(record, Printed { scenario, version: &version.parse().unwrap() });
    }
    super::document(&shape)
}

/// Checks the places of the violations, and those of the new kinds, fields and lines.
fn check(records: &[Value], lines: &[&str], wrong: &[(usize, &str)], new: &[(usize, &str)]) {
    let records: Vec<_> = records.iter().map(|record| ("2.1.329", record.clone())).collect();
    let found = conform(&observed(&records), lines.join("\n").as_bytes());
    let places: Vec<_> = found.wrong.iter().map(|one| (one.line, one.pointer.as_str())).collect();
    assert_eq!(places, wrong, "{found:?}");
    let places: Vec<_> = found.new.iter().map(|one| (one.line, one.pointer.as_str())).collect();
    assert_eq!(places, new, "{found:?}");
}

#[test]
fn a_field_has_its_versions_and_how_often_it_was_there() {
    let schema = observed(&[
        ("2.1.99", json!({"type": "a", "old": 1, "x": "y"})),
        ("2.1.148", json!({"type": "a", "x": null, "empty": []})),
        ("2.1.329", json!({"type": "a", "x": "z", "new": [1.5]})),
    ]);
    let kind = &schema["$defs"]["a"];
    assert_eq!(schema["x-versions"], json!(["2.1.99", "2.1.148", "2.1.329"]));
    assert_eq!(kind["required"], json!(["type", "x"]));
    let field = |name: &str| kind["properties"][name].clone();
    assert_eq!(
        field("old"),
        json!({"type": "number", "examples": [1], "x-seen": [1, 3], "x-until": "2.1.99"})
    );
    assert_eq!(field("x"), json!({"type": ["null", "string"], "examples": ["y"]}));
    assert_eq!(field("empty")["items"], json!({"description": "No item was seen."}));
    assert_eq!(field("new")["items"], json!({"type": "number", "examples": [1.5]}));
    assert_eq!(field("new")["x-since"], "2.1.329");
}

#[test]
fn another_type_and_a_missing_field_are_wrong() {
    let seen =
        [json!({"type": "a", "n": 1, "list": [{"type": "t", "text": ""}], "by_type": {"x": 1}})];
    check(&seen, &[r#"{"type":"a","n":2,"list":[],"by_type":{"other":7}}"#], &[], &[]);
    let wrong = r#"{"type":"a","n":"2","list":[{"type":"t","text":null}],"by_type":{"a/b":""}}"#;
    check(&seen, &["", wrong], &[(2, "/n"), (2, "/list/0/text"), (2, "/by_type/a~1b")], &[]);
    check(
        &seen,
        &[r#"{"type":"a","list":[{"type":"t"}],"by_type":{}}"#],
        &[(1, ""), (1, "/list/0")],
        &[],
    );
    check(&seen, &[r#"{"n":1}"#], &[(1, "")], &[]);
    let wrong = r#"{"type":"a","n":1,"list":[{"type":null,"text":""}],"by_type":{}}"#;
    check(&seen, &[wrong], &[(1, "/list/0")], &[]);
}

#[test]
fn what_nobody_has_seen_is_new_and_counted() {
    let seen = [json!({"type": "a", "list": [{"type": "t"}], "input": {"x": 1}, "none": null})];
    let line = r#"{"type":"a","list":[{"type":"t","u":1},{"type":"t","u":2},{"type":"v"}],"input":{"y":""},"none":7}"#;
    check(
        &seen,
        &[line, "no record", r#"{"type":"b"}"#, r#"{"type":"b"}"#],
        &[],
        &[(1, "/list/0/u"), (1, "/list/2"), (2, ""), (3, "")],
    );
}

#[test]
fn a_kind_with_a_subtype_is_another_one_than_that_without() {
    let seen = [json!({"type": "a", "x": 1}), json!({"type": "a", "subtype": "s", "y": 1})];
    check(&seen, &[r#"{"type":"a","x":1}"#, r#"{"type":"a","subtype":"s","y":1}"#], &[], &[]);
    check(&seen, &[r#"{"type":"a","subtype":"s","x":1}"#], &[(1, "")], &[(1, "/x")]);
}
