//! Tests of a foreign workspace: commands write, move and remove only files within it, read only regular files, and
//! report an error in it as one clear finding.

#![allow(clippy::expect_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{check, edit_manifest, files, run, workspace};
use tempfile::TempDir;

/// Returns a capture whose first record names this CLI version.
fn capture(version: &str) -> String {
    let init = serde_json::json!({
        "type": "system", "subtype": "init", "session_id": "s", "claude_code_version": version,
    });
    let result = serde_json::json!({ "type": "result", "subtype": "success", "result": "Hi." });
    format!("{init}\n{result}\n")
}

/// Makes a folder with a file, outside of the workspace, that must not change.
fn precious() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("precious"), "mine").expect("a file");
    dir
}

#[track_caller]
fn still_there(precious: &TempDir) {
    let names: Vec<_> = fs::read_dir(precious.path())
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["precious"]);
    let text = fs::read_to_string(precious.path().join("precious")).expect("the file is there");
    assert_eq!(text, "mine");
}

/// Replaces a text in a file of a workspace.
fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a file");
    assert!(text.contains(from), "{from} is not in {}", path.display());
    fs::write(path, text.replace(from, to)).expect("it can be written");
}

#[test]
fn an_import_writes_only_below_its_scenario() {
    let outside = precious();
    let path = outside.path().to_str().expect("a path");
    let dir = workspace(&[]);
    let up = format!("../../../{}", path.trim_start_matches('/'));
    for version in [path, &up, "..", "2.1\n3", "2.1\"3", "\u{1b}[31m2", ""] {
        fs::write(dir.path().join("run.jsonl"), capture(version)).expect("a capture");
        let args = ["import", "run.jsonl", "--scenario", "harmless"];
        let (code, _, err) = run(dir.path(), &args);
        assert_eq!(code, 2, "{version:?}: {err}");
        assert!(err.contains("--cli-version VERSION"), "{err}");
        still_there(&outside);
    }
    fs::write(dir.path().join("run.jsonl"), capture("2.1.0")).expect("a capture");
    for flag in ["--scenario", "--cli-version"] {
        for name in [path, &up, "..", "../../x", "a/b", "-x", "a b"] {
            let named = format!("{flag}={name}");
            let (code, _, err) =
                run(dir.path(), &["import", "run.jsonl", "--scenario", "ok", &named]);
            assert_eq!(code, 2, "{named}: {err}");
            still_there(&outside);
        }
    }
    let config = dir.path().join("clitape.toml");
    assert_eq!(files(dir.path(), ".toml"), [config], "nothing was written");

    check(dir.path(), &["import", "run.jsonl", "--scenario", "ok"], 0, &[], &[]);
    let written = fs::read(dir.path().join("cassettes/ok/2.1.0/stdout.jsonl")).expect("a cassette");
    let other = capture("2.1.0").replace("Hi.", "Ho.");
    fs::write(dir.path().join("run.jsonl"), other).expect("a capture");
    let args = ["import", "run.jsonl", "--scenario", "ok"];
    check(dir.path(), &args, 2, &[], &["cassettes/ok/2.1.0 is there already", "--force"]);
    let after = fs::read(dir.path().join("cassettes/ok/2.1.0/stdout.jsonl")).expect("a cassette");
    assert_eq!(written, after, "an import replaces nothing unless told to");
    check(dir.path(), &[&args[..], &["--force"]].concat(), 0, &["wrote cassettes/ok/2.1.0"], &[]);
}

#[test]
fn versions_are_versions() {
    let dir = workspace(&["plain-text"]);
    let config = dir.path().join("clitape.toml");
    for version in ["/any/dir", "file:/x/evil.tgz", "npm:evil@1.0.0", "../x", "latest"] {
        let text = format!("[versions]\nnewest = \"{version}\"\nbaseline = [\"{version}\"]\n");
        fs::write(&config, text).expect("it can be written");
        let told = ["can't be the version of a CLI", "clitape.toml:"];
        check(dir.path(), &["record", "plain-text"], 2, &[], &told);
    }
}

