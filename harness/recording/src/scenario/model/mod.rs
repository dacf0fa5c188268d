//! Reads `model.toml`: what the scripted model answers, how its answers are cut, and their pace.
//!
//! ```toml
//! cut = 12        # characters a delta
//! delay_ms = 30   # before each delta
//!
//! [[turn]]        # answers the first request
//! [[turn.block]]
//! text = "I'll count the files."
//! [[turn.block]]
//! tool = "Bash"
//! input = { command = "ls {{project}} | wc -l" }
//!
//! [[turn]]        # answers the request that brings the tool's result
//! [[turn.block]]
//! text = ["There are ", "three."]   # a list: one delta each
//!
//! [[turn.failure]]   # the first two requests for this turn fail
//! status = 529
//! type = "overloaded_error"
//! message = "Overloaded"
//! times = 2
//! ```
//!
//! Which turn answers a request depends on the request alone: see [`Model`].

use std::num::NonZeroUsize;
use std::path::Path;

use serde::{Deserialize, Deserializer};

use super::bounds;
use super::error::ScenarioError;
use super::toml_file::read_toml;
use crate::limits::MODEL_LINES;

mod block;
mod failure;
mod fill;
mod turn;

pub use block::{DeltaCut, ModelBlock, ModelContent, ToolSide};
pub use failure::{ErrorType, ModelApiError, ModelFailure, ModelFailureKind, Spot};
pub use fill::Pieces;
pub use turn::{ModelStopReason, ModelTurn};

/// `model.toml`: the scripted model.
///
/// A request belongs to the conversation whose `marker` is in its first user message, and to
/// the main one if none does. It gets the turn whose number is the count of assistant messages it
/// carries, so a repeated request gets the same turn again: its next failure, or the message once
/// no failure is left.
///
/// `{{project}}`, `{{home}}` and `{{tmp}}` in texts and inputs become the folders of the run,
/// `{{lines:500}}` 500 numbered lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// `cut`: characters a delta, where a block does not say otherwise; 12 by default.
    #[serde(default = "default_cut")]
    cut: NonZeroUsize,
    /// `delay_ms`: milliseconds before each delta, where a block does not say otherwise; 30 by
    /// default.
    #[serde(default = "default_delay_ms")]
    delay_ms: u64,
    /// `[[turn]]`: the answers of the main conversation.
    #[serde(rename = "turn")]
    pub turns: Vec<ModelTurn>,
    /// `[[conversation]]`: further conversations, such as a subagent's.
    #[serde(default, rename = "conversation")]
    pub conversations: Vec<ModelConversation>,
    /// `[[step]]`: the answers of the main conversation in each further run of the scenario.
    #[serde(default, rename = "step", deserialize_with = "numbered")]
    pub steps: Vec<StepTurns>,
    /// `[[spare]]`: answers to requests beyond the last turn, of any conversation.
    #[serde(default, rename = "spare")]
    pub spares: Vec<Spare>,
    /// `[[side]]`: answers to the CLI's own questions, looked up before any turn. Those that the
    /// known CLI versions ask have an answer without it.
    #[serde(default, rename = "side")]
    pub sides: Vec<SideRequest>,
}

/// `[[conversation]]`: the turns of a subagent, or of whatever else carries a marker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConversation {
    /// Its name in ids and errors: letters, digits and `_`.
    pub name: String,
    /// The text in the first user message that identifies it.
    pub marker: String,
    /// Its answers.
    #[serde(rename = "turn")]
    pub turns: Vec<ModelTurn>,
}

/// `[[step]]`: the turns of a further run (`[[record.then]]` of the scenario), the first of which
/// answers its prompt, however much of the conversation before the CLI sends along.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTurns {
    /// The name of the turns in ids and errors: `run2`, `run3`, … in the order they are written.
    #[serde(skip)]
    pub name: String,
    /// Its answers.
    #[serde(default, rename = "turn")]
    pub turns: Vec<ModelTurn>,
}

/// `[[spare]]`: an answer beyond the script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spare {
    /// The message.
    pub text: String,
    /// How many requests in a row it answers; 1 by default.
    #[serde(default = "failure::default_times")]
    pub times: NonZeroUsize,
}

/// `[[side]]`: an answer to a question of the CLI's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideRequest {
    /// A text that is in the request's system prompt or messages.
    pub contains: String,
    /// The answer, which comes at once in one delta; it counts no tokens.
    pub text: String,
}

