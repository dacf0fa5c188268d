//! The editor with agents that are a few lines of shell.

#![allow(clippy::unwrap_used, reason = "what can't be done fails the test")]

use std::time::{Duration, Instant};

use clitape_rig::editor::{EditorSettings, PermissionChoice, run};
use clitape_runner::host::HostPaths;
use clitape_runner::replay::{Entry, Lane};
use serde_json::json;

/// Answers `initialize` and `session/new`, then reads the prompt.
const HELLO: &str = r#"
read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
read -r line
"#;

/// The paths of the machine.
fn host() -> HostPaths {
    let (path, temporary) = (std::env::var_os("PATH").unwrap(), std::env::temp_dir());
    HostPaths { path, temporary, home: None }
}

/// Runs a shell as the agent; returns the entries and the error.
fn played(agent: &str, choice: PermissionChoice) -> (Vec<Entry>, Option<String>) {
    let settings = EditorSettings {
        command: ["sh", "-c", &format!("{HELLO}{agent}")].map(Into::into).to_vec(),
        environment: std::env::vars_os().collect(),
        folder: std::env::temp_dir(),
        prompts: vec!["hi".to_owned()],
        choices: vec![choice],
        within: Duration::from_secs(10),
    };
    let mut entries = Vec::new();
    let ended = run(&settings, &host(), &mut |entry| entries.push(entry.clone()));
    (entries, ended.err().map(|error| error.to_string()))
}

#[test]
fn issue_16_updates_are_entries_and_questions_are_answered() {
    let agent = r#"
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}'
echo '{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"o1","name":"Yes","kind":"allow_once"}]}}'
read -r answer
echo '{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"path":"x"}}'
read -r refused
case "$answer$refused" in
  *'"outcome":"selected","optionId":"o1"'*'"code":-32601'*) stop=end_turn ;;
  *'"outcome":"cancelled"'*'"code":-32601'*) stop=cancelled ;;
  *) stop=refusal ;;
esac
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"'$stop'"}}'
"#;
    for (choice, stop) in [
        (PermissionChoice::Option("allow_once".to_owned()), "end_turn"),
        (PermissionChoice::Option("Yes".to_owned()), "end_turn"),
        (PermissionChoice::Option("no such".to_owned()), "cancelled"),
        (PermissionChoice::Cancel, "cancelled"),
    ] {
        let (entries, error) = played(agent, choice.clone());
        assert_eq!(error, None, "{choice:?}");
        let kinds: Vec<&str> = entries.iter().map(|entry| &*entry.kind).collect();
        let expect = [
            "(user)",
            "agent_message_chunk",
            "request_permission",
            "(answer)",
            "fs/read_text_file",
            "response",
        ];
        assert_eq!(kinds, expect, "{choice:?}");
        assert!(entries.iter().all(|entry| entry.lane == Lane::Acp));
        assert!(entries.iter().all(|entry| !entry.data.contains_key("refused")), "{entries:?}");
        assert_eq!(entries[1].data["content"], json!({ "type": "text", "text": "a" }));
        assert_eq!(entries[5].data["stopReason"], stop, "{choice:?}");
    }
}

#[test]
fn issue_16_an_agent_that_fails_is_reported() {
    let wrong = r#"echo '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"x"}}}'"#;
    for (agent, expect) in [
        ("exit 1", "the agent ended before it answered `session/prompt`"),
        ("echo no model >&2", "before it answered `session/prompt`: no model"),
        ("echo hello", "the agent ended before it answered"),
        (
            r#"echo '{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}'"#,
            "the agent answered `session/prompt` with an error: no",
        ),
        (wrong, "the agent ended before it answered"),
    ] {
        let (entries, error) = played(agent, PermissionChoice::Cancel);
        assert!(error.as_ref().unwrap().contains(expect), "{agent}: {error:?}");
        let refused = entries.iter().filter(|entry| entry.data.contains_key("refused")).count();
        let is_wrong = agent == wrong || agent == "echo hello";
        assert_eq!(refused, usize::from(is_wrong), "{entries:?}");
    }
}

#[test]
fn issue_16_an_agent_that_hangs_is_ended_with_its_group() {
    let settings = EditorSettings {
        command: ["sh", "-c", "sleep 600 & sleep 600"].map(Into::into).to_vec(),
        environment: std::env::vars_os().collect(),
        folder: std::env::temp_dir(),
        prompts: vec!["hi".to_owned()],
        choices: Vec::new(),
        within: Duration::from_secs(1),
    };
    let begun = Instant::now();
    let error = run(&settings, &host(), &mut |_| {}).unwrap_err().to_string();
    assert_eq!(error, "the agent did not answer `initialize` within 1 s");
    assert!(begun.elapsed() < Duration::from_secs(20));
}
