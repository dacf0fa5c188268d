//! The parser used alone, as the README shows it: the example that reads stdin.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs the example on `bytes`; gives its stdout and stderr.
fn run(bytes: &[u8]) -> std::io::Result<(String, String)> {
    let mut child = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "clitape-stream", "--example", "events"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(bytes)?;
    }
    let out = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(out.status.success(), "{}", text(&out.stderr));
    Ok((text(&out.stdout), text(&out.stderr)))
}

#[test]
fn the_example_prints_an_event_a_line_and_says_what_was_read() {
    let cassette = "cassettes/three-tools/2.1.329/stdout.jsonl";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(cassette);
    let bytes = std::fs::read(path).expect("the cassette is there");
    let (events, stats) = run(&bytes).expect("the example runs");
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")).collect();
    let count = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
    assert_eq!((count("tool_start"), count("tool_result"), count("outcome")), (3, 3, 1));
    assert_eq!(events.last().map(|last| &last["data"]["status"]), Some(&"ok".into()));
    assert!(stats.contains("unknown_kinds: {}"), "{stats}");
}
