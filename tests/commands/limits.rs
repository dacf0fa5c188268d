//! Tests of the limits: `docs/limits.md` equals the code and the help, and the command bears input without an end.

#![allow(clippy::expect_used, reason = "a test that can't be set up fails")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::time::Duration;

use clitape_gateway::limits as gateway;
use clitape_gateway::sse::{BrokerLimits, ServerSettings};
use clitape_recording::files::LARGEST;
use clitape_recording::limits::{
    CAPTURE, CHANNELS, COMPARED_TIME, FAULT_SLOW_MS, FAULT_WAIT_S, FAULTS, INSTALL_OUTPUT,
    INSTALL_TIME, MODEL_LINES, MODEL_REQUEST, OutputLimits, PAUSE_MS, PIECES, PLANS, RECORDED_TIME,
    VERSION_OUTPUT, VERSION_TIME, WORKSPACE_BYTES, WORKSPACE_FILES,
};
use clitape_recording::scenario::bounds;
use clitape_rig::chat_server::MOST_STEPS;
use clitape_rig::limits as rig;
use clitape_rig::subject::RANGES;

use crate::common::{self, clitape, put_program, root, workspace};

/// The heads of two kinds of tables: limits that are options, and limits that are fields of a library.
const OPTIONS: &str = "what | at most | option | at the limit |";
const FIELDS: &str = "what of the server | at most | field | at the limit |";
/// The head of the table of limits that are variables of the stand-in.
const VARIABLES: &str = "what of the host | at most | variable | at the limit |";

fn page() -> String {
    fs::read_to_string(root().join("docs/limits.md")).expect("the page")
}

/// Returns the rows of the tables whose heads begin with `head`, cell by cell.
fn rows<'a>(page: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let tables = page.split("\n\n").filter(|part| part.starts_with(&format!("| {head}")));
    let rows = tables.flat_map(|table| table.lines().skip(2));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn the_page_of_limits_says_what_the_code_does() {
    let s = |time: Duration| format!("{} s", time.as_secs());
    let ms = |time: Duration| format!("{} ms", time.as_millis());
    let (recorded, compared) = (OutputLimits::RECORDED, OutputLimits::COMPARED);
    let subject = rig::SubjectLimits::DEFAULT;
    let chat = rig::ChatServerLimits::DEFAULT;
    let expect = [
        LARGEST.to_string(),
        CAPTURE.to_string(),
        PIECES.to_string(),
        PLANS.to_string(),
        CHANNELS.to_string(),
        recorded.bytes.to_string(),
        recorded.line.to_string(),
        recorded.lines.to_string(),
        s(RECORDED_TIME),
        WORKSPACE_BYTES.to_string(),
        WORKSPACE_FILES.to_string(),
        MODEL_LINES.to_string(),
        MODEL_REQUEST.to_string(),
        s(VERSION_TIME),
        VERSION_OUTPUT.to_string(),
        s(INSTALL_TIME),
        INSTALL_OUTPUT.to_string(),
        s(COMPARED_TIME),
        compared.bytes.to_string(),
        compared.line.to_string(),
        compared.lines.to_string(),
        rig::KEPT.to_string(),
        subject.output.bytes.to_string(),
        subject.output.line.to_string(),
        subject.output.lines.to_string(),
        subject.memory.to_string(),
        subject.calls.to_string(),
        subject.messages.to_string(),
        "120 s".to_owned(),
        "120 s".to_owned(),
        gateway::STREAM_BYTES.to_string(),
        gateway::STREAM_EVENT.to_string(),
        gateway::COLLECTED_ANSWER.to_string(),
        gateway::COLLECTED_BYTES.to_string(),
        gateway::COLLECTED_CALLS.to_string(),
        gateway::RECONNECTS.to_string(),
        ms(gateway::RECONNECT_FLOOR),
        ms(gateway::RECONNECT_CEILING),
        gateway::BOT_API_ANSWER.to_string(),
        s(gateway::BOT_API_CALL),
        s(gateway::FINAL_MESSAGE),
        gateway::FINAL_MESSAGE_WAITS.to_string(),
        s(gateway::RETRY_AFTER),
        rig::KEPT.to_string(),
        chat.connections.to_string(),
        s(chat.head_time),
        s(chat.idle_time),
        chat.head.to_string(),
        chat.request.to_string(),
        chat.act.to_string(),
        chat.chats.to_string(),
        chat.messages.to_string(),
        chat.entries.to_string(),
        chat.updates.to_string(),
        chat.scopes.to_string(),
        chat.files.to_string(),
        chat.log.to_string(),
        s(chat.webhook_time),
        chat.webhook_answer.to_string(),
    ];
    let page = page();
    let found: Vec<&str> = rows(&page, OPTIONS).iter().map(|row| row[1]).collect();
    assert_eq!(found, expect);
    let (server, held) = (ServerSettings::new("x"), BrokerLimits::default());
    let expect = [
        ("connections", server.connections.to_string()),
        ("waiting", server.waiting.to_string()),
        ("head_time", s(server.head_time)),
        ("readers", held.readers.to_string()),
        ("events", held.events.to_string()),
        ("bytes", held.bytes.to_string()),
        ("ended", held.ended.to_string()),
    ];
    let rows = rows(&page, FIELDS);
    let found = rows.iter().map(|row| (row[2].trim_matches('`'), row[1].to_owned()));
    assert!(found.eq(expect), "{rows:?}");
}

