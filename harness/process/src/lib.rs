//! Programs of other projects, run under limits.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

mod confine;
mod error;
mod git;
pub mod host;
mod isolation;
pub mod kept;
mod launch;
mod meter;
mod npm;
#[cfg(target_os = "linux")]
mod processes;
mod program;
mod revision;
mod scratch;
mod stdin_pipe;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod supervisors;
pub mod threads;

#[cfg(target_os = "linux")]
pub use confine::enter;
pub use confine::{Bounds, ConfineBy, NotConfined};
pub use error::ProcessError;
pub use git::{Git, work_tree};
pub use isolation::{Cover, Isolation, NetworkDoor, NetworkSockets, NoIsolation, OwnNetwork};
pub use launch::{ENTER, Guard, Running, SUPERVISE, command, launch, supervise_with};
pub use meter::{Meter, Overflow, Work};
pub use npm::{Install, InstallLimits, Installed, Npm, NpmCall, once};
pub use program::{
    Attendant, Ended, Ending, Output, OutputPiece, OutputReader, Program, ProgramStart, RunLimits,
    Why, run_to_end,
};
pub use revision::{Checkout, Revision, build};
pub use scratch::{PREFIX, Scratch, Swept, remove_all, remove_stale};
pub use stdin_pipe::{StdinClosed, StdinPipe, Unread};
#[cfg(target_os = "linux")]
pub use supervise::supervise;
#[cfg(target_os = "linux")]
pub use supervisors::end_programs;

/// Finds no process, because this system has no `/proc`.
#[cfg(not(target_os = "linux"))]
mod processes {
    pub(crate) fn start_time(_pid: i32) -> Option<u64> {
        None
    }

    pub(crate) fn end_started_in(_folder: &std::path::Path) -> usize {
        0
    }
}

/// Starts no supervisor, because this system has none.
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

/// Does nothing, because programs are children of this process, which only their owners end.
#[cfg(not(target_os = "linux"))]
pub fn end_programs(_limit: std::time::Duration) {}

/// Refuses to run, because this system has no supervisor.
#[cfg(not(target_os = "linux"))]
pub fn supervise(_arguments: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}

/// Refuses to run, because this system has no confinement.
#[cfg(not(target_os = "linux"))]
pub fn enter(_arguments: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
