//! A revision of a git repository in a folder of its own, built once: a program before and after a change.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::Exit;
use clitape_recording::limits::OutputLimits;
use clitape_recording::text::{Keep, truncate};

use super::RecordError;
use super::child::{Ended, Notes, Script, Why, drive};
use super::git::Git;
use super::launch::{Guard, command};
use super::npm::once;
use super::review::settings_digest;
use super::settings::ResolveSettings;

/// The columns of a program's last words in an error.
const LAST_WORDS: usize = 400;

/// A revision that is checked out, and built if a command is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The repository.
    pub repository: PathBuf,
    /// The revision, as git names it.
    pub revision: String,
    /// The folder of the cache in which revisions are kept, each under its full id and a digest of how it is built.
    pub cache: PathBuf,
    /// The command that builds it, which runs in its folder; empty if nothing is built.
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
    /// [`RecordError`] when there is no such revision, or it does not build; [`RecordError::Stopped`].
    pub fn run(
        &self,
        limits: ResolveSettings,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, RecordError> {
        let revision = format!("{}^{{commit}}", self.revision);
        let find = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        let hint = format!("look for it with `git -C {} log`", self.repository.display());
        let sha = self.git(&self.repository, &find, None, limits, stop, &hint)?;
        let sha = sha.trim();
        let folder = self.cache.join(self.folder_name(sha));
        once(&folder, |to, lock| {
            note(&format!("checking out {}", self.revision));
            let hint = "check the repository with `git fsck`";
            let clone = ["clone", "--quiet", "--no-checkout", "--no-recurse-submodules", "--"];
            let clone = clone.map(OsStr::new).into_iter();
            let clone: Vec<_> =
                clone.chain([self.repository.as_os_str(), OsStr::new(".")]).collect();
            self.git(to, &clone, Some(lock), limits, stop, hint)?;
            let checkout = ["checkout", "--quiet", "--detach", sha];
            self.git(to, &checkout, Some(lock), limits, stop, hint)?;
            let Some((program, args)) = self.build.split_first() else { return Ok(()) };
            note(&format!("building {}", self.revision));
            let mut build = command(program);
            build.args(args).current_dir(to).env_clear();
            build.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let hint = "run `build` of the subject by hand in a checkout of it";
            let (script, limit) = (script(Some(lock), limits), limits.install_time);
            let ended = drive(build, script, limit, stop, &Notes::new())?;
            printed(&ended, "the build", hint).map(drop)
        })?;
        Ok(folder)
    }

    /// The name of the folder of a revision. Another build of it, or a build with other variables, may leave other
    /// files.
    fn folder_name(&self, sha: &str) -> String {
        if self.build.is_empty() {
            return format!("checkout-{sha}");
        }
        let build = self.build.iter().map(|word| word.as_encoded_bytes());
        let names = self.environment.iter().map(|(name, _)| name.as_encoded_bytes());
        let settings = [("build", build.collect()), ("environment", names.collect())];
        format!("checkout-{sha}-{}", &settings_digest(&settings)[..12])
    }

    fn git<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: &[S],
        lock: Option<&Path>,
        limits: ResolveSettings,
        stop: &AtomicBool,
        hint: &str,
    ) -> Result<String, RecordError> {
        let git = Git {
            folder,
            variables: &[("GIT_ALLOW_PROTOCOL", OsStr::new("file"))],
            script: script(lock, limits),
            limit: limits.install_time,
            stop,
        };
        printed(&git.run(args)?, &format!("git has no revision {} there, or", self.revision), hint)
    }
}

/// The limit of the output of a command, and the settings that end it.
fn script(lock: Option<&Path>, limits: ResolveSettings) -> Script<'_> {
    Script {
        guard: Guard { lock, ..Guard::default() },
        output: OutputLimits::within(limits.install_output),
        ..Script::default()
    }
}

/// Returns what a command printed, or the reason why it failed.
fn printed(ended: &Ended, what: &str, hint: &str) -> Result<String, RecordError> {
    match (&ended.why, ended.exit) {
        (Why::Stopped, _) => Err(RecordError::Stopped),
        (Why::Itself, Exit::Code(0)) => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        _ => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said = truncate(said.trim(), LAST_WORDS, Keep::End).into_owned();
            let why = format!("{what} failed: {said}");
            Err(RecordError::NoClaude { why, hint: hint.to_owned() })
        }
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
            build: ["sh", "-c", build].map(OsString::from).to_vec(),
            environment: vec![("PATH".into(), path.clone()), ("MINE".into(), "2".into())],
        };
        let checkout = |revision: &str| built_by(revision, "cat file > built");
        let stop = AtomicBool::new(false);
        let mut notes = 0;
        for _ in 0..2 {
            let note = &mut |_: &str| notes += 1;
            let at = checkout("HEAD~1").run(ResolveSettings::default(), &stop, note).unwrap();
            assert_eq!(std::fs::read_to_string(at.join("built")).unwrap(), "one");
        }
        assert_eq!(notes, 2, "the second time nothing is done");
        let other = built_by("HEAD~1", "env > built");
        let at = other.run(ResolveSettings::default(), &stop, &mut |_| {}).unwrap();
        let built = std::fs::read_to_string(at.join("built")).unwrap();
        let names = built.lines().filter_map(|line| line.split('=').next());
        // A shell sets some of its own.
        let mut names: Vec<&str> =
            names.filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name)).collect();
        names.sort_unstable();
        assert_eq!(names, ["MINE", "PATH"], "another build is another folder: {built}");
        let error =
            checkout("none").run(ResolveSettings::default(), &stop, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("git has no revision none there"), "{error}");
    }
}
