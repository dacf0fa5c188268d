//! Tests of the crates used alone, as their READMEs show it: the examples that read stdin.

#[path = "common/cargo.rs"]
mod cargo;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

const CASSETTE: &str = "cassettes/three-tools/2.1.329/stdout.jsonl";

/// Builds the examples, and returns their folder. The build is that of `cargo test`, because building one package alone
/// would rebuild its dependencies with fewer features.
fn built() -> std::io::Result<PathBuf> {
    static BUILT: OnceLock<std::io::Result<bool>> = OnceLock::new();
    let build = || {
        let mut cargo = cargo::cargo();
        cargo.args(["build", "--quiet", "--workspace", "--examples"]);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        cargo.args((!cfg!(debug_assertions)).then_some("--release"));
        Ok(cargo.status()?.success())
    };
    let ok = BUILT.get_or_init(build).as_ref().is_ok_and(|ok| *ok);
    assert!(ok, "the examples do not build: {:?}", BUILT.get());
    // The path of this test is `<target>/<profile>/deps/example-…`.
    let profile = std::env::current_exe()?.ancestors().nth(2).map(Path::to_owned);
    Ok(profile.unwrap_or_default().join("examples"))
}

/// Runs an example on the cassette, and returns its stdout and stderr.
fn run(example: &str) -> std::io::Result<(String, String)> {
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(CASSETTE))?;
    let mut child = Command::new(built()?.join(example))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&bytes)?;
    }
    let out = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(out.status.success(), "{}", text(&out.stderr));
    Ok((text(&out.stdout), text(&out.stderr)))
}

#[test]
fn the_example_prints_an_event_a_line_and_says_what_was_read() {
    let (events, stats) = run("events").expect("the example runs");
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")).collect();
    let count = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
    assert_eq!((count("tool_start"), count("tool_result"), count("outcome")), (3, 3, 1));
    assert_eq!(events.last().map(|last| &last["data"]["status"]), Some(&"ok".into()));
    assert!(stats.contains("unknown_kinds: {}"), "{stats}");
}

#[test]
fn the_example_of_the_gateway_prints_what_a_channel_hears() {
    let (heard, _) = run("bridge").expect("the example runs");
    let count = |what: &str| heard.lines().filter(|line| line.starts_with(what)).count();
    assert!(count("tool ") >= 3 && count("text: ") >= 1, "{heard}");
    assert_eq!((count("result "), count("finish: "), count("failures: 0")), (3, 1, 1), "{heard}");
    let typing: Vec<&str> = heard.lines().filter(|line| line.starts_with("typing")).collect();
    assert_eq!(typing, ["typing: true", "typing: false"]);
}
