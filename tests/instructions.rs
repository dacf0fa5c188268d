//! Counts the instructions of the hot paths by callgrind, and compares them with `benches/instructions.toml`. A path
//! with far more or fewer instructions fails, so that a change of speed is noticed and recorded. The parser is also
//! counted in sessions of two lengths, because work without allocations does not show in tests/scale.rs.
//!
//! `UPDATE_INSTRUCTIONS=1 cargo test --test instructions` writes the file.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use clitape_stream::Parser;
use libtest_mimic::{Arguments, Failed, Trial};
use serde::{Deserialize, Serialize};

use common::{has_program, root};

/// The tolerance in percent, in both directions. Two runs of the same program differ by less than one, because maps are
/// seeded at random; two builds may differ by more, with and without incremental compilation.
const TOLERANCE: u64 = 15;

/// The counted paths, each as its name and its command line.
const PATHS: [(&str, &[&str]); 3] = [
    // The work of a command beside its replays, which the other two contain as well.
    ("start", &["list", "plain-text"]),
    // The parser, the bridge and a chat, once.
    ("replay", &["replay", "cassettes/long-answer/2.1.332", "--lane", "telegram"]),
    // The checks of a recording, with a few seeded plans.
    ("plans", &["test", "three-tools/2.1.332", "--plans", "4", "--jobs", "1"]),
];

/// The version whose recordings are parsed for the path `parser`.
const PARSED: &str = "2.1.332";
/// The argument that makes this program only parse the files behind it.
const PARSE: &str = "parse";

/// The turns of the shorter session, the messages of the shorter turn, the blocks of the shorter message, the factor of
/// the longer ones, and the most by which the work may grow faster than the input.
const TURNS: usize = 500;
const MESSAGES: usize = 2_000;
const BLOCKS: usize = 5_000;
const TIMES: usize = 4;
const MOST: f64 = 1.2;

