//! How a server is set up.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::faults::Faults;
use super::pace::PaceLimits;
use super::script_file::PersonScript;
use crate::limits::ChatServerLimits;

/// The host of the Bot API, for which a server answers on connections with TLS.
pub const BOT_API: &str = "api.telegram.org";

/// The number of the bot.
pub(super) const BOT_ID: i64 = 4_242;

/// How a server is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatServerSettings {
    /// Where it listens: an address of this machine alone; port 0 takes any that is free.
    pub address: SocketAddr,
    /// The bot's token; a random one when absent, so that no other program knows it.
    pub token: Option<String>,
    /// The bot's name in mentions, without `@`.
    pub bot_username: String,
    /// How long a call is under way.
    pub latency: Duration,
    /// How often the bot may write.
    pub pace: PaceLimits,
    /// Which calls fail.
    pub faults: Faults,
    /// The chats that are there from the start; others begin with the person's first message.
    pub chats: Vec<i64>,
    /// Whether private chats have topics.
    pub private_topics: bool,
    /// What a person does once the bot is ready.
    pub script: Option<PersonScript>,
    /// Serves the page and the paths under `/person/`, with which a person reads and writes by HTTP. They need no token,
    /// so that every program on this machine can use them.
    pub serves_person: bool,
    /// The limits on what it takes and keeps.
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
