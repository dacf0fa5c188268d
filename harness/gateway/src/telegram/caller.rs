//! Whoever makes a chat's calls: keeps their limit, and remembers that Telegram asked to wait.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::api::{BotApi, BotApiError, BotCall, pause};
use crate::bus::lock;
use crate::limits::ChatLimits;

/// How long a typing signal may take; the final message may have to wait for it.
const SIGNAL_LIMIT: Duration = Duration::from_secs(1);

/// Makes the calls of one chat. The draft and the final message know themselves when they may call
/// again (V6); the typing signals ask here.
pub(super) struct Caller {
    api: Arc<dyn BotApi>,
    /// How long the server is waited for.
    pub(super) limits: ChatLimits,
    /// When Telegram wants the next call at the earliest.
    not_before: Mutex<Option<Instant>>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Caller {
    pub(super) fn new(api: Arc<dyn BotApi>, limits: ChatLimits) -> Self {
        Self { api, limits, not_before: Mutex::default() }
    }

    /// Makes `call`, which may take [`ChatLimits::call`]. `NotModified` is success.
    pub(super) async fn submit(&self, call: BotCall) -> Result<i64, BotApiError> {
        let message_id = call.message_id;
        match timeout(self.limits.call, self.api.call(call)).await {
            Ok(Ok(sent)) => Ok(sent.message_id),
            Ok(Err(BotApiError::NotModified)) => message_id.ok_or(BotApiError::NotModified),
            Ok(Err(error)) => {
                self.heed(&error);
                Err(error)
            }
            Err(_) => Err(BotApiError::Lost(late(self.limits.call))),
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

    fn heed(&self, error: &BotApiError) {
        if let BotApiError::RetryAfter { seconds } = error {
            let wait = pause(*seconds, 1, self.limits.retry_after);
            *lock(&self.not_before) = Some(Instant::now() + wait);
        }
    }
}

/// What is said of an answer that did not come within `limit`.
pub(super) fn late(limit: Duration) -> String {
    format!("none came in {} s, the most that `--api-timeout` allows", limit.as_secs_f64())
}
