//! The updates for the bot: stored until the bot acknowledges them, and handed out by polls or a webhook.

use std::collections::VecDeque;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::wire::{ApiError, Params, WORD, cut};
use crate::limits::{Held, json_bytes};

/// The most kinds of updates that a bot can ask for; Telegram has fewer.
const MAX_KINDS: usize = 100;
/// The most bytes of a webhook's URL.
const MAX_URL: usize = 2_048;
/// The most updates in one answer.
const MAX_LIMIT: i64 = 100;
/// The most seconds that a poll may ask to wait.
const MAX_TIMEOUT_S: i64 = 50;
/// The number of short polls after which a bot counts as polling.
const SHORT_POLLS: u64 = 3;

/// The webhook of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) secret: Option<String>,
    pub(super) last_error: Option<String>,
}

/// The address and the path in a webhook's URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebhookTarget {
    pub(super) address: SocketAddr,
    pub(super) path: String,
}

/// Parses a webhook's URL, which must lead to this machine.
pub(super) fn webhook_target(url: &str) -> Result<WebhookTarget, String> {
    if url.len() > MAX_URL {
        return Err(format!("bad webhook: the URL is longer than {MAX_URL} bytes"));
    }
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| "bad webhook: the chat server posts to http://127.0.0.1 alone".to_owned())?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.replace("localhost", "127.0.0.1");
    let host = if host.contains(':') { host } else { format!("{host}:80") };
    let address: Option<SocketAddr> = host.parse().ok();
    let address = address.filter(|address| address.ip().is_loopback());
    let address = address
        .ok_or_else(|| "bad webhook: the chat server posts to http://127.0.0.1 alone".to_owned())?;
    Ok(WebhookTarget {
        address,
        path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
    })
}

/// An update that the bot has not acknowledged.
#[derive(Debug)]
struct PendingUpdate {
    id: i64,
    update: Value,
    bytes: usize,
}

/// The updates that the bot has not acknowledged, and its wishes about them.
#[derive(Debug)]
pub(super) struct Updates {
    pending: VecDeque<PendingUpdate>,
    most: usize,
    held: Held,
    last_id: i64,
    /// The kinds that the bot asked for; empty means all.
    allowed: Vec<String>,
    pub(super) webhook: Option<Webhook>,
    /// The number of the newest poll, which ends earlier ones.
    poll: u64,
    /// The number of polls, and of long ones among them, of the bot's present program.
    polls: (u64, u64),
}

/// A poll that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Poll {
    number: u64,
    limit: usize,
    /// The seconds that it may wait.
    pub(super) timeout_s: u64,
}

/// An error: the most updates wait already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyUpdates;

/// The present result of a poll.
pub(super) enum Polled {
    /// The answer, because there are updates or the poll has failed.
    Answer(Result<Value, ApiError>),
    /// No answer yet.
    Wait,
}

impl Updates {
    /// Creates an empty queue of at most `most` updates, which count in `held`.
    pub(super) fn new(most: usize, held: Held) -> Self {
        Self {
            pending: VecDeque::new(),
            most,
            held,
            last_id: 0,
            allowed: Vec::new(),
            webhook: None,
            poll: 0,
            polls: (0, 0),
        }
    }

    /// Adds an update of a kind such as `message`, unless the bot does not want this kind; returns whether it does.
    pub(super) fn push(&mut self, kind: &str, content: Value) -> Result<bool, TooManyUpdates> {
        if !self.allowed.is_empty() && !self.allowed.iter().any(|known| known == kind) {
            return Ok(false);
        }
        if self.pending.len() >= self.most {
            return Err(TooManyUpdates);
        }
        self.last_id += 1;
        let mut update = json!({ "update_id": self.last_id });
        update[kind] = content;
        let bytes = json_bytes(&update);
        self.held.keep(bytes);
        self.pending.push_back(PendingUpdate { id: self.last_id, update, bytes });
        Ok(true)
    }

