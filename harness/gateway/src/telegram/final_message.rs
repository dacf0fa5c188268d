//! Delivers the final message of a run, once ([V7](crate::rules::V7)).
//!
//! In place of a draft it is an edit, which is made again until it is known to have worked: twice
//! the same edit is one message. A new message is made again only when it is known that there is
//! none yet. When its answer is lost it may be there, so it is not sent again; the pages after it
//! still are, and the delivery says that one page is in doubt.
//!
//! A server that asks to wait is not called before. Where that would take longer than the final message may,
//! or comes too often in a row, the final message is lost at once, and the delivery says so.

use tokio::time::{Instant, sleep, sleep_until};

use super::api::{BotApiError, BotCall, backoff, pause};
use super::caller::Caller;
use super::draft::{ShownDraft, method};
use super::markup::{Style, StyledText, piece, read};
use crate::channel::Delivery;
use crate::ending::RunEnding;
use crate::limits::ChatLimits;

/// How often a call is made that comes to nothing (V6).
const TRIES: u32 = 5;

/// The final message as pieces: the answer, and below it the notice, which is no markdown.
pub(super) fn final_text(ending: &RunEnding) -> Vec<StyledText> {
    let mut pieces = read(&ending.answer);
    if let Some(notice) = &ending.notice {
        let gap = if pieces.is_empty() { "" } else { "\n\n" };
        pieces.push(piece(Style::PLAIN, format!("{gap}{notice}")));
    }
    pieces
}

/// Puts the first of `pages` in place of the draft and the others below it.
pub(super) async fn deliver(caller: &Caller, shown: ShownDraft, pages: Vec<String>) -> Delivery {
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

/// Why a final message is lost that Telegram asked to wait with.
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
