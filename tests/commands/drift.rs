//! Tests of `clitape drift` on the committed recordings, and with a CLI that was changed on purpose.

#![allow(clippy::expect_used, clippy::panic, reason = "a report that can't be read fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use clitape_recording::cassette::Cassette;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;

use crate::common::{clitape, put_program, root, run, workspace};
use clitape_runner::baseline::held;
use serde_json::Value;

/// A change as a test names it, by its kind and its place.
type Named<'a> = (&'a str, &'a str);

/// Runs the command, and returns its exit code, its output, and the report. No version can be installed.
fn drift(dir: &Path, args: &[&str]) -> (i32, String, Value) {
    let out = tempfile::tempdir().expect("there is a temporary folder");
    put_program(&out.path().join("bin/npm"), "#!/bin/sh\nexit 1\n");
    let file = out.path().join("drift.json");
    let mut command = clitape();
    command.current_dir(dir).args(["drift", "--json"]).arg(&file).args(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", out.path().join("bin").display()));
    command.env("XDG_CACHE_HOME", out.path().join("cache"));
    let output = command.output().expect("the command runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    let code = output.status.code().expect("it exits");
    let text = fs::read_to_string(file);
    let text = text.unwrap_or_else(|error| panic!("{error}: {code}\n{printed}{errors}"));
    (code, printed, serde_json::from_str(&text).expect("the report is JSON"))
}

fn changes(report: &Value) -> Vec<Named<'_>> {
    let changes = report["changes"].as_array().expect("the report has changes");
    changes
        .iter()
        .map(|change| {
            let of = |key: &str| change[key].as_str().expect("a change has a kind and a place");
            (of("kind"), of("place"))
        })
        .collect()
}

#[test]
fn from_2_1_329_to_2_1_332_six_things_change_and_nothing_that_a_person_sees() {
    let (code, printed, report) = drift(root(), &["--from", "2.1.329", "--to", "2.1.332"]);
    assert_eq!(code, 3, "{printed}");
    let first = printed.lines().next().unwrap_or_default();
    assert!(first.contains("Nothing a person sees has changed, in "), "{first}");
    assert_eq!(
        changes(&report),
        [
            ("field-new", "result.begun_message_ids"),
            ("field-new", "system/init.sandbox_enabled"),
            ("field-new", "user.refusal_retry"),
            ("value-new", "system/init.capabilities[]"),
            ("field-new", "control_response.response<success>.response.sandbox_enabled"),
            ("value-new", "control_response.response<success>.response.capabilities[]"),
        ]
    );
    let capability = &report["changes"][5];
    assert_eq!(capability["what"], "has the new value `mcp_call_soft_error_result_v1`");
    assert_eq!(report["not_compared"], Value::Array(Vec::new()));
    assert_eq!(report["person_sees"], false);
}

/// Rows of a list of each version's output that was made from other recordings than the committed ones. The first ten
/// were chosen in that list and found in the report; the others were chosen in the report and found in the list.
const KNOWN: [Named<'static>; 20] = [
    ("kind-new", "system/background_tasks_changed"),
    ("kind-new", "system/thinking_tokens"),
    ("field-new", "assistant.timestamp"),
    ("field-new", "assistant.tool_use_meta"),
    ("field-new", "result.usage.fallback_credit"),
    ("field-new", "result.subagent_stats"),
    ("field-new", "result/success.first_content_frame_ms"),
    ("field-new", "stream_event.api_message_id"),
    ("field-new", "system/init.capabilities"),
    ("field-new", "control_response.response<success>.response.capabilities"),
    ("kind-new", "system/permission_denied"),
    ("kind-new", "system/informational"),
    ("field-new", "assistant.aborted"),
    ("field-new", "assistant.is_api_error_message"),
    ("field-new", "assistant.thinking_duration_ms"),
    ("field-new", "result.queued_turn_count"),
    ("field-new", "result.safety_stops"),
    ("field-new", "result/success.local_command"),
    ("field-new", "control_response.response<success>.pending_permission_requests"),
    ("field-new", "control_response.response<success>.response.session_state"),
];

#[test]
fn a_report_is_printed_and_only_one() {
    let two = ["drift", "--from", "2.1.329", "--to", "2.1.332", "plain-text"];
    let (code, out, err) = run(root(), &[&two[..], &["--json", "-"]].concat());
    let report: Value = serde_json::from_str(&out).expect("the report alone is on standard output");
    assert_eq!((changes(&report).is_empty(), code), (false, 3), "{out}{err}");
    let (code, out, err) = run(root(), &[&two[..], &["--json", "-", "--markdown", "-"]].concat());
    assert!(code == 2 && out.is_empty() && err.contains("one report only"), "{out}{err}");
}

#[test]
fn from_2_1_148_to_2_1_329_it_finds_what_is_known() {
    let (code, printed, report) = drift(root(), &["--from", "2.1.148", "--to", "2.1.329"]);
    assert_eq!(code, 3, "{printed}");
    assert_eq!(report["not_compared"], Value::Array(Vec::new()));
    let found = changes(&report);
    let missing: Vec<_> = KNOWN.iter().filter(|known| !found.contains(known)).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {found:#?}");
}

/// Makes a CLI that prints the recording of a scenario with a change.
fn altered(dir: &Path, stdout: &str, help: &str) -> PathBuf {
    let program = dir.join("claude");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n--version) echo '2.1.329 (Claude Code)';;\n--help) cat <<'HELP'\n{help}HELP\n;;\n\
         *) cat <<'STDOUT'\n{stdout}STDOUT\n;;\nesac\n"
    );
    put_program(&program, &script);
    program
}

