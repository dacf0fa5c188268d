//! The methods for drafts, which are texts that a bot shows while it still writes them.
//!
//! A chat, or each of its topics, has one draft. A text with the same number goes on with it, and one with another
//! number replaces it (<https://core.telegram.org/api/bots/ai>). It goes by itself after 30 s, and when a message comes.

use super::markup::{FormattedText, RichUse};
use super::messages::{ChatCall, TextPlace};
use super::state::ChatDraft;
use super::wire::{ApiError, ApiResult};
use clitape_recording::chat::{DRAFT_MS, THINKING};

pub(super) fn send_message_draft(call: &mut ChatCall<'_>) -> ApiResult {
    let text = call.formatted(TextPlace::Draft)?;
    draft(call, text)
}

pub(super) fn send_rich_message_draft(call: &mut ChatCall<'_>) -> ApiResult {
    let rich = call.rich_message(RichUse::Draft)?;
    draft(call, rich.text)
}

/// Shows a draft. The words of the errors are those of the live server, as bots report them: `TEXTDRAFT_PEER_INVALID`
/// for a group (<https://github.com/nullclaw/nullclaw/issues/626>), `RANDOM_ID_INVALID` without a number.
fn draft(call: &mut ChatCall<'_>, mut text: FormattedText) -> ApiResult {
    let id = call.params.integer("draft_id").unwrap_or_default();
    call.data.shift_insert(0, "draft_id".into(), id.into());
    if call.chat.is_group() {
        return Err(ApiError::bad("TEXTDRAFT_PEER_INVALID"));
    }
    if id == 0 {
        return Err(ApiError::bad("RANDOM_ID_INVALID"));
    }
    let topic = call.topic()?;
    let [can_stop, keeps_on_stop] = ["can_stop", "keep_on_stop"].map(|name| {
        let flag = call.params.flag(name);
        if flag {
            call.set(name, true);
        }
        flag
    });
    if call.chat.drafts.get(&topic).is_some_and(|draft| draft.is_stopped && draft.id == id) {
        call.set("shown", false);
        return Ok(true.into());
    }
    if text.text.is_empty() {
        text.text = THINKING.to_owned();
    }
    let until = call.now + DRAFT_MS;
    let (is_stopped, is_gone) = (false, false);
    let draft = ChatDraft { id, text, until, can_stop, keeps_on_stop, is_stopped, is_gone };
    call.chat.set_draft(topic, draft);
    Ok(true.into())
}
