//! A copy of the workspace whose code has switches, each for one change of it, and what cargo builds of the copy: one
//! build has all changes, because a build takes longer than most of what is done with one change.

#![allow(dead_code, reason = "each test that changes a copy uses a part of it")]

#[path = "../common/cargo.rs"]
mod call;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use call::cargo;
use serde_json::Value;

/// The variable with the number of the switch that is on when a program of the copy starts.
pub(crate) const SWITCH: &str = "CLITAPE_SWITCH";
/// The memory that a program of the copy may ask for, in KiB.
const MEMORY_KIB: u64 = 6 << 20;
/// The time between two looks at a program that runs.
const TICK: Duration = Duration::from_millis(20);
/// The file of the crate that all others depend on, which gets [`SWITCHES`].
const LIBRARY: &str = "harness/stream/src/lib.rs";
/// The functions that report whether a switch is on, and turn one on. No switch has the number 0.
const SWITCHES: &str = "
#[doc(hidden)]
pub mod switch {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static ON: LazyLock<AtomicUsize> = LazyLock::new(|| {
        let number = std::env::var(\"CLITAPE_SWITCH\").ok().and_then(|number| number.parse().ok());
        AtomicUsize::new(number.unwrap_or(0))
    });

    pub fn is_on(number: usize) -> bool {
        ON.load(Ordering::Relaxed) == number
    }

    pub fn turn_on(number: usize) {
        ON.store(number, Ordering::SeqCst);
    }
}
";

/// Returns the path of the function that reports whether a switch is on, as the code of `file` names it.
pub(crate) fn is_on(file: &str) -> &'static str {
    let is_library = file.starts_with("harness/stream/");
    if is_library { "crate::switch::is_on" } else { "::clitape_stream::switch::is_on" }
}

/// A copy of the workspace. It is kept, so that the next run builds only what has changed.
#[derive(Debug)]
pub(crate) struct WorkspaceCopy {
    folder: PathBuf,
    /// The folder that cargo builds in.
    target: PathBuf,
    /// Variables that cargo gets.
    variables: Vec<(&'static str, &'static str)>,
}

/// A program of tests.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// The library or the test that it is made from.
    pub(crate) name: String,
    /// The folder of its package.
    pub(crate) folder: PathBuf,
}

/// The end of a program of tests.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` for a program that took longer than its limit, and was ended.
    status: Option<ExitStatus>,
    /// The text that it wrote to stdout.
    pub(crate) printed: String,
}

impl Ended {
    /// Returns the last line that the program printed, or how it ended; `None` if it succeeded.
    pub(crate) fn failure(&self) -> Option<String> {
        match self.status {
            None => Some("it hangs".to_owned()),
            Some(status) if status.success() => None,
            Some(status) if status.code() == Some(1) => {
                Some(self.printed.lines().last().unwrap_or_default().to_owned())
            }
            Some(status) => Some(format!("it ends with {status}")),
        }
    }
}

impl Program {
    /// Makes a call of the program that has one switch on, and may take only so much memory. Its tests run one after the other.
    pub(crate) fn call(&self, number: usize) -> Command {
        let mut command = Command::new("sh");
        let script = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(&self.path).current_dir(&self.folder);
        command.env(SWITCH, number.to_string()).env("RUST_TEST_THREADS", "1");
        command.env("RUST_BACKTRACE", "0");
        command
    }
}

/// Runs a call of a program to its end, or to its limit.
pub(crate) fn run(mut call: Command, limit: Duration) -> Result<Ended> {
    // A file, as a program that outlives its parent would keep a pipe open.
    let mut file = tempfile::tempfile()?;
    let stdout = file.try_clone()?;
    let mut child = call.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn()?;
    let status = wait(&mut child, limit)?;
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    Ok(Ended { status, printed: String::from_utf8_lossy(&text).into_owned() })
}

/// Returns how a program ends; `None` if it takes longer than its limit, and is killed.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(TICK);
    }
}

