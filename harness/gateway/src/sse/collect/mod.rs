//! Collects turns from a URL: one that listens to a stream, and one that holds a conversation with
//! a gateway ([S2](crate::rules::S2)).

mod client;
mod events;

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use client::HttpClient;
pub use client::{CollectError, CollectLimits, CollectTarget};
use events::{Events, Lost};

use super::collector::{Collected, Collector, TurnProgress};

/// Listens at the URL of an event stream until this many turns have ended.
///
/// Each turn may take `limit`; the [`CollectLimits`] of the target hold for all turns together. A
/// failure after the stream was opened is reported in `error`, and what was collected before it is
/// kept.
///
/// # Errors
///
/// [`CollectError`] when the stream can't be opened.
pub async fn listen(
    target: &CollectTarget,
    turns: u32,
    limit: Duration,
) -> Result<Collected, CollectError> {
    let client = HttpClient::new(target, None)?;
    let mut collector = Collector::within(target.limits().retained);
    let mut events = within(Instant::now() + limit, Events::open(client, target.path())).await?;
    for turn in 0..turns {
        if turn > 0 {
            collector.begin(None);
        }
        if !turn_of(&mut events, &mut collector, Instant::now() + limit, limit).await {
            break;
        }
    }
    Ok(collector.collected())
}

/// Holds a conversation with a gateway: one session, a turn for each of `messages`, and at the end
/// the session is deleted, once, whatever happened.
///
/// The URL is the one that makes sessions: `POST URL` answers `{agentId, token}`,
/// `POST URL/ID/messages` takes `{content}` and answers `{messageId}`, `GET URL/ID/events` is the
/// stream, `DELETE URL/ID` ends it. `agent` names the agent that is asked. Each turn may take
/// `limit`; the first that fails is the last. Dropped before it is done, it leaves the session.
///
/// # Errors
///
/// [`CollectError`] when no session can be made.
pub async fn converse(
    target: &CollectTarget,
    agent: Option<&str>,
    messages: &[String],
    limit: Duration,
) -> Result<Collected, CollectError> {
    let mut request = json!({ "forceNew": true, "dryRun": true });
    if let Some(agent) = agent {
        request["agentId"] = agent.into();
    }
    let base = target.path().trim_end_matches('/');
    let deadline = || Instant::now() + limit;
    let client = HttpClient::new(target, None)?;
    let made = within(deadline(), client.send(Method::POST, base, Some(&request))).await?;
    let made = within(deadline(), client.json(made)).await?;
    let text = |name: &str| made.get(name).and_then(Value::as_str);
    let (Some(id), token) = (text("agentId"), text("token")) else {
        return Err(CollectError::NoSession);
    };
    let session = format!("{base}/{}", segment(id));
    let client = HttpClient::new(target, token)?;
    let mut collector = Collector::within(target.limits().retained);
    let path = format!("{session}/events");
    let failed = match within(deadline(), Events::open(client.clone(), &path)).await {
        Err(error) => Some(error),
        Ok(mut events) => {
            turns_of(&client, &session, messages, limit, &mut events, &mut collector).await.err()
        }
    };
    if let Some(error) = failed {
        collector.fail(error.to_string());
    }
    // The turns are over; a session that stays behind does not change what they gave.
    let _ = within(deadline(), client.send(Method::DELETE, &session, None)).await;
    Ok(collector.collected())
}

async fn turns_of(
    client: &HttpClient,
    session: &str,
    messages: &[String],
    limit: Duration,
    events: &mut Events,
    collector: &mut Collector,
) -> Result<(), CollectError> {
    for message in messages {
        let deadline = Instant::now() + limit;
        let body = json!({ "content": message });
        let path = format!("{session}/messages");
        let sent = within(deadline, client.send(Method::POST, &path, Some(&body))).await?;
        let sent = within(deadline, client.json(sent)).await?;
        collector.begin(sent.get("messageId").and_then(Value::as_str).map(str::to_owned));
        if !turn_of(events, collector, deadline, limit).await {
            break;
        }
    }
    Ok(())
}

/// Collects one turn; whether it came to a good end.
async fn turn_of(
    events: &mut Events,
    collector: &mut Collector,
    deadline: Instant,
    limit: Duration,
) -> bool {
    loop {
        let lost = match timeout_at(deadline, events.next()).await {
            Ok(Ok(frame)) => match collector.on(&frame) {
                TurnProgress::Open => continue,
                progress => return progress == TurnProgress::Complete,
            },
            Ok(Err(lost)) => lost,
            Err(_) => Lost::Late(limit),
        };
        collector.fail(lost.to_string());
        return false;
    }
}

/// Gives up at `deadline`.
async fn within<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, CollectError>>,
) -> Result<T, CollectError> {
    timeout_at(deadline, work).await.unwrap_or(Err(CollectError::Silent))
}

/// The characters that RFC 3986 does not reserve stay as they are in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns `word` as one segment of a path.
fn segment(word: &str) -> PercentEncode<'_> {
    utf8_percent_encode(word, SEGMENT)
}
