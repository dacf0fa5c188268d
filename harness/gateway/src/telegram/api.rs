//! The part of Telegram's Bot API that a run needs: its calls, their errors and the waits after them, and the actions
//! of a person that an update reports ([Q2](crate::rules::Q2)).

use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use strum::{Display, EnumString, IntoStaticStr};

use crate::question::Press;

/// Sends calls to Telegram, or to a server that behaves like it.
pub trait BotApi: Send + Sync {
    /// Makes one call. The channel never has two at work at once.
    fn call(&self, call: BotCall) -> CallFuture<'_>;

    /// Says in the chat that the agent is at work ([G6](crate::rules::G6)): `sendChatAction` with
    /// `typing`. A person sees it for 5 s or until a message comes. It may be under way beside a
    /// call, and its failure is not reported. A chat without such a sign keeps this default.
    fn typing(&self) -> SignalFuture<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A call at work.
pub type CallFuture<'a> =
    Pin<Box<dyn Future<Output = Result<SentMessage, BotApiError>> + Send + 'a>>;

/// A typing signal at work.
pub type SignalFuture<'a> = Pin<Box<dyn Future<Output = Result<(), BotApiError>> + Send + 'a>>;

/// A method of the Bot API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
#[non_exhaustive]
pub enum BotMethod {
    /// A new message.
    SendMessage,
    /// A new text for a message.
    EditMessageText,
    /// A new message with a file; its text is the caption.
    SendDocument,
}

impl BotMethod {
    /// Returns the name of the method in the Bot API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The name of a file with all of a question.
pub const FILE_NAME: &str = "question.txt";

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotCall {
    /// The method that is called.
    pub method: BotMethod,
    /// The message to edit; `None` for a new one.
    pub message_id: Option<i64>,
    /// The text in the profile's markup, for Telegram that of `parse_mode: HTML`; at most as long
    /// as the profile's limit ([V5](crate::rules::V5)), and a few words where it is the caption of a file.
    pub text: String,
    /// The text of the file [`FILE_NAME`] that the message brings ([Q2](crate::rules::Q2)); only with
    /// [`BotMethod::SendDocument`].
    pub file: Option<String>,
    /// The message of the person to which a new message replies ([V12](crate::rules::V12)).
    pub reply_to: Option<i64>,
    /// The buttons below it, row by row: `reply_markup` with an `inline_keyboard`. An edit without buttons
    /// takes away those that are there.
    pub buttons: Vec<Vec<Button>>,
    /// Id of the question that the message asks ([Q2](crate::rules::Q2)). Such a call is none of the
    /// draft and does not wait for its throttle.
    pub question: Option<String>,
    /// True for the run's final message ([V7](crate::rules::V7)).
    pub is_final: bool,
}

/// A button below a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The words on it, without markup.
    pub text: String,
    /// The data that the service gives back when it is pressed, of at most 64 bytes
    /// ([`Press::parse`](crate::question::Press::parse) reads it).
    pub data: String,
}

/// The result of a call that went well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentMessage {
    /// The message that was sent or edited.
    pub message_id: i64,
}

/// An error of a call ([V6](crate::rules::V6)).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BotApiError {
    /// 429: too many calls.
    #[error("Telegram asks to wait {seconds} s; wait that long before the next call")]
    RetryAfter {
        /// Seconds to wait.
        seconds: u64,
    },
    /// 400 `message is not modified`: the message says so already, which is as good as success.
    #[error("the message says so already; nothing is left to do")]
    NotModified,
    /// The call had no effect: Telegram was not reached, or says that it failed. It may be made
    /// again.
    #[error("Telegram was not reached: {0}; check the network")]
    Network(String),
    /// The call went out and no answer came: it may have done its work. The Bot API has no key by
    /// which it would know a call that is made twice, so that an edit may be made again, and a new
    /// message may not ([V7](crate::rules::V7)).
    #[error("Telegram's answer was lost: {0}; look into the chat before you send it again")]
    Lost(String),
    /// 400 `can't parse entities`: the same text may be sent without markup.
    #[error("Telegram refused the markup: {0}; send the text without it")]
    Markup(String),
    /// Any other refusal; the same call again would be refused again.
    #[error("Telegram refused the call: {0}; check the bot's token and its rights in the chat")]
    Other(String),
}

/// Returns the wait after the `failures`-th failed call in a row: 250 ms, doubled each time, at
/// most 8 s (V6).
pub(super) fn backoff(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(5);
    Duration::from_millis(250 << doublings)
}

/// Returns the wait after the `in_row`-th 429 in a row, which asks for `seconds`: as long as it
/// asks, at most `most`; at least 1 s after the first, doubled each time, at most 30 s (V6).
pub(super) fn pause(seconds: u64, in_row: u32, most: Duration) -> Duration {
    let doublings = in_row.saturating_sub(1).min(5);
    let least = Duration::from_secs(1 << doublings).min(Duration::from_secs(30));
    Duration::from_secs(seconds).min(most).max(least)
}

