//! Tests of every limit that is an option: a low value on the command line has its effect, and the message names the
//! option. `limits.rs` has the limits on files.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};

use crate::common::{check_options, clitape, has_program, put_program, root, workspace};

/// Runs the command, and checks that it ends with `code` and prints every one of `parts`.
#[track_caller]
fn check(command: &mut Command, code: i32, parts: &[&str]) {
    let output = command.output().expect("the command runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{said}");
    for part in parts {
        assert!(said.contains(part), "{command:?}: no `{part}` in\n{said}");
    }
    assert!(!said.contains("panicked"), "{said}");
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
    check_options(&args, &said);
}

/// Starts a server that answers each connection with the next of `answers`, and further ones with the last. With
/// `is_open`, connections stay open after the answer.
fn server(answers: &'static [&'static str], is_open: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for (number, socket) in listener.incoming().enumerate() {
            let Ok(mut socket) = socket else { continue };
            let _ = socket.read(&mut [0; 16_384]);
            let answer = answers[number.min(answers.len() - 1)];
            let _ = socket.write_all(answer.as_bytes());
            if is_open {
                open.push(socket);
            }
        }
    });
    address
}

#[test]
fn limits_on_plans_and_channels_name_their_option() {
    let workspace = workspace(&["plain-text"]);
    let sentence =
        "are the most that are replayed; write fewer, or raise the limit with `--max-plans`";
    for (args, code) in [
        (&["test", "--max-plans", "63"][..], 2),
        (&["proof", "plain-text", "--out", "x", "--no-png", "--max-plans", "63"], 2),
        (&["review", "--list", "--max-plans", "63"], 2),
    ] {
        let parts = ["`sweep.plans` is 64, and 63", sentence];
        check(clitape().current_dir(workspace.path()).args(args), code, &parts);
    }
    check(clitape().current_dir(workspace.path()).args(["test", "--max-plans", "64"]), 0, &[]);
    let parts = ["`[[channel]]` has 2, and 1", "raise the limit with `--max-channels`"];
    for (args, code) in [
        (&["test", "--max-channels", "1"][..], 2),
        (&["proof", "plain-text", "--out", "x", "--no-png", "--max-channels", "1"], 2),
        (&["review", "--list", "--max-channels", "1"], 2),
    ] {
        check(clitape().current_dir(workspace.path()).args(args), code, &parts);
    }
    check(clitape().current_dir(workspace.path()).args(["test", "--max-channels", "2"]), 0, &[]);
}

