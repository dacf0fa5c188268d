//! From lifecycle events to an agent bus, and to what a person sees in a chat.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

pub mod acp;
mod bridge;
mod bus;
mod callbacks;
mod channel;
mod conversation;
pub mod display;
mod ending;
mod excerpt;
pub mod hidden;
pub mod limits;
mod messaging;
mod notice;
mod person_text;
pub mod profile;
mod publish;
pub mod question;
pub mod rules;
mod run;
pub mod sanitise;
#[cfg(any(feature = "sse-http", feature = "telegram-http"))]
pub mod secret;
pub mod session;
pub mod sse;
pub mod telegram;
mod watchdog;

/// The parser whose events a [`Run`] takes; its types are part of this API.
pub use clitape_stream;
/// JSON values are part of this API: the arguments and results of tools.
pub use serde_json;

pub use bus::{Bus, BusData, BusEvent, Phase, Subscription, Tool};
pub use callbacks::Callbacks;
pub use channel::{
    Callback, CallbackError, Channel, ChannelReport, Delivery, FinishFuture, RunPath, done,
};
pub use conversation::{Conversation, OnDelivered, Turn, Waited};
pub use ending::RunEnding;
pub use limits::{ByteSize, SizeError};
pub use messaging::{DeliveryMode, MessageTools};
pub use notice::Notice;
pub use person_text::{SILENT_WORDS, ends_silent};
pub use run::{Run, RunReport, RunSettings};
pub use watchdog::Watchdog;
