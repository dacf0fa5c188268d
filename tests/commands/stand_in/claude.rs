//! Tests of the stand-in's likeness to the real `claude`: it refuses arguments, prints only the wanted records, asks
//! the side that the arguments name, and keeps processes apart.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use clitape_rig::stand_in::write_run_file;
use serde_json::{Value, json};

use super::host::{Ended, Host, LINES, LIVE, ONE_SHOT};
use super::{SESSION, UUID, recorded};
use crate::common::{clitape, has_program, put_program, root};

/// Checks that a host with these arguments reads these words on stderr and gets the code 1, and that the log has them.
#[track_caller]
fn check_arguments(version: &str, args: &[&str], expect: &str) {
    let ended = Host::start(&[("CLITAPE_VERSION", version)], args).close();
    assert_eq!(ended.status.code(), Some(1), "{args:?}: {}", ended.stderr);
    assert_eq!(ended.stderr, format!("{expect}\n"), "{args:?}");
    let log = ended.log();
    let events: Vec<&str> = log.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!((events[0], &events[events.len() - 2..]), ("start", &["refused", "exit"][..]));
    let sentence = log[log.len() - 2]["sentence"].as_str().unwrap();
    assert_eq!(sentence, format!("claude refuses its arguments: {expect}"));
}

#[test]
fn arguments_are_refused_in_the_words_of_the_version() {
    let prompt = ["-p", "[[clitape:three-tools]]"];
    for (version, more, expect) in [
        (
            "2.1.332",
            &["--output-format", "stream-json"][..],
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            "2.1.332",
            &["--permission-mode", "yolo"],
            "error: option '--permission-mode <mode>' argument 'yolo' is invalid. Allowed choices are acceptEdits, auto, \
             bypassPermissions, manual, dontAsk, plan.",
        ),
        ("2.1.332", &["--frob"], "error: unknown option '--frob'"),
        ("2.1.148", &["--session-id", "abc"], "Error: Invalid session ID. Must be a valid UUID."),
        ("1.0.128", &["--effort", "high"], "error: unknown option '--effort'"),
    ] {
        check_arguments(version, &[&prompt[..], more].concat(), expect);
    }
    let nothing = "Error: Input must be provided either through stdin or as a prompt argument when using --print";
    let ended = Host::start(&[], &["-p"]).close();
    assert_eq!((ended.status.code(), ended.stderr), (Some(1), format!("{nothing}\n")));
}

