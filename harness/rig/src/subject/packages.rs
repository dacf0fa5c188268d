//! Finds the folders of packages that a gateway's command uses: the `site-packages` of its Python, and the
//! `node_modules` above its script; and in them the CLIs that SDKs bring with them, with the files that replace them.
//!
//! A Python is asked for its `sys.path`, because a virtual environment, a shim of pyenv and a `.pth` file each change
//! it. Folders of Node follow from the path of the script, by the rules of Node. In these folders are the authorities
//! of certifi, too.
//!
//! An SDK starts its own `claude` before it looks at `PATH`, so that without a replacement the real CLI would run.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_process::host::which;
use clitape_process::{Cover, Output, OutputReader, ProcessError, Program, ProgramStart};
use clitape_recording::files;
use fs_err as fs;

use super::error::SubjectError;

/// The time that a Python has to print its `sys.path`.
const LONGEST: Duration = Duration::from_secs(10);
/// The most bytes of a script's first line that the kernel reads.
const FIRST_LINE: u64 = 256;
/// The programs that run JavaScript.
const NODES: [&str; 6] = ["node", "nodejs", "bun", "deno", "tsx", "ts-node"];
/// The shells: their scripts, and the text of `-c`, name the programs that run the gateway.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ash", "ksh"];
/// The most bytes that are read of a shell script, and the depth to which scripts that start scripts are followed.
const SCRIPT: (u64, u8) = (64 << 10, 3);
/// The folders in which a project has its own Python.
const VIRTUAL: [&str; 2] = [".venv", "venv"];

/// Prints `sys.path`, and the folders of packages that an editable install leaves out of it.
const ASK_PYTHON: &str = r#"
import importlib.util, json, os, sys
folders = list(sys.path)
for name in ("claude_agent_sdk", "certifi"):
    try:
        folders.append(os.path.dirname(os.path.dirname(importlib.util.find_spec(name).origin)))
    except Exception:
        pass
print("\n" + json.dumps([os.path.abspath(folder) for folder in folders]))
"#;

/// The folders of packages that a gateway's command uses, each once, in the order in which they are searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Packages {
    /// The folders from which its Python imports, such as `site-packages`.
    pub(crate) python: Vec<PathBuf>,
    /// The `node_modules` folders from which its scripts import.
    node: Vec<PathBuf>,
}

impl Packages {
    /// Returns the folders of packages of the command that `start` would start. It runs that command's Python in the
    /// same folder and environment, so a person must have agreed to the command. A Python that fails or does not answer
    /// contributes no folders.
    ///
    /// # Errors
    ///
    /// An error if the supervisor of the Python was ended, or if no more threads can be started.
    pub(crate) fn of(start: ProgramStart<'_>, stop: &AtomicBool) -> Result<Self, ProcessError> {
        let mut found = Interpreters::default();
        found.read(start);
        let mut packages = Self { node: found.node_folders(start), ..Self::default() };
        for python in found.pythons {
            for folder in sys_path(&python, start, stop)? {
                keep(&mut packages.python, folder);
            }
        }
        Ok(packages)
    }
}

/// Adds a folder, if it exists and is not in the list.
fn keep(folders: &mut Vec<PathBuf>, folder: PathBuf) {
    if folder.is_dir() && !folders.contains(&folder) {
        folders.push(folder);
    }
}

/// Asks a Python for the folders from which it imports.
fn sys_path(
    python: &Path,
    start: ProgramStart<'_>,
    stop: &AtomicBool,
) -> Result<Vec<PathBuf>, ProcessError> {
    let command = [python.into(), "-c".into(), ASK_PYTHON.into()];
    let reader = OutputReader::Attendant;
    let asked = ProgramStart { command: &command, with_stdin: false, reader, ..start };
    // A Python that can't be started can't start the gateway either, and that start reports it.
    let Ok(mut program) = Program::start(asked) else { return Ok(Vec::new()) };
    let mut output = Output::default();
    program.attend(&mut output, LONGEST, stop)?;
    let lines = output.stdout.split(|&byte| byte == b'\n').rev();
    let folders = lines.filter_map(|line| serde_json::from_slice(line).ok()).next();
    Ok(folders.unwrap_or_default())
}

/// The programs and scripts that run the code of a gateway, as its command names them.
#[derive(Debug, Default)]
struct Interpreters {
    pythons: Vec<PathBuf>,
    /// The scripts in JavaScript.
    scripts: Vec<PathBuf>,
    /// The folders that the command names, as `npm --prefix` and `cd` do.
    folders: Vec<PathBuf>,
    /// True if the command may run code of the folder in which it starts, as `npm start` and `uv run` do.
    uses_folder: bool,
    /// The depth of the present shell script, among scripts that start each other.
    depth: u8,
}

