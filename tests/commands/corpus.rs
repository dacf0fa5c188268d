//! Tests of `clitape corpus`: the files that it writes, the loops of its README, and that clitape's own parser gets out of
//! damaged bytes what must hold.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clitape_stream::{Event, Parser, RunStatus};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{check, edit_manifest, has_program, root, tree, workspace};

/// The loop of the README in Rust.
mod read {
    #![allow(dead_code, clippy::disallowed_methods, reason = "it is a program of its own")]
    include!("../../packaging/corpus/read.rs");

    pub(super) fn read(stdout: &[u8]) -> Value {
        final_text(stdout)
    }
}

/// Scenarios of which the sample is made: text, tools, half characters, a host, further runs, a failure, an old record.
const SAMPLE: [&str; 7] = [
    "plain-text",
    "three-tools",
    "unicode",
    "ask-user",
    "resume-killed-mid-tool",
    "api-400",
    "no-partials",
];

/// Writes a corpus of the sample; returns the workspace, in which it is the folder `corpus`.
fn sample() -> TempDir {
    let dir = workspace(&SAMPLE);
    check(dir.path(), &["corpus", "--out", "corpus"], 0, &["wrote corpus: "], &[]);
    dir
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A stdout of a corpus, and the final text that it must give.
struct Sampled {
    path: PathBuf,
    final_text: Value,
}

/// Returns every stdout of a corpus, recorded and damaged.
fn sampled(corpus: &Path) -> Vec<Sampled> {
    let mut all = Vec::new();
    for recording in json(&corpus.join("index.json"))["recordings"].as_array().unwrap() {
        let reading = corpus.join(recording["reading"].as_str().unwrap());
        for run in json(&reading)["runs"].as_array().unwrap() {
            let path = reading.with_file_name(run["stdout"].as_str().unwrap());
            all.push(Sampled { path, final_text: run["final_text"].clone() });
        }
        let Some(mutated) = recording["mutated"].as_str() else { continue };
        let mutated = corpus.join(mutated);
        for one in json(&mutated)["mutated"].as_array().unwrap() {
            let path = mutated.with_file_name(one["stdout"].as_str().unwrap());
            all.push(Sampled { path, final_text: one["must_hold"]["final_text"].clone() });
        }
    }
    all
}

#[test]
fn a_corpus_has_the_bytes_and_the_expected_reading() {
    let dir = sample();
    let corpus = dir.path().join("corpus");
    let of = |name: &str| corpus.join("recordings").join(name);
    for name in ["stdout.jsonl", "stdin.jsonl", "events.jsonl", "reading.json"] {
        assert!(of("ask-user/2.1.332").join(name).is_file(), "{name}");
    }
    let recorded = dir.path().join("cassettes/unicode/2.1.329/stdout.jsonl");
    let copied = of("unicode/2.1.329/stdout.jsonl");
    assert_eq!(fs::read(copied).unwrap(), fs::read(recorded).unwrap());
    let reading = json(&of("three-tools/2.1.329/reading.json"));
    let run = &reading["runs"][0];
    let answer =
        "They do not agree: the server listens on port 8080, the client asks for port 8081.";
    assert_eq!(run["final_text"], answer);
    assert_eq!(run["session"]["cli_version"], "2.1.329");
    assert_eq!(run["turns"][0]["calls"].as_array().unwrap().len(), 3);
    assert_eq!(run["usage"], run["turns"][0]["usage"]);
    assert!(run["usage"]["output"].as_u64().unwrap() > 0, "{run}");
    let events = fs::read_to_string(of("three-tools/2.1.329/events.jsonl")).unwrap();
    let counted = run["event_counts"].as_object().unwrap().values();
    assert_eq!(counted.filter_map(Value::as_u64).sum::<u64>(), events.lines().count() as u64);
    let runs = json(&of("resume-killed-mid-tool/2.1.332/reading.json"))["runs"].clone();
    assert_eq!(runs[0]["turns"][0]["ending"], "cut_off");
    assert_eq!(runs[1]["stdout"], "stdout.2.jsonl");
    let readme = fs::read_to_string(corpus.join("README.md")).unwrap();
    for word in ["{recordings}", "{scenarios}", "{versions}", "{mutated}", "{read."] {
        assert!(!readme.contains(word), "{word} in\n{readme}");
    }
    assert!(fs::read_to_string(corpus.join("LICENSE")).unwrap().contains("CC0 1.0 Universal"));
}

#[test]
fn a_corpus_is_the_same_each_time() {
    let dir = sample();
    check(dir.path(), &["--quiet", "corpus", "--out", "again/corpus"], 0, &[], &[]);
    let files = |folder: &str| {
        let folder = dir.path().join(folder);
        let relative = |path: &Path| path.strip_prefix(&folder).unwrap().to_owned();
        tree(&folder).iter().map(|(path, bytes)| (relative(path), bytes.clone())).collect()
    };
    let [one, two]: [BTreeMap<PathBuf, Vec<u8>>; 2] = ["corpus", "again/corpus"].map(files);
    assert!(one == two, "two corpora of the same recordings differ");
}

#[test]
fn a_corpus_takes_a_folder_of_its_own() {
    let dir = sample();
    let taken = "corpus is there already, and a corpus takes a folder of its own";
    check(dir.path(), &["corpus", "--out", "corpus"], 2, &[], &[taken]);
    fs::write(dir.path().join("file"), "").unwrap();
    check(dir.path(), &["corpus", "--out", "file"], 2, &[], &["file is there already"]);
    fs::create_dir(dir.path().join("empty")).unwrap();
    let one = ["corpus", "three-tools/2.1.329", "--out", "empty"];
    let wrote = "wrote empty: 1 recording of 1 scenario, ";
    check(dir.path(), &one, 0, &[wrote], &[]);
    let list = json(&dir.path().join("empty/index.json"));
    assert_eq!(list["recordings"].as_array().unwrap().len(), 1);
    let manifest = dir.path().join("cassettes/unicode/2.1.329/cassette.toml");
    edit_manifest(&manifest, |text| text.replace("ed348f57", "00000000"));
    check(dir.path(), &["corpus", "--out", "new"], 5, &[], &["is damaged"]);
    assert!(!dir.path().join("new").exists());
    let nothing = ["corpus", "--exclude", "*", "--out", "new"];
    check(dir.path(), &nothing, 4, &[], &["no corpus is written"]);
    assert!(!dir.path().join("new").exists());
}

#[test]
fn the_loops_of_the_readme_get_the_final_text() {
    let dir = sample();
    let corpus = dir.path().join("corpus");
    let readme = fs::read_to_string(corpus.join("README.md")).unwrap();
    // Node.js runs TypeScript from 22.18 on; the loop has no types, and runs as JavaScript everywhere.
    fs::copy(corpus.join("read/read.ts"), dir.path().join("read.mjs")).unwrap();
    let mut programs: Vec<(&str, Vec<PathBuf>)> = Vec::new();
    if has_program("python3") {
        programs.push(("python3", vec![corpus.join("read/read.py")]));
    }
    if has_program("node") {
        programs.push(("node", vec![dir.path().join("read.mjs")]));
    }
    if has_program("go") {
        let build = ["build", "-o", "read-go", "corpus/read/read.go"];
        let built = Command::new("go").args(build).current_dir(dir.path()).status().unwrap();
        assert!(built.success());
        programs.push(("./read-go", Vec::new()));
    }
    for file in ["read.py", "read.ts", "read.go", "read.rs"] {
        let text = fs::read_to_string(root().join("packaging/corpus").join(file)).unwrap();
        assert!(readme.contains(&text), "the README lacks {file}");
    }
    for Sampled { path, final_text } in sampled(&corpus) {
        let shown = path.display();
        assert_eq!(read::read(&fs::read(&path).unwrap()), final_text, "Rust: {shown}");
        // The oldest and the newest version have the most differences.
        if !["1.0.128", "2.1.332"].iter().any(|version| path.to_string_lossy().contains(version)) {
            continue;
        }
        for (program, args) in &programs {
            let mut command = Command::new(program);
            let output = command.args(args).arg(&path).current_dir(dir.path()).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{program}: {shown}\n{told}");
            let got: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(got, final_text, "{program}: {shown}");
        }
    }
}

/// The events of some bytes, as they are written.
fn events(stdout: &[u8]) -> Vec<Value> {
    let mut events = Vec::new();
    let mut take = |event: Event<'_>| events.push(serde_json::to_value(&event).unwrap());
    let mut parser = Parser::new();
    parser.feed_with(stdout, &mut take);
    parser.finish_with(&mut take);
    events
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["kind"] == kind).map(|event| &event["data"]).collect()
}

