//! Tests that failures are always reported: with a reader that goes away, a recording older than its scenario, an
//! edited cassette.toml, and a proof whose text says that it failed. Also tests that a command that writes keeps the
//! files of others.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::{check, clitape, edit_manifest, put_program, root, tree, workspace};

/// Runs the command with a stdout without a reader, and expects the exit code and these files.
#[track_caller]
fn check_unread(dir: &Path, args: &[&str], code: i32, written: &[&str]) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = clitape();
    command.current_dir(dir).args(args).stdout(writer).stderr(Stdio::piped());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
    assert!(!errors.contains("error"), "{args:?}: {errors}");
    for file in written {
        assert!(dir.join(file).is_file(), "{args:?}: there is no {file}");
    }
}

/// Makes a workspace in which one golden is wrong.
fn with_a_wrong_golden() -> tempfile::TempDir {
    let workspace = workspace(&["plain-text"]);
    let golden = workspace.path().join("scenarios/plain-text/golden/telegram-partial.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replacen("sendMessage", "sendMessagf", 1)).unwrap();
    workspace
}

#[test]
fn a_reader_that_goes_away_changes_neither_the_exit_code_nor_the_files() {
    let workspace = with_a_wrong_golden();
    let dir = workspace.path();
    let reports = ["--junit", "r.xml", "--tap", "r.tap", "--json", "r.json", "--html", "page"];
    check_unread(
        dir,
        &[&["test"], &reports[..]].concat(),
        3,
        &["r.xml", "r.tap", "r.json", "page/index.html"],
    );
    check_unread(dir, &["--quiet", "test"], 3, &[]);
    check_unread(dir, &["test", "--update"], 3, &[PENDING]);
    check_unread(dir, &["review", "--list"], 3, &[PENDING]);
    let proof = ["proof", "plain-text/1.0.128", "--no-png", "--out", "proof"];
    check_unread(dir, &proof, 3, &["proof/index.html", "proof/proof.md", "proof/preview.svg"]);
    let compare = ["compare", "1.0.128", "2.1.329", "--out", "compare"];
    check_unread(dir, &compare, 3, &["compare/index.html", "compare/compare.md"]);
    let drift = ["drift", "--from", "2.1.148", "--to", "2.1.329", "--markdown", "drift.md"];
    fs::create_dir_all(dir.join("versions/2.1.148")).unwrap();
    fs::create_dir_all(dir.join("versions/2.1.329")).unwrap();
    fs::write(dir.join("versions/2.1.148/help.txt"), "").unwrap();
    fs::write(dir.join("versions/2.1.329/help.txt"), "").unwrap();
    check_unread(dir, &drift, 3, &["drift.md"]);
    check_unread(dir, &["replay", "plain-text/2.1.329", "--json"], 0, &[]);
    check_unread(dir, &["replay", "plain-text/2.1.329", "--speed", "0.01"], 0, &[]);
    check_unread(dir, &["schema"], 0, &[]);
    check_unread(dir, &["completions", "bash"], 0, &[]);
    check_unread(dir, &["scan", "scenarios"], 0, &[]);
    check_unread(dir, &["--help"], 0, &[]);
    check_unread(dir, &["review", "--accept", "--reason", "r"], 0, &[]);
    assert!(!dir.join(PENDING).exists(), "the golden still waits");
    check_unread(dir, &["test"], 0, &[]);
}

/// The proposal for the wrong golden.
const PENDING: &str = "scenarios/plain-text/golden/telegram-partial.snap.new";

/// Changes a file of the scenario `three-tools`, and expects this finding of `clitape test` about its recordings, or
/// none.
#[track_caller]
fn check_stale(file: &str, change: impl Fn(String) -> String, expect: Option<&str>) {
    let workspace = workspace(&["three-tools"]);
    let path = workspace.path().join("scenarios/three-tools").join(file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, change(before)).unwrap();
    match expect {
        None => check(workspace.path(), &["test"], 0, &["all held"], &[]),
        Some(what) => {
            let told = [
                "TP005 recording-stale three-tools\n",
                &format!(
                    "\n  {what} changed since CLI 1.0.128, 2.1.148, 2.1.329, 2.1.332 recorded it\n"
                ),
                "\n  to fix: clitape record three-tools --force\n",
                "; 1 finding\n",
            ];
            check(workspace.path(), &["test"], 3, &told, &[])
        }
    };
}

#[test]
fn a_recording_that_is_older_than_its_scenario_is_a_finding() {
    let scenario = "scenario.toml";
    check_stale(
        scenario,
        |text| text.replacen("prompt = \"", "prompt = \"Please: ", 1),
        Some("`record.prompt`"),
    );
    check_stale(
        scenario,
        |text| text.replacen("[record]\n", "[record]\npartial_messages = false\n", 1),
        Some("`record.partial_messages`"),
    );
    check_stale(
        "model.toml",
        |text| text.replacen("text = \"", "text = \"Well: ", 1),
        Some("model.toml"),
    );
    check_stale("workspace/more.txt", |_| "more".to_owned(), Some("workspace/"));
    // The form of the file does not count, nor do keys that decide only how the recording is judged.
    check_stale("model.toml", |text| format!("# A comment.\n\n{text}"), None);
    check_stale(
        scenario,
        |text| text.replacen("[record]\n", "[record]\ntimeout_s = 99\n", 1),
        None,
    );
    check_stale(scenario, |text| format!("{text}\n[proof]\nnot_tested = \"the weather\"\n"), None);
}

#[test]
fn a_recording_that_does_not_say_what_it_was_made_from_is_a_finding() {
    let workspace = workspace(&["plain-text"]);
    let manifest = workspace.path().join("cassettes/plain-text/2.1.148/cassette.toml");
    edit_manifest(&manifest, |text| {
        let (before, rest) = text.split_once("[made_from]").unwrap();
        format!("{before}[counts]{}", rest.split_once("[counts]").unwrap().1)
    });
    let told = [
        "TP005 recording-stale",
        "changed since CLI 2.1.148 recorded it",
        "to fix: clitape record plain-text --claude npm:2.1.148 --force\n",
    ];
    check(workspace.path(), &["test"], 3, &told, &[]);
}

#[test]
fn an_edited_manifest_is_damage() {
    for (from, to) in [
        ("sha256 = \"", "sha256 = \"0"),
        ("date = \"", "date = \"1"),
        ("platform = \"linux", "platform = \"other"),
        ("origin = \"recorded\"", "origin = \"imported\""),
    ] {
        let workspace = workspace(&["plain-text"]);
        let manifest = workspace.path().join("cassettes/plain-text/2.1.329/cassette.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        let told = [
            "cassette.toml is damaged: its seal is ",
            "it was edited; restore it from version control",
        ];
        for command in [&["test"][..], &["replay", "plain-text/2.1.329"]] {
            check(workspace.path(), command, 5, &[], &told);
        }
        let proof = ["proof", "plain-text/2.1.329", "--no-png", "--out", "proof"];
        check(workspace.path(), &proof, 5, &[], &told);
        assert!(!workspace.path().join("proof").exists(), "a proof was written");
    }
}

#[test]
fn only_a_command_that_mends_is_called_a_fix() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let cassettes = dir.join("cassettes/plain-text");
    // Without a recording there is one finding, and none about goldens.
    fs::rename(&cassettes, dir.join("elsewhere")).unwrap();
    let told = [
        "the scenario is not recorded",
        "\n  to fix: clitape record plain-text\n",
        "; 1 finding\n",
    ];
    let out = check(dir, &["test"], 3, &told, &[]);
    assert!(!out.contains("rm "), "{out}");
    fs::rename(dir.join("elsewhere"), &cassettes).unwrap();
    // A golden that differs comes with a command that shows it, and one that accepts it.
    let golden = dir.join("scenarios/plain-text/golden/telegram-partial.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replacen("sendMessage", "sendMessagf", 1)).unwrap();
    let told = [
        "\n  reproduce: clitape replay cassettes/plain-text/1.0.128 ",
        "\n  to accept: clitape test plain-text --update && clitape review\n",
    ];
    check(
        dir,
        &["test", "--junit", "r.xml", "--markdown", "r.md", "--tap", "r.tap"],
        3,
        &told,
        &[],
    );
    for (file, labels) in [
        ("r.xml", ["reproduce: clitape", "to accept: clitape"]),
        ("r.md", ["# reproduce\nclitape", "# to accept\nclitape"]),
        ("r.tap", ["reproduce: \"clitape", "to accept: \"clitape"]),
    ] {
        let text = fs::read_to_string(dir.join(file)).unwrap();
        assert!(labels.iter().all(|label| text.contains(label)), "{file}: {text}");
    }
    fs::write(&golden, text).unwrap();
    // For a golden without a comparison, the command that shows it must not remove it.
    fs::write(dir.join("scenarios/plain-text/golden/none.snap"), "---\nsource: s\n---\n").unwrap();
    let told = [
        "\n  reproduce: clitape test plain-text\n",
        "\n  to fix: rm scenarios/plain-text/golden/none.snap\n",
    ];
    check(dir, &["test"], 3, &told, &[]);
}

#[test]
fn a_proof_is_held_against_its_run() {
    let workspace = with_a_wrong_golden();
    let dir = workspace.path();
    let args = ["proof", "plain-text/1.0.128", "--no-png", "--out", "proof"];
    check(dir, &args, 3, &["wrote proof/proof.json"], &[]);
    let proof = ["proof", "--check", "proof/proof.md"];
    check(dir, &proof, 3, &["failed: the text says itself", "goldens compared, "], &[]);
    // A number that was edited by hand does not agree with the run beside it.
    let path = dir.join("proof/proof.md");
    let text = fs::read_to_string(&path).unwrap();
    let mended = text.replace("goldens compared, 3 held", "goldens compared, 4 held");
    assert_ne!(mended, text);
    fs::write(&path, &mended).unwrap();
    check(dir, &proof, 3, &["contradicted: the run of plain-text/1.0.128 has 1 finding"], &[]);
    // A proof that passes, and one with another answer in it.
    check(dir, &["test", "--update"], 3, &[], &[]);
    check(dir, &["review", "--accept", "--reason", "r"], 0, &[], &[]);
    check(dir, &args, 0, &[], &[]);
    let out = check(dir, &proof, 0, &["passed: the proof has every field and real evidence"], &[]);
    assert!(!out.contains("only the text"), "{out}");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("the person ends up reading `A tape", "the person ends up reading `B tape"),
    )
    .unwrap();
    check(
        dir,
        &proof,
        3,
        &["contradicted: the text does not say what the run of plain-text/1.0.128 gave"],
        &[],
    );
    // Elsewhere only the text can be checked, and the output says so.
    fs::write(dir.join("pasted.md"), text).unwrap();
    check(
        dir,
        &["proof", "--check", "pasted.md"],
        0,
        &["only the text was checked, and no run"],
        &[],
    );
}