/// Returns the lines of stdout without pieces of messages.
fn whole_lines(stdout: &[u8]) -> Vec<u8> {
    let lines = stdout.split_inclusive(|&byte| byte == b'\n');
    lines
        .filter(|line| !line.starts_with(br#"{"type":"stream_event""#))
        .flatten()
        .copied()
        .collect()
}

#[test]
fn pieces_of_messages_come_only_with_the_option() {
    let without = |args: &[&'static str]| -> Vec<&'static str> {
        args.iter().copied().filter(|arg| *arg != "--include-partial-messages").collect()
    };
    let cassette = recorded("three-tools/2.1.332");
    let args = [&["-p", "Hi", "--session-id", SESSION], &without(&ONE_SHOT)[..]].concat();
    let ended = Host::start(&[("CLITAPE_CASSETTE", "three-tools/2.1.332")], &args).end();
    assert!(ended.stdout == whole_lines(&cassette.stdout), "{}", ended.stderr);
    let log = ended.log();
    let last = log.iter().rfind(|line| line["event"] == "print").unwrap();
    assert_eq!(last["to"], cassette.stdout.len(), "the whole cassette counts as printed");
    let args = without(&[&LIVE[..], &["--session-id", SESSION]].concat());
    let mut host = Host::start(&[("CLITAPE_CASSETTE", "permission-allow/2.1.332")], &args);
    host.request("clitape-1", &json!({"subtype": "initialize", "hooks": null}));
    host.say("Go.", None);
    let question = host.until(|value| value["request"]["subtype"] == "can_use_tool");
    host.answer(&question, &json!({"behavior": "allow", "updatedInput": {}}));
    host.result();
    let ended = host.close();
    let cassette = recorded("permission-allow/2.1.332");
    assert!(ended.stdout == whole_lines(&cassette.stdout), "{}", ended.stderr);
}

#[test]
fn a_host_that_asks_for_pieces_gets_them_of_a_recording_without() {
    let args = [&["-p", "Hi"], &ONE_SHOT[..]].concat();
    let ended = Host::start(&[("CLITAPE_CASSETTE", "no-partials/2.1.332")], &args).end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let (mut streamed, mut whole) = (String::new(), String::new());
    for record in ended.records() {
        streamed += record["event"]["delta"]["text"].as_str().unwrap_or_default();
        if record["type"] == "assistant" {
            for block in record["message"]["content"].as_array().unwrap() {
                whole += block["text"].as_str().unwrap_or_default();
            }
        }
    }
    assert!(!whole.is_empty());
    assert_eq!(streamed, whole);
}

/// Plays a cassette to a live host that is not asked for permissions, and returns its end.
fn unasked(name: &str) -> Ended {
    let mut host = Host::start(&[("CLITAPE_CASSETTE", name)], LINES);
    host.say("Go.", None);
    host.result();
    host.close()
}

#[test]
fn without_the_option_nobody_is_asked() {
    for (name, denies, record) in [
        ("permission-allow/2.1.332", false, false),
        ("permission-deny/2.1.332", true, true),
        ("permission-deny/1.0.128", true, false),
    ] {
        let ended = unasked(name);
        assert_eq!(ended.status.code(), Some(0), "{name}: {}", ended.stderr);
        let records = ended.records();
        assert!(records.iter().all(|record| record["type"] != "control_request"), "{name}");
        let told = records.iter().find(|record| record["subtype"] == "permission_denied");
        assert_eq!(told.is_some(), record, "{name}");
        let result = records.iter().find(|record| record["type"] == "user").unwrap();
        let block = &result["message"]["content"][0];
        assert_eq!(block["is_error"] == true, denies, "{name}: {block}");
        // The reason of the recorded person is not that of the CLI.
        assert_eq!(block["content"] == "This command requires approval", denies, "{name}: {block}");
    }
}

#[test]
fn in_a_mode_that_bypasses_permissions_only_what_the_person_wants_is_asked() {
    for option in
        [&["--permission-mode", "bypassPermissions"][..], &["--dangerously-skip-permissions"]]
    {
        let play = |name: &str| {
            let mut host =
                Host::start(&[("CLITAPE_CASSETTE", name)], &[&LIVE[..], option].concat());
            host.say("Go.", None);
            host.close()
        };
        let asks = |ended: &Ended| {
            ended.records().iter().any(|record| record["request"]["subtype"] == "can_use_tool")
        };
        let allowed = play("permission-allow/2.1.332");
        assert!(!asks(&allowed) && allowed.status.code() == Some(0), "{}", allowed.stderr);
        assert!(asks(&play("ask-user/2.1.332")), "{option:?}");
        let denied = play("permission-deny/2.1.332");
        assert_eq!(denied.status.code(), Some(64), "{}", denied.stderr);
        assert!(denied.stderr.contains("the recorded person says no"), "{}", denied.stderr);
    }
}

/// An MCP server with a tool that answers as `MODE` says and logs what it reads.
const SERVER: &str = r#"
import json, os, sys
for line in sys.stdin:
    open(os.environ["SERVER_LOG"], "a").write(line)
    message = json.loads(line)
    if "id" not in message: continue
    if message["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": "mine", "method": "ping"}), flush=True)
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "gate", "version": "1"}}
    else:
        asked = message["params"]["arguments"]
        answer = {"allow": {"behavior": "allow", "updatedInput": asked["input"]}, "deny": {"behavior": "deny", "message": "No."}}.get(os.environ["MODE"], "?")
        result = {"content": [{"type": "text", "text": json.dumps(answer)}]}
    if "result" not in message: print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// The same server behind HTTP: it answers as JSON or, with `STREAM`, as a stream of events, and requires its session
