//! Runs the real CLI against a scripted model and keeps all it prints.
//!
//! In order: the CLI is found or installed ([`resolve`]); the scenario's `model.toml` is served on
//! loopback (`server`, which asks `script` for the answer and `answer` and `cut` for its bytes);
//! the CLI runs in fresh folders (`sandbox`) while `child` reads what it prints (`run`), with a
//! signal when `trigger` says so, and again where the scenario goes on with the session, of which
//! `history` keeps what the model is sent; and the canonical form of that is a take ([`record`]). Real IO,
//! real time: nothing here is for a replay.

mod answer;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod child;
mod claude;
mod confine;
mod cut;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod history;
mod known;
mod launch;
mod meter;
mod paced;
mod processes;
mod request;
mod results;
mod review;
mod run;
mod sandbox;
mod scratch;
mod script;
mod server;
#[cfg(target_os = "linux")]
mod supervise;
mod take;
mod trigger;
mod workspace;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub use bubblewrap::enter;
pub(crate) use child::{Ended, Notes, Script, Why, drive};
pub use claude::{Claude, ClaudeChoice, ResolveLimits, resolve};
pub use confine::ConfineBy;
pub use error::{CliOutput, RecordError};
pub use known::KnownScenarios;
pub use launch::{ENTER, SUPERVISE, supervise_with};
pub(crate) use launch::{Guard, Running, command, launch};
pub use meter::Overflow;
pub use review::{Review, digest};
pub(crate) use scratch::{Scratch, sweep};
pub use scratch::{Swept, remove_stale};
#[cfg(target_os = "linux")]
pub use supervise::supervise;
pub use workspace::WorkspaceLimits;

use clitape_gateway::ByteSize;

use crate::cassette::Take;
use crate::limits::{MODEL_LINES, MODEL_REQUEST, OutputLimits, RECORDED_TIME};
use crate::scenario::Scenario;

/// How recordings are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSettings {
    /// How much the CLI may print.
    pub output: OutputLimits,
    /// How long one run of the CLI may take, whatever `record.timeout_s` of the scenario allows.
    pub time: Duration,
    /// The most that a workspace may contain.
    pub workspace: WorkspaceLimits,
    /// Lines that all `{{lines:N}}` of a `model.toml` may ask for.
    pub model_lines: usize,
    /// Bytes of a request to the scripted model.
    pub request: ByteSize,
    /// The way to confine the CLI to its temporary folder, if it is to be confined.
    pub confine: Option<ConfineBy>,
}

impl Default for RecordSettings {
    fn default() -> Self {
        Self {
            output: OutputLimits::default(),
            time: RECORDED_TIME,
            workspace: WorkspaceLimits::default(),
            model_lines: MODEL_LINES,
            request: MODEL_REQUEST,
            confine: Some(ConfineBy::Any),
        }
    }
}

/// No supervisor is known on this system, so nothing asks for one.
#[cfg(not(target_os = "linux"))]
pub fn supervise(_arguments: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}

/// There is no bubblewrap on this system, so nothing enters a sandbox.
#[cfg(not(target_os = "linux"))]
pub fn enter(_arguments: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}

/// Records a scenario: runs the CLI, once or as often as the scenario says, in real time, and gives
/// the canonical form of what it left. Setting `stop` ends it.
///
/// # Errors
///
/// [`RecordError`] when `model.toml` can't be used, the CLI can't be started, asks what nobody
/// scripted, does not end in time, prints too much, is stopped, ends without a `result`, or not as the scenario expects. Nothing it
/// started is left by then.
pub fn record(
    scenario: &Scenario,
    claude: &Claude,
    settings: RecordSettings,
    stop: &AtomicBool,
) -> Result<Take, RecordError> {
    Ok(take::into_take(&run::run(scenario, claude, settings, stop)?, scenario))
}

#[cfg(test)]
mod tests;
