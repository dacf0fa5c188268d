//! Tests of the server over real sockets on loopback.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use clitape_recording::limits::MODEL_REQUEST;

use super::*;

const MODEL: &str = "
    delay_ms = 1
    [[turn]]
    headers = { anthropic-ratelimit-unified-status = 'allowed' }
    [[turn.block]]
    text = 'Look in {{project}}.'
    cut = 9";

/// The status line, wanted header lines and body of the answer to one request.
type Answer = (String, Vec<String>, String);

/// Returns the answer to one request, and the complaints.
fn ask(method: &str, path: &str, body: &str) -> (String, Vec<String>, String, Vec<String>) {
    let (complain, complaints) = mpsc::channel();
    let script = toml::from_str(MODEL).unwrap();
    let server = ModelServer::start(script, Folders::canonical(), MODEL_REQUEST).unwrap();
    server.begin(RunStage::default(), move |alarm| match alarm {
        Alarm::Unscripted(what) => complain.send(what).unwrap(),
        alarm => panic!("{alarm:?}"),
    });
    let (status, headers, body) = ask_server(&server, method, path, body);
    drop(server);
    (status, headers, body, complaints.iter().collect())
}

fn ask_server(server: &ModelServer, method: &str, path: &str, body: &str) -> Answer {
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
    let wanted = [
        "content-type",
        "content-length",
        "transfer-encoding",
        "request-id",
        "retry-after",
        "x-should",
        "anthropic-",
    ];
    let headers = lines.filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    (status, headers.collect(), body.to_owned())
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
            "anthropic-ratelimit-unified-status: allowed",
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
            "POST /v1/messages?beta=true, model claude-x, 1 assistant message, conversation `main`\n  \
             asked: Where?\n  scripted: `main` with 1 turn, 0 spare",
        ),
    ] {
        let (status, headers, answer, complaints) = ask(method, path, body);
        assert_eq!(status, "HTTP/1.1 500 Internal Server Error", "{path}");
        assert!(headers.contains(&"x-should-retry: false".to_owned()), "{headers:?}");
        assert!(answer.contains("\"type\":\"error\""), "{answer}");
        assert_eq!(complaints, [complaint]);
    }
}

/// Returns the answers to requests in a row for the one turn of this script, streamed or not.
fn ask_again(turn: &str, streams: &[bool]) -> Vec<Answer> {
    let script = toml::from_str(&format!("delay_ms = 0\n[[turn]]\n{turn}")).unwrap();
    let server = ModelServer::start(script, Folders::canonical(), MODEL_REQUEST).unwrap();
    let each = streams.iter();
    each.map(|stream| ask_server(&server, "POST", "/v1/messages", &request(*stream, 0))).collect()
}

const OVERLOADED: &str = "[[turn.failure]]
    status = 529
    type = 'overloaded_error'
    message = 'Overloaded'
    headers = { retry-after = '1', x-should-retry = 'true' }
    times = 2
    [[turn.block]]
    text = 'Hi.'";