#[test]
fn limits_on_what_is_recorded_are_told_with_their_option() {
    let workspace = workspace(&["plain-text", "big-write"]);
    let in_workspace = |place: &str| workspace.path().join(place);
    fs::write(in_workspace("scenarios/plain-text/workspace/more.txt"), "more").expect("a file");
    let version = "case $1 in --version) echo 2.1.329 '(Claude Code)'; exit;; esac";
    let post = "url=${ANTHROPIC_BASE_URL#http://}\n\
                exec 3<>/dev/tcp/${url%:*}/${url#*:}\n\
                printf 'POST /v1/messages HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 15\\r\\n\\r\\n{\"messages\":[]}' >&3\n\
                cat <&3";
    let known = |then: &str| format!("{version}\n{then}");
    for (text, scenario, option, low, part) in [
        ("sleep 600".to_owned(), "plain-text", "--version-timeout", "1", "had not ended after 1 s"),
        (
            "exec yes".to_owned(),
            "plain-text",
            "--max-version-output",
            "1KiB",
            "printed more than 1KiB",
        ),
        (known("sleep 600"), "plain-text", "--max-time", "1", "had not ended after 1 s"),
        (known("exec yes"), "plain-text", "--max-lines", "9", "more than 9 lines"),
        (known("exec yes"), "plain-text", "--max-output", "1KiB", "more than 1KiB on stdout"),
        (known("printf 123456789"), "plain-text", "--max-line", "8", "a line of more than 8B"),
        (known(post), "plain-text", "--max-request", "14", "is longer than 14B"),
        (known(""), "plain-text", "--max-workspace", "3", "has more than 3B in its files"),
        (known(""), "plain-text", "--max-workspace-files", "1", "more than 1 files, folders"),
        (known(""), "big-write", "--max-model-lines", "3", "may ask for 3 lines in all"),
    ] {
        put_program(&in_workspace("claude"), &format!("#!/bin/bash\n{text}\n"));
        let named = format!("raise the limit with `{option}`");
        let record = ["record", "--yes", scenario, "--claude", "./claude", option, low];
        check(clitape().current_dir(workspace.path()).args(record), 4, &[part, &named]);
        let from = ["--from", "2.1.329", "--claude", "./claude", option, low];
        let drift = [&["drift", "--yes", scenario][..], &from].concat();
        // A limit on the CLI itself, or on the question for consent, ends the command before it records.
        let is_before =
            ["version", "workspace", "model-lines"].iter().any(|it| option.contains(it));
        let code = if is_before { 4 } else { 3 };
        check(clitape().current_dir(workspace.path()).args(drift), code, &[part, &named]);
    }
    for (text, option, low, part) in [
        ("sleep 600", "--install-timeout", "1", "it had not ended after 1 s"),
        ("exec yes >&2", "--max-install-output", "1KiB", "it printed more than 1KiB"),
    ] {
        put_program(&in_workspace("bin/npm"), &format!("#!/bin/bash\n{text}\n"));
        let path = format!("{}:/usr/bin:/bin", in_workspace("bin").display());
        let named = format!("raise the limit with `{option}`");
        for (code, args) in [
            (4, &["record", "--yes", "plain-text", "--claude", "npm:9.9.9", option, low][..]),
            (3, &["drift", "plain-text", "--from", "2.1.329", "--to", "9.9.9", option, low]),
            (4, &["drift", "plain-text", "--from", "2.1.329", "--to", "latest", option, low]),
        ] {
            let mut command = clitape();
            command.current_dir(workspace.path()).args(args).env("PATH", &path);
            command.env("XDG_CACHE_HOME", in_workspace("cache"));
            check(&mut command, code, &[part, &named]);
        }
    }
}

#[test]
fn limits_on_what_is_compared_are_told_with_their_option() {
    let workspace = workspace(&["plain-text"]);
    for (text, option, low, part) in [
        ("sleep 600", "--timeout", "1", "it had not ended after 1 s"),
        ("exec yes", "--max-output", "1KiB", "it printed more than 1KiB"),
        ("exec yes", "--max-lines", "9", "it printed more than 9 lines"),
        ("printf 123456789", "--max-line", "8", "it printed a line of more than 8B"),
        ("printf '[%.0s' {1..99}", "--max-kept", "4KiB", "its trace would take more than 4KiB"),
    ] {
        put_program(&workspace.path().join("subject"), &format!("#!/bin/bash\n{text}\n"));
        let args = ["compare", "this", "./subject", "plain-text", "--out", "out", option, low];
        let named = format!("raise the limit with `{option}`");
        check(clitape().current_dir(workspace.path()).args(args), 3, &[part, &named]);
    }
}