#[test]
fn a_cassette_is_made_of_its_own_files() {
    let name = "plain-text/2.1.329";
    let args = ["replay", name];
    for (key, told) in [
        ("\"/dev/zero\" = \"00\"", "is no file of a cassette"),
        ("\"/etc/passwd\" = \"00\"", "is no file of a cassette"),
        ("\"../../../x\" = \"00\"", "is no file of a cassette"),
        ("\"stdout.100.jsonl\" = \"00\"", "is no file of a cassette"),
    ] {
        let dir = workspace(&["plain-text"]);
        let manifest = dir.path().join("cassettes").join(name).join("cassette.toml");
        let named = format!("[sha256]\n{key}\n");
        edit_manifest(&manifest, |text| text.replace("[sha256]\n", &named));
        check(dir.path(), &args, 5, &[], &[told]);
        check(dir.path(), &["test"], 5, &[], &[told]);
    }
    for (file, target) in [
        ("stdout.jsonl", "/dev/zero"),
        ("cassette.toml", "/dev/zero"),
        ("timeline.jsonl", "elsewhere"),
    ] {
        let dir = workspace(&["plain-text"]);
        let path = dir.path().join("cassettes").join(name).join(file);
        fs::rename(&path, dir.path().join("elsewhere")).expect("it can be moved");
        symlink(if target == "elsewhere" { "../../../elsewhere" } else { target }, &path)
            .expect("a link");
        check(dir.path(), &args, 5, &[], &[file, "is a link"]);
    }
    let dir = workspace(&["plain-text"]);
    let path = dir.path().join("cassettes").join(name).join("stdout.jsonl");
    fs::remove_file(&path).expect("it can be removed");
    nix_fifo(&path);
    check(dir.path(), &args, 5, &[], &["stdout.jsonl is no regular file"]);
    check(dir.path(), &["test"], 5, &[], &["stdout.jsonl is no regular file"]);
}

/// Makes a FIFO without a writer: opening it to read would block without an end.
fn nix_fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo runs");
    assert!(made.success());
}

#[test]
fn a_golden_is_a_regular_file() {
    let dir = workspace(&["plain-text"]);
    let golden = dir.path().join("scenarios/plain-text/golden/bus.snap");
    fs::remove_file(&golden).expect("it can be removed");
    nix_fifo(&golden);
    check(dir.path(), &["test"], 3, &["GD004 golden-unreadable", "is no regular file"], &[]);
}

#[test]
fn goldens_are_never_written_through_a_link() {
    let outside = precious();
    let dir = workspace(&["plain-text"]);
    let golden = dir.path().join("scenarios/plain-text/golden");
    edit(&golden.join("bus.snap"), "run-1", "run-2");
    symlink(outside.path().join("precious"), golden.join("bus.snap.new")).expect("a link");
    let (code, out, err) = run(dir.path(), &["test", "plain-text", "--update"]);
    assert_eq!(code, 3, "{out}{err}");
    still_there(&outside);
    let proposed = golden.join("bus.snap.new");
    assert!(!proposed.is_symlink(), "the link gave way to the golden that is proposed");

    fs::remove_file(&proposed).expect("it can be removed");
    symlink(outside.path().join("precious"), &proposed).expect("a link");
    let accept = ["review", "--accept", "plain-text/bus", "--reason", "why not"];
    check(dir.path(), &accept, 2, &[], &["bus.snap.new is a link"]);
    still_there(&outside);

    fs::rename(&golden, dir.path().join("kept")).expect("it can be moved");
    symlink(outside.path(), &golden).expect("a link");
    check(dir.path(), &["test", "--update"], 2, &["WS001", "golden is no folder of its own"], &[]);
    still_there(&outside);

    for folder in ["scenarios", "cassettes"] {
        let dir = workspace(&[]);
        if folder == "scenarios" {
            fs::remove_dir(dir.path().join("scenarios")).expect("it is empty");
        }
        symlink(outside.path(), dir.path().join(folder)).expect("a link");
        fs::write(dir.path().join("run.jsonl"), capture("2.1.0")).expect("a capture");
        let import = ["--root", ".", "import", "run.jsonl", "--scenario", "x"];
        check(dir.path(), &import, 2, &[], &[folder, "is no folder of its own"]);
        still_there(&outside);
    }
}

