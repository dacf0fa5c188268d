//! Tests of whole recordings, with shell scripts in the CLI's place.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use clitape_recording::cassette::{Cassette, Exit};
use clitape_recording::scenario::{ExitWord, Exits, Login, Workspace};
use fs_err as fs;
use tempfile::TempDir;

use super::run::{RawRecording, RawRun, run};
use super::*;

const SCENARIO: &str = "
    title = 't'
    about = 'a'
    [record]
    prompt = 'Look at {{project}}.'
    args = ['--allowedTools', 'Read']
    timeout_s = 20";
const MODEL: &str = "[[turn]]\n[[turn.block]]\ntext = 'Hi.'\ndelay_ms = 0\n";

/// Returns the paths of the process that runs the tests.
pub(super) fn host_paths() -> HostPaths {
    HostPaths {
        path: std::env::var_os("PATH").unwrap(),
        temporary: std::env::temp_dir(),
        home: std::env::var_os("HOME").map(PathBuf::from),
    }
}

fn run_it(scenario: &Scenario, claude: &Claude, stop: bool) -> Result<RawRecording, RecordError> {
    let host = host_paths();
    run(scenario, claude, RecordSettings::default(), &host, &AtomicBool::new(stop))
}

fn record_it(scenario: &Scenario, claude: &Claude) -> Result<Take, RecordError> {
    let host = host_paths();
    let new = record(scenario, claude, RecordSettings::default(), &host, &AtomicBool::new(false));
    new.map(|new| new.take)
}

/// Writes a scenario and a `claude` that is this shell script.
fn workspace(script: &str) -> (TempDir, Scenario, Claude) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("scenario");
    fs::create_dir_all(folder.join("workspace")).unwrap();
    fs::write(folder.join("workspace/a.txt"), "a").unwrap();
    fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
    fs::write(folder.join("model.toml"), MODEL).unwrap();
    let program: PathBuf = dir.path().join("claude");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let claude = Claude { program, version: "9.9.9".parse().unwrap(), sha256: "5a".into() };
    let scenario = Scenario::load(&folder).unwrap();
    (dir, scenario, claude)
}

fn go(script: &str) -> Result<RawRun, RecordError> {
    let (_dir, scenario, claude) = workspace(script);
    first(&scenario, &claude)
}

/// Returns the result of the first run.
fn first(scenario: &Scenario, claude: &Claude) -> Result<RawRun, RecordError> {
    run_it(scenario, claude, false).map(|recording| recording.first)
}

#[track_caller]
fn check_error(script: &str, expect: &str) {
    assert_eq!(go(script).unwrap_err().to_string(), expect, "{script}");
}

const INIT: &str = "echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"5-a\"}'";
const RESULT: &str = "echo '{\"type\":\"result\",\"session_id\":\"5-a\"}'";

#[test]
fn a_run_is_kept_with_all_it_left() {
    let script = format!(
        "mkdir -p $HOME/.claude/projects/-x\n\
         echo '{{\"type\":\"user\"}}' > $HOME/.claude/projects/-x/5-a.jsonl\n\
         ls; pwd; echo warn >&2; {INIT}; {RESULT}; exit 1"
    );
    let (_dir, mut scenario, claude) = workspace(&script);
    scenario.record.exit = Exits::Same(ExitWord::Code(1));
    let recording = run_it(&scenario, &claude, false).unwrap();
    let (run, project) = (recording.first, recording.folders.project);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let printed = text(&run.stdout);
    assert!(printed.starts_with(&format!("a.txt\n{project}\n{{\"type\":\"system\"")), "{printed}");
    assert_eq!(text(&run.stderr), "warn\n");
    assert_eq!(text(&run.transcript), "{\"type\":\"user\"}\n");
    assert_eq!(run.exit, Exit::Code(1));
    let prompt = format!("Look at {project}.");
    let expect = [
        "claude",
        "-p",
        &prompt,
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--allowedTools",
        "Read",
    ];
    assert_eq!(run.argv, expect);
    assert!(!PathBuf::from(project).exists());
}

