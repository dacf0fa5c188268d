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

use crate::scenario::Scenario;
use crate::tape::Take;

/// Records a scenario: runs the CLI, once or as often as the scenario says, in real time, and gives
/// the canonical form of what it left. Setting `stop` ends it.
///
/// # Errors
///
/// [`RecordError`] when `model.toml` can't be used, the CLI can't be started, asks what nobody
/// scripted, does not end in time, is stopped, ends without a `result`, or not as the scenario expects. Nothing it
/// started is left by then.
pub fn record(
    scenario: &Scenario,
    claude: &Claude,
    stop: &AtomicBool,
) -> Result<Take, RecordError> {
    Ok(take::into_take(&run::run(scenario, claude, stop)?, scenario))
}

#[cfg(test)]
mod tests;
