//! Runs the real CLI against a scripted model and keeps all it prints.
//!
//! In order: the CLI is found or installed ([`resolve`]); the scenario's `model.toml` is served on
//! loopback (`server`, which asks `script` for the answer and `answer` and `cut` for its bytes);
//! the CLI runs in fresh folders (`sandbox`) while `child` reads what it prints (`run`), with a
//! signal when `trigger` says so, and again where the scenario goes on with the session, of which
//! `history` keeps what the model is sent; and the canonical form of that is a take ([`record`]). Real IO,
//! real time: nothing here is for a replay.

mod answer;
mod child;
mod claude;
mod cut;
mod error;
mod history;
mod meter;
mod paced;
mod request;
mod results;
mod run;
mod sandbox;
mod script;
mod server;
mod take;
mod trigger;

use std::sync::atomic::AtomicBool;

pub(crate) use child::{Notes, Script, Why, drive};
pub use claude::{Claude, ClaudeChoice, resolve};
pub use error::{RecordError, Said};
pub use meter::Overflow;

use crate::limits::OutputLimits;
use crate::scenario::Scenario;
use crate::tape::Take;

/// How recordings are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// How much the CLI may print.
    pub output: OutputLimits,
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
    settings: Settings,
    stop: &AtomicBool,
) -> Result<Take, RecordError> {
    Ok(take::into_take(&run::run(scenario, claude, settings, stop)?, scenario))
}

#[cfg(test)]
mod tests;
