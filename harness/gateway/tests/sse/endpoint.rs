//! The endpoint, read by `eventsource-client`: LaunchDarkly's, which its SDKs run on, so that the
//! stream is shown to be one for others too.

use std::time::Duration;

use clitape_gateway::sse::{
    Broker, BrokerLimits, Reach, ServeError, ServerSettings, SseServer, StreamFeed, StreamLifetime,
};
use clitape_gateway::{Bus, BusData, Phase, Tool};
use eventsource_client::{Client as _, ClientBuilder, Error, SSE};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) const TOKEN: &str = "hidden-token-1";

pub(crate) fn text(delta: &str) -> BusData {
    BusData::Assistant { message_id: "m".into(), delta: delta.into(), length: 1, parent: None }
}

fn start(id: &str) -> BusData {
    let (id, name) = (id.into(), "Read".into());
    let args = json!({"file_path": "/a"});
    BusData::Tool(Tool::Start {
        id,
        name,
        title: "".into(),
        args: args.into(),
        truncated: None,
        parent: None,
    })
}

fn result(id: &str) -> BusData {
    let (id, name, result) = (id.into(), "Read".into(), json!("ok"));
    BusData::Tool(Tool::Result {
        id,
        name,
        is_error: false,
        result,
        incomplete: None,
        parent: None,
    })
}

pub(crate) fn end() -> BusData {
    BusData::Lifecycle(Phase::End { text: "done".into() })
}

/// A server, and the stream `r1` with its bus.
pub(crate) async fn serve(limits: BrokerLimits) -> (SseServer, Broker, StreamFeed, Bus) {
    let broker = Broker::new(limits);
    let server = SseServer::start(ServerSettings::new(TOKEN), broker.clone()).await.unwrap();
    let mut feed = broker.open("r1", StreamLifetime::OneRun).unwrap();
    let bus = Bus::new("r1");
    feed.follow(&bus);
    (server, broker, feed, bus)
}

/// Reads `url` as the public client does; events as `id name`, comments left out.
struct EventReader {
    stream: std::pin::Pin<Box<dyn futures_util::Stream<Item = Result<SSE, Error>> + Send>>,
}

impl EventReader {
    fn connect(url: &str, token: &str, last_id: Option<&str>) -> Self {
        let bearer = format!("Bearer {token}");
        let mut client =
            ClientBuilder::for_url(url).unwrap().header("authorization", &bearer).unwrap();
        if let Some(id) = last_id {
            client = client.last_event_id(id.to_owned());
        }
        Self { stream: client.build_http().stream() }
    }

    async fn next(&mut self) -> String {
        loop {
            match self.stream.next().await {
                Some(Ok(SSE::Event(event))) => {
                    let data: Value = serde_json::from_str(&event.data).unwrap();
                    assert!(data.is_object(), "{data}");
                    return format!("{} {}", event.id.unwrap_or_default(), event.event_type);
                }
                Some(Ok(SSE::Comment(_) | SSE::Connected(_))) => {}
                Some(Err(error)) => return format!("{error:?}"),
                None => return "none".to_owned(),
            }
        }
    }

    async fn check(&mut self, expect: &[&str]) {
        for expect in expect {
            assert_eq!(self.next().await.trim(), *expect);
        }
    }
}

/// The whole answer to a plain request, which ends when the server hangs up.
async fn raw(server: &SseServer, path: &str, headers: &str) -> String {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A connection that has asked for the stream, and has read nothing.
async fn connect(server: &SseServer) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let request = format!("GET /runs/r1/events HTTP/1.1\r\nhost: x\r\n{}\r\n", bearer());
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

fn bearer() -> String {
    format!("authorization: Bearer {TOKEN}\r\n")
}

#[tokio::test]
pub(crate) async fn s1_a_public_client_reads_a_run_in_order() {
    let (server, _hub, _feed, bus) = serve(BrokerLimits::default()).await;
    let url = server.url("r1");
    bus.publish(text("before anybody reads"));
    let mut one = EventReader::connect(&url, TOKEN, None);
    one.check(&["connected", "1 output"]).await;
    let mut two = EventReader::connect(&url, TOKEN, None);
    two.check(&["connected", "1 output"]).await;
    for data in [start("t1"), text("x"), result("t1"), start("t2"), end()] {
        bus.publish(data);
    }
    // One delivery each; the call that never ended is told before the end.
    for reader in [&mut one, &mut two] {
        reader.check(&["2 output", "3 tool_use", "4 tool_use", "5 complete"]).await;
        // The stream ends; the client connects again with its last id, and nothing comes twice.
        reader.check(&["Eof", "Eof"]).await;
    }
    let mut late = EventReader::connect(&url, TOKEN, None);
    late.check(&["connected", "1 output", "2 output", "3 tool_use", "4 tool_use", "5 complete"])
        .await;
    server.shutdown().await;
}

#[tokio::test]
pub(crate) async fn s1_a_reader_resumes_after_its_last_id() {
    let (server, _hub, _feed, bus) =
        serve(BrokerLimits { events: 4, ..BrokerLimits::default() }).await;
    for _ in 0..6 {
        bus.publish(text("x"));
    }
    let url = server.url("r1");
    EventReader::connect(&url, TOKEN, Some("4"))
        .check(&["connected", "5 output", "6 output"])
        .await;
    let mut lost = EventReader::connect(&url, TOKEN, Some("1"));
    lost.check(&["connected", "gap", "3 output"]).await;
    server.shutdown().await;
}

#[tokio::test]
pub(crate) async fn s1_a_reader_that_does_not_read_is_dropped_with_a_word() {
    let limits = BrokerLimits { events: 8, ..BrokerLimits::default() };
    let (server, _hub, _feed, bus) = serve(limits).await;
    let mut slow = connect(&server).await;
    let mut begin = vec![0; 64];
    slow.read_exact(&mut begin).await.unwrap();
    let mut quick = EventReader::connect(&server.url("r1"), TOKEN, None);
    quick.check(&["connected"]).await;
    // More than any socket holds.
    let large = "x".repeat(1 << 20);
    for id in 1..=48 {
        bus.publish(text(&large));
        quick.check(&[&format!("{id} output")]).await;
    }
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).await.unwrap();
    let tail = String::from_utf8_lossy(&rest[rest.len() - 400..]).into_owned();
    assert!(tail.contains("event: dropped\ndata: {\"error\":\"the reader is too slow"), "{tail}");
    assert!(rest.len() < 48 << 20, "it got everything");
    bus.publish(end());
    quick.check(&["49 complete"]).await;
    server.shutdown().await;
}

