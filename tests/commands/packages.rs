//! Tests of what a release has: this build is packed, installed by each way into an empty folder without a registry, and run
//! there as a person would. Without node, npm and python3 they pass without a check; they fail instead if
//! `CLITAPE_REQUIRE` names these.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::common::{has_program, put_program, root};
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

/// The program of this machine, as a release names it.
const PROGRAM: &str = "clitape-x86_64-unknown-linux-gnu";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder in which this build is packed, without its symbols; `None` where a program for that is missing.
static PACKED: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    if !["npm", "node", "python3"].into_iter().all(has_program) {
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let _ = fs::remove_dir_all(&folder);
    let out = folder.join("out");
    fs::create_dir_all(&out).unwrap();
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(out.join(PROGRAM)).arg(env!("CARGO_BIN_EXE_clitape"));
    assert_eq!(output(strip), (0, String::new()));
    succeed(at_home(root().join("packaging/pack"), &folder).arg(&out));
    Some(out)
});

/// Runs a command that must succeed; returns all of its output.
#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

/// Returns the targets that the workflow of a release builds.
fn targets() -> Vec<String> {
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let targets = workflow.lines().filter_map(|line| line.trim().strip_prefix("- target: "));
    targets.map(str::to_owned).collect()
}

#[test]
fn what_npm_installs_works_in_an_empty_folder() {
    let Some(out) = &*PACKED else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let mut npm = at_home("npm", home);
    npm.args(["install", "--offline", "--no-audit", "--no-fund"]);
    for package in ["clitape-linux-x64", "clitape"] {
        npm.arg(out.join(format!("{package}-{VERSION}.tgz")));
    }
    succeed(&mut npm);
    let clitape = home.join("node_modules/.bin/clitape");
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
    for file in ["telegram.py", "bugs.py"] {
        fs::copy(root().join("subjects/examples").join(file), home.join(file)).unwrap();
    }
    let toml = "[subject.mine]\nkind = 'gateway'\ncommand = ['python3', 'telegram.py']\n\
                env = { TELEGRAM_API = '{bot_api}', TELEGRAM_TOKEN = '{token}', CLAUDE_BIN = '{claude}' }\n";
    let config = fs::read_to_string(home.join("clitape.toml")).unwrap();
    fs::write(home.join("clitape.toml"), config + toml).unwrap();
    let (code, told) = run(&["subject", "check", "--yes", "mine"]);
    assert!(code == 0 && told.contains("ok it ends"), "{code}\n{told}");
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

#[test]
fn what_pip_installs_is_the_program_that_was_packed() {
    let Some(out) = &*PACKED else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    succeed(at_home("python3", home).args(["-m", "venv", "venv"]));
    let mut pip = at_home(home.join("venv/bin/pip"), home);
    pip.args(["install", "--disable-pip-version-check", "--no-index", "--find-links"]);
    let told = succeed(pip.arg(out).arg("clitape"));
    assert!(told.contains(&format!("Successfully installed clitape-{VERSION}")), "{told}");
    let clitape = home.join("venv/bin/clitape");
    assert_eq!(succeed(at_home(&clitape, home).arg("--version")), format!("clitape {VERSION}\n"));
    assert!(fs::read(clitape).unwrap() == fs::read(out.join(PROGRAM)).unwrap());
}

#[test]
fn the_installer_takes_only_what_the_sums_name() {
    let Some(out) = &*PACKED else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let shell = if has_program("dash") { "dash" } else { "sh" };
    // Without an address, so that no test asks a network.
    let script = root().join("packaging/install.sh");
    let at = |folder: &Path| format!("file://{}", folder.display());
    let install = |first: Option<&Path>, args: &[&str]| {
        let mut command = at_home(shell, home);
        command.arg(&script).args(args);
        let path = std::env::var_os("PATH").unwrap();
        let folders = first.map(PathBuf::from).into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap());
        output(command)
    };
    let changed = home.join("changed");
    fs::create_dir(&changed).unwrap();
    fs::copy(out.join("SHA256SUMS"), changed.join("SHA256SUMS")).unwrap();
    fs::write(changed.join(format!("{PROGRAM}.tar.gz")), "another archive").unwrap();
    let unnamed = home.join("unnamed");
    fs::create_dir(&unnamed).unwrap();
    fs::copy(out.join(format!("{PROGRAM}.tar.gz")), unnamed.join(format!("{PROGRAM}.tar.gz")))
        .unwrap();
    fs::write(unnamed.join("SHA256SUMS"), "").unwrap();
    let system = |name: &str, machine: &str| {
        let folder = home.join(name);
        let uname = format!("#!/bin/sh\ncase $1 in -m) echo {machine} ;; *) echo {name} ;; esac\n");
        put_program(&folder.join("uname"), &uname);
        folder
    };
    let (packed, changed, unnamed) = (at(out), at(&changed), at(&unnamed));
    let windows = system("MINGW64_NT-10.0", "x86_64");
    let (bsd, riscv) = (system("FreeBSD", "amd64"), system("Linux", "riscv64"));
    for (first, args, code, part) in [
        (None, &["--to"][..], 2, "--to needs a value"),
        (None, &["--fast"], 2, "the installer has no --fast; it has --to DIR"),
        (None, &[], 1, "this copy of the installer has no address"),
        (None, &["--from", "ftp://a"], 2, "ftp://a is neither https:// nor file://"),
        (None, &["--from", "file:///nothing"], 1, "file:///nothing has no SHA256SUMS"),
        (None, &["--from", &changed], 1, "is not what SHA256SUMS says: nothing was installed"),
        (None, &["--from", &unnamed], 1, "does not name clitape-x86_64-unknown-linux-gnu.tar.gz"),
        (Some(&*windows), &["--from", &packed], 1, "does not run on Windows; set up WSL2"),
        (Some(&*bsd), &["--from", &packed], 1, "there is no clitape for FreeBSD"),
        (Some(&*riscv), &["--from", &packed], 1, "there is no program for riscv64"),
    ] {
        let (got, told) = install(first, args);
        assert!(got == code && told.contains(part), "{args:?} gave {got}\n{told}");
        assert!(!home.join(".local").exists(), "{args:?} installed something");
    }
    for (args, folder) in [
        (&["--from", &packed][..], ".local/bin"),
        (&["--to", "programs", "--from", &packed], "programs"),
    ] {
        // The second time it replaces what is there.
        for _ in 0..2 {
            let (code, told) = install(None, args);
            let part = format!("installed clitape {VERSION} in {}", home.join(folder).display());
            assert!(code == 0 && told.contains(&part), "{args:?} gave {code}\n{told}");
        }
        let installed: Vec<_> = fs::read_dir(home.join(folder)).unwrap().flatten().collect();
        assert_eq!(installed.len(), 1, "{installed:?}");
        assert!(fs::read(installed[0].path()).unwrap() == fs::read(out.join(PROGRAM)).unwrap());
    }
}

