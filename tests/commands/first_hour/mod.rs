//! Tests of a newcomer's first hour with a repository: README's section about it, command by command, `clitape init`,
//! and `clitape cache`. A shell script replaces the CLI, and prints the output of the real one.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::common::{check, clitape, has_program, on_terminal, put_program, root, run};
use serde_json::Value;

/// The output of `claude` 2.1.332 for the scenario that `clitape init` writes.
const PRINTED: &str = include_str!("claude.jsonl");
/// A CLI that prints the file beside it.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in
--version) echo '2.1.332 (Claude Code)' ;;
*) exec cat "$0.jsonl" ;;
esac
"#;

/// Returns the command in a folder of `home`, whose cache has the CLI.
fn at_home(home: &Path, dir: &Path, args: &[&str]) -> Command {
    let mut command = clitape();
    command.current_dir(dir).args(args);
    command.env("XDG_CACHE_HOME", home.join("cache")).env("XDG_STATE_HOME", home.join("state"));
    command
}

/// Runs the command in a folder of `home`, and returns the exit code and all of the output.
fn run_at_home(home: &Path, dir: &Path, args: &[&str]) -> (i32, String) {
    let output = at_home(home, dir, args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// Puts the CLI where npm would install it.
fn install_claude(home: &Path) {
    let bin = home.join("cache/clitape/claude/2.1.332/node_modules/.bin");
    put_program(&bin.join("claude"), CLAUDE);
    fs::write(bin.join("claude.jsonl"), PRINTED).unwrap();
}

/// Returns README's section about one's own repository.
fn section() -> String {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("## In your own repository\n").unwrap();
    let before = &readme[..readme.len() - rest.len()];
    assert_eq!(
        before.matches("\n## ").count(),
        1,
        "it is the second section, after what clitape is"
    );
    rest.split_once("\n## ").unwrap().0.to_owned()
}

/// The gateway of a person: the example, with a fault as long as a file names one.
const BOT: &str = r#"
import os, runpy, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
bug = os.path.join(here, "bug")
sys.argv[1:] = ["--bug", open(bug).read()] if os.path.exists(bug) else []
runpy.run_path(os.path.join(here, "telegram.py"), run_name="__main__")
"#;

#[test]
fn the_commands_of_readme_lead_to_a_red_and_then_a_green_check() {
    let section = section();
    let code = section.lines().filter_map(|line| line.strip_prefix("    "));
    let commands: Vec<&str> = code.clone().filter_map(|it| it.strip_prefix("clitape ")).collect();
    let subject: Vec<&str> = code
        .clone()
        .skip_while(|line| !line.starts_with("[subject."))
        .take_while(|line| line.starts_with('[') || line.contains(" = "))
        .collect();
    assert_eq!(subject.len(), 4, "{subject:?}");
    let red: Vec<&str> =
        code.filter(|line| line.starts_with("FAILED") || line.starts_with("SB")).collect();
    assert_eq!(red.len(), 2, "{red:?}");

    let home = tempfile::tempdir().unwrap();
    install_claude(home.path());
    let dir = home.path().join("my-gateway");
    fs::create_dir(&dir).unwrap();
    let play = |command: &str, code: i32, parts: &[&str]| {
        let words: Vec<&str> = command.split(' ').collect();
        let (got, out) = run_at_home(home.path(), &dir, &words);
        assert_eq!(got, code, "{command}\n{out}");
        for part in parts {
            assert!(out.contains(part), "{command}: no `{part}` in\n{out}");
        }
    };
    let [init, subject_check, red_test, rig, green_test, own @ ..] = &commands[..] else {
        panic!("{commands:?}");
    };
    assert_eq!(own, ["record first-scenario", "replay first-scenario --speed 1", "test"]);
    play(init, 0, &["wrote  clitape.toml", "clitape record first-scenario"]);
    // The recordings that `init` brought hold as they are.
    play(
        "test",
        3,
        &["10 cassettes, 52 goldens, ", "TP001 not-recorded first-scenario", "1 finding"],
    );
    play(own[0], 0, &["wrote cassettes/first-scenario/2.1.332"]);
    play(own[1], 0, &["Your notes say: buy bread, call Ada."]);
    play(own[2], 0, &["11 scenarios: 11 cassettes, 56 goldens, ", "all held"]);
    if !has_program("python3") {
        return;
    }
    for file in ["telegram.py", "bugs.py"] {
        fs::copy(root().join("subjects/examples").join(file), dir.join(file)).unwrap();
    }
    fs::write(dir.join("bot.py"), BOT).unwrap();
    let config = fs::read_to_string(dir.join("clitape.toml")).unwrap();
    assert!(config.contains(&format!("# {}\n", subject.join("\n# "))), "{config}");
    fs::write(dir.join("clitape.toml"), config + "\n" + &subject.join("\n") + "\n").unwrap();
    // The person agrees once, and is not asked again.
    let words: Vec<&str> = subject_check.split(' ').collect();
    let asked = on_terminal("y\n", &at_home(home.path(), &dir, &words)).output().unwrap();
    let told = String::from_utf8_lossy(&asked.stdout);
    for part in ["command: python3 bot.py", "Start mine? [y/N]", "ok it starts and is ready"] {
        assert!(asked.status.success() && told.contains(part), "no `{part}` in\n{told}");
    }
    play(subject_check, 0, &["ok it starts and is ready", "next: clitape test --subject mine"]);
    fs::write(dir.join("bug"), "args-empty").unwrap();
    play(red_test, 3, &red);
    play(rig, 3, &["SB017 arguments-empty"]);
    fs::remove_file(dir.join("bug")).unwrap();
    play(green_test, 0, &["all held"]);
}

#[test]
fn init_overwrites_nothing() {
    let home = tempfile::tempdir().unwrap();
    let repository = home.path().join("repository");
    let dir = repository.join("e2e");
    fs::create_dir_all(repository.join(".git")).unwrap();
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(".gitignore"), "node_modules\n.clitape/").unwrap();
    fs::write(dir.join("clitape.toml"), "# mine\n").unwrap();
    let (code, out) = run_at_home(home.path(), &dir, &["init", "late-edit"]);
    assert_eq!(code, 0, "{out}");
    for part in [
        "wrote  .gitattributes",
        "added  5 lines to .gitignore",
        "wrote  scenarios/late-edit/",
        "kept   clitape.toml: add `[versions]`",
        "clitape record late-edit",
        "/repository/.github/workflows/clitape.yml",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(read(&dir.join("clitape.toml")), "# mine\n");
    assert!(read(&dir.join(".gitignore")).starts_with("node_modules\n.clitape/\n# Goldens"));
    assert!(read(&dir.join(".gitattributes")).contains("cassettes/** -text\n"));
    let workflow = repository.join(".github/workflows/clitape.yml");
    let written = read(&workflow);
    let version = env!("CARGO_PKG_VERSION");
    for part in [
        "working-directory: \"e2e\"\n",
        "            e2e/clitape.xml\n            e2e/mine.xml\n",
        &format!("key: clitape-{version}-"),
        &format!("--tag \"v{version}\" clitape\n"),
        "- run: clitape test --github --junit clitape.xml\n",
    ] {
        assert!(written.contains(part), "no `{part}` in\n{written}");
    }
    assert!(!written.contains("{{version}}") && !written.contains("{{setup}}"), "{written}");

    // A second `init` has no effect; files that a person changed stay.
    fs::write(&workflow, "name: mine\n").unwrap();
    let (code, out) = run_at_home(home.path(), &dir, &["init"]);
    assert_eq!((code, out.matches("kept ").count()), (0, 5), "{out}");
    assert_eq!(read(&workflow), "name: mine\n");
    // `init` refuses a folder within a workspace, and does not follow links.
    let (code, out) = run_at_home(home.path(), &dir.join("scenarios"), &["init"]);
    assert!(code == 2 && out.contains("is a workspace already"), "{out}");
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(dir.join("clitape.toml"), other.join(".gitignore")).unwrap();
    let (code, out) = run_at_home(home.path(), &other, &["init"]);
    assert_eq!(code, 2, "{out}");
    assert_eq!(read(&dir.join("clitape.toml")), "# mine\n");
    // Outside a workspace, every command names the way to start one.
    check(home.path(), &["test"], 2, &[], &["start one with `clitape init`"]);
}

/// Returns the commands of the workflow of a repository, but for the one that installs clitape.
fn steps(repository: &Path) -> Vec<String> {
    let text = fs::read_to_string(repository.join(".github/workflows/clitape.yml")).unwrap();
    let commands = text.lines().filter_map(|line| line.strip_prefix("      - run: "));
    commands.filter(|command| !command.contains("cargo install")).map(str::to_owned).collect()
}

#[test]
fn the_workflow_sets_a_gateway_up_and_tests_it_as_it_stands() {
    let home = tempfile::tempdir().unwrap();
    install_claude(home.path());
    let repository = home.path().join("bot");
    fs::create_dir_all(repository.join(".git")).unwrap();
    for file in ["package.json", "requirements.txt", "go.mod"] {
        fs::write(repository.join(file), "").unwrap();
    }
    let (code, out) = run_at_home(home.path(), &repository, &["init", "--gateway"]);
    assert_eq!(code, 0, "{out}");
    let [npm, pip, go, test] = &steps(&repository)[..] else { panic!("{:?}", steps(&repository)) };
    assert!(
        npm.starts_with("npm install") && pip.contains("pip install -r") && go.starts_with("go ")
    );
    let (code, out) = run_at_home(home.path(), &repository, &["record", "first-scenario"]);
    assert_eq!(code, 0, "{out}");
    let play = |config: &str| {
        let path = repository.join("clitape.toml");
        fs::write(&path, fs::read_to_string(&path).unwrap() + config).unwrap();
        let programs = Path::new(env!("CARGO_BIN_EXE_clitape")).parent().unwrap().display();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.args(["-e", "-c", test]).current_dir(&repository).env("PATH", path);
        for folder in ["cache", "state"] {
            shell.env(format!("XDG_{}_HOME", folder.to_uppercase()), home.path().join(folder));
        }
        let output = shell.output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    let (code, out) = play("");
    assert!(code == 0 && out.contains("::notice::") && out.contains("[subject.mine]"), "{out}");
    // A gateway that does not start is told where CI looks.
    let fails = "sh', '-c', 'echo \"Error: Cannot find package grammy\" >&2; exit 1";
    let config = format!("\n[subject.mine]\nkind = 'gateway'\ncommand = ['{fails}']\n");
    let (code, out) = play(&config);
    assert!(code == 2 && out.contains("::error title=clitape::"), "{code}: {out}");
    let told = "Error: Cannot find package grammy";
    assert!(fs::read_to_string(repository.join("mine.xml")).unwrap().contains(told));
}

/// Adds an entry to a cache, with this size and this time since its last use.
fn add_to_cache(cache: &Path, id: &str, bytes: usize, days: u64) {
    let dir = cache.join("clitape").join(id);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("file"), vec![0; bytes]).unwrap();
    // npm gives the program of a CLI two names.
    fs::hard_link(dir.join("file"), dir.join("again")).unwrap();
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    let times = FileTimes::new().set_accessed(then).set_modified(then);
    File::options().write(true).open(dir.join("file")).unwrap().set_times(times).unwrap();
}

/// Returns the entries that `clitape cache` lists with these words, from its JSON.
fn cached(home: &Path, words: &[&str]) -> Vec<(String, u64)> {
    let (code, out) = run_at_home(home, home, &[&["cache", "--json"], words].concat());
    assert_eq!(code, 0, "{out}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let entries = json["entries"].as_array().unwrap().iter();
    let entry = |it: &Value| {
        let word = |key: &str| it[key].as_str().unwrap().to_owned();
        (format!("{}/{}", word("kind"), word("name")), it["bytes"].as_u64().unwrap())
    };
    entries.map(entry).collect()
}

#[test]
fn the_cache_is_shown_cleaned_and_limited() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let cache = home.join("cache");
    let (code, out) = run_at_home(home, home, &["cache"]);
    assert!(code == 0 && out.contains("is empty"), "{out}");
    add_to_cache(&cache, "claude/2.1.332", 3_000_000, 1);
    add_to_cache(&cache, "claude/2.1.148", 2_000_000, 40);
    add_to_cache(&cache, "drift/f390eaa0814e6a1b/0f/cassettes/plain-text/2.1.332", 1_000_000, 2);
    add_to_cache(&cache, "builds/target", 10, 3);
    add_to_cache(&cache, "mine/not-clitape", 10, 90);
    add_to_cache(&cache, "claude/.installing-1", 10, 0);

    let (_, out) = run_at_home(home, home, &["cache"]);
    for part in [
        "claude/2.1.332              3.0 MB  20",
        "claude 2.1.148, installed by npm",
        "recordings of claude 2.1.332 for `drift`",
        "4 entries, 6.1 MB in ",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let drift = ("drift/f390eaa0814e6a1b".to_owned(), 1_000_000);
    let oldest = ("claude/2.1.148".to_owned(), 2_000_000);
    let all = cached(home, &[]);
    assert_eq!((&all[0], &all[2]), (&oldest, &drift), "that which was not used for longest first");
    assert_eq!(cached(home, &["--keep", "6MiB"]), []);
    assert_eq!(cached(home, &["--keep", "5MiB"]), [oldest]);
    let (code, out) = run_at_home(home, home, &["cache", "--clean", "2.1.33"]);
    assert!(code == 2 && out.contains("did you mean `2.1.332`"), "{out}");
    assert_eq!(cached(home, &["--clean", "drift"]), [drift]);
    let (_, out) = run_at_home(home, home, &["cache", "--clean", "claude/2.1.332"]);
    assert!(out.contains("removed 1 entry; 0.1 MB are left"), "{out}");
    assert_eq!(cached(home, &["--clean"]).len(), 1);
    assert_eq!(cached(home, &[]), []);
    // An installation in progress stays, and so do folders that are not clitape's.
    for id in ["claude/.installing-1", "mine/not-clitape"] {
        assert!(cache.join("clitape").join(id).join("file").is_file(), "{id}");
    }
    let (code, _, err) = run(home, &["cache", "--keep", "2GB"]);
    assert!(code == 2 && err.contains("2GiB"), "{err}");
}
