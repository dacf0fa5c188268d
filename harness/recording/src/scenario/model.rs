//! Reads `model.toml`: the answers of the scripted model, their cuts, and their pace.
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
//! The turn for a request depends on the request alone: see [`Model`]. Failures may come before a message: HTTP errors,
//! `error` events and lost connections, in the words of the Messages API.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::bounds;
use super::error::{ScenarioError, read_toml};
use crate::limits::MODEL_LINES;

mod block;

pub(crate) use block::misspelt_place;
pub use block::{DeltaCut, ModelBlock, ModelContent, Pieces, ToolSide};

/// The scripted model: `model.toml`.
///
/// A request belongs to the conversation whose `marker` is in its first user message, and to the main one if none does.
/// It gets the turn whose number is the count of assistant messages it carries, so a repeated request gets the same
/// turn again: its next failure, or the message once no failure is left.
///
/// `{{project}}`, `{{home}}` and `{{tmp}}` in texts and inputs become the folders of the run, `{{lines:500}}` becomes
/// 500 numbered lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The characters of a delta, for blocks without their own `cut`; 12 by default.
    #[serde(default = "default_cut")]
    cut: NonZeroUsize,
    /// The milliseconds before each delta (`delay_ms`), for blocks without their own; 30 by default.
    #[serde(default = "default_delay_ms")]
    delay_ms: u64,
    /// The answers of the main conversation: `[[turn]]`.
    #[serde(rename = "turn")]
    pub turns: Vec<ModelTurn>,
    /// The further conversations, such as a subagent's: `[[conversation]]`.
    #[serde(default, rename = "conversation")]
    pub conversations: Vec<ModelConversation>,
    /// The answers of the main conversation in each further run of the scenario: `[[step]]`.
    #[serde(default, rename = "step", deserialize_with = "numbered")]
    pub steps: Vec<StepTurns>,
    /// The answers to requests beyond the last turn, of any conversation: `[[spare]]`.
    #[serde(default, rename = "spare")]
    pub spares: Vec<Spare>,
    /// The answers to the CLI's own questions, looked up before any turn: `[[side]]`. Questions of the known CLI
    /// versions have default answers.
    #[serde(default, rename = "side")]
    pub sides: Vec<SideRequest>,
}

/// The turns of a subagent, or of another conversation with a marker: `[[conversation]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConversation {
    /// The name in ids and errors: letters, digits and `_`.
    pub name: String,
    /// The text in the first user message that identifies the conversation.
    pub marker: String,
    /// The answers of the model.
    #[serde(rename = "turn")]
    pub turns: Vec<ModelTurn>,
}

/// The turns of a further run (`[[step]]`, for a `[[record.then]]` of the scenario). The first one answers its prompt,
/// however much of the conversation before the CLI sends along.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTurns {
    /// The name of the turns in ids and errors: `run2`, `run3`, … in the order of the file.
    #[serde(skip)]
    pub name: String,
    /// The answers of the model.
    #[serde(default, rename = "turn")]
    pub turns: Vec<ModelTurn>,
}

/// An answer beyond the script: `[[spare]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spare {
    /// The text of the message.
    pub text: String,
    /// The number of requests in a row that it answers; 1 by default.
    #[serde(default = "default_times")]
    pub times: NonZeroUsize,
}

/// An answer to a question of the CLI's own: `[[side]]`.
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

    /// Reads the file as [`load`](Self::load) does, with `lines` as the limit of all its `{{lines:N}}`.
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
        let model: Self = block::limited(lines, || read_toml(&path))?;
        match model.complaint() {
            None => Ok(model),
            Some(what) => Err(ScenarioError::Invalid { path, what }),
        }
    }

    /// Returns the cut of a block, and the milliseconds before each of its deltas.
    pub fn pace(&self, block: &ModelBlock) -> (DeltaCut, u64) {
        (block.cut.unwrap_or(DeltaCut::Chars(self.cut)), block.delay_ms.unwrap_or(self.delay_ms))
    }

    /// Returns the name and the turns of every conversation, the main one first.
    pub fn all_turns(&self) -> impl Iterator<Item = (&str, &[ModelTurn])> {
        let further = self.conversations.iter().map(|c| (c.name.as_str(), c.turns.as_slice()));
        let steps = self.steps.iter().map(|step| (step.name.as_str(), step.turns.as_slice()));
        std::iter::once((MAIN, self.turns.as_slice())).chain(steps).chain(further)
    }

    /// Returns whether a turn calls two tools of the CLI, whose results come in the order in which they end.
    pub fn calls_at_once(&self) -> bool {
        let is_call = |block: &&ModelBlock| {
            matches!(block.content, ModelContent::Tool { side: ToolSide::Client, .. })
        };
        let mut turns = self.all_turns().flat_map(|(_, turns)| turns);
        turns.any(|turn| turn.blocks.iter().filter(is_call).count() > 1)
    }

    /// Returns a sentence about a value that is out of range.
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