/// Checks that the parser gets out of damaged bytes what must hold; `recorded` are the bytes without the damage.
fn check_mutated(path: &Path, recorded: &[u8], must_hold: &Value) {
    let shown = path.display();
    let (base, found) = (events(recorded), events(&fs::read(path).unwrap()));
    if let Some(more @ 1..) = must_hold["unknown_kinds"].as_u64() {
        let unknown = |events: &[Value]| of_kind(events, "unknown").len() as u64;
        assert_eq!(unknown(&found), unknown(&base) + more, "{shown}");
    }
    let meant = |events: &[Value]| -> Vec<Value> {
        let is_meant = |event: &&Value| event["kind"] != "diagnostic" && event["kind"] != "unknown";
        events.iter().filter(is_meant).cloned().collect()
    };
    if must_hold["same_events"] == true {
        assert_eq!(meant(&base), meant(&found), "{shown}");
    }
    let ended = of_kind(&found, "outcome");
    let incomplete = RunStatus::Incomplete.to_string();
    let whole = ended.iter().filter(|outcome| outcome["status"] != incomplete.as_str()).count();
    assert_eq!(whole as u64, must_hold["results"].as_u64().unwrap(), "{shown}");
    let is_cut_off = ended.last().is_some_and(|outcome| outcome["status"] == incomplete.as_str());
    assert_eq!(is_cut_off, must_hold["is_cut_off"] == true, "{shown}");
    let diagnostics = of_kind(&found, "diagnostic").len() as u64;
    assert!(diagnostics >= must_hold["unusable"].as_u64().unwrap(), "{shown}: {must_hold}");
}

