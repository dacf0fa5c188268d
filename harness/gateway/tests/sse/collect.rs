//! The collector against our own endpoint, and against gateways that answer as real ones have.

use std::time::Duration;

use clitape_gateway::sse::{
    Broker, BrokerLimits, CollectTarget, Collected, Reach, StreamLifetime, converse, listen,
};
use clitape_gateway::{Bus, BusData, Phase};
use clitape_stream::FailureKind;
use serde_json::{Value, json};

use crate::endpoint::{TOKEN, end, serve, text};
use crate::gateway::{Gateway, GatewayAnswer};

/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);

fn target(url: &str) -> CollectTarget {
    let mut target = CollectTarget::new(url).unwrap();
    target.set_token(TOKEN).unwrap();
    target
}

#[track_caller]
fn check(collected: &Collected, expect: Value) {
    assert_eq!(serde_json::to_value(collected).unwrap(), expect);
}

#[tokio::test]
async fn s2_a_run_is_collected_from_our_endpoint() {
    let (server, broker, _feed, bus) = serve(BrokerLimits::default()).await;
    let target = target(&server.url("r1"));
    let publish = async {
        bus.publish(text("par"));
        bus.publish(end());
    };
    let (collected, ()) = tokio::join!(listen(&target, 1, LONG), publish);
    check(&collected.unwrap(), json!({"output": "done", "metadata": {}}));
    // Again, when it is over; and more turns than there are.
    check(&listen(&target, 1, LONG).await.unwrap(), json!({"output": "done", "metadata": {}}));
    let more = listen(&target, 2, LONG).await.unwrap();
    assert!(more.error.unwrap().starts_with("the stream ended before the turn was complete"));

    let mut feed = broker.open("c", StreamLifetime::Conversation).unwrap();
    for (run, failed) in [("r2", false), ("r3", true)] {
        let bus = Bus::new(run);
        feed.follow(&bus);
        bus.publish(text(run));
        let message = "It broke.".to_owned();
        let error = BusData::Lifecycle(Phase::Error { kind: FailureKind::Other, message });
        bus.publish(if failed { error } else { end() });
    }
    let expect = json!({"output": "r3", "error": "It broke.", "metadata": {}});
    let conversation = self::target(&server.url("c"));
    check(&listen(&conversation, 2, LONG).await.unwrap(), expect);
    server.shutdown().await;
}

#[tokio::test]
async fn s2_a_collector_that_was_too_slow_reports_lost_events() {
    let broker = Broker::new(BrokerLimits { events: 2, ..BrokerLimits::default() });
    let settings = clitape_gateway::sse::ServerSettings::new(TOKEN);
    let server = clitape_gateway::sse::SseServer::start(settings, broker.clone()).await.unwrap();
    let (mut feed, bus) = (broker.open("r1", StreamLifetime::OneRun).unwrap(), Bus::new("r1"));
    feed.follow(&bus);
    (0..5).for_each(|_| bus.publish(text("x")));
    bus.publish(end());
    let collected = listen(&target(&server.url("r1")), 1, LONG).await.unwrap();
    assert!(collected.error.unwrap().starts_with("events were lost"));
    assert_eq!(collected.output, "done");
    server.shutdown().await;
}

#[tokio::test]
pub(crate) async fn s2_a_stream_that_breaks_off_is_resumed() {
    let gateway = Gateway::start(|_, _, before| match before {
        0 => GatewayAnswer::stream(
            "retry: 1\nid: 1\nevent: output\ndata: {\"content\":\"a\"}\n\nid: 2\nevent: out",
        ),
        1 => GatewayAnswer::of("503 Service Unavailable", "text/plain", "not yet"),
        2 => GatewayAnswer::stream(
            "id: 1\nevent: output\ndata: {\"content\":\"a\"}\n\n\
             id: 2\nevent: output\ndata: {\"content\":\"b\"}\n\n",
        ),
        3 => GatewayAnswer::stream(": nothing new\n\n"),
        _ => GatewayAnswer::stream("id: 3\nevent: complete\ndata: {}\n\n"),
    })
    .await;
    let collected = listen(&target(&gateway.url("/e")), 1, LONG).await.unwrap();
    check(&collected, json!({"output": "ab", "metadata": {}}));
    let bearer = format!("GET /e [Bearer {TOKEN}]");
    let after = |id: u8| format!("{bearer} [{id}]");
    assert_eq!(gateway.asked(), [bearer.clone(), after(1), after(1), after(2), after(2)]);
}

