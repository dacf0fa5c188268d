//! The draft, which is kept up to date as often as Telegram allows ([V4](crate::rules::V4)), and the final message,
//! which is delivered once in its place ([V7](crate::rules::V7)).
//!
//! One task owns the draft's message: it has one call at work at a time and waits out every throttle window, so that a
//! late edit can't overwrite the final message. It reads the newest draft when it may call again; drafts in between are
//! left out.
//!
//! If the answer to its first call is lost, there may be a message that can't be edited, and the final message needs one
//! of its own whatever happens. So one more draft is sent, which becomes that one; if the answer to this call is lost
//! too, the draft ends, because each try could leave a message behind.
//!
//! In place of a draft the final message is an edit, which is made again until it is known to have worked: twice the same
//! edit is one message. A new message is made again only if it is certain that the chat has none yet. If its answer is
//! lost, the message may be there, so it is not sent again; the pages after it still are, and the delivery says that
//! one page is in doubt.
//!
//! A server that asks to wait is not called before. If that would take longer than the final message may, or comes too
//! often in a row, the final message is lost at once, and the delivery says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::api::{BotApiError, BotCall, BotMethod, backoff, pause};
use super::caller::Caller;
use super::compose::Compositor;
use super::markup::{Style, StyledText, piece, read};
use crate::bridge::Task;
use crate::bus::lock;
use crate::channel::Delivery;
use crate::ending::RunEnding;
use crate::limits::ChatLimits;

/// First calls whose answer may be lost before the draft ends.
const LOST_LIMIT: u32 = 2;
/// The number of times that a failing call is made (V6).
const TRIES: u32 = 5;

/// The draft of one turn.
#[derive(Debug)]
pub(super) struct Draft {
    /// `true` ends the task; any other write wakes it, because there is something new.
    signal: watch::Sender<bool>,
    task: Task<ShownDraft>,
}

/// The message of a draft that has ended.
#[derive(Debug, Default)]
pub(super) struct ShownDraft {
    /// The message that can be edited; `None` when there is none, or Telegram refused a call.
    pub(super) message_id: Option<i64>,
    /// The text that it shows.
    pub(super) html: String,
    /// The time before which Telegram wants no call.
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

    /// Shows the draft again, because it has changed.
    pub(super) fn update(&self) {
        self.signal.send_replace(false);
    }

    /// Ends the draft once the call at work has settled; text that is not shown by then is left
    /// out.
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
            reply_to: None,
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
            Err(BotApiError::NotModified | BotApiError::Markup(_) | BotApiError::Other(_)) => {
                return ShownDraft::default();
            }
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

/// The final message as pieces: the answer, and below it the notice, which is plain text.
pub(super) fn final_text(ending: &RunEnding) -> Vec<StyledText> {
    let mut pieces = read(&ending.answer);
    if let Some(notice) = &ending.notice {
        let gap = if pieces.is_empty() { "" } else { "\n\n" };
        pieces.push(piece(Style::PLAIN, format!("{gap}{notice}")));
    }
    pieces
}

/// Puts the first of `pages` in place of the draft and the others below it.
pub(super) async fn deliver_final(
    caller: &Caller,
    shown: ShownDraft,
    pages: Vec<String>,
) -> Delivery {
    let began = Instant::now();
    let limits = caller.limits;
    let is_shown = |page: &String| *page == shown.html;
    let already_shown = match (pages.as_slice(), shown.message_id) {
        ([page], Some(message_id)) if is_shown(page) => Some(Delivery::AlreadyShown { message_id }),
        _ => None,
    };
    // Telegram may have asked a question to wait, too.
    match shown.not_before.max(caller.not_before()) {
        Some(until) if until >= began + limits.final_message => {
            let reason = "Telegram asks to wait longer than a final message does".to_owned();
            return already_shown.unwrap_or(Delivery::Failed { reason: given_up(&reason, limits) });
        }
        Some(until) => sleep_until(until).await,
        None => {}
    }
    if let Some(delivery) = already_shown {
        return delivery;
    }
    let mut message_ids = Vec::new();
    let mut in_doubt = None;
    let mut place = shown.message_id;
    for page in pages {
        let is_edit = place.is_some();
        let delivered = match place.take() {
            Some(message_id) if is_shown(&page) => Ok(message_id),
            None => settle(caller, began, None, page).await,
            Some(message_id) => match settle(caller, began, Some(message_id), page.clone()).await {
                Err(BotApiError::Other(_)) => settle(caller, began, None, page).await,
                settled => settled,
            },
        };
        match delivered {
            Ok(message_id) => message_ids.push(message_id),
            Err(error @ BotApiError::Lost(_)) if !is_edit => in_doubt = Some(error),
            Err(BotApiError::RetryAfter { seconds }) => {
                let reason = format!("Telegram asks to wait {seconds} s");
                return Delivery::Failed { reason: given_up(&reason, limits) };
            }
            Err(error) => return Delivery::Failed { reason: error.to_string() },
        }
    }
    match in_doubt {
        Some(error) => Delivery::Failed { reason: error.to_string() },
        None => Delivery::Sent { message_ids },
    }
}

/// The words about a final message that is lost because Telegram asked to wait.
fn given_up(asked: &str, limits: ChatLimits) -> String {
    format!(
        "{asked}; the final message waits {} times in a row (`--api-waits`) and {} s in all \
         (`--api-wait`) at most, and was not sent: run it again later, or raise the limit",
        limits.waits,
        limits.final_message.as_secs_f64()
    )
}

/// Makes one call until it settles: waits as long as Telegram asks, and calls again when that can't
/// make two messages of one. A wait that is one too many or that [`ChatLimits::final_message`] since `began` has no
/// time for is an error.
async fn settle(
    caller: &Caller,
    began: Instant,
    message_id: Option<i64>,
    text: String,
) -> Result<i64, BotApiError> {
    let (mut failures, mut waits) = (0, 0);
    let limits = caller.limits;
    loop {
        let call = BotCall {
            method: method(message_id),
            message_id,
            text: text.clone(),
            file: None,
            reply_to: None,
            buttons: Vec::new(),
            question: None,
            is_final: true,
        };
        match caller.submit(call).await {
            Err(BotApiError::RetryAfter { seconds }) => {
                waits += 1;
                let until = Instant::now() + pause(seconds, waits, limits.retry_after);
                if waits > limits.waits || until >= began + limits.final_message {
                    return Err(BotApiError::RetryAfter { seconds });
                }
                sleep_until(until).await;
            }
            Err(BotApiError::Lost(reason)) if message_id.is_none() => {
                return Err(BotApiError::Lost(reason));
            }
            Err(BotApiError::Network(_) | BotApiError::Lost(_)) if failures + 1 < TRIES => {
                failures += 1;
                sleep(backoff(failures)).await;
            }
            settled => return settled,
        }
    }
}
