//! Tests of the clients in `packaging/shims`: the example tests of vitest, pytest and go test pass at a right gateway, and
//! fail at the same one with a changed line, with the id of the finding. npm and pip install vitest and pytest once into the
//! target folder. Without Python, npm or go, its part is left out; it fails instead if `CLITAPE_REQUIRE` names `python3`
//! or `npm`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common::project::wait_for_silence_of;
use crate::common::{check, copy, has_program, root, workspace};
use crate::reach::installed;

const VITEST: &str = "vitest@3.2.4";
const PYTEST: &str = "pytest==8.4.2";

/// The gateway of a runner's tests, and a line of it with what takes its place in the wrong one: the answer becomes a
/// message of its own, and the draft stays.
struct TestedGateway {
    file: &'static str,
    settings: &'static str,
    line: [&'static str; 2],
}

const PYTHON: TestedGateway = TestedGateway {
    file: "telegram.py",
    settings: "command = ['python3', 'telegram.py']",
    line: [
        "        for page in pages(answer.strip()",
        "        self.message = None\n        for page in pages(answer.strip()",
    ],
};
const NODE: TestedGateway = TestedGateway {
    file: "telegram.mjs",
    settings: "host = 'live'\ncommand = ['node', 'telegram.mjs']",
    line: [
        "of pages(turn.answer)) await this.write(turn, page)",
        "of pages(turn.answer)) await this.write({}, page)",
    ],
};
/// A client: its folder in `packaging/shims`, its file, and the folder of a project in which its tests are.
#[derive(Clone, Copy)]
struct Client {
    name: &'static str,
    file: &'static str,
    folder: &'static str,
}

const VITEST_CLIENT: Client = Client { name: "vitest", file: "clitape.cjs", folder: "tests" };
const PYTEST_CLIENT: Client = Client { name: "pytest", file: "clitape_pytest.py", folder: "tests" };
const GO_CLIENT: Client = Client { name: "go", file: "clitape.go", folder: "clitape" };

/// The finding about the wrong one.
const FINDING: &str = "SB008";

/// Makes a workspace whose subject `my-gateway` is this one, right or wrong, with the files of a client.
fn project(gateway: &TestedGateway, is_right: bool, client: Client) -> TempDir {
    let dir = workspace(&["three-tools"]);
    let path = dir.path();
    let config = fs::read_to_string(path.join("clitape.toml")).unwrap();
    let subject = format!(
        "\n[subject.my-gateway]\nkind = 'gateway'\nidle_s = 1\n{}\n\
         env = {{ TELEGRAM_API = '{{bot_api}}', TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}' }}\n",
        gateway.settings
    );
    fs::write(path.join("clitape.toml"), config + &subject).unwrap();
    let source = root().join("subjects/examples").join(gateway.file);
    let source = fs::read_to_string(source).unwrap();
    let [line, wrong] = gateway.line;
    assert_eq!(source.matches(line).count(), 1, "the example has the line");
    let source = if is_right { source } else { source.replace(line, wrong) };
    fs::write(path.join(gateway.file), source).unwrap();
    let folder = path.join(client.folder);
    copy(&root().join("packaging/shims").join(client.name), &folder);
    // The program has the same client.
    let printed = check(path, &["serve", "--print-client", client.name], 0, &[], &[]);
    assert_eq!(printed, fs::read_to_string(folder.join(client.file)).unwrap());
    dir
}

/// Runs a test runner in a project; returns whether all passed, and its output.
fn outcome(mut runner: Command, dir: &Path, clitape: &str) -> (bool, String) {
    runner.env("CLITAPE_BIN", clitape).env("NO_COLOR", "1").stdin(Stdio::null());
    for (name, folder) in [("HOME", "home"), ("TMPDIR", "tmp"), ("XDG_STATE_HOME", "state")] {
        fs::create_dir_all(dir.join(folder)).unwrap();
        runner.env(name, dir.join(folder));
    }
    let output = runner.output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    wait_for_silence_of(dir, &text);
    (output.status.success(), text)
}

/// Checks what a runner says of the right gateway, of the wrong one, of a subject that is missing and of a program that is
/// missing. `runner` makes the command for a project.
fn check_runner(gateway: &TestedGateway, client: Client, runner: impl Fn(&Path) -> Command + Sync) {
    let program = env!("CARGO_BIN_EXE_clitape");
    let run = |is_right: bool, has_subject: bool, clitape: &str| {
        let dir = project(gateway, is_right, client);
        if !has_subject {
            fs::write(dir.path().join("clitape.toml"), "").unwrap();
        }
        outcome(runner(dir.path()), dir.path(), clitape)
    };
    std::thread::scope(|scope| {
        let right = scope.spawn(|| run(true, true, program));
        let wrong = scope.spawn(|| run(false, true, program));
        for (has_subject, clitape, part) in [
            (true, "/there/is/no/clitape", "install clitape, or set CLITAPE_BIN to its path"),
            (false, program, "there is no subject `my-gateway`"),
        ] {
            let (passes, said) = run(true, has_subject, clitape);
            assert!(!passes && said.contains(part), "{said}");
        }
        let (passes, said) = right.join().unwrap();
        assert!(passes, "{said}");
        let (passes, said) = wrong.join().unwrap();
        let command = "clitape rig my-gateway three-tools/2.1.332";
        assert!(!passes && said.contains(FINDING) && said.contains(command), "{said}");
    });
}

/// Returns the folder of a tool that `installer` installs once; `None` where it can't and `CLITAPE_REQUIRE` does not name it.
fn tools(installer: &str, name: &str, package: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runners").join(name);
    let Err(why) = installed(&folder, &[package]) else { return Some(folder) };
    let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
    assert!(!required.split([',', ' ']).any(|it| it == installer), "{package}: {why}");
    println!("{package} is left out: {why}");
    None
}

#[test]
fn vitest_passes_at_a_right_gateway_and_names_the_finding_of_a_wrong_one() {
    if !has_program("npm") || !has_program("node") {
        return;
    }
    let Some(modules) = tools("npm", "vitest", VITEST) else { return };
    let modules = modules.join("node_modules");
    check_runner(&NODE, VITEST_CLIENT, |dir| {
        std::os::unix::fs::symlink(&modules, dir.join("node_modules")).unwrap();
        let mut vitest = Command::new("node");
        vitest.args(["node_modules/vitest/vitest.mjs", "run"]).current_dir(dir);
        vitest
    });
}

#[test]
fn pytest_passes_at_a_right_gateway_and_names_the_finding_of_a_wrong_one() {
    if !has_program("python3") {
        return;
    }
    let Some(python) = tools("python3", "python", PYTEST) else { return };
    let pytest = python.join("bin/pytest");
    check_runner(&PYTHON, PYTEST_CLIENT, |dir| {
        let tests = dir.join("tests");
        fs::write(tests.join("conftest.py"), "pytest_plugins = ['clitape_pytest']\n").unwrap();
        fs::write(tests.join("pytest.ini"), "[pytest]\nclitape_subject = my-gateway\n").unwrap();
        let mut pytest = Command::new(&pytest);
        pytest.args(["-p", "no:cacheprovider"]).current_dir(tests);
        pytest.env("PYTHONDONTWRITEBYTECODE", "1");
        pytest
    });
}

#[test]
fn go_test_passes_at_a_right_gateway_and_names_the_finding_of_a_wrong_one() {
    if !has_program("go") || !has_program("python3") {
        return;
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runners/go");
    check_runner(&PYTHON, GO_CLIENT, |dir| {
        let mut go = Command::new("go");
        go.args(["test", "-count=1", "./..."]).current_dir(dir.join("clitape"));
        go.env("GOCACHE", &cache).env("GOPROXY", "off").env("GOFLAGS", "-mod=mod");
        go
    });
}
