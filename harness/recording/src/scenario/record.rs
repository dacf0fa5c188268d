//! `[record]` of `scenario.toml`: what to run, and what the host says to it.

use serde::Deserialize;

use super::host::HostPreset;
use super::login::Login;
use super::say::{SayAction, SayStep};
use super::signal::{Exits, SignalPlan};
use super::step::SessionStep;
use super::versions::{MovedVersions, VersionRange};

/// `[record]`: what to run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// The prompt; absent when `say` brings it. A `host` sends it as its first message.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The host whose way to run the CLI the recording follows; without it, the CLI runs once for the prompt,
    /// or as `args` say.
    #[serde(default)]
    pub host: Option<HostPreset>,
    /// Further arguments of the CLI, after those that every recording has.
    #[serde(default)]
    pub args: Vec<String>,
    /// How the CLI is logged in to the model; with an API key by default.
    #[serde(default)]
    pub login: Login,
    /// Whether the CLI is asked for the parts of messages, `--include-partial-messages`; it is by
    /// default.
    #[serde(default = "RecordSpec::default_partial_messages")]
    pub partial_messages: bool,
    /// How the CLI ends, for all versions or from a version on; with code 0 by default. A CLI that ends in
    /// another way is not recorded.
    #[serde(default)]
    pub exit: Exits,
    /// A signal sent in the middle of the run.
    #[serde(default)]
    pub signal: Option<SignalPlan>,
    /// The exception of a scenario that is not recorded with every version of `clitape.toml`.
    #[serde(default)]
    pub only: Option<VersionRange>,
    #[serde(default, rename = "versions")]
    _moved: MovedVersions,
    /// Seconds after which a CLI that has not ended is stopped.
    #[serde(default = "RecordSpec::default_timeout")]
    pub timeout_s: u64,
    /// What the host writes to the CLI's stdin; without it and without `host`, stdin is `/dev/null`.
    #[serde(default)]
    pub say: Vec<SayStep>,
    /// Further runs in the same HOME and project.
    #[serde(default)]
    pub then: Vec<SessionStep>,
}

impl RecordSpec {
    fn default_timeout() -> u64 {
        120
    }

    fn default_partial_messages() -> bool {
        true
    }

    /// The sentence about keys that can't be meant.
    pub(super) fn complaint(&self) -> Option<String> {
        if let Some(what) = self.only.as_ref().and_then(VersionRange::complaint) {
            return Some(what);
        }
        if self.prompt.is_none() && self.say.is_empty() {
            return Some("`record` has neither `prompt` nor `say`; write what to ask".into());
        }
        self.odd_exit().or_else(|| self.odd_say().map(str::to_owned))
    }

    fn odd_exit(&self) -> Option<String> {
        let last = self.only.as_ref().and_then(|range| range.until.as_ref());
        let exits = self.then.iter().map(|step| ("record.then.exit", &step.exit));
        for (key, exits) in std::iter::once(("record.exit", &self.exit)).chain(exits) {
            if let (Exits::SinceVersion(codes), Some(last)) = (exits, last)
                && let Some(odd) = codes.keys().find(|version| version.by_number(last).is_gt())
            {
                return Some(format!(
                    "`{key}` names version {odd}, which is after the last one of `record.only`; remove it"
                ));
            }
        }
        None
    }

    fn odd_say(&self) -> Option<&'static str> {
        let closes = self.say.iter().position(|step| step.action == SayAction::Close);
        if closes.is_some_and(|at| at + 1 < self.say.len()) {
            return Some(
                "a step of `[[record.say]]` comes after `close = true`, so that it can't be \
                 written; make `close` the last step",
            );
        }
        let initialize = |step: &SayStep| matches!(step.action, SayAction::Initialize(_));
        match self.host {
            Some(host) => {
                if !self.then.is_empty() {
                    return Some(
                        "`[[record.then]]` runs the CLI once for each prompt, which `record.host` \
                         does not; remove one of them",
                    );
                }
                let begins = host.profile().initialize.is_some();
                (begins && self.say.iter().any(initialize)).then_some(
                    "`record.host` sends an `initialize` of its own; remove it from \
                     `[[record.say]]`, or remove `host` and write its arguments in `args`",
                )
            }
            None => {
                let reads = self.args.iter().any(|arg| arg.contains("stream-json"));
                (self.prompt.is_none() && !reads).then_some(
                    "the CLI does not read what `[[record.say]]` writes; add `\"--input-format\", \
                     \"stream-json\"` to `record.args`, or write `host = \"live\"`",
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keys: &str, expect: Option<&str>) {
        let complaint = toml::from_str::<RecordSpec>(keys).unwrap().complaint();
        match (&complaint, expect) {
            (None, None) => {}
            (Some(what), Some(expect)) => assert!(what.contains(expect), "{what}"),
            _ => panic!("{keys}: {complaint:?}"),
        }
    }

    #[test]
    fn a_cli_is_logged_in_with_a_key_or_as_a_subscriber() {
        let login = |keys: &str| {
            let text = format!("prompt = 'p'\n{keys}");
            toml::from_str::<RecordSpec>(&text).map(|record| record.login)
        };
        assert_eq!(login(""), Ok(Login::Key));
        assert_eq!(login("login = 'key'"), Ok(Login::Key));
        assert_eq!(login("login = 'subscription'"), Ok(Login::Subscription));
        assert!(login("login = 'token'").is_err());
    }

    #[test]
    fn a_record_says_what_to_ask_and_how() {
        check("prompt = 'p'", None);
        check("", Some("has neither `prompt` nor `say`"));
        check("prompt = 'p'\nonly = { reason = 'r' }", Some("`record.only` names no version"));
        check("host = 'live'\nprompt = 'p'", None);
        check("host = 'live'", Some("has neither `prompt` nor `say`"));
        check("host = 'openclaw-2026.6.1'\n[[say]]\nmessage = 'm'", None);
        check("args = ['--input-format', 'stream-json']\n[[say]]\nmessage = 'm'", None);
        check("[[say]]\nmessage = 'm'", Some("add `\"--input-format\", \"stream-json\"`"));
        check(
            "prompt = 'p'\nhost = 'sdk'\n[[say]]\nclose = true\n[[say]]\nmessage = 'm'",
            Some("make `close` the last step"),
        );
        check(
            "prompt = 'p'\nhost = 'sdk'\n[[say]]\ninitialize = {}",
            Some("sends an `initialize` of its own"),
        );
        check(
            "prompt = 'p'\nhost = 'sdk'\n[[then]]\nresume = 'id'\nprompt = 'q'",
            Some("`[[record.then]]` runs the CLI once for each prompt"),
        );
    }
}
