//! Tests of the published OpenClaw, as npm installs it: the rules that convict each version, and those that do not; and
//! what its parser gets out of the corpus. The tests download a gigabyte and take some minutes, so `cargo test` leaves them out: `cargo test --test openclaw` runs
//! them, and so does `.github/workflows/scheduled.yml`.

mod common;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;
use std::{env, fs};

use clitape_process::host::HostPaths;
use clitape_process::{Install, Installed};
use clitape_runner::record::ResolveLimits;
use common::conformance::{ALL, NEWEST, asked, hold_row};
use common::{root, run, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

/// The recordings, of which `plain-text` is the turn that does not count, and those with tools.
const SCENARIOS: [&str; 4] = ["plain-text", "three-tools", "thinking", "bash-count"];
const WITH_TOOLS: [&str; 3] = ["three-tools", "thinking", "bash-count"];
/// A pace at which every turn is slow enough for a draft to show the running tools.
const PACE: [&str; 2] = ["--pace", "200"];

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trials = vec![
        Trial::test("openclaw_2026_5_7_tells_no_tool_in_the_chat_and_on_its_bus", || {
            tools_of("2026.5.7", &["SB016 tools-untold", "SB032 bus-untold"], &["SB033"])
        }),
        Trial::test("openclaw_2026_6_1_tells_tools_in_the_chat_and_on_its_bus", || {
            tools_of("2026.6.1", &[], &["SB016", "SB017", "SB032", "SB033"])
        }),
        Trial::test("openclaw_2026_9_6_answers_twice_with_reply_to_mode_first", || {
            convicted("openclaw-reply-first@2026.9.6", &[], "was sent twice as a new message")
        }),
        Trial::test("openclaw_2026_9_6_answers_twice_after_a_lost_reply", || {
            // The first new message is the draft, the second one the answer.
            let faults = ["--chat-faults", "sendMessage:2:lost-reply"];
            let words = "stands in the chat more than once";
            convicted("openclaw-reply-first@2026.9.6", &faults, words)
        }),
        Trial::test("openclaw_2026_9_6_reads_the_corpus_as_the_page_says", reads_the_corpus),
    ];
    // One at a time, because each gateway takes both cores of a small machine.
    let args = Arguments { test_threads: Some(1), ..args };
    libtest_mimic::run(&args, trials).exit_code()
}

/// Checks that every finding of `has` is reported for each recording with tools, and none of `has_not` for any.
fn tools_of(version: &str, has: &[&str], has_not: &[&str]) -> Result<(), Failed> {
    let dir = subjects()?;
    let subject = format!("openclaw@{version}");
    let told =
        played(dir.path(), &[&["test", "--yes", "--subject", &subject][..], &PACE].concat())?;
    for name in WITH_TOOLS {
        for finding in has {
            let line = format!("{finding} subject {subject}: {name}/");
            expect(told.contains(&line), &format!("no `{line}` in\n{told}"))?;
        }
    }
    for finding in has_not {
        expect(!told.contains(finding), &format!("{finding} in\n{told}"))?;
    }
    let all = format!("{} scenarios: {0} cassettes", SCENARIOS.len());
    expect(told.contains(&all), &format!("no `{all}` in\n{told}"))
}

/// Checks that the answer of `three-tools` is there twice, as the words say.
fn convicted(subject: &str, more: &[&str], words: &str) -> Result<(), Failed> {
    let dir = subjects()?;
    let rig = ["rig", "--yes", subject, "three-tools/2.1.329", "--calls"];
    let told = played(dir.path(), &[&rig[..], more].concat())?;
    let is_convicted = told.contains("SB004 answer-twice") && told.contains(words);
    expect(is_convicted, &format!("not convicted:\n{told}"))
}

/// Reads the corpus with OpenClaw's parser, and holds the rows of docs/conformance.md to it.
fn reads_the_corpus() -> Result<(), Failed> {
    let version = "2026.9.6";
    let host = HostPaths {
        path: env::var_os("PATH").unwrap_or_default(),
        temporary: env::temp_dir(),
        home: env::home_dir(),
    };
    let install = Install {
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("openclaw-{version}")),
        package: format!("openclaw@{version}"),
        node: Some("24".to_owned()),
        overrides: [("linkedom".to_owned(), "0.18.9".to_owned())].into(),
        runs_scripts: false,
    };
    let stop = AtomicBool::new(false);
    let limits = ResolveLimits::default();
    let Installed { folder, node } = install.run(limits, &host, &stop, &mut |_| {})?;
    let node = node.ok_or("npm has installed no node")?;
    for recordings in [NEWEST, ALL] {
        let dir = tempfile::tempdir()?;
        let asked = asked(dir.path(), recordings);
        hold_row(&format!("openclaw {version}"), recordings, &asked, &|| {
            let mut command = Command::new(&node);
            command.arg(root().join("subjects/parsers/openclaw.mjs"));
            command.arg(folder.join("node_modules/openclaw/dist"));
            command
        });
    }
    Ok(())
}

/// Makes a workspace with the scenarios and the subjects.
fn subjects() -> Result<tempfile::TempDir, Failed> {
    let dir = workspace(&SCENARIOS);
    fs::copy(root().join("clitape.toml"), dir.path().join("clitape.toml"))?;
    let files = dir.path().join("subjects/openclaw");
    fs::create_dir_all(&files)?;
    for name in ["config.json", "bus.mjs"] {
        fs::copy(root().join("subjects/openclaw").join(name), files.join(name))?;
    }
    Ok(dir)
}

/// Returns the output of a command that plays to its end, with findings or without.
fn played(dir: &Path, args: &[&str]) -> Result<String, Failed> {
    let (code, out, err) = run(dir, args);
    let told = format!("clitape {} exits {code}\n{out}{err}", args.join(" "));
    expect([0, 3].contains(&code), &told)?;
    Ok(told)
}

fn expect(holds: bool, told: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(told.into()) }
}
