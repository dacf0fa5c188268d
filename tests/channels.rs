//! Tests of the further ways to see a run: an event stream that is collected, a chat of the user's choice, the other
//! channels in real time.

#[macro_use]
mod common;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Output;
use std::sync::mpsc::Receiver;

use common::{clitape, root, run};

const CASSETTE: &str = "cassettes/three-tools/2.1.329";

#[test]
fn s2_a_stream_is_collected() {
    use clitape_gateway::sse::{Broker, BrokerLimits, ServerSettings, SseServer, StreamLifetime};
    use clitape_gateway::{Bus, Run, RunSettings};

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let hub = Broker::new(BrokerLimits::default());
    let settings = ServerSettings::new("hidden-token-1");
    let server = runtime.block_on(SseServer::start(settings, hub.clone())).unwrap();
    for (name, lines) in [("good", usize::MAX), ("bad", 40)] {
        let (mut feed, bus) = (hub.open(name, StreamLifetime::OneRun).unwrap(), Bus::new(name));
        feed.follow(&bus);
        let stdout = fs::read_to_string(root().join(CASSETTE).join("stdout.jsonl")).unwrap();
        let mut parser = clitape_stream::Parser::new();
        let _guard = runtime.enter();
        let mut run = Run::start(bus, RunSettings::default(), None);
        for line in stdout.lines().take(lines) {
            parser.feed_with(format!("{line}\n").as_bytes(), &mut |event| run.on_event(&event));
        }
        parser.finish_with(&mut |event| run.on_event(&event));
        runtime.block_on(run.finish());
    }

    let check = |stream: &str, args: &[&str], code: i32| {
        let mut command = clitape();
        command.env("SSE_TOKEN", "hidden-token-1").args(["collect", &server.url(stream)]);
        let Output { status, stdout, stderr } = command.args(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(stdout), text(stderr));
        assert_eq!(status.code(), Some(code), "{stream} {args:?}\n{stdout}{stderr}");
        assert!(!stderr.contains("hidden-token"), "{stderr}");
        (stdout, stderr)
    };
    let token = ["--token-env", "SSE_TOKEN"];
    let json = [&token[..], &["--json"]].concat();
    let (out, _) = check("good", &json, 0);
    let collected: serde_json::Value = serde_json::from_str(&out).unwrap();
    let calls = collected["metadata"]["toolCalls"].as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Read", "Read", "Bash"], "{out}");
    assert!(collected.get("error").is_none(), "{out}");
    let (out, _) = check("good", &token, 0);
    assert!(out.contains(collected["output"].as_str().unwrap()), "{out}");
    assert!(out.contains("\n\nRead {\"file_path\":"), "{out}");

    // A run that was cut off keeps the text that it had.
    let (out, err) = check("bad", &json, 3);
    let collected: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(!collected["metadata"]["toolCalls"].as_array().unwrap().is_empty(), "{out}");
    assert!(err.starts_with("the turn failed: "), "{err}");

    let (_, err) = check("good", &[], 4);
    assert!(err.contains("answered 401") && err.contains("(see the token)"), "{err}");
    let (_, err) = check("nobody", &token, 4);
    assert!(err.contains("there is no such run"), "{err}");
    let (_, err) = check("good", &["--token-env", "NOT_SET"], 2);
    assert!(err.contains("set NOT_SET in the environment"), "{err}");
    runtime.block_on(server.shutdown());
}

/// Starts a Bot API server that accepts every call, and returns its URL and the calls in words. Its messages count from
/// 7.
#[allow(clippy::unwrap_used, reason = "a server that does not start fails the test")]
fn bot_api_server() -> (String, Receiver<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut messages = 6;
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap_or(0) > 2 {}
            let length = head.to_lowercase();
            let length = length.split_once("content-length: ").unwrap().1.lines().next().unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let method = head
                .split([' ', '/'])
                .find(|word| word.starts_with("send") || word.starts_with("edit"));
            let method = method.unwrap();
            let text = body["text"].as_str().or(body["action"].as_str()).unwrap();
            let buttons = body["reply_markup"]["inline_keyboard"].as_array();
            let buttons = buttons.map(|rows| format!(" {rows:?}")).unwrap_or_default();
            let [chat, message] = [&body["chat_id"], &body["message_id"]];
            // The receiver is gone when the test has ended.
            let _ = tell.send(format!("{method} {chat} {message} {text}{buttons}"));
            messages += i64::from(method == "sendMessage");
            let result = serde_json::json!({"ok": true, "result": {
                "message_id": message.as_i64().unwrap_or(messages), "date": 1, "chat": {"id": 5, "type": "private"},
            }});
            let answer = result.to_string();
            write!(
                reader.into_inner(),
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
        }
    });
    (address, told)
}

#[test]
fn a_chat_of_the_user_s_choice_gets_the_calls() {
    let (address, told) = bot_api_server();
    let args = ["replay", CASSETTE, "--speed", "50", "--telegram-api", &address, "--chat", "-5"];
    let told_without = clitape().args(args).env_remove("TELEGRAM_BOT_TOKEN").output().unwrap();
    assert_eq!(told_without.status.code(), Some(2));
    let stderr = String::from_utf8(told_without.stderr).unwrap();
    assert!(stderr.contains("set TELEGRAM_BOT_TOKEN in the environment"), "{stderr}");

    let out = clitape().args(args).env("TELEGRAM_BOT_TOKEN", "123:hidden").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(0), "{stdout}{stderr}");
    assert!(!stdout.contains("hidden") && !stderr.contains("hidden"), "{stdout}{stderr}");
    let (signals, calls): (Vec<String>, Vec<String>) =
        told.try_iter().partition(|call| call.starts_with("sendChatAction"));
    assert_eq!(signals[0], "sendChatAction -5 null typing");
    assert!(calls[0].starts_with("sendMessage -5 null Let me look"), "{calls:?}");
    assert!(calls[1..].iter().all(|call| call.starts_with("editMessageText -5 7 ")), "{calls:?}");
    assert!(calls.last().unwrap().ends_with("the client asks for port 8081."), "{calls:?}");
    assert!(stdout.contains("asks for port 8081."), "{stdout}");
}

#[test]
fn the_terminal_shows_the_buttons_that_a_real_chat_gets() {
    let (address, told) = bot_api_server();
    let args = ["replay", "cassettes/permission-allow/2.1.332", "--speed", "5"];
    let server = ["--telegram-api", &address, "--chat", "-5"];
    let mut command = clitape();
    let out = command.args(args).args(server).env("TELEGRAM_BOT_TOKEN", "1:x").output().unwrap();
    let shown = String::from_utf8(out.stdout).unwrap();
    let calls: Vec<String> = told.try_iter().collect();
    let asked = |call: &String| call.starts_with("sendMessage") && call.contains("✅ Allow");
    assert!(calls.iter().any(asked), "{calls:?}");
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("no {text} in {shown}"));
    let buttons = place("[ ✅ Allow ]");
    assert!(buttons < place("✅ Allowed"), "{shown}");
    let last = shown.rfind("[ ✅ Allow ]").unwrap();
    assert!(last < shown.rfind("✅ Allowed").unwrap(), "the buttons go: {shown}");
}

#[test]
fn real_time_plays_the_other_channels_too() {
    for (channel, part) in [("acp", "acp        response end_turn"), ("sse", "sse        complete")]
    {
        let args = ["replay", CASSETTE, "--speed", "1000", "--channel", channel];
        let (code, out, err) = run(root(), &args);
        assert!(code == 0 && out.contains(part), "{code} {out}{err}");
    }
}
