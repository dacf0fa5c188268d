//! `[session]`: what a gateway knows of the session that a scenario with several runs resumes.

use serde::Deserialize;

/// The provider whose sessions are transcripts of the CLI.
const CLAUDE: &str = "claude-cli";

/// `[session]` of `scenario.toml`. Without it, the lane `session` has only what the transcripts say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionSpec {
    /// Whose session the gateway stores after each run (X3).
    pub provider: String,
    /// `CLAUDE_CONFIG_DIR` of the gateway and its CLI (X1); not set when absent.
    pub claude_config_dir: Option<String>,
    /// The folder in which the gateway runs the CLI (X1); the project's when absent.
    pub working_folder: Option<String>,
    /// The id under which the gateway has the session (X3); the one that the CLI printed when absent.
    pub id: Option<String>,
    /// The settings with which the gateway starts each run, as one JSON object each (X6).
    pub fingerprints: Vec<String>,
    /// The message with which a new session takes the place of one that is given up, told what was said in it (X5).
    pub message: Option<String>,
    /// The tokens that the model takes, of which the history of such a session gets a share (X5).
    pub model_tokens: u64,
}

impl Default for SessionSpec {
    fn default() -> Self {
        Self {
            provider: CLAUDE.to_owned(),
            claude_config_dir: None,
            working_folder: None,
            id: None,
            fingerprints: Vec::new(),
            message: None,
            model_tokens: 0,
        }
    }
}

impl SessionSpec {
    /// The sentence about a key that asks for a check that is never made, in a scenario with this number of runs.
    pub(super) fn complaint(&self, runs: usize) -> Option<String> {
        let settings = self.fingerprints.len();
        if runs == 1 {
            let what = "`[session]` is about a session that is resumed; add a [[record.then]], or remove it";
            return Some(what.to_owned());
        }
        (settings == 1 || settings > runs).then(|| {
            format!(
                "`session.fingerprints` has {settings} settings, and the scenario {runs} runs; write those of two or \
                 more runs, or remove what is too many"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gateway_knows_is_read() {
        let spec = toml::from_str::<SessionSpec>("claude_config_dir = '/srv/agent'").unwrap();
        let expect =
            SessionSpec { claude_config_dir: Some("/srv/agent".into()), ..SessionSpec::default() };
        assert_eq!((spec, &*expect.provider), (expect.clone(), "claude-cli"));
        assert!(toml::from_str::<SessionSpec>("config_dir = '/srv/agent'").is_err());
    }
}
