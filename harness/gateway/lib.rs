//! Turns lifecycle events into agent bus events and into what a person sees in a chat.
//!
//! Data flows one way: an [`Event`](clitape_stream::Event) of the parser is published on the
//! [`Bus`], sanitised; a bridge hands the bus events to a [`Channel`] one after another;
//! [`telegram`] is such a channel. [`Run`] holds the parts together for one turn.
//!
//! The crate knows nothing of the harness and reads no clock but tokio's, so that a paused runtime
//! replays a run in virtual time.

mod bridge;
mod bus;
mod callbacks;
pub mod display;
mod ending;
mod messaging;
mod notice;
pub mod profile;
mod publish;
mod run;
pub mod sanitise;
pub mod telegram;
mod typing;
mod watchdog;

pub use bridge::{Callback, CallbackError, Channel, ChannelReport, Delivery, Finish, Path, done};
pub use bus::{Bus, BusEvent, Data, Phase, Subscription, Tool};
pub use callbacks::Callbacks;
pub use ending::Ending;
pub use messaging::{DeliveryMode, MessageTools};
pub use notice::Notice;
pub use run::{Run, RunReport, RunSettings};
pub use watchdog::Watchdog;
