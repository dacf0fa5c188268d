//! Tests of `clitape serve`: the built program, to which a test runner writes requests.

#![cfg(unix)]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a program that can't be run fails the test")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use clitape_rig::serve::{ErrorAnswer, Greeting, PlayAnswer, PlayRequest};
use nix::sys::signal::Signal;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::common::project::{send, wait_for_silence_of};
use crate::common::{check, clitape, has_program, root, workspace};

/// A gateway that answers each message at once, and has two faults: it shows no sign of life, and an answer of its own.
const WRONG: &str = r#"
import json, os, subprocess, sys, urllib.request
def call(method, **params):
    url = f"{os.environ['TELEGRAM_API']}/bot{os.environ['TELEGRAM_TOKEN']}/{method}"
    request = urllib.request.Request(url, json.dumps(params).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["result"]
print("here I am", flush=True)
offset = 0
while True:
    for update in call("getUpdates", offset=offset, timeout=50):
        offset, message = update["update_id"] + 1, update["message"]
        claude = [os.environ["CLAUDE_BIN"], "-p", message["text"], "--output-format", "stream-json", "--verbose"]
        subprocess.run(claude, stdin=subprocess.DEVNULL, capture_output=True)
        call("sendMessage", chat_id=message["chat"]["id"], text="Yes.")
"#;

/// The settings of the subjects: the example, and the wrong one.
const SUBJECTS: &str = "
[subject.right]
kind = 'gateway'
idle_s = 1
command = ['python3', 'telegram.py']
env = { TELEGRAM_API = '{bot_api}', TELEGRAM_TOKEN = '{token}', CLAUDE_BIN = '{claude}' }

[subject.wrong]
like = 'right'
command = ['python3', 'wrong.py']

[subject.dead]
like = 'right'
command = ['sh', '-c', 'echo I give up; exit 3']

[subject.mute]
like = 'right'
ready = { output = 'up' }
command = ['sh', '-c', 'echo up; sleep 600']
";

/// Makes a workspace with these gateways.
fn project() -> TempDir {
    let dir = workspace(&["plain-text", "three-tools", "permission-allow"]);
    let config = dir.path().join("clitape.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(config, text + SUBJECTS).unwrap();
    fs::copy(root().join("subjects/examples/telegram.py"), dir.path().join("telegram.py")).unwrap();
    fs::write(dir.path().join("wrong.py"), WRONG).unwrap();
    dir
}

/// A running `clitape serve`.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts it, and reads the greeting.
    fn start(dir: &Path, subject: &str) -> (Self, Value) {
        let mut command = clitape();
        command.args(["serve", "--json", "--yes", subject]).current_dir(dir);
        // The folders of the gateways, by which their processes are found.
        fs::create_dir_all(dir.join("tmp")).unwrap();
        command.env("TMPDIR", dir.join("tmp"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, stdin, stdout };
        let greeting = server.read();
        (server, greeting)
    }

    fn write(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.write(&request.to_string());
        self.read()
    }

    /// Ends stdin, and returns the exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }
}

fn ids(answer: &Value) -> Vec<&str> {
    let findings = answer["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn a_request_is_answered_with_what_a_person_saw() {
    if !has_program("python3") {
        return;
    }
    let dir = project();
    let (mut server, greeting) = Server::start(dir.path(), "right");
    let expect = json!({"protocol": 1, "clitape": env!("CARGO_PKG_VERSION"), "subject": "right"});
    assert_eq!(greeting, expect);
    let answer = server.ask(&json!({"id": 7, "play": "three-tools", "version": "2.1.332"}));
    assert_eq!((&answer["id"], &answer["recording"]), (&json!(7), &json!("three-tools/2.1.332")));
    assert_eq!((&answer["passed"], &answer["findings"]), (&json!(true), &json!([])), "{answer}");
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1, "its edits are folded: {answer}");
    assert_eq!(messages[0]["text"], answer["final_text"]);
    assert!(answer["final_text"].as_str().unwrap().contains("port 8081"), "{answer}");
    let calls = answer["calls"].as_array().unwrap();
    let kinds: Vec<&str> = calls.iter().map(|call| call["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"sendMessage") && kinds.contains(&"editMessageText"), "{kinds:?}");
    let times: Vec<u64> = calls.iter().map(|call| call["at"].as_u64().unwrap()).collect();
    assert!(times.is_sorted() && times.last() > Some(&0), "{times:?}");
    // The next one is played at a new start, with other conditions.
    let paced = server.ask(&json!({"id": 8, "play": "plain-text/2.1.332", "pace": 5}));
    assert_eq!((&paced["id"], &paced["passed"]), (&json!(8), &json!(true)), "{paced}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_finding_is_an_object_and_no_end() {
    if !has_program("python3") {
        return;
    }
    let dir = project();
    let (mut server, _) = Server::start(dir.path(), "wrong");
    // All requests may be written at once, and stdin may end before the answers.
    for id in [1, 2] {
        server.write(&json!({"id": id, "play": "plain-text", "pace": 5}).to_string());
    }
    drop(server.stdin.take());
    for id in [1, 2] {
        let answer = server.read();
        assert_eq!((&answer["id"], &answer["passed"]), (&json!(id), &json!(false)), "{answer}");
        assert!(ids(&answer).contains(&"SB001"), "{answer}");
        let findings = answer["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["id"] == "SB001").unwrap();
        assert_eq!(finding["title"], "answer-missing");
        assert!(finding["demand"].as_str().unwrap().contains("answer"), "{finding}");
        let reproduce = "clitape rig wrong plain-text/2.1.332 --pace 5";
        assert_eq!(finding["reproduce"], reproduce, "{finding}");
        assert_eq!(
            (&answer["final_text"], &answer["printed"]),
            (&json!("Yes."), &json!(["here I am"]))
        );
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_wrong_request_is_an_error_that_says_what_to_do() {
    let dir = project();
    let (mut server, _) = Server::start(dir.path(), "dead");
    for (line, id, kind, part) in [
        ("hello", None, "request", r#"write one object on each line: {"id":1"#),
        (r#"{"id":1,"sing":"a"}"#, Some(1), "request", "it has no `play`"),
        (r#"{"id":2,"play":"plain-text","pase":1}"#, Some(2), "request", "unknown field `pase`"),
        (r#"{"id":3,"play":"plain-text","pace":0}"#, Some(3), "request", "write 1 to 60000"),
        (r#"{"id":4,"play":"*"}"#, Some(4), "request", "name one scenario"),
        (r#"{"id":5,"play":""}"#, Some(5), "recording", "there is no scenario"),
        (r#"{"id":6,"play":"plain-txt"}"#, Some(6), "recording", "did you mean `plain-text`"),
        (r#"{"id":7,"play":"plain-text/1"}"#, Some(7), "recording", "there are 1.0.128"),
        (r#"{"id":8,"play":"permission-allow"}"#, Some(8), "recording", "was left out: "),
        (r#"{"id":9,"play":"plain-text"}"#, Some(9), "subject", "I give up"),
    ] {
        server.write(line);
        let answer = server.read();
        let message = answer["error"]["message"].as_str().unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["kind"]),
            (&json!(id), &json!(kind)),
            "{answer}"
        );
        assert!(message.contains(part), "{line}: {message}");
    }
    assert_eq!(server.end(), Some(0));
    for (args, part) in [
        (&["serve", "right"][..], "--json"),
        (&["serve", "--json", "right"], "pass --yes"),
        (&["serve", "--json", "--yes", "lost"], "there is no subject `lost`"),
    ] {
        check(dir.path(), args, 2, &[], &[part]);
    }
}

#[test]
fn what_it_has_started_ends_with_its_runner() {
    for ending in ["signal", "reader"] {
        let dir = project();
        let (mut server, _) = Server::start(dir.path(), "mute");
        server.write(r#"{"id":1,"play":"plain-text"}"#);
        let begin = std::time::Instant::now();
        while !crate::common::project::processes_of(dir.path())
            .iter()
            .any(|(_, it)| it.contains("600"))
        {
            assert!(begin.elapsed() < crate::common::project::PATIENCE, "the gateway starts");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let Server { mut child, stdin, stdout } = server;
        match ending {
            "signal" => send(&child, Signal::SIGTERM),
            // A runner that is killed closes both.
            _ => drop((stdin, stdout)),
        }
        child.wait().unwrap();
        wait_for_silence_of(dir.path(), ending);
    }
}

/// Compares the committed schema with that of the lines.
#[test]
fn the_schema_of_the_lines_is_up_to_date() {
    let answers = || SchemaSettings::draft2020_12().for_serialize().into_generator();
    let requests = SchemaSettings::draft2020_12().into_generator();
    let lines = [
        ("request", requests.into_root_schema_for::<PlayRequest>()),
        ("greeting", answers().into_root_schema_for::<Greeting>()),
        ("answer", answers().into_root_schema_for::<PlayAnswer>()),
        ("error", answers().into_root_schema_for::<ErrorAnswer>()),
    ];
    let mut defs = Map::new();
    for (name, schema) in lines {
        let mut schema = schema.to_value();
        let fields = schema.as_object_mut().unwrap();
        fields.remove("$schema");
        if let Some(Value::Object(inner)) = fields.remove("$defs") {
            defs.extend(inner);
        }
        defs.insert(name.to_owned(), schema);
    }
    let printed = ["greeting", "answer", "error"];
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The lines of clitape serve",
        "oneOf": printed.map(|name| json!({ "$ref": format!("#/$defs/{name}") })),
        "$defs": defs,
    });
    let current = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = root().join("schemas/serve.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let hint = "run `UPDATE_SCHEMA=1 cargo test --test commands serve`";
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == current, "schemas/serve.json is out of date; {hint}");
}

/// Checks that `now` has each field of `before` with a value of the same type. Of a list, each item has the fields of the
/// first one before.
fn has_fields(before: &Value, now: &Value, place: &str) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                let there = now.get(key).unwrap_or_else(|| panic!("{place}.{key} is gone"));
                // The fields of a call depend on the gateway.
                if key != "data" {
                    has_fields(value, there, &format!("{place}.{key}"));
                }
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            let Some(first) = before.first() else { return };
            assert!(!now.is_empty(), "{place} is empty");
            now.iter().for_each(|item| has_fields(first, item, &format!("{place}[]")));
        }
        _ => assert_eq!(
            std::mem::discriminant(before),
            std::mem::discriminant(now),
            "{place} has another type: {now}"
        ),
    }
}

#[test]
fn a_session_of_the_first_version_is_answered_as_then() {
    if !has_program("python3") {
        return;
    }
    let text = fs::read_to_string(root().join("tests/promises/serve.jsonl")).unwrap();
    let dir = project();
    let mut server = None;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (said, answered) = (&line["said"], &line["answered"]);
        let now = match said.get("subject") {
            Some(subject) => {
                let (started, greeting) = Server::start(dir.path(), subject.as_str().unwrap());
                server = Some(started);
                assert_eq!(greeting["protocol"], answered["protocol"]);
                greeting
            }
            None => server.as_mut().unwrap().ask(said),
        };
        has_fields(answered, &now, "");
        for key in ["id", "recording", "passed"] {
            assert_eq!(now.get(key), answered.get(key), "{now}");
        }
        assert_eq!(now["error"]["kind"], answered["error"]["kind"], "{now}");
    }
    assert_eq!(server.unwrap().end(), Some(0));
}

#[test]
fn has_fields_finds_what_is_gone() {
    let before = json!({"a": [{"b": 1}], "c": null});
    has_fields(&before, &json!({"a": [{"b": 2, "x": 1}, {"b": 3}], "c": null, "d": 4}), "");
    for now in [
        json!({"a": [{"b": 2}]}),
        json!({"a": [{"b": "2"}], "c": null}),
        json!({"a": [{"b": 2}, {}], "c": null}),
        json!({"a": [], "c": null}),
    ] {
        let found = std::panic::catch_unwind(|| has_fields(&before, &now, ""));
        assert!(found.is_err(), "{now}");
    }
}