/// id.
const HTTP_SERVER: &str = r#"
import http.server, json, os
class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        open(os.environ["SERVER_LOG"], "a").write(body + "\n")
        message = json.loads(body)
        is_first = message["method"] == "initialize"
        if self.headers["X-Key"] != "k" or not is_first and self.headers["Mcp-Session-Id"] != "s1":
            return self.reply(403, "", "")
        if "id" not in message: return self.reply(202, "", "")
        asked = message["params"].get("arguments")
        answer = {"allow": {"behavior": "allow", "updatedInput": asked and asked["input"]}, "deny": {"behavior": "deny", "message": "No."}}.get(os.environ["MODE"], "?")
        result = {"protocolVersion": message["params"].get("protocolVersion")} if is_first else {"content": [{"type": "text", "text": json.dumps(answer)}]}
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        if os.environ.get("STREAM"): self.reply(200, "text/event-stream", f"event: message\ndata: {{\"method\": \"x\"}}\n\ndata: {text}\n\n")
        else: self.reply(200, "application/json", text)
    def reply(self, status, kind, text):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Mcp-Session-Id", "s1")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// Plays a cassette to a one-shot and to a live host whose tool answers in this mode, and returns the end of each and
/// the calls of the tool.
fn with_tool(name: &str, mode: &str) -> Vec<(Ended, Vec<Value>)> {
    let dir = tempfile::tempdir().unwrap();
    let (server, log) = (dir.path().join("server.py"), dir.path().join("log"));
    // A server that takes the answer to its own question for a message fails here.
    fs::write(
        &server,
        SERVER.replace("    if \"id\"", "    if \"result\" in message: continue\n    if \"id\""),
    )
    .unwrap();
    let config = json!({"mcpServers": {"gate": {
        "command": "python3", "args": [server], "env": {"SERVER_LOG": log, "MODE": mode},
    }}});
    let file = dir.path().join("mcp.json");
    fs::write(&file, config.to_string()).unwrap();
    let tool = ["--permission-prompt-tool", "mcp__gate__ask", "--mcp-config"];
    let variables = [("CLITAPE_CASSETTE", name)];
    let calls = || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        fs::write(&log, "").unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["method"] == "tools/call").collect::<Vec<Value>>()
    };
    let text = config.to_string();
    let args = [&["-p", "Go."], &ONE_SHOT[..], &tool, &[text.as_str()]].concat();
    let one_shot = Host::start(&variables, &args).end();
    let one_shot = (one_shot, calls());
    let args = [LINES, &tool, &[file.to_str().unwrap()]].concat();
    let mut live = Host::start(&variables, &args);
    live.say("Go.", None);
    // The tool still answers after the end of stdin.
    let live = live.close();
    vec![one_shot, (live, calls())]
}

#[test]
fn a_tool_of_an_mcp_server_is_asked() {
    if !has_program("python3") {
        return;
    }
    for (name, mode) in [("permission-allow/2.1.332", "allow"), ("permission-deny/2.1.332", "deny")]
    {
        for (ended, calls) in with_tool(name, mode) {
            assert_eq!(ended.status.code(), Some(0), "{name}: {}", ended.stderr);
            let records = ended.records();
            assert!(records.iter().all(|record| record["type"] != "control_request"), "{name}");
            assert!(records.iter().any(|record| record["type"] == "result"), "{name}");
            assert_eq!(calls.len(), 1, "{name}");
            let params = &calls[0]["params"];
            assert_eq!(
                (&params["name"], &params["arguments"]["tool_name"]),
                (&"ask".into(), &"Bash".into())
            );
            assert_eq!(params["arguments"]["tool_use_id"], "toolu_clitape_main_1_2");
            assert!(params["arguments"]["input"]["command"].is_string(), "{params}");
        }
    }
}