/// A person's action that may answer a question.
///
/// The Bot API gives the updates of all chats of a bot: compare `chat` with the one that is served,
/// and `person` if only some people may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersonAction {
    /// Id of the chat.
    pub chat: i64,
    /// Id of the person.
    pub person: i64,
    /// The name that the person gives.
    pub name: String,
    /// The action itself.
    pub kind: ActionKind,
}

/// The kind of a person's action.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActionKind {
    /// A button was pressed; see [`Keyboard::press`](super::Keyboard::press). Telegram shows that it
    /// loads until `answerCallbackQuery` is called.
    Press {
        /// The button.
        press: Press,
        /// Id of the callback query.
        query: String,
    },
    /// A message was replied to; see [`Keyboard::reply`](super::Keyboard::reply).
    Reply {
        /// The message that was replied to.
        message_id: i64,
        /// The text of the reply.
        text: String,
    },
}

impl PersonAction {
    /// Reads an `Update` of the Bot API; `None` for an update that is neither a press of a button of a
    /// question nor a reply.
    pub fn of(update: &Value) -> Option<Self> {
        if let Some(query) = update.get("callback_query") {
            let press = Press::parse(query["data"].as_str()?)?;
            let kind = ActionKind::Press { press, query: query["id"].as_str()?.to_owned() };
            return Self::with(&query["message"]["chat"], &query["from"], kind);
        }
        let message = update.get("message")?;
        let kind = ActionKind::Reply {
            message_id: message["reply_to_message"]["message_id"].as_i64()?,
            text: message["text"].as_str()?.to_owned(),
        };
        Self::with(&message["chat"], &message["from"], kind)
    }

    fn with(chat: &Value, from: &Value, kind: ActionKind) -> Option<Self> {
        let [first, last] = ["first_name", "last_name"].map(|key| from[key].as_str());
        let names: Vec<&str> = [first, last].into_iter().flatten().collect();
        Some(Self {
            chat: chat["id"].as_i64()?,
            person: from["id"].as_i64()?,
            name: names.join(" "),
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::limits::RETRY_AFTER;
    use crate::question::PressedButton;

    #[test]
    fn v6_backoff_doubles_up_to_eight_seconds() {
        let waits = (1..8).map(|n| backoff(n).as_millis());
        assert!(waits.eq([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000]));
    }

    #[test]
    pub(crate) fn a_wait_has_a_limit_and_grows() {
        for (seconds, expect) in [
            (0, [1, 2, 4, 8, 16, 30, 30]),
            (5, [5, 5, 5, 8, 16, 30, 30]),
            (90, [90; 7]),
            (86_401, [86_400; 7]),
            (u64::MAX, [86_400; 7]),
        ] {
            let waits = (1..8).map(|in_row| pause(seconds, in_row, RETRY_AFTER).as_secs());
            assert!(waits.eq(expect), "{seconds}");
        }
        // A server is not called again at once, however low the limit is.
        assert_eq!(pause(90, 1, Duration::from_secs(7)).as_secs(), 7);
        assert_eq!(pause(90, 6, Duration::from_secs(7)).as_secs(), 30);
    }

    #[test]
    pub(crate) fn q2_presses_and_replies_are_read_from_updates() {
        let from = json!({"id": 7, "is_bot": false, "first_name": "Ann", "last_name": "Lee"});
        let chat = json!({"id": 42, "type": "private"});
        let press = Press::new("q1", PressedButton::Suggestion(1));
        let action =
            |kind| Some(PersonAction { chat: 42, person: 7, name: "Ann Lee".into(), kind });
        let update = json!({"update_id": 1, "callback_query": {"id": "99", "from": from,
            "message": {"message_id": 5, "chat": chat}, "chat_instance": "x", "data": press.data()}});
        let query = "99".to_owned();
        assert_eq!(PersonAction::of(&update), action(ActionKind::Press { press, query }));
        let message = json!({"message_id": 6, "from": from, "chat": chat, "text": "green",
            "reply_to_message": {"message_id": 5, "chat": chat}});
        let text = "green".to_owned();
        assert_eq!(
            PersonAction::of(&json!({"update_id": 2, "message": message})),
            action(ActionKind::Reply { message_id: 5, text })
        );
        for update in [
            json!({}),
            json!({"message": {"message_id": 6, "from": from, "chat": chat, "text": "hello"}}),
            json!({"callback_query": {"id": "1", "from": from, "data": "other"}}),
            json!({"callback_query": {"id": "1", "from": from, "data": "q:q1:a"}}),
        ] {
            assert_eq!(PersonAction::of(&update), None, "{update}");
        }
    }
}