/// The contents of `benches/instructions.toml`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    /// The version of the compiler, because another one makes other instructions.
    rustc: String,
    /// The millions of instructions of each path.
    millions: BTreeMap<String, u64>,
}

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    if let Some((PARSE, files)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        files.iter().for_each(|file| parse(&fs::read(file).unwrap()));
        return ExitCode::SUCCESS;
    }
    let paths = "the_hot_paths_take_as_many_instructions_as_before";
    let sessions = "a_turn_costs_the_same_in_a_long_session";
    let turns = "a_message_costs_the_same_in_a_long_turn";
    let snapshots = "a_block_costs_the_same_in_a_long_snapshot";
    let trials = vec![
        Trial::test(paths, hot_paths),
        Trial::test(sessions, || grows_as_its_input("turns", session, TURNS)),
        Trial::test(turns, || grows_as_its_input("messages", turn, MESSAGES)),
        Trial::test(snapshots, || grows_as_its_input("blocks", snapshot, BLOCKS)),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn hot_paths() -> Result<(), Failed> {
    if !has_program("valgrind") {
        return Ok(());
    }
    let path = root().join("benches/instructions.toml");
    let mut counted = Baseline { rustc: rustc(), ..Baseline::default() };
    for (name, args) in PATHS {
        counted.millions.insert(name.to_owned(), of_command(args) / 1_000_000);
    }
    let recordings = fs::read_dir(root().join("cassettes")).unwrap();
    let recordings =
        recordings.map(|folder| folder.unwrap().path().join(PARSED).join("stdout.jsonl"));
    let recordings: Vec<_> = recordings.filter(|file| file.is_file()).collect();
    counted.millions.insert("parser".to_owned(), of_parser(&recordings) / 1_000_000);
    if std::env::var_os("UPDATE_INSTRUCTIONS").is_some() {
        fs::write(&path, HEAD.to_owned() + &toml::to_string(&counted)?)?;
        return Ok(());
    }
    let baseline: Baseline = toml::from_str(&fs::read_to_string(&path)?)?;
    let mut told = Vec::new();
    for (name, &now) in &counted.millions {
        let before = baseline.millions.get(name).copied().unwrap_or_default();
        println!("{name}: {now} million instructions, {before} in the baseline");
        if now.abs_diff(before) * 100 > before * TOLERANCE {
            told.push(format!("{name} takes {now} million instructions, not {before}"));
        }
    }
    if told.is_empty() && counted.millions.len() == baseline.millions.len() {
        return Ok(());
    }
    Err(format!(
        "{}; {} compiled this, {} the baseline. Where that is meant: UPDATE_INSTRUCTIONS=1 cargo test --test instructions",
        told.join("; "),
        counted.rustc,
        baseline.rustc
    )
    .into())
}

/// Fails if the parser's work grows faster than the number of parts in a run.
fn grows_as_its_input(what: &str, run: fn(usize) -> String, short: usize) -> Result<(), Failed> {
    if !has_program("valgrind") {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("stdout.jsonl");
    let [nothing, short, long] = [0, short, short * TIMES].map(|number| {
        fs::write(&file, run(number)).unwrap();
        of_parser(&[&file])
    });
    let growth = (long - nothing) as f64 / (short - nothing) as f64;
    println!("{TIMES} times the {what} take {growth:.2} times the instructions");
    if growth > TIMES as f64 * MOST {
        return Err(format!(
            "{TIMES} times the {what} take {growth:.2} times the instructions, and {:.1} times at most",
            TIMES as f64 * MOST
        )
        .into());
    }
    Ok(())
}

/// Returns the output of a session of this many turns, in each of which a subagent writes a word.
fn session(turns: usize) -> String {
    let turn = |n| message(n, &format!(r#""toolu_{n}""#)) + &result(n, "");
    (0..turns).map(turn).collect()
}

/// Returns the output of a turn of this many messages, which its result names.
fn turn(messages: usize) -> String {
    let ids: Vec<_> = (0..messages).map(|n| format!(r#""msg_{n}""#)).collect();
    let named = format!(r#","begun_message_ids":[{}]"#, ids.join(","));
    (0..messages).map(|n| message(n, "null")).collect::<String>() + &result(messages, &named)
}

/// Returns the output of one whole message with this many texts.
fn snapshot(blocks: usize) -> String {
    let texts = vec![r#"{"type":"text","text":"Yes."}"#; blocks].join(",");
    format!(
        r#"{{"type":"assistant","message":{{"id":"msg_1","role":"assistant","content":[{texts}]}}}}"#
    ) + "\n"
}

/// Returns the output of a message that writes a word.
fn message(n: usize, parent: &str) -> String {
    let events = [
        &format!(
            r#"{{"type":"message_start","message":{{"id":"msg_{n}","role":"assistant","content":[]}}}}"#
        ),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let record = |event| {
        format!(r#"{{"type":"stream_event","event":{event},"parent_tool_use_id":{parent}}}"#) + "\n"
    };
    events.map(record).concat()
}

/// Returns a result with further fields.
fn result(n: usize, fields: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"{n}"{fields}}}"#
    ) + "\n"
}

/// Parses the bytes, and drops the events.
fn parse(bytes: &[u8]) {
    let mut parser = Parser::new();
    bytes.chunks(65_536).for_each(|piece| parser.feed_with(piece, &mut |_| ()));
    parser.finish_with(&mut |_| ());
}

const HEAD: &str = "# Instructions of the hot paths, built as `cargo test` builds them; tests/instructions.rs counts them.\n\
                    # Written by `UPDATE_INSTRUCTIONS=1 cargo test --test instructions`.\n";

/// Counts the instructions of a command in a copy of the workspace, over all threads.
fn of_command(args: &[&str]) -> u64 {
    let dir = common::workspace(&["long-answer", "plain-text", "three-tools"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_clitape"));
    command.current_dir(dir.path()).args(args);
    instructions(&command)
}

/// Counts the instructions of the parser on these files.
fn of_parser(files: &[impl AsRef<Path>]) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(PARSE).args(files.iter().map(AsRef::as_ref));
    instructions(&command)
}

/// Counts the instructions of a program, over all threads.
fn instructions(program: &Command) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("callgrind.out");
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(program.get_program()).args(program.get_args());
    if let Some(dir) = program.get_current_dir() {
        command.current_dir(dir);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{program:?}: {}", String::from_utf8_lossy(&output.stderr));
    total(&out)
}

/// Returns the sum at the end of callgrind's file.
fn total(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap();
    let mut totals = text.lines().filter_map(|line| {
        line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: "))
    });
    totals.next_back().unwrap().trim().parse().unwrap()
}

/// Returns the version of the compiler.
fn rustc() -> String {
    let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()))
        .arg("--version")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().nth(1).unwrap_or_default().to_owned()
}
