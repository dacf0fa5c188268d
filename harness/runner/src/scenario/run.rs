//! How the gateway runs a scenario: `[run]` of `scenario.toml`.

use std::str::FromStr;

use serde::Deserialize;

/// `[run]`: how the gateway runs the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunSpec {
    /// A silent run (a heartbeat): nothing of it reaches a channel.
    pub silent: bool,
    /// How the answer reaches the person (G4).
    pub delivery: DeliverySpec,
    /// Seconds that the run may take in all. An agent that prints nothing for a share of them is
    /// stopped (G8): 480 s of the 600 s that are the default.
    pub limit_s: u64,
    /// Whether it resumes a session, so that it may be silent for less long (G8).
    pub resume: bool,
    /// The number of the channel's callback that never settles, from 1 (G2); none by default.
    pub stuck_callback: Option<u64>,
    /// Milliseconds between two lines in the replay that goldens are made of.
    pub pace_ms: u64,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            silent: false,
            delivery: DeliverySpec::Automatic,
            limit_s: 600,
            resume: false,
            stuck_callback: None,
            pace_ms: 200,
        }
    }
}

/// `run.delivery`: how the answer reaches the person (G4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliverySpec {
    /// The final text is delivered.
    Automatic,
    /// The agent sends it with a tool; the final text is delivered only if it sent nothing.
    MessageToolOnly,
}

impl DeliverySpec {
    /// The word in `scenario.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::MessageToolOnly => "message_tool_only",
        }
    }
}

impl FromStr for DeliverySpec {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Automatic, Self::MessageToolOnly]
            .into_iter()
            .find(|delivery| delivery.as_str() == word)
            .ok_or_else(|| {
                format!("there is no delivery `{word}`; write automatic or message_tool_only")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_it_is_run_is_read() {
        let text = "delivery = 'message_tool_only'\nlimit_s = 60\nresume = true";
        let delivery = DeliverySpec::MessageToolOnly;
        let expect = RunSpec { delivery, limit_s: 60, resume: true, ..RunSpec::default() };
        assert_eq!(toml::from_str(text), Ok(expect));
        assert!(toml::from_str::<RunSpec>("delivery = 'by_tool'").is_err());
        assert!(toml::from_str::<RunSpec>("limit = 60").is_err());
        for delivery in [DeliverySpec::Automatic, DeliverySpec::MessageToolOnly] {
            assert_eq!(delivery.as_str().parse(), Ok(delivery));
        }
        assert!("by_tool".parse::<DeliverySpec>().is_err());
    }
}