#[test]
fn the_page_of_limits_and_the_help_have_the_variables_of_the_stand_in() {
    let help = clitape().args(["stand-in", "--help"]).output().expect("the command runs");
    let help = String::from_utf8(help.stdout).expect("help is UTF-8");
    let page = page();
    let rows = rows(&page, VARIABLES);
    let expect = [
        ("CLITAPE_WAIT_S", format!("{} s", rig::HOST_WAIT.as_secs())),
        ("CLITAPE_MAX_LINE", rig::HOST_LINE.to_string()),
        ("CLITAPE_MAX_KEPT", rig::KEPT.to_string()),
    ];
    let found = rows.iter().map(|row| (row[2].trim_matches('`'), row[1].to_owned()));
    assert!(found.eq(expect.clone()), "{rows:?}");
    for (name, default) in expect {
        let line = help.lines().find(|line| line.trim_start().starts_with(name));
        let default = format!("[default: {}]", default.trim_end_matches(" s"));
        assert!(line.is_some_and(|line| line.ends_with(&default)), "{name} {default}: {help}");
    }
}

#[test]
fn the_page_of_limits_says_what_a_format_allows() {
    let page = page();
    let keys = |ranges: &[(&str, RangeInclusive<u64>)]| -> Vec<Vec<String>> {
        let row = |(key, range): &(&str, RangeInclusive<u64>)| {
            vec![(*key).to_owned(), range.start().to_string(), range.end().to_string()]
        };
        ranges.iter().map(row).collect()
    };
    assert_eq!(rows(&page, "key of `scenario.toml`"), keys(&bounds::SCENARIO));
    assert_eq!(rows(&page, "key of `model.toml`"), keys(&bounds::MODEL));
    let plan = [
        ("steps, ms of a pause", 0..=PAUSE_MS),
        ("host, ms of a pause", 0..=PAUSE_MS),
        ("faults (entries)", 0..=FAULTS as u64),
        ("faults, s of `rate-limit`", 0..=FAULT_WAIT_S),
        ("faults, ms of `slow`", 0..=FAULT_SLOW_MS),
        ("agent (entries)", 0..=FAULTS as u64),
    ];
    assert_eq!(rows(&page, "key of a plan"), keys(&plan));
    assert_eq!(rows(&page, "key of a subject in `clitape.toml`"), keys(&RANGES));
    let script = [("[[step]] (entries)", 0..=MOST_STEPS as u64)];
    assert_eq!(rows(&page, "key of a script of a person"), keys(&script));
    // Every table of the page is read by one of these tests.
    let tables = page.split("\n\n").filter_map(|part| part.strip_prefix("| "));
    for table in tables {
        let is_read =
            [OPTIONS, FIELDS, VARIABLES, "key of "].iter().any(|head| table.starts_with(head));
        assert!(is_read, "{table}");
    }
}

