//! How a replay is run: the run's settings and the channels, and what the gateway calls them.

use std::time::Duration;

use clitape_gateway::telegram::{self, TelegramSettings};
use clitape_gateway::{DeliveryMode, RunSettings, Watchdog, profile};
use clitape_recording::scenario::{self, Chat, ChatMode};
use clitape_recording::trace::millis;

/// The id of the run of a turn.
pub(super) fn run_id(turn: u64) -> String {
    format!("run-{turn}")
}

/// How a replay is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How the gateway runs it.
    pub run: scenario::RunSpec,
    /// The chat; none means that there is none.
    pub channel: Option<Chat>,
    /// The ACP client, if there is one.
    pub acp: Option<AcpClient>,
}

impl Setup {
    /// The same for a run that resumes a session.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { run: scenario::RunSpec { resume: true, ..self.run }, ..self }
    }

    /// The milliseconds for which the agent may print nothing; none where it may be silent for ever.
    pub(crate) fn patience_ms(&self) -> Option<u64> {
        settings(self.run).watchdog.map(|watchdog| millis(watchdog.silence()))
    }
}

/// A client of the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct AcpClient {
    /// Let the ACP client show terminals
    #[arg(long)]
    pub terminal: bool,
}

/// How the gateway runs a scenario.
pub(super) fn settings(run: scenario::RunSpec) -> RunSettings {
    let limit = Duration::from_secs(run.limit_s);
    RunSettings {
        silent: run.silent,
        delivery: match run.delivery {
            scenario::DeliverySpec::Automatic => DeliveryMode::Automatic,
            scenario::DeliverySpec::MessageToolOnly => DeliveryMode::MessageToolOnly,
        },
        watchdog: Some(if run.resume { Watchdog::resumed(limit) } else { Watchdog::fresh(limit) }),
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