    /// Removes the oldest updates, up to the first for which `stays` is true.
    fn forget_until(&mut self, stays: impl Fn(&PendingUpdate) -> bool) {
        while let Some(oldest) = self.pending.front()
            && !stays(oldest)
        {
            self.held.release(oldest.bytes);
            self.pending.pop_front();
        }
    }

    /// Accepts a poll: removes the updates that it acknowledges, and ends the poll before it.
    pub(super) fn accept(&mut self, params: &Params) -> Result<Poll, ApiError> {
        if self.webhook.is_some() {
            return Err(ApiError::new(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook \
                 to delete the webhook first",
            ));
        }
        match params.integer("offset").unwrap_or(0) {
            // Counts from the newest update; those before are removed.
            offset if offset < 0 => {
                let newest = self.last_id.saturating_add(offset);
                self.forget_until(|update| update.id > newest);
            }
            offset => self.forget_until(|update| update.id >= offset),
        }
        self.allow(params);
        let timeout = params.integer("timeout").unwrap_or(0).clamp(0, MAX_TIMEOUT_S);
        let limit = params.integer("limit").unwrap_or(MAX_LIMIT).clamp(1, MAX_LIMIT);
        self.poll += 1;
        self.polls = (self.polls.0 + 1, self.polls.1 + u64::from(timeout > 0));
        Ok(Poll {
            number: self.poll,
            limit: usize::try_from(limit).unwrap_or(1),
            timeout_s: u64::try_from(timeout).unwrap_or(0),
        })
    }

    /// Returns the present result of a poll. An update is handed out again until it is acknowledged.
    pub(super) fn answer(&self, poll: Poll) -> Polled {
        if self.webhook.is_some() {
            let words = "Conflict: terminated by setWebhook request";
            return Polled::Answer(Err(ApiError::new(409, words)));
        }
        if poll.number != self.poll {
            return Polled::Answer(Err(ApiError::new(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot \
                 instance is running",
            )));
        }
        if self.pending.is_empty() {
            return Polled::Wait;
        }
        let found = self.pending.iter().take(poll.limit).map(|one| one.update.clone());
        Polled::Answer(Ok(found.collect()))
    }

    /// Stores the kinds of updates that the bot wants, if the call names them.
    pub(super) fn allow(&mut self, params: &Params) {
        let Some(Value::Array(kinds)) = params.json("allowed_updates") else { return };
        let kinds = kinds.iter().filter_map(Value::as_str).take(MAX_KINDS);
        self.allowed = kinds.map(|kind| cut(kind, WORD).to_owned()).collect();
    }

    /// Removes all updates.
    pub(super) fn drop_pending(&mut self) {
        self.forget_until(|_| false);
    }

    /// Returns the number of unacknowledged updates.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the oldest update and its id.
    pub(super) fn first(&self) -> Option<(i64, Value)> {
        self.pending.front().map(|oldest| (oldest.id, oldest.update.clone()))
    }

    /// Removes the updates up to `id`.
    pub(super) fn acknowledge(&mut self, id: i64) {
        self.forget_until(|update| update.id > id);
    }

    /// Returns whether the bot is ready for a message: it polls, or has set a webhook.
    pub(super) fn is_ready(&self) -> bool {
        let (polls, long_polls) = self.polls;
        self.webhook.is_some() || long_polls > 0 || polls >= SHORT_POLLS
    }

