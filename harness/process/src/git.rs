//! Calls git so that it runs no program that the repository names.
//!
//! A repository can name programs in `.git/config` and its includes, as hooks, and by its attributes, and an unpacked
//! archive may contain a `.git`. Git has no switch for all of these, so that each kind is turned off separately:
//! connections by the environment, which the processes of git pass on, and the rest as options on the command line,
//! which override any file. Filters and hooks have arbitrary names: they are listed first, by a command that runs no
//! program. That includes filters of the user, such as that of Git LFS, because they read the repository's
//! configuration too.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::Exit;

use super::error::ProcessError;
use super::launch::command;
use super::program::{Ended, RunLimits, Why, run_to_end};

/// The options that turn off settings with a fixed name.
const OPTIONS: [&str; 11] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.askPass=false",
    "credential.helper=",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "log.showSignature=false",
    "maintenance.auto=false",
    "gc.auto=0",
];

/// The options that turn off each filter and each hook of the configuration, by the section that has it.
const NAMED: [(&str, &[&str]); 2] = [
    ("filter", &["clean=", "smudge=", "process=", "required=false"]),
    ("hook", &["enabled=false"]),
];

/// The variables that keep git from connections, questions and locks. An empty list of protocols allows none.
const VARIABLES: [(&str, &str); 4] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// The variables that lead to another repository or configuration than that of the folder. Git sets them for its hooks,
/// one of which may run clitape.
const ELSEWHERE: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    // `git config` alone would read another file than the commands whose filters it lists.
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_ATTR_SOURCE",
];

/// A call of git: its folder, its environment and its limits.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a> {
    /// The folder in which it starts.
    pub folder: &'a Path,
    /// Further variables of its environment, which override those of every call.
    pub variables: &'a [(&'a str, &'a OsStr)],
    /// The limits of a process, and the settings that end it.
    pub limits: RunLimits<'a>,
    /// The flag that ends it when it is set.
    pub stop: &'a AtomicBool,
}

impl Git<'_> {
    /// Runs git with these arguments to its end.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Stopped`]; if git can't be started, or the configuration has a filter or hook whose name can't
    /// be an option.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Ended, ProcessError> {
        let listed = ["config", "--null", "--name-only", "--get-regexp", r"^(filter|hook)\..*\."];
        let listed = self.call(&[], &listed)?;
        match (&listed.why, listed.exit) {
            (Why::Itself, Exit::Code(0)) => {}
            // The configuration has no filter and no hook.
            (Why::Itself, Exit::Code(1)) if listed.output.stdout.is_empty() => {}
            _ => return Ok(listed),
        }
        self.call(&turned_off(&listed.output.stdout)?, args)
    }

    fn call<S: AsRef<OsStr>>(
        &self,
        options: &[OsString],
        args: &[S],
    ) -> Result<Ended, ProcessError> {
        let mut git = command("git");
        for name in ELSEWHERE {
            git.env_remove(name);
        }
        git.envs(VARIABLES).envs(self.variables.iter().copied());
        git.arg("-C").arg(self.folder).arg("--no-pager");
        for option in OPTIONS.iter().map(OsStr::new).chain(options.iter().map(OsString::as_os_str))
        {
            git.arg("-c").arg(option);
        }
        git.args(args);
        run_to_end(git, self.limits, self.stop)
    }
}

/// Returns the options that turn off the filters and hooks with these keys, each of which ends with NUL.
fn turned_off(keys: &[u8]) -> Result<Vec<OsString>, ProcessError> {
    let mut options = Vec::new();
    for key in keys.split(|&byte| byte == 0).filter(|key| !key.is_empty()) {
        let Some(end) = key.iter().rposition(|&byte| byte == b'.') else { continue };
        let name = &key[..end];
        if name.contains(&b'=') {
            let name = String::from_utf8_lossy(name);
            let why = format!(
                "git's configuration has `{name}`, which can't be turned off because its name has a `=`"
            );
            return Err(ProcessError::Failed { why, hint: "rename it".to_owned() });
        }
        for (_, settings) in NAMED.iter().filter(|(kind, _)| name.starts_with(kind.as_bytes())) {
            for setting in *settings {
                let option = [name, b".", setting.as_bytes()].concat();
                options.push(OsString::from_vec(option));
            }
        }
    }
    options.sort();
    options.dedup();
    Ok(options)
}

/// Returns the folder whose `.git` is the repository of `folder`, as an absolute path; `None` if the repository is in
/// no `.git`. Git itself would take the folder in the repository's `core.worktree`, which may be any.
pub fn work_tree(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().find(|at| at.join(".git").exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_filter_and_hook_is_turned_off_once() {
        for (keys, expect) in [
            ("", Ok(&[][..])),
            (
                "filter.a.clean\0filter.a.process\0hook.b c.command\0",
                Ok(&[
                    "filter.a.clean=",
                    "filter.a.process=",
                    "filter.a.required=false",
                    "filter.a.smudge=",
                    "hook.b c.enabled=false",
                ]),
            ),
            (
                "filter.with.dots.clean\0",
                Ok(&[
                    "filter.with.dots.clean=",
                    "filter.with.dots.process=",
                    "filter.with.dots.required=false",
                    "filter.with.dots.smudge=",
                ]),
            ),
            ("filter.a=b.clean\0", Err("has `filter.a=b`, which can't be turned off")),
        ] {
            match (turned_off(keys.as_bytes()), expect) {
                (Ok(options), Ok(expect)) => assert_eq!(options, expect, "{keys:?}"),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (options, _) => panic!("{keys:?}: {options:?}"),
            }
        }
    }
}
