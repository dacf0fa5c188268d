//! Tests of `clitape stand-in`: the built program, driven by a small host as a gateway would drive the CLI.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a file that can't be read fails the test")]

mod claude;
mod host;

use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use clitape_recording::cassette::Cassette;

use crate::common::{clitape, root};
use clitape_runner::replay::stdin_lines;
use host::{Host, LIVE, ONE_SHOT};
use serde_json::{Value, json};

/// The session id of every cassette.
const SESSION: &str = "00000000-0000-4000-85e5-000000000001";
/// A uuid that the host chose.
const UUID: &str = "11111111-2222-4333-8444-555555555555";

fn recorded(name: &str) -> Cassette {
    Cassette::load(&root().join("cassettes").join(name)).unwrap()
}

/// Plays the recorded host to the stand-in, and checks that the program prints and ends as the CLI did.
#[track_caller]
fn check_recorded(name: &str) {
    let cassette = recorded(name);
    let replays = cassette.manifest.cli.argv.iter().any(|arg| arg == "--replay-user-messages");
    let replay: &[&str] = if replays { &["--replay-user-messages"] } else { &[] };
    let mut host = Host::live(name, &[&["--session-id", SESSION][..], replay].concat());
    for line in stdin_lines(&cassette.stdin, &cassette.timeline) {
        while (host.read.len() as u64) < line.offset {
            let printed = host.stdout.recv_timeout(Duration::from_secs(60));
            host.read.extend_from_slice(&printed.unwrap_or_else(|_| panic!("{name} hangs")));
        }
        host.write(String::from_utf8(line.line).unwrap().trim_end());
    }
    let ended = host.close();
    let (got, expect) =
        (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(cassette.stdout).unwrap());
    assert!(got == expect, "{name}: {} bytes for {}: {}", got.len(), expect.len(), ended.stderr);
    let code = match cassette.manifest.exit {
        Some(clitape_recording::cassette::Exit::Code(code)) => Some(code),
        _ => None,
    };
    assert_eq!(ended.status.code(), code, "{name}");
}

#[test]
fn the_recorded_host_reads_the_recorded_bytes() {
    for name in [
        "live-multi-turn/2.1.329",
        "permission-allow/2.1.329",
        "permission-deny/2.1.329",
        "live-interrupt-tool/2.1.329",
        "three-tools-live/1.0.128",
        "live-queue/2.1.332",
        "permission-late/2.1.148",
        "permission-stdin-closed/2.1.329",
        "bad-line/2.1.329",
        "resume-missing-live/2.1.329",
        "bash-background/2.1.329",
    ] {
        check_recorded(name);
    }
}

#[test]
fn one_run_prints_the_recorded_bytes() {
    let cassette = recorded("three-tools/2.1.332");
    for play in ["instant", "recorded", "seed:7"] {
        let variables = [("CLITAPE_CASSETTE", "three-tools"), ("CLITAPE_PLAY", play)];
        let args = [&["-p", "Hi", "--session-id", SESSION], &ONE_SHOT[..]].concat();
        let ended = Host::start(&variables, &args).end();
        assert_eq!(ended.status.code(), Some(0), "{play}: {}", ended.stderr);
        assert!(ended.stdout == cassette.stdout, "{play}");
        let path = &ended.transcripts()[0];
        assert_eq!(path.file_stem().unwrap(), SESSION);
        assert!(fs::read(path).unwrap() == cassette.transcript, "{play}");
        let log = ended.log();
        let events: Vec<&str> = log.iter().filter_map(|line| line["event"].as_str()).collect();
        assert_eq!((events[0], events[1]), ("start", "turn"), "{play}");
        assert_eq!(events[events.len() - 2..], ["turn_end", "exit"], "{play}");
        assert!(log[0]["env"].as_array().unwrap().contains(&"HOME".into()));
        assert!(!log[0].to_string().contains(env!("CARGO_MANIFEST_DIR")), "no values");
    }
}