#[test]
fn a_tool_of_an_mcp_server_of_this_machine_is_asked_by_http() {
    if !has_program("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (server, log) = (dir.path().join("server.py"), dir.path().join("log"));
    fs::write(&server, HTTP_SERVER).unwrap();
    for (name, mode, stream) in
        [("permission-allow/2.1.332", "allow", ""), ("permission-deny/2.1.332", "deny", "1")]
    {
        let mut running = Command::new("python3")
            .arg(&server)
            .envs([("SERVER_LOG", log.to_str().unwrap()), ("MODE", mode), ("STREAM", stream)])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let play = |url: &str| {
            let gate = json!({"type": "http", "url": url, "headers": {"X-Key": "k"}});
            let config = json!({"mcpServers": {"gate": gate}}).to_string();
            let tool = ["--permission-prompt-tool", "mcp__gate__ask", "--mcp-config", &config];
            let args = [&["-p", "Go."], &ONE_SHOT[..], &tool].concat();
            Host::start(&[("CLITAPE_CASSETTE", name)], &args).end()
        };
        let ended = play(&format!("http://localhost:{}/mcp", port.trim()));
        let elsewhere = play("http://192.0.2.1/mcp");
        running.kill().unwrap();
        running.wait().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{name}: {}", ended.stderr);
        assert!(ended.records().iter().any(|record| record["type"] == "result"), "{name}");
        let calls = fs::read_to_string(&log).unwrap();
        assert_eq!(calls.matches("tools/call").count(), 1, "{calls}");
        assert_eq!(elsewhere.status.code(), Some(70), "{}", elsewhere.stderr);
        assert!(elsewhere.stderr.contains("of this machine"), "{}", elsewhere.stderr);
        fs::remove_file(&log).unwrap();
    }
}

#[test]
fn what_a_tool_answers_must_be_what_was_recorded() {
    if !has_program("python3") {
        return;
    }
    for (mode, expect) in [
        ("deny", "expected `allow` as the answer to question q1 (Bash), got `deny`"),
        (
            "other",
            "the permission tool mcp__gate__ask gave no answer: its text must be JSON with `behavior`",
        ),
    ] {
        for (ended, _) in with_tool("permission-allow/2.1.332", mode) {
            assert_eq!(ended.status.code(), Some(70), "{mode}: {}", ended.stderr);
            assert!(ended.stderr.contains(expect), "{mode}: {}", ended.stderr);
        }
    }
    let args =
        [&["-p", "Go.", "--permission-prompt-tool", "mcp__gate__ask"], &ONE_SHOT[..]].concat();
    let ended = Host::start(&[("CLITAPE_CASSETTE", "permission-allow")], &args).end();
    assert_eq!(ended.status.code(), Some(64), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the MCP server `gate`, which is in no --mcp-config"),
        "{}",
        ended.stderr
    );
}

#[test]
fn two_processes_at_once_do_not_mix() {
    let names = ["permission-allow/2.1.332", "permission-deny/2.1.332"];
    let mut hosts = names.map(|_| Host::start(&[], &LIVE));
    for (host, name) in hosts.iter_mut().zip(names) {
        host.say(&format!("Go. [[clitape:{name}]]"), None);
    }
    let questions = hosts
        .each_mut()
        .map(|host| host.until(|value| value["request"]["subtype"] == "can_use_tool"));
    assert_ne!(questions[0]["request_id"], questions[1]["request_id"]);
    for ((host, question), behavior) in hosts.iter_mut().zip(&questions).zip(["allow", "deny"]) {
        host.answer(question, &json!({"behavior": behavior}));
        host.result();
    }
    let logs = hosts.map(|host| host.close().log());
    let sessions = logs
        .each_ref()
        .map(|log| log.iter().find(|line| line["event"] == "turn").unwrap()["session_id"].clone());
    assert_ne!(sessions[0], sessions[1]);
    for (log, name) in logs.iter().zip(names) {
        let played = log.iter().filter_map(|line| line["cassette"].as_str());
        assert!(played.eq([name, name]), "{log:?}");
    }
}

#[test]
fn a_session_is_gone_on_with_its_own_cassette() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let variables = [("CLITAPE_LOG", log.to_str().unwrap())];
    let start = |session: &[&str], text: &str| {
        let mut host = Host::start(&variables, &[&LIVE[..], session].concat());
        host.say(text, None);
        host.result();
        host.close()
    };
    start(&["--session-id", UUID], "Go. [[clitape:live-multi-turn/2.1.332]]");
    let other = "99999999-2222-4333-8444-555555555555";
    start(
        &["--session-id", other],
        "Go. [[clitape:permission-stdin-closed/2.1.332]] [[clitape:three-tools/2.1.332]]",
    );
    start(&["--resume", UUID], "And now?");
    let text = fs::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let turns: Vec<Value> = lines.filter(|line| line["event"] == "turn").collect();
    let played: Vec<&str> = turns.iter().filter_map(|turn| turn["cassette"].as_str()).collect();
    assert_eq!(
        played,
        ["live-multi-turn/2.1.332", "three-tools/2.1.332", "live-multi-turn/2.1.332"]
    );
    assert!(turns[2]["left_out"].as_u64() > Some(0), "its second turn: {}", turns[2]);
    let unknown = "77777777-2222-4333-8444-555555555555";
    let ended = Host::start(&variables, &[&LIVE[..], &["--resume", unknown]].concat()).end();
    let words = format!("No conversation found with session ID: {unknown}\n");
    assert_eq!((ended.status.code(), ended.stderr), (Some(1), words));
}

