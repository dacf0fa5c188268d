//! The settings of a chat's channel.

use std::time::Duration;

use crate::limits::ChatLimits;
use crate::profile::{self, Profile};

/// The draft that a person sees before the answer is whole ([V1](crate::rules::V1)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DraftMode {
    /// No draft.
    Off,
    /// The answer as it grows, and the tool lines.
    #[default]
    Partial,
    /// The answer block by block, and the tool lines. A block shows when it has ended: a paragraph
    /// or a list when a blank line or something else follows, a heading when its line ends, a block
    /// of code when its fence closes, and all of them when a tool is called. A block is worth a
    /// message however short it is.
    Block,
    /// The tool lines.
    Progress,
}

/// The settings of a chat's channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelegramSettings {
    /// The draft that a person sees before the answer is whole.
    pub mode: DraftMode,
    /// At most one call in this time while the draft grows; under 250 ms counts as 250 ms
    /// ([V4](crate::rules::V4)).
    pub throttle: Duration,
    /// True if reasoning shows, in italics, among tool lines with the time of day
    /// ([V9](crate::rules::V9)). It is never part of the final message, and never shows in
    /// [`DraftMode::Off`].
    pub reasoning: bool,
    /// The time since midnight when the channel is made, where the reader is; tool lines count from
    /// it ([V9](crate::rules::V9)).
    pub time_of_day: Duration,
    /// The marks and limits of the chat service ([V10](crate::rules::V10)).
    pub profile: &'static Profile,
    /// The limits on waits for the chat's server.
    pub limits: ChatLimits,
    /// The message of the person to which the first message of the turn replies
    /// ([V12](crate::rules::V12)).
    pub reply_to: Option<i64>,
}

impl Default for TelegramSettings {
    fn default() -> Self {
        Self {
            mode: DraftMode::default(),
            throttle: Duration::from_millis(1_000),
            reasoning: false,
            time_of_day: Duration::ZERO,
            profile: &profile::TELEGRAM,
            limits: ChatLimits::default(),
            reply_to: None,
        }
    }
}