#[test]
fn a_folder_that_is_no_scenario_is_one_finding() {
    let dir = workspace(&["plain-text"]);
    for (folder, name) in
        [("scenarios", "$(touch pwned)"), ("scenarios", "-x"), ("cassettes", "a b;touch pwned")]
    {
        fs::create_dir_all(dir.path().join(folder).join(name)).expect("a folder");
    }
    symlink("plain-text", dir.path().join("scenarios/twin")).expect("a link");
    fs::create_dir(dir.path().join("scenarios/empty")).expect("a folder");
    for hidden in ["scenarios/.plain-text", "cassettes/.plain-text/2.1.329", "cassettes/.git"] {
        fs::create_dir_all(dir.path().join(hidden)).expect("a folder");
    }
    for hidden in
        ["scenarios/.plain-text/scenario.toml", "cassettes/.plain-text/2.1.329/cassette.toml"]
    {
        fs::write(dir.path().join(hidden), "").expect("a file");
    }
    let (code, out, err) = run(dir.path(), &["test"]);
    assert_eq!(code, 2, "{out}{err}");
    for (id, n) in [("WS001 scenario-unusable", 1), ("WS002 stray", 6)] {
        assert_eq!(out.matches(id).count(), n, "{id}\n{out}");
    }
    assert!(
        out.contains("plain-text") && out.contains("2.1.329") || !out.contains("GD00"),
        "{out}"
    );
    let shell = |line: &&str| line.contains("reproduce:") && line.contains("touch");
    assert_eq!(out.lines().find(shell), None, "no line to paste has a foreign name in it\n{out}");
    check(dir.path(), &["test", "plain"], 0, &[], &[]);
}

#[test]
fn what_a_crash_left_is_a_finding() {
    let dir = workspace(&["plain-text"]);
    let left = [
        "cassettes/plain-text/.writing-a1B2c3",
        "cassettes/plain-text/.taking-a1B2c3",
        "scenarios/plain-text/golden/.clitape-a1B2c3",
    ];
    for (path, is_folder) in left.iter().zip([true, true, false]) {
        let path = dir.path().join(path);
        if is_folder { fs::create_dir(path) } else { fs::write(path, "half") }.expect("it is made");
    }
    let (code, out, _) = run(dir.path(), &["test"]);
    assert_eq!(code, 3, "{out}");
    assert_eq!(out.matches("WS003 leftover").count(), left.len(), "{out}");
    for path in left {
        assert!(out.contains(path), "{path}\n{out}");
    }
}

#[test]
fn writers_of_one_cassette_wait_for_each_other() {
    let dir = workspace(&[]);
    fs::write(dir.path().join("run.jsonl"), capture("2.1.0")).expect("a capture");
    let args = ["import", "run.jsonl", "--scenario", "ok", "--force"];
    check(dir.path(), &args, 0, &[], &[]);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..12).map(|_| scope.spawn(|| run(dir.path(), &args))).collect();
        for writer in writers {
            let (code, _, err) = writer.join().expect("no writer panics");
            assert_eq!(code, 0, "{err}");
        }
    });
    check(dir.path(), &["replay", "ok/2.1.0"], 0, &[], &[]);
    let names = fs::read_dir(dir.path().join("cassettes/ok")).expect("a folder");
    assert_eq!(names.count(), 1, "nothing is left over");
}

#[test]
fn a_cassette_is_what_its_name_says() {
    let at = |dir: &TempDir, rest: &str| dir.path().join("cassettes/plain-text").join(rest);

    let dir = workspace(&["plain-text"]);
    fs::remove_file(at(&dir, "2.1.329/cassette.toml")).expect("it can be removed");
    let told = ["it has no cassette.toml", "record the scenario again"];
    check(dir.path(), &["replay", "plain-text/2.1.329"], 5, &[], &told);
    check(dir.path(), &["test"], 5, &[], &told);

    let dir = workspace(&["plain-text"]);
    fs::remove_dir_all(at(&dir, "2.1.329")).expect("it can be removed");
    fs::rename(at(&dir, "2.1.148"), at(&dir, "2.1.329")).expect("it can be moved");
    let told = ["it holds a recording of CLI 2.1.148"];
    check(dir.path(), &["replay", "plain-text/2.1.329"], 5, &[], &told);
    check(dir.path(), &["test"], 5, &[], &told);

    let dir = workspace(&["plain-text", "bash-count"]);
    fs::remove_dir_all(at(&dir, "2.1.329")).expect("it can be removed");
    fs::rename(dir.path().join("cassettes/bash-count/2.1.329"), at(&dir, "2.1.329"))
        .expect("it can be moved");
    check(dir.path(), &["test", "plain"], 5, &[], &["has a recording of `bash-count`"]);
}