/// The changes that the program always has, because it writes no transcript.
const NO_TRANSCRIPT: [Named<'static>; 2] =
    [("count", "transcript: assistant/text"), ("count", "transcript: user")];

/// Changes the recorded output of the CLI, and expects these changes in the report.
#[track_caller]
fn check(alter: impl Fn(&str) -> String, add_help: &str, expect: &[Named<'_>]) {
    const VERSION: &str = "2.1.329";
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let file = format!("cassettes/plain-text/{VERSION}/stdout.jsonl");
    let stdout = fs::read_to_string(dir.join(file)).expect("the recording can be read");
    let help = root().join(format!("versions/{VERSION}/help.txt"));
    let help = fs::read_to_string(help).expect("the help can be read");
    let known = dir.join("versions").join(VERSION);
    fs::create_dir_all(&known).expect("the folder can be made");
    fs::write(known.join("help.txt"), &help).expect("the help can be written");
    let bin = tempfile::tempdir().expect("there is a temporary folder");
    let program = altered(bin.path(), &alter(&stdout), &(help + add_help));
    let program = program.to_str().expect("the path is text");
    let (code, printed, report) = drift(dir, &["--from", VERSION, "--claude", program, "--yes"]);
    assert_eq!(changes(&report), [expect, &NO_TRANSCRIPT].concat(), "{printed}");
    assert_eq!(code, 3, "{printed}");
}

#[test]
fn npm_runs_in_a_folder_without_files_of_the_workspace() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    fs::write(dir.join(".npmrc"), "registry=http://127.0.0.1:9/\n").expect("it can be written");
    fs::write(dir.join("package.json"), "{}").expect("it can be written");
    let log = tempfile::tempdir().expect("there is a temporary folder");
    let script = format!(
        "#!/bin/sh\n{{ echo \"$@\"; pwd; ls -A; }} >> {}/log\n[ $1 = view ] && echo 9.9.9\n",
        log.path().display()
    );
    put_program(&log.path().join("bin/npm"), &script);
    let mut command = clitape();
    command.current_dir(dir).args(["drift", "--from", "2.1.332", "--to", "latest", "--yes"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", log.path().join("bin").display()));
    command.env("XDG_CACHE_HOME", log.path().join("cache"));
    let output = command.output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("9.9.9"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(log.path().join("log")).expect("npm was called");
    let calls: Vec<&str> = log.lines().collect();
    assert!(calls.len() >= 4, "{log}");
    for call in calls.chunks(2) {
        let [args, folder] = call else { panic!("a folder is not empty: {log}") };
        let what = match args.starts_with("view ") {
            true => "view @anthropic-ai/claude-code version",
            false => "install --no-audit --no-fund",
        };
        assert!(args.starts_with(&format!("{what} --prefix {folder}")), "{log}");
        assert!(!Path::new(folder).starts_with(dir) && !Path::new(folder).exists(), "{log}");
    }
}

/// Returns the records in another order, or without some of them.
fn lines(text: &str, change: impl Fn(&mut Vec<&str>)) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    change(&mut lines);
    lines.join("\n") + "\n"
}

#[test]
fn a_cli_that_was_changed_on_purpose_is_convicted() {
    check(str::to_owned, "", &[]);
    check(
        |text| text.replace("\"num_turns\"", "\"turn_count\""),
        "",
        &[("field-new", "result/success.turn_count"), ("field-gone", "result/success.num_turns")],
    );
    check(
        |text| lines(text, |lines| lines.retain(|line| !line.contains("\"subtype\":\"status\""))),
        "",
        &[("kind-gone", "system/status")],
    );
    check(
        |text| {
            lines(text, |lines| {
                let at = lines.iter().position(|line| line.contains("\"subtype\":\"status\""));
                let at = at.expect("there is a status");
                lines.swap(at, at + 1);
            })
        },
        "",
        &[("order", "records: order")],
    );
    check(str::to_owned, "  --sing <song>  Sing a song\n", &[("flag-new", "--sing")]);
}

/// Compares a committed page with the current one; `UPDATE_DRIFT=1` writes it.
fn check_page(name: &str, current: &str) {
    let path = root().join("reports/drift").join(name);
    if std::env::var_os("UPDATE_DRIFT").is_some() {
        fs::write(&path, current).expect("the page can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let hint = "run `UPDATE_DRIFT=1 cargo test --test commands drift`";
    assert!(committed == current, "reports/drift/{name} is out of date; {hint}");
    assert!(current.lines().count() <= 400, "reports/drift/{name} is too long to be read");
}

#[test]
fn the_committed_reports_are_those_of_the_committed_recordings() {
    let project = Workspace::at(root());
    let versions = project.versions().expect("clitape.toml can be read");
    let versions = versions.expect("clitape.toml has versions").baseline().to_vec();
    let mut steps = String::new();
    for pair in versions.windows(2) {
        let [from, to] = [pair[0].as_str(), pair[1].as_str()];
        let dir = tempfile::tempdir().expect("there is a temporary folder");
        let file = dir.path().join("drift.md");
        let page = file.to_str().expect("the path is text");
        let args = ["--from", from, "--to", to, "--markdown", page];
        let (_, _, report) = drift(root(), &args);
        let name = format!("{from}-to-{to}.md");
        check_page(&name, &fs::read_to_string(&file).expect("the report was written"));
        let verdict = report["verdict"].as_str().expect("the report has a verdict");
        let changes = report["changes"].as_array().expect("the report has changes").len();
        steps.insert_str(0, &format!("| [{from} → {to}]({name}) | {verdict} | {changes} |\n"));
    }
    check_page("README.md", &index(&project, &versions, &steps));
}

/// Makes the page of all steps, and of the dates and versions of all recordings.
fn index(project: &Workspace, versions: &[CliVersion], steps: &str) -> String {
    let mut page = String::from(
        "# Which versions of claude clitape knows\n\n\
         What each version changed, the newest first: `clitape drift --from A --to B` makes such a page.\n\n\
         | step | what a person sees | changes |\n|---|---|---:|\n",
    );
    page += steps;
    let names = versions.iter().map(|version| format!(" {version} |")).collect::<String>();
    page += "\n## Recordings\n\nThe day on which each scenario was recorded with each version. What has none was \
             written by hand for another version, or its `scenario.toml` says why the version is left out.\n\n";
    page += &format!("| scenario |{names}\n|---|{}\n", "---|".repeat(versions.len()));
    let held = held(project).expect("the recordings can be read").versions;
    let size = |version: &CliVersion| -> String {
        let one = held.iter().find(|one| one.version == *version).expect("the version is held");
        format!(" {}, {:.1} MB |", one.recordings, one.recording_bytes as f64 / 1e6)
    };
    page += &format!("| **together** |{}\n", versions.iter().map(size).collect::<String>());
    for name in project.names().expect("the folders can be read") {
        let date = |version: &CliVersion| -> String {
            let cassette = Cassette::find(project, &name, version).ok();
            format!(" {} |", cassette.map(|one| one.manifest.cli.date).unwrap_or_default())
        };
        page += &format!("| {name} |{}\n", versions.iter().map(date).collect::<String>());
    }
    page
}
