//! Tests of the schema that is made from records.

use serde_json::{Value, json};

use super::{Printed, Shape};

/// Returns the schema of records of these versions.
pub(crate) fn observed(records: &[(&str, Value)]) -> Value {
    let mut shape = Shape::default();
    let scenario = &"any".parse().unwrap();
    for (version, record) in records {
        shape.add(record, Printed { scenario, version: &version.parse().unwrap() });
    }
    super::document(&shape)
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
    assert_eq!(field("new")["x-always-since"], "2.1.329");
}
