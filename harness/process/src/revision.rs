//! Checks a revision of a git repository out into a separate folder and builds it once: a program before and after a
//! change.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::Exit;
use clitape_recording::text::{Keep, truncate};

use super::error::ProcessError;
use super::git::Git;
use super::launch::command;
use super::npm::{InstallLimits, once};
use super::program::{Attendant, Ended, Ending, OutputPiece, OutputReader, Program, RunLimits};

/// The columns of a program's last output in an error.
const LAST_WORDS: usize = 400;
/// The number of a build's last lines in an error.
const LAST_LINES: usize = 12;

/// A revision that a repository contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// A folder of the repository.
    folder: PathBuf,
    /// The name by which the caller asked for it.
    pub name: String,
    /// The full id of its commit.
    pub sha: String,
    /// The day of the commit, and the first line of its message.
    pub title: String,
}

impl Revision {
    /// Finds a revision in the repository of `folder`.
    ///
    /// # Errors
    ///
    /// [`ProcessError::NoRepository`], [`ProcessError::NoRevision`], [`ProcessError::Stopped`]; if git can't be run.
    pub fn find(
        folder: &Path,
        name: &str,
        limits: InstallLimits,
        stop: &AtomicBool,
    ) -> Result<Self, ProcessError> {
        let limits = limits.of_program(None);
        let ask = |args: &[&str]| Git { folder, variables: &[], limits, stop }.run(args);
        let inside = ask(&["rev-parse", "--git-dir"])?;
        if !inside.is_success() {
            let (folder, reason) = (folder.to_owned(), inside.stderr_text());
            return Err(ProcessError::NoRepository { folder, reason });
        }
        let unknown =
            || ProcessError::NoRevision { folder: folder.to_owned(), name: name.to_owned() };
        let answer = |args: &[&str]| -> Result<String, ProcessError> {
            let ended = ask(args)?;
            let text = ended.stdout_text();
            if ended.is_success() && !text.is_empty() { Ok(text) } else { Err(unknown()) }
        };
        let commit = format!("{name}^{{commit}}");
        let sha = answer(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?;
        let title = answer(&["log", "-1", "--format=%cs %s", &sha])?;
        Ok(Self { folder: folder.to_owned(), name: name.to_owned(), sha, title })
    }

    /// Returns the first 12 characters of the commit's id.
    pub fn short(&self) -> &str {
        &self.sha[..self.sha.len().min(12)]
    }

    /// Returns whether files of the repository differ from what is committed; new ones don't count.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Stopped`]; if git can't be run.
    pub fn has_changes(&self, stop: &AtomicBool) -> Result<bool, ProcessError> {
        let limits = InstallLimits::default().of_program(None);
        let git = Git { folder: &self.folder, variables: &[], limits, stop };
        let ended = git.run(&["status", "--porcelain", "--untracked-files=no"])?;
        Ok(!ended.is_success() || !ended.stdout_text().is_empty())
    }

    /// Returns whether the revision has a file of this path.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Stopped`]; if git can't be run.
    pub fn has_file(&self, path: &str, stop: &AtomicBool) -> Result<bool, ProcessError> {
        let limits = InstallLimits::default().of_program(None);
        let git = Git { folder: &self.folder, variables: &[], limits, stop };
        Ok(git.run(&["cat-file", "-e", &format!("{}:{path}", self.sha)])?.is_success())
    }

    /// Checks the revision out in an empty folder, which then is a repository itself. The repository of the revision
    /// stays unchanged.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Failed`], [`ProcessError::Stopped`]; if git can't be run.
    pub fn check_out(
        &self,
        to: &Path,
        lock: &Path,
        limits: InstallLimits,
        stop: &AtomicBool,
    ) -> Result<(), ProcessError> {
        let limits = limits.of_program(Some(lock));
        let git = |folder: &Path, args: &[&OsStr]| {
            let variables = &[("GIT_ALLOW_PROTOCOL", OsStr::new("file"))];
            let ended = Git { folder, variables, limits, stop }.run(args)?;
            match ended.is_success() {
                true => Ok(ended.stdout_text()),
                false => Err(not_checked_out(&self.name, &ended)),
            }
        };
        // The folder may be below that of the repository, or of a further work tree.
        let found = git(&self.folder, &["rev-parse", "--git-common-dir"].map(OsStr::new))?;
        let repository = self.folder.join(found);
        let clone = ["clone", "--quiet", "--no-checkout", "--no-recurse-submodules", "--"];
        let clone = clone.map(OsStr::new).into_iter();
        let clone: Vec<_> = clone.chain([repository.as_os_str(), OsStr::new(".")]).collect();
        git(to, &clone)?;
        git(to, &["checkout", "--quiet", "--detach", &self.sha].map(OsStr::new))?;
        Ok(())
    }
}

/// Makes the error of a git that did not check a revision out.
fn not_checked_out(name: &str, ended: &Ended) -> ProcessError {
    let reason = ended.stderr_text();
    let why = format!("git can't check {name} out: {}", truncate(&reason, LAST_WORDS, Keep::End));
    ProcessError::Failed { why, hint: "check the repository with `git fsck`".to_owned() }
}

/// Runs a command that builds a program to its end. `tell` gets each line of its stderr.
///
/// # Errors
///
/// [`ProcessError::Build`] with the last lines, [`ProcessError::Stopped`]; if it can't be started.
pub fn build(
    command: Command,
    limits: RunLimits<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<(), ProcessError> {
    let RunLimits { output, time, guard, .. } = limits;
    let mut program = Program::launch(command, false, OutputReader::Attendant, output, guard)?;
    let mut lines = BuildLines { tell, open: Vec::new(), last: VecDeque::new() };
    let (exit, ending) = program.attend_to_end(&mut lines, time, stop)?;
    lines.end_line();
    let last = match ending {
        Ending::Stopped => return Err(ProcessError::Stopped),
        Ending::Itself if exit == Exit::Code(0) => return Ok(()),
        Ending::Itself => None,
        Ending::Limit => Some(format!("it had not ended after {} s", time.as_secs_f64())),
        Ending::Overflow(what) => Some(format!("it printed {what}")),
        Ending::Reason(never) => match never {},
    };
    let lines = lines.last.into_iter().chain(last).collect();
    Err(ProcessError::Build { lines })
}

/// The lines of a build's stderr; the last ones are stored.
struct BuildLines<'a> {
    tell: &'a mut dyn FnMut(&str),
    /// The beginning of the incomplete line.
    open: Vec<u8>,
    last: VecDeque<String>,
}

impl Attendant for BuildLines<'_> {
    type Reason = Infallible;

