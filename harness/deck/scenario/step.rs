//! `[[record.then]]`: further runs of the CLI after the first, in the same HOME and project.
//!
//! ```toml
//! [[record.then]]
//! resume = "id"                 # --resume with the id of the run before
//! prompt = "What did it say?"
//! ```

use serde::Deserialize;

use super::signal::{Exits, SignalPlan};

/// One further run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Which session it goes on with.
    pub resume: Resume,
    /// The prompt. Its words tell the turns of this run from those before: the model answers with
    /// the first turn of its `[[step]]` when no assistant message follows them.
    pub prompt: String,
    /// How the CLI ends; see `record.exit`.
    #[serde(default)]
    pub exit: Exits,
    /// A signal sent in the middle of it.
    #[serde(default)]
    pub signal: Option<SignalPlan>,
}

/// Which session a step goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// The one before, by its id.
    Id,
    /// The last one in the project.
    Continue,
    /// A copy of the one before, under a new id.
    Fork,
    /// One that never was.
    UnknownId,
}

/// An id that no session has.
const UNKNOWN: &str = "00000000-0000-4000-8000-00000000dead";

impl Resume {
    /// The CLI's arguments for it; `session` is the id of the run before.
    pub fn args(self, session: &str) -> Vec<&str> {
        match self {
            Self::Id => vec!["--resume", session],
            Self::Continue => vec!["--continue"],
            Self::Fork => vec!["--resume", session, "--fork-session"],
            Self::UnknownId => vec!["--resume", UNKNOWN],
        }
    }

    /// The word that scenarios and traces have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Continue => "continue",
            Self::Fork => "fork",
            Self::UnknownId => "unknown-id",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{ExitWord, Record};

    #[test]
    fn a_step_says_which_session_goes_on() {
        let text = "prompt = 'p'\nversions = ['1']\n[[then]]\nresume = 'RESUME'\nprompt = 'q'";
        for (resume, expect) in [
            (Resume::Id, &["--resume", "s"][..]),
            (Resume::Continue, &["--continue"]),
            (Resume::Fork, &["--resume", "s", "--fork-session"]),
            (Resume::UnknownId, &["--resume", UNKNOWN]),
        ] {
            let text = text.replace("RESUME", resume.as_str());
            let record: Record = toml::from_str(&(text + "\nexit = 1")).unwrap();
            let [step] = &record.then[..] else { panic!("{record:?}") };
            assert_eq!((step.resume, step.prompt.as_str()), (resume, "q"));
            assert_eq!(step.exit, Exits::Same(ExitWord::Code(1)));
            assert_eq!(resume.args("s"), expect);
        }
        assert!(toml::from_str::<Record>(&text.replace("RESUME", "last")).is_err());
    }
}
