//! Tests that `schemas/stream-json.json` equals the output of `clitape schema`, that every recording fits it, and that
//! a changed record does not.

use std::collections::BTreeMap;
use std::fs;

use clitape_recording::cassette::{Cassette, Origin};
use clitape_recording::scenario::Workspace;
use clitape_runner::conform::{Conformance, conform};
use serde_json::{Map, Value, json};

use crate::common;

const SCHEMA: &str = "schemas/stream-json.json";

fn committed() -> Value {
    let text = fs::read_to_string(common::root().join(SCHEMA)).expect("the schema is there");
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// Returns the stdout of every recording of the real CLI, with its place. Imported ones are left out, because they were
/// written by hand.
fn recordings() -> Vec<(String, Vec<u8>)> {
    let workspace = Workspace::at(common::root());
    let mut all = Vec::new();
    for name in workspace.recorded_names().expect("the folders can be read") {
        for version in workspace.recorded(&name).expect("the folder can be read") {
            let found = Cassette::find(&workspace, &name, &version);
            let cassette = found.expect("the cassette can be read");
            if cassette.manifest.origin == Origin::Recorded {
                let stdout = cassette.outputs().map(<[u8]>::to_vec);
                all.extend(stdout.map(|stdout| (format!("{name}/{version}"), stdout)));
            }
        }
    }
    all
}

/// Returns the first record of each kind, `type/subtype` or `stream_event/event type`, from the newest recordings that
/// have it.
fn first_of_each_kind() -> BTreeMap<String, Map<String, Value>> {
    let mut first = BTreeMap::new();
    for (_, bytes) in recordings().into_iter().rev() {
        let lines = bytes.split(|byte| *byte == b'\n');
        for record in lines.filter_map(|line| serde_json::from_slice::<Map<_, _>>(line).ok()) {
            let word = |value: Option<&Value>| Some(value?.as_str()?.to_owned());
            let Some(kind) = word(record.get("type")) else { continue };
            let detail = word(record.get("subtype"))
                .or_else(|| word(record.get("event").and_then(|event| event.get("type"))));
            first
                .entry([Some(kind), detail].into_iter().flatten().collect::<Vec<_>>().join("/"))
                .or_insert(record);
        }
    }
    first
}

#[test]
fn the_schema_of_the_stream_is_up_to_date() {
    let (code, printed, stderr) = common::run(common::root(), &["schema"]);
    assert_eq!(code, 0, "{stderr}");
    let path = common::root().join(SCHEMA);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &printed).expect("the schema can be written");
    }
    let is_same = fs::read_to_string(&path).is_ok_and(|committed| committed == printed);
    assert!(is_same, "{SCHEMA} is old; run `UPDATE_SCHEMA=1 cargo test --test schema`");
}

#[test]
fn every_recording_conforms_to_the_schema() {
    let schema = committed();
    let recordings = recordings();
    let mut all = 0;
    for (place, bytes) in recordings {
        let version = place.rsplit('/').next().and_then(|version| version.parse().ok());
        let found = conform(&schema, &bytes, version.as_ref());
        let Conformance { records, breaks, absent, conforms_to, .. } = found;
        assert_eq!((breaks, absent), (Vec::new(), Vec::new()), "{place}");
        // A run that was ended at once printed nothing.
        let is_conform = version.is_some_and(|version| conforms_to.contains(&version));
        assert!(is_conform || records == 0, "{place}");
        all += records;
    }
    assert!(all > 10_000, "{all} records");
}