#[test]
fn the_environment_is_clean() {
    let run =
        go(&format!("env | sort | grep -v -e ^PWD -e ^_ -e ^SHLVL -e ^OLDPWD; {RESULT}")).unwrap();
    let stdout = String::from_utf8(run.stdout).unwrap();
    let names: Vec<_> = stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let expect = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
        "HOME",
        "LANG",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TMPDIR",
        "TZ",
        "USER",
    ];
    assert_eq!(names, expect);
}

#[test]
fn a_cli_without_a_result_is_told_with_its_stderr() {
    let hint =
        "before it printed a `result`; run it by hand with the scenario's arguments to see why";
    check_error(
        "echo no key >&2; exit 7",
        &format!("the CLI exited with code 7 {hint}\n  stderr: no key\n  last line: nothing"),
    );
    check_error(
        "echo one; echo two; kill -9 $$",
        &format!("the CLI was ended by signal 9 {hint}\n  stderr: nothing\n  last line: two"),
    );
}

#[test]
fn an_exit_that_nobody_expects_is_told() {
    let hint = "if this is what it is to show, set `record.exit`";
    let said = "\n  stderr: nothing\n  last line: {\"type\":\"result\",\"session_id\":\"5-a\"}";
    for (exit, expected, how) in [
        (
            "exit 3",
            Exits::default(),
            "exited with code 3, the scenario expects that it exits with code 0",
        ),
        (
            "exit 0",
            Exits::Same(ExitWord::Code(1)),
            "exited with code 0, the scenario expects that it exits with code 1",
        ),
        (
            "exit 3",
            Exits::SinceVersion([("9.9.10".parse().unwrap(), ExitWord::Code(3))].into()),
            "exited with code 3, the scenario expects that it exits with code 0",
        ),
        (
            "kill -9 $$",
            Exits::SinceVersion([("9.9.8".parse().unwrap(), ExitWord::Code(9))].into()),
            "was ended by signal 9, the scenario expects that it exits with code 9",
        ),
    ] {
        let (_dir, mut scenario, claude) = workspace(&format!("{RESULT}; {exit}"));
        scenario.record.exit = expected;
        let error = run_it(&scenario, &claude, false).unwrap_err();
        assert_eq!(error.to_string(), format!("the CLI {how}; {hint}{said}"));
    }
}

#[test]
fn a_failure_that_can_not_come_is_told_before_the_cli_runs() {
    let (dir, scenario, claude) = workspace("exit 9");
    let model = format!("{MODEL}[[turn.failure]]\ndrop_after = {{ block = 1, deltas = 9 }}\n");
    fs::write(dir.path().join("scenario/model.toml"), model).unwrap();
    let error = run_it(&scenario, &claude, false).unwrap_err().to_string();
    assert!(error.contains("model.toml: a failure in turn 1 of `main` comes after 9"), "{error}");
}

#[test]
fn a_cli_may_be_asked_for_whole_messages_only() {
    let (_dir, mut scenario, claude) = workspace(RESULT);
    scenario.record.partial_messages = false;
    let run = first(&scenario, &claude).unwrap();
    assert_eq!(run.argv[3..6], ["--output-format", "stream-json", "--verbose"]);
    assert_eq!(run.argv[6], "--allowedTools");
}

#[test]
fn a_subscriber_has_a_token_and_no_key() {
    let (_dir, mut scenario, claude) = workspace(&format!("env | grep -e KEY -e TOKEN; {RESULT}"));
    scenario.record.login = Login::Subscription;
    let stdout = String::from_utf8(first(&scenario, &claude).unwrap().stdout).unwrap();
    let login: Vec<_> = stdout.lines().filter(|line| line.contains('=')).collect();
    assert_eq!(login, ["CLAUDE_CODE_OAUTH_TOKEN=clitape"]);
}

#[test]
fn a_request_nobody_scripted_ends_the_recording() {
    // The shell has no HTTP; the client uses bash's way to open sockets.
    let script = "exec bash -c '\
        a=${ANTHROPIC_BASE_URL#http://}; exec 3<>/dev/tcp/${a%:*}/${a#*:}; \
        printf \"GET /v1/models HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n\" >&3; sleep 600'";
    let (dir, scenario, claude) = workspace(script);
    let error = run_it(&scenario, &claude, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "nobody scripted this request: GET /v1/models\n\
             add a [[turn]], [[spare]] or [[side]] to {}",
            dir.path().join("scenario/model.toml").display()
        )
    );
}

