//! `record.signal`: a signal sent to the CLI in the middle of its run, and how a CLI ends.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::versions::fact_of;
use crate::names::CliVersion;

/// `[record.signal]`: the signal and the moment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalPlan {
    /// The signal.
    pub send: SignalName,
    /// The condition on the CLI's output.
    pub when: Trigger,
    /// Milliseconds from then on.
    #[serde(default)]
    pub delay_ms: u64,
}

/// How the CLI ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl fmt::Display for Exit {
    /// `code 1`, `signal 9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "code {code}"),
            Self::Signal(number) => write!(f, "signal {number}"),
        }
    }
}

/// The signals that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum SignalName {
    /// Interrupt, as Ctrl-C sends it.
    #[serde(rename = "SIGINT")]
    Int,
    /// A request to end.
    #[serde(rename = "SIGTERM")]
    Term,
    /// End at once.
    #[serde(rename = "SIGKILL")]
    Kill,
}

impl SignalName {
    /// Its name and its number on Linux.
    fn word(self) -> (&'static str, i32) {
        match self {
            Self::Int => ("SIGINT", 2),
            Self::Term => ("SIGTERM", 15),
            Self::Kill => ("SIGKILL", 9),
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        self.word().0
    }
}

/// The condition on the CLI's output for a signal, on any thread of the run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// A call of this tool has started, its arguments being whole.
    Tool(String),
    /// This number of calls has started.
    Calls(u64),
    /// The text of one thread so far contains this.
    Text(String),
}

/// How a CLI ends, as a scenario writes it: `1`, or `"SIGKILL"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ExitWord {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(SignalName),
}

impl From<ExitWord> for Exit {
    fn from(word: ExitWord) -> Self {
        match word {
            ExitWord::Code(code) => Self::Code(code),
            ExitWord::Signal(name) => Self::Signal(name.word().1),
        }
    }
}

/// `record.exit`: how the CLI ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected an exit code, the name of a signal, or a table of them such as { \"2.1.329\" = 1 }"
)]
pub enum Exits {
    /// In the same way in every version.
    Same(ExitWord),
    /// In this way from this version on, until another one is named; with code 0 before the first of them.
    SinceVersion(BTreeMap<CliVersion, ExitWord>),
}

impl Default for Exits {
    fn default() -> Self {
        Self::Same(ExitWord::Code(0))
    }
}

impl Exits {
    /// How a CLI version ends.
    pub fn of(&self, version: &CliVersion) -> Exit {
        match self {
            Self::Same(word) => (*word).into(),
            Self::SinceVersion(words) => {
                fact_of(words, version).map_or(Exit::Code(0), |word| (*word).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        signal: Option<SignalPlan>,
        #[serde(default)]
        exit: Exits,
    }

    #[test]
    fn a_signal_has_a_trigger() {
        for (text, expect) in [
            ("when = { tool = 'Bash' }", Trigger::Tool("Bash".into())),
            ("when = { calls = 2 }\ndelay_ms = 0", Trigger::Calls(2)),
            ("when = { text = 'half' }", Trigger::Text("half".into())),
        ] {
            let file: File = toml::from_str(&format!("[signal]\nsend = 'SIGINT'\n{text}")).unwrap();
            let expect = SignalPlan { send: SignalName::Int, when: expect, delay_ms: 0 };
            assert_eq!(file.signal, Some(expect));
        }
        assert!(toml::from_str::<File>("[signal]\nsend = 'SIGHUP'\nwhen = { calls = 1 }").is_err());
        assert!(toml::from_str::<File>("[signal]\nsend = 'SIGINT'\nwhen = { line = 1 }").is_err());
    }

    #[test]
    fn an_exit_is_a_code_or_a_signal_for_all_versions_or_from_a_version_on() {
        let codes = |codes: [i32; 4]| codes.map(Exit::Code);
        let signals = [Exit::Signal(15), Exit::Signal(15), Exit::Code(143), Exit::Code(143)];
        for (text, expect) in [
            ("", codes([0; 4])),
            ("exit = 1", codes([1; 4])),
            ("exit = { '2.1.148' = 7 }", codes([0, 0, 7, 7])),
            ("exit = { '2.1.99' = 1, '2.1.148' = 0 }", codes([0, 1, 0, 0])),
            ("exit = 'SIGKILL'", [Exit::Signal(9); 4]),
            ("exit = { '1.0.0' = 'SIGTERM', '2.1.148' = 143 }", signals),
        ] {
            let file: File = toml::from_str(text).unwrap();
            let versions = ["1.0.128", "2.1.99", "2.1.148", "2.1.331"];
            let exits = versions.map(|version| file.exit.of(&version.parse().unwrap()));
            assert_eq!(exits, expect, "{text}");
        }
    }
}