#[test]
fn limits_on_subjects_are_told_with_their_option() {
    let workspace = workspace(&["plain-text"]);
    let in_workspace = |place: &str| workspace.path().join(place);
    let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"x"}}}"#;
    let hello = r#"read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
                   read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'"#;
    let agent = format!("{hello}\nexec yes '{update}'");
    let hoard = "head -c 400000000 /dev/zero | tail -c 400000000 | sleep 60";
    let ready = "ready = { output = 'up' }\n";
    for (kind, script, option, low, part) in [
        ("gateway", "exec yes", "--max-output", "1KiB", "more than 1KiB on stdout"),
        ("gateway", "exec yes", "--max-lines", "9", "more than 9 lines"),
        ("gateway", "printf 123456789; sleep 60", "--max-line", "8", "a line of more than 8B"),
        ("gateway", hoard, "--max-memory", "64MiB", "more than 64MiB of memory"),
        ("agent", &agent, "--max-output", "1MiB", "more than 1MiB on stdout"),
        ("agent", &agent, "--max-agent-messages", "9", "more than 9 messages in a session"),
        ("agent", &agent, "--max-kept", "1MiB", "more than 1MiB would have to be kept"),
        ("parser", "exec yes", "--max-output", "1MiB", "more than 1MiB on stdout"),
        (
            "parser",
            "printf '[%.0s' {1..99}; echo",
            "--max-kept",
            "4KiB",
            "more than 4KiB would have",
        ),
    ] {
        let before = if kind == "gateway" { "echo up; sleep 0.3\n" } else { "" };
        put_program(&in_workspace("subject"), &format!("#!/bin/bash\n{before}{script}\n"));
        let keys = if kind == "gateway" { ready } else { "" };
        let toml = format!("[subject.x]\nkind = '{kind}'\ncommand = ['./subject']\n{keys}");
        fs::write(in_workspace("clitape.toml"), toml).expect("clitape.toml");
        let named = format!("raise the limit with `{option}`");
        let commands = [
            &["test", "--yes", "--subject", "x", "plain-text"][..],
            &["rig", "--yes", "x", "plain-text"],
        ];
        let count = if kind == "parser" { 1 } else { 2 };
        for command in &commands[..count] {
            let args = [command, &[option, low][..]].concat();
            check(clitape().current_dir(workspace.path()).args(args), 3, &[part, &named]);
        }
        if kind == "agent" {
            let args = ["editor", option, low, "--prompt", "hi", "--", "./subject"];
            check(clitape().current_dir(workspace.path()).args(args), 3, &[part, &named]);
        }
    }
}