#[test]
fn one_run_can_take_its_prompt_from_stdin_and_print_the_answer_alone() {
    let ask = |format: &str| {
        let mut host = Host::start(&[], &["-p", "--output-format", format]);
        host.write("Please: Do the ports in server.conf and client.conf agree?");
        String::from_utf8(host.close().stdout).unwrap()
    };
    let answer =
        "They do not agree: the server listens on port 8080, the client asks for port 8081.";
    assert_eq!(ask("text"), format!("{answer}\n"));
    let result: Value = serde_json::from_str(&ask("json")).unwrap();
    assert_eq!((&result["type"], &result["result"]), (&"result".into(), &answer.into()));
}

#[test]
fn a_run_ends_as_the_cli_ended() {
    let run = |name: &str| {
        let args = [&["-p", "Hi"], &ONE_SHOT[..]].concat();
        Host::start(&[("CLITAPE_CASSETTE", name)], &args).end().status
    };
    assert_eq!(run("api-400/2.1.329").code(), Some(1));
    assert_eq!(run("resume-terminated-mid-text/2.1.329").code(), Some(143));
    assert_eq!(run("resume-killed-mid-tool/2.1.329").signal(), Some(9));
}

#[test]
fn side_calls_play_no_cassette() {
    let call = |args: &[&str]| {
        let ended = Host::start(&[], args).close();
        assert_eq!(ended.status.code(), Some(0), "{args:?}: {}", ended.stderr);
        String::from_utf8(ended.stdout).unwrap()
    };
    assert_eq!(call(&["--version"]), "2.1.332 (Claude Code)\n");
    let status: Value = serde_json::from_str(&call(&["auth", "status", "--json"])).unwrap();
    assert_eq!(status["loggedIn"], true);
    assert!(call(&["-p", "--help"]).starts_with("Usage: claude"));
    let completion =
        ["--print", "--max-turns", "1", "--safe-mode", "--tools", "", "--no-session-persistence"];
    assert_eq!(call(&completion), "A short answer.\n");
}

#[test]
fn the_help_and_the_manual_page_have_the_stand_in() {
    let said = |args: &[&str]| {
        let output = clitape().args(args).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let pairs: [(&[&str], &str); 5] = [
        (&["--help"], "stand-in"),
        (&["man"], "stand\\-in"),
        (&["stand-in", "--help"], "CLITAPE_CASSETTE    NAME"),
        (&["help", "stand-in"], "--install DIR"),
        (&["--quiet", "stand-in", "-p", "hello"], "call `clitape stand-in …`"),
    ];
    for (args, part) in pairs {
        let said = said(args);
        assert!(said.contains(part), "{args:?} without {part}:\n{said}");
    }
}

#[test]
fn the_program_is_claude_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let installed = clitape().args(["stand-in", "--install"]).arg(dir.path()).output().unwrap();
    assert!(installed.status.success(), "{installed:?}");
    let version = std::process::Command::new(dir.path().join("claude"))
        .arg("--version")
        .env("CLITAPE_VERSION", "2.1.148")
        .output();
    assert_eq!(version.unwrap().stdout, b"2.1.148 (Claude Code)\n");
}

/// Checks that a host that writes `line` is refused with this sentence, within a second.
#[track_caller]
fn check_refused(name: &str, line: &str, expect: &str) {
    let mut host = Host::live(name, &["--session-id", SESSION]);
    host.request("r-1", &json!({"subtype": "initialize", "hooks": null}));
    host.say("Go.", None);
    host.until(|value| value["request"]["subtype"] == "can_use_tool");
    host.until(|value| value["event"]["type"] == "message_stop");
    let begin = Instant::now();
    host.write(line);
    let ended = host.end();
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(ended.status.code(), Some(70), "{}", ended.stderr);
    assert!(ended.stderr.contains(expect), "{}", ended.stderr);
    let log = ended.log();
    let refused = log.iter().find(|line| line["event"] == "refused").unwrap();
    assert_eq!(refused["sentence"], expect);
}

