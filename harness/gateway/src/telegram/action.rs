//! What a person does in a chat, read from an update of the Bot API ([Q2](crate::rules::Q2)).

use serde_json::Value;

use crate::question::Press;

/// A person's action that may answer a question.
///
/// The Bot API gives the updates of all chats of a bot: compare `chat` with the one that is served, and,
/// where not everybody may answer, `person`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersonAction {
    /// Id of the chat.
    pub chat: i64,
    /// Id of the person.
    pub person: i64,
    /// The name that the person gives.
    pub name: String,
    /// What was done.
    pub kind: ActionKind,
}

/// What a person did.
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
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::question::PressedButton;

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