impl Interpreters {
    /// Reads a command. If its first word is an interpreter or a script, the others are its arguments; otherwise, as
    /// for `env` or `uv run`, each of them may be a program. A folder that it names may be that of a project.
    fn read(&mut self, start: ProgramStart<'_>) {
        let [first, rest @ ..] = start.command else { return };
        let path = variable(start, "PATH").unwrap_or_default();
        let Some(program) = find(first, path, start.folder) else { return };
        if !self.take(&program, rest, start) {
            self.uses_folder = true;
            for (at, word) in rest.iter().enumerate() {
                if let Some(program) = find(word, path, start.folder) {
                    self.take(&program, &rest[at + 1..], start);
                }
            }
        }
        rest.iter().for_each(|word| self.folder(&word.to_string_lossy(), start));
        if self.uses_folder {
            self.folders.push(start.folder.to_owned());
        }
        for folder in std::mem::take(&mut self.folders) {
            self.scripts.push(folder.join("package.json"));
            for name in VIRTUAL {
                self.python_in(&folder.join(name).join("bin"));
            }
        }
        let active = variable(start, "VIRTUAL_ENV").filter(|_| self.uses_folder);
        active.into_iter().for_each(|folder| self.python_in(&Path::new(folder).join("bin")));
    }

    /// Takes a word of a command, with or without `--option=` in front, if it is a folder.
    fn folder(&mut self, word: &str, start: ProgramStart<'_>) {
        let value = word.rsplit('=').next().filter(|value| !value.is_empty());
        let folder = value.map(|value| start.folder.join(value));
        self.folders.extend(folder.filter(|folder| folder.is_dir()));
    }

    /// Reads the text of a shell script: each word may be a program with its arguments, or a folder. `own` is the
    /// folder of the script. A word is looked up there too, for `$(dirname "$0")/WORD`, and in the folders that come
    /// before it, for `cd`.
    fn script(&mut self, text: &str, own: Option<&Path>, start: ProgramStart<'_>) {
        if self.depth >= SCRIPT.1 {
            return;
        }
        self.depth += 1;
        let path = variable(start, "PATH").unwrap_or_default();
        let is_between = |c: char| c.is_whitespace() || ";|&()<>`'\"".contains(c);
        let words = text.split(is_between).filter(|word| !word.is_empty());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let mut folders: Vec<PathBuf> = own.map(Path::to_owned).into_iter().collect();
        for (at, word) in words.iter().enumerate() {
            if let Some(program) = find(word, path, start.folder) {
                self.take(&program, &words[at + 1..], start);
            }
            let known = self.folders.len();
            self.folder(&word.to_string_lossy(), start);
            for folder in folders.clone() {
                let within = folder.join(word.to_string_lossy().trim_start_matches('/'));
                if within.is_dir() {
                    self.folders.push(within);
                } else if within.is_file() {
                    self.take(&within, &words[at + 1..], start);
                    self.scripts.push(within);
                }
            }
            folders.extend_from_slice(&self.folders[known..]);
        }
        self.depth -= 1;
    }