#[tokio::test]
pub(crate) async fn s2_what_fails_later_keeps_what_was_collected() {
    const FIRST: &str = "retry: 1\nevent: output\ndata: {\"content\":\"half\"}\n\n\
                         event: tool_use\ndata: {\"name\":\"bash\"}\n\n";
    let gateway = Gateway::start(|line, _, before| match (line, before) {
        ("GET /no-ids", _) => GatewayAnswer::stream(FIRST),
        ("GET /hangs", _) => GatewayAnswer::stream(&format!("{FIRST}\u{0}hold")),
        ("GET /refuses", 0) | ("GET /breaks", 0) | ("GET /ends", 0) => {
            GatewayAnswer::stream(&format!("id: 1\n{FIRST}"))
        }
        ("GET /refuses", _) => GatewayAnswer::of("401 Unauthorized", "text/plain", "who is it?"),
        ("GET /ends", _) => GatewayAnswer("HTTP/1.1 204 No Content\r\n\r\n".into()),
        _ => GatewayAnswer::stream(""),
    })
    .await;
    for (path, limit, expect) in [
        ("/no-ids", LONG, "its events have no ids to go on from"),
        ("/breaks", LONG, "the stream broke off 5 times without a new event"),
        ("/refuses", LONG, "/refuses answered 401: who is it? (see the token)"),
        ("/ends", LONG, "the stream ended before the turn was complete"),
        ("/hangs", Duration::from_secs(3), "the turn was not complete after 3 s"),
    ] {
        let collected = listen(&target(&gateway.url(path)), 1, limit).await.unwrap();
        let error = collected.error.as_deref().unwrap_or_default();
        assert!(error.contains(expect), "{path}: {error}");
        assert_eq!((collected.output.as_str(), collected.metadata.tool_calls.len()), ("half", 1));
    }
}

#[tokio::test]
async fn s2_what_can_t_be_collected_is_refused_at_once() {
    let gateway = Gateway::start(|line, _, _| match line {
        "GET /html" => GatewayAnswer::of("200 OK", "text/html; charset=utf-8", "<p>"),
        "GET /moved" => {
            GatewayAnswer("HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\n\r\n".into())
        }
        "GET /gone" => GatewayAnswer("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".into()),
        "POST /nameless" => GatewayAnswer::json("{}"),
        "POST /html" => GatewayAnswer::of("200 OK", "text/html", "<p>"),
        _ => GatewayAnswer::of("500 Internal Server Error", "text/plain", "a\n \u{1b} b"),
    })
    .await;
    for (path, expect) in [
        ("/html", "/html is no event stream (`text/html; charset=utf-8`); give the URL of one"),
        ("/moved", "/moved answered 302: Found (redirects are not followed"),
        ("/gone", "/gone answered 404: Not Found (see the URL)"),
        ("/fails", "/fails answered 500: a  b (see the gateway's log)"),
    ] {
        let error = listen(&target(&gateway.url(path)), 1, LONG).await.unwrap_err().to_string();
        assert!(error.starts_with(expect), "{error}");
    }
    for (path, expect) in [
        ("/nameless", "the gateway named no `agentId`"),
        ("/html", "the gateway answered with no JSON"),
        ("/fails", "/fails answered 500"),
    ] {
        let url = gateway.url(path);
        let error = converse(&target(&url), None, &["hi".into()], LONG).await.unwrap_err();
        assert!(error.to_string().starts_with(expect), "{error}");
    }
    assert!(gateway.asked().iter().all(|line| !line.starts_with("DELETE")), "no session was made");
    let url = gateway.url("/e");
    drop(gateway);
    // Its port is free again once its task is gone.
    tokio::task::yield_now().await;
    let error = listen(&target(&url), 1, LONG).await.unwrap_err().to_string();
    assert!(error.contains("see whether the gateway runs and listens there"), "{error}");
}

