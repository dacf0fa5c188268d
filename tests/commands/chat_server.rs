//! Tests of `clitape chat-server`: its token, each of its limits at a low value, and its defence against strangers and
//! a bot that floods.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::clitape;

/// A running chat server. Dropping it ends it.
struct Served {
    child: Child,
    host: String,
    token: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(args: &[&str]) -> Self {
        let mut command = clitape();
        command.arg("chat-server").args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        let (url, token) = first.split_once("  token: ").expect("the token");
        let host = url.strip_prefix("Bot API: http://").expect("the address").to_owned();
        let token = token.to_owned();
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = log.clone();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| kept.lock().unwrap().push(line));
        });
        Self { child, host, token, log }
    }

    /// Sends a request on a new connection, and returns the answer; empty if the connection breaks.
    fn ask(&self, method: &str, path: &str, kind: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(&self.host).expect("it listens");
        let (host, length) = (&self.host, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: {kind}\r\n\
             content-length: {length}\r\n\r\n"
        );
        let mut answer = Vec::new();
        // A write may fail, because the server may answer or close before it has read everything.
        let _ = socket.write_all(head.as_bytes());
        let _ = socket.write_all(body.as_bytes());
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn call(&self, method: &str, json: &str) -> String {
        self.ask("POST", &format!("/bot{}/{method}", self.token), "application/json", json)
    }

    fn say(&self, chat: i64, text: &str) -> String {
        let json = format!("{{\"chat\":{chat},\"text\":\"{text}\"}}");
        self.ask("POST", "/person/say", "application/json", &json)
    }

    /// Waits for a line of the log that contains `part`.
    fn logs(&self, part: &str) {
        let begin = Instant::now();
        while !self.log.lock().unwrap().iter().any(|line| line.contains(part)) {
            let log = self.log.lock().unwrap().join("\n");
            assert!(begin.elapsed() < Duration::from_secs(60), "no `{part}` in\n{log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn the_token_is_random_unless_it_is_chosen() {
    let [one, two] = [(); 2].map(|()| Served::start(&[]));
    assert_ne!(one.token, two.token);
    assert!(one.call("getMe", "{}").contains("\"ok\":true"));
    let chosen = Served::start(&["--token", "1:chosen"]);
    assert_eq!(chosen.token, "1:chosen");
    assert!(chosen.call("getMe", "{}").contains("\"ok\":true"));
    one.ask("GET", "/botx/getMe", "", "");
    one.logs("getMe: Unauthorized");
}

#[test]
fn limits_of_the_chat_server_name_their_option() {
    const SEND: &str = r#"{"chat_id":1000,"text":"x"}"#;
    let answers = |served: &Served, option: &str| match option {
        "--max-request" => served.call("getMe", &"x".repeat(2_000)),
        "--max-act" => served.say(5, "a longer text"),
        "--max-chats" => served.say(5, "x"),
        "--max-scopes" => ["a", "b"]
            .map(|code| {
                served.call(
                    "setMyCommands",
                    &format!("{{\"commands\":[],\"language_code\":\"{code}\"}}"),
                )
            })
            .concat(),
        "--max-files" => {
            let part = |name: &str, value: &str| {
                format!("--x\r\nContent-Disposition: form-data; name={name}\r\n\r\n{value}\r\n")
            };
            let file = part("document; filename=a", "text");
            let body = format!("{}{file}--x--\r\n", part("chat_id", "1000"));
            let path = format!("/bot{}/sendDocument", served.token);
            served.ask("POST", &path, "multipart/form-data; boundary=x", &body)
        }
        _ => [(); 2].map(|()| served.call("sendMessage", SEND)).concat(),
    };
    for (option, low, part) in [
        ("--max-kept", "2KiB", "the chat server is full: more than 2KiB"),
        ("--max-request", "1KiB", "it is longer than 1KiB"),
        ("--max-act", "20", "the request is longer than 20B"),
        ("--max-chats", "1", "keeps 1 chats at most"),
        ("--max-messages", "1", "keeps 1 messages of a chat at most"),
        ("--max-entries", "1", "keeps 1 entries of a chat at most"),
        ("--max-scopes", "1", "commands of 1 scopes at most"),
        ("--max-files", "3", "keeps 3B of files at most"),
    ] {
        let served = Served::start(&[option, low, "--limits", "none"]);
        let answer = answers(&served, option);
        let named = format!("raise the limit with `{option}`");
        assert!(answer.contains(part) && answer.contains(&named), "{option}: {answer}");
    }
}

#[test]
fn limits_of_the_chat_server_that_no_caller_sees_are_in_the_log() {
    let check = |args: &[&str], act: &dyn Fn(&Served), part: &str| {
        let served = Served::start(args);
        act(&served);
        served.logs(&format!("{part}; raise the limit with `{}`", args[0]).replace(",; ", ", "));
    };
    let twice = |served: &Served| [(); 3].iter().for_each(|()| drop(served.say(5, "x")));
    check(&["--max-updates", "2"], &twice, "2 updates wait for the bot; one is left out,");
    check(&["--max-log", "2"], &twice, "the log has 2 lines, the rest is left out");
    let connections = |served: &Served| {
        let mut bot = TcpStream::connect(&served.host).unwrap();
        let line =
            format!("GET /bot{}/getMe HTTP/1.1\r\nhost: {}\r\n\r\n", served.token, served.host);
        bot.write_all(line.as_bytes()).unwrap();
        assert!(bot.read(&mut [0; 999]).unwrap() > 0);
        assert_eq!(served.ask("GET", "/", "", ""), "");
    };
    let part = "more than 1 connections of the bot; one is closed,";
    check(&["--max-connections", "1"], &connections, part);
    // One webhook does not answer, and one answers too much.
    let hook = |answer: &'static str| {
        move |served: &Served| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            served.call("setWebhook", &format!("{{\"url\":\"{url}\"}}"));
            served.say(5, "x");
            let (mut socket, _) = listener.accept().unwrap();
            std::thread::spawn(move || {
                // The connection stays open until the server gives up.
                while socket.read(&mut [0; 9_999]).is_ok_and(|read| read > 0) {
                    let _ = socket.write_all(answer.as_bytes());
                }
            });
        }
    };
    check(&["--webhook-timeout", "1"], &hook(""), "Connection timed out after 1 s");
    let long = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{      }\n";
    check(&["--max-webhook-answer", "8"], &hook(long), "its answer is longer than 8B");
}

#[test]
fn limits_of_connections_end_them() {
    let closes = |args: &[&str], sent: &str| {
        let served = Served::start(args);
        let mut socket = TcpStream::connect(&served.host).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.write_all(sent.replace("HOST", &served.host).as_bytes()).unwrap();
        let (mut answer, mut bytes) = (String::new(), [0; 4_096]);
        loop {
            match socket.read(&mut bytes) {
                Ok(0) => return answer,
                Ok(read) => answer += &String::from_utf8_lossy(&bytes[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return answer,
                Err(error) => panic!("it stays open: {error} after {answer}"),
            }
        }
    };
    assert_eq!(closes(&["--head-timeout", "1"], "GET / HTTP/1.1\r\n"), "");
    let style = "GET /page.css HTTP/1.1\r\nhost: HOST\r\n\r\n";
    assert!(closes(&["--idle-timeout", "1"], style).starts_with("HTTP/1.1 200 OK"));
    let long = format!("GET /{} HTTP/1.1\r\nhost: HOST\r\n\r\n", "x".repeat(9_000));
    assert!(closes(&["--max-head", "8KiB"], &long).starts_with("HTTP/1.1 431 "));
}

/// Returns the peak of a process's memory in bytes.
#[cfg(target_os = "linux")]
fn peak(process: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
#[cfg(target_os = "linux")]
fn a_flood_of_long_requests_takes_little_memory() {
    let served = Served::start(&[]);
    let before = peak(&served.child);
    let path = format!("/botx/{}", "m".repeat(60_000));
    for _ in 0..3_000 {
        served.ask("GET", &path, "", "");
    }
    let action = format!("{{\"chat_id\":1000,\"action\":\"{}\"}}", "a".repeat(15 << 20));
    for _ in 0..6 {
        let answer = served.call("sendChatAction", &action);
        assert!(answer.contains("wrong parameter action"), "{answer}");
    }
    // Parsed, each byte of it would take 64 bytes of memory, so it is refused before.
    let numbers = format!("{{\"chat_id\":1000,\"action\":[{}0]}}", "0,".repeat(5 << 20));
    assert!(served.call("sendChatAction", &numbers).contains("the chat server is full"));
    for path in ["/", "/person/state"] {
        let page = served.ask("GET", path, "", "");
        assert!(page.len() < 300_000, "{path}: {} bytes", page.len());
    }
    // The bytes of one call, with the copies of them until it is done.
    let more = peak(&served.child) - before;
    assert!(more < 150 << 20, "{} MiB more", more >> 20);
    let silent: Vec<_> = (0..600).map_while(|_| TcpStream::connect(&served.host).ok()).collect();
    assert!(served.call("getMe", "{}").contains("\"ok\":true"), "{} lock it", silent.len());
}

#[test]
fn faults_have_the_names_that_they_have_in_every_command() {
    let refused = |option: &str, value: &str| {
        let out = clitape().args(["chat-server", option, value]).output().expect("it runs");
        assert_eq!(out.status.code(), Some(2), "{option}");
        String::from_utf8(out.stderr).expect("text")
    };
    for (option, old, wrong) in [
        ("--chat-faults", "--faults", "2:storm"),
        ("--chat-seed", "--seed", "x"),
        ("--chat-rate", "--rate", "101"),
    ] {
        let told = refused(option, wrong);
        assert!(told.contains(option), "{told}");
        assert_eq!(refused(old, wrong), told);
    }
}
