//! Tests of foreign text: from a capture, a scenario, a file name, an argument, a server or a program, it must not
//! steer a terminal, hide, command a log, or leave its place in Markdown, XML or a page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../common/hostile.rs"]
mod evil;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use clitape_recording::text::marked;

use crate::common::{self, clitape, root, workspace};
use evil::{EVIL, answer, capture, evil_name, program, server};
use serde_json::{Value, json};

/// Returns the length of an escape sequence that clitape itself writes, behind its ESC: a colour, or the redrawing of a
/// screen.
fn own(sequence: &str) -> Option<usize> {
    let body = sequence.strip_prefix('[')?;
    let end = body.find(|c: char| !c.is_ascii_digit())?;
    let is_own = match body.get(end..end + 1)? {
        "m" => ["0", "1", "2", "4", "31", "32", "33", "35", "36"].contains(&&body[..end]),
        "A" => true,
        "J" => end == 0,
        _ => false,
    };
    is_own.then_some(end + 2)
}

/// Returns the text without these sequences.
fn without_own(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match own(part) {
            Some(length) => out.push_str(&part[length..]),
            None => out.extend(["\u{1b}", part]),
        }
    }
    out
}

/// Checks that a text neither steers a terminal nor hides.
#[track_caller]
fn safe(place: &str, text: &str) {
    for (c, hides) in marked(text) {
        assert!(!hides || c == '\n', "{place} has {} in\n{text:?}", c.escape_unicode());
    }
}

/// Checks this for output, and that GitHub obeys none of its lines but `commands`.
#[track_caller]
fn hold(place: &str, text: &str, commands: &[&str]) {
    let text = without_own(text);
    safe(place, &text);
    for line in text.lines() {
        let obeyed = line.trim_start().starts_with("::") || line.contains("##[");
        let ours = commands.iter().any(|begin| line.starts_with(begin));
        assert!(!obeyed || ours, "{place} commands: {line}");
    }
}

/// Runs the command with colours, checks its output, and returns the exit code and stdout.
#[track_caller]
fn check(dir: &Path, args: &[&str], commands: &[&str]) -> (i32, String) {
    let mut command = clitape();
    command.env_remove("NO_COLOR").current_dir(dir).args(["--color", "always"]).args(args);
    printed(command, &format!("{args:?}"), commands)
}

#[track_caller]
fn printed(mut command: Command, place: &str, commands: &[&str]) -> (i32, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    hold(&format!("stdout of {place}"), &out, commands);
    hold(&format!("stderr of {place}"), &err, &[]);
    (output.status.code().unwrap(), out + &err)
}

const ALL: &str = "read,lifecycle,bus,telegram,acp,sse,session";

#[test]
fn a_capture_is_shown_and_steers_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("e.jsonl"), capture()).unwrap();
    for args in [
        &["--lane", ALL][..],
        &["--lane", ALL, "--reasoning", "--terminal", "--mode", "progress"],
        &["--lane", "read"],
        &["--speed", "1000"],
        &["--speed", "1000", "--channel", "acp"],
        &["--speed", "1000", "--channel", "sse"],
        &["--lane", ALL, "--json"],
    ] {
        let (code, out) = check(dir.path(), &[&["replay", "e.jsonl"], args].concat(), &[]);
        assert_eq!(code, 0, "{args:?}\n{out}");
        assert!(out.contains("RED"), "{args:?} shows none of it:\n{out}");
    }
    // The footer has the record's type on one line, and JSON has the same value.
    let (_, out) = check(dir.path(), &["replay", "e.jsonl", "--lane", "read"], &[]);
    assert!(out.contains(r"unknown: \u{1b}]52;c;QUFB\u{7}\u{1b}[41mRED"), "{out}");
    let (_, out) = check(dir.path(), &["replay", "e.jsonl", "--json", "--lane", "lifecycle"], &[]);
    let texts: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(texts.iter().any(|entry| entry["data"]["result"] == EVIL), "{out}");

    let line = |value: Value| format!("{value}\n");
    let transcript =
        line(json!({ "type": "user", "uuid": "1", "parentUuid": null, "sessionId": "s",
        "message": { "role": "user", "content": "hi" } }))
            + &line(json!({ "type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s",
            "message": { "role": "assistant", "id": "m", "content":
                [{ "type": "tool_use", "id": EVIL, "name": EVIL, "input": {} }] } }));
    let name = format!("{}.jsonl", evil_name());
    fs::write(dir.path().join(&name), transcript).unwrap();
    for args in [&["session", name.as_str()][..], &["session", &name, "--json"]] {
        let (code, out) = check(dir.path(), args, &[]);
        assert!(code == 3 && out.contains("RED"), "{code} {out}");
    }
}