#[test]
fn a_wrong_line_ends_it_within_a_second() {
    let question = "00000000-0000-4000-8000-000000000001";
    let deny = json!({"type": "control_response", "response": {"subtype": "success", "request_id": question, "response": {"behavior": "deny", "message": "no"}}});
    let message = json!({"type": "user", "message": {"role": "user", "content": "More."}});
    for (line, expect) in [
        (message.to_string(), "expected the answer to question q1 (Bash), got a user message"),
        (deny.to_string(), "expected `allow` as the answer to question q1 (Bash), got `deny`"),
        (
            deny.to_string().replace(question, "other"),
            "expected the answer to question q1 (Bash), got an answer to `other`, which the CLI has not asked",
        ),
        (
            "oops".to_owned(),
            "expected the answer to question q1 (Bash), got a line that is not JSON",
        ),
    ] {
        check_refused("permission-allow/2.1.329", &line, expect);
    }
}

#[test]
fn a_host_that_says_nothing_is_refused_in_time() {
    let variables = [("CLITAPE_CASSETTE", "permission-allow"), ("CLITAPE_WAIT_S", "0.3")];
    let mut host = Host::start(&variables, &LIVE);
    host.say("Go.", None);
    let ended = host.end();
    assert_eq!(ended.status.code(), Some(70));
    let expect = "expected the answer to question q1 (Bash), got no line in 0.3 s";
    assert!(ended.stderr.contains(expect), "{}", ended.stderr);
}

#[test]
fn what_a_host_writes_has_limits() {
    let live = || [&LIVE[..], &["--session-id", SESSION]].concat();
    let prompt = || vec!["-p", "--output-format", "text"];
    let wide = format!("[{}0]\n", "{\"a\":0},".repeat(20_000));
    for (args, variable, input, says) in [
        (
            live(),
            ("CLITAPE_MAX_LINE", "1MiB"),
            "x".repeat(3 << 20),
            "a line of more than 1MiB; raise the limit with CLITAPE_MAX_LINE",
        ),
        (prompt(), ("CLITAPE_MAX_LINE", "1KiB"), "x".repeat(2 << 10), "a line of more than 1KiB"),
        (
            prompt(),
            ("CLITAPE_MAX_KEPT", "1MiB"),
            "a line\n".repeat(9_999),
            "lines that take more than 1MiB of memory; raise the limit with CLITAPE_MAX_KEPT",
        ),
        (live(), ("CLITAPE_MAX_KEPT", "1MiB"), wide, "lines that take more than 1MiB of memory"),
    ] {
        let variables = [("CLITAPE_CASSETTE", "permission-allow"), variable];
        let mut host = Host::start(&variables, &args);
        host.write_until_closed(input.as_bytes());
        let ended = host.end();
        assert_eq!(ended.status.code(), Some(70), "{variable:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{variable:?}: {}", ended.stderr);
    }
}

#[test]
fn the_end_of_stdin_ends_it_where_it_waits() {
    let mut host = Host::live("permission-allow", &[]);
    host.say("Go.", None);
    host.until(|value| value["request"]["subtype"] == "can_use_tool");
    assert_eq!(host.close().status.code(), Some(0));
    let ended = Host::start(&[], &LIVE).close();
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(0), 0));
}

#[test]
fn a_host_without_initialize_and_hooks_reads_none_of_them() {
    let mut host = Host::live("three-tools-live/2.1.329", &[]);
    host.say("Hi", None);
    host.result();
    let ended = host.close();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let unwanted = ["control_request", "control_response", "command_lifecycle"];
    for record in ended.records() {
        assert!(!unwanted.iter().any(|kind| record["type"] == *kind), "{record}");
        assert_ne!(record["isReplay"], true);
        assert_ne!(record["session_id"], SESSION, "a session id of its own");
    }
}

