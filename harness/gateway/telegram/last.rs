//! Delivers the last word of a run, once (V7).
//!
//! In place of a draft it is an edit, which is made again until it is known to have worked: twice
//! the same edit is one message. A new message is made again only when it is known that there is
//! none yet. When its answer is lost it may be there, so it is not sent again; the pages after it
//! still are, and the delivery says that one page is in doubt.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::api::{ApiError, Call, backoff};
use super::caller::Caller;
use super::draft::{Shown, method};
use super::markup::{Piece, Style, piece, read};
use crate::bridge::Delivery;
use crate::ending::Ending;

/// How often a call is made that comes to nothing (V6).
const TRIES: u32 = 5;

/// The last word as pieces: the answer, and below it the notice, which is no markdown.
pub(super) fn last_word(ending: &Ending) -> Vec<Piece> {
    let mut pieces = read(&ending.answer);
    if let Some(notice) = &ending.notice {
        let gap = if pieces.is_empty() { "" } else { "\n\n" };
        pieces.push(piece(Style::PLAIN, format!("{gap}{notice}")));
    }
    pieces
}

/// Puts the first of `pages` in place of the draft and the others below it.
pub(super) async fn deliver(caller: &Caller, shown: Shown, pages: Vec<String>) -> Delivery {
    if let Some(until) = shown.not_before {
        sleep_until(until).await;
    }
    let is_shown = |page: &String| *page == shown.html;
    if let ([page], Some(message_id)) = (pages.as_slice(), shown.message_id)
        && is_shown(page)
    {
        return Delivery::AlreadyShown { message_id };
    }
    let mut message_ids = Vec::new();
    let mut in_doubt = None;
    let mut place = shown.message_id;
    for page in pages {
        let is_edit = place.is_some();
        let delivered = match place.take() {
            Some(message_id) if is_shown(&page) => Ok(message_id),
            None => settle(caller, None, page).await,
            Some(message_id) => match settle(caller, Some(message_id), page.clone()).await {
                Err(ApiError::Other(_)) => settle(caller, None, page).await,
                settled => settled,
            },
        };
        match delivered {
            Ok(message_id) => message_ids.push(message_id),
            Err(error @ ApiError::Lost(_)) if !is_edit => in_doubt = Some(error),
            Err(error) => return Delivery::Failed { reason: error.to_string() },
        }
    }
    match in_doubt {
        Some(error) => Delivery::Failed { reason: error.to_string() },
        None => Delivery::Sent { message_ids },
    }
}

/// Makes one call until it settles: waits as long as Telegram asks, and calls again when that can't
/// make two messages of one.
async fn settle(caller: &Caller, message_id: Option<i64>, text: String) -> Result<i64, ApiError> {
    let mut failures = 0;
    loop {
        let call =
            Call { method: method(message_id), message_id, text: text.clone(), is_final: true };
        match caller.submit(call).await {
            Err(ApiError::RetryAfter { seconds }) => {
                sleep_until(Instant::now() + Duration::from_secs(seconds.max(1))).await;
            }
            Err(ApiError::Lost(reason)) if message_id.is_none() => {
                return Err(ApiError::Lost(reason));
            }
            Err(ApiError::Network(_) | ApiError::Lost(_)) if failures + 1 < TRIES => {
                failures += 1;
                sleep(backoff(failures)).await;
            }
            settled => return settled,
        }
    }
}