    /// Forgets the polls of a program that was ended.
    pub(super) fn forget_polls(&mut self) {
        self.polls = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::limits::KeptBytes;

    fn params(json: &Value) -> Params {
        let text = json.to_string();
        Params::read("", "application/json", text.as_bytes(), &mut Held::default()).unwrap()
    }

    fn ids(updates: &mut Updates, json: &Value) -> Result<Vec<i64>, u16> {
        let poll = updates.accept(&params(json)).map_err(|error| error.code)?;
        match updates.answer(poll) {
            Polled::Wait => Ok(Vec::new()),
            Polled::Answer(answer) => {
                let answer = answer.map_err(|error| error.code)?;
                let of = |update: &Value| update["update_id"].as_i64().unwrap();
                Ok(answer.as_array().unwrap().iter().map(of).collect())
            }
        }
    }

    #[test]
    fn an_update_is_handed_out_until_it_is_acknowledged() {
        let mut updates = Updates::new(9, Held::default());
        assert!(
            (1..=3).all(|number| updates.push("message", json!({ "message_id": number })).unwrap())
        );
        for (poll, expect) in [
            (json!({}), &[1, 2, 3][..]),
            (json!({ "limit": 2 }), &[1, 2]),
            (json!({ "offset": 2 }), &[2, 3]),
            (json!({ "offset": "2" }), &[2, 3]),
            (json!({ "offset": -1 }), &[3]),
            (json!({}), &[3]),
            (json!({ "offset": 4 }), &[]),
        ] {
            assert_eq!(ids(&mut updates, &poll).unwrap(), expect, "{poll}");
        }
    }

    #[test]
    fn a_second_poll_ends_the_first() {
        let mut updates = Updates::new(9, Held::default());
        let first = updates.accept(&params(&json!({ "timeout": 30 }))).unwrap();
        assert!(matches!(updates.answer(first), Polled::Wait));
        assert!(updates.is_ready());
        updates.forget_polls();
        assert!(!updates.is_ready());
        let second = updates.accept(&params(&json!({ "timeout": 30 }))).unwrap();
        assert!(matches!(updates.answer(first), Polled::Answer(Err(error)) if error.code == 409));
        assert!(matches!(updates.answer(second), Polled::Wait));
    }

    #[test]
    fn only_wanted_kinds_are_kept() {
        let mut updates = Updates::new(9, Held::default());
        assert_eq!(ids(&mut updates, &json!({ "allowed_updates": "[\"message\"]" })), Ok(vec![]));
        assert_eq!(updates.push("callback_query", json!({})), Ok(false));
        assert_eq!(updates.push("message", json!({})), Ok(true));
        updates.webhook = Some(Webhook { url: String::new(), secret: None, last_error: None });
        assert_eq!(ids(&mut updates, &json!({})), Err(409));
    }

    #[test]
    fn updates_count_as_kept_until_they_are_acknowledged() {
        let kept = Arc::new(KeptBytes::default());
        let mut updates = Updates::new(2, Held::of(&kept));
        let long = || json!({ "text": "x".repeat(10_000) });
        assert_eq!([(); 2].map(|()| updates.push("message", long())), [Ok(true), Ok(true)]);
        assert_eq!(updates.push("message", long()), Err(TooManyUpdates));
        for (acknowledged, least, most) in [(0, 20_000, 24_000), (1, 10_000, 12_000), (2, 0, 0)] {
            updates.acknowledge(acknowledged);
            let bytes = kept.bytes();
            assert!((least..=most).contains(&bytes), "{bytes} after {acknowledged}");
        }
    }

    #[test]
    fn a_webhook_is_on_this_machine() {
        for (url, path) in [
            ("http://127.0.0.1:8787/telegram-webhook", "/telegram-webhook"),
            ("http://localhost:80", "/"),
            ("http://[::1]:9/x?y", "/x?y"),
        ] {
            assert_eq!(webhook_target(url).unwrap().path, path, "{url}");
        }
        for url in ["https://127.0.0.1/x", "http://example.org/x", "http://10.0.0.1/", ""] {
            assert!(webhook_target(url).unwrap_err().contains("127.0.0.1"), "{url}");
        }
        let long = format!("http://127.0.0.1/{}", "x".repeat(MAX_URL));
        assert!(webhook_target(&long).unwrap_err().contains("longer than 2048 bytes"));
    }
}
