//! A gateway that makes sessions, as scripted as a test needs it: what it was asked, and what it
//! answers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The answer to one connection, sent as it is; then it is hung up.
pub(crate) struct GatewayAnswer(pub(crate) String);

impl GatewayAnswer {
    pub(crate) fn json(body: &str) -> Self {
        Self::of("200 OK", "application/json", body)
    }

    pub(crate) fn of(status: &str, kind: &str, body: &str) -> Self {
        let length = body.len();
        Self(format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
    }

    /// A stream that is cut off after `body`.
    pub(crate) fn stream(body: &str) -> Self {
        Self(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}"))
    }
}

/// Answers connections by what they ask for; a list of answers for each, the last again and again.
pub(crate) struct Gateway {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Gateway {
    /// Serves `answer`, which sees the first line of each request, its body, and how often this
    /// line came before.
    pub(crate) async fn start(answer: fn(&str, &str, usize) -> GatewayAnswer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        let task = tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let (head, body) = request(&mut socket).await;
                let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
                let before = {
                    let mut log: std::sync::MutexGuard<'_, Vec<String>> = log.lock().unwrap();
                    let before = log.iter().filter(|entry| entry.starts_with(&line)).count();
                    let mut entry = line.clone();
                    for name in ["authorization", "last-event-id"] {
                        let header = format!("{name}: ");
                        let value = head.lines().find_map(|line| line.strip_prefix(&header));
                        entry.extend(value.map(|value| format!(" [{value}]")));
                    }
                    if !body.is_empty() {
                        entry.extend([" ", &body]);
                    }
                    log.push(entry);
                    before
                };
                let GatewayAnswer(text) = answer(&line, &body, before);
                socket.write_all(text.as_bytes()).await.unwrap();
                if text.ends_with("\u{0}hold") {
                    // Not hung up, and nothing more is said.
                    tokio::spawn(async move { socket.read(&mut [0]).await });
                }
            }
        });
        Self { address, asked, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What was asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn request(socket: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return (head.to_owned(), body.to_owned());
            }
        }
        let mut piece = [0; 1_024];
        let read = socket.read(&mut piece).await.unwrap();
        assert!(read > 0, "the request broke off: {text}");
        bytes.extend_from_slice(&piece[..read]);
    }
}