#[test]
fn a_request_fails_as_often_as_the_script_says_and_is_then_answered() {
    let answers = ask_again(OVERLOADED, &[true, false, true, true]);
    for (at, id) in [(0, "req_clitape_main_1"), (1, "req_clitape_main_1_retry_1")] {
        let (status, headers, body) = &answers[at];
        assert_eq!(status, "HTTP/1.1 529 <none>");
        let expect = [
            "content-type: application/json".to_owned(),
            "retry-after: 1".to_owned(),
            "x-should-retry: true".to_owned(),
            format!("request-id: {id}"),
            format!("content-length: {}", body.len()),
        ];
        assert_eq!(headers[..], expect, "{at}");
        let error = r#""error":{"type":"overloaded_error","message":"Overloaded"}"#;
        let expect = format!(r#"{{"type":"error",{error},"request_id":"{id}"}}"#);
        assert_eq!(*body, expect);
    }
    for (status, headers, body) in &answers[2..] {
        assert_eq!(status, "HTTP/1.1 200 OK");
        assert!(headers.contains(&"request-id: req_clitape_main_1_retry_2".to_owned()));
        assert!(body.contains("\"id\":\"msg_clitape_main_1_retry_2\""), "{body}");
        assert!(body.contains("event: message_stop"), "{body}");
    }
}

#[test]
fn a_lost_connection_keeps_what_came_and_has_no_end() {
    let turn = "[[turn.failure]]\ndrop_after = { block = 1, deltas = 2 }\ntimes = 2\n\
                [[turn.block]]\ntext = 'abcdef'\ncut = 2";
    let answers = ask_again(turn, &[true, false, true]);
    let (status, headers, body) = &answers[0];
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(headers.contains(&"transfer-encoding: chunked".to_owned()), "{headers:?}");
    assert!(body.contains("\"cd\"") && !body.contains("\"ef\""), "{body}");
    assert!(!body.ends_with("0\r\n\r\n"), "{body}");
    let (status, _, body) = &answers[1];
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", ""));
    assert!(answers[2].2.ends_with("0\r\n\r\n"), "{:?}", answers[2]);
}

#[test]
fn an_error_event_ends_the_stream_or_is_an_http_error() {
    let turn = "[[turn.failure]]\nerror_after = { block = 1, deltas = 1 }\ntimes = 2\n\
                type = 'overloaded_error'\nmessage = 'Overloaded'\n\
                [[turn.block]]\ntext = 'abcdef'\ncut = 2";
    let answers = ask_again(turn, &[true, false, false]);
    let (_, _, body) = &answers[0];
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let chunks: Vec<_> = body.split("\r\n").filter(|part| part.starts_with("event")).collect();
    assert_eq!(*chunks.last().unwrap(), format!("event: error\ndata: {error}\n\n"));
    assert!(chunks[chunks.len() - 2].contains("\"ab\""), "{chunks:?}");
    assert!(body.ends_with("0\r\n\r\n"), "{body}");
    assert_eq!(answers[1].0, "HTTP/1.1 529 <none>");
    assert_eq!(answers[2].0, "HTTP/1.1 200 OK");
}

#[test]
fn a_request_over_the_limit_is_told_with_the_option() {
    let body = request(false, 0);
    for (size, is_answered) in [(body.len(), true), (body.len() - 1, false)] {
        let (complain, complaints) = mpsc::channel();
        let limit = ByteSize::bytes(size as u64);
        let server =
            ModelServer::start(toml::from_str(MODEL).unwrap(), Folders::canonical(), limit)
                .unwrap();
        server.begin(RunStage::default(), move |alarm| match alarm {
            Alarm::Unscripted(what) => complain.send(what).unwrap(),
            alarm => panic!("{alarm:?}"),
        });
        let (status, ..) = ask_server(&server, "POST", "/v1/messages", &body);
        drop(server);
        let expect = format!(
            "POST /v1/messages, unreadable: it is longer than {limit}; raise the limit with `--max-request`"
        );
        let complaints: Vec<String> = complaints.iter().collect();
        if is_answered {
            assert_eq!((status.as_str(), complaints.len()), ("HTTP/1.1 200 OK", 0));
        } else {
            assert_eq!(complaints, [expect]);
        }
    }
}

#[test]
fn a_panic_of_the_server_raises_an_alarm() {
    // The first alarms panic where they are raised: in a connection, and in the thread that runs all connections.
    for panics in [1, 2] {
        let (tell, alarms) = mpsc::channel();
        let script = toml::from_str(MODEL).unwrap();
        let server = ModelServer::start(script, Folders::canonical(), MODEL_REQUEST).unwrap();
        let count = std::sync::atomic::AtomicUsize::new(0);
        server.begin(RunStage::default(), move |alarm| {
            let before = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert!(before >= panics, "planted");
            tell.send(alarm).unwrap();
        });
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        write!(stream, "GET /unscripted HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let alarm = alarms.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(alarm, Ok(Alarm::ModelPanicked), "{panics}");
    }
}