#[test]
fn a_scenario_is_renamed_wherever_it_is_named_and_a_move_by_hand_is_completed() {
    let dir = workspace(&["plain-text"]);
    let path = dir.path();
    let config = "[subject.mine]\nkind = 'gateway'\ncommand = ['x']\nscenarios = ['plain-text']\n";
    fs::write(path.join("clitape.toml"), config).unwrap();
    let is_whole = |name: &str| {
        check(path, &["test", name], 0, &["all held"], &[]);
        let golden = path.join(format!("scenarios/{name}/golden/bus.snap"));
        assert!(
            fs::read_to_string(golden).unwrap().contains(&format!("source: scenarios/{name}/"))
        );
    };
    let changed = ["scenarios/plain-text → scenarios/a-b", "clitape.toml", "clitape test a-b"];
    check(path, &["rename", "plain-text", "a-b"], 0, &changed, &[]);
    is_whole("a-b");
    let config = fs::read_to_string(path.join("clitape.toml")).unwrap();
    assert!(config.contains("scenarios = [\"a-b\"]"), "{config}");
    // One folder was moved by hand, and then both were.
    fs::rename(path.join("scenarios/a-b"), path.join("scenarios/c")).unwrap();
    check(path, &["test"], 3, &["clitape rename a-b c"], &[]);
    check(path, &["rename", "a-b", "c"], 0, &["cassettes/a-b → cassettes/c"], &[]);
    is_whole("c");
    for folder in ["scenarios", "cassettes"] {
        fs::rename(path.join(folder).join("c"), path.join(folder).join("d")).unwrap();
    }
    check(path, &["test"], 5, &[], &["has a recording of `c`", "clitape rename c d"]);
    check(path, &["rename", "c", "d"], 0, &["cassettes/d/2.1.329/cassette.toml"], &[]);
    is_whole("d");
    // Nothing is replaced, and nothing is made up.
    check(path, &["rename", "c", "e"], 2, &[], &["nothing here is called `c`; there are d"]);
    fs::create_dir(path.join("scenarios/e")).unwrap();
    check(path, &["rename", "d", "e"], 2, &[], &["scenarios/e is there already"]);
    is_whole("d");
    edit(&path.join("cassettes/d/2.1.329/cassette.toml"), "recorded", "imported");
    check(path, &["rename", "d", "f"], 5, &[], &["cassette.toml is damaged: its seal"]);
    assert!(path.join("scenarios/d").is_dir() && !path.join("scenarios/f").exists());
}

#[test]
fn no_command_makes_a_workspace_but_init() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    check(path, &["new", "mine"], 2, &[], &["there is no scenarios/ folder", "clitape init"]);
    check(path, &["test", "--root", "typo"], 2, &[], &["--root names typo, which is no folder"]);
    check(path, &["new", "mine", "--root", "typo"], 2, &[], &["which is no folder"]);
    assert_eq!(fs::read_dir(path).unwrap().count(), 0);
    check(path, &["init", "one"], 0, &["wrote  scenarios/one/"], &[]);
    check(path, &["init", "two"], 0, &["wrote  scenarios/two/", "clitape record two"], &[]);
    check(path, &["init", "two"], 0, &["kept   scenarios/two/: it is there already"], &[]);
    check(path, &["init"], 0, &["kept   scenarios/: it is there already"], &[]);
    fs::remove_file(path.join("clitape.toml")).unwrap();
    check(path, &["new", "three"], 0, &["wrote clitape.toml"], &[]);
}

#[test]
fn a_golden_with_crlf_says_so() {
    let dir = workspace(&["plain-text"]);
    edit(&dir.path().join("scenarios/plain-text/golden/bus.snap"), "\n", "\r\n");
    check(dir.path(), &["test"], 3, &["end with CR and LF", ".gitattributes"], &[]);
}

#[test]
fn a_page_that_is_a_link_is_replaced() {
    let outside = precious();
    let dir = workspace(&["plain-text"]);
    let page = dir.path().join("report/index.html");
    fs::create_dir(dir.path().join("report")).expect("a folder");
    symlink(outside.path().join("precious"), &page).expect("a link");
    check(dir.path(), &["test", "--html", "report"], 0, &[], &[]);
    still_there(&outside);
    assert!(fs::read_to_string(&page).expect("a page").contains("</html>"));
}

#[test]
fn names_of_devices_are_no_scenarios() {
    let dir = workspace(&[]);
    for name in ["nul", "com1", "con", "lpt9", "Late", "a.b", "-x"] {
        let (code, _, err) = run(dir.path(), &["new", "--", name]);
        assert_eq!(code, 2, "{name}: {err}");
        assert!(err.contains("can't be the name of a scenario"), "{err}");
    }
}

#[test]
fn the_largest_file_is_an_option() {
    let dir = workspace(&["plain-text"]);
    let told = ["has more than 100B", "--max-file"];
    check(dir.path(), &["replay", "plain-text/2.1.329", "--max-file", "100"], 2, &[], &told);
}
