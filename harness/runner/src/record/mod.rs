//! Runs the real CLI against a scripted model and records its output.
//!
//! A recording has these steps:
//!
//! 1. [`resolve`] finds or installs the CLI.
//! 2. `server` serves the scenario's `model.toml` on loopback. `script` chooses the answer to a request;
//!    `answer` makes its bytes.
//! 3. `run` starts the CLI in fresh folders (`workspace`), once for each run of the scenario. `attended` reads its
//!    output, writes its stdin and sends it a signal when one is due, and `host` decides which lines stdin gets and
//!    when.
//! 4. [`record`] returns the canonical form of the result, a take.
//!
//! All of this is real IO in real time; no replay uses it.

mod answer;
mod attended;
mod claude;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod host;
mod review;
mod run;
mod script;
mod server;
mod workspace;

use std::sync::atomic::AtomicBool;

use clitape_process::host::HostPaths;
use clitape_recording::cassette::Take;
use clitape_recording::scenario::Scenario;

pub use claude::{Claude, ClaudeChoice, ResolveSettings, help, installed_at, newest, resolve};
pub use error::{CliOutput, HostError, RecordError};
pub use review::{Agreed, AgreedError, Review, digest, made_from, settings_digest};
pub use run::RecordSettings;
pub use workspace::WorkspaceLimits;

/// A recording that was made now.
#[derive(Debug, Clone)]
pub struct NewRecording {
    /// The recording in its canonical form.
    pub take: Take,
    /// The turns of `model.toml` that no request asked for, such as "[[turn]] 3 of `main`".
    pub unasked: Vec<String>,
    /// True if the model calls two tools in a turn, whose results may race.
    pub calls_at_once: bool,
}

/// Records a scenario: runs the CLI as often as the scenario says, in real time. Setting `stop` ends it.
///
/// # Errors
///
/// [`RecordError`] when `model.toml` can't be used, or when the CLI can't be started, sends a request that is not
/// scripted, does not end in time, prints too much, is stopped, ends without a `result` or before every step of
/// `[[record.say]]` was written, or does not end as the scenario expects. No process of the CLI is left when this
/// returns.
pub fn record(
    scenario: &Scenario,
    claude: &Claude,
    settings: RecordSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<NewRecording, RecordError> {
    // The digests are taken before the CLI runs, because that may take minutes, in which the scenario may change.
    let made_from = made_from(scenario, settings.workspace, stop)?;
    let raw = run::run(scenario, claude, settings, host, stop)?;
    let mut take = run::into_take(&raw, scenario);
    take.manifest.made_from = made_from;
    Ok(NewRecording { take, unasked: raw.unasked, calls_at_once: raw.calls_at_once })
}

#[cfg(test)]
mod tests;
