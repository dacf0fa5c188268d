//! Tests of what docs/promises.md promises: the code of today reads every file that clitape 0.1.0 wrote, and no id, field,
//! command or option of it is gone. The files in `tests/promises` never change.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that can't be set up fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clitape_judge::FindingKind;
use clitape_recording::cassette::{Cassette, sha256};
use clitape_runner::report::read;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{check, copy, files, has_program, root, run};

/// The files beside the list of sums that it does not name: itself, the description, and what has a test of its own.
const UNLISTED: [&str; 3] = ["README.md", "sums.json", "serve.jsonl"];

fn promised(name: &str) -> PathBuf {
    root().join("tests/promises").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(promised(name)).unwrap()
}

fn json(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap()
}

/// Returns a copy of the promised workspace.
fn workspace() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(&promised("workspace"), dir.path());
    dir
}

/// Adds the paths of all fields of a value; those of a list are the same for each of its values.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    found.insert(path.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| fields(value, &format!("{path}/{key}"), found));
        }
        Value::Array(list) => {
            list.iter().for_each(|value| fields(value, &format!("{path}/*"), found));
        }
        _ => {}
    }
}

/// Checks that a value of today has every field that a promised one has.
#[track_caller]
fn has_fields(promised: &Value, today: &Value, what: &str) {
    let [promised, today] = [promised, today].map(|value| {
        let mut found = BTreeSet::new();
        fields(value, "", &mut found);
        found
    });
    let gone: Vec<&String> = promised.difference(&today).collect();
    assert!(gone.is_empty(), "{what} lacks {gone:?}");
    assert!(promised.len() > 3, "{what} has no fields");
}

/// Runs a command that writes JSON to `today.json`, and checks its fields.
#[track_caller]
fn writes_the_fields(dir: &Path, args: &[&str], code: i32, name: &str) {
    let (got, out, err) = run(dir, &[args, &["--json", "today.json"]].concat());
    assert_eq!(got, code, "{args:?}\n{out}{err}");
    let today = fs::read(dir.join("today.json")).unwrap();
    has_fields(&json(name), &serde_json::from_slice(&today).unwrap(), name);
}

/// Returns the names of the elements and attributes of XML, without their values.
fn names_in_xml(xml: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for tag in xml.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        let element = tag.split([' ', '/', '\n']).next().unwrap_or_default();
        let mut parts = tag.split('"').step_by(2);
        names.extend(parts.by_ref().filter_map(|part| {
            Some(format!("{element} {}", part.trim().strip_suffix('=')?.rsplit(' ').next()?))
        }));
        names.insert(element.to_owned());
    }
    names
}

#[test]
fn the_promised_files_never_change() {
    let sums: BTreeMap<String, String> = serde_json::from_value(json("sums.json")).unwrap();
    let folder = promised("");
    let mut found = BTreeMap::new();
    for path in files(&folder, "") {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        if !UNLISTED.contains(&name.as_str()) {
            found.insert(name, sha256(&fs::read(&path).unwrap()));
        }
    }
    assert!(found.len() > 30, "{found:?}");
    let all: BTreeSet<&String> = sums.keys().chain(found.keys()).collect();
    let changed: Vec<_> =
        all.into_iter().filter(|name| sums.get(*name) != found.get(*name)).collect();
    assert!(
        changed.is_empty(),
        "these files changed, or sums.json does not name them: {changed:?}"
    );
}

#[test]
fn recordings_scenarios_and_goldens_are_read() {
    let dir = workspace();
    let mut seen = 0;
    for manifest in files(&dir.path().join("cassettes"), "cassette.toml") {
        let cassette = Cassette::load(manifest.parent().unwrap()).unwrap();
        let args = ["replay", &format!("{}/{}", cassette.manifest.scenario, cassette.version())];
        check(dir.path(), &args, 0, &["telegram"], &[]);
        seen += 1;
    }
    assert!(seen >= 5, "{seen} recordings");
    for scenario in ["plain-text", "three-tools", "ask-user", "resume-good"] {
        check(dir.path(), &["show", scenario], 0, &["clitape record"], &[]);
    }
    // A golden that is not read is no finding of a difference.
    let (code, out, err) = run(dir.path(), &["test", "--json", "today.json"]);
    assert_eq!(code, 3, "{out}{err}");
    assert!(out.contains("GD001 golden-differs plain-text"), "{out}");
    let report = read("today.json", &fs::read(dir.path().join("today.json")).unwrap()).unwrap();
    assert!(report.troubles().is_empty(), "{err}");
    let promised = read("test.json", text("test.json").as_bytes()).unwrap();
    assert_eq!(report.totals.cassettes, promised.totals.cassettes);
}

#[test]
fn plans_are_read() {
    let dir = workspace();
    let plan = promised("plan.json");
    let args = ["replay", "plain-text/2.1.329", "--plan", plan.to_str().unwrap()];
    check(dir.path(), &args, 0, &["telegram"], &[]);
    let kept = dir.path().join(".clitape/failures/plain-text");
    fs::create_dir_all(&kept).unwrap();
    fs::copy(promised("kept.json"), kept.join("2.1.329.json")).unwrap();
    check(dir.path(), &["test", "plain-text/2.1.329"], 3, &["(kept): "], &[]);
}