#[test]
fn a_release_has_each_file_under_one_version() {
    let Some(out) = &*PACKED else { return };
    let version = succeed(&mut Command::new(root().join("packaging/version")));
    assert_eq!(version.trim_end(), VERSION);
    let mut names: Vec<String> = fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let wheel =
        format!("clitape-{VERSION}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl");
    let (main, platform) =
        (format!("clitape-{VERSION}.tgz"), format!("clitape-linux-x64-{VERSION}.tgz"));
    let archive = format!("{PROGRAM}.tar.gz");
    assert_eq!(
        names,
        ["SHA256SUMS", &*wheel, &*main, &*platform, PROGRAM, &*archive, "install.sh"]
    );
    let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let summed: Vec<&str> = sums.lines().map(|line| &line[66..]).collect();
    assert_eq!(summed, names[1..]);
    succeed(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(out));

    let listed = succeed(Command::new("tar").arg("-tzf").arg(out.join(&archive)));
    for place in [
        "clitape",
        "README.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "completions/clitape.bash",
        "completions/_clitape",
        "completions/clitape.fish",
        "man/clitape.1",
        "man/clitape-subject-check.1",
    ] {
        assert!(
            listed.lines().any(|line| line == format!("{PROGRAM}/{place}")),
            "{place}: {listed}"
        );
    }
}

#[test]
fn the_image_and_the_packages_have_the_targets_of_the_workflow() {
    let targets = targets();
    assert_eq!(targets.len(), 4, "{targets:?}");
    let read = |place: &str| fs::read_to_string(root().join("packaging").join(place)).unwrap();
    let (pack, image) = (read("pack"), read("Dockerfile"));
    for target in &targets {
        assert!(pack.contains(&format!("\n{target} ")), "packaging/pack does not pack {target}");
    }
    let added: Vec<&str> = image
        .lines()
        .filter(|line| line.starts_with("ADD ") || line.starts_with("COPY "))
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    let linux = targets.iter().filter(|target| target.ends_with("-linux-gnu"));
    let archives: Vec<String> = linux.map(|target| format!("clitape-{target}.tar.gz")).collect();
    assert_eq!(added, archives);
    let Some(out) = &*PACKED else { return };
    assert!(out.join(added[0]).is_file(), "packaging/pack does not write {}", added[0]);
}

#[test]
fn a_program_for_this_system_alone_is_no_release() {
    let Some(out) = &*PACKED else { return };
    let mut check = Command::new(root().join("packaging/check"));
    check.arg(out);
    let (code, told) = output(check);
    // It is linked by the system's linker, and not by that of a release.
    let part = "needs a library that is not of glibc: libgcc_s.so.1";
    assert!(code == 1 && told.contains(part), "{code}\n{told}");
}

#[test]
fn a_dry_run_publishes_in_order_and_says_what_is_missing() {
    let Some(out) = &*PACKED else { return };
    let mut publish = Command::new(root().join("packaging/publish"));
    publish.arg("--dry-run").arg(out);
    let (code, told) = output(publish);
    assert_eq!(code, 0, "{told}");
    let main = format!("npm publish --access public {}/clitape-{VERSION}.tgz", out.display());
    let mut rest = &*told;
    for part in [
        "+ cargo publish",
        "+ npm publish",
        &main,
        "+ twine upload",
        "+ docker",
        "+ gh release edit",
    ] {
        let found = rest.split_once(part);
        assert!(found.is_some(), "no {part} in {told}");
        rest = found.unwrap().1;
    }
    for part in [format!("clitape-darwin-arm64-{VERSION}.tgz"), "has 1 wheels, not 4".to_owned()] {
        assert!(told.contains(&part), "no {part} in {told}");
    }
}

#[test]
fn the_program_needs_no_file_of_the_system() {
    let probe = ["--unshare-user", "--ro-bind", "/", "/", "true"];
    let is_allowed = || Command::new("bwrap").args(probe).output().unwrap().status.success();
    if !has_program("bwrap") || !is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let bare = |program: &str, args: &[&str]| {
        let mut command = Command::new(root().join("packaging/bare"));
        succeed(command.arg(program).arg(dir.path()).args(args))
    };
    let there = bare("/bin/ls", &["/"]);
    let there: Vec<&str> = there.lines().collect();
    assert_eq!(there, ["dev", "lib", "lib64", "proc", "program", "project", "tmp"]);
    let clitape = env!("CARGO_BIN_EXE_clitape");
    bare(clitape, &["init"]);
    let told = bare(clitape, &["test", "three-tools", "ask-user"]);
    assert!(told.contains("all held"), "{told}");
}
