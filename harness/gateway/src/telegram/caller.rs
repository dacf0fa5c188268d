//! Whoever makes a chat's calls: keeps their limit, and remembers that Telegram asked to wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::api::{ApiError, BotApi, Call, pause};
use crate::bus::lock;
use crate::limits::BOT_API_CALL;

/// How long a typing signal may take; the last word may have to wait for it.
const SIGNAL_LIMIT: Duration = Duration::from_secs(1);

/// The calls of one chat. The texts know when they may come again (V6); the signals ask here.
pub(super) struct Caller {
    api: Arc<dyn BotApi>,
    /// When Telegram wants the next call at the earliest.
    not_before: Mutex<Option<Instant>>,
}

impl Caller {
    pub(super) fn new(api: Arc<dyn BotApi>) -> Self {
        Self { api, not_before: Mutex::default() }
    }

    /// Makes `call`, which may take [`BOT_API_CALL`]. `NotModified` is success.
    pub(super) async fn submit(&self, call: Call) -> Result<i64, ApiError> {
        let message_id = call.message_id;
        match timeout(BOT_API_CALL, self.api.call(call)).await {
            Ok(Ok(sent)) => Ok(sent.message_id),
            Ok(Err(ApiError::NotModified)) => message_id.ok_or(ApiError::NotModified),
            Ok(Err(error)) => {
                self.heed(&error);
                Err(error)
            }
            Err(_) => Err(ApiError::Lost(format!("none came in {} s", BOT_API_CALL.as_secs()))),
        }
    }

    /// Says that the agent is at work, unless Telegram asked to wait. Nobody waits for such a signal,
    /// so that it may fail.
    pub(super) async fn signal(&self) {
        if lock(&self.not_before).is_some_and(|until| Instant::now() < until) {
            return;
        }
        if let Ok(Err(error)) = timeout(SIGNAL_LIMIT, self.api.typing()).await {
            self.heed(&error);
        }
    }

    fn heed(&self, error: &ApiError) {
        if let ApiError::RetryAfter { seconds } = error {
            *lock(&self.not_before) = Some(Instant::now() + pause(*seconds, 1));
        }
    }
}