/// One message of the model: `[[turn]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "TurnFile")]
pub struct ModelTurn {
    /// The content blocks, in order (`[[turn.block]]`); `block = []` is an empty message.
    pub blocks: Vec<ModelBlock>,
    /// The failures that the first requests for it get: `[[turn.failure]]`.
    failures: Vec<ModelFailure>,
    /// True if the message ever comes; without `block` the last failure repeats.
    comes: bool,
    /// The reason why the message ends; if absent, `tool_use` or `end_turn`, by its blocks.
    stop_reason: Option<ModelStopReason>,
    /// The API's details of a refusal: `stop_details`.
    pub stop_details: Option<Map<String, Value>>,
    /// The milliseconds between the last block and the events that end the message (`end_delay_ms`), so that the result
    /// of a fast tool comes before them; 0 by default, with which it comes after them.
    pub end_delay_ms: u64,
    /// The tokens of the request that the API's cache has or gets: `cache`.
    pub cache: CacheTokens,
    /// Further headers of the HTTP response, such as those with the state of a rate limit, by their names in lower
    /// case.
    pub headers: BTreeMap<String, String>,
    /// True if the message has an `id`, as every message of the API has; some proxies leave it out. The key is
    /// `message_id`.
    pub has_message_id: bool,
}

/// The reason why a message of the model ends, in the words of the Messages API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStopReason {
    /// The answer is complete.
    EndTurn,
    /// A tool is to be run.
    ToolUse,
    /// The limit of output tokens was hit.
    MaxTokens,
    /// A stop sequence was hit.
    StopSequence,
    /// A long turn is paused.
    PauseTurn,
    /// The model refuses.
    Refusal,
    /// The model's context is full.
    ModelContextWindowExceeded,
}

impl ModelStopReason {
    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ModelContextWindowExceeded => "model_context_window_exceeded",
        }
    }
}

/// The tokens of a request that the cache of the API has, and those that it gets; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheTokens {
    /// The tokens that the cache has.
    pub read: u32,
    /// The tokens that it gets.
    pub write: u32,
}

/// A turn as the file has it, before its keys are checked against each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnFile {
    /// The content blocks, in order; `block = []` is an empty message. Without it the message never comes, and the last
    /// failure repeats.
    #[serde(rename = "block")]
    blocks: Option<Vec<ModelBlock>>,
    /// The failures that the first requests for the message get.
    #[serde(default, rename = "failure")]
    failures: Vec<ModelFailure>,
    /// The reason why the message ends; if absent, `tool_use` or `end_turn`, by its blocks.
    stop_reason: Option<ModelStopReason>,
    /// The API's details of a refusal.
    stop_details: Option<Map<String, Value>>,
    /// The milliseconds between the last block and the events that end the message; 0 by default.
    #[serde(default)]
    end_delay_ms: u64,
    /// The tokens of the request that the cache of the API has or gets.
    #[serde(default)]
    cache: CacheTokens,
    /// Further headers of the response, such as those of a rate limit, by their names in lower case.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// False if the message has no `id`, as with some proxies; true by default.
    message_id: Option<bool>,
}

impl TryFrom<TurnFile> for ModelTurn {
    type Error = String;

    fn try_from(file: TurnFile) -> Result<Self, String> {
        if file.blocks.is_none() && file.failures.is_empty() {
            return Err("a turn has a `block`, a `failure` or both; `block = []` is an empty \
                        message"
                .into());
        }
        if file.stop_details.is_some() && file.stop_reason != Some(ModelStopReason::Refusal) {
            return Err("`stop_details` belong to a turn with `stop_reason = \"refusal\"`".into());
        }
        bounds::within("end_delay_ms", file.end_delay_ms)?;
        check_headers(&file.headers)?;
        let comes = file.blocks.is_some();
        let blocks = file.blocks.unwrap_or_default();
        let spots = file.failures.iter().filter_map(|failure| failure.kind.after());
        for spot in spots {
            let Some(block) = blocks.get(spot.block.get() - 1) else {
                return Err(format!(
                    "a failure comes in block {}, and the turn has {}; name one of them, from 1",
                    spot.block,
                    blocks.len()
                ));
            };
            if spot.deltas.is_some() && matches!(block.content, ModelContent::Raw(_)) {
                return Err(format!(
                    "block {} is `raw` and has no deltas to fail after; take `deltas` away",
                    spot.block
                ));
            }
        }
        Ok(Self {
            blocks,
            failures: file.failures,
            comes,
            stop_reason: file.stop_reason,
            stop_details: file.stop_details,
            end_delay_ms: file.end_delay_ms,
            cache: file.cache,
            headers: file.headers,
            has_message_id: file.message_id.unwrap_or(true),
        })
    }
}

