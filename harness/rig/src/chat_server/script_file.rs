//! A script of what a person does: a TOML file of `[[step]]`.
//!
//! ```toml
//! [[step]]
//! say = "Delete the log files"
//!
//! [[step]]
//! when = { shows = "Allow" }
//! after_ms = 500
//! press = "Allow"
//! ```

use std::time::Duration;

use clitape_recording::toml_text::{TomlMistake, parse_toml};
use serde::Deserialize;

/// The chat of a step that names none.
pub const SCRIPT_CHAT: i64 = 1_000;
/// The most steps of a script.
pub const MOST_STEPS: usize = 10_000;
/// How many seconds a step waits for what it names, if it says nothing else.
const WITHIN_S: u64 = 60;

/// What a person does, step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonScript {
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<ScriptStep>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptStep {
    #[serde(default = "script_chat")]
    pub(super) chat: i64,
    pub(super) topic: Option<i64>,
    pub(super) say: Option<String>,
    pub(super) press: Option<String>,
    #[serde(default)]
    pub(super) after_ms: u64,
    pub(super) when: Option<StepCondition>,
}

fn script_chat() -> i64 {
    SCRIPT_CHAT
}

/// What a step waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepCondition {
    /// A text in a message of the bot, or on one of its buttons.
    pub(super) shows: String,
    within_s: Option<u64>,
}

impl StepCondition {
    /// Returns how long the step waits.
    pub(super) fn within(&self) -> Duration {
        Duration::from_secs(self.within_s.unwrap_or(WITHIN_S))
    }
}

/// A script that can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is no TOML, or has other keys.
    #[error(transparent)]
    Toml(#[from] TomlMistake),
    /// A step does not say what it does.
    #[error("step {0} of the script needs `say` or `press`, and not both")]
    Act(usize),
    /// There are too many steps.
    #[error("the script has {0} steps; {MOST_STEPS} are allowed")]
    Long(usize),
}

impl PersonScript {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        let script: Self = parse_toml(text)?;
        if script.steps.len() > MOST_STEPS {
            return Err(ScriptError::Long(script.steps.len()));
        }
        let is_wrong = |step: &ScriptStep| step.say.is_some() == step.press.is_some();
        match script.steps.iter().position(is_wrong) {
            Some(index) => Err(ScriptError::Act(index + 1)),
            None => Ok(script),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read() {
        let text = "[[step]]\nsay = \"a\"\n[[step]]\npress = \"Allow\"\nafter_ms = 5\n\
                    when = { shows = \"Allow\", within_s = 3 }\n";
        let script = PersonScript::read(text).unwrap();
        assert_eq!(script.steps.len(), 2);
        assert_eq!(script.steps[1].when.as_ref().unwrap().within_s, Some(3));
    }

    #[test]
    fn what_is_wrong_with_a_script_is_said() {
        for (text, expect) in [
            ("[[step]]\nafter_ms = 1", "step 1 of the script needs `say` or `press`"),
            ("[[step]]\nsay = \"a\"\npress = \"b\"", "not both"),
            (
                "[[step]]\nsay = \"a\"\n[[step]]\nsays = \"a\"",
                "line 4: unknown field `says`, expected one of `chat`, `topic`, `say`, `press`, `after_ms`, `when`; \
                 did you mean `say`?",
            ),
            (
                "[[step]]\nafter_ms = 'x'",
                "line 2: invalid type: string \"x\", expected a whole number",
            ),
            ("[[step]", "line 1: "),
        ] {
            let error = PersonScript::read(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        }
    }
}