/// Replays a recording of a committed scenario, and checks that some lines are printed and others are not.
#[track_caller]
fn check_played(args: &[&str], shown: &[&str], hidden: &[&str]) {
    let out = check(root(), &[&["replay"], args].concat(), 0, shown, &[]);
    for part in hidden {
        assert!(!out.contains(part), "{args:?}: `{part}` in\n{out}");
    }
}

#[test]
fn a_scenario_is_played_as_it_says() {
    let silent = "silent-run/2.1.329";
    check_played(&[silent], &[], &["sendMessage"]);
    check_played(&["cassettes/silent-run/2.1.329"], &["sendMessage"], &[]);
    // The scenario's faults of the chat apply, unless the arguments name others.
    check_played(&["chat-rate-limited/2.1.329"], &["rate-limit"], &[]);
    check_played(
        &["chat-rate-limited/2.1.329", "--fault", "2:not-modified"],
        &["not-modified"],
        &["rate-limit"],
    );
    check_played(&["cassettes/chat-rate-limited/2.1.329"], &[], &["rate-limit"]);
    // The further runs of its session are replayed too, except with a plan, which is for one run.
    let further = "run 2, which resumes the session:";
    check_played(&["resume-fork/2.1.329"], &[further], &[]);
    check_played(&["resume-fork/2.1.329", "--seed", "4"], &[further], &[]);
    check_played(&["cassettes/resume-fork/2.1.329"], &[], &[further]);
    let plan = check(root(), &["replay", "resume-fork/2.1.329", "--print-plan"], 0, &[], &[]);
    check_played(&["resume-fork/2.1.329", "--plan", plan.trim()], &[], &[further]);
}

