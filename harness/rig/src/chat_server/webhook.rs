//! Posts updates to the bot's webhook.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::NetworkDoor;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::call::{Reply, make};
use super::connections::without_panic;
use super::state::Shared;
use super::updates::{Webhook, WebhookTarget, webhook_target};
use super::wire::Params;

/// The time between two attempts to post an update to a webhook that fails.
const AGAIN: Duration = Duration::from_secs(1);

/// Posts updates, one after another, until the server ends.
pub(super) async fn deliver(shared: Arc<Shared>) {
    let mut changes = shared.changes();
    let limits = shared.read(|state| state.settings.limits);
    let mut calls: JoinSet<Reply> = JoinSet::new();
    loop {
        changes.borrow_and_update();
        while let Some(ended) = calls.try_join_next() {
            without_panic(ended);
        }
        let next = shared.read(|state| {
            let webhook = state.updates.webhook.clone()?;
            Some((webhook, state.updates.first()?, state.door.clone()))
        });
        let Some((webhook, (id, update), door)) = next else {
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        let posted = post(&webhook, &update, door, limits.webhook_answer);
        let posted = timeout(limits.webhook_time, posted).await;
        let late = || {
            let s = limits.webhook_time.as_secs();
            format!("Connection timed out after {s} s; raise the limit with `--webhook-timeout`")
        };
        let posted = posted.unwrap_or_else(|_| Err(late()));
        let failed = posted.as_ref().err().cloned();
        shared.change(|state| {
            match &failed {
                None => state.updates.acknowledge(id),
                Some(words) => {
                    state.note(&format!("the webhook did not take update {id}: {words}"));
                }
            }
            if let Some(webhook) = &mut state.updates.webhook {
                webhook.last_error = failed.clone();
            }
        });
        match posted {
            Err(_) => sleep(AGAIN).await,
            // A bot may make a call in its answer.
            Ok(answer) => {
                let mut held = shared.held();
                if let Ok(call) = Params::read("", "application/json", &answer, &mut held)
                    && let Some(method) = call.text("method")
                {
                    calls.spawn(make(shared.clone(), method, call, held));
                }
            }
        }
    }
}

/// Connects to a webhook, through the door if there is one.
async fn connect(address: SocketAddr, door: Option<Arc<NetworkDoor>>) -> io::Result<TcpStream> {
    let Some(door) = door else { return TcpStream::connect(address).await };
    let socket = spawn_blocking(move || door.connect(address, AGAIN)).await??;
    socket.set_nonblocking(true)?;
    TcpStream::from_std(socket)
}

/// Posts an update and returns the body of the answer.
async fn post(
    webhook: &Webhook,
    update: &Value,
    door: Option<Arc<NetworkDoor>>,
    most: ByteSize,
) -> Result<Bytes, String> {
    let WebhookTarget { address, path } = webhook_target(&webhook.url)?;
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let socket = connect(address, door).await.map_err(|error| words(&error))?;
    let io = TokioIo::new(socket);
    let shaken = hyper::client::conn::http1::handshake(io).await;
    let (mut sender, connection) = shaken.map_err(|error| words(&error))?;
    let connection = tokio::spawn(connection);
    let mut request = Request::post(path)
        .header("host", address.to_string())
        .header("content-type", "application/json");
    if let Some(secret) = &webhook.secret {
        request = request.header("x-telegram-bot-api-secret-token", secret);
    }
    let body = Full::new(Bytes::from(update.to_string()));
    let request = request.body(body).map_err(|error| words(&error))?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(|error| words(&error))?;
        let status = response.status();
        let length = usize::try_from(most.get()).unwrap_or(usize::MAX);
        let body = Limited::new(response.into_body(), length).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => format!(
                "its answer is longer than {most}; raise the limit with `--max-webhook-answer`"
            ),
            false => words(&error),
        });
        match status.is_success() {
            true => Ok(body?.to_bytes()),
            false => Err(format!("Wrong response from the webhook: {status}")),
        }
    }
    .await;
    connection.abort();
    answered
}
