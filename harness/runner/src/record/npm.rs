//! Installs packages with npm into a folder of the cache, whole or not at all, and once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::Exit;
use clitape_recording::limits::OutputLimits;
use clitape_recording::names::CliVersion;
use fs_err as fs;

use super::RecordError;
use super::child::{Notes, Script, Why, drive};
use super::launch::{Guard, command};
use super::scratch::{Scratch, sweep};
use super::settings::ResolveSettings;
use crate::host::HostPaths;

/// The start of the names of folders for installs in progress.
const INSTALLING: &str = ".installing-";

/// The npm that installs.
pub(super) struct Npm {
    pub(super) program: Option<PathBuf>,
}

/// One call of npm.
pub(super) struct NpmCall<'a> {
    /// What is installed, for people: `claude 2.1.329`.
    pub(super) what: &'a str,
    /// The packages, such as `openclaw@2026.6.1`.
    pub(super) packages: &'a [String],
    /// Whether npm runs the scripts of the packages.
    pub(super) runs_scripts: bool,
    /// How a person gets around npm, as the end of a sentence.
    pub(super) otherwise: &'a str,
    /// Whether the limits are options of the command.
    pub(super) has_options: bool,
}

impl Npm {
    /// Installs packages into `to`, a folder in the temporary one whose lock file is `lock`.
    pub(super) fn install(
        &self,
        call: &NpmCall<'_>,
        to: &Path,
        lock: &Path,
        limits: ResolveSettings,
        stop: &AtomicBool,
    ) -> Result<(), RecordError> {
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
        let script = Script {
            guard: Guard { lock: Some(lock), ..Guard::default() },
            output: OutputLimits::within(limits.install_output),
            ..Script::default()
        };
        let tried = run(npm, script, limits, *has_options, stop)?;
        let Err(reason) = tried else { return Ok(()) };
        Err(no_package(
            format!("npm could not install {package}: {reason}"),
            &format!("run `npm install {package}` to see why, or {otherwise}"),
        ))
    }

    /// The newest version of a package in the registry. `empty` is an empty folder.
    fn newest(
        &self,
        package: &str,
        empty: &Scratch,
        limits: ResolveSettings,
        stop: &AtomicBool,
    ) -> Result<CliVersion, RecordError> {
        let hint = "name a version in place of `latest`";
        let Some(program) = &self.program else {
            return Err(no_package("there is no `npm` on PATH to ask for the newest".into(), hint));
        };
        let npm = command_in(empty.path(), program, &["view", package, "version"]);
        let lock = empty.lock();
        let script = Script {
            guard: Guard { lock: Some(&lock), ..Guard::default() },
            output: OutputLimits::within(limits.install_output),
            ..Script::default()
        };
        let tried = run(npm, script, limits, true, stop)?;
        let printed = tried
            .map_err(|reason| no_package(format!("npm can't find {package}: {reason}"), hint))?;
        let printed = String::from_utf8_lossy(&printed).trim().to_owned();
        let why = |_| no_package(format!("npm names no version of {package}: {printed}"), hint);
        printed.parse().map_err(why)
    }
}

/// The newest version of the CLI that npm knows.
///
/// # Errors
///
/// [`RecordError::NoClaude`] when npm can't be asked; [`RecordError::Stopped`].
pub fn newest(
    limits: ResolveSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<CliVersion, RecordError> {
    let npm = Npm { program: host.which("npm") };
    npm.newest("@anthropic-ai/claude-code", &Scratch::for_program(host)?, limits, stop)
}

/// A command of npm in a folder that has nothing of the workspace, whose `.npmrc` and `package.json` could name another
/// registry and another version. npm would look for them in the parents of its folder too, unless that is the prefix.
fn command_in(folder: &Path, npm: &Path, args: &[&str]) -> Command {
    let mut command = command(npm);
    command.args(args).arg("--prefix").arg(folder).current_dir(folder);
    command
}

/// Runs npm: what it printed, or why it did not do what it should. That names the option that raises a limit, if the
/// command has it.
fn run(
    npm: Command,
    script: Script<'_>,
    limits: ResolveSettings,
    has_options: bool,
    stop: &AtomicBool,
) -> Result<Result<Vec<u8>, String>, RecordError> {
    let raise = |option: &str| match has_options {
        true => format!("; raise the limit with `{option}`"),
        false => String::new(),
    };
    let ended = drive(npm, script, limits.install_time, stop, &Notes::new())?;
    Ok(Err(match ended.why {
        Why::Stopped => return Err(RecordError::Stopped),
        Why::Itself if ended.exit == Exit::Code(0) => return Ok(Ok(ended.stdout)),
        Why::Itself | Why::Alarm(_) => String::from_utf8_lossy(&ended.stderr).trim().to_owned(),
        Why::Limit => {
            let s = limits.install_time.as_secs_f64();
            format!("it had not ended after {s} s and was ended{}", raise("--install-timeout"))
        }
        Why::Overflow(what) => {
            format!("it printed {what} and was ended{}", raise("--max-install-output"))
        }
    }))
}

/// Makes `folder` with what `install` puts into a temporary folder beside it, which has a lock file; does nothing
/// if the folder is there.
pub(super) fn once(
    folder: &Path,
    install: impl FnOnce(&Path, &Path) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    let (Some(cache), false) = (folder.parent(), folder.exists()) else { return Ok(()) };
    fs::create_dir_all(cache)?;
    sweep(cache, INSTALLING);
    let fresh = Scratch::new(cache, INSTALLING)?;
    let whole = fresh.path().join("whole");
    fs::create_dir(&whole)?;
    install(&whole, &fresh.lock())?;
    let moved = fs::rename(&whole, folder);
    // Another process may have installed the same at the same time.
    if !folder.exists() {
        moved?;
    }
    Ok(())
}

fn no_package(why: String, hint: &str) -> RecordError {
    RecordError::NoClaude { why, hint: hint.to_owned() }
}

/// Packages that npm installs for a program that is not a CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// The folder in the cache, whose name no other install has.
    pub folder: PathBuf,
    /// The package with its version, such as `openclaw@2026.6.1`.
    pub package: String,
    /// The version of node that is installed beside it; the machine's own when absent.
    pub node: Option<String>,
    /// Versions of the package's own dependencies that take the place of others.
    pub overrides: BTreeMap<String, String>,
    /// Whether npm runs the scripts of the packages.
    pub runs_scripts: bool,
}

/// What an [`Install`] gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The folder that contains `node_modules`.
    pub folder: PathBuf,
    /// The program `node`, where it was installed.
    pub node: Option<PathBuf>,
}

impl Install {
    /// Installs the packages, unless they are in the cache. `note` is called before slow steps; setting `stop`
    /// ends it.
    ///
    /// # Errors
    ///
    /// [`RecordError`], which says what to run; [`RecordError::Stopped`].
    pub fn run(
        &self,
        limits: ResolveSettings,
        host: &HostPaths,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<Installed, RecordError> {
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

/// The package that has the program `node` for this machine.
fn node_package() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    format!("node-{system}-{processor}")
}