/// A change of a field.
enum Mutation {
    Remove,
    Rename(&'static str),
    Set(Value),
}

use Mutation::{Remove, Rename, Set};

/// Checks that the first record of `kind` with `mutation` at `pointer` is convicted there, or in the object that misses
/// the field.
fn check(kind: &str, pointer: &str, mutation: Mutation) {
    let schema = committed();
    let record = first_of_each_kind().remove(kind).expect("the kind is recorded");
    let mut record = Value::Object(record);
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let object =
        record.pointer_mut(parent).and_then(Value::as_object_mut).expect("the place is there");
    let before = object.remove(key).expect("the field is there");
    let at = match mutation {
        Remove => parent,
        Rename(name) => {
            object.insert(name.to_owned(), before);
            parent
        }
        Set(value) => {
            object.insert(key.to_owned(), value);
            pointer
        }
    };
    let found = conform(&schema, record.to_string().as_bytes(), None);
    let convicted = found.breaks.iter().chain(&found.absent);
    let places: Vec<_> = convicted.map(|one| one.pointer.as_str()).collect();
    assert!(places.contains(&at), "{kind} {pointer}: {found:?}");
}

#[test]
fn a_changed_record_is_convicted() {
    for (kind, pointer, mutation) in [
        ("assistant", "/type", Remove),
        ("assistant", "/message", Set(json!("text"))),
        ("assistant", "/message", Remove),
        ("assistant", "/session_id", Rename("sessionId")),
        ("assistant", "/parent_tool_use_id", Set(json!(7))),
        ("assistant", "/message/content", Set(json!({}))),
        ("assistant", "/message/role", Remove),
        ("assistant", "/message/usage", Set(json!(null))),
        ("assistant", "/message/usage/output_tokens", Set(json!("6"))),
        ("assistant", "/message/content/0/type", Rename("kind")),
        ("user", "/message", Set(json!([]))),
        ("user", "/uuid", Set(json!(1))),
        ("user", "/message/content", Set(json!(true))),
        ("result/success", "/result", Set(json!({"text": ""}))),
        ("result/success", "/is_error", Set(json!("false"))),
        ("result/success", "/duration_ms", Set(json!("12"))),
        ("result/success", "/num_turns", Remove),
        ("result/success", "/usage", Remove),
        ("result/success", "/usage/input_tokens", Set(json!(null))),
        ("result/success", "/modelUsage", Set(json!([]))),
        ("result/success", "/permission_denials", Set(json!("none"))),
        ("result/success", "/total_cost_usd", Rename("cost_usd")),
        ("system/init", "/tools", Set(json!("Bash"))),
        ("system/init", "/model", Set(json!({"id": "x"}))),
        ("system/init", "/mcp_servers", Set(json!({}))),
        ("system/init", "/cwd", Rename("workdir")),
        ("system/status", "/status", Set(json!(false))),
        ("stream_event/content_block_delta", "/event/index", Set(json!("0"))),
        ("stream_event/content_block_delta", "/event/delta", Set(json!("text"))),
        ("stream_event/content_block_start", "/event/content_block", Remove),
        ("stream_event/message_start", "/event/message", Rename("msg")),
        ("stream_event/message_delta", "/event/usage", Set(json!(3))),
        ("stream_event/message_delta", "/event/delta/stop_reason", Set(json!(1))),
        ("control_request", "/request", Remove),
        ("control_response", "/response", Set(json!(null))),
        ("rate_limit_event", "/rate_limit_info", Set(json!("ok"))),
    ] {
        check(kind, pointer, mutation);
    }
}

#[test]
fn conform_says_where_a_file_leaves_the_schema() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let own = "cassettes/plain-text/2.1.329/stdout.jsonl";
    let text = fs::read_to_string(common::root().join(own)).expect("the recording is there");
    fs::write(dir.path().join("good"), &text).expect("it can be written");
    let bad = text.replace("\"is_error\":false", "\"is_error\":\"no\",\"extra\":1");
    fs::write(dir.path().join("bad"), format!("a banner\n{bad}")).expect("it can be written");
    let check = |args: &[&str], code: i32, out: &[&str]| {
        common::check(dir.path(), args, code, out, &[]);
    };
    let all = "good: stream-json of CLI 2.1.329; conforms to 1.0.128, 2.1.148 and 2.1.329";
    let none = "good: 25 records, 0 that break readers, 0 absent, 0 new";
    check(&["conform", "good"], 0, &[all, none]);
    let sentences = [
        "bad: stream-json of CLI 2.1.329; conforms to no version, because it breaks readers",
        "breaks: bad:",
        "/is_error is \"no\", where only boolean was seen",
        "new: bad:1: is no record",
        "/extra is a field that was never seen: 1",
        "1 that break readers, 0 absent, 2 new",
    ];
    check(&["conform", "good", "bad"], 3, &sentences);
    check(&["conform", "bad", "--json"], 3, &[r#""pointer":"/is_error""#, r#""file":"bad""#]);
    // An old file lacks what came later, and is held to that only if a caller says so.
    fs::write(
        dir.path().join("old"),
        text.replace("\"uuid\":", "\"id\":").replace("2.1.329", "2.1.100"),
    )
    .expect("it can be written");
    check(
        &["conform", "old"],
        0,
        &["of CLI 2.1.100; conforms to no version", "absent: old:1: system/init has no `uuid`"],
    );
    let old = common::root().join("cassettes/plain-text/1.0.128/stdout.jsonl");
    let old = old.to_str().expect("it is text");
    check(
        &["conform", old],
        0,
        &["of a CLI that it does not name; conforms to 1.0.128\n", "0 absent"],
    );
    check(
        &["conform", old, "--cli-version", "2.1.148"],
        3,
        &["system/init has no `claude_code_version`, which every recording since 2.1.148 has"],
    );
    check(&["conform", old, "--cli-version", "2.0.75"], 0, &["conforms to 1.0.128 and 2.0.75\n"]);
    let kept = r#"{"type":"user","sessionId":"s","version":"2.1.329","message":{"role":"user","content":"Hi"}}"#;
    fs::write(dir.path().join("kept"), kept).expect("it can be written");
    check(
        &["conform", "kept"],
        0,
        &[
            "kept: the transcript of a session, kept by CLI 2.1.329, and no stream-json",
            "clitape session FILE",
        ],
    );
    fs::write(dir.path().join("other"), "{\"type\":\"turn.started\"}\n")
        .expect("it can be written");
    check(&["conform", "other"], 4, &["other: no stream-json of claude"]);
    fs::write(dir.path().join("empty"), "").expect("it can be written");
    check(&["conform", "empty"], 4, &["empty: no record", "0 records"]);
    common::check(dir.path(), &["conform", "missing"], 2, &[], &["missing"]);
    common::check(
        dir.path(),
        &["conform", "good", "--schema", "good"],
        2,
        &[],
        &["clitape schema"],
    );
}
