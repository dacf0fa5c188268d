//! Builds a revision of the project once: writes its source out of the repository without changing the index
//! or the work tree, lets cargo build it, and keeps the program under the revision's id.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clitape_recording::cassette::Exit;
use fs_err as fs;

use super::error::CompareError;
use crate::record::{Ended, Git, Guard, Scratch, Script, Why, launch, sweep};
use crate::threads::{NoMoreThreads, start};

/// The number of cargo's last lines that an error shows.
const TAIL: usize = 12;
/// The start of the names of folders in which a build is under way.
const BUILDING: &str = ".building-";
/// The longest time that one git command may take.
const GIT_LIMIT: Duration = Duration::from_secs(600);
/// The interval at which the wait for cargo checks whether the caller asked to stop.
const LOOK: Duration = Duration::from_millis(20);
/// The name of the program.
const PROGRAM: &str = "clitape";

/// A message to the caller about an operation that takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildProgress<'a> {
    /// An operation begins.
    Begins(&'a str),
    /// The operation continues: the last line that its program printed.
    GoesOn(&'a str),
}

/// A revision that the repository contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    /// The name by which the caller asked for it.
    pub(super) name: String,
    /// The full id of its commit.
    pub(super) sha: String,
    /// The day of the commit, and the first line of its message.
    pub(super) title: String,
}

impl Revision {
    /// Returns the first 12 characters of the commit's id.
    pub(super) fn short(&self) -> &str {
        &self.sha[..self.sha.len().min(12)]
    }
}

/// Finds a revision in the repository of `root`.
pub(super) fn find(root: &Path, name: &str, stop: &AtomicBool) -> Result<Revision, CompareError> {
    let inside = git(root, &[], &["rev-parse", "--git-dir"], stop)?;
    if inside.exit != SUCCESS {
        let said = String::from_utf8_lossy(&inside.stderr).trim().to_owned();
        return Err(CompareError::Repository { root: root.to_owned(), said });
    }
    let unknown = || CompareError::Revision(name.to_owned());
    // Git would read a name that begins with a dash as an option.
    if name.starts_with('-') {
        return Err(unknown());
    }
    let ask = |args: &[&str]| -> Result<String, CompareError> {
        let output = git(root, &[], args, stop)?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.exit == SUCCESS && !text.is_empty() { Ok(text) } else { Err(unknown()) }
    };
    let sha = ask(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
    let title = ask(&["log", "-1", "--format=%cs %s", &sha])?;
    Ok(Revision { name: name.to_owned(), sha, title })
}

/// Returns the program of a revision, and builds it first if it is not in `builds` yet.
pub(super) fn build(
    root: &Path,
    revision: &Revision,
    builds: &Path,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(BuildProgress<'_>),
) -> Result<PathBuf, CompareError> {
    let kept = builds.join(&revision.sha);
    let program = kept.join("bin").join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        let object = format!("{}:{file}", revision.sha);
        let there = git(root, &[], &["cat-file", "-e", &object], stop)?;
        if there.exit != SUCCESS {
            return Err(CompareError::Source { revision: revision.name.clone(), file });
        }
    }
    let short = revision.short();
    tell(BuildProgress::Begins(&format!(
        "building clitape {short} with cargo; it is kept for the next time"
    )));
    fs::create_dir_all(builds)?;
    sweep(builds, BUILDING);
    let fresh = Scratch::new(builds, BUILDING)?;
    let (source, whole) = (fresh.path().join("source"), fresh.path().join("whole"));
    write_source(root, revision, fresh.path(), &source, stop)?;
    let lock = fresh.lock();
    let guard = Guard { lock: Some(&lock), ..Guard::default() };
    cargo(revision, &source, &whole, &builds.join("target"), guard, stop, tell)?;
    let moved = fs::rename(&whole, &kept);
    // The rename fails without harm when another process built the same revision at the same time.
    if !program.is_file() {
        moved?;
    }
    Ok(program)
}

/// Writes the files of a revision to `source`, with a git index that is used for this only.
fn write_source(
    root: &Path,
    revision: &Revision,
    fresh: &Path,
    source: &Path,
    stop: &AtomicBool,
) -> Result<(), CompareError> {
    fs::create_dir(source)?;
    let index = fresh.join("index");
    let variables = [("GIT_INDEX_FILE", index.as_os_str()), ("GIT_WORK_TREE", source.as_os_str())];
    for args in [&["read-tree", &revision.sha][..], &["checkout-index", "--all"]] {
        let output = git(root, &variables, args, stop)?;
        if output.exit != SUCCESS {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failed(revision, &[said]));
        }
    }
    Ok(())
}

/// Builds the source code in `source` and puts the program into `whole/bin`.
fn cargo(
    revision: &Revision,
    source: &Path,
    whole: &Path,
    target: &Path,
    guard: Guard<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(BuildProgress<'_>),
) -> Result<(), CompareError> {
    let mut command = crate::record::command("cargo");
    command
        .args(["install", "--path", ".", "--bin", PROGRAM, "--locked", "--no-track", "--root"])
        .arg(whole)
        .current_dir(source)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never");
    let no_cargo = |error: io::Error| failed(revision, &[format!("cargo can't be run: {error}")]);
    let mut running = launch(command, false, guard).map_err(|error| {
        NoMoreThreads::of(&error).map_or_else(|| no_cargo(error), |it| io::Error::from(it).into())
    })?;
    let (sender, lines) = channel();
    if let Some(stderr) = running.stderr.take() {
        let read = move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
        };
        start("output", read).map_err(io::Error::from)?;
    }
    if let Some(mut stdout) = running.stdout.take() {
        start("output", move || stdout.read_to_end(&mut Vec::new())).map_err(io::Error::from)?;
    }
    let mut said = Vec::new();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(CompareError::Stopped);
        }
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                tell(BuildProgress::GoesOn(line.trim_start()));
                if said.len() == TAIL {
                    said.remove(0);
                }
                said.push(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
        }
        match running.poll()? {
            None => {}
            Some(SUCCESS) => return Ok(()),
            Some(_) => {
                // Cargo's last lines may still be in the pipe, which a background process may keep open.
                while let Ok(line) = lines.recv_timeout(LOOK * 10) {
                    said.push(line);
                }
                return Err(failed(revision, &said));
            }
        }
    }
}

fn failed(revision: &Revision, said: &[String]) -> CompareError {
    let last = &said[said.len().saturating_sub(TAIL)..];
    CompareError::Build {
        revision: revision.name.clone(),
        sha: revision.sha.clone(),
        said: last.iter().map(|line| format!("\n  {line}")).collect(),
    }
}

/// The exit of a program that succeeded.
const SUCCESS: Exit = Exit::Code(0);

/// Runs git to its end.
fn git(
    root: &Path,
    variables: &[(&str, &OsStr)],
    args: &[&str],
    stop: &AtomicBool,
) -> Result<Ended, CompareError> {
    let git = Git { folder: root, variables, script: Script::default(), limit: GIT_LIMIT, stop };
    match git.run(args).map_err(CompareError::Git)? {
        Ended { why: Why::Stopped, .. } => Err(CompareError::Stopped),
        ended => Ok(ended),
    }
}

#[cfg(test)]
mod tests;