    /// Takes a program and its arguments, and returns whether it is an interpreter or a script of one.
    fn take(&mut self, program: &Path, arguments: &[OsString], start: ProgramStart<'_>) -> bool {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if is_python(&name) {
            self.python(program.to_owned());
            return true;
        }
        if NODES.contains(&&*name) {
            let is_script = |path: &PathBuf| path.is_file();
            let words = arguments.iter().filter(|word| !word.to_string_lossy().starts_with('-'));
            let mut paths = words.map(|word| start.folder.join(word));
            self.scripts.extend(paths.find(is_script));
            self.scripts.push(project(start));
            return true;
        }
        if SHELLS.contains(&&*name) {
            let mut words = arguments.iter().map(|word| word.to_string_lossy());
            match words.find(|word| word.ends_with('c') || !word.starts_with('-')) {
                Some(option) if option.starts_with('-') => {
                    let text = words.next().unwrap_or_default();
                    self.script(&text, None, start);
                }
                Some(script) => {
                    let script = start.folder.join(&*script);
                    self.script(&text_of(&script), script.parent(), start);
                }
                None => {}
            }
            self.uses_folder = true;
            return true;
        }
        let Some(line) = first_line(program) else { return false };
        let mut words = line.split_whitespace().filter(|word| !word.starts_with('-'));
        let Some(mut interpreter) = words.next().map(PathBuf::from) else { return false };
        if interpreter.ends_with("env") {
            let Some(name) = words.find(|word| !word.contains('=')) else { return false };
            let path = variable(start, "PATH").unwrap_or_default();
            let Some(found) = which(path, name) else { return false };
            interpreter = found;
        }
        let name = interpreter.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_python(&name) {
            self.python(interpreter);
        } else if NODES.contains(&name.as_str()) {
            // Programs like npm start code from the folder of a project.
            self.scripts.extend([program.to_owned(), project(start)]);
        } else {
            // A shim of pyenv, and a script whose Python has a long path, begin as shell scripts.
            let real = program.canonicalize().ok();
            for folder in [Some(program), real.as_deref()].into_iter().flatten() {
                self.python_in(folder.parent().unwrap_or(Path::new("/")));
            }
            self.script(&text_of(program), program.parent(), start);
            self.uses_folder = true;
        }
        true
    }

    fn python(&mut self, python: PathBuf) {
        if !self.pythons.contains(&python) {
            self.pythons.push(python);
        }
    }

    /// Takes the Python in a folder of programs.
    fn python_in(&mut self, folder: &Path) {
        let mut pythons = ["python3", "python"].map(|name| folder.join(name)).into_iter();
        pythons.find(|python| python.is_file()).into_iter().for_each(|python| self.python(python));
    }

    /// Returns the folders in which Node looks for packages: above each script, and above the file to which a link to
    /// it leads.
    fn node_folders(&self, start: ProgramStart<'_>) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for script in &self.scripts {
            let real = script.canonicalize().ok();
            for path in real.iter().chain([script]) {
                above(path, &mut folders);
            }
            // npm installs packages for all users beside the folder of its links.
            let prefix = script.parent().filter(|bin| bin.ends_with("bin")).and_then(Path::parent);
            prefix
                .into_iter()
                .for_each(|prefix| keep(&mut folders, prefix.join("lib/node_modules")));
        }
        let more = variable(start, "NODE_PATH").map(std::env::split_paths);
        more.into_iter().flatten().for_each(|folder| keep(&mut folders, folder));
        folders
    }
}

/// Returns the path of `package.json` in the folder in which a command starts.
fn project(start: ProgramStart<'_>) -> PathBuf {
    start.folder.join("package.json")
}

/// Adds the `node_modules` beside a file and in each folder above it.
fn above(file: &Path, folders: &mut Vec<PathBuf>) {
    for folder in file.ancestors().skip(1) {
        match folder.ends_with("node_modules") {
            true => keep(folders, folder.to_owned()),
            false => keep(folders, folder.join("node_modules")),
        }
    }
}

/// Returns a variable of the environment in which a program starts.
fn variable<'a>(start: ProgramStart<'a>, name: &str) -> Option<&'a OsStr> {
    let mut variables = start.environment.iter().rev();
    variables.find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

/// Returns the file of a program: from `PATH`, or, if the word has a `/`, relative to the folder in which it starts.
fn find(word: &OsStr, path: &OsStr, folder: &Path) -> Option<PathBuf> {
    let name = word.to_string_lossy();
    match name.contains('/') {
        true => Some(folder.join(word)).filter(|program| program.is_file()),
        false => which(path, &name),
    }
}

fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Returns the first line of a script behind `#!`.
fn first_line(program: &Path) -> Option<String> {
    let text = start_of(program, FIRST_LINE);
    text.strip_prefix("#!")?.lines().next().map(str::to_owned)
}

/// Returns the text of a shell script; empty if it can't be read.
fn text_of(script: &Path) -> String {
    start_of(script, SCRIPT.0)
}

/// Returns the first bytes of a file as a text; empty if it can't be read.
fn start_of(file: &Path, bytes: u64) -> String {
    let mut start = Vec::new();
    let opened = files::open_named(file).ok();
    // The bytes before an error are a beginning as well.
    let _ = opened.map(|file| file.take(bytes).read_to_end(&mut start));
    String::from_utf8_lossy(&start).into_owned()
}

/// The path of the CLI in a folder of Python packages.
const PYTHON_SDK: &str = "claude_agent_sdk/_bundled/claude";
/// The scope of the packages of npm.
const NODE_SCOPE: &str = "@anthropic-ai";
/// The packages of npm that have a CLI. Packages for one system, such as `claude-agent-sdk-linux-x64`, begin with the
/// same words.
const NODE_SDKS: [&str; 2] = ["claude-agent-sdk", "claude-code"];
/// The path of the CLI in a package of npm: in older versions, in newer ones, and in packages for one system.
const CLIS_IN_NODE: [&str; 3] = ["cli.js", "bin/claude.exe", "claude"];