#[test]
fn it_finds_its_run_without_an_environment() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    let installed = clitape().args(["stand-in", "--install"]).arg(&bin).output().unwrap();
    assert!(installed.status.success(), "{installed:?}");
    let (claude, log) = (bin.join("claude"), dir.path().join("log"));
    let settings = [
        ("CLITAPE_ROOT", root().as_os_str()),
        ("CLITAPE_LOG", log.as_os_str()),
        ("CLITAPE_PLAY", OsStr::new("instant")),
        ("CLITAPE_TRANSCRIPT", OsStr::new("off")),
    ];
    write_run_file(&claude, settings.map(|(name, value)| (OsStr::new(name), value))).unwrap();
    let link = dir.path().join("a-link");
    std::os::unix::fs::symlink(&claude, &link).unwrap();
    let elsewhere = dir.path().join("claude");
    std::os::unix::fs::symlink(&claude, &elsewhere).unwrap();
    let sh = |line: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        command
    };
    let path = format!("PATH={} exec claude \"$0\" \"$@\"", bin.display());
    for (mut command, is_through_sh) in [
        (Command::new(&claude), false),
        (Command::new(fs::canonicalize(&link).unwrap()), false),
        (Command::new(&elsewhere), false),
        (sh(&path), true),
    ] {
        command.args(["-p", "[[clitape:three-tools/2.1.332]]"]).env_clear();
        command.current_dir(dir.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{is_through_sh}: {output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("They do not agree"),
            "{output:?}"
        );
    }
    let starts = fs::read_to_string(&log).unwrap().matches("\"event\":\"start\"").count();
    assert_eq!(starts, 4, "each start is logged");
    // The environment counts more than the file.
    let output = Command::new(&claude)
        .arg("--version")
        .env_clear()
        .env("CLITAPE_VERSION", "2.1.148")
        .output();
    assert_eq!(output.unwrap().stdout, b"2.1.148 (Claude Code)\n");
    assert!(Path::new(&log).is_file());
}

#[test]
fn claude_on_path_plays_what_is_chosen_as_the_installation_says() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("my bin");
    let install = |bin: &Path| {
        let output = clitape().args(["claude", "--install"]).arg(bin).current_dir(root()).output();
        let output = output.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, path, words) = install(&bin);
    assert_eq!((code, path), (Some(0), format!("{}\n", bin.join("claude").display())), "{words}");
    // The lines that it prints for a shell, with a recording's name.
    let export = |line: &str| {
        let (_, rest) = line.split_once("export ")?;
        Some(format!("export {}; ", rest.split("  ").next()?))
    };
    let exports: String = words.lines().filter_map(export).collect();
    assert_eq!(exports.matches("export ").count(), 3, "{words}");
    let exports = exports.replace("NAME", "three-tools/2.1.332");
    let call = "claude -p Hi --output-format stream-json --verbose";
    let mut sh = Command::new("sh");
    sh.args(["-c", &format!("{exports}{call}")]).current_dir(dir.path()).stdin(Stdio::null());
    let output = sh.env("HOME", dir.path()).env("CLITAPE_PLAY", "instant").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && printed.contains("They do not agree"), "{printed}");
    // A second time it is there already; a program of others stays as it is.
    assert_eq!(install(&bin).0, Some(0));
    let foreign = dir.path().join("foreign");
    put_program(&foreign.join("claude"), "#!/bin/sh\necho mine\n");
    let (code, path, words) = install(&foreign);
    let part = "is there already and is not the stand-in; choose another folder, or remove it";
    assert!(code == Some(64) && path.is_empty() && words.contains(part), "{code:?} {words}");
    let kept = fs::read_to_string(foreign.join("claude")).unwrap();
    assert_eq!(kept, "#!/bin/sh\necho mine\n");
}
