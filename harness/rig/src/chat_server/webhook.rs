//! Posts updates to the bot's webhook.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::call::make;
use super::params::Params;
use super::shared::Shared;
use super::updates::{WebhookTarget, webhook_target};

/// How long a webhook may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// How long an update waits after a webhook failed.
const AGAIN: Duration = Duration::from_secs(1);
/// The most bytes of the answer of a webhook.
const MAX_ANSWER: usize = 1 << 20;

/// Posts updates, one after another, for as long as the server runs.
pub(super) async fn deliver(shared: Arc<Shared>) {
    let mut changes = shared.changes();
    loop {
        changes.borrow_and_update();
        let next = shared.read(|state| {
            let webhook = state.updates.webhook.clone()?;
            Some((webhook, state.updates.first()?))
        });
        let Some((webhook, (id, update))) = next else {
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        let posted = post(&webhook.url, webhook.secret.as_deref(), &update);
        let posted = timeout(ANSWER_TIME, posted).await;
        let posted = posted.unwrap_or_else(|_| Err("Connection timed out".to_owned()));
        let failed = posted.as_ref().err().cloned();
        shared.change(|state| {
            match &failed {
                None => state.updates.acknowledge(id),
                Some(words) => state.note(format!("the webhook did not take update {id}: {words}")),
            }
            if let Some(webhook) = &mut state.updates.webhook {
                webhook.last_error = failed.clone();
            }
        });
        match posted {
            Err(_) => sleep(AGAIN).await,
            // A bot may make a call in its answer.
            Ok(Value::Object(call)) => {
                if let Some(method) = call.get("method").and_then(Value::as_str) {
                    let method = method.to_owned();
                    tokio::spawn(make(shared.clone(), method, Params::of(call)));
                }
            }
            Ok(_) => {}
        }
    }
}

/// Posts an update and returns the JSON of the answer, or null.
async fn post(url: &str, secret: Option<&str>, update: &Value) -> Result<Value, String> {
    let WebhookTarget { address, path } = webhook_target(url)?;
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let socket = TcpStream::connect(address).await.map_err(|error| words(&error))?;
    let io = TokioIo::new(socket);
    let shaken = hyper::client::conn::http1::handshake(io).await;
    let (mut sender, connection) = shaken.map_err(|error| words(&error))?;
    let connection = tokio::spawn(connection);
    let mut request = Request::post(path)
        .header("host", address.to_string())
        .header("content-type", "application/json");
    if let Some(secret) = secret {
        request = request.header("x-telegram-bot-api-secret-token", secret);
    }
    let body = Full::new(Bytes::from(update.to_string()));
    let request = request.body(body).map_err(|error| words(&error))?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(|error| words(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| words(&error))?.to_bytes();
        match status.is_success() {
            true => Ok(serde_json::from_slice(&body).unwrap_or_default()),
            false => Err(format!("Wrong response from the webhook: {status}")),
        }
    }
    .await;
    connection.abort();
    answered
}