#[test]
fn the_limit_on_the_calls_of_a_chat_is_told_with_its_option() {
    if !has_program("python3") {
        return;
    }
    let workspace = workspace(&["plain-text"]);
    let program = root().join("subjects/examples/telegram.py");
    let toml = format!(
        "[subject.x]\nkind = 'gateway'\ncommand = ['python3', '{}']\n\
         env = {{ TELEGRAM_API = '{{bot_api}}', TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}' }}\n",
        program.display()
    );
    fs::write(workspace.path().join("clitape.toml"), toml).expect("clitape.toml");
    let args = ["test", "--yes", "--subject", "x", "plain-text", "--max-calls", "1"];
    let says = ["SB029", "more than 1 calls in one chat; raise the limit with `--max-calls`"];
    check(clitape().current_dir(workspace.path()).args(args), 3, &says);
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

#[test]
fn limits_on_what_is_collected_are_told_with_their_option() {
    const OUTPUT: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
                          id: 1\nevent: output\ndata: {\"content\":\"xxxxxxxx\"}\n\n";
    const CALL: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
                        event: tool_use\ndata: {\"name\":\"x\"}\n\n";
    const SESSION: &str =
        "HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n{\"agentId\":\"a\",\"token\":1} ";
    for (answers, is_open, option, low, code, part) in [
        (&[STREAM][..], true, "--timeout", "1", 3, "was not complete after 1 s"),
        (&[OUTPUT], true, "--max-stream", "9", 3, "the stream has more than 9B"),
        (&[OUTPUT], true, "--max-output", "7", 3, "are more than 7B"),
        (&[CALL], true, "--max-calls", "0", 3, "the stream has more than 0 calls"),
        (
            &["HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1234567"],
            true,
            "--max-event",
            "12",
            3,
            "is longer than 12B",
        ),
        (&[OUTPUT], false, "--max-reconnects", "0", 3, "broke off more than 0 times"),
        (&[SESSION], true, "--max-answer", "25", 4, "answer is longer than 25B"),
    ] {
        let url = format!("http://{}/s", server(answers, is_open));
        let mut command = clitape();
        command.args(["collect", &url, option, low]);
        if option == "--max-answer" {
            command.args(["--send", "Go."]);
        }
        check(&mut command, code, &[part, &format!("raise the limit with `{option}`")]);
    }
    let url = format!("http://{}/", server(&[STREAM], true));
    let mut command = clitape();
    command.args(["collect", &url, "--retry-min", "2", "--retry-max", "1"]);
    check(&mut command, 2, &["`--retry-min` is more than `--retry-max`"]);
}

#[test]
fn the_waits_between_connections_have_both_limits() {
    const FAST: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nretry: 0\nid: 1\ndata: x\n\n";
    const SLOW: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nretry: 99999999\nid: 1\ndata: x\n\n";
    for (answers, option, low, least, most) in [
        (&[FAST], "--retry-min", "700", 1_400, 20_000),
        (&[SLOW], "--retry-max", "200", 400, 20_000),
    ] {
        let url = format!("http://{}/", server(answers, false));
        let began = std::time::Instant::now();
        let mut command = clitape();
        command.args(["collect", &url, "--max-reconnects", "2", option, low]);
        check(&mut command, 3, &["broke off more than 2 times"]);
        let took = began.elapsed().as_millis();
        assert!((least..most).contains(&took), "{option}: {took} ms");
    }
}

#[test]
fn limits_on_a_bot_api_server_are_told_with_their_option() {
    const LONG: &str =
        "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"ok\":true,\"result\":{}}         ";
    const WAIT: &str = "HTTP/1.1 429 X\r\ncontent-length: 62\r\n\r\n\
                        {\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":999}}";
    const AGAIN: &str = "HTTP/1.1 429 X\r\ncontent-length: 60\r\n\r\n\
                         {\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":1}}";
    let cassette = root().join("cassettes/plain-text/2.1.329");
    for (answer, is_open, options, part) in [
        (
            LONG,
            true,
            &["--api-max-answer", "20"][..],
            "is longer than 20B, the most that `--api-max-answer`",
        ),
        (
            "",
            true,
            &["--api-timeout", "1"],
            "none came in 1 s, the most that `--api-timeout` allows",
        ),
        (WAIT, false, &["--api-wait", "7"], "7 s in all (`--api-wait`) at most"),
        (AGAIN, false, &["--api-waits", "0"], "waits 0 times in a row (`--api-waits`)"),
        (
            WAIT,
            false,
            &["--api-retry-after", "1", "--api-waits", "0"],
            "it counts as 1 s, the most that `--api-retry-after` allows",
        ),
    ] {
        let answers: &'static [&'static str] = Box::leak(Box::new([answer]));
        let url = format!("http://{}", server(answers, is_open));
        let mut command = clitape();
        command.arg("replay").arg(&cassette).args(["--telegram-api", &url, "--chat", "1"]);
        command.args(["--mode", "off", "--speed", "1000"]).args(options);
        command.env("TELEGRAM_BOT_TOKEN", "1:secret");
        check(&mut command, 3, &[part, "the final message did not arrive"]);
    }
}

#[test]
fn a_capture_without_an_end_is_replayed_as_far_as_somebody_reads() {
    let run = fs::read(root().join("cassettes/plain-text/2.1.329/stdout.jsonl")).unwrap();
    let mut replay = clitape();
    replay.args(["replay", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut replay = replay.spawn().unwrap();
    let mut stdin = replay.stdin.take().unwrap();
    let writer = std::thread::spawn(move || while stdin.write_all(&run).is_ok() {});
    let trace = BufReader::new(replay.stdout.take().unwrap());
    assert_eq!(trace.lines().map_while(Result::ok).take(1_000).count(), 1_000);
    assert!(replay.wait().unwrap().success());
    writer.join().unwrap();
}
