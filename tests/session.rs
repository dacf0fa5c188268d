//! Tests of `clitape session` from outside, for the rule X8.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[macro_use]
mod common;

use std::fs;
use std::path::Path;

use common::clitape;
use serde_json::{Value, json};

const PROMPT: &str =
    r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"hi"}}"#;
const CALL: &str = r#"{"type":"assistant","uuid":"a","parentUuid":"u","message":{"id":"m","role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"toolu_1","name":"Ba\u001b[2Jsh","input":{}}]}}"#;
const ANSWER: &str = r#"{"type":"assistant","uuid":"b","parentUuid":"u","message":{"id":"n","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"yo"}]}}"#;

/// Runs `clitape session` with a separate HOME, and returns the exit code, stdout and stderr.
fn session(home: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = clitape();
    command.current_dir(home).env("HOME", home).env_remove("CLAUDE_CONFIG_DIR");
    let output = command.arg("session").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Judges a transcript of these lines, and checks the exit code and the output below the path.
fn check(lines: &[&str], code: i32, expect: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    fs::write(&path, lines.concat()).unwrap();
    let path = path.to_str().unwrap();
    let (got, out, err) = session(dir.path(), &[path]);
    let mut told: Vec<&str> = out.lines().collect();
    assert_eq!(told.remove(1), path, "{out}{err}");
    assert_eq!((got, &told[..]), (code, expect), "{err}");
}

#[test]
fn x8_the_verdict_says_what_to_do() {
    let whole = "The last message is whole, and every call has its result.";
    check(&[PROMPT, "\n", ANSWER, "\n"], 0, &["resumable: complete", whole, "Resume it."]);
    let orphan = [
        "not resumable: orphaned-tool-use",
        "The last message calls a tool that never gave a result.",
        "  line 2: Ba\\u{1b}[2Jsh toolu_1 (tool_use)",
        "Start a new session and tell it what was said; check what the open calls did before they \
         are run again.",
    ];
    check(&[PROMPT, "\n", CALL, "\n"], 3, &orphan);
    let odd = [
        "resumable: complete",
        whole,
        "Resume it.",
        "The last line is still being written (5 bytes): look again when the CLI has ended.",
        "Lines that are not JSON and count for nothing: 1.",
        "Lines of a branch that was left, which do not count: 1.",
    ];
    check(&[PROMPT, "\n", CALL, "\nnot JSON\n", ANSWER, "\n{\"a\":"], 0, &odd);
    let empty = [
        "not resumable: empty",
        "The transcript holds no conversation.",
        "Forget the session's id and start a new session with the person's next message.",
    ];
    check(&[], 3, &empty);
}

#[test]
fn x8_a_session_is_found_by_its_id() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let slug = clitape_gateway::session::slug(home.to_str().unwrap());
    for config in [".claude", "other"] {
        let project = home.join(config).join("projects").join(&slug);
        fs::create_dir_all(&project).unwrap();
        let end = if config == "other" { CALL } else { ANSWER };
        fs::write(project.join("s-1.jsonl"), format!("{PROMPT}\n{end}\n")).unwrap();
    }
    let other = home.join("other");
    let other = other.to_str().unwrap();
    let reason = |args: &[&str]| -> (i32, Value) {
        let (code, out, err) = session(&home, &[args, &["--json"]].concat());
        let verdict: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        (code, verdict["reason"].clone())
    };
    assert_eq!(reason(&["--id", "s-1"]), (0, json!("complete")));
    let orphaned = (3, json!("orphaned-tool-use"));
    assert_eq!(reason(&["--id", "s-1", "--config-dir", other]), orphaned);
    assert_eq!(reason(&["--id", "s-2"]), (3, json!("not-found")));
    assert_eq!(reason(&["--id", "s-1", "--cwd", "/"]), (3, json!("not-found")));
    let (code, out, _) = session(&home, &["--id", "s-1", "--config-dir", other, "--json"]);
    let verdict: Value = serde_json::from_str(&out).unwrap();
    let orphan = json!({"id": "toolu_1", "name": "Ba\u{1b}[2Jsh", "line": 2, "kind": "tool_use"});
    assert_eq!((code, &verdict["orphans"]), (3, &json!([orphan])));
    assert_eq!(verdict["resumable"], false);
}

#[test]
fn x8_what_cannot_be_read_is_2() {
    let home = tempfile::tempdir().unwrap();
    let check = |args: &[&str], part: &str| {
        let (code, _, err) = session(home.path(), args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: no `{part}` in {err}");
    };
    check(&[], "--id");
    check(&["t.jsonl", "--id", "s"], "--id");
    check(&["t.jsonl", "--cwd", "/"], "--id");
    check(&["t.jsonl"], "can't read the transcript t.jsonl");
    check(&["."], "can't read the transcript .");
    check(&["--id", "../../etc/passwd"], "is no id");
    check(&["--id", ""], "is no id");
}

#[test]
fn a_file_that_is_no_transcript_is_2_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let init = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"m"}"#;
    let record = r#"{"type":"assistant","session_id":"s-1","uuid":"u","message":{"role":"assistant","content":[]}}"#;
    let capture = "t.jsonl is what a CLI printed on stdout (stream-json), and no transcript; a transcript \
                   is in ~/.claude/projects, and `clitape session --id SESSION_ID` finds it";
    let nothing = "t.jsonl has no line that is a JSON object, and no transcript";
    for (text, expect) in [
        (format!("{init}\n{record}\n"), capture),
        ("Dear diary\nhello\n".to_owned(), nothing),
        ("[]\n3\n".to_owned(), nothing),
        // The other lines of the file are read by their rules.
        (format!("no JSON\n{init}\n"), capture),
    ] {
        fs::write(home.path().join("t.jsonl"), &text).unwrap();
        let (code, out, err) = session(home.path(), &["t.jsonl"]);
        assert_eq!((code, &*out), (2, ""), "{text}: {err}");
        assert!(err.contains(expect), "{text}: no `{expect}` in {err}");
    }
    let named = PROMPT.replacen('{', r#"{"sessionId":"s-1","session_id":"s-1","#, 1);
    for text in [named, "{\"a\":".to_owned(), String::new()] {
        fs::write(home.path().join("t.jsonl"), &text).unwrap();
        assert_eq!(session(home.path(), &["t.jsonl"]).0, 3, "{text}");
    }
}

#[test]
fn an_id_may_be_short_where_no_other_session_begins_so() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let slug = clitape_gateway::session::slug(home.to_str().unwrap());
    let project = home.join(".claude/projects").join(&slug);
    fs::create_dir_all(&project).unwrap();
    for id in ["0a1b-1", "0a1b-2", "0c", "0c-more"] {
        fs::write(project.join(format!("{id}.jsonl")), format!("{PROMPT}\n{ANSWER}\n")).unwrap();
    }
    let check = |id: &str, code: i32, part: &str| {
        let (got, out, err) = session(&home, &["--id", id]);
        assert_eq!(got, code, "{id}: {out}{err}");
        assert!(out.contains(part) || err.contains(part), "{id}: no `{part}` in {out}{err}");
    };
    check("0a1b-2", 0, "0a1b-2.jsonl");
    check("0c", 0, "0c.jsonl");
    check("0c-", 0, "0c-more.jsonl");
    check("0a", 2, "several sessions begin with \"0a\"; write more of the id: 0a1b-1, 0a1b-2");
    check("f", 3, "not-found");
}
