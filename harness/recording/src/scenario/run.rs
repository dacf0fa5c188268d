//! How the gateway runs a scenario: `[run]` of `scenario.toml`.

use std::fmt;
use std::str::FromStr;

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
    /// Read the event stream of all turns with one reader whose connection breaks after event N and which comes back
    /// with the id of event M, written N:M
    #[arg(long, value_name = "N:M")]
    pub stream_break: Option<StreamBreak>,
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
            stream_break: None,
            pace_ms: PACE_MS,
        }
    }
}

impl RunSpec {
    /// The sentence about a number that is 0, or about a check that is never made in a scenario with or without an
    /// event stream.
    pub(super) fn complaint(&self, has_stream: bool) -> Option<String> {
        let what = if self.limit_s == 0 {
            "`run.limit_s` is 0; write the seconds that the run may take"
        } else if self.stuck_callback == Some(0) {
            "`run.stuck_callback` is 0; callbacks count from 1"
        } else if self.pace_ms == 0 {
            "`run.pace_ms` is 0; write the milliseconds between two lines"
        } else if self.stream_break.is_some() && !has_stream {
            "`run.stream_break` needs an event stream, whose connection breaks; add a [[channel]] of kind \"sse\", or \
             remove it"
        } else {
            return None;
        };
        Some(what.to_owned())
    }
}

/// `run.stream_break`: where the connection of an event stream's reader breaks (S2), written `4:2`. The events after the
/// one whose id the reader comes back with are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct StreamBreak {
    /// The number of the last event before the break, from 1.
    pub after: u64,
    /// The number of the event whose id the reader comes back with; 0 means that it has none.
    pub last: u64,
}

/// A text is not a [`StreamBreak`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no break of an event stream; write two numbers such as 4:2, of the event after which it breaks (1 to \
     {STREAM_EVENTS}) and of an event up to that one whose id the reader comes back with (0 for none)"
)]
pub struct StreamBreakError(String);

/// The largest number of an event.
const STREAM_EVENTS: u64 = 1_000_000;

impl FromStr for StreamBreak {
    type Err = StreamBreakError;

    fn from_str(text: &str) -> Result<Self, StreamBreakError> {
        let number = |text: &str| text.parse::<u64>().ok();
        let parts =
            text.split_once(':').and_then(|(after, last)| Some((number(after)?, number(last)?)));
        match parts {
            Some((after @ 1..=STREAM_EVENTS, last)) if last <= after => Ok(Self { after, last }),
            _ => Err(StreamBreakError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for StreamBreak {
    type Error = StreamBreakError;

    fn try_from(text: String) -> Result<Self, StreamBreakError> {
        text.parse()
    }
}

impl fmt::Display for StreamBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.after, self.last)
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

    #[test]
    fn s2_a_break_of_the_stream_has_two_numbers() {
        let break_of = |text: &str| text.parse::<StreamBreak>().ok();
        for (text, after, last) in [("4:2", 4, 2), ("1:0", 1, 0), ("9:9", 9, 9)] {
            assert_eq!(break_of(text), Some(StreamBreak { after, last }), "{text}");
            assert_eq!(StreamBreak { after, last }.to_string(), text);
            let run = toml::from_str::<RunSpec>(&format!("stream_break = '{text}'")).unwrap();
            assert_eq!(run.stream_break, break_of(text));
        }
        for text in ["", "4", "4:", "0:0", "2:4", "-1:0", "1000001:1", "4:2:1"] {
            assert_eq!(break_of(text), None, "{text}");
            assert!(toml::from_str::<RunSpec>(&format!("stream_break = '{text}'")).is_err());
        }
    }
}
