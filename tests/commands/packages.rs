//! Tests of the packages for npm and PyPI: packed here, installed into an empty folder without a registry, and run there as a person
//! would. Without node and npm these tests pass without a check; they fail instead if `CLITAPE_REQUIRE` names them.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{has_program, root};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Returns a command whose files are all below `home`.
fn at_home(program: impl AsRef<std::ffi::OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("HOME", home).env("npm_config_cache", home.join("npm")).current_dir(home);
    for (name, folder) in [("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state")] {
        command.env(name, home.join(folder));
    }
    command
}

/// Runs a command; returns the exit code and all of the output.
fn output(mut command: Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), text)
}

/// Packs this build, and installs it in `home`; returns the command that `npx` would run.
fn install(home: &Path) -> PathBuf {
    let mut pack = at_home("node", home);
    pack.arg(root().join("packaging/npm/pack.mjs")).arg("packed");
    pack.arg(format!("linux-x64={}", env!("CARGO_BIN_EXE_clitape")));
    let (code, told) = output(pack);
    assert_eq!(code, 0, "{told}");
    let packed: Vec<&str> = told.lines().collect();
    assert!(packed.len() == 2 && packed.iter().all(|path| path.ends_with(".tgz")), "{told}");
    let mut npm = at_home("npm", home);
    npm.args(["install", "--offline", "--no-audit", "--no-fund"]).args(packed);
    let (code, told) = output(npm);
    assert_eq!(code, 0, "{told}");
    home.join("node_modules/.bin/clitape")
}

#[test]
fn what_npm_installs_works_in_an_empty_folder() {
    if !has_program("npm") || !has_program("node") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let clitape = install(home);
    let run = |args: &[&str]| {
        let mut command = at_home(&clitape, home);
        command.args(args);
        output(command)
    };
    for (args, code, part) in [
        (&["--version"][..], 0, concat!("clitape ", env!("CARGO_PKG_VERSION"))),
        (&["init"], 0, "wrote  clitape.toml"),
        (&["test", "three-tools", "ask-user"], 0, "all held"),
        // The code of the program is that of the command.
        (&["test"], 3, "to fix: clitape record first-scenario"),
        (&["test", "nothing"], 2, "no scenario is called `nothing`"),
    ] {
        let (got, told) = run(args);
        assert!(got == code && told.contains(part), "{args:?} gave {got}\n{told}");
    }
    if has_program("python3") {
        for file in ["telegram.py", "bugs.py"] {
            fs::copy(root().join("subjects/examples").join(file), home.join(file)).unwrap();
        }
        let toml = "[subject.mine]\nkind = 'gateway'\ncommand = ['python3', 'telegram.py']\n\
                    env = { TELEGRAM_API = '{bot_api}', TELEGRAM_TOKEN = '{token}', CLAUDE_BIN = '{claude}' }\n";
        let config = fs::read_to_string(home.join("clitape.toml")).unwrap();
        fs::write(home.join("clitape.toml"), config + toml).unwrap();
        let (code, told) = run(&["subject", "check", "--yes", "mine"]);
        assert!(code == 0 && told.contains("ok it ends"), "{code}\n{told}");
    }
    // A signal reaches the program, which ends by itself.
    let mut server = at_home(&clitape, home);
    let mut server = server.arg("chat-server").stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    server.stderr.as_mut().unwrap().read_exact(&mut first).unwrap();
    kill(Pid::from_raw(server.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert!(server.wait().unwrap().code().is_some());
    // Without the package of this machine.
    fs::remove_dir_all(home.join("node_modules/@clitape")).unwrap();
    let (code, told) = run(&["--version"]);
    let part = "the package @clitape/linux-x64 is not installed; install clitape again";
    assert!(code == 2 && told.contains(part), "{code}\n{told}");
}

/// Writes a corpus of one scenario into `home`; returns its folder.
fn corpus(home: &Path) -> PathBuf {
    let corpus = home.join("corpus");
    let args = ["--quiet", "corpus", "plain-text", "--out"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_clitape"));
    let status = command.current_dir(root()).args(args).arg(&corpus).status().unwrap();
    assert!(status.success());
    corpus
}

#[test]
fn the_corpus_is_installed_with_npm_as_data() {
    if !has_program("npm") || !has_program("node") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let corpus = corpus(home);
    let mut pack = at_home("node", home);
    pack.arg(root().join("packaging/corpus/pack.mjs")).arg("packed").arg(corpus);
    let (code, told) = output(pack);
    assert_eq!(code, 0, "{told}");
    let mut npm = at_home("npm", home);
    npm.args(["install", "--offline", "--no-audit", "--no-fund", told.trim()]);
    let (code, told) = output(npm);
    assert_eq!(code, 0, "{told}");
    let reading = "const fs = require('fs'), corpus = require('@clitape/corpus'); \
                   const path = require.resolve('@clitape/corpus/' + corpus.recordings[0].reading); \
                   console.log(JSON.parse(fs.readFileSync(path)).scenario, fs.existsSync(path.replace('reading.json', 'stdout.jsonl')))";
    let mut node = at_home("node", home);
    node.args(["-e", reading]);
    assert_eq!(output(node), (0, "plain-text true\n".to_owned()));
}

#[test]
fn the_corpus_is_installed_with_pip_as_data() {
    if !has_program("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let corpus = corpus(home);
    let pack = |out: &str| {
        let mut pack = at_home("python3", home);
        pack.arg(root().join("packaging/corpus/pack.py")).arg(out).arg(&corpus);
        let (code, told) = output(pack);
        assert_eq!(code, 0, "{told}");
        told.trim().to_owned()
    };
    let wheel = pack("packed");
    let bytes = |path: &str| fs::read(path).unwrap();
    assert!(bytes(&wheel) == bytes(&pack("again")), "two packages of one corpus differ");
    let mut venv = at_home("python3", home);
    venv.args(["-m", "venv", "venv"]);
    let (code, told) = output(venv);
    assert_eq!(code, 0, "{told}");
    let mut pip = at_home(home.join("venv/bin/pip"), home);
    pip.args(["install", "--no-index", "--quiet", "--disable-pip-version-check", &wheel]);
    let (code, told) = output(pip);
    assert_eq!(code, 0, "{told}");
    let reading = "import clitape_corpus as c, json; \
                   path = c.PATH / c.index()['recordings'][0]['reading']; \
                   print(json.loads(path.read_text())['scenario'], path.with_name('stdout.jsonl').is_file())";
    let mut python = at_home(home.join("venv/bin/python"), home);
    python.args(["-c", reading]);
    assert_eq!(output(python), (0, "plain-text True\n".to_owned()));
}
