//! `[[channel]]`: where a person sees the run.

use std::fmt;

use clap::ValueEnum;
use serde::Deserialize;

/// `[[channel]]`: where a person sees the run; its `kind` says which channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ChannelSpec {
    /// A chat.
    Telegram(Chat),
    /// A client of the Agent Client Protocol.
    Acp {
        /// Whether it shows terminals; it does not by default.
        #[serde(default)]
        terminal: bool,
    },
    /// A stream of server-sent events.
    Sse {},
}

/// A chat: what it shows during the run, and how. `scenario.toml` and the options of `clitape replay` name
/// the same fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// What the chat shows during the run
    #[arg(long, default_value_t = ChatMode::Partial)]
    pub mode: ChatMode,
    /// Show the reasoning in the chat
    #[arg(long)]
    #[serde(default)]
    pub reasoning: bool,
    /// The service whose marks and limits the chat has
    #[arg(long, default_value_t)]
    #[serde(default)]
    pub profile: ChatProfile,
}

impl Chat {
    /// A Telegram chat without reasoning.
    pub fn of(mode: ChatMode) -> Self {
        Self { mode, reasoning: false, profile: ChatProfile::Telegram }
    }
}

/// The end of a golden's name: `partial`, `partial-reasoning-slack`.
impl fmt::Display for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.mode)?;
        if self.reasoning {
            f.write_str("-reasoning")?;
        }
        match self.profile {
            ChatProfile::Telegram => Ok(()),
            other => write!(f, "-{other}"),
        }
    }
}

/// What a chat shows during the run (V1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ChatMode {
    /// Nothing
    Off,
    /// The answer as it grows, with tool lines
    Partial,
    /// The answer block by block, with tool lines
    Block,
    /// Tool lines only
    Progress,
}

/// A chat service (V10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ChatProfile {
    /// HTML, 4,096 characters
    #[default]
    Telegram,
    /// Markdown, 2,000 characters
    Discord,
    /// Marks of its own, 4,000 characters
    Slack,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        channel: ChannelSpec,
    }

    fn check(keys: &str, name: &str) {
        let file: File = toml::from_str(&format!("[channel]\nkind = 'telegram'\n{keys}")).unwrap();
        let ChannelSpec::Telegram(chat) = file.channel else { panic!("{keys}") };
        assert_eq!(chat.to_string(), name);
    }

    #[test]
    fn a_chat_names_its_golden() {
        check("mode = 'off'", "off");
        check("mode = 'block'\nprofile = 'telegram'", "block");
        check("mode = 'partial'\nreasoning = true\nprofile = 'slack'", "partial-reasoning-slack");
    }
}