/// The record that CLI 1.0.128 writes as the result of an answer without a text.
const NO_CONTENT: &str = "(no content)";
/// The beginning of the recordings that no model makes: calls that the parser and the facts order otherwise, and texts with
/// tags that the parser takes for thoughts.
const ODD: &str = "odd-";

/// Checks that the events of a run, which are the parser's, say the same as the rest of its reading.
fn check_agreement(run: &Value, events: &[Value], name: &str) {
    let turns = run["turns"].as_array().unwrap();
    let outcomes = of_kind(events, "outcome");
    assert_eq!(outcomes.len(), turns.len(), "{name}: turns");
    for (turn, outcome) in turns.iter().zip(outcomes) {
        let status = match turn["ending"].as_str().unwrap() {
            "answered" | "silent" => "ok",
            "cut_off" => "incomplete",
            _ => "error",
        };
        assert_eq!(outcome["status"], status, "{name}: {turn}");
        if status != "incomplete" {
            assert_eq!(outcome["usage"], turn["usage"], "{name}");
        }
        let result = turn["result"].as_str().filter(|text| status == "ok" && *text != NO_CONTENT);
        let text = outcome["text"].as_str().unwrap().trim();
        let is_same = text.ends_with(result.unwrap_or_default());
        assert!(is_same || name.starts_with(ODD), "{name}: {text} is not {result:?}");
    }
    let session = of_kind(events, "session").last().map(|session| (*session).clone());
    let session = session.unwrap_or_default();
    for (of_event, of_reading) in
        [("session_id", "id"), ("model", "model"), ("cli_version", "cli_version")]
    {
        assert_eq!(session[of_event], run["session"][of_reading], "{name}: {of_event}");
    }
    let started: Vec<&Value> = of_kind(events, "tool_start");
    let started =
        started.iter().filter(|call| call.get("parent").is_none()).map(|call| &call["id"]);
    let calls = turns.iter().flat_map(|turn| turn["calls"].as_array().unwrap());
    let calls: Vec<&Value> = calls.map(|call| &call["id"]).collect();
    assert!(started.eq(calls) || name.starts_with(ODD), "{name}: calls");
}

#[test]
fn the_parser_agrees_with_every_reading_and_survives_every_damage() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    let out = corpus.to_str().unwrap();
    check(root(), &["corpus", "--out", out], 0, &["recordings of", "damaged outputs"], &[]);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for recording in json(&corpus.join("index.json"))["recordings"].as_array().unwrap() {
        let reading = corpus.join(recording["reading"].as_str().unwrap());
        let name =
            format!("{}/{}", recording["scenario"].as_str().unwrap(), recording["cli_version"]);
        for run in json(&reading)["runs"].as_array().unwrap() {
            let events =
                fs::read_to_string(reading.with_file_name(run["events"].as_str().unwrap()));
            let events = events.unwrap();
            let events = events.lines().map(|line| serde_json::from_str(line).unwrap());
            check_agreement(run, &events.collect::<Vec<_>>(), &name);
        }
        let recorded = fs::read(reading.with_file_name("stdout.jsonl")).unwrap();
        let Some(mutated) = recording["mutated"].as_str() else { continue };
        let mutated = corpus.join(mutated);
        for one in json(&mutated)["mutated"].as_array().unwrap() {
            let path = mutated.with_file_name(one["stdout"].as_str().unwrap());
            check_mutated(&path, &recorded, &one["must_hold"]);
            *kinds.entry(one["kind"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert!(kinds.len() == 5 && kinds.values().all(|count| *count > 100), "{kinds:?}");
    let bytes: u64 = tree(&corpus).iter().map(|(_, bytes)| bytes.len() as u64).sum();
    assert!(bytes < 60_000_000, "the corpus has {bytes} bytes");
}
