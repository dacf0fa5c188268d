//! Finds or installs the CLI that is to be recorded.

use std::env::join_paths;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::host::HostPaths;
use clitape_process::{
    Bounds, ConfineBy, Ended, Guard, InstallLimits, Npm, NpmCall, PREFIX, ProcessError, RunLimits,
    Scratch, Why, command, once, run_to_end,
};
use clitape_recording::cassette::sha256_of_file;
use clitape_recording::limits::{OutputLimits, VERSION_OUTPUT, VERSION_TIME};
use clitape_recording::names::{CliVersion, NameError};
use fs_err as fs;

use super::RecordError;
use super::error::CliOutput;
use super::workspace::no_folder;

/// The settings of the search for a CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolveSettings {
    /// The longest time of `claude --version`.
    pub version_time: Duration,
    /// The most bytes that it may print on stdout; stderr has the same limit.
    pub version_output: ByteSize,
    /// The limits of npm when it installs a CLI.
    pub install: InstallLimits,
    /// The way in which the CLI is confined when it is asked for its version, if the system has it; `None` does not
    /// confine it.
    pub confine: Option<ConfineBy>,
}

impl Default for ResolveSettings {
    fn default() -> Self {
        Self {
            version_time: VERSION_TIME,
            version_output: VERSION_OUTPUT,
            install: InstallLimits::default(),
            confine: Some(ConfineBy::Any),
        }
    }
}

/// The CLI to record, a value of `--claude`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaudeChoice {
    /// The program at a path.
    Path(PathBuf),
    /// `npm:VERSION`: this version, installed with npm into the cache.
    Npm(CliVersion),
    /// `path`: the `claude` on PATH.
    OnPath,
}

impl FromStr for ClaudeChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("npm:") {
            Some(version) => {
                version.parse().map(Self::Npm).map_err(|error: NameError| error.to_string())
            }
            None if text == "path" => Ok(Self::OnPath),
            None if text.is_empty() => Err("write a path, npm:VERSION or path".into()),
            None if text.parse::<CliVersion>().is_ok() => {
                Err(format!("did you mean `npm:{text}`? A program of this name is `./{text}`"))
            }
            None => Ok(Self::Path(text.into())),
        }
    }
}

/// A CLI that can be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claude {
    /// The program.
    pub program: PathBuf,
    /// Its version, as it prints it.
    pub version: CliVersion,
    /// The SHA-256 of the program after every link was followed. npm's `.bin/claude` is a link to the native binary in
    /// later versions, which is the same for all users of that platform, and to `cli.js`, which node runs, in earlier
    /// ones. If the program is a script that starts a CLI in another place, this is the hash of the script.
    pub sha256: String,
}

impl Claude {
    fn new(program: PathBuf, version: CliVersion) -> Result<Self, RecordError> {
        let sha256 = sha256_of_file(&program)?;
        Ok(Self { program, version, sha256 })
    }
}

/// Finds the CLI of `choice`. `note` is called before slow steps; setting `stop` ends the search.
///
/// `npm:VERSION` is installed once as `<cache>/claude/<VERSION>`, whole or not at all.
///
/// # Errors
///
/// [`RecordError::NoClaude`], which says what to run; [`RecordError::Stopped`].
pub fn resolve(
    choice: &ClaudeChoice,
    cache: &Path,
    limits: ResolveSettings,
    host: &HostPaths,
    stop: &AtomicBool,
    note: &mut dyn FnMut(&str),
) -> Result<Claude, RecordError> {
    match choice {
        ClaudeChoice::Path(path) => {
            let program = std::path::absolute(path)?;
            let hint = "name the program with `--claude PATH`";
            let version = version(&program, hint, limits, host, stop)?;
            Claude::new(program, version)
        }
        ClaudeChoice::OnPath => {
            let hint = "run `npm install -g @anthropic-ai/claude-code`, or choose another with \
                        `--claude PATH` or `--claude npm:VERSION`";
            let Some(program) = host.which("claude") else {
                return Err(no_claude("there is no `claude` on PATH".into(), hint));
            };
            let version = version(&program, hint, limits, host, stop)?;
            Claude::new(program, version)
        }
        ClaudeChoice::Npm(wanted) => {
            let npm = Npm { program: host.which("npm") };
            installed(wanted, &installed_at(cache, wanted), &npm, limits, host, stop, note)
        }
    }
}

