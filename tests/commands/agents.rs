//! Tests of an agent of clitape.toml, with the example agent in Python: the right one passes, also with several
//! sessions at once; each fault is convicted by its rule; and no process or file is left. Without python3 these tests
//! pass without a check; they fail instead if `CLITAPE_REQUIRE` names `python3`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::time::{Duration, Instant};

use crate::common::{check, has_program, put_program, root, workspace};
use tempfile::TempDir;

#[test]
fn an_agent_that_does_not_read_its_stdin_hangs_within_its_time() {
    let dir = workspace(&["plain-text"]);
    // An agent that answers, asks for more than a pipe takes, and does not read the answers.
    let script = r#"#!/bin/bash
        read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
        read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
        for i in {1..3000}; do
          echo '{"jsonrpc":"2.0","id":'$i',"method":"fs/read_text_file","params":{"sessionId":"s1"}}'
        done
        sleep 600"#;
    put_program(&dir.path().join("deaf"), script);
    let toml = "[subject.deaf]\nkind = 'agent'\ncommand = ['./deaf']\nwithin_s = 2\n";
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    let begin = Instant::now();
    for args in [
        &["test", "--yes", "--subject", "deaf", "plain-text"][..],
        &["rig", "--yes", "deaf", "plain-text"],
        &["subject", "check", "--yes", "deaf"],
    ] {
        let says: &[&str] = if args[0] == "subject" { &["hangs"] } else { &["SB026"] };
        let says = [says, &["the agent does not read its stdin, where "]].concat();
        check(dir.path(), args, 3, &says, &[]);
    }
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

/// Makes a workspace with these scenarios and the example agent, as it is and with each of these faults.
fn with_agent(scenarios: &[&str], bugs: &[&str]) -> TempDir {
    let dir = workspace(scenarios);
    let program = root().join("subjects/examples/agent.py");
    let subject = |name: &str, arguments: &str| {
        format!(
            "[subject.{name}]\nkind = 'agent'\ncommand = ['python3', '{}'{arguments}]\nidle_s = 1\n\
             env = {{ CLAUDE_BIN = '{{claude}}' }}\n",
            program.display()
        )
    };
    let mut toml = subject("mine", "");
    for bug in bugs {
        toml += &subject(bug, &format!(", '--bug', '{bug}'"));
    }
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    dir
}

#[test]
fn a_right_agent_holds() {
    if !has_program("python3") {
        return;
    }
    let scenarios = [
        "plain-text",
        "three-tools-live",
        "permission-allow",
        "permission-deny",
        "permission-long",
        "live-interrupt-text",
        "live-multi-turn",
        "tool-error-live",
    ];
    let dir = with_agent(&scenarios, &[]);
    let path = dir.path();
    check(path, &["subject", "list"], 0, &["mine", "agent", "python3"], &[]);
    let says = ["cassettes fit it", "it starts and is ready after", "is answered in", "it ends"];
    check(path, &["subject", "check", "--yes", "mine"], 0, &says, &[]);
    check(path, &["test", "--yes", "--subject", "mine"], 0, &["8 scenarios", "all held"], &[]);
    let rig = ["rig", "--yes", "mine", "permission-allow", "--html", "run"];
    let says = ["request_permission", "(answer)", "response", "the Agent Client Protocol"];
    check(path, &rig, 0, &says, &[]);
}

#[test]
fn each_fault_of_an_agent_is_convicted_by_its_rule() {
    if !has_program("python3") {
        return;
    }
    let faults = [
        ("answer-twice", "three-tools-live", "SB004 answer-twice"),
        ("end-lost", "three-tools-live", "SA005 call-left-open"),
        ("wrong-stop", "live-interrupt-text", "SA009 stop-reason-wrong"),
        ("runs-unasked", "permission-allow", "SA008 ran-before-answer"),
        ("asks-blind", "permission-allow", "SA011 request-cut"),
        ("late-text", "plain-text", "SA010 told-after-end"),
    ];
    let bugs = faults.map(|(bug, _, _)| bug);
    let scenarios = ["three-tools-live", "live-interrupt-text", "permission-allow", "plain-text"];
    let dir = with_agent(&scenarios, &bugs);
    for (bug, scenario, rule) in faults {
        let says = [rule, "reproduce:", "1 finding"];
        check(dir.path(), &["test", "--yes", "--subject", bug, scenario], 3, &says, &[]);
    }
}
