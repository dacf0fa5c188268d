//! Servers that stream without end, and clients that hold the endpoint's connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_gateway::sse::{
    Broker, BrokerLimits, CollectLimits, CollectTarget, Collected, RetainedLimits, ServerSettings,
    SseServer, StreamLifetime, listen,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::endpoint::TOKEN;

const LONG: Duration = Duration::from_secs(60);
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// A server that sends `first` and then `piece` again and again, or hangs up where there is none;
/// how often it was asked.
async fn server(first: &'static str, piece: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            let first = first.replace("NUMBER", &number.to_string());
            tokio::spawn(async move {
                let _ = socket.read(&mut [0; 4_096]).await;
                let _ = socket.write_all(format!("{HEAD}{first}").as_bytes()).await;
                let many = piece.repeat((64 << 10) / piece.len().max(1));
                while !piece.is_empty() && socket.write_all(many.as_bytes()).await.is_ok() {}
            });
        }
    });
    (address, asked)
}

async fn collect(address: SocketAddr, limits: CollectLimits) -> Collected {
    let mut target = CollectTarget::new(&format!("http://{address}/e")).unwrap();
    target.set_limits(limits);
    listen(&target, 1, LONG).await.unwrap()
}

#[tokio::test]
async fn a_stream_without_end_is_collected_to_its_limits() {
    let limits = CollectLimits {
        stream: ByteSize::mib(2),
        retained: RetainedLimits { bytes: ByteSize::kib(64), calls: 100 },
        reconnects: 3,
        event: ByteSize::kib(256),
        ..CollectLimits::default()
    };
    for (piece, expect) in [
        (": nothing\n", "the stream has more than 2MiB; raise the limit with `--max-stream`"),
        ("data: {}\n\n", "the stream has more than 2MiB"),
        (
            "event: output\ndata: {\"content\":\"xxxxxxxxxxxxxxxx\"}\n\n",
            "the answer and the calls are more than 64KiB; raise the limit with `--max-output`",
        ),
        (
            "event: tool_use\ndata: {\"name\":\"x\"}\n\n",
            "the stream has more than 100 calls; raise the limit with `--max-calls`",
        ),
        (
            "data: x\n",
            "an event of the stream is longer than 256KiB; raise the limit with `--max-event`",
        ),
    ] {
        let (address, _) = server("", piece).await;
        let collected = collect(address, limits).await;
        let error = collected.error.unwrap_or_default();
        assert!(error.starts_with(expect), "{piece}: {error}");
        assert!(collected.output.len() <= 64 << 10);
        assert!(collected.metadata.tool_calls.len() <= 100);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_again_and_again_is_given_up() {
    // Each connection brings an event, so that no number of fruitless tries ends it.
    let first = "retry: 0\nid: NUMBER\nevent: output\ndata: {\"content\":\"x\"}\n\n";
    let (address, asked) = server(first, "").await;
    let began = tokio::time::Instant::now();
    let limits = CollectLimits { reconnects: 3, ..CollectLimits::default() };
    let collected = collect(address, limits).await;
    let expect = "the stream broke off more than 3 times; raise the limit with `--max-reconnects`";
    assert!(collected.error.unwrap().starts_with(expect));
    assert_eq!(collected.output, "xxxx");
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    // 100 ms between two, although the server asks for none.
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn a_stream_that_brings_nothing_is_opened_five_times_more() {
    let (address, asked) = server("", "").await;
    let (retry_min, retry_max) = (Duration::ZERO, Duration::from_millis(1));
    let limits = CollectLimits { retry_min, retry_max, ..CollectLimits::default() };
    let collected = collect(address, limits).await;
    let expect = "the stream broke off 5 times without a new event";
    assert!(collected.error.unwrap().starts_with(expect));
    assert_eq!(asked.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn an_answer_that_repeats_the_token_is_masked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 4_096]).await;
            let body = format!("who is {TOKEN}, aGlkZGVuLXRva2VuLTE=?");
            let length = body.len();
            let head = format!("HTTP/1.1 401 X\r\ncontent-length: {length}\r\n\r\n");
            let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    let mut target = CollectTarget::new(&format!("http://{address}/e")).unwrap();
    target.set_token(TOKEN).unwrap();
    let error = listen(&target, 1, LONG).await.unwrap_err().to_string();
    assert!(error.contains("who is ***, ***"), "{error}");
    let error = CollectTarget::new("http://me:hidden@127.0.0.1/e").err().unwrap().to_string();
    assert!(error.starts_with("`http://***@127.0.0.1/e` is no URL"), "{error}");
}

/// What a connection is answered, to its end.
async fn answer(socket: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let _ = socket.read_to_end(&mut text).await;
    String::from_utf8(text).unwrap()
}

fn request() -> String {
    format!("GET /runs/r1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n")
}

async fn serve(settings: ServerSettings) -> (SseServer, Broker) {
    let broker = Broker::new(BrokerLimits::default());
    (SseServer::start(settings, broker.clone()).await.unwrap(), broker)
}

#[tokio::test]
async fn silent_connections_lock_no_reader_out() {
    let settings = ServerSettings { waiting: 8, head_time: LONG, ..ServerSettings::new(TOKEN) };
    let (server, broker) = serve(settings).await;
    drop(broker.open("r1", StreamLifetime::OneRun).unwrap());
    let mut silent = Vec::new();
    for _ in 0..40 {
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        // Half of a request is none.
        socket.write_all(b"GET /runs/r1/events HTTP/1.1\r\nhost: x\r\n").await.unwrap();
        silent.push(socket);
    }
    let mut reader = TcpStream::connect(server.address()).await.unwrap();
    reader.write_all(request().as_bytes()).await.unwrap();
    let got = answer(&mut reader).await;
    assert!(got.starts_with("HTTP/1.1 200 ") && got.contains("event: connected"), "{got}");
    // The oldest had to make way for it, with a word.
    let turned_away = answer(&mut silent[0]).await;
    assert!(turned_away.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{turned_away}");
    assert!(turned_away.contains("\r\nretry-after: 1\r\n"), "{turned_away}");
    assert!(turned_away.contains("too many connections"), "{turned_away}");
    server.shutdown().await;
}

#[tokio::test]
async fn one_reader_too_many_gets_a_retry_time() {
    let settings = ServerSettings { connections: 2, ..ServerSettings::new(TOKEN) };
    let (server, broker) = serve(settings).await;
    let feed = broker.open("r1", StreamLifetime::OneRun).unwrap();
    let mut readers = Vec::new();
    for _ in 0..2 {
        let mut reader = TcpStream::connect(server.address()).await.unwrap();
        reader.write_all(request().as_bytes()).await.unwrap();
        // It is served once the head of the answer comes.
        reader.read_exact(&mut [0; 16]).await.unwrap();
        readers.push(reader);
    }
    let mut third = TcpStream::connect(server.address()).await.unwrap();
    let got = answer(&mut third).await;
    assert!(got.starts_with("HTTP/1.1 503 ") && got.contains("\r\nretry-after: 1\r\n"), "{got}");
    drop(feed);
    for reader in &mut readers {
        answer(reader).await;
    }
    server.shutdown().await;
}