#[test]
fn arguments_and_file_names_are_told_safely() {
    let workspace = workspace(&["plain-text"]);
    let evil = EVIL.replace('\0', "");
    let evil = evil.as_str();
    fs::write(workspace.path().join("e.jsonl"), capture()).unwrap();
    for args in [
        &[evil][..],
        &["replay", evil],
        &["replay", "e.jsonl", "--cut", evil],
        &["replay", "e.jsonl", "--plan", evil],
        &["replay", "e.jsonl", "--lane", evil],
        &["replay", "e.jsonl", "--fault", evil],
        &["test", evil],
        &["new", evil],
        &["record", evil],
        &["record", "--yes", "plain-text", "--claude", evil],
        &["import", evil, "--scenario", "x"],
        &["import", "e.jsonl", "--scenario", evil],
        &["import", "e.jsonl", "--scenario", "x", "--cli-version", evil],
        &["review", "--accept", evil, "--reason", "x"],
        &["proof", evil, "--out", "p"],
        &["proof", "--check", evil],
        &["compare", evil, "this", "--out", "c"],
        &["compare", "this", "2.1.329", evil, "--out", "c"],
        &["report", "merge", evil],
        &["collect", evil],
        &["session", evil],
        &["session", "--id", evil],
        &["completions", evil],
        &["--root", evil, "test"],
    ] {
        let (code, out) = check(workspace.path(), args, &[]);
        assert!((2..=4).contains(&code), "{args:?}: {code}\n{out}");
    }
    // A version that can't be the name of a folder.
    let version = capture().replace("2.1.329", r"2.1\u001b[31m");
    fs::write(workspace.path().join("v.jsonl"), version).unwrap();
    check(workspace.path(), &["import", "v.jsonl", "--scenario", "v"], &[]);
}

#[test]
fn a_token_that_is_no_text_is_not_repeated() {
    let workspace = workspace(&[]);
    fs::write(workspace.path().join("e.jsonl"), capture()).unwrap();
    for args in [
        &["replay", "e.jsonl", "--telegram-api", "http://127.0.0.1:9", "--chat", "1"][..],
        &["collect", "http://127.0.0.1:9/e", "--token-env", "TELEGRAM_BOT_TOKEN"],
    ] {
        let mut command = clitape();
        let token = std::ffi::OsStr::from_bytes(b"\xff:hidden");
        command.current_dir(workspace.path()).args(args).env("TELEGRAM_BOT_TOKEN", token);
        let (code, out) = printed(command, "a token", &[]);
        assert!(code == 2 && !out.contains("hidden") && out.contains("UTF-8"), "{code} {out}");
    }
}

