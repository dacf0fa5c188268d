//! A plain HTTP client, which does no more than a bot's has to.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use clitape_rig::chat_server::{ChatServer, ChatServerSettings, PaceLimits};
use serde_json::Value;

/// The status and the body of an answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Sends a request and reads the answer; the error is a connection that broke off.
pub(crate) fn request(
    url: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<Answer> {
    let host = url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(host)?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        head += &format!("host: {host}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    socket.write_all(head.as_bytes())?;
    // A write may fail, because the server may answer before it has read all.
    let _ = socket.write_all(body);
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let broken = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Answer { status: status.ok_or_else(broken)?, head: head.to_owned(), body: body.to_owned() })
}

/// Makes a call of the Bot API with JSON.
pub(crate) fn call(server: &ChatServer, method: &str, body: &Value) -> Answer {
    try_call(server, method, body).unwrap()
}

/// Makes a call of the Bot API that may get no answer.
pub(crate) fn try_call(server: &ChatServer, method: &str, body: &Value) -> std::io::Result<Answer> {
    let path = format!("/bot{}/{method}", server.token());
    let json = [("content-type", "application/json")];
    request(&server.url(), "POST", &path, &json, body.to_string().as_bytes())
}

/// Makes a call and returns its result.
pub(crate) fn result(server: &ChatServer, method: &str, body: &Value) -> Value {
    let answer = call(server, method, body).json();
    assert_eq!(answer["ok"], true, "{method} {body}: {answer}");
    answer["result"].clone()
}

/// Starts a server without limits and with a short latency, on which chat 7 has begun.
pub(crate) fn started(change: impl FnOnce(&mut ChatServerSettings)) -> ChatServer {
    let mut settings = ChatServerSettings {
        latency: Duration::from_millis(5),
        pace: PaceLimits::None,
        ..ChatServerSettings::default()
    };
    change(&mut settings);
    let server = ChatServer::start(settings, Arc::default()).unwrap();
    server.say(7, "hello").unwrap();
    server
}