#[test]
fn one_run_is_played_to_a_live_host_as_the_cli_would() {
    let args = [&LIVE[..], &["--replay-user-messages", "--session-id", UUID]].concat();
    let mut host = Host::start(&[], &args);
    host.request(
        "mine",
        &json!({"subtype": "initialize", "hooks": {"PreToolUse": [{"hookCallbackIds": ["h"]}]}}),
    );
    let answer = host.until(|value| value["type"] == "control_response");
    assert_eq!(answer["response"]["request_id"], "mine");
    assert!(answer["response"]["response"]["commands"].is_array(), "{answer}");
    let uuid = "99999999-2222-4333-8444-555555555555";
    for (turn, name) in ["three-tools/2.1.329", "thinking/2.1.329"].iter().enumerate() {
        let uuid = uuid.replace("99999999", &format!("9999999{turn}"));
        host.say(&format!("```json\n{{}}\n```\n\n[[clitape:{name}]]"), Some(&uuid));
        let mut states = Vec::new();
        for state in ["queued", "started"] {
            states.push(host.until(|value| value["state"] == state));
        }
        let init = host.until(|value| value["subtype"] == "init");
        let replay = host.until(|value| value["isReplay"] == true);
        let result = host.result();
        states.push(host.until(|value| value["state"] == "completed"));
        assert!(states.iter().all(|state| state["command_uuid"] == *uuid), "{states:?}");
        assert_eq!(replay["uuid"], *uuid);
        assert!(replay["message"]["content"].as_str().unwrap().contains(name));
        for record in states.iter().chain([&init, &replay, &result]) {
            assert_eq!(record["session_id"], UUID, "{record}");
        }
    }
    host.request("later", &json!({"subtype": "set_model", "model": "m"}));
    host.until(|value| value["response"]["request_id"] == "later");
    let ended = host.close();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let mut seen = std::collections::HashSet::new();
    for record in ended.records() {
        if let Some(uuid) = record["uuid"].as_str() {
            assert!(seen.insert(uuid.to_owned()), "{uuid} comes twice");
        }
    }
    let [transcript] = &ended.transcripts()[..] else { panic!("one transcript") };
    let text = fs::read_to_string(transcript).unwrap();
    assert!(!text.contains(SESSION) && text.contains(UUID));
    assert_eq!(text.matches("\"parentUuid\":null").count(), 1, "one chain");
    let turns = ended.log().iter().filter(|line| line["event"] == "turn_end").count();
    assert_eq!(turns, 2);
}

#[test]
fn live_ids_take_the_place_of_the_recorded_ones() {
    let mut host = Host::live("three-tools-live/2.1.329", &["--replay-user-messages"]);
    host.request("req-7", &json!({"subtype": "initialize", "hooks": {"UserPromptSubmit": [{"hookCallbackIds": ["mine"]}]}}));
    let answer = host.until(|value| value["type"] == "control_response");
    assert_eq!(answer["response"]["request_id"], "req-7");
    host.say("Hi", Some(UUID));
    let hook = host.until(|value| value["request"]["subtype"] == "hook_callback");
    assert_eq!(hook["request"]["callback_id"], "mine");
    host.answer(&hook, &json!({"mine": true}));
    let echo = host.until(|value| value["type"] == "control_response");
    assert_eq!(echo["response"]["response"], json!({"mine": true}));
    let result = host.result();
    assert_eq!(
        (&result["user_message_uuid"], &result["user_message_uuids"][0]),
        (&UUID.into(), &UUID.into())
    );
    let ended = host.close();
    let records = ended.records();
    let of = |kind: &str| records.iter().filter(|record| record["type"] == kind).count();
    assert_eq!((of("control_request"), of("control_response"), of("command_lifecycle")), (1, 2, 3));
    for record in records.iter().filter(|record| record["type"] == "command_lifecycle") {
        assert_eq!(record["command_uuid"], UUID);
    }
}

