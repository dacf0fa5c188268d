//! What one golden shows of a replay: a lane, and a channel for some of them.

use std::fmt;

use clitape_recording::scenario::{AcpClient, ChannelSpec, Chat, Scenario};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

/// The fields that only name the CLI's version or its model: the kind of the entry, and the field.
const NAMES: [(&str, &str); 3] =
    [("session", "model"), ("session", "cli_version"), ("control", "claude_code_version")];

/// What one golden shows of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The parser's events.
    Lifecycle,
    /// The bus.
    Bus,
    /// A chat.
    Telegram(Chat),
    /// The updates of an ACP client.
    Acp(AcpClient),
    /// The stream of server-sent events.
    Sse,
    /// The session on disk, of a scenario that goes on with it.
    Session,
}

impl View {
    /// The views of a scenario: both inner lanes, every channel it names, and the session if it
    /// goes on.
    pub fn of(scenario: &Scenario) -> Vec<Self> {
        let channels = scenario.channels.iter().map(|channel| match *channel {
            ChannelSpec::Telegram(chat) => Self::Telegram(chat),
            ChannelSpec::Acp { terminal } => Self::Acp(AcpClient { terminal }),
            ChannelSpec::Sse {} => Self::Sse,
        });
        let session = (!scenario.record.then.is_empty()).then_some(Self::Session);
        [Self::Lifecycle, Self::Bus].into_iter().chain(channels).chain(session).collect()
    }

    /// The lane it shows.
    pub fn lane(self) -> Lane {
        match self {
            Self::Lifecycle => Lane::Lifecycle,
            Self::Bus => Lane::Bus,
            Self::Telegram(_) => Lane::Telegram,
            Self::Acp(_) => Lane::Acp,
            Self::Sse => Lane::Sse,
            Self::Session => Lane::Session,
        }
    }

    /// The chat that it shows, if it shows one.
    pub fn chat(self) -> Option<Chat> {
        match self {
            Self::Telegram(chat) => Some(chat),
            _ => None,
        }
    }

    /// The entries of the view: those of its lane, without the fields that only name the CLI's version or its
    /// model, because a golden holds for several versions.
    ///
    /// A name that differs from the one before it in the same trace stays: it says that the model has changed.
    pub fn entries(self, trace: &[Entry]) -> Vec<Entry> {
        let lane = trace.iter().filter(|entry| entry.lane == self.lane());
        let mut named: [Option<Value>; NAMES.len()] = [const { None }; NAMES.len()];
        let without_names = |entry: &Entry| {
            let mut entry = entry.clone();
            for ((kind, field), before) in NAMES.iter().zip(&mut named) {
                let name = entry.field(field).filter(|_| entry.kind == *kind);
                let Some(name) = name.filter(|name| name.is_string()).cloned() else { continue };
                if before.as_ref().is_none_or(|before| *before == name) {
                    entry.data_mut().shift_remove(*field);
                }
                *before = Some(name);
            }
            entry
        };
        lane.map(without_names).collect()
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Telegram(chat) => write!(f, "{}-{chat}", self.lane()),
            Self::Acp(AcpClient { terminal: true }) => write!(f, "{}-terminal", self.lane()),
            _ => write!(f, "{}", self.lane()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::entry_line::entry;

    #[track_caller]
    fn check(lines: &[&str], expect: &[&str]) {
        let trace: Vec<Entry> = lines.iter().map(|line| entry(line)).collect();
        let expect: Vec<Entry> = expect.iter().map(|line| entry(line)).collect();
        assert_eq!(View::Lifecycle.entries(&trace), expect, "{lines:?}");
    }

    #[test]
    fn a_golden_has_no_name_of_a_version_or_a_model() {
        let session =
            r#"0 lifecycle session {"session_id":"s","model":"m-5","cli_version":"2.1.330"}"#;
        let bare = r#"0 lifecycle session {"session_id":"s"}"#;
        check(&[session, "1 bus lifecycle {}"], &[bare]);
        check(&[session, session], &[bare, bare]);
        check(&[bare], &[bare]);
        check(
            &[
                r#"0 lifecycle control {"subtype":"initialize","claude_code_version":"2.1.330"}"#,
                // Other entries keep what has the same name.
                r#"1 lifecycle notice {"model":"m-5","cli_version":"2.1.330"}"#,
            ],
            &[
                r#"0 lifecycle control {"subtype":"initialize"}"#,
                r#"1 lifecycle notice {"model":"m-5","cli_version":"2.1.330"}"#,
            ],
        );
    }

    #[test]
    fn a_golden_tells_that_the_model_changes() {
        let [first, second, third] = ["m-5", "m-4", "m-4"].map(|model| {
            format!(
                r#"0 lifecycle session {{"session_id":"s","model":"{model}","cli_version":"2"}}"#
            )
        });
        let bare = r#"0 lifecycle session {"session_id":"s"}"#;
        let changed = r#"0 lifecycle session {"session_id":"s","model":"m-4"}"#;
        check(&[&first, &second, &third], &[bare, changed, bare]);
    }
}