/// Puts a CLI into a workspace that prints this answer and ends with this code.
fn put_cli(dir: &Path, answer: &str, code: u8) {
    let result = format!(r#"{{"type":"result","session_id":"5-a","result":"{answer}"}}"#);
    let script = format!(
        "#!/bin/sh\n[ \"$*\" = --version ] && echo 9.9.9 && exit\necho '{result}'\nexit {code}\n"
    );
    put_program(&dir.join("claude"), &script);
}

#[test]
fn a_race_of_a_recording_is_named_with_its_cure() {
    let workspace = tempfile::tempdir().unwrap();
    let dir = workspace.path();
    check(dir, &["init", "mine"], 0, &[], &[]);
    let record = ["record", "mine", "--yes", "--claude", "./claude"];
    let put = |order: [&str; 2]| {
        let [a, b] = order.map(|kind| format!(r#"echo '{{"type":"system","subtype":"{kind}"}}'"#));
        let result = r#"echo '{"type":"result","session_id":"5-a","result":"Hi."}'"#;
        let ask = "[ \"$*\" = --version ] && echo 9.9.9 && exit";
        let script = format!("#!/bin/sh\n{ask}\n{a}\n{b}\n{result}\n");
        put_program(&dir.join("claude"), &script);
    };
    put(["status", "notification"]);
    // This CLI asks no model.
    let unasked = "model.toml has more than was asked for: [[turn]] 1 of `main`";
    check(dir, &record, 0, &["wrote cassettes/mine/9.9.9", unasked], &[]);
    let again = [&record[..], &["--check"]].concat();
    let out = check(dir, &again, 0, &["identical"], &[]);
    assert!(!out.contains("race"), "{out}");
    put(["notification", "status"]);
    let told = [
        "`system/notification` comes where `system/status` came",
        "race of the scenario",
        "`end_delay_ms = 500`",
    ];
    check(dir, &again, 3, &told, &[]);
    // Another text is no race.
    put(["status", "other"]);
    let out = check(dir, &again, 3, &["differs from cassettes/mine/9.9.9"], &[]);
    assert!(!out.contains("race"), "{out}");
}

#[test]
fn calls_that_may_race_are_recorded_twice() {
    let workspace = tempfile::tempdir().unwrap();
    let dir = workspace.path();
    check(dir, &["init", "mine"], 0, &[], &[]);
    let call = "[[turn.block]]\ntool = \"Read\"\ninput = { file_path = \"a\" }\n";
    fs::write(dir.join("scenarios/mine/model.toml"), format!("[[turn]]\n{call}{call}")).unwrap();
    // The program counts its runs in a file, which a confined one can't write.
    let record = ["record", "mine", "--yes", "--claude", "./claude", "--confine", "none"];
    let races = |order: &str| {
        let counts = dir.join("counts").display().to_string();
        let script = format!(
            "#!/bin/sh\n[ \"$*\" = --version ] && echo 9.9.9 && exit\necho >> {counts}\n\
             for kind in {order}; do echo '{{\"type\":\"system\",\"subtype\":\"'$kind'\"}}'; done\n\
             echo '{{\"type\":\"result\",\"session_id\":\"5-a\",\"result\":\"Hi.\"}}'\n"
        );
        put_program(&dir.join("claude"), &script);
        fs::write(dir.join("counts"), "").unwrap();
    };
    let count = || fs::read_to_string(dir.join("counts")).unwrap().lines().count();
    let counts = dir.join("counts").display().to_string();
    let odd = format!("$([ $(wc -l < {counts}) = 2 ] && echo b a || echo a b)");
    races(&odd);
    let told =
        ["two recordings differ: ", "race of the scenario", "nothing was written", "--force"];
    check(dir, &record, 3, &told, &[]);
    assert!(count() == 2 && !dir.join("cassettes/mine").exists());
    races("a b");
    check(dir, &record, 0, &["wrote cassettes/mine/9.9.9"], &[]);
    assert_eq!(count(), 2);
    // The cassette that is there is the other recording.
    check(dir, &record, 0, &["wrote cassettes/mine/9.9.9"], &[]);
    assert_eq!(count(), 3);
    races(&odd);
    check(dir, &[&record[..], &["--force"]].concat(), 0, &["wrote cassettes/mine/9.9.9"], &[]);
    assert_eq!(count(), 1);
}

#[test]
fn no_recording_is_replaced_unasked() {
    let workspace = tempfile::tempdir().unwrap();
    let dir = workspace.path();
    check(dir, &["init", "mine"], 0, &[], &[]);
    let record = ["record", "mine", "--yes", "--claude", "./claude"];
    put_cli(dir, "Hi.", 0);
    check(dir, &record, 0, &["wrote cassettes/mine/9.9.9"], &[]);
    // The same bytes may be written again, because only the times differ.
    check(dir, &record, 0, &["wrote cassettes/mine/9.9.9"], &[]);
    let before = tree(&dir.join("cassettes"));
    put_cli(dir, "Ho.", 0);
    let told =
        ["cassettes/mine/9.9.9 is there already, and this one differs: line 1", "add `--force`"];
    check(dir, &record, 3, &told, &[]);
    put_cli(dir, "Ho.", 3);
    check(dir, &[&record[..], &["--force"]].concat(), 4, &[], &["code 3"]);
    assert!(tree(&dir.join("cassettes")) == before, "the recording is another one");
    put_cli(dir, "Ho.", 0);
    check(dir, &[&record[..], &["--force"]].concat(), 0, &["wrote cassettes/mine/9.9.9"], &[]);
    assert!(tree(&dir.join("cassettes")) != before, "nothing was written");
    // An import replaces neither a recording nor another import.
    let capture = root().join("cassettes/plain-text/2.1.329/stdout.jsonl");
    let text = fs::read_to_string(capture).unwrap();
    fs::write(dir.join("a.jsonl"), &text).unwrap();
    fs::write(dir.join("b.jsonl"), text.replace("recorder", "rekorder")).unwrap();
    let import =
        |file, options: &[&'static str]| [&["import", file, "--scenario"], options].concat();
    check(
        dir,
        &import("a.jsonl", &["mine", "--cli-version", "9.9.9"]),
        2,
        &[],
        &["was made in another way"],
    );
    check(dir, &import("a.jsonl", &["other"]), 0, &["wrote cassettes/other/2.1.329"], &[]);
    check(dir, &import("a.jsonl", &["other"]), 0, &["wrote cassettes/other/2.1.329"], &[]);
    let before = tree(&dir.join("cassettes"));
    let told =
        ["cassettes/other/2.1.329 is there already, and this one differs: line ", "add `--force`"];
    check(dir, &import("b.jsonl", &["other"]), 2, &[], &told);
    assert!(tree(&dir.join("cassettes")) == before, "the import is another one");
    check(dir, &import("b.jsonl", &["other", "--force"]), 0, &["wrote"], &[]);
}
