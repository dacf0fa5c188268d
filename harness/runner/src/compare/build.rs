//! Builds a revision of the project once and keeps the program under the revision's id.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::{
    Guard, InstallLimits, ProcessError, Revision, RunLimits, build as run_build, command, once,
};
use clitape_recording::limits::OutputLimits;
use fs_err as fs;

use super::error::CompareError;
use crate::suite::TrialEvent;

/// The longest time that one git command may take.
const GIT_TIME: Duration = Duration::from_secs(600);
/// The longest time of a build, which only the caller ends.
const BUILD_TIME: Duration = Duration::MAX;
/// The most bytes that git or cargo may print.
const OUTPUT: ByteSize = ByteSize::mib(64);
/// The name of the program.
const PROGRAM: &str = "clitape";

/// The limits of git.
const GIT: InstallLimits = InstallLimits { time: GIT_TIME, output: OUTPUT };

/// Finds a revision in the repository of `root`.
pub(super) fn find(root: &Path, name: &str, stop: &AtomicBool) -> Result<Revision, CompareError> {
    Revision::find(root, name, GIT, stop).map_err(|error| match error {
        ProcessError::NoRepository { folder, reason } => {
            CompareError::Repository { root: folder, said: reason }
        }
        ProcessError::NoRevision { name, .. } => CompareError::Revision(name),
        error => of_git(error),
    })
}

/// Returns the program of a revision, and builds it first if it is not in `builds` yet.
pub(super) fn build(
    revision: &Revision,
    builds: &Path,
    stop: &AtomicBool,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<PathBuf, CompareError> {
    let kept = builds.join(&revision.sha);
    let program = kept.join("bin").join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        if !revision.has_file(file, stop).map_err(of_git)? {
            return Err(CompareError::Source { revision: revision.name.clone(), file });
        }
    }
    let short = revision.short();
    report(TrialEvent::Step(&format!(
        "building clitape {short} with cargo; it is kept for the next time"
    )))?;
    let built = once(&kept, |whole, lock| {
        let source = whole.with_file_name("source");
        fs::create_dir(&source)?;
        revision.check_out(&source, lock, GIT, stop)?;
        let mut cargo = command("cargo");
        cargo
            .args(["install", "--path", ".", "--bin", PROGRAM, "--locked", "--no-track", "--root"])
            .arg(whole)
            .current_dir(&source)
            .env("CARGO_TARGET_DIR", builds.join("target"))
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never");
        let limits = RunLimits {
            output: OutputLimits::within(OUTPUT),
            kept: None,
            time: BUILD_TIME,
            guard: Guard { lock: Some(lock), ..Guard::default() },
        };
        run_build(cargo, limits, stop, &mut |line| {
            // The build goes on without the line, and the next report fails too.
            let _ = report(TrialEvent::StepGoesOn(line));
        })
    });
    built.map_err(|error| match error {
        ProcessError::Build { lines } => CompareError::Build {
            revision: revision.name.clone(),
            sha: revision.sha.clone(),
            said: lines.iter().map(|line| format!("\n  {line}")).collect(),
        },
        error => error.into(),
    })?;
    Ok(program)
}

/// Converts the error of a git that could not be run.
fn of_git(error: ProcessError) -> CompareError {
    match error {
        ProcessError::Io(error) => CompareError::Git(error),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests;
