//! `[[channel]]`: where a person sees the run.

use std::fmt;
use std::str::FromStr;

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

/// A chat: what it shows during the run, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// What it shows during the run.
    pub mode: ChatMode,
    /// Whether the reasoning shows (V9).
    #[serde(default)]
    pub reasoning: bool,
    /// The service whose marks and limits it has (V10).
    #[serde(default)]
    pub profile: ChatProfile,
}

impl Chat {
    /// A Telegram chat without reasoning.
    pub fn of(mode: ChatMode) -> Self {
        Self { mode, reasoning: false, profile: ChatProfile::Telegram }
    }

    /// The options with which `clitape replay` shows the channel in the same way.
    pub fn flags(self) -> String {
        let reasoning = if self.reasoning { " --reasoning" } else { "" };
        let profile = match self.profile {
            ChatProfile::Telegram => String::new(),
            other => format!(" --profile {}", other.as_str()),
        };
        format!(" --mode {}{reasoning}{profile}", self.mode.as_str())
    }
}

/// The end of a golden's name: `partial`, `partial-reasoning-slack`.
impl fmt::Display for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mode.as_str())?;
        if self.reasoning {
            f.write_str("-reasoning")?;
        }
        match self.profile {
            ChatProfile::Telegram => Ok(()),
            other => write!(f, "-{}", other.as_str()),
        }
    }
}

/// What a chat shows during the run (V1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatMode {
    /// Nothing.
    Off,
    /// The answer as it grows, with tool lines.
    Partial,
    /// The answer block by block, with tool lines.
    Block,
    /// Tool lines only.
    Progress,
}

impl ChatMode {
    /// The word in `scenario.toml` and in the names of goldens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Partial => "partial",
            Self::Block => "block",
            Self::Progress => "progress",
        }
    }
}

impl FromStr for ChatMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Off, Self::Partial, Self::Block, Self::Progress]
            .into_iter()
            .find(|mode| mode.as_str() == word)
            .ok_or_else(|| {
                format!("there is no mode `{word}`; write off, partial, block or progress")
            })
    }
}

/// A chat service (V10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatProfile {
    /// Telegram: HTML, 4,096 UTF-16 units.
    #[default]
    Telegram,
    /// Discord: Markdown, 2,000 characters.
    Discord,
    /// Slack: its own marks, 4,000 characters.
    Slack,
}

impl ChatProfile {
    /// The word in `scenario.toml` and in the names of goldens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Slack => "slack",
        }
    }
}

impl FromStr for ChatProfile {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Telegram, Self::Discord, Self::Slack]
            .into_iter()
            .find(|profile| profile.as_str() == word)
            .ok_or_else(|| {
                format!("there is no profile `{word}`; write telegram, discord or slack")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        channel: ChannelSpec,
    }

    fn check(keys: &str, name: &str, flags: &str) {
        let file: File = toml::from_str(&format!("[channel]\nkind = 'telegram'\n{keys}")).unwrap();
        let ChannelSpec::Telegram(chat) = file.channel else { panic!("{keys}") };
        assert_eq!((chat.to_string().as_str(), chat.flags().as_str()), (name, flags));
    }

    #[test]
    fn a_chat_names_its_golden_and_the_flags_that_replay_it() {
        check("mode = 'off'", "off", " --mode off");
        check("mode = 'block'\nprofile = 'telegram'", "block", " --mode block");
        check(
            "mode = 'partial'\nreasoning = true\nprofile = 'slack'",
            "partial-reasoning-slack",
            " --mode partial --reasoning --profile slack",
        );
        assert_eq!("block".parse(), Ok(ChatMode::Block));
        assert!(
            "blocks".parse::<ChatMode>().unwrap_err().contains("off, partial, block or progress")
        );
        assert!("irc".parse::<ChatProfile>().unwrap_err().contains("telegram, discord or slack"));
    }
}
