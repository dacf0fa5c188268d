//! Installs packages with npm into a folder of the cache, once, and completely or not at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_recording::cassette::Exit;
use clitape_recording::limits::{INSTALL_OUTPUT, INSTALL_TIME, OutputLimits};
use clitape_recording::names::CliVersion;
use fs_err as fs;

use super::error::ProcessError;
use super::launch::{Guard, command};
use super::program::{RunLimits, Why, run_to_end};
use super::scratch::{Scratch, sweep};
use crate::host::HostPaths;

/// The limits of a program that installs or builds another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallLimits {
    /// The longest time that it may take.
    pub time: Duration,
    /// The most bytes that it may print on stdout; stderr has the same limit.
    pub output: ByteSize,
}

impl Default for InstallLimits {
    fn default() -> Self {
        Self { time: INSTALL_TIME, output: INSTALL_OUTPUT }
    }
}

impl InstallLimits {
    /// Returns the limits of a program that works in the temporary folder with this lock file, if it has one.
    pub fn of_program(self, lock: Option<&Path>) -> RunLimits<'_> {
        RunLimits {
            output: OutputLimits::within(self.output),
            kept: None,
            time: self.time,
            guard: Guard { lock, ..Guard::default() },
        }
    }
}

/// The start of the names of folders for installs in progress.
const INSTALLING: &str = ".installing-";

/// The npm that installs packages.
#[derive(Debug, Clone)]
pub struct Npm {
    /// The program; `None` if it is missing.
    pub program: Option<PathBuf>,
}

/// One call of npm.
#[derive(Debug, Clone, Copy)]
pub struct NpmCall<'a> {
    /// The name of the package for people: `claude 2.1.329`.
    pub what: &'a str,
    /// The packages, such as `openclaw@2026.6.1`.
    pub packages: &'a [String],
    /// True if npm runs the scripts of the packages.
    pub runs_scripts: bool,
    /// The way around npm for a person, as the end of a sentence.
    pub otherwise: &'a str,
    /// True if the limits are options of the command.
    pub has_options: bool,
}

impl Npm {
    /// Installs packages into `to`, a folder in the temporary one with the lock file `lock`.
    pub fn install(
        &self,
        call: &NpmCall<'_>,
        to: &Path,
        lock: &Path,
        limits: InstallLimits,
        stop: &AtomicBool,
    ) -> Result<(), ProcessError> {
        let NpmCall { what, packages, runs_scripts, otherwise, has_options } = call;
        let package = packages.join(" ");
        let Some(program) = &self.program else {
            return Err(no_package(
                format!("{what} is not installed and there is no `npm` on PATH"),
                &format!("install Node.js, or {otherwise}"),
            ));
        };
        let mut npm = command_in(to, program, &["install", "--no-audit", "--no-fund"]);
        npm.args(*packages);
        npm.args((!runs_scripts).then_some("--ignore-scripts"));
        let tried = run(npm, lock, limits, *has_options, stop)?;
        let Err(reason) = tried else { return Ok(()) };
        Err(no_package(
            format!("npm could not install {package}: {reason}"),
            &format!("run `npm install {package}` to see why, or {otherwise}"),
        ))
    }

    /// Asks the registry for the newest version of a package. `empty` is an empty folder.
    pub fn newest(
        &self,
        package: &str,
        empty: &Scratch,
        limits: InstallLimits,
        stop: &AtomicBool,
    ) -> Result<CliVersion, ProcessError> {
        let hint = "name a version in place of `latest`";
        let Some(program) = &self.program else {
            return Err(no_package("there is no `npm` on PATH to ask for the newest".into(), hint));
        };
        let npm = command_in(empty.path(), program, &["view", package, "version"]);
        let tried = run(npm, &empty.lock(), limits, true, stop)?;
        let printed = tried
            .map_err(|reason| no_package(format!("npm can't find {package}: {reason}"), hint))?;
        let printed = String::from_utf8_lossy(&printed).trim().to_owned();
        let why = |_| no_package(format!("npm names no version of {package}: {printed}"), hint);
        printed.parse().map_err(why)
    }
}

/// Makes a command of npm in a folder without files of the workspace, whose `.npmrc` and `package.json` could name
/// another registry and another version. npm would look for them in the parents of its folder too, unless that is the
/// prefix.
fn command_in(folder: &Path, npm: &Path, args: &[&str]) -> Command {
    let mut command = command(npm);
    command.args(args).arg("--prefix").arg(folder).current_dir(folder);
    command
}

