use std::process::Command;

use super::*;

mod call;

static RUNS: AtomicBool = AtomicBool::new(false);

/// Makes a repository with one commit of these files.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "One `commit`"]] {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).args(args);
        for (key, value) in [("AUTHOR", "a"), ("COMMITTER", "c")] {
            command.env(format!("GIT_{key}_NAME"), value);
            command.env(format!("GIT_{key}_EMAIL"), "n@example.invalid");
            command.env(format!("GIT_{key}_DATE"), "2026-01-02T03:04:05Z");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    dir
}

/// Builds a revision, and checks that the error contains `told`.
fn check(root: &Path, revision: &str, builds: &Path, told: &str) {
    let error =
        find(root, revision, &RUNS).and_then(|found| build(&found, builds, &RUNS, &mut |_| Ok(())));
    let error = error.unwrap_err().to_string();
    assert!(error.contains(told), "{revision}: {error}");
}

#[test]
fn what_is_wrong_with_a_revision_is_told() {
    let none = tempfile::tempdir().unwrap();
    check(none.path(), "HEAD", none.path(), "is in no git repository");
    let builds = none.path().join("builds");
    let empty = repository(&[("README", "")]);
    check(empty.path(), "v9", &builds, "no revision `v9`");
    check(empty.path(), "--all", &builds, "no revision `--all`");
    check(empty.path(), "HEAD", &builds, "has no Cargo.toml");
    let unlocked = repository(&[("Cargo.toml", "")]);
    check(unlocked.path(), "HEAD", &builds, "has no Cargo.lock");
    assert!(!builds.exists());
}

#[test]
fn a_revision_that_does_not_build_leaves_nothing_and_says_why() {
    let root = repository(&[("Cargo.toml", "no manifest"), ("Cargo.lock", "version = 4\n")]);
    let builds = tempfile::tempdir().unwrap();
    check(root.path(), "HEAD", builds.path(), "`HEAD` does not build; ");
    check(root.path(), "HEAD", builds.path(), "\n  error: ");
    let left = fs::read_dir(builds.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name != "target").count(), 0);
    let git = |args: &[&str]| {
        let output = Command::new("git").current_dir(root.path()).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(git(&["status", "--porcelain"]), "", "the repository is as it was");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_revision_is_built_once_and_kept_by_its_id() {
    let root = repository(&[
        (
            "Cargo.toml",
            "[package]\nname = \"clitape\"\nversion = \"1.0.0\"\n[[bin]]\nname = \"clitape\"\npath = \"main.rs\"\n",
        ),
        ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"clitape\"\nversion = \"1.0.0\"\n"),
        ("main.rs", "fn main() { println!(\"{{}}\"); }\n"),
    ]);
    let builds = tempfile::tempdir().unwrap();
    let found = find(root.path(), "HEAD", &RUNS).unwrap();
    assert_eq!(found.title, "2026-01-02 One `commit`");
    let mut told = Vec::new();
    let program = build(&found, builds.path(), &RUNS, &mut |what| {
        if let TrialEvent::Step(text) = what {
            told.push(text.to_owned());
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(program, builds.path().join(&found.sha).join("bin/clitape"));
    assert_eq!(Command::new(&program).output().unwrap().stdout, b"{}\n");
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with(&format!("building clitape {} ", &found.sha[..12])), "{told:?}");
    let again = build(&found, builds.path(), &RUNS, &mut |what| panic!("{what:?}"));
    assert_eq!(again.unwrap(), program);
}