/// Returns the options under "Limits" in the help of `command`, each with its default.
fn limits_of(command: &str) -> BTreeMap<String, String> {
    let command = command.split(' ').chain(["--help"]);
    let help = clitape().args(command).output().expect("the command runs");
    let help = String::from_utf8(help.stdout).expect("help is UTF-8");
    let (_, section) = help.split_once("\nLimits:").expect("every command has limits");
    let is_over =
        |&(at, _): &(usize, &str)| section[at + 1..].starts_with(|c: char| !c.is_whitespace());
    let end = section.match_indices('\n').find(is_over).map_or(section.len(), |(at, _)| at);
    let section = &section[..end];
    let options = section.split("\n      --").skip(1);
    options
        .map(|text| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let name = text.split(' ').next().expect("a word");
            let default = text.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
            let (default, _) = default.expect("every limit has a default");
            (format!("--{name}"), default.to_owned())
        })
        .collect()
}

#[test]
fn every_limit_of_the_page_is_an_option_with_its_default_and_the_other_way_round() {
    let help = clitape().arg("--help").output().expect("the command runs");
    let help = String::from_utf8(help.stdout).expect("help is UTF-8");
    let (_, commands) = help.split_once("Commands:\n").expect("there are commands");
    let commands = commands.lines().map_while(|line| line.strip_prefix("  "));
    let commands = commands.filter(|line| !line.starts_with(' '));
    let commands = commands.filter_map(|line| line.split(' ').next());
    // The stand-in has the arguments of claude.
    let commands: Vec<&str> = commands.filter(|command| *command != "stand-in").collect();
    assert!(commands.contains(&"record") && commands.contains(&"replay"), "{commands:?}");

    let page = page();
    let mut expect: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    let (mut options, mut of_all) = (0, 0);
    for row in rows(&page, OPTIONS) {
        let (named, option) = match row[2].rsplit_once(": ") {
            Some((named, option)) => {
                (named.split(", ").map(|name| name.trim_matches('`')).collect(), option)
            }
            // Every command has this limit.
            None => (commands.clone(), row[2]),
        };
        let option = option.strip_prefix('`').and_then(|option| option.strip_suffix('`'));
        let option = option.filter(|option| option.starts_with("--"));
        let option = option.unwrap_or_else(|| panic!("{row:?} has no option"));
        let default = row[1].trim_end_matches(" s").trim_end_matches(" ms");
        of_all += usize::from(named.len() == commands.len());
        for command in named {
            expect.entry(command).or_default().insert(option.to_owned(), default.to_owned());
        }
        options += 1;
    }
    assert_eq!((options, of_all), (59, 3));
    // `subject check` has the limits of all commands, too.
    let mut check = expect["help"].clone();
    check.extend(expect.remove("subject check").expect("it has limits"));
    expect.insert("subject check", check);
    for (command, expect) in expect.into_iter().filter(|(command, _)| *command != "help") {
        assert_eq!(limits_of(command), expect, "{command}");
    }
}