/// Runs npm; returns its output, or a description of its failure. The description names the option that raises a limit,
/// if the command has it.
fn run(
    npm: Command,
    lock: &Path,
    limits: InstallLimits,
    has_options: bool,
    stop: &AtomicBool,
) -> Result<Result<Vec<u8>, String>, ProcessError> {
    let raise = |option: &str| match has_options {
        true => format!("; raise the limit with `{option}`"),
        false => String::new(),
    };
    let ended = run_to_end(npm, limits.of_program(Some(lock)), stop)?;
    Ok(Err(match ended.why {
        Why::Itself if ended.exit == Exit::Code(0) => return Ok(Ok(ended.output.stdout)),
        Why::Itself => ended.stderr_text(),
        Why::Limit => {
            let s = limits.time.as_secs_f64();
            format!("it had not ended after {s} s and was ended{}", raise("--install-timeout"))
        }
        Why::Overflow(what) => {
            format!("it printed {what} and was ended{}", raise("--max-install-output"))
        }
    }))
}

/// Makes `folder` with the files that `install` puts into a temporary folder beside it, which has a lock file; an
/// existing folder stays unchanged.
pub fn once(
    folder: &Path,
    install: impl FnOnce(&Path, &Path) -> Result<(), ProcessError>,
) -> Result<(), ProcessError> {
    let (Some(cache), false) = (folder.parent(), folder.exists()) else { return Ok(()) };
    fs::create_dir_all(cache)?;
    sweep(cache, INSTALLING);
    let fresh = Scratch::new(cache, INSTALLING)?;
    let whole = fresh.path().join("whole");
    fs::create_dir(&whole)?;
    install(&whole, &fresh.lock())?;
    let moved = fs::rename(&whole, folder);
    // Another process may have installed the same package meanwhile.
    if !folder.exists() {
        moved?;
    }
    Ok(())
}

fn no_package(why: String, hint: &str) -> ProcessError {
    ProcessError::Failed { why, hint: hint.to_owned() }
}

/// The packages that npm installs for a program other than a CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// The folder in the cache, with a name of this install alone.
    pub folder: PathBuf,
    /// The package with its version, such as `openclaw@2026.6.1`.
    pub package: String,
    /// The version of node that is installed beside it; the machine's own if absent.
    pub node: Option<String>,
    /// The versions of the package's own dependencies that replace others.
    pub overrides: BTreeMap<String, String>,
    /// True if npm runs the scripts of the packages.
    pub runs_scripts: bool,
}

/// The result of an [`Install`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The folder that contains `node_modules`.
    pub folder: PathBuf,
    /// The program `node`, if it was installed.
    pub node: Option<PathBuf>,
}

impl Install {
    /// Installs the packages, unless they are in the cache. `note` is called before slow steps; setting `stop` ends it.
    ///
    /// # Errors
    ///
    /// [`ProcessError`], which names the next step; [`ProcessError::Stopped`].
    pub fn run(
        &self,
        limits: InstallLimits,
        host: &HostPaths,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<Installed, ProcessError> {
        let node = self.node.as_ref().map(|version| (node_package(), version));
        let npm = Npm { program: host.which("npm") };
        once(&self.folder, |to, lock| {
            note(&format!("installing {} with npm", self.package));
            if !self.overrides.is_empty() {
                let manifest = serde_json::json!({ "private": true, "overrides": self.overrides });
                fs::write(to.join("package.json"), manifest.to_string())?;
            }
            let packages = std::iter::once(self.package.clone());
            let node = node.as_ref().map(|(package, version)| format!("{package}@{version}"));
            let packages: Vec<String> = packages.chain(node).collect();
            let call = NpmCall {
                what: &self.package,
                packages: &packages,
                runs_scripts: self.runs_scripts,
                otherwise: "install it yourself and name its program in `command`",
                has_options: false,
            };
            npm.install(&call, to, lock, limits, stop)
        })?;
        let program =
            |(package, _)| self.folder.join("node_modules").join(package).join("bin/node");
        Ok(Installed { folder: self.folder.clone(), node: node.map(program) })
    }
}

/// Returns the package with the program `node` for this machine.
fn node_package() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    format!("node-{system}-{processor}")
}
