//! A reader of a stream answers what the CLI asks.

use std::borrow::Cow;
use std::time::Duration;

use clitape_gateway::sse::{Broker, BrokerLimits, PostedAnswer, ServerSettings};
use clitape_gateway::sse::{SseServer, StreamFeed, StreamLifetime};
use clitape_gateway::{Bus, Conversation, RunSettings, Turn};
use clitape_stream::{Event, Json};
use serde_json::{Map, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::endpoint::TOKEN;

/// A server whose stream `r1` follows a conversation in which `q1` was asked.
struct Asked {
    server: SseServer,
    _feed: StreamFeed,
    conversation: Conversation,
    inbox: mpsc::Receiver<PostedAnswer>,
}

impl Asked {
    async fn start() -> Self {
        let broker = Broker::new(BrokerLimits::default());
        let (outbox, inbox) = mpsc::channel(8);
        let settings = ServerSettings { answers: Some(outbox), ..ServerSettings::new(TOKEN) };
        let server = SseServer::start(settings, broker.clone()).await.unwrap();
        let mut feed = broker.open("r1", StreamLifetime::Conversation).unwrap();
        let bus = Bus::new("r1");
        feed.follow(&bus);
        let mut conversation = Conversation::new(RunSettings::default(), move |_| Turn {
            bus: bus.clone(),
            channels: Vec::new(),
            delivered: Box::new(|_| ()),
        });
        conversation.on_event(&Event::Question {
            id: "q1".into(),
            name: "Bash".into(),
            call: Some("t1".into()),
            input: (&json!({"command": "ls"})).into(),
            suggestions: Json::NULL,
            detail: Cow::Owned(Map::new()),
            parent: None,
        });
        Self { server, _feed: feed, conversation, inbox }
    }

    /// Posts `body` and lets the host take what comes of it; the answer, and the line for the CLI.
    async fn post(&mut self, path: &str, token: &str, body: &str) -> (String, Option<String>) {
        let mut socket = TcpStream::connect(self.server.address()).await.unwrap();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: \
             application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let mut line = None;
        let mut read = std::pin::pin!(socket.read_to_string(&mut answer));
        loop {
            tokio::select! {
                _ = &mut read => break,
                Some(posted) = self.inbox.recv() => {
                    assert_eq!(posted.run, "r1");
                    let by = posted.by.as_deref();
                    let taken = self.conversation.answer(&posted.question, &posted.answer, by);
                    line = taken.as_ref().ok().map(ToString::to_string);
                    posted.reply.send(taken.map(|_| ())).unwrap();
                }
            }
        }
        (answer, line)
    }
}

const ANSWER: &str = "/runs/r1/answer";

#[tokio::test]
pub(crate) async fn q11_a_reader_answers_a_question() {
    let mut asked = Asked::start().await;
    let yes = r#"{"question": "q1", "behavior": "allow", "by": "Ann"}"#;
    let (answer, line) = asked.post(ANSWER, TOKEN, yes).await;
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    assert!(line.is_some_and(|line| line.contains(r#""behavior":"allow""#)));
    // The second one is refused, and the stream has the first.
    let (answer, line) = asked.post(ANSWER, TOKEN, yes).await;
    assert!(
        answer.starts_with("HTTP/1.1 409 ") && answer.contains("only the first one counts"),
        "{answer}"
    );
    assert_eq!(line, None);
    asked.conversation.finish().await;
    let mut socket = TcpStream::connect(asked.server.address()).await.unwrap();
    let request =
        format!("GET /runs/r1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut stream = Vec::new();
    let read = socket.read_to_end(&mut stream);
    // The stream of a conversation stays open.
    tokio::time::timeout(Duration::from_millis(500), read).await.unwrap_err();
    let stream = String::from_utf8(stream).unwrap();
    for expect in [
        r#"event: question"#,
        r#""questionId":"q1","name":"Bash","title":"🛠️ Bash: list files","toolCallId":"t1","input":{"command":"ls"}"#,
        r#"event: answered"#,
        r#""questionId":"q1","how":"allowed","by":"Ann","after":"#,
    ] {
        assert!(stream.contains(expect), "{expect}: {stream}");
    }
}

/// A host that has gone away, or that drops the answer, has not taken it.
#[tokio::test]
pub(crate) async fn q11_an_answer_that_no_host_takes_is_to_be_posted_again() {
    let yes = r#"{"question": "q1", "behavior": "allow"}"#;
    let check = |answer: &str| {
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
        assert!(answer.contains("the gateway did not take the answer"), "{answer}");
    };
    let mut dropped = Asked::start().await;
    let mut inbox = std::mem::replace(&mut dropped.inbox, mpsc::channel(1).1);
    let host = tokio::spawn(async move { drop(inbox.recv().await) });
    check(&dropped.post(ANSWER, TOKEN, yes).await.0);
    host.await.unwrap();
    // Nobody listens any more.
    check(&dropped.post(ANSWER, TOKEN, yes).await.0);
}

#[tokio::test]
pub(crate) async fn q11_an_answer_that_is_not_taken_has_a_sentence() {
    let mut asked = Asked::start().await;
    let yes = r#"{"question": "q1", "behavior": "allow"}"#;
    let long =
        format!(r#"{{"question": "q1", "behavior": "deny", "message": "{}"}}"#, "x".repeat(70_000));
    for (path, token, body, status, words) in [
        (ANSWER, "wrong", yes, "401", "missing or wrong"),
        ("/runs/r2/answer", TOKEN, yes, "404", "there is no such run"),
        (ANSWER, TOKEN, "{}", "400", "missing field `question`"),
        (ANSWER, TOKEN, r#"{"question": "q1", "behavior": "maybe"}"#, "400", "unknown variant"),
        (ANSWER, TOKEN, &long, "413", "longer than 64KiB"),
        (ANSWER, TOKEN, r#"{"question": "q9", "behavior": "allow"}"#, "404", "nobody asked"),
        (
            ANSWER,
            TOKEN,
            r#"{"question": "q1", "behavior": "choose", "answers": [[0], "x"]}"#,
            "422",
            "answer it with allow or deny",
        ),
        (
            ANSWER,
            TOKEN,
            r#"{"question": "q1", "behavior": "allow", "suggestions": [3]}"#,
            "422",
            "made 0 suggestions",
        ),
    ] {
        let (answer, line) = asked.post(path, token, body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{body:.80}: {answer}");
        assert!(answer.contains(words), "{body:.80}: {answer}");
        assert_eq!(line, None);
    }
    // Nothing was taken: the question is open.
    assert_eq!(asked.conversation.questions().ids().collect::<Vec<_>>(), ["q1"]);
}