impl ModelTurn {
    /// Returns the reason why the message ends.
    pub fn stop_reason(&self) -> ModelStopReason {
        let waits = |block: &ModelBlock| {
            matches!(block.content, ModelContent::Tool { side: ToolSide::Client, .. })
        };
        match self.stop_reason {
            Some(reason) => reason,
            None if self.blocks.iter().any(waits) => ModelStopReason::ToolUse,
            None => ModelStopReason::EndTurn,
        }
    }

    /// Returns the failure for a request, or `None` for the message itself, and the number of failures before it.
    /// `before` is the number of earlier requests for this turn.
    pub fn attempt(&self, before: usize) -> (Option<&ModelFailureKind>, usize) {
        let mut each = self
            .failures
            .iter()
            .flat_map(|failure| std::iter::repeat_n(&failure.kind, failure.times.get()));
        let times = self.failures.iter().map(|failure| failure.times.get());
        let count = times.fold(0, usize::saturating_add);
        let failed = if self.comes { before.min(count) } else { before };
        let last = self.failures.last().filter(|_| !self.comes).map(|failure| &failure.kind);
        (each.nth(before).or(last), failed)
    }

    /// Returns the failures, in order.
    pub fn failures(&self) -> impl Iterator<Item = &ModelFailureKind> {
        self.failures.iter().map(|failure| &failure.kind)
    }

    /// Makes a message of one text that comes at once.
    pub fn at_once(text: &str) -> Self {
        Self::of(ModelBlock::at_once(text))
    }

    /// Makes a message of one text, with the cuts and delays of the file.
    pub fn saying(text: &str) -> Self {
        Self::of(ModelBlock::saying(text))
    }

    fn of(block: ModelBlock) -> Self {
        Self {
            blocks: vec![block],
            failures: Vec::new(),
            comes: true,
            stop_reason: None,
            stop_details: None,
            end_delay_ms: 0,
            cache: CacheTokens::default(),
            headers: BTreeMap::new(),
            has_message_id: true,
        }
    }
}

/// The failure that a request gets instead of the message (`[[turn.failure]]`); it has one of `status`, `error_after`
/// and `drop_after`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "FailureFile")]
pub struct ModelFailure {
    /// The kind of failure.
    pub kind: ModelFailureKind,
    /// The number of requests in a row that get it (`times`); 1 by default.
    times: NonZeroUsize,
}

/// The kinds of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFailureKind {
    /// An HTTP error and no message: `status`.
    Http {
        /// The status code, 400 to 599.
        status: u16,
        /// The body: `type` and `message`.
        error: ModelApiError,
        /// The headers, such as `retry-after`, by their names in lower case.
        headers: BTreeMap<String, String>,
    },
    /// An `error` event after a part of the stream: `error_after`.
    Event {
        /// The last place of the stream before the event.
        after: Spot,
        /// The error of the event: `type` and `message`.
        error: ModelApiError,
    },
    /// A lost connection after a part of the stream: `drop_after`.
    Drop {
        /// The last place of the stream before the loss.
        after: Spot,
    },
}

/// A place in the stream of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    /// The number of the turn's block, from 1.
    pub block: NonZeroUsize,
    /// The number of scripted deltas of the block that still come, without its `content_block_stop`; the whole block
    /// comes if absent.
    pub deltas: Option<usize>,
}

/// An error in the shape of the Messages API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelApiError {
    /// The `type` of the error.
    pub kind: ErrorType,
    /// The text for the client.
    pub message: String,
}

/// The `type` of a [`ModelApiError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    /// The request is invalid.
    InvalidRequestError,
    /// The key is unknown.
    AuthenticationError,
    /// The account has no credit.
    BillingError,
    /// The key lacks the permission.
    PermissionError,
    /// The model or the path does not exist.
    NotFoundError,
    /// The request has too many bytes.
    RequestTooLarge,
    /// The requests or tokens are too many.
    RateLimitError,
    /// The server had an internal error.
    ApiError,
    /// The answer took too long.
    TimeoutError,
    /// The API is overloaded at the moment.
    OverloadedError,
}

