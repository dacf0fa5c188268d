//! A script of a person's acts: a TOML file of `[[step]]`.
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

/// The chat of a step that does not name one.
pub const SCRIPT_CHAT: i64 = 1_000;
/// The most steps of a script.
pub const MOST_STEPS: usize = 10_000;
/// The seconds that a step waits for its condition by default.
const WITHIN_S: u64 = 60;

/// A script: the acts of a person, step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonScript {
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<ScriptStep>,
}

/// A step: an act, and the condition for which it waits.
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

/// The condition for which a step waits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepCondition {
    /// The text to wait for, in a message of the bot or on one of its buttons.
    pub(super) shows: String,
    within_s: Option<u64>,
}

impl StepCondition {
    /// Returns the time that the step waits for its condition.
    pub(super) fn within(&self) -> Duration {
        Duration::from_secs(self.within_s.unwrap_or(WITHIN_S))
    }
}

/// An error in a script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is not TOML, or has unknown keys.
    #[error(transparent)]
    Toml(#[from] TomlMistake),
    /// The step with this number has both acts or neither.
    #[error("step {0} of the script needs `say` or `press`, and not both")]
    Act(usize),
    /// It has this many steps, which is too many.
    #[error("the script has {0} steps; {MOST_STEPS} are allowed")]
    Long(usize),
}

impl PersonScript {
    /// Reads a script from its text.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] says what is wrong with the script.
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
