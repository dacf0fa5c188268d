//! `[[record.then]]`: further runs of the CLI after the first, in the same HOME and project.
//!
//! ```toml
//! [[record.then]]
//! resume = "id"                 # --resume with the id of the run before
//! prompt = "What did it say?"
//! ```

use serde::{Deserialize, Serialize};

use super::signal::{Exits, SignalPlan};

/// One further run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionStep {
    /// The session that it resumes.
    pub resume: Resume,
    /// The prompt. Its words separate the turns of this run from those before: the model answers with
    /// the first turn of its `[[step]]` when no assistant message follows them.
    pub prompt: String,
    /// How the CLI ends; see `record.exit`.
    #[serde(default)]
    pub exit: Exits,
    /// A signal sent in the middle of it.
    #[serde(default)]
    pub signal: Option<SignalPlan>,
}

/// The session that a further run resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// That of the run before, by its id.
    Id,
    /// The last one in the project.
    Continue,
    /// A copy of that of the run before, under a new id.
    Fork,
    /// One that never was.
    UnknownId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{ExitWord, RecordSpec};

    #[test]
    fn a_step_says_which_session_goes_on() {
        let text = "prompt = 'p'\n[[then]]\nresume = 'RESUME'\nprompt = 'q'";
        for (word, resume) in [
            ("id", Resume::Id),
            ("continue", Resume::Continue),
            ("fork", Resume::Fork),
            ("unknown-id", Resume::UnknownId),
        ] {
            let text = text.replace("RESUME", word);
            let record: RecordSpec = toml::from_str(&(text + "\nexit = 1")).unwrap();
            let [step] = &record.then[..] else { panic!("{record:?}") };
            assert_eq!((step.resume, step.prompt.as_str()), (resume, "q"));
            assert_eq!(step.exit, Exits::Same(ExitWord::Code(1)));
        }
        assert!(toml::from_str::<RecordSpec>(&text.replace("RESUME", "last")).is_err());
    }
}
