//! Finds the folders of packages that a gateway's command uses: the `site-packages` of its Python, and the
//! `node_modules` above its script.
//!
//! In these folders are the CLIs that SDKs bring, and the authorities of certifi. A Python is asked for its `sys.path`,
//! because a virtual environment, a shim of pyenv and a `.pth` file each change it. Folders of Node follow from the
//! path of the script, by the rules of Node.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_process::host::which;
use clitape_process::{Output, OutputReader, ProcessError, Program, ProgramStart};
use clitape_recording::files;

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
    pub(crate) node: Vec<PathBuf>,
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use clitape_gateway::ByteSize;
    use clitape_process::Scratch;
    use clitape_process::host::HostPaths;
    use clitape_recording::limits::OutputLimits;
    use fs_err as fs;

    use super::*;

    /// Makes a program in `root` with this text.
    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("ROOT", &root.to_string_lossy())).unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Makes a tree with Pythons that print `python-packages` of their own folder, projects of Node, and programs that
    /// use them.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for python in ["bin/python3", "venv-a/bin/python3", "app/.venv/bin/python", "shims/python"]
        {
            let folder = root.join(python).parent().unwrap().with_file_name("packages");
            fs::create_dir_all(&folder).unwrap();
            let shown = folder.to_string_lossy().into_owned();
            put(
                &root,
                python,
                &format!("#!/bin/sh\necho noise\necho '[\"{shown}\", \"/none\"]'\n"),
            );
        }
        put(&root, "broken/python3", "#!/bin/sh\nexit 3\n");
        put(&root, "venv-a/bin/bot", "#!ROOT/venv-a/bin/python3\n");
        put(&root, "venv-a/bin/long", "#!/bin/sh\n'''exec' ROOT/venv-a/bin/python3 \"$0\"\n");
        put(&root, "bin/env-bot", "#!/usr/bin/env -S python3 -u\n");
        put(&root, "shims/shim-bot", "#!/usr/bin/env sh\nexec pyenv exec \"$0\"\n");
        put(&root, "bin/native", "\u{7f}ELF");
        put(
            &root,
            "start.sh",
            "#!/bin/sh\n# one\nexport A=1\nexec node ROOT/other/bot/main.js \"$@\"\n",
        );
        put(&root, "loop.sh", "#!/bin/bash\ncd ROOT/app/packages/bot && exec ROOT/loop.sh\n");
        put(&root, "other/bot/main.js", "");
        put(&root, "other/start", "#!/bin/sh\nexec \"$(dirname \"$0\")/inner.sh\"\n");
        put(&root, "other/inner.sh", "#!/bin/sh\nexec node \"$(dirname \"$0\")/bot/main.js\"\n");
        for folder in [
            "app/node_modules",
            "app/packages/bot/node_modules",
            "lib/node_modules/gw/node_modules",
            "more/node_modules",
            "other/bot/node_modules",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        put(&root, "bin/node", "#!/bin/sh\n");
        put(&root, "app/packages/bot/main.js", "");
        put(&root, "lib/node_modules/gw/cli.js", "#!/usr/bin/env node\n");
        symlink(root.join("lib/node_modules/gw/cli.js"), root.join("bin/gw")).unwrap();
        for name in ["bot", "long"] {
            let link = root.join(format!("bin/linked-{name}"));
            symlink(root.join("venv-a/bin").join(name), link).unwrap();
        }
        (dir, root)
    }

    /// Returns the folders of a command that starts in `app`, relative to the tree.
    fn folders(root: &Path, command: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
        let scratch = Scratch::for_program(&HostPaths {
            path: OsString::new(),
            temporary: root.to_owned(),
            home: None,
        });
        let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
        let fill = |text: &str| OsString::from(text.replace("ROOT", &root.to_string_lossy()));
        let command: Vec<_> = command.iter().copied().map(fill).collect();
        let variables = variables.iter().map(|(name, value)| ((*name).into(), fill(value)));
        let environment: Vec<_> =
            std::iter::once(("PATH".into(), path.into())).chain(variables).collect();
        let start = ProgramStart {
            command: &command,
            environment: &environment,
            folder: &root.join("app"),
            scratch: scratch.as_ref().unwrap(),
            with_stdin: false,
            reader: OutputReader::LastPart,
            output: OutputLimits::within(ByteSize::mib(1)),
            memory: ByteSize::mib(256),
            isolation: None,
        };
        let found = Packages::of(start, &AtomicBool::new(false)).unwrap();
        let all = found.python.iter().chain(&found.node);
        // Filters the folders of the tree, because the temporary folder may itself be below a `node_modules`.
        let own = all.filter_map(|folder| folder.strip_prefix(root).ok());
        own.map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn folders_follow_from_the_command() {
        let (_dir, root) = tree();
        for (command, variables, expect) in [
            (&["python3", "bot.py"][..], &[][..], &["packages"][..]),
            (&["ROOT/venv-a/bin/python3", "-m", "bot"], &[], &["venv-a/packages"]),
            (&["ROOT/venv-a/bin/bot"], &[], &["venv-a/packages"]),
            (&["../venv-a/bin/bot"], &[], &["venv-a/packages"]),
            (&["linked-bot"], &[], &["venv-a/packages"]),
            (&["env-bot"], &[], &["packages"]),
            (
                &["ROOT/shims/shim-bot"],
                &[],
                &["packages", "app/.venv/packages", "app/node_modules"],
            ),
            (
                &["linked-long"],
                &[],
                &["packages", "venv-a/packages", "app/.venv/packages", "app/node_modules"],
            ),
            (&["ROOT/broken/python3", "bot.py"], &[], &[]),
            (&["none"], &[], &[]),
            (
                &["native", "--flag"],
                &[("VIRTUAL_ENV", "ROOT/venv-a")],
                &["app/.venv/packages", "venv-a/packages", "app/node_modules"],
            ),
            (
                &["env", "A=1", "python3", "bot.py"],
                &[],
                &["packages", "app/.venv/packages", "app/node_modules"],
            ),
            (
                &["node", "--no-warnings", "packages/bot/main.js"],
                &[("NODE_PATH", "ROOT/more/node_modules:/none")],
                &["app/packages/bot/node_modules", "app/node_modules", "more/node_modules"],
            ),
            (
                &["sh", "-c", "exec node 'ROOT/other/bot/main.js'"],
                &[],
                &["app/.venv/packages", "other/bot/node_modules", "app/node_modules"],
            ),
            (
                &["ROOT/start.sh"],
                &[],
                &["app/.venv/packages", "other/bot/node_modules", "app/node_modules"],
            ),
            (
                &["ROOT/other/start"],
                &[],
                &["app/.venv/packages", "app/node_modules", "other/bot/node_modules"],
            ),
            (
                &["sh", "-c", "cd ROOT/other && cd bot && npm start"],
                &[],
                &["app/.venv/packages", "app/node_modules", "other/bot/node_modules"],
            ),
            (
                &["ROOT/loop.sh"],
                &[],
                &["app/.venv/packages", "app/packages/bot/node_modules", "app/node_modules"],
            ),
            (
                &["gw", "start", "--prefix=ROOT/other/bot"],
                &[],
                &[
                    "lib/node_modules/gw/node_modules",
                    "lib/node_modules",
                    "app/node_modules",
                    "other/bot/node_modules",
                ],
            ),
            (
                &["gw", "start"],
                &[],
                &["lib/node_modules/gw/node_modules", "lib/node_modules", "app/node_modules"],
            ),
        ] {
            assert_eq!(folders(&root, command, variables), expect, "{command:?}");
        }
    }
}