const MAIN: &str = "main";

fn default_cut() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(11)
}

fn default_delay_ms() -> u64 {
    30
}

fn numbered<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<StepTurns>, D::Error> {
    let mut steps = Vec::<StepTurns>::deserialize(from)?;
    for (step, number) in steps.iter_mut().zip(2..) {
        step.name = format!("run{number}");
    }
    Ok(steps)
}

impl Model {
    /// Reads the `model.toml` in a scenario's folder.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] that points at the line of a key or value that can't be used.
    pub fn load(dir: &Path) -> Result<Self, ScenarioError> {
        Self::load_within(dir, MODEL_LINES)
    }

    /// [`load`](Self::load), where all `{{lines:N}}` may ask for `lines` lines.
    ///
    /// # Errors
    ///
    /// As of [`load`](Self::load).
    pub fn load_within(dir: &Path, lines: usize) -> Result<Self, ScenarioError> {
        let path = dir.join("model.toml");
        if !path.exists() {
            let what = "there is none, so nobody knows what the model answers; write one as \
                        `clitape new` does (an imported scenario comes without)";
            return Err(ScenarioError::Invalid { path, what: what.to_owned() });
        }
        let model: Self = fill::limited(lines, || read_toml(&path))?;
        match model.complaint() {
            None => Ok(model),
            Some(what) => Err(ScenarioError::Invalid { path, what }),
        }
    }

    /// How a block is cut, and the milliseconds before each of its deltas.
    pub fn pace(&self, block: &ModelBlock) -> (DeltaCut, u64) {
        (block.cut.unwrap_or(DeltaCut::Chars(self.cut)), block.delay_ms.unwrap_or(self.delay_ms))
    }

    /// Name and turns of every conversation, the main one first.
    pub fn all_turns(&self) -> impl Iterator<Item = (&str, &[ModelTurn])> {
        let further = self.conversations.iter().map(|c| (c.name.as_str(), c.turns.as_slice()));
        let steps = self.steps.iter().map(|step| (step.name.as_str(), step.turns.as_slice()));
        std::iter::once((MAIN, self.turns.as_slice())).chain(steps).chain(further)
    }

    /// The sentence about a value that is out of range.
    fn outside(&self) -> Option<String> {
        let count = |entries: usize| u64::try_from(entries).unwrap_or(u64::MAX);
        let turns = self.all_turns().map(|(_, turns)| turns.len()).sum();
        let answers = self.spares.len() + self.sides.len();
        let times = self.spares.iter().map(|spare| ("times", count(spare.times.get())));
        let values = [
            ("[[turn]] (entries)", count(turns)),
            ("[[conversation]] (entries)", count(self.conversations.len())),
            ("[[step]] (entries)", count(self.steps.len())),
            ("[[spare]] and [[side]] (entries)", count(answers)),
            ("delay_ms", self.delay_ms),
        ];
        bounds::first_outside(&bounds::MODEL, values.into_iter().chain(times))
    }

    fn complaint(&self) -> Option<String> {
        if let Some(what) = self.outside() {
            return Some(what);
        }
        for (i, one) in self.conversations.iter().enumerate() {
            let (name, before) = (&one.name, &self.conversations[..i]);
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Some(format!(
                    "a conversation can't be called `{name}`; use letters, digits and `_`"
                ));
            }
            if one.marker.is_empty() {
                return Some(format!(
                    "conversation `{name}` has an empty `marker`; write a word of its first message"
                ));
            }
            if self.steps.iter().any(|step| step.name == *name) {
                return Some(format!(
                    "a conversation can't be called `{name}`, as the turns of a `[[step]]` are; rename it"
                ));
            }
            if name == MAIN || before.iter().any(|b| b.name == *name) {
                return Some(format!(
                    "two conversations are called `{name}`; rename one (the turns outside any are `main`)"
                ));
            }
            if let Some(twin) = before.iter().find(|b| b.marker == one.marker) {
                return Some(format!(
                    "conversations `{}` and `{name}` have the same `marker`; change one",
                    twin.name
                ));
            }
        }
        let side = self.sides.iter().find(|side| side.contains.is_empty())?;
        Some(format!(
            "the `[[side]]` that says `{}` has an empty `contains`; write what the request contains",
            side.text
        ))
    }
}

#[cfg(test)]
mod tests;