impl WorkspaceCopy {
    /// Makes the files of the workspace at `from` those of the copy in `folder`, except the ones that git ignores and
    /// those of `changed`, which the caller writes.
    pub(crate) fn new(
        from: &Path,
        folder: PathBuf,
        target: PathBuf,
        changed: &BTreeSet<&str>,
    ) -> Result<Self> {
        let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = Command::new("git").args(args).current_dir(from).output()?;
        ensure!(listed.status.success(), "{} is no git checkout", from.display());
        let listed = String::from_utf8(listed.stdout)?;
        let names = listed.split_terminator('\0').filter(|name| from.join(name).is_file());
        let names: BTreeSet<&str> = names.collect();
        remove_others(&folder, &names)?;
        let copy = Self { folder, target, variables: Vec::new() };
        for name in names.into_iter().filter(|name| !changed.contains(name)) {
            let source = from.join(name);
            let bytes = fs::read(&source).context(name.to_owned())?;
            copy.write(name, &bytes)?;
            // Whether a program of a scenario can be run is a part of what its recording was made from.
            fs::set_permissions(copy.folder.join(name), fs::metadata(&source)?.permissions())?;
        }
        Ok(copy)
    }

    /// The same copy, built with a variable for cargo.
    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Writes a file of the copy. The library gets the functions of the switches.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        if name == LIBRARY {
            return write(&path, &[bytes, SWITCHES.as_bytes()].concat());
        }
        write(&path, bytes)
    }

    /// Builds tests of the copy, and returns their programs.
    pub(crate) fn executables(&self, args: &[&str]) -> Result<Vec<Program>> {
        let (messages, success) = self.cargo(args)?;
        let errors: Vec<&str> = messages.iter().filter_map(error).collect();
        let (args, folder) = (args.join(" "), self.folder.display());
        ensure!(success, "`cargo {args}` fails in {folder}\n{}", errors.join("\n"));
        let tests = messages.iter().filter(|message| message["profile"]["test"] == true);
        let program = |message: &Value| {
            let manifest = Path::new(message["manifest_path"].as_str()?);
            Some(Program {
                path: PathBuf::from(message["executable"].as_str()?),
                name: message["target"]["name"].as_str()?.to_owned(),
                folder: manifest.parent()?.to_owned(),
            })
        };
        Ok(tests.filter_map(program).collect())
    }

    /// Runs cargo in the copy. Returns its messages, and whether it succeeds.
    pub(crate) fn cargo(&self, args: &[&str]) -> Result<(Vec<Value>, bool)> {
        let mut command = cargo();
        command.args(args).args(["--locked", "--message-format", "json"]).stderr(Stdio::inherit());
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.target);
        let output = command.envs(self.variables.iter().copied()).output()?;
        let lines = String::from_utf8(output.stdout)?;
        let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((messages, output.status.success()))
    }
}

/// The words of an error of the compiler; `None` for every other message.
fn error(message: &Value) -> Option<&str> {
    let message = message.get("message").filter(|message| message["level"] == "error")?;
    message["rendered"].as_str()
}

/// Removes the files of an earlier copy that are no longer in the workspace, and the folders that are empty then.
fn remove_others(copy: &Path, names: &BTreeSet<&str>) -> Result<()> {
    if !copy.is_dir() {
        return Ok(());
    }
    for entry in walkdir::WalkDir::new(copy).contents_first(true) {
        let entry = entry?;
        let name = entry.path().strip_prefix(copy).ok().and_then(Path::to_str);
        if entry.file_type().is_dir() {
            // A folder that is not empty stays.
            let _ = fs::remove_dir(entry.path());
        } else if name.is_none_or(|name| !names.contains(name)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file that has other bytes, so that cargo builds only what has changed.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let folder = path.parent().context("a file has a folder")?;
    fs::create_dir_all(folder)?;
    fs::write(path, bytes).with_context(|| path.display().to_string())
}
