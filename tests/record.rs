//! Tests of recordings with the real CLI, which npm installs into the user's cache. Without npm these tests are
//! reported as ignored; they fail instead if `CLITAPE_REQUIRE` names `npm`. The one that confines the CLI by bubblewrap
//! is also ignored without `bwrap`.

mod common;

use std::process::{Command, ExitCode};

use common::{edit_manifest, root, run, workspace};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

const CLI: &str = "npm:2.1.329";

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let mut trials = vec![
        trial("plain_text_records_byte_for_byte", || check("plain-text")),
        trial("three_tools_records_byte_for_byte", || check("three-tools")),
        trial("api_400_records_byte_for_byte", || check("api-400")),
        trial("api_529_then_ok_records_byte_for_byte", || check("api-529-then-ok")),
        trial("sse_error_mid_tool_records_byte_for_byte", || check("sse-error-mid-tool")),
        trial("mcp_image_records_byte_for_byte", || check("mcp-image")),
        trial("subagent_background_records_byte_for_byte", || {
            // Tried twice, because the CLI counts the last tokens of a background agent in a race with its end, which a
            // busy machine may decide otherwise.
            check("subagent-background").or_else(|_| check("subagent-background"))
        }),
        trial("resume_killed_mid_tool_records_byte_for_byte", || check("resume-killed-mid-tool")),
        trial("hooks_records_byte_for_byte", || check("hooks")),
        trial("no_partials_records_byte_for_byte", || check("no-partials")),
        trial("another_program_of_the_same_version_is_told", another_program),
        trial("a_new_scenario_records_and_passes", new_scenario),
        trial("an_unscripted_request_ends_the_recording", unscripted),
        trial("a_cli_that_fails_unexpectedly_writes_nothing", unexpected_exit),
    ];
    if !kernel_refuses_sandboxes() {
        trials.push(trial_with(&["npm", "bwrap"], "bubblewrap_records_byte_for_byte", || {
            check_with("resume-killed-mid-tool", &["--confine", "bubblewrap"])
        }));
    }
    libtest_mimic::run(&args, trials).exit_code()
}

/// Returns whether `bwrap` is installed but can't make a sandbox, and `CLITAPE_REQUIRE` does not demand one.
fn kernel_refuses_sandboxes() -> bool {
    let makes = ["--unshare-user", "--ro-bind", "/", "/", "true"];
    let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
    let made = Command::new("bwrap").args(makes).output();
    made.is_ok_and(|out| !out.status.success())
        && !required.split([',', ' ']).any(|it| it == "bwrap")
}

fn trial(name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    trial_with(&["npm"], name, test)
}

/// Makes a trial that needs these programs.
fn trial_with(tools: &'static [&str], name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    Trial::ignorable_test(name, move || {
        let is_there = |tool: &&&str| {
            Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success())
        };
        let Some(missing) = tools.iter().find(|tool| !is_there(tool)) else {
            return test().map(|()| Completion::Completed);
        };
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        if required.split([',', ' ']).any(|tool| tool == *missing) {
            return Err(format!("{missing} is not installed, and CLITAPE_REQUIRE names it").into());
        }
        Ok(Completion::ignored_with(format!("{missing} is not installed")))
    })
}

/// Checks that recording again gives the committed bytes.
fn check(scenario: &str) -> Result<(), Failed> {
    check_with(scenario, &[])
}

fn check_with(scenario: &str, options: &[&str]) -> Result<(), Failed> {
    let args = [&["record", "--yes", "--check", scenario, "--claude", CLI], options].concat();
    let (code, out, err) = run(root(), &args);
    expect(code == 0 && out.contains("identical"), &format!("{code}\n{out}{err}"))
}

/// Checks that another program with the same output gives the same bytes, with a note about the program.
fn another_program() -> Result<(), Failed> {
    let workspace = workspace(&["plain-text"]);
    let file = workspace.path().join("cassettes/plain-text/2.1.329/cassette.toml");
    edit_manifest(&file, |text| {
        let hash = text.lines().find(|line| line.starts_with("sha256 = ")).unwrap_or("no hash");
        text.replace(hash, "sha256 = \"another\"")
    });
    let (code, out, err) =
        run(workspace.path(), &["record", "--yes", "--check", "plain-text", "--claude", CLI]);
    let told = format!("{code}\n{out}{err}");
    let note = "note: recorded by another program of this version, sha256 another; this is ";
    expect(code == 0 && out.contains("identical") && out.contains(note), &told)
}

fn new_scenario() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    for args in [&["init", "first-try"][..], &["record", "first-try"], &["test"]] {
        let (code, out, err) = run(dir.path(), args);
        expect(code == 0, &format!("clitape {} exits {code}\n{out}{err}", args.join(" ")))?;
    }
    let again = run(dir.path(), &["record", "--check", "first-try"]);
    expect(again.0 == 0 && again.1.contains("identical"), &format!("{again:?}"))
}

/// Checks that the error names a request without a script, and that no recording is written.
fn unscripted() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    run(dir.path(), &["init", "short"]);
    let model = dir.path().join("scenarios/short/model.toml");
    let text = std::fs::read_to_string(&model)?;
    let last = text.rfind("[[turn]]").ok_or("the template has turns")?;
    std::fs::write(&model, &text[..last])?;
    let (code, out, err) = run(dir.path(), &["record", "--yes", "short"]);
    let told = format!("{code}\n{out}{err}");
    expect(code == 4 && err.contains("/v1/messages"), &told)?;
    expect(!dir.path().join("cassettes/short/2.1.332").exists(), "something was written")
}

/// Checks that a failure of the CLI is recorded only if the scenario expects it.
fn unexpected_exit() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    run(dir.path(), &["init", "refused"]);
    let scenario = dir.path().join("scenarios/refused");
    std::fs::copy(root().join("scenarios/api-400/model.toml"), scenario.join("model.toml"))?;
    let (code, out, err) = run(dir.path(), &["record", "--yes", "refused"]);
    let told = format!("{code}\n{out}{err}");
    expect(code == 4 && err.contains("expects that it exits with code 0"), &told)?;
    expect(!dir.path().join("cassettes/refused").exists(), "something was written")?;

    let file = scenario.join("scenario.toml");
    let text = std::fs::read_to_string(&file)?;
    std::fs::write(&file, text.replacen("[record]", "[record]\nexit = 1", 1))?;
    let (code, out, err) = run(dir.path(), &["record", "--yes", "refused"]);
    expect(code == 0 && out.contains("wrote"), &format!("{code}\n{out}{err}"))
}

fn expect(holds: bool, otherwise: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}
