//! Tests of the check against the schema.

use serde_json::{Value, json};

use super::{CheckedFormat, Conformance, SchemaDifference, conform};
use crate::observed::tests::observed;

/// Returns the places of differences.
fn places(list: &[SchemaDifference]) -> Vec<(usize, &str)> {
    list.iter().map(|one| (one.line, one.pointer.as_str())).collect()
}

/// Checks the places of what breaks readers, what is absent, and what is new. All records were printed by 2.1.329.
fn check(
    records: &[Value],
    lines: &[&str],
    breaks: &[(usize, &str)],
    absent: &[(usize, &str)],
    new: &[(usize, &str)],
) {
    let records: Vec<_> = records.iter().map(|record| ("2.1.329", record.clone())).collect();
    let found = conform(&observed(&records), lines.join("\n").as_bytes(), None);
    assert_eq!(places(&found.breaks), breaks, "{found:?}");
    assert_eq!(places(&found.absent), absent, "{found:?}");
    assert_eq!(places(&found.new), new, "{found:?}");
}

#[test]
fn another_type_breaks_readers_and_a_missing_field_is_absent() {
    let seen = [
        json!({"type": "a", "n": 1, "list": [{"type": "t", "text": ""}, {"type": "v"}], "by_type": {"x": 1}, "one": {"type": "o"}}),
    ];
    check(
        &seen,
        &[r#"{"type":"a","n":2,"list":[],"by_type":{"other":7},"one":{"type":"o"}}"#],
        &[],
        &[],
        &[],
    );
    let wrong = r#"{"type":"a","n":"2","list":[{"type":"t","text":0}],"by_type":{"a/b":""},"one":{"type":"o"}}"#;
    check(&seen, &["", wrong], &[(2, "/n"), (2, "/list/0/text"), (2, "/by_type/a~1b")], &[], &[]);
    let lacking = r#"{"type":"a","list":[{"type":"t"}],"by_type":{},"one":{}}"#;
    check(&seen, &[lacking, lacking], &[], &[(1, ""), (1, "/list/0"), (1, "/one")], &[]);
    // Null is like a field that is missing.
    let null = r#"{"type":"a","n":null,"list":[],"by_type":{},"one":{"type":"o"}}"#;
    check(&seen, &[null], &[], &[(1, "/n")], &[]);
    let wrong =
        r#"{"type":"a","n":1,"list":[{"type":null,"text":""}],"by_type":{},"one":{"type":"o"}}"#;
    check(&seen, &[wrong], &[(1, "/list/0")], &[], &[]);
}

#[test]
fn an_object_without_a_type_is_a_record_if_it_has_the_rest_of_one() {
    let seen = [json!({"type": "a", "n": 1, "s": ""})];
    check(&seen, &[r#"{"n":1,"s":"","more":2}"#], &[(1, "")], &[], &[]);
    check(
        &seen,
        &[r#"{"_meta":true,"n":1}"#, r#"{"type":"a","n":1,"s":""}"#],
        &[],
        &[],
        &[(1, "")],
    );
}

#[test]
fn what_was_never_seen_is_new_and_counted() {
    let seen = [json!({"type": "a", "list": [{"type": "t"}], "input": {"x": 1}, "none": null})];
    let line = r#"{"type":"a","list":[{"type":"t","u":1},{"type":"t","u":2},{"type":"v"}],"input":{"y":""},"none":7}"#;
    check(
        &seen,
        &[line, "no record", r#"{"type":"b"}"#, r#"{"type":"b"}"#],
        &[],
        &[],
        &[(1, "/list/0/u"), (1, "/list/2"), (2, ""), (3, "")],
    );
}

#[test]
fn a_kind_with_a_subtype_is_another_one_than_that_without() {
    let seen = [json!({"type": "a", "x": 1}), json!({"type": "a", "subtype": "s", "y": 1})];
    check(&seen, &[r#"{"type":"a","x":1}"#, r#"{"type":"a","subtype":"s","y":1}"#], &[], &[], &[]);
    check(&seen, &[r#"{"type":"a","subtype":"s","x":1}"#], &[], &[(1, "")], &[(1, "/x")]);
}

#[test]
fn what_the_parser_loses_breaks_readers() {
    let seen = [json!({"type": "assistant", "message": {"content": []}})];
    let cut = r#"{"type":"assis"#;
    let bad = r#"{"type":"assistant","message":null}"#;
    let control = "{\"type\":\"assistant\",\"message\":{\"content\":[]},\"new\":\"a\tb\"}";
    check(&seen, &[r#"{"type":"assistant","message":{"content":[]}}"#, cut], &[(2, "")], &[], &[]);
    check(&seen, &[bad, ""], &[(1, "")], &[(1, "/message")], &[]);
    let whole = r#"{"type":"assistant","message":{"content":[]}}"#;
    let (two, logged) = (format!("{whole}{whole}"), format!("> {whole}"));
    let lines = [cut, "", &two, &logged, "a banner {", whole];
    check(&seen, &lines, &[(1, ""), (3, "")], &[], &[(4, ""), (5, "")]);
    let found = conform(&observed(&[("2.1.329", seen[0].clone())]), control.as_bytes(), None);
    assert_eq!(places(&found.breaks), [(1, "")], "{found:?}");
}

/// The schema of three versions: `middle` came with the second, and `inner` is in an object that came with the third.
fn three_versions() -> Value {
    observed(&[
        ("1.0.128", json!({"type": "a", "first": 1})),
        ("2.1.148", json!({"type": "a", "first": 1, "middle": 1})),
        ("2.1.329", json!({"type": "a", "first": 1, "middle": 1, "last": {"inner": 1}})),
    ])
}

/// Checks the versions to which a file conforms, and the lines of absent fields.
fn check_versions(lines: &[&str], version: Option<&str>, conforms_to: &[&str], absent: &[usize]) {
    let version = version.map(|version| version.parse().unwrap());
    let found = conform(&three_versions(), lines.join("\n").as_bytes(), version.as_ref());
    let versions: Vec<&str> = found.conforms_to.iter().map(|version| &**version).collect();
    assert_eq!(versions, conforms_to, "{found:?}");
    let lines: Vec<usize> = found.absent.iter().map(|one| one.line).collect();
    assert_eq!(lines, absent, "{found:?}");
}

#[test]
fn a_file_is_held_to_the_fields_of_its_own_version() {
    let all = r#"{"type":"a","first":1,"middle":1,"last":{"inner":1}}"#;
    check_versions(&[all], None, &["1.0.128", "2.1.148", "2.1.329"], &[]);
    let old = r#"{"type":"a","first":1}"#;
    check_versions(&[old], None, &["1.0.128"], &[]);
    check_versions(&[old], Some("2.1.148"), &["1.0.128"], &[1]);
    check_versions(&[old], Some("2.0.75"), &["1.0.128", "2.0.75"], &[]);
    check_versions(&[old], Some("1.0.24"), &["1.0.24", "1.0.128"], &[]);
    check_versions(&[r#"{"type":"a"}"#], None, &[], &[1]);
    // A version that is newer than all is held to the newest, and one between two to what both have.
    check_versions(&[old], Some("2.1.999"), &["1.0.128"], &[1, 1]);
    let middle = r#"{"type":"a","first":1,"middle":1,"last":{}}"#;
    check_versions(&[middle], Some("2.1.285"), &["1.0.128", "2.1.148", "2.1.285"], &[]);
    check_versions(&[middle], Some("2.1.329"), &["1.0.128", "2.1.148"], &[1]);
    // Each line is held to the version that was named last, and those before the first to the first.
    let named = |version: &str, fields: &str| {
        format!(r#"{{"type":"a","claude_code_version":"{version}","first":1{fields}}}"#)
    };
    let (new, old_again) = (named("2.1.148", r#","middle":1"#), named("2.0.75", ""));
    check_versions(&[&new, &old_again, old], None, &["1.0.128", "2.0.75"], &[]);
    check_versions(&[old, &new], None, &["1.0.128"], &[1]);
}

#[test]
fn a_file_that_names_no_version_is_of_one_that_prints_all_its_kinds() {
    let old = json!({"type": "a"});
    let new = json!({"type": "a", "added": 1});
    let mut records = vec![("1.0.128", old), ("2.1.148", new.clone()), ("2.1.329", new)];
    let kind = |name: &str| json!({"type": name});
    for _ in 0..5 {
        records.extend([("2.1.148", kind("often")), ("2.1.329", kind("often"))]);
        records.extend([("2.1.329", kind("newest")), ("2.1.329", kind("newest"))]);
    }
    records.extend([("2.1.148", kind("seldom")), ("2.1.329", kind("seldom"))]);
    let schema = observed(&records);
    for (kind, expect) in
        [("a", "1.0.128"), ("often", "2.1.329"), ("seldom", "1.0.128"), ("newest", "1.0.128")]
    {
        let file = format!("{{\"type\":\"a\"}}\n{{\"type\":\"{kind}\"}}");
        let found = conform(&schema, file.as_bytes(), None);
        assert_eq!(found.held_to.as_deref(), Some(expect), "{found:?}");
    }
}

#[test]
fn a_field_of_the_settings_is_not_absent() {
    let seen = [json!({"type": "system", "subtype": "init", "memory_paths": {}, "tools": []})];
    let all = r#"{"type":"system","subtype":"init","memory_paths":{},"tools":[]}"#;
    let without = r#"{"type":"system","subtype":"init","tools":[]}"#;
    check(&seen, &[all, without], &[], &[], &[]);
    check(
        &seen,
        &[r#"{"type":"system","subtype":"init","memory_paths":{}}"#],
        &[],
        &[(1, "")],
        &[],
    );
}

#[test]
fn a_message_that_the_cli_wrote_itself_needs_no_request() {
    let seen = [
        json!({"type": "assistant", "message": {"model": "m", "id": "i", "content": []}, "request_id": "r"}),
    ];
    let of =
        |message: &str| format!(r#"{{"type":"assistant","message":{{{message},"content":[]}}}}"#);
    check(&seen, &[&of(r#""model":"<synthetic>","id":"i""#)], &[], &[], &[]);
    check(&seen, &[&of(r#""model":"<synthetic>""#)], &[], &[(1, "/message")], &[]);
    check(&seen, &[&of(r#""model":"m","id":"i""#)], &[], &[(1, "")], &[]);
}

#[test]
fn a_transcript_and_a_foreign_file_are_not_taken_for_stream_json() {
    let check = |lines: &[&str], format: CheckedFormat, breaks: &[(usize, &str)]| {
        let schema = observed(&[("2.1.329", json!({"type": "user", "message": {"role": "user"}}))]);
        let found: Conformance = conform(&schema, lines.join("\n").as_bytes(), None);
        assert_eq!(found.format, format, "{found:?}");
        assert_eq!(places(&found.breaks), breaks, "{found:?}");
        assert_eq!((&found.absent[..], &found.conforms_to[..]), (&[][..], &[][..]), "{found:?}");
    };
    let kept = r#"{"type":"user","sessionId":"s","version":"2.1.99","message":{}}"#;
    check(&[r#"{"type":"summary","leafUuid":"u"}"#, kept], CheckedFormat::Transcript, &[]);
    let wrong = r#"{"type":"user","sessionId":"s","message":{"role":1}}"#;
    check(&[kept, wrong], CheckedFormat::Transcript, &[(2, "/message/role")]);
    check(&[r#"{"type":"turn.started"}"#], CheckedFormat::Foreign, &[]);
    // A record of stdout with another name for its session is no line of a transcript.
    let renamed =
        r#"{"type":"user","sessionId":"s","parent_tool_use_id":null,"message":{"role":1}}"#;
    check(&[renamed], CheckedFormat::StreamJson, &[(1, "/message/role")]);
}