#[test]
fn servers_and_programs_are_told_safely() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let refusal = json!({ "ok": false, "error_code": 400, "description": EVIL }).to_string();
    let api = server(answer("400 Bad Request", "application/json", &refusal));
    let mut command = clitape();
    let cassette = "cassettes/plain-text/2.1.329";
    let args = ["replay", cassette, "--speed", "50", "--telegram-api", &api, "--chat", "1"];
    command.current_dir(dir).args(args).env("TELEGRAM_BOT_TOKEN", "1:x");
    let (code, out) = printed(command, "a Bot API server", &[]);
    assert!(code == 3 && out.contains("RED"), "{code} {out}");

    let data = |value: Value| value.to_string();
    let turn = format!(
        "id: 1\nevent: output\ndata: {}\n\nid: 2\nevent: tool_use\ndata: {}\n\nid: 3\nevent: \
         error\ndata: {}\n\n",
        data(json!({ "content": format!("\n::error::x\n{EVIL}") })),
        data(json!({ "name": EVIL, "input": { EVIL: EVIL } })),
        data(json!({ "error": format!("a\n::error::b{EVIL}") })),
    );
    let stream = server(answer("200 OK", "text/event-stream", &turn)) + "/e";
    for args in [&["collect", &stream][..], &["collect", &stream, "--json"]] {
        let (code, out) = check(dir, args, &[]);
        assert!(code == 3 && out.contains("RED"), "{code} {out}");
        assert!(out.lines().any(|line| line.starts_with("the turn failed: ")), "{out}");
    }
    let refused = server(answer("500 No", "text/plain", EVIL)) + "/e";
    check(dir, &["collect", &refused], &[]);

    let entry = json!({ "at": 0, "lane": "bus", "kind": EVIL, "data": { EVIL: EVIL } });
    for entry in [entry.to_string(), EVIL.to_owned()] {
        program(dir, "evil", &entry);
        let (code, out) = check(dir, &["compare", "this", "./evil", "--out", "c"], &[]);
        assert_eq!(code, 3, "{out}");
        for file in ["index.html", "compare.md"] {
            safe(file, &fs::read_to_string(dir.join("c").join(file)).unwrap());
        }
        markdown(&fs::read_to_string(dir.join("c/compare.md")).unwrap(), 2..=5);
    }
    program(dir, "claude", "");
    let (code, out) = check(dir, &["record", "--yes", "plain-text", "--claude", "./claude"], &[]);
    assert!(code != 0, "{out}");
}

/// Checks that a Markdown text has no link, image, HTML, ticked box or mention, and only our headings.
#[track_caller]
fn markdown(text: &str, headings: std::ops::RangeInclusive<usize>) {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    let (mut count, mut in_code) = (0, false);
    for event in Parser::new_ext(text, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => count += 1,
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::TaskListMarker(_) => panic!("{event:?} in\n{text}"),
            Event::Text(words) if !in_code => {
                let odd = ["@somebody", "#1", "a#2", "https:", "INJECTED"];
                assert!(!odd.iter().any(|odd| words.contains(odd)), "{words} in\n{text}");
            }
            _ => {}
        }
    }
    assert!(headings.contains(&count), "{count} headings in\n{text}");
}