/// Runs the command in `dir` with a variable, and returns its exit code and all of its output.
fn run(
    dir: &std::path::Path,
    args: &[&str],
    var: Option<(&str, &std::ffi::OsStr)>,
) -> (i32, String) {
    let mut command = clitape();
    let output = command.current_dir(dir).args(args).envs(var).output().expect("the command runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

#[track_caller]
fn check(dir: &std::path::Path, args: &[&str], code: i32, part: &str) {
    let (got, said) = run(dir, args, None);
    assert!(got == code && said.contains(part), "{args:?}: {got} without `{part}`:\n{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn numbers_on_the_command_line_have_a_range() {
    const CASSETTE: &str = "cassettes/plain-text/2.1.329";
    for speed in ["1e-300", "5e-324", "0", "-1", "NaN", "inf", "0.009", "1001", "fast"] {
        let speed = format!("--speed={speed}");
        check(root(), &["replay", CASSETTE, &speed], 2, "write a number from 0.01 to 1000");
    }
    for (option, part) in [
        ("--fault=1:rate-limit:18446744073709551615s", "write 86400s at most"),
        ("--fault=1:slow:18446744073709551615ms", "write 3600000ms at most"),
        ("--pace=18446744073709551615", "3600000"),
        ("--limit=18446744073709551615", "1..=86400"),
        ("--limit=0", "1..=86400"),
        ("--stuck-callback=18446744073709551615", "1..=1000000"),
        ("--max-pieces=0", "1..=1000000000"),
        ("--max-input=0", "is no size; write a number of bytes"),
    ] {
        check(root(), &["replay", CASSETTE, option], 2, part);
    }
    let size = fs::metadata(root().join(CASSETTE).join("stdout.jsonl")).unwrap().len();
    for (plan, part) in [
        (
            format!(r#""steps":[[86400001,{size}]]"#),
            "a pause of 86400001 ms; 86400000 are the most",
        ),
        (
            format!(
                r#""steps":[[0,{size}]],"host":[{{"line":1,"at":0,"after_ms":18446744073709551615}}]"#
            ),
            "a pause of 18446744073709551615 ms; 86400000 are the most",
        ),
        (
            format!(r#""steps":[[0,{size}]],"faults":["1:rate-limit:18446744073709551615s"]"#),
            "write 86400s at most",
        ),
    ] {
        let plan = format!(r#"{{"format":1,{plan}}}"#);
        check(root(), &["replay", CASSETTE, "--plan", &plan], 2, part);
    }
}

#[test]
fn a_scenario_that_would_run_without_end_is_refused() {
    let workspace = workspace(&["plain-text"]);
    let file = workspace.path().join("scenarios/plain-text/scenario.toml");
    let text = fs::read_to_string(&file).unwrap();
    for (more, part) in [
        (
            "\n[sweep]\nplans = 9223372036854775807\n".to_owned(),
            "`sweep.plans` is 9223372036854775807",
        ),
        (
            "\n[sweep]\nplans = 10001\n".to_owned(),
            "`sweep.plans` is 10001, and 10000 are the most that are replayed",
        ),
        ("\n[[channel]]\nkind = 'sse'\n".repeat(3_000), "entries; 1000 are the most"),
    ] {
        fs::write(&file, format!("{text}{more}")).unwrap();
        check(workspace.path(), &["test"], 2, part);
        check(workspace.path(), &["proof", "plain-text", "--out", "x"], 2, part);
    }
}

#[test]
fn what_is_replayed_has_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(dir.path().join(name), text).unwrap();
    write("records.jsonl", "{}\n".repeat(500_001));
    write("blank.jsonl", "\n".repeat(500_001));
    write("large.jsonl", "x".repeat((64 << 20) + 1));
    write("short.jsonl", "{}\n".repeat(200));
    let pieces = "has 500001 lines, and 500000 are the most that is taken; raise the limit with \
                  `--max-pieces`";
    let import =
        |file: &'static str| ["import", file, "--scenario", "x", "--cli-version", "2.1.329"];
    let planned = |file: &'static str| ["replay", file, "--print-plan"];
    for file in ["records.jsonl", "blank.jsonl"] {
        check(dir.path(), &planned(file), 2, pieces);
        check(dir.path(), &import(file), 2, pieces);
    }
    // Input that is replayed while it is read has no such limit.
    let read = ["replay", "short.jsonl", "--max-pieces", "199", "--max-input", "599"];
    check(dir.path(), &read, 0, "600 bytes, 200 lines");
    let bytes = "has 67108865 bytes, and 64MiB are the most that is taken; raise the limit with \
                 `--max-input`";
    check(dir.path(), &planned("large.jsonl"), 2, bytes);
    check(
        dir.path(),
        &[&import("/dev/zero")[..], &["--max-file", "1000000"]].concat(),
        2,
        "--max-file",
    );
    check(dir.path(), &["session", "/dev/zero", "--max-file", "1000000"], 2, "--max-file");
    check(
        root(),
        &["test", "plain-text", "--max-pieces", "5"],
        2,
        "raise the limit with `--max-pieces`",
    );
    let short = |more: &[&'static str]| [&planned("short.jsonl")[..], more].concat();
    check(dir.path(), &short(&["--max-pieces", "199"]), 2, "has 200 lines");
    check(dir.path(), &short(&["--max-pieces", "200"]), 0, "");
    check(dir.path(), &short(&["--max-input", "599"]), 2, "has 600 bytes");
    check(dir.path(), &short(&["--max-pieces", "599", "--cut", "byte"]), 2, "has 600 pieces");
    check(dir.path(), &short(&["--max-pieces", "599", "--cut", "1"]), 2, "has 600 pieces");
    check(dir.path(), &short(&["--max-pieces", "600", "--cut", "byte"]), 0, "");
    let cassette = "cassettes/permission-allow/2.1.332";
    let size = fs::metadata(root().join(cassette).join("stdout.jsonl")).unwrap().len();
    let host = vec![r#"{"line":1,"at":0}"#; 199].join(",");
    let plan = format!(r#"{{"format":1,"steps":[[0,{size}]],"host":[{host}]}}"#);
    let hosts = ["replay", cassette, "--plan", &plan, "--max-pieces"];
    check(root(), &[&hosts[..], &["199"]].concat(), 2, "has 200 pieces");
    check(root(), &[&hosts[..], &["200"]].concat(), 0, "");
}

#[cfg(unix)]
#[test]
fn a_cli_that_floods_or_a_folder_that_is_missing_is_told() {
    let workspace = workspace(&["plain-text"]);
    let cli = workspace.path().join("claude");
    let version = "case $1 in --version) echo 2.1.329 '(Claude Code)'; exit;; esac";
    let record = |script: &str, more: &[&str]| {
        put_program(&cli, &format!("#!/bin/sh\n{script}\n"));
        let args = [&["record", "--yes", "plain-text", "--claude", "./claude"], more].concat();
        let (code, said) = run(workspace.path(), &args, None);
        assert_eq!(code, 4, "{said}");
        said
    };
    let before = common::files(&workspace.path().join("cassettes"), "");
    let bytes: Vec<Vec<u8>> = before.iter().map(|path| fs::read(path).unwrap()).collect();
    for (script, limit, part) in [
        ("exec yes", ["--max-lines", "1000"], "the CLI printed more than 1000 lines"),
        ("exec yes >&2", ["--max-lines", "1000"], "raise the limit with `--max-lines`"),
        ("exec tr '\\0' x < /dev/zero", ["--max-line", "1MiB"], "a line of more than 1MiB"),
        ("exec yes $(seq 9999)", ["--max-output", "1MiB"], "more than 1MiB on stdout or stderr"),
    ] {
        let said = record(&format!("{version}\n{script}"), &limit);
        assert!(said.contains(part) && said.contains("nothing was written"), "{said}");
    }
    let said = record("exec yes", &[]);
    assert!(said.contains("--version printed more than"), "{said}");
    let after = common::files(&workspace.path().join("cassettes"), "");
    assert_eq!(after, before);
    assert!(after.iter().zip(bytes).all(|(path, bytes)| fs::read(path).unwrap() == bytes));
    let missing = Some(("TMPDIR", std::ffi::OsStr::new("/nowhere/at/all")));
    let args = ["record", "--yes", "plain-text", "--claude", "./claude"];
    let (code, said) = run(workspace.path(), &args, missing);
    let expect = "can't record under /nowhere/at/all: there is no such folder; set TMPDIR";
    assert!(code == 4 && said.contains(expect), "{code} {said}");
}