    fn take(&mut self, piece: OutputPiece) -> Result<(), Ending<Infallible>> {
        if piece.is_stdout {
            return Ok(());
        }
        for part in piece.bytes.split_inclusive(|&byte| byte == b'\n') {
            self.open.extend(part);
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
        Ok(())
    }
}

impl BuildLines<'_> {
    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.open)).trim_end().to_owned();
        if line.is_empty() {
            return;
        }
        (self.tell)(line.trim_start());
        if self.last.len() == LAST_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }
}

/// A revision to be checked out, and built if it has a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The repository.
    pub repository: PathBuf,
    /// The revision, in any form that git accepts.
    pub revision: String,
    /// The folder of the cache in which revisions are stored, each under its full id.
    pub cache: PathBuf,
    /// The end of the folder's name, because another build of a revision, or a build with other variables, may leave
    /// other files. It is empty if the revision is not built.
    pub build_id: String,
    /// The command that builds it, which runs in its folder; empty if it is not built.
    pub build: Vec<OsString>,
    /// The environment of that command.
    pub environment: Vec<(OsString, OsString)>,
}

impl Checkout {
    /// Checks the revision out and builds it, unless it is in the cache, and returns its folder. `note` is called
    /// before slow steps; setting `stop` ends it.
    ///
    /// # Errors
    ///
    /// [`ProcessError`] if the revision does not exist or does not build; [`ProcessError::Stopped`].
    pub fn run(
        &self,
        limits: InstallLimits,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, ProcessError> {
        let revision = Revision::find(&self.repository, &self.revision, limits, stop)?;
        let end = if self.build_id.is_empty() { "" } else { "-" };
        let name = format!("checkout-{}{end}{}", revision.sha, self.build_id);
        let folder = self.cache.join(name);
        once(&folder, |to, lock| {
            note(&format!("checking out {}", self.revision));
            revision.check_out(to, lock, limits, stop)?;
            let Some((program, args)) = self.build.split_first() else { return Ok(()) };
            note(&format!("building {}", self.revision));
            let mut command = command(program);
            command.args(args).current_dir(to).env_clear();
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let built = build(command, limits.of_program(Some(lock)), stop, &mut |_| {});
            built.map_err(|error| match error {
                ProcessError::Build { lines } => {
                    let lines = lines.join("\n");
                    let last = truncate(&lines, LAST_WORDS, Keep::End);
                    ProcessError::Failed {
                        why: format!("the build failed: {last}"),
                        hint: "run `build` of the subject by hand in a checkout of it".to_owned(),
                    }
                }
                error => error,
            })
        })?;
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_revision_is_checked_out_and_built_once() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("repository");
        std::fs::create_dir(&repository).unwrap();
        let git = |args: &[&str]| {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
            let done =
                Command::new("git").args(identity).args(args).current_dir(&repository).output();
            assert!(done.unwrap().status.success(), "{args:?}");
        };
        git(&["init", "--quiet"]);
        for text in ["one", "two"] {
            std::fs::write(repository.join("file"), text).unwrap();
            git(&["add", "."]);
            git(&["commit", "--quiet", "-m", text]);
        }
        let path = std::env::var_os("PATH").unwrap();
        let built_by = |revision: &str, build: &str| Checkout {
            repository: repository.clone(),
            revision: revision.to_owned(),
            cache: folder.path().join("cache"),
            build_id: build.len().to_string(),
            build: ["sh", "-c", build].map(OsString::from).to_vec(),
            environment: vec![("PATH".into(), path.clone()), ("MINE".into(), "2".into())],
        };
        let checkout = |revision: &str| built_by(revision, "cat file > built");
        let stop = AtomicBool::new(false);
        let mut notes = 0;
        for _ in 0..2 {
            let note = &mut |_: &str| notes += 1;
            let at = checkout("HEAD~1").run(InstallLimits::default(), &stop, note).unwrap();
            assert_eq!(std::fs::read_to_string(at.join("built")).unwrap(), "one");
        }
        assert_eq!(notes, 2, "the second time nothing is done");
        let other = built_by("HEAD~1", "env > built");
        let at = other.run(InstallLimits::default(), &stop, &mut |_| {}).unwrap();
        let built = std::fs::read_to_string(at.join("built")).unwrap();
        let names = built.lines().filter_map(|line| line.split('=').next());
        // A shell sets some variables of its own.
        let mut names: Vec<&str> =
            names.filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name)).collect();
        names.sort_unstable();
        assert_eq!(names, ["MINE", "PATH"], "another build is another folder: {built}");
        let error = checkout("none").run(InstallLimits::default(), &stop, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("git has no revision none there"), "{error}");
    }
}