#[test]
fn a_recording_can_be_stopped() {
    let (_dir, scenario, claude) = workspace("exec sleep 600");
    let error = run_it(&scenario, &claude, true).unwrap_err();
    assert_eq!(error.to_string(), "stopped; nothing was written");
}

#[test]
fn a_cli_that_never_ends_is_stopped_in_time() {
    let (_dir, mut scenario, claude) = workspace("exec sleep 600");
    scenario.record.timeout_s = 0;
    let error = run_it(&scenario, &claude, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the CLI had not ended after 0 s and was stopped; raise `record.timeout_s` in the \
         scenario if it needs longer\n  stderr: nothing\n  last line: nothing"
    );
}

#[test]
fn two_takes_of_one_run_are_the_same() {
    let script = format!(
        "pwd; echo '{{\"type\":\"system\",\"cwd\":\"'$PWD'\",\"session_id\":\"'$(cat /proc/sys/kernel/random/uuid)'\"}}'; {RESULT}"
    );
    let (_dir, scenario, claude) = workspace(&script);
    let take = || record_it(&scenario, &claude).unwrap();
    let (first, second) = (take(), take());
    let stdout = String::from_utf8_lossy(&first.stdout);
    assert!(stdout.starts_with("/clitape/project\n"), "{stdout}");
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(first.manifest.cli.argv[2], "Look at /clitape/project.");
    assert_eq!(first.manifest.cli.sha256.as_deref(), Some("5a"));
}

#[test]
fn a_session_goes_on_in_the_same_folders() {
    // Each run adds its prompt to the session's transcript and asks the model once.
    let script = "s=$HOME/.claude/projects/-x/5-a.jsonl; mkdir -p ${s%/*}\n\
        [ \"$1 $2\" = '-p Again.' ] && text=Again. || text=First.\n\
        printf '{\"type\":\"user\",\"message\":{\"content\":\"%s\"}}\\n' $text >> $s\n\
        body='{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"'$text'\"}]}'\n\
        export body; bash -c 'a=${ANTHROPIC_BASE_URL#http://}; exec 3<>/dev/tcp/${a%:*}/${a#*:}; \
        printf \"POST /v1/messages HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\ncontent-length: ${#body}\\r\\n\\r\\n$body\" >&3; \
        grep -o \"text_delta.*\" <&3'\n";
    let (dir, mut scenario, claude) = workspace(&format!("{INIT}\n{script}{RESULT}"));
    let step = "resume = 'id'\nprompt = 'Again.'";
    scenario.record.then = vec![toml::from_str(step).unwrap()];
    let model = format!("{MODEL}[[step]]\n[[step.turn]]\n[[step.turn.block]]\ntext = 'Yes.'\n");
    fs::write(dir.path().join("scenario/model.toml"), model).unwrap();
    let take = record_it(&scenario, &claude).unwrap();
    let [second] = &take.further[..] else { panic!("{take:?}") };
    assert_eq!(second.facts.argv[6..9], ["--include-partial-messages", "--resume", "5-a"]);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text(&take.stdout).contains("Hi."), "{}", text(&take.stdout));
    assert!(text(&second.stdout).contains("Yes."), "{}", text(&second.stdout));
    assert_eq!(text(&take.transcript).lines().count(), 1);
    assert_eq!(text(&second.transcript).lines().count(), 2);
    let history = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Again.\"}]}\n";
    assert_eq!(text(&second.history), history);

    let root = tempfile::tempdir().unwrap();
    let written = take.write(&Workspace::at(root.path())).unwrap();
    let read = Cassette::load(&written).unwrap();
    assert_eq!((&read.stdout, &read.transcript), (&take.stdout, &take.transcript));
    assert_eq!(read.further[0].history, second.history);
    assert_eq!(read.further[0].facts.counts.lines, 3);
    assert!(
        read.manifest.sha256.contains_key(&"raw-stdout.2".parse().unwrap()),
        "{:?}",
        read.manifest.sha256
    );
}