#[test]
fn s2_only_this_machine_is_asked_by_default() {
    let check = |url: &str, reach, expect: &str| {
        let told = CollectTarget::within(url, reach).err().map_or(String::new(), |e| e.to_string());
        assert!(told.contains(expect) && told.is_empty() == expect.is_empty(), "{url}: {told}");
    };
    for url in ["http://127.0.0.1:1/e", "http://127.9.9.9", "http://localhost/e", "http://[::1]:1/"]
    {
        check(url, Reach::Loopback, "");
    }
    for url in [
        "http://192.0.2.1/e",
        "http://example.com",
        "http://127.0.0.1.example",
        "http://[2001:db8::1]/",
    ] {
        check(url, Reach::Loopback, "is not on this machine");
        check(url, Reach::Anywhere, "");
    }
    for url in ["", "/e", "127.0.0.1:1", "https://127.0.0.1/e", "ftp://x/", "http://u:p@127.0.0.1/"]
    {
        check(url, Reach::Loopback, "is no URL to collect from");
    }
    let mut target = CollectTarget::new("http://localhost").unwrap();
    assert!(target.set_token("a\nb").is_err());
}

/// A gateway of sessions; its answer to the second message depends on its path.
fn sessions(line: &str, body: &str, before: usize) -> GatewayAnswer {
    let event = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n");
    match line.split_once(' ').unwrap() {
        ("POST", path) if path.ends_with("/agents") => {
            GatewayAnswer::json(r#"{"agentId":"A 1","token":"session-token"}"#)
        }
        ("POST", path) if path.starts_with("/fails") && before == 1 => {
            GatewayAnswer::of("503 Service Unavailable", "text/plain", "full")
        }
        ("POST", _) => {
            let turn = if body.contains("one") { "m1" } else { "m2" };
            GatewayAnswer::json(&format!(r#"{{"messageId":"{turn}"}}"#))
        }
        ("GET", _) => GatewayAnswer::stream(
            &[
                event("connected", "{}"),
                event("output", r#"{"content":"stray","messageId":"m0"}"#),
                event("tool_use", r#"{"name":"bash","toolCallId":"a","messageId":"m1"}"#),
                event("output", r#"{"content":"first","messageId":"m1"}"#),
                event("complete", r#"{"messageId":"m1"}"#),
                event("tool_use", r#"{"name":"bash","toolCallId":"b","messageId":"m2"}"#),
                event("output", r#"{"content":"second","messageId":"m2"}"#),
                event("complete", r#"{"messageId":"m2"}"#),
            ]
            .concat(),
        ),
        _ => GatewayAnswer::json("{}"),
    }
}

#[tokio::test]
pub(crate) async fn s2_one_session_for_all_turns_deleted_once() {
    let call = |id: &str| json!({"name": "bash", "input": null, "toolCallId": id});
    for (base, expect) in [
        ("", json!({"output": "second", "metadata": {"toolCalls": [call("a"), call("b")]}})),
        (
            "/fails",
            json!({
                "output": "first",
                "error": "/fails/agents/A%201/messages answered 503: full (see the gateway's log)",
                "metadata": {"toolCalls": [call("a")]},
            }),
        ),
    ] {
        let gateway = Gateway::start(sessions).await;
        let url = gateway.url(&format!("{base}/agents/"));
        let messages = ["one".to_owned(), "  two ".to_owned()];
        let collected = converse(&target(&url), Some("ada"), &messages, LONG).await.unwrap();
        check(&collected, expect);
        let session = format!("{base}/agents/A%201");
        let bearer = "[Bearer session-token]";
        let made = json!({"forceNew": true, "dryRun": true, "agentId": "ada"});
        assert_eq!(
            gateway.asked(),
            [
                format!("POST {base}/agents [Bearer {TOKEN}] {made}"),
                format!("GET {session}/events {bearer}"),
                format!("POST {session}/messages {bearer} {{\"content\":\"one\"}}"),
                format!("POST {session}/messages {bearer} {{\"content\":\"  two \"}}"),
                format!("DELETE {session} {bearer}"),
            ]
        );
    }
}
