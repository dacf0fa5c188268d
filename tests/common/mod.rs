//! The parts that the tests share: running the command, and a copy of the workspace to break on purpose.

#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(clippy::expect_used, reason = "a test that can't be set up fails")]

#[cfg(target_os = "linux")]
pub(crate) mod cargo;
pub(crate) mod conformance;
pub(crate) mod project;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Returns the folder of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns whether the machine has a program of this name; panics without one that `CLITAPE_REQUIRE` names.
pub(crate) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
    assert!(
        is_there || !required.contains(name),
        "there is no {name}, and CLITAPE_REQUIRE names it"
    );
    is_there
}

/// Returns the built command, without colours.
pub(crate) fn clitape() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clitape"));
    // The user's own command must not learn what the tests record.
    command.env("NO_COLOR", "1").env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Returns a command that runs `command` on a new terminal, into which `typed` is typed. It needs python3.
pub(crate) fn on_terminal(typed: &str, command: &Command) -> Command {
    let mut terminal = Command::new("python3");
    terminal.arg(root().join("tests/common/terminal.py")).arg(typed);
    terminal.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        terminal.current_dir(dir);
    }
    terminal
}

/// Runs the command in `dir`, and returns its exit code, stdout and stderr.
pub(crate) fn run(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        clitape().current_dir(dir).args(args).output().expect("the command runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (status.code().expect("it exits"), text(stdout), text(stderr))
}

/// Runs the command in `dir`, checks the exit code and parts of stdout and stderr, and returns stdout.
#[track_caller]
pub(crate) fn check(dir: &Path, args: &[&str], code: i32, out: &[&str], err: &[&str]) -> String {
    let (got, stdout, stderr) = run(dir, args);
    assert_eq!(got, code, "{args:?}\n{stdout}{stderr}");
    for part in out {
        assert!(stdout.contains(part), "{args:?}: no `{part}` in\n{stdout}");
    }
    for part in err {
        assert!(stderr.contains(part), "{args:?}: no `{part}` in\n{stderr}");
    }
    let is_escaped = |line: &str| line.starts_with(r"\n");
    assert!(!stdout.lines().chain(stderr.lines()).any(is_escaped), "{args:?}\n{stdout}{stderr}");
    check_options(args, &stderr);
    stdout
}

/// Checks that a command has every option that it names in backquotes.
#[track_caller]
pub(crate) fn check_options<S: AsRef<str>>(args: &[S], said: &str) {
    let mut words = args.iter().map(AsRef::as_ref).filter(|arg| !arg.starts_with('-'));
    let Some(command) = words.next() else { return };
    let further = ["report", "subject"].contains(&command).then(|| words.next()).flatten();
    let mut help = None;
    for part in said.split("`--").skip(1) {
        let is_letter = |c: char| c.is_ascii_lowercase() || c == '-';
        let end = part.find(|c| !is_letter(c)).unwrap_or(part.len());
        let help = help.get_or_insert_with(|| {
            let output = clitape().arg(command).args(further).arg("--help").output();
            String::from_utf8(output.expect("the command runs").stdout).expect("help is UTF-8")
        });
        let option = format!("--{}", &part[..end]);
        let has_it = help
            .match_indices(&option)
            .any(|(at, _)| !help[at + option.len()..].starts_with(is_letter));
        assert!(has_it, "{command} has no option {option}, which it names in\n{said}");
    }
}

/// Makes a workspace with copies of these scenarios and their cassettes, and with `[versions]`.
pub(crate) fn workspace(scenarios: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fill_workspace(dir.path(), scenarios);
    dir
}

/// Copies these scenarios and their cassettes into a workspace at `dir`.
pub(crate) fn fill_workspace(dir: &Path, scenarios: &[&str]) {
    std::fs::create_dir_all(dir.join("scenarios")).expect("scenarios/");
    std::fs::write(dir.join("clitape.toml"), versions()).expect("clitape.toml");
    for name in scenarios {
        for folder in ["scenarios", "cassettes"] {
            copy(&root().join(folder).join(name), &dir.join(folder).join(name));
        }
    }
}

/// Returns the table `[versions]` of the checkout's `clitape.toml`.
pub(crate) fn versions() -> String {
    let text = std::fs::read_to_string(root().join("clitape.toml")).expect("clitape.toml");
    let begin = text.find("[versions]").expect("[versions]");
    let end = text[begin..].find("\n\n").expect("a line without text after it");
    text[begin..=begin + end].to_owned()
}

/// Changes the text of a `cassette.toml` below its seal, and seals it again.
pub(crate) fn edit_manifest(path: &Path, change: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(path).expect("the manifest can be read");
    let (_, text) = text.split_once('\n').expect("it begins with its seal");
    let changed = change(text);
    assert_ne!(changed, text, "{}", path.display());
    let sealed = clitape_recording::cassette::sealed(&changed);
    std::fs::write(path, sealed).expect("the manifest can be written");
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.expect("a readable folder");
        let target = to.join(entry.path().strip_prefix(from).expect("below it"));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(&target).expect("a folder");
        } else {
            std::fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}

/// Writes an executable script.
pub(crate) fn put_program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
    std::fs::write(path, script).expect("a program");
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it can be executed");
}

/// Returns every file below `dir`, with its bytes.
pub(crate) fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).expect("a readable file"));
    files(dir, "").into_iter().map(read).collect()
}

/// Returns every file below `dir` whose name ends with `end`, sorted.
pub(crate) fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(dir).sort_by_file_name();
    let paths = walk.into_iter().map(|entry| entry.expect("a readable folder").into_path());
    paths.filter(|path| path.is_file() && path.to_string_lossy().ends_with(end)).collect()
}
