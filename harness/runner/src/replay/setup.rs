//! The settings of the gateway for the setup of a replay.

use clitape_gateway::telegram::{self, TelegramSettings};
use clitape_gateway::{DeliveryMode, RunSettings, profile};
use clitape_recording::scenario::{self, Chat, ChatMode, Setup};

/// The id of the run of a turn.
pub(super) fn run_id(turn: u64) -> String {
    format!("run-{turn}")
}

/// How the gateway runs a scenario.
pub(super) fn settings(setup: Setup) -> RunSettings {
    let run = setup.run;
    RunSettings {
        silent: run.silent,
        delivery: match run.delivery {
            scenario::DeliverySpec::Automatic => DeliveryMode::Automatic,
            scenario::DeliverySpec::MessageToolOnly => DeliveryMode::MessageToolOnly,
        },
        watchdog: Some(setup.watchdog()),
        ..RunSettings::default()
    }
}

/// How the gateway's channel shows a chat; its day begins with the run.
pub(super) fn chat_settings(chat: Chat) -> TelegramSettings {
    TelegramSettings {
        mode: match chat.mode {
            ChatMode::Off => telegram::DraftMode::Off,
            ChatMode::Partial => telegram::DraftMode::Partial,
            ChatMode::Block => telegram::DraftMode::Block,
            ChatMode::Progress => telegram::DraftMode::Progress,
        },
        reasoning: chat.reasoning,
        profile: match chat.profile {
            scenario::ChatProfile::Telegram => &profile::TELEGRAM,
            scenario::ChatProfile::Discord => &profile::DISCORD,
            scenario::ChatProfile::Slack => &profile::SLACK,
        },
        ..TelegramSettings::default()
    }
}
