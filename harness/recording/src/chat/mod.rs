//! What a person sees in a chat: one fold over the calls of the Telegram lane.
//!
//! Everything that shows, compares or judges a chat uses this fold, so that no two of them can disagree: the
//! equivalence of plans, the comparison of two sides, the proof, the page, the pictures, the terminal, and the rules for
//! gateways of others. [`ChatView`] is the chat at one moment and keeps no more than that. [`ChatHistory`] stands on it
//! and also keeps every text that a message had before.
//!
//! There is one policy for the calls:
//!
//! - **Refused.** A call with `"shown": false` changes nothing, and neither does one with `refused`. Only "not modified"
//!   may be wrong: without `"shown": false` the server did that call, so it counts.
//! - **Lost replies.** A call that was done and whose answer was lost changes the chat like any other: the person sees it,
//!   although the caller does not know. A new message whose answer was lost is [out of reach](SeenMessage::is_out_of_reach),
//!   because no caller knows its number, until a call about it comes nevertheless. If it has no part of the final text, it is
//!   an [orphan](SeenMessage::is_orphaned): a person sees it, but it is not in the [final text](ChatView::final_text).
//! - **Deletes.** `deleteMessage` and `deleteMessages` take away the messages of `message_id` and `message_ids`. Edits do
//!   not bring a message back: Telegram refuses them, and one that is entered behind the delete was done before it. A new
//!   message with the number of a deleted one is another message, because entries may be of several chats.
//! - **Drafts.** `sendMessageDraft` and `sendChatAction` change nothing: what they show goes away by itself.
//! - **Captions and files.** A caption is a text like any other. A message keeps its file when its caption or its buttons
//!   are edited.
//! - **Buttons.** `editMessageReplyMarkup` gives a message other buttons, or none; its text stays.
//! - **Calls that overlap** (`done_at`). The one that the server did last gives a message its text, whatever the order in
//!   which they were made. In the history, the text of the other one comes before it.
//! - **Time.** A text is seen from `done_at` on, or else from the answer on, `took_ms` after the call.
//! - **Markup.** A text is the Bot API's HTML, which [`text::markup`](crate::text::markup) reads: the field `html` of the
//!   call, or else its text. The chat's server writes `html` where the text was sent as Markdown, without markup, or with
//!   entities that are not the usual ones. Texts of other services than Telegram are shown as they are written.

mod call;
mod history;
mod view;

pub use call::CALL_HTML;
pub use history::{ChatHistory, Deletion, MessageHistory};
pub use view::{ChatChange, ChatView, SeenMessage};

#[cfg(test)]
mod tests;
