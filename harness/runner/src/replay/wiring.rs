//! How a replay puts the parts of the gateway together.
//!
//! A test puts them together with a fault, so that it sees the checks find a gateway that lacks something.

use std::sync::Arc;

use clitape_gateway::telegram::{BotApi, Telegram, TelegramSettings};
use clitape_gateway::{Bus, Channel, Conversation};
use clitape_stream::Event;

/// Hands an event of the parser to the conversation.
pub(super) type OnEvent = Box<dyn FnMut(&mut Conversation, &Event<'_>)>;
/// Makes the chat of a turn, whose calls go to the server.
pub(super) type OpenChat =
    Box<dyn Fn(TelegramSettings, Arc<dyn BotApi>) -> Box<dyn Channel> + Send>;

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
            open_chat: Box::new(|settings, api| Box::new(Telegram::new(settings, api))),
            on_bus: Box::new(|_| ()),
        }
    }
}