#[test]
fn reports_and_proofs_are_not_left() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    fs::write(dir.join("e.jsonl"), capture()).unwrap();
    let (code, out) = check(dir, &["import", "e.jsonl", "--scenario", "evil"], &[]);
    assert_eq!(code, 0, "{out}");
    let file = dir.join("scenarios/evil/scenario.toml");
    let scenario = fs::read_to_string(&file).unwrap();
    let evil = Value::from(EVIL).to_string();
    let rest = scenario.lines().filter(|line| {
        !["title", "about", "tracks", "behaviour", "not_tested"]
            .iter()
            .any(|key| line.starts_with(key))
    });
    let rest: Vec<&str> = rest.collect();
    let head = format!("title = {evil}\nabout = {evil}\ntracks = [\"field#1\"]\n");
    fs::write(&file, format!("{head}{}\n", rest.join("\n"))).unwrap();
    let (_, out) = check(dir, &["test", "--update"], &[]);
    assert!(out.contains("GD002"), "{out}");
    check(dir, &["review", "--accept"], &[]);
    for golden in common::files(&dir.join("scenarios/evil/golden"), "bus.snap") {
        let text = fs::read_to_string(&golden).unwrap();
        fs::write(golden, text.replacen("RED", "BLUE", 3)).unwrap();
    }
    let orphan = format!("scenarios/evil/golden/{};touch pwned;$(touch pwned).snap", evil_name());
    fs::write(dir.join(orphan), "---\n---\n").unwrap();
    check(dir, &["review", "--list"], &[]);
    let (_, out) = check(dir, &["review", "--list", "--json"], &[]);
    assert!(out.contains("orphan"), "{out}");

    let args =
        "test --update --junit r.xml --tap r.tap --json r.json --markdown r.md --html h --github";
    let mut command = clitape();
    command.current_dir(dir).args(args.split(' ')).env("GITHUB_STEP_SUMMARY", dir.join("s.md"));
    let commands = ["::stop-commands::", "::error file=scenarios/", "::error title="];
    let output = command.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let token = out.lines().next().unwrap().strip_prefix("::stop-commands::").unwrap();
    hold("test --github", &out, &[&commands[..], &[&format!("::{token}::")]].concat());
    assert!(token.len() == 16, "{out}");
    let read = |file: &str| fs::read_to_string(dir.join(file)).unwrap();
    let report: Value = serde_json::from_str(&read("r.json")).unwrap();
    let findings = usize::try_from(report["totals"]["findings"].as_u64().unwrap()).unwrap();
    let annotations = out.lines().filter(|line| line.starts_with("::error ")).count();
    assert_eq!(output.status.code(), Some(3), "{out}");
    assert!((1..=findings).contains(&annotations), "those of one cause have one: {out}");
    for file in ["r.xml", "r.tap", "r.json", "r.md", "s.md", "h/index.html"] {
        safe(file, &read(file));
    }
    markdown(&read("r.md"), annotations + 1..=annotations + 1);
    let junit = quick_junit::Report::deserialize_from_str(&read("r.xml")).unwrap();
    assert_eq!(junit.failures, findings, "each in a check of its own: {out}");

    // The line `to fix` is a shell command, in which only `rm` may run.
    let told: Vec<&str> =
        out.lines().filter_map(|line| line.trim().strip_prefix("to fix: rm ")).collect();
    let [line] = told[..] else { panic!("{told:?}\n{out}") };
    let shell = Command::new("bash").current_dir(dir).args(["-c", &format!("rm {line}")]).status();
    assert!(shell.unwrap().success() && !dir.join("pwned").exists(), "{line}");
    assert!(!check(dir, &["review", "--list"], &[]).1.contains("orphan"));

    check(dir, &["proof", "evil", "--no-png", "--out", "p"], &[]);
    for file in ["p/index.html", "p/proof.md", "p/preview.svg", "p/preview.cast"] {
        safe(file, &read(file));
    }
    // Of the proof, of the evidence, and of the one scenario.
    markdown(&read("p/proof.md"), 3..=3);
    assert!(!read("p/preview.svg").contains("<img") && !read("p/index.html").contains("<img"));
    for line in read("p/preview.cast").lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = event[2].as_str().unwrap_or_default();
        let text = text.strip_prefix("\u{1b}[H\u{1b}[2J").unwrap_or(text);
        for part in text.split('\u{1b}').skip(1) {
            let own = ["[0m", "[1m", "[3m", "[4m", "[9m", "[36m", "[1;36m", "[1;4m"];
            assert!(own.iter().any(|own| part.starts_with(own)), "{part:?}");
        }
        let rest = text.replace("\r\n", "\n").replace('\u{1b}', "");
        assert!(marked(&rest).all(|(c, hides)| !hides || c == '\n'), "{rest:?}");
    }
    let (code, out) =
        check(root(), &["proof", "--check", dir.join("p/proof.md").to_str().unwrap()], &[]);
    assert!(code == 3 && out.contains("mock only"), "{out}");
}
