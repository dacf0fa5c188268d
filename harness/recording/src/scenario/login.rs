//! `record.login`: how the CLI that is recorded is logged in to the model.

use serde::Deserialize;

/// The way in which the CLI is logged in. The CLI reads the limits of an account from the headers of a
/// response only for a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// With an API key.
    #[default]
    Key,
    /// As a subscriber, with the token that `claude setup-token` makes.
    Subscription,
}

impl Login {
    /// Returns the variable of the environment that contains the key or the token. Its value is always
    /// `clitape`, because only the scripted model reads it.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Key => "ANTHROPIC_API_KEY",
            Self::Subscription => "CLAUDE_CODE_OAUTH_TOKEN",
        }
    }
}
