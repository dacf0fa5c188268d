//! Keeps the draft a person sees up to date, as often as Telegram allows ([V4](crate::rules::V4)).
//!
//! One task owns the message: it has one call at work at a time and waits out every throttle
//! window, so that nothing can overwrite the final message. It reads the newest draft when it may call
//! again; what came in between is never sent.
//!
//! When the answer to its first call is lost, there may be a message that can't be edited, and the
//! final message needs one of its own whatever happens. So one more draft is sent, which becomes that
//! one; when the answer to this call is lost too, the draft ends, or each try could leave a message
//! behind.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::api::{BotApiError, BotCall, BotMethod, backoff, pause};
use super::caller::Caller;
use super::compose::Compositor;
use crate::bridge::Task;
use crate::bus::lock;

/// First calls whose answer may be lost before the draft ends.
const LOST_LIMIT: u32 = 2;

/// The draft of one turn.
#[derive(Debug)]
pub(super) struct Draft {
    /// `true` ends the task; any other write wakes it, because there is something new.
    signal: watch::Sender<bool>,
    task: Task<ShownDraft>,
}

/// What is left of the draft when it has ended.
#[derive(Debug, Default)]
pub(super) struct ShownDraft {
    /// The message that can be edited; `None` when there is none, or Telegram refused a call.
    pub(super) message_id: Option<i64>,
    /// What it says.
    pub(super) html: String,
    /// When Telegram wants the next call at the earliest.
    pub(super) not_before: Option<Instant>,
}

impl Draft {
    /// Starts to show what `compositor` composes, at most one call a `throttle`.
    pub(super) fn start(
        caller: Arc<Caller>,
        compositor: Arc<Mutex<Compositor>>,
        throttle: Duration,
    ) -> Self {
        let (signal, news) = watch::channel(false);
        let task = Task::spawn(keep_up(caller, compositor, throttle, news));
        Self { signal, task }
    }

    /// There is something new to show.
    pub(super) fn update(&self) {
        self.signal.send_replace(false);
    }

    /// Ends the draft once the call at work has settled; what is not shown by then never is.
    pub(super) async fn end(self) -> ShownDraft {
        self.signal.send_replace(true);
        // The task does not panic; were it cancelled, the final message goes out on its own.
        self.task.join().await.unwrap_or_default()
    }
}

async fn keep_up(
    caller: Arc<Caller>,
    compositor: Arc<Mutex<Compositor>>,
    throttle: Duration,
    mut news: watch::Receiver<bool>,
) -> ShownDraft {
    let mut shown = ShownDraft::default();
    let mut due = Instant::now();
    let (mut failures, mut lost, mut waits) = (0, 0, 0);
    loop {
        if *news.borrow_and_update() {
            return shown;
        }
        due = caller.not_before().map_or(due, |until| until.max(due));
        if Instant::now() < due {
            tokio::select! {
                biased;
                _ = news.wait_for(|ended| *ended) => return shown,
                () = sleep_until(due) => {}
            }
            continue;
        }
        let (draft, tick) = {
            let mut compositor = lock(&compositor);
            (compositor.draft(), compositor.next_tick())
        };
        let Some(html) = draft.filter(|html| *html != shown.html) else {
            tokio::select! {
                biased;
                changed = news.changed() => if changed.is_err() { return shown },
                () = at(tick) => {}
            }
            continue;
        };
        let place = shown.message_id;
        let call = BotCall {
            method: method(place),
            message_id: place,
            text: html.clone(),
            file: None,
            buttons: Vec::new(),
            question: None,
            is_final: false,
        };
        shown.not_before = None;
        let (made, submitted) = caller.submit_timed(call).await;
        let window = made + throttle;
        waits = match submitted {
            Err(BotApiError::RetryAfter { .. }) => waits + 1,
            _ => 0,
        };
        match submitted {
            Ok(message_id) => {
                failures = 0;
                due = window;
                shown.message_id = Some(message_id);
                shown.html = html;
            }
            Err(BotApiError::RetryAfter { seconds }) => {
                let wait = pause(seconds, waits, caller.limits.retry_after);
                let until = Instant::now() + wait;
                due = window.max(until);
                shown.not_before = Some(due);
            }
            Err(error @ (BotApiError::Network(_) | BotApiError::Lost(_))) => {
                if shown.message_id.is_none() && matches!(error, BotApiError::Lost(_)) {
                    lost += 1;
                    if lost == LOST_LIMIT {
                        return ShownDraft::default();
                    }
                }
                failures += 1;
                due = window.max(Instant::now() + backoff(failures));
            }
            // V6: the draft ends, and the final message goes out as a message of its own.
            Err(BotApiError::NotModified | BotApiError::Other(_)) => return ShownDraft::default(),
        }
    }
}

/// Waits until `tick`; for ever without one.
async fn at(tick: Option<Instant>) {
    match tick {
        Some(tick) => sleep_until(tick).await,
        None => std::future::pending().await,
    }
}

/// The method that shows a text in the message `message_id`, or in a new one.
pub(super) fn method(message_id: Option<i64>) -> BotMethod {
    match message_id {
        Some(_) => BotMethod::EditMessageText,
        None => BotMethod::SendMessage,
    }
}