#[test]
fn a_cassette_that_does_not_fit_the_host_is_refused() {
    for (args, name, expect) in [
        (&LIVE[..], "subagent-background", "2 results: the CLI held the end back"),
        (&LIVE, "bash-left-running", "2 results: the CLI held the end back"),
        (&["-p", "Hi"], "permission-allow", "it is a conversation on stdin"),
        (&["-p", "Hi"], "no-such-scenario", "`no-such-scenario` has no cassette of any CLI"),
        (&["-p", "Hi"], "three-tools/9.9.9", "there are 1.0.128, 2.1.148, 2.1.329, 2.1.332"),
    ] {
        let mut host = Host::start(&[("CLITAPE_CASSETTE", name)], args);
        if args.len() > 2 {
            host.say("Go.", None);
        }
        let ended = host.end();
        assert_eq!(ended.status.code(), Some(64), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(expect), "{name}: {}", ended.stderr);
    }
}

#[test]
fn a_queue_gives_one_cassette_a_turn() {
    let dir = tempfile::tempdir().unwrap();
    let queue = dir.path().join("queue");
    fs::write(&queue, "three-tools/2.1.329\n\nplain-text/2.1.148\nlast\n").unwrap();
    let mut host = Host::start(&[("CLITAPE_QUEUE", queue.to_str().unwrap())], &LIVE);
    for _ in 0..2 {
        host.say("Go.", None);
        host.result();
    }
    let log = host.close().log();
    let played: Vec<&str> = log.iter().filter_map(|line| line["cassette"].as_str()).collect();
    let expect = ["three-tools/2.1.329", "plain-text/2.1.148"];
    assert_eq!(played, [expect[0], expect[0], expect[1], expect[1]]);
    assert_eq!(fs::read_to_string(&queue).unwrap(), "last\n");
}

#[test]
fn a_signal_ends_it_as_it_ends_the_cli() {
    let mut host = Host::live("permission-allow", &[]);
    host.say("Go.", None);
    host.until(|value| value["request"]["subtype"] == "can_use_tool");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(host.child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let ended = host.end();
    assert_eq!(ended.status.code(), Some(143));
    assert!(
        ended.log().iter().any(|line| line["event"] == "signal" && line["signal"] == "SIGTERM")
    );
}

#[test]
fn the_process_can_end_in_another_way() {
    let cassette = recorded("plain-text/2.1.332");
    let args = [&["-p", "Hi", "--session-id", SESSION], &ONE_SHOT[..]].concat();
    let start =
        |end: &str| Host::start(&[("CLITAPE_CASSETTE", "plain-text"), ("CLITAPE_END", end)], &args);
    let ended = start("at:1000").end();
    assert_eq!((ended.status.code(), &ended.stdout[..]), (Some(0), &cassette.stdout[..1000]));
    let ended = start("at:1000,signal:9").end();
    assert_eq!((ended.status.signal(), ended.stdout.len()), (Some(9), 1000));
    let ended = start("code:7").end();
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(7), cassette.stdout.len()));
    let wrong = start("soon").end();
    assert_eq!(wrong.status.code(), Some(64));
    assert!(wrong.stderr.contains("CLITAPE_END has `soon`; write at:BYTES"), "{}", wrong.stderr);
    let mut host = start("eof:1500");
    let status = host.child.wait().unwrap();
    let begin = Instant::now();
    let ended = host.end();
    assert!(status.success() && begin.elapsed() > Duration::from_millis(700), "stdout is held");
    assert_eq!(ended.stdout.len(), cassette.stdout.len());
}

#[test]
fn a_slow_host_reads_each_half_of_a_line_alone() {
    let variables = [("CLITAPE_CASSETTE", "plain-text"), ("CLITAPE_PLAY", "instant,halves")];
    let args = [&["-p", "Hi"], &ONE_SHOT[..]].concat();
    let (mut command, _home) = Host::command(&variables, &args);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (mut all, mut whole) = (Vec::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        thread::sleep(Duration::from_millis(30));
        let count = pipe.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        let begins_line = all.last().is_none_or(|byte| *byte == b'\n');
        let ends = buffer[..count].iter().filter(|byte| **byte == b'\n').count();
        whole += ends.saturating_sub(usize::from(!begins_line));
        all.extend_from_slice(&buffer[..count]);
    }
    assert!(child.wait().unwrap().success());
    assert_eq!((whole, all.len()), (0, recorded("plain-text/2.1.332").stdout.len()));
}