#[tokio::test]
pub(crate) async fn s1_refusals_are_sentences() {
    let (server, _hub, _feed, bus) =
        serve(BrokerLimits { readers: 0, ..BrokerLimits::default() }).await;
    bus.publish(text("x"));
    let events = "/runs/r1/events";
    let known = bearer();
    let with = |header: &str| format!("{known}{header}\r\n");
    for (path, headers, status, words) in [
        (events, "".to_owned(), "401", "send `Authorization: Bearer TOKEN`"),
        (events, "authorization: Bearer hidden-token-2\r\n".into(), "401", "missing or wrong"),
        (events, "authorization: Bearer hidden-token-\r\n".into(), "401", "missing or wrong"),
        (events, format!("authorization: Basic {TOKEN}\r\n"), "401", "missing or wrong"),
        ("/runs/r2/events", "".into(), "401", "missing or wrong"),
        ("/", "".into(), "401", "missing or wrong"),
        ("/", known.clone(), "404", "a run's events are at /runs/ID/events"),
        ("/runs/r2/events", known.clone(), "404", "no such run"),
        (events, with("last-event-id: seven"), "400", "leave it out"),
        (events, with("last-event-id: 2"), "400", "leave it out"),
        (events, known.clone(), "503", "try again"),
        (events, known.replace("Bearer", "bearer"), "503", "try again"),
    ] {
        let answer = raw(&server, path, &headers).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {headers}: {answer}");
        assert!(answer.contains(words), "{path} {headers}: {answer}");
        assert!(!answer.contains(TOKEN), "{answer}");
    }
    bus.publish(end());
    let over = raw(&server, events, &with("last-event-id: 2")).await;
    assert!(over.starts_with("HTTP/1.1 204 "), "{over}");
    server.shutdown().await;
}

#[tokio::test]
async fn s1_a_silent_stream_has_a_heartbeat() {
    let broker = Broker::new(BrokerLimits::default());
    let settings =
        ServerSettings { heartbeat: Duration::from_millis(5), ..ServerSettings::new(TOKEN) };
    let server = SseServer::start(settings, broker.clone()).await.unwrap();
    let feed = broker.open("r1", StreamLifetime::OneRun).unwrap();
    let mut socket = connect(&server).await;
    let mut answer = String::new();
    while !answer.contains(": ping\n\n") {
        let mut piece = [0; 256];
        let read = socket.read(&mut piece).await.unwrap();
        assert!(read > 0, "{answer}");
        answer.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    assert!(answer.contains("content-type: text/event-stream\r\n"), "{answer}");
    drop(feed);
    let mut rest = String::new();
    socket.read_to_string(&mut rest).await.unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    server.shutdown().await;
}

#[tokio::test]
pub(crate) async fn s1_only_this_machine_is_served_by_default() {
    let settings = |address: &str, reach| ServerSettings {
        address: address.parse().unwrap(),
        reach,
        ..ServerSettings::new(TOKEN)
    };
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = SseServer::start(
            settings(address, Reach::Loopback),
            Broker::new(BrokerLimits::default()),
        )
        .await;
        let error = refused.err().unwrap();
        assert!(matches!(error, ServeError::NotLoopback(_)), "{error}");
        assert!(error.to_string().contains("`Reach::Anywhere`"), "{error}");
    }
    // 192.0.2.1 is nobody's: the system refuses it, and nothing is opened.
    let anywhere = SseServer::start(
        settings("192.0.2.1:0", Reach::Anywhere),
        Broker::new(BrokerLimits::default()),
    )
    .await;
    assert!(matches!(anywhere.err().unwrap(), ServeError::Listen { .. }));
    for token in ["", "two words", "naïve", "line\n"] {
        let settings = ServerSettings::new(token);
        let error =
            SseServer::start(settings, Broker::new(BrokerLimits::default())).await.err().unwrap();
        assert!(matches!(error, ServeError::Token), "{error}");
    }
}

#[tokio::test]
async fn s1_a_shutdown_sends_every_reader_a_last_event() {
    let (server, _hub, _feed, bus) = serve(BrokerLimits::default()).await;
    bus.publish(text("x"));
    let address = server.address();
    let mut socket = connect(&server).await;
    let mut begin = [0; 16];
    socket.read_exact(&mut begin).await.unwrap();
    let mut rest = String::new();
    let (_, read) = tokio::join!(server.shutdown(), socket.read_to_string(&mut rest));
    read.unwrap();
    assert!(rest.contains("event: dropped\ndata: {\"error\":\"the gateway shuts down"), "{rest}");
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}
