//! Tests of the display of findings: those with one cause are grouped, the chat comes first, and `--lanes` shows every
//! lane.

#![allow(clippy::unwrap_used, reason = "a report that can't be read fails the test")]

use std::fs;

use crate::common::{check, files, workspace};
use clitape_runner::report::read;
use tempfile::TempDir;

/// Makes a workspace whose goldens expect another word in every lane of these scenarios.
fn expecting(scenarios: &[&str], came: &str, expected: &str) -> TempDir {
    let workspace = workspace(scenarios);
    let mut changed = 0;
    for golden in files(workspace.path(), ".snap") {
        let text = fs::read_to_string(&golden).unwrap();
        changed += text.matches(came).count();
        fs::write(&golden, text.replace(came, expected)).unwrap();
    }
    assert!(changed > 0, "no golden has `{came}`");
    workspace
}

#[test]
fn one_cause_is_one_finding_with_the_chat_first() {
    let workspace = expecting(&["three-tools"], "Now the other one", "Now an other one");
    let dir = workspace.path();
    let shown = [
        "GD001 golden-differs three-tools 2.1.332 telegram-partial and 19 more findings\n",
        "  - expected  ",
        "   + came  ",
        "   at 5.400 s\n",
        "- Now an other one.  ",
        "   + Now the other one.\n",
        "  also in: telegram-progress, sse, bus, lifecycle; 2.1.329, 2.1.148, 1.0.128\n",
        "  every lane: clitape test three-tools --lanes\n",
        "  to accept: clitape test three-tools --update && clitape review\n",
        "; 20 findings of 1 cause\n",
    ];
    let args = ["test", "--json", "r.json", "--junit", "r.xml", "--markdown", "r.md", "--github"];
    let out = check(dir, &args, 3, &shown, &[]);
    assert_eq!(out.matches("GD001").count(), 2, "one finding, one annotation: {out}");
    let lines = out.lines().take_while(|line| !line.starts_with("::error")).count();
    assert!(lines < 40, "{lines} lines:\n{out}");
    // The annotation shows the chat, and names the other lanes.
    assert!(out.contains("%0A- Now an other one.%0A+ Now the other one.%0A"), "{out}");
    assert!(out.contains("%0Aalso in: telegram-progress"), "{out}");

    // Machine-readable reports have every finding.
    let report = read("r.json", &fs::read(dir.join("r.json")).unwrap()).unwrap();
    assert_eq!(report.totals.findings, 20);
    let chat = report.findings().find_map(|finding| finding.chat.clone()).unwrap();
    assert_eq!(chat.expected[0].last().unwrap(), "Now an other one.");
    assert_eq!(chat.got[0].last().unwrap(), "Now the other one.");
    assert_eq!(fs::read_to_string(dir.join("r.xml")).unwrap().matches("<failure ").count(), 20);
    let markdown = fs::read_to_string(dir.join("r.md")).unwrap();
    assert_eq!(markdown.matches("\n### ").count(), 1, "{markdown}");
    assert!(markdown.contains("\n- Now an other one.\n+ Now the other one.\n"), "{markdown}");
    assert!(!markdown.contains("what came in"), "{markdown}");
}

#[test]
fn every_lane_is_shown_on_demand() {
    let workspace = expecting(&["three-tools"], "Now the other one", "Now an other one");
    let dir = workspace.path();
    let lanes = [
        "\n  three-tools telegram-partial 2.1.332, 2.1.329",
        "\n  three-tools bus 2.1.332",
        "\n  three-tools lifecycle 1.0.128",
        "what came in",
        "\"kind\":\"editMessageText\"",
    ];
    let out =
        check(dir, &["test", "--lanes", "--json", "r.json", "--markdown", "r.md"], 3, &lanes, &[]);
    assert_eq!(out.matches("GD001").count(), 1, "{out}");
    let report = read("r.json", &fs::read(dir.join("r.json")).unwrap()).unwrap();
    for finding in report.findings() {
        assert!(out.contains(&finding.sentence), "{} in\n{out}", finding.sentence);
    }
    let markdown = fs::read_to_string(dir.join("r.md")).unwrap();
    assert!(markdown.contains("what came in"), "{markdown}");
    // A report that is read again looks the same.
    assert_eq!(check(dir, &["report", "merge", "r.json", "--lanes"], 3, &lanes, &[]), out);
}

#[test]
fn scenarios_that_differ_in_the_same_words_are_accepted_with_one_command() {
    let workspace = expecting(&["three-tools", "multi-edit"], "📖 Read", "📗 Read");
    let shown = [
        "; scenario three-tools\n",
        "  to accept: clitape test multi-edit three-tools --update && clitape review\n",
    ];
    let out = check(workspace.path(), &["test"], 3, &shown, &[]);
    assert!(out.contains(" of 1 cause\n"), "{out}");
}
