//! The settings of a chat server.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::faults::Faults;
use super::pace::PaceLimits;
use super::script_file::PersonScript;
use crate::limits::ChatServerLimits;

/// The host of the Bot API, for which a server answers on connections with TLS.
pub const BOT_API: &str = "api.telegram.org";

/// The id of the bot's user.
pub(super) const BOT_ID: i64 = 4_242;

/// The settings of a chat server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatServerSettings {
    /// The address to listen on, which must be of this machine alone; port 0 takes a free port.
    pub address: SocketAddr,
    /// The bot's token; a random one if `None`, so that no other program knows it.
    pub token: Option<String>,
    /// The bot's name in mentions, without `@`.
    pub bot_username: String,
    /// The time between the arrival of a call and its effect.
    pub latency: Duration,
    /// The limits on how often the bot may write.
    pub pace: PaceLimits,
    /// The calls that fail.
    pub faults: Faults,
    /// The chats that exist from the start; others begin with the person's first message.
    pub chats: Vec<i64>,
    /// True if private chats have topics.
    pub private_topics: bool,
    /// The acts of a person, played once the bot is ready.
    pub script: Option<PersonScript>,
    /// True to serve the page and the paths under `/person/`, with which a person reads and writes by HTTP. They need
    /// no token, so that every program on this machine can use them.
    pub serves_person: bool,
    /// The limits on the data that the server accepts and keeps.
    pub limits: ChatServerLimits,
}

impl Default for ChatServerSettings {
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            token: None,
            bot_username: "clitape_test_bot".to_owned(),
            latency: Duration::from_millis(40),
            pace: PaceLimits::default(),
            faults: Faults::None,
            chats: Vec::new(),
            private_topics: false,
            script: None,
            serves_person: true,
            limits: ChatServerLimits::DEFAULT,
        }
    }
}
