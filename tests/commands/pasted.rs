//! Tests of commands in a foreign report. A reader pastes lines that look like commands, so only lines that clitape
//! itself writes are shown as such.

#![allow(clippy::unwrap_used, reason = "a report that can't be read fails the test")]

use std::fs;
use std::path::Path;

use crate::common::{check, run, workspace};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use serde_json::{Value, json};

const HOSTILE: &str = "clitape test a; touch pwned";
const LABEL: &str = "no command of clitape";

/// Returns the report of a scenario with findings.
fn report(dir: &Path) -> Value {
    let golden = dir.join("scenarios/plain-text/golden/bus.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replacen("\"at\":0", "\"at\":7", 1)).unwrap();
    check(dir, &["test", "plain-text", "--json", "report.json"], 3, &[], &[]);
    serde_json::from_slice(&fs::read(dir.join("report.json")).unwrap()).unwrap()
}

/// Returns the output of `report merge` for a report, by format.
fn merged(dir: &Path, report: &Value) -> Vec<(&'static str, String)> {
    fs::write(dir.join("foreign.json"), report.to_string()).unwrap();
    let files = ["--markdown", "m.md", "--html", "page", "--junit", "j.xml", "--tap", "t.tap"];
    let (code, out, err) =
        run(dir, &[&["report", "merge", "foreign.json", "--github"], &files[..]].concat());
    assert_eq!(code, 3, "{out}{err}");
    let read = |path: &str| fs::read_to_string(dir.join(path)).unwrap();
    let files = ["m.md", "page/index.html", "j.xml", "t.tap"].map(|path| (path, read(path)));
    [("terminal", out)].into_iter().chain(files).collect()
}

/// Returns the text of the blocks that Markdown shows as commands.
fn commands(markdown: &str) -> String {
    let (mut text, mut is_shell) = (String::new(), false);
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                is_shell = &*language == "sh";
            }
            Event::End(TagEnd::CodeBlock) => is_shell = false,
            Event::Text(more) if is_shell => text += &more,
            _ => {}
        }
    }
    text
}

fn findings(report: &mut Value) -> impl Iterator<Item = &mut Value> {
    let scenarios = report["scenarios"].as_array_mut().unwrap().iter_mut();
    let checks = scenarios.flat_map(|run| run["checks"].as_array_mut().unwrap());
    checks.flat_map(|check| check["findings"].as_array_mut().into_iter().flatten())
}

#[test]
fn a_line_that_clitape_does_not_write_is_text() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let own = report(dir);
    for (format, text) in merged(dir, &own) {
        assert!(text.contains("clitape test plain-text --update"), "{format}\n{text}");
        assert!(!text.contains(LABEL), "{format}\n{text}");
    }
    for key in ["reproduce", "fix"] {
        let mut report = own.clone();
        findings(&mut report).for_each(|finding| finding[key] = json!(HOSTILE));
        for (format, text) in merged(dir, &report) {
            let shown: Vec<(usize, &str)> = text.match_indices(HOSTILE).collect();
            assert!(!shown.is_empty(), "{format} does not show the line\n{text}");
            for (at, _) in shown {
                // The label is on the same line, or on the one before it.
                let near = text[..at].rsplit('\n').take(2).collect::<String>();
                assert!(near.contains(LABEL), "{format}, {key}\n{text}");
            }
            assert!(!commands(&text).contains("pwned"), "{format}\n{text}");
        }
    }
}

#[test]
fn lines_of_all_kinds_of_findings_are_commands() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let at = |path: &str| dir.join(path);
    let golden = "scenarios/plain-text/golden";
    report(dir);
    fs::copy(at(golden).join("bus.snap"), at(golden).join("bus.9.9.9.snap")).unwrap();
    fs::copy(at(golden).join("bus.snap"), at(golden).join("it's old.snap")).unwrap();
    fs::write(at(golden).join(".clitape-a1B2c3"), "half").unwrap();
    fs::create_dir(at("scenarios/.clitape-a1B2c3")).unwrap();
    fs::create_dir(at("scenarios/Late edit")).unwrap();
    fs::create_dir(at("scenarios/empty")).unwrap();
    fs::create_dir(at("cassettes/nobody")).unwrap();
    let change = |path: &str, from: &str, to: &str| {
        let text = fs::read_to_string(at(path)).unwrap();
        assert!(text.contains(from), "{path}");
        fs::write(at(path), text.replacen(from, to, 1)).unwrap();
    };
    change("scenarios/plain-text/scenario.toml", "prompt = \"", "prompt = \"Also, ");
    change("clitape.toml", "\"1.0.128\", ", "\"1.0.128\", \"2.0.9\", ");
    fs::remove_file(at(golden).join("lifecycle.snap")).unwrap();
    for root in [&[][..], &["--root", "."]] {
        let args = [root, &["test", "--json", "report.json"]].concat();
        let (code, out, err) = run(dir, &args);
        assert_eq!(code, 2, "{out}{err}");
        let mut own: Value = serde_json::from_slice(&fs::read(at("report.json")).unwrap()).unwrap();
        let mut kinds: Vec<String> =
            findings(&mut own).map(|finding| finding["id"].to_string()).collect();
        kinds.sort();
        kinds.dedup();
        assert!(kinds.len() >= 5, "{kinds:?}");
        let (_, merged, err) = run(dir, &["report", "merge", "report.json", "--lanes"]);
        for id in ["GD001", "GD002", "GD003", "TP001", "TP002", "TP005", "WS001", "WS002", "WS003"]
        {
            assert!(merged.contains(id), "{id}\n{merged}{err}");
        }
        assert!(!merged.contains(LABEL), "{merged}");
    }
}

#[test]
fn names_of_a_report_do_not_become_commands() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let mut report = report(dir);
    // The same findings in a scenario with another name have one cause, and one command accepts both.
    let mut other = report["scenarios"][0].clone();
    other["name"] = json!("a; touch pwned #");
    report["scenarios"].as_array_mut().unwrap().push(other);
    for count in report["totals"].as_object_mut().unwrap().values_mut() {
        *count = json!(2 * count.as_u64().unwrap());
    }
    let all = merged(dir, &report);
    let markdown = &all.iter().find(|(format, _)| *format == "m.md").unwrap().1;
    let shown = commands(markdown);
    assert!(shown.contains("clitape test plain-text --update"), "{markdown}");
    assert!(!shown.contains("pwned"), "{markdown}");
    let line = |text: &str| text.lines().find(|line| line.contains("to accept")).map(str::to_owned);
    let accept = line(&all[0].1).unwrap();
    assert!(!accept.contains("pwned"), "{accept}");
}
