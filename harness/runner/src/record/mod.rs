//! Runs the real CLI against a scripted model and records its output.
//!
//! A recording has these steps:
//!
//! 1. [`resolve`] finds or installs the CLI.
//! 2. `server` serves the scenario's `model.toml` on loopback. `script` chooses the answer to a request;
//!    `answer` and `cut` make its bytes.
//! 3. `run` starts the CLI in fresh folders (`sandbox`), once for each run of the scenario. `attended` reads
//!    its output, `host` decides which lines its stdin gets and when, `stdin_pipe` writes them, `trigger` decides when it
//!    gets a signal, and `history` keeps the part of a resumed session that the CLI sends to the model.
//! 4. [`record`] returns the canonical form of the result, a take.
//!
//! All of this is real IO in real time; no replay uses it.

mod agreed;
mod answer;
mod attended;
mod claude;
mod confine;
mod cut;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod git;
mod history;
mod host;
mod instructions;
mod isolation;
mod launch;
mod made_from;
mod meter;
mod npm;
mod paced;
mod passing;
mod process_error;
#[cfg(target_os = "linux")]
mod processes;
mod program;
mod removal;
mod request;
mod results;
mod review;
mod revision;
mod run;
mod run_to_end;
mod sandbox;
mod scratch;
mod script;
mod server;
mod settings;
mod stdin_pipe;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod supervisors;
mod take;
mod trigger;
mod work;
mod workspace;

use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::Take;
use clitape_recording::scenario::Scenario;

pub use agreed::Agreed;
pub use claude::{Claude, ClaudeChoice, help, newest, resolve};
pub use confine::ConfineBy;
#[cfg(target_os = "linux")]
pub use confine::enter;
pub use error::{CliOutput, HostError, RecordError};
pub(crate) use git::{Git, work_tree};
pub use isolation::{Cover, Isolation, NetworkDoor, NetworkSockets, NoIsolation, OwnNetwork};
pub use launch::{ENTER, SUPERVISE, supervise_with};
pub use launch::{Guard, command};
pub(crate) use launch::{Running, launch};
pub use made_from::made_from;
pub use meter::{Meter, Overflow};
pub use npm::once;
pub use npm::{Install, InstallLimits, Installed};
pub use process_error::ProcessError;
pub use program::{Attendant, Ending, OutputPiece, OutputReader, Program, ProgramStart};
pub use review::{Review, digest, settings_digest};
pub use revision::{Checkout, Revision, build};
pub use run_to_end::{Ended, Output, RunLimits, Why, run_to_end};
pub use scratch::{Scratch, Swept, remove_stale};
pub use settings::{RecordSettings, ResolveSettings};
pub use stdin_pipe::{StdinClosed, StdinPipe, Unread};
#[cfg(target_os = "linux")]
pub use supervise::supervise;
#[cfg(target_os = "linux")]
pub use supervisors::end_programs;
pub use work::Work;
pub use workspace::WorkspaceLimits;

use crate::host::HostPaths;

/// Without `/proc`, no process is found.
#[cfg(not(target_os = "linux"))]
mod processes {
    pub(crate) fn start_time(_pid: i32) -> Option<u64> {
        None
    }

    pub(crate) fn end_started_in(_folder: &std::path::Path) -> usize {
        0
    }
}

/// This system has no supervisor, so none is started.
#[cfg(not(target_os = "linux"))]
mod supervisors {
    use std::io;
    use std::process::{Child, Command};

    pub(super) struct Supervisor(Child);

    impl Supervisor {
        pub(super) fn start(mut command: Command) -> io::Result<Self> {
            command.spawn().map(Self)
        }

        pub(super) fn child(&mut self) -> &mut Child {
            &mut self.0
        }
    }
}

/// Programs are children of this process, which only their owners end.
#[cfg(not(target_os = "linux"))]
pub fn end_programs(_limit: std::time::Duration) {}

/// This system has no supervisor, so no process is one.
#[cfg(not(target_os = "linux"))]
pub fn supervise(_arguments: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}

/// This system has no confinement, so no process enters one.
#[cfg(not(target_os = "linux"))]
pub fn enter(_arguments: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}

/// Records a scenario: runs the CLI as often as the scenario says, in real time, and returns the
/// canonical form of the recording. Setting `stop` ends it.
///
/// # Errors
///
/// [`RecordError`] when `model.toml` can't be used, or when the CLI can't be started, sends a request
/// that is not scripted, does not end in time, prints too much, is stopped, ends without a `result` or before
/// every step of `[[record.say]]` was written, or does not end as the scenario expects. No process of the CLI is left when this returns.
pub fn record(
    scenario: &Scenario,
    claude: &Claude,
    settings: RecordSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<Take, RecordError> {
    // The scenario as it is before the CLI runs, which may take minutes.
    let made_from = made_from(scenario, settings.workspace, stop)?;
    let mut take = take::into_take(&run::run(scenario, claude, settings, host, stop)?, scenario);
    take.manifest.made_from = made_from;
    Ok(take)
}

#[cfg(test)]
mod tests;