/// Returns the newest version of the CLI that npm knows.
///
/// # Errors
///
/// [`ProcessError::Failed`] when npm can't be asked; [`ProcessError::Stopped`].
pub fn newest(
    limits: ResolveSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<CliVersion, ProcessError> {
    let npm = Npm { program: host.which("npm") };
    npm.newest("@anthropic-ai/claude-code", &Scratch::for_program(host)?, limits.install, stop)
}

/// Installs a version of the CLI into `to`.
fn install(
    npm: &Npm,
    wanted: &CliVersion,
    to: &Path,
    lock: &Path,
    limits: ResolveSettings,
    stop: &AtomicBool,
) -> Result<(), ProcessError> {
    let call = NpmCall {
        what: &format!("claude {wanted}"),
        packages: &[format!("@anthropic-ai/claude-code@{wanted}")],
        runs_scripts: true,
        otherwise: "name an installed CLI with `--claude PATH`",
        has_options: true,
    };
    npm.install(&call, to, lock, limits.install, stop)
}

/// Returns the folder in the cache that a version of the CLI is installed into.
pub fn installed_at(cache: &Path, version: &CliVersion) -> PathBuf {
    cache.join("claude").join(version.as_str())
}

fn installed(
    wanted: &CliVersion,
    folder: &Path,
    npm: &Npm,
    limits: ResolveSettings,
    host: &HostPaths,
    stop: &AtomicBool,
    note: &mut dyn FnMut(&str),
) -> Result<Claude, RecordError> {
    once(folder, |to, lock| {
        note(&format!("installing claude {wanted} with npm"));
        install(npm, wanted, to, lock, limits, stop)
    })?;
    let program = folder.join("node_modules/.bin/claude");
    let hint = format!(
        "remove {} and record again, or name an installed CLI with `--claude PATH`",
        folder.display()
    );
    let version = version(&program, &hint, limits, host, stop)?;
    if version != *wanted {
        let why = format!("{} is version {version}, not {wanted}", program.display());
        return Err(no_claude(why, &hint));
    }
    Claude::new(program, version)
}

/// Returns the version that `program --version` prints.
fn version(
    program: &Path,
    hint: &str,
    limits: ResolveSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<CliVersion, RecordError> {
    let ended = printed(program, "--version", hint, limits, host, stop)?;
    let text = String::from_utf8_lossy(&ended.output.stdout).into_owned();
    // Empty output has no version.
    match text.split_whitespace().next().unwrap_or_default().parse() {
        Ok(version) => Ok(version),
        Err(_) => {
            let printed = CliOutput::new(&ended.output.stdout, &ended.output.stderr);
            let why = format!("{} --version prints no version{printed}\n", program.display());
            Err(no_claude(why, hint))
        }
    }
}

/// Returns the output of `claude --help`.
///
/// # Errors
///
/// [`RecordError::NoClaude`] if it can't be run, prints no text or too much, or does not end in time;
/// [`RecordError::Stopped`].
pub fn help(
    claude: &Claude,
    limits: ResolveSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<String, RecordError> {
    let hint = "name another CLI with `--claude PATH`";
    let ended = printed(&claude.program, "--help", hint, limits, host, stop)?;
    if ended.output.stdout.is_empty() {
        let printed = CliOutput::new(&ended.output.stdout, &ended.output.stderr);
        let why = format!("{} --help prints nothing{printed}\n", claude.program.display());
        return Err(no_claude(why, hint));
    }
    Ok(String::from_utf8_lossy(&ended.output.stdout).into_owned())
}

/// Runs a CLI with one argument and an empty HOME until it ends.
fn printed(
    program: &Path,
    argument: &str,
    hint: &str,
    limits: ResolveSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<Ended, RecordError> {
    let no_folder = |error: io::Error| no_folder(&host.temporary, &error);
    let parent = fs::canonicalize(&host.temporary).map_err(no_folder)?;
    let home = Scratch::new(&parent, PREFIX).map_err(no_folder)?;
    let mut call = command(program);
    call.arg(argument)
        .env_clear()
        .env("PATH", search_path(program, host))
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .env("DISABLE_AUTOUPDATER", "1")
        .current_dir(home.path());
    let lock = home.lock();
    let bounds = limits.confine.map(|by| Bounds::new(program, home.path(), None, by, host));
    let guard = Guard { lock: Some(&lock), bounds: bounds.as_ref(), ..Guard::default() };
    let output = OutputLimits::within(limits.version_output);
    let limits_of_run = RunLimits { output, kept: None, time: limits.version_time, guard };
    let ended = run_to_end(call, limits_of_run, stop).map_err(|error| match error {
        ProcessError::Io(error) => {
            no_claude(format!("can't run {}: {error}", program.display()), hint)
        }
        error => error.into(),
    })?;
    let past = |what: &str, option: &str| {
        let program = program.display();
        let why =
            format!("{program} {argument} {what} and was ended; raise the limit with `{option}`");
        Err(no_claude(why, &format!("or {hint}")))
    };
    match ended.why {
        Why::Overflow(what) => past(&format!("printed {what}"), "--max-version-output"),
        Why::Limit => {
            let s = limits.version_time.as_secs_f64();
            past(&format!("had not ended after {s} s"), "--version-timeout")
        }
        Why::Itself => Ok(ended),
    }
}

/// Returns the PATH of a recorded CLI: the folders of the CLI, of node and of the system.
pub(crate) fn search_path(program: &Path, host: &HostPaths) -> OsString {
    let node = host.which("node");
    let beside = [Some(program), node.as_deref()];
    let mut folders: Vec<PathBuf> = beside
        .into_iter()
        .flatten()
        .filter_map(|program| program.parent().map(Path::to_owned))
        .collect();
    folders.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
    // Only a folder with a colon in its name is refused, and no PATH can contain it.
    join_paths(folders).unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into())
}

fn no_claude(why: String, hint: &str) -> RecordError {
    RecordError::NoClaude { why, hint: hint.to_owned() }
}

#[cfg(test)]
mod tests;