impl ErrorType {
    /// Returns the word on the wire, and its status code.
    fn wire(self) -> (&'static str, u16) {
        match self {
            Self::InvalidRequestError => ("invalid_request_error", 400),
            Self::AuthenticationError => ("authentication_error", 401),
            Self::BillingError => ("billing_error", 402),
            Self::PermissionError => ("permission_error", 403),
            Self::NotFoundError => ("not_found_error", 404),
            Self::RequestTooLarge => ("request_too_large", 413),
            Self::RateLimitError => ("rate_limit_error", 429),
            Self::ApiError => ("api_error", 500),
            Self::TimeoutError => ("timeout_error", 504),
            Self::OverloadedError => ("overloaded_error", 529),
        }
    }

    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        self.wire().0
    }

    /// Returns the HTTP status code that the API sends with it.
    pub fn status(self) -> u16 {
        self.wire().1
    }
}

/// A failure as the file has it, before its keys are checked against each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureFile {
    /// The status of an HTTP error, 400 to 599, and no message.
    status: Option<u16>,
    /// The last place of the stream before an `error` event.
    error_after: Option<Spot>,
    /// The last place of the stream before the connection is lost.
    drop_after: Option<Spot>,
    /// The type of the error, in the words of the Messages API.
    #[serde(rename = "type")]
    kind: Option<ErrorType>,
    /// The text of the error.
    message: Option<String>,
    /// The headers of an HTTP error, such as `retry-after`, by their names in lower case.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The number of requests in a row that get it; 1 by default.
    #[serde(default = "default_times")]
    times: NonZeroUsize,
}

impl TryFrom<FailureFile> for ModelFailure {
    type Error = String;

    fn try_from(file: FailureFile) -> Result<Self, String> {
        if file.status.is_none() && !file.headers.is_empty() {
            return Err("`headers` belong to a failure with `status`".into());
        }
        let error = match (file.kind, file.message) {
            (Some(kind), Some(message)) => Some(ModelApiError { kind, message }),
            (None, None) => None,
            _ => return Err("an error has both `type` and `message`; write the other one".into()),
        };
        let kind = match (file.status, file.error_after, file.drop_after) {
            (Some(status), None, None) => {
                let error = error.ok_or("a failure with `status` has `type` and `message` too")?;
                check_http(status, &file.headers)?;
                ModelFailureKind::Http { status, error, headers: file.headers }
            }
            (None, Some(after), None) => {
                let error =
                    error.ok_or("a failure with `error_after` has `type` and `message` too")?;
                ModelFailureKind::Event { after, error }
            }
            (None, None, Some(after)) => match error {
                None => ModelFailureKind::Drop { after },
                Some(_) => {
                    return Err("a lost connection says nothing; take `type` and `message` away, \
                                or write `error_after`"
                        .into());
                }
            },
            _ => {
                return Err("a failure has one of `status`, `error_after` and `drop_after`".into());
            }
        };
        bounds::within("times", u64::try_from(file.times.get()).unwrap_or(u64::MAX))?;
        Ok(Self { kind, times: file.times })
    }
}

fn check_http(status: u16, headers: &BTreeMap<String, String>) -> Result<(), String> {
    if !(400..600).contains(&status) {
        return Err(format!("`status = {status}` is no failure; write one from 400 to 599"));
    }
    check_headers(headers)
}

/// Refuses names and values that an HTTP header can't have.
fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), String> {
    let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let value = |c: char| c.is_ascii_graphic() || c == ' ';
    match headers
        .iter()
        .find(|(n, v)| n.is_empty() || !n.chars().all(name) || !v.chars().all(value))
    {
        None => Ok(()),
        Some((n, v)) => Err(format!(
            "`{n}: {v}` is no header; a name has lower-case letters, digits and `-`, a value \
             plain ASCII"
        )),
    }
}

impl ModelFailureKind {
    /// Returns the place at which it breaks the stream off; `None` if it lets no stream begin.
    pub fn after(&self) -> Option<Spot> {
        match self {
            Self::Http { .. } => None,
            Self::Event { after, .. } | Self::Drop { after } => Some(*after),
        }
    }
}

fn default_times() -> NonZeroUsize {
    NonZeroUsize::MIN
}

#[cfg(test)]
mod tests;
