//! A revision of the project, built once: its source is written out of the repository without touching
//! index or work tree, cargo builds it, and the program is kept by the revision's id.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fs_err as fs;

use super::error::CompareError;

/// Lines shown of what cargo says last.
const TAIL: usize = 12;
/// The name of the program.
const PROGRAM: &str = "clitape";

/// What is told while something takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told<'a> {
    /// Something begins.
    Begins(&'a str),
    /// It goes on.
    GoesOn(&'a str),
}

/// A revision that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    /// As it was named.
    pub(super) name: String,
    /// Its full id.
    pub(super) sha: String,
    /// The first line of its message, and its day.
    pub(super) title: String,
}

impl Revision {
    /// The first characters of its id.
    pub(super) fn short(&self) -> &str {
        &self.sha[..self.sha.len().min(12)]
    }
}

/// Finds a revision in the repository of `root`.
pub(super) fn find(root: &Path, name: &str) -> Result<Revision, CompareError> {
    let inside = git(root, &["rev-parse", "--git-dir"])?;
    if !inside.status.success() {
        let said = String::from_utf8_lossy(&inside.stderr).trim().to_owned();
        return Err(CompareError::Repository { root: root.to_owned(), said });
    }
    let unknown = || CompareError::Revision(name.to_owned());
    // One that begins with a dash would be a switch.
    if name.starts_with('-') {
        return Err(unknown());
    }
    let ask = |args: &[&str]| -> Result<String, CompareError> {
        let output = git(root, args)?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !text.is_empty() { Ok(text) } else { Err(unknown()) }
    };
    let sha = ask(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
    let title = ask(&["log", "-1", "--format=%cs %s", &sha])?;
    Ok(Revision { name: name.to_owned(), sha, title })
}

/// The program of a revision, built if it is not in `builds` yet.
pub(super) fn build(
    root: &Path,
    revision: &Revision,
    builds: &Path,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<PathBuf, CompareError> {
    let kept = builds.join(&revision.sha);
    let program = kept.join("bin").join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        let there = git(root, &["cat-file", "-e", &format!("{}:{file}", revision.sha)])?;
        if !there.status.success() {
            return Err(CompareError::Source { revision: revision.name.clone(), file });
        }
    }
    let short = revision.short();
    tell(Told::Begins(&format!(
        "building clitape {short} with cargo; it is kept for the next time"
    )));
    fs::create_dir_all(builds)?;
    let fresh = tempfile::Builder::new().prefix(".building-").tempdir_in(builds)?;
    let (source, whole) = (fresh.path().join("source"), fresh.path().join("whole"));
    write_source(root, revision, fresh.path(), &source)?;
    cargo(revision, &source, &whole, &builds.join("target"), tell)?;
    let moved = fs::rename(&whole, &kept);
    // Somebody else who built it at the same time has done the same.
    if !program.is_file() {
        moved?;
    }
    Ok(program)
}

/// Writes the files of a revision to `source`, with an index of its own.
fn write_source(
    root: &Path,
    revision: &Revision,
    fresh: &Path,
    source: &Path,
) -> Result<(), CompareError> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    let top = String::from_utf8_lossy(&top.stdout).trim().to_owned();
    // A bare repository has no top, and needs none.
    let at = if top.is_empty() { root } else { Path::new(&top) };
    let prefix = format!("--prefix={}/", source.display());
    for args in [&["read-tree", &revision.sha][..], &["checkout-index", "--all", &prefix]] {
        let mut command = command(at, args);
        let output = command
            .env("GIT_INDEX_FILE", fresh.join("index"))
            .output()
            .map_err(CompareError::Git)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failed(revision, &[said]));
        }
    }
    Ok(())
}

/// Builds what lies in `source` and puts the program into `whole/bin`.
fn cargo(
    revision: &Revision,
    source: &Path,
    whole: &Path,
    target: &Path,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<(), CompareError> {
    let mut child = Command::new("cargo")
        .args(["install", "--path", ".", "--bin", PROGRAM, "--locked", "--no-track", "--root"])
        .arg(whole)
        .current_dir(source)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(revision, &[format!("cargo can't be run: {error}")]))?;
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
            tell(Told::GoesOn(line.trim_start()));
            if said.len() == TAIL {
                said.remove(0);
            }
            said.push(line);
        }
    }
    if child.wait()?.success() { Ok(()) } else { Err(failed(revision, &said)) }
}

fn failed(revision: &Revision, said: &[String]) -> CompareError {
    let last = &said[said.len().saturating_sub(TAIL)..];
    CompareError::Build {
        revision: revision.name.clone(),
        sha: revision.sha.clone(),
        said: last.iter().map(|line| format!("\n  {line}")).collect(),
    }
}

fn command(at: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(at).args(args).stdin(Stdio::null());
    command
}

fn git(root: &Path, args: &[&str]) -> Result<Output, CompareError> {
    command(root, args).output().map_err(CompareError::Git)
}

#[cfg(test)]
mod tests;
