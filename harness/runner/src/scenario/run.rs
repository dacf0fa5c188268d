//! How the gateway runs a scenario: `[run]` of `scenario.toml`.

use clap::ValueEnum;
use serde::Deserialize;

/// Milliseconds between two lines in the replay that goldens are made of, unless a scenario says otherwise.
const PACE_MS: u64 = 200;
/// Seconds that a run may take unless a scenario says otherwise.
const LIMIT_S: u64 = 600;

/// `[run]`: how the gateway runs the scenario. The options of `clitape replay` name the same fields, except
/// for the pace, which belongs to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(deny_unknown_fields, default)]
pub struct RunSpec {
    /// Run as a heartbeat, silently
    #[arg(long)]
    pub silent: bool,
    /// How the person gets the answer
    #[arg(long, default_value_t)]
    pub delivery: DeliverySpec,
    /// Seconds that the run may take; an agent that is silent for a share of them counts as stalled
    #[arg(long = "limit", value_name = "S", default_value_t = LIMIT_S,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub limit_s: u64,
    /// Run as a run that resumes a session
    #[arg(long)]
    pub resume: bool,
    /// The number, from 1, of a callback of the chat that never settles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub stuck_callback: Option<u64>,
    /// Milliseconds between two lines in the replay that goldens are made of
    #[arg(skip = PACE_MS)]
    pub pace_ms: u64,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            silent: false,
            delivery: DeliverySpec::default(),
            limit_s: LIMIT_S,
            resume: false,
            stuck_callback: None,
            pace_ms: PACE_MS,
        }
    }
}

/// `run.delivery`: how the answer reaches the person (G4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum DeliverySpec {
    /// The final text is delivered
    #[default]
    Automatic,
    /// The agent sends it with a tool; the final text is delivered only if the agent sent nothing
    MessageToolOnly,
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
    }
}
