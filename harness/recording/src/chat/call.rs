//! One call of a chat as its entry has it: what it sends, and how the server answered.

use serde_json::Value;

use crate::scenario::FaultKind;
use crate::text::markup::read;
use crate::trace::Entry;

/// The field of a call that has what a person reads as the Bot API's HTML, where the text was sent in another form: in
/// Markdown, without markup, or with entities that are not the usual ones. Every drawing of a chat goes by it.
pub const CALL_HTML: &str = "html";

/// The call that changes nothing but the buttons of a message.
pub(super) const EDIT_BUTTONS: &str = "editMessageReplyMarkup";

/// What a call sends.
impl Entry {
    /// Whether the call gives a message a text: a new message or an edit, but no draft and no typing signal.
    pub fn sets_text(&self) -> bool {
        self.makes_message()
            || matches!(self.kind.as_ref(), "editMessageText" | "editMessageCaption")
    }

    /// Whether the call sends a new message.
    pub fn makes_message(&self) -> bool {
        let is_passing = matches!(self.kind.as_ref(), "sendChatAction" | "sendMessageDraft");
        self.kind.starts_with("send") && !is_passing
    }

    /// The text or the caption of a call as it was sent.
    pub fn sent_text(&self) -> Option<&str> {
        ["text", "caption"].iter().find_map(|key| self.field(key)?.as_str())
    }

    /// The text of a call as the Bot API's HTML.
    pub fn html(&self) -> Option<&str> {
        self.field(CALL_HTML).and_then(Value::as_str).or_else(|| self.sent_text())
    }

    /// The text of a call as a person reads it in Telegram.
    pub fn plain_text(&self) -> String {
        read(self.html().unwrap_or_default())
    }

    /// The number of the message that a call is about.
    pub fn message_id(&self) -> Option<u64> {
        self.field("message_id").and_then(Value::as_u64)
    }

    /// The numbers of all messages that a call is about, be it one or several.
    pub fn message_ids(&self) -> impl Iterator<Item = u64> {
        let several = self.field("message_ids").and_then(Value::as_array);
        several.into_iter().flatten().filter_map(Value::as_u64).chain(self.message_id())
    }

    /// The labels of the buttons that a call gives its message, row by row.
    pub fn buttons(&self) -> Vec<Vec<String>> {
        let rows = self.field("buttons").and_then(Value::as_array);
        let label = |button: &Value| button.as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| row.as_array().into_iter().flatten().map(label).collect();
        rows.into_iter().flatten().map(row).collect()
    }

    /// Whether a call carries a part of the final text, or the entry says that it is delivered.
    pub fn is_final(&self) -> bool {
        self.kind == "final" || self.field("final") == Some(&Value::Bool(true))
    }
}

/// How the chat's server answered a call.
impl Entry {
    /// Whether the call changed what a person sees; a call that was refused did not.
    pub fn is_shown(&self) -> bool {
        let refused = self.text("refused");
        self.field("shown") != Some(&Value::Bool(false))
            && (refused.is_empty() || refused.contains("not modified"))
    }

    /// The time of the answer, in ms; a call that was never answered has its own.
    pub fn answered_at(&self) -> u64 {
        self.at + self.field("took_ms").and_then(Value::as_u64).unwrap_or(0)
    }

    /// The time from which on a person sees what the call did, in ms.
    pub(super) fn seen_at(&self) -> u64 {
        self.field("done_at").and_then(Value::as_u64).unwrap_or_else(|| self.answered_at())
    }

    /// Whether this is a new message of the draft that reached the chat and whose answer was lost.
    pub fn is_lost_draft(&self) -> bool {
        self.makes_message() && !self.is_final() && self.is_lost()
    }

    /// Whether the call was done and its answer never came.
    pub fn is_lost(&self) -> bool {
        [FaultKind::LostReply, FaultKind::Hang].map(FaultKind::as_str).contains(&self.answer())
    }

    /// The seconds that the server asked to wait, if it did.
    pub fn wait_s(&self) -> Option<u64> {
        let (kind, wait) = self.answer().split_once(':')?;
        (kind == FaultKind::RateLimit.as_str()).then(|| wait.strip_suffix('s')?.parse().ok())?
    }

    /// The error of the call, or an empty text.
    fn answer(&self) -> &str {
        self.text("answer")
    }
}
