//! The server over real sockets on loopback.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use super::*;

const MODEL: &str = "
    delay_ms = 1
    [[turn]]
    [[turn.block]]
    text = 'Look in {{project}}.'
    cut = 9";

/// Status line, wanted header lines and body of the answer to one request, and the complaints.
fn ask(method: &str, path: &str, body: &str) -> (String, Vec<String>, String, Vec<String>) {
    let (complain, complaints) = mpsc::channel();
    let script = toml::from_str(MODEL).unwrap();
    let server = Server::start(script, Folders::canonical(), move |what| {
        complain.send(what).unwrap();
    })
    .unwrap();
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines().map(str::to_owned);
    let status = lines.next().unwrap();
    let wanted = ["content-type", "content-length", "transfer-encoding", "request-id", "x-should"];
    let headers = lines.filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    let headers = headers.collect();
    drop(server);
    (status, headers, body.to_owned(), complaints.iter().collect())
}

fn request(stream: bool, assistants: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "Where?"})];
    for _ in 0..assistants {
        messages.push(json!({"role": "assistant", "content": "There."}));
    }
    json!({"model": "claude-x", "stream": stream, "messages": messages}).to_string()
}

#[test]
fn a_stream_comes_in_pieces() {
    let (status, headers, body, complaints) =
        ask("POST", "/v1/messages?beta=true", &request(true, 0));
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert_eq!(
        headers,
        [
            "content-type: text/event-stream; charset=utf-8",
            "request-id: req_clitape_main_1",
            "transfer-encoding: chunked",
        ]
    );
    let deltas: Vec<_> = body.lines().filter(|line| line.contains("text_delta")).collect();
    let ends: Vec<_> = deltas.iter().map(|d| d.rsplit("\"text\":").next().unwrap()).collect();
    assert_eq!(ends, [r#""Look in /"}}"#, r#""clitape/p"}}"#, r#""roject."}}"#]);
    let last_chunk = body.rsplit("\r\n").find(|part| part.starts_with("event")).unwrap();
    assert!(last_chunk.starts_with("event: content_block_stop"), "{last_chunk}");
    assert!(last_chunk.contains("event: message_stop"), "{last_chunk}");
    assert_eq!(complaints, [""; 0]);
}

#[test]
fn other_answers_have_a_length() {
    for (method, path, body, status, part) in [
        (
            "POST",
            "/v1/messages",
            request(false, 0),
            "200 OK",
            "\"text\":\"Look in /clitape/project.\"",
        ),
        (
            "POST",
            "/v1/messages/count_tokens",
            request(false, 0),
            "200 OK",
            "{\"input_tokens\":1000}",
        ),
        ("HEAD", "/api/hello", String::new(), "200 OK", ""),
    ] {
        let (found, headers, answer, complaints) = ask(method, path, &body);
        assert_eq!(found, format!("HTTP/1.1 {status}"), "{path}");
        let length = headers.iter().find_map(|line| line.strip_prefix("content-length: "));
        let expect = (method != "HEAD").then(|| answer.len().to_string());
        assert_eq!(length, expect.as_deref(), "{path}");
        assert!(answer.contains(part), "{answer}");
        assert_eq!(complaints, [""; 0], "{path}");
    }
}

#[test]
fn a_request_nobody_scripted_is_told_and_not_retried() {
    let second = request(true, 1);
    for (method, path, body, complaint) in [
        ("GET", "/v1/models", "", "GET /v1/models"),
        (
            "POST",
            "/v1/messages",
            "{",
            "POST /v1/messages, unreadable: EOF while parsing an object at line 1 column 1",
        ),
        (
            "POST",
            "/v1/messages?beta=true",
            second.as_str(),
            "POST /v1/messages?beta=true, model claude-x, 1 assistant messages, conversation `main`\n  \
             asked: Where?\n  scripted: `main` with 1 turns, 0 spare",
        ),
    ] {
        let (status, headers, answer, complaints) = ask(method, path, body);
        assert_eq!(status, "HTTP/1.1 500 Internal Server Error", "{path}");
        assert!(headers.contains(&"x-should-retry: false".to_owned()), "{headers:?}");
        assert!(answer.contains("\"type\":\"error\""), "{answer}");
        assert_eq!(complaints, [complaint]);
    }
}