/// A CLI that an SDK starts in place of the `claude` on `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BundledCli {
    /// The path of its file, with links resolved.
    path: PathBuf,
    /// The option of the SDK that names another CLI.
    setting: &'static str,
    /// True if it belongs to the gateway: a library does not start a program that npm installed for all users.
    is_own: bool,
}

/// Returns the CLIs in the folders of a gateway's packages, each once.
pub(crate) fn find_bundled(packages: &Packages) -> Vec<BundledCli> {
    let mut found: Vec<BundledCli> = Vec::new();
    let mut keep = |path: PathBuf, setting, is_own| {
        let Ok(path) = path.canonicalize() else { return };
        if path.is_file() && found.iter().all(|other| other.path != path) {
            found.push(BundledCli { path, setting, is_own });
        }
    };
    for folder in &packages.python {
        keep(folder.join(PYTHON_SDK), "cli_path", true);
    }
    for folder in &packages.node {
        for folder in std::iter::once(folder.clone()).chain(nested(folder)) {
            for package in folders_of(&folder.join(NODE_SCOPE)) {
                let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if NODE_SDKS.iter().any(|known| name.starts_with(known)) {
                    let is_own = !(name.starts_with("claude-code") && is_global(&folder));
                    let paths = CLIS_IN_NODE.iter().map(|file| package.join(file));
                    paths.for_each(|path| keep(path, "pathToClaudeCodeExecutable", is_own));
                }
            }
        }
    }
    found
}

/// Returns the `node_modules` folders within the packages of another one.
fn nested(folder: &Path) -> Vec<PathBuf> {
    let packages = folders_of(folder).into_iter().flat_map(|package| {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match name.starts_with('@') || name == ".pnpm" {
            true => folders_of(&package),
            false => vec![package],
        }
    });
    packages.map(|package| package.join("node_modules")).filter(|inner| inner.is_dir()).collect()
}

/// Returns the folders in a folder, in the order of their names.
fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut folders: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Returns whether a `node_modules` is that of `npm install --global` and not that of a project.
fn is_global(folder: &Path) -> bool {
    folder.parent().is_some_and(|lib| lib.ends_with("lib") && !lib.join("package.json").exists())
}

impl BundledCli {
    /// Writes the replacement into `folder` and returns it with the path that it covers. It is a script that starts
    /// `claude`, the stand-in, because the stand-in finds its run beside its own file.
    ///
    /// # Errors
    ///
    /// An error if the file can't be written.
    pub(crate) fn replacement(&self, claude: &Path, folder: &Path) -> io::Result<Cover> {
        let is_script = self.path.extension().is_some_and(|extension| extension == "js");
        let (name, text) = match is_script {
            true => ("bundled-cli.js", node_script(claude)),
            false => ("bundled-claude", shell_script(claude)),
        };
        let by = folder.join(name);
        files::replace(&by, text).map_err(io::Error::from)?;
        fs::set_permissions(&by, std::fs::Permissions::from_mode(0o755))?;
        Ok(Cover { path: self.path.clone(), by })
    }
}

/// Returns the reason why a gateway can't be run on a way where files can't be covered: the first bundled CLI that it
/// would start. `None` if it has none, or if its settings name `claude`, which it then starts.
pub(crate) fn bundled_refusal(found: &[BundledCli], is_named: bool) -> Option<SubjectError> {
    let bundled = found.iter().find(|bundled| bundled.is_own).filter(|_| !is_named)?;
    let BundledCli { path, setting, .. } = bundled.clone();
    Some(SubjectError::BundledClaude { path, setting })
}

/// Returns a shell script that becomes `claude`.
fn shell_script(claude: &Path) -> String {
    let quoted = claude.to_string_lossy().replace('\'', r"'\''");
    format!("#!/bin/sh\nexec '{quoted}' \"$@\"\n")
}

/// Returns a script of Node that starts `claude` with its own stdin, stdout and stderr, passes signals on, and ends as
/// it ends. It works as a module and as a script of CommonJS, because the package around it decides.
fn node_script(claude: &Path) -> String {
    let claude = serde_json::Value::from(claude.to_string_lossy());
    format!(
        r#"#!/usr/bin/env node
import("node:child_process").then(({{ spawn }}) => {{
  // A signal may come as soon as the child runs.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {{
    process.on(signal, () => child.kill(signal));
  }}
  const child = spawn({claude}, process.argv.slice(2), {{ stdio: "inherit" }});
  child.on("error", (error) => {{
    console.error(`clitape stand-in: ${{error.message}}`);
    process.exit(64);
  }});
  child.on("exit", (code, signal) => {{
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }});
}});
"#
    )
}

#[cfg(test)]
mod tests;
