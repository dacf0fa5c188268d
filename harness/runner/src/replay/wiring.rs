//! How a replay puts the parts of the gateway together.
//!
//! A test puts them together with a fault, so that it sees the checks find a gateway that lacks something.

use std::sync::Arc;

use clitape_gateway::telegram::{BotApi, Keyboard, Telegram, TelegramSettings};
use clitape_gateway::{Bus, Channel, Conversation};
use clitape_stream::Event;

/// Hands an event of the parser to the conversation.
pub(super) type OnEvent = Box<dyn FnMut(&mut Conversation, &Event<'_>)>;
/// Makes the chat of a turn, whose calls go to the server, and the keyboard of its questions.
pub(super) type OpenChat =
    Box<dyn Fn(TelegramSettings, Arc<dyn BotApi>) -> (Box<dyn Channel>, Keyboard) + Send>;

/// Prepares the bus of a turn, whose listeners are those of the harness.
pub(super) type OnBus = Box<dyn Fn(&Bus) + Send>;

/// What lies between the parser and the conversation, and between a turn and its chat.
pub(super) struct Wiring {
    pub(super) on_event: OnEvent,
    pub(super) open_chat: OpenChat,
    pub(super) on_bus: OnBus,
}

impl Wiring {
    /// The gateway as it is.
    pub(super) fn built_in() -> Self {
        Self {
            on_event: Box::new(|conversation, event| conversation.on_event(event)),
            open_chat: Box::new(|settings, api| with_keyboard(Telegram::new(settings, api))),
            on_bus: Box::new(|_| ()),
        }
    }
}

/// A chat as a channel, with its keyboard.
pub(super) fn with_keyboard(chat: Telegram) -> (Box<dyn Channel>, Keyboard) {
    let keyboard = chat.keyboard();
    (Box::new(chat), keyboard)
}