#[test]
fn reports_are_read_and_keep_their_fields() {
    let dir = workspace();
    for name in ["test.json", "subject.json"] {
        fs::copy(promised(name), dir.path().join(name)).unwrap();
        let report = read(name, text(name).as_bytes()).unwrap();
        assert!(report.totals.cassettes > 0, "{name}");
    }
    check(dir.path(), &["report", "merge", "test.json"], 3, &["GD001 golden-differs"], &[]);
    writes_the_fields(dir.path(), &["test", "--junit", "today.xml"], 3, "test.json");
    let [old, today] =
        [text("test.xml"), fs::read_to_string(dir.path().join("today.xml")).unwrap()];
    quick_junit::Report::deserialize_from_str(&old).unwrap();
    let [old, today] = [old, today].map(|xml| names_in_xml(&xml));
    assert!(old.is_subset(&today) && old.len() > 8, "{:?}", old.difference(&today));
    let args = ["compare", "2.1.329", "2.1.332", "--out", "out", "--junit", "compare.xml"];
    check(dir.path(), &args, 0, &[], &[]);
    let today = fs::read_to_string(dir.path().join("compare.xml")).unwrap();
    let [old, today] = [text("compare.xml"), today].map(|xml| names_in_xml(&xml));
    assert!(old.is_subset(&today) && old.len() > 8, "{:?}", old.difference(&today));
    let drift = ["drift", "--from", "2.1.329", "--to", "2.1.332"];
    writes_the_fields(dir.path(), &drift, 3, "drift.json");
}

#[test]
fn the_report_of_a_gateway_keeps_its_fields() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace();
    let bot = dir.path().join("subjects");
    fs::create_dir(&bot).unwrap();
    fs::copy(root().join("subjects/examples/telegram.py"), bot.join("telegram.py")).unwrap();
    let args = ["test", "--yes", "--subject", "example", "plain-text/2.1.332"];
    writes_the_fields(dir.path(), &args, 0, "subject.json");
}

#[test]
fn what_commands_print_keeps_its_fields() {
    let dir = workspace();
    let stdout = "cassettes/plain-text/2.1.332/stdout.jsonl";
    for (args, name) in [
        (&["list", "--json"][..], "list.json"),
        (&["versions", "--json"], "versions.json"),
        (&["conform", stdout, "--json"], "conform.json"),
    ] {
        let printed = check(dir.path(), args, 0, &[], &[]);
        has_fields(&json(name), &serde_json::from_str(&printed).unwrap(), name);
    }
    let lines = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let printed = check(dir.path(), &["replay", "plain-text/2.1.332", "--json"], 0, &[], &[]);
    let by_kind = |entries: &[Value]| {
        let mut kinds = BTreeMap::new();
        for entry in entries {
            let kind = format!("{} {}", entry["lane"], entry["kind"]);
            fields(entry, "", kinds.entry(kind).or_insert_with(BTreeSet::new));
        }
        kinds
    };
    let (promised, today) = (by_kind(&lines(&text("trace.jsonl"))), by_kind(&lines(&printed)));
    for (kind, fields) in promised {
        let today = today.get(&kind).unwrap_or_else(|| panic!("no {kind}"));
        assert!(fields.is_subset(today), "{kind} lacks {:?}", fields.difference(today));
    }
}

#[test]
fn a_corpus_keeps_its_fields() {
    let dir = workspace();
    check(dir.path(), &["corpus", "plain-text/2.1.332", "--out", "corpus"], 0, &[], &[]);
    let mut seen = 0;
    for path in files(&promised("corpus"), ".json") {
        let name = path.strip_prefix(promised("")).unwrap().to_str().unwrap();
        if name.starts_with("corpus/schema") {
            continue;
        }
        let today = fs::read(dir.path().join(name)).unwrap();
        has_fields(&json(name), &serde_json::from_slice(&today).unwrap(), name);
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn no_id_of_a_finding_is_gone_or_means_something_else() {
    let promised: BTreeSet<String> = serde_json::from_value(json("finding-ids.json")).unwrap();
    let today: BTreeSet<String> = FindingKind::ALL.iter().map(ToString::to_string).collect();
    let gone: Vec<_> = promised.difference(&today).collect();
    assert!(gone.is_empty() && promised.len() > 100, "{gone:?} of {}", promised.len());
}

#[test]
fn no_command_or_option_is_gone() {
    let dir = workspace();
    let commands: BTreeMap<String, Vec<String>> =
        serde_json::from_value(json("commands.json")).unwrap();
    assert!(commands.len() > 25, "{commands:?}");
    for (command, options) in commands {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = check(dir.path(), &args, 0, &["Usage"], &[]);
        let words: BTreeSet<&str> = help.split([' ', ',', '\n', '=', '[']).collect();
        let gone: Vec<_> = options.iter().filter(|it| !words.contains(it.as_str())).collect();
        assert!(gone.is_empty(), "clitape {command} has no {gone:?}");
    }
}

#[test]
fn exit_codes_mean_the_same() {
    let rows = json("exit-codes.json");
    let rows = rows.as_array().unwrap();
    let help = check(root(), &["--help"], 0, &["Exit codes:"], &[]);
    let mut codes = BTreeSet::new();
    for row in rows {
        let dir = workspace();
        if let Some(damaged) = row["damaged"].as_str() {
            fs::write(dir.path().join(damaged), "{}\n").unwrap();
        }
        let args: Vec<&str> =
            row["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let code = i32::try_from(row["code"].as_i64().unwrap()).unwrap();
        check(dir.path(), &args, code, &[], &[]);
        assert!(help.contains(&format!("\n  {code}  ")), "{help}");
        codes.insert(code);
    }
    assert_eq!(codes, [0, 2, 3, 4, 5].into());
}

#[test]
fn each_promise_of_the_page_has_its_test() {
    let page = fs::read_to_string(root().join("docs/promises.md")).unwrap();
    let source = fs::read_to_string(root().join("tests/commands/promises.rs")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| **")).collect();
    assert!(rows.len() >= 9, "{rows:?}");
    for row in rows {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {row}");
        for name in names.into_iter().filter(|name| !name.contains('.')) {
            assert!(source.contains(&format!("fn {name}()")), "no test {name}");
        }
    }
}
