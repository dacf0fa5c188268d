//! What a confined CLI can do, and that nothing else about it is changed: by Landlock and by bubblewrap, as far
//! as this system has them. A shell script is in the CLI's place.

#![cfg(target_os = "linux")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::project::{Project, RESULT, text, ways};

#[test]
fn a_confined_cli_ends_as_it_ends() {
    let ways: Vec<&str> = ways().into_iter().chain(["none"]).collect();
    // Signal 34 has no name; `record.exit` can't name it, and the error says it.
    for (end, exit) in [
        ("exit 7", "7"),
        ("exit 143", "143"),
        ("kill -TERM $$", "'SIGTERM'"),
        ("kill -INT -- -$$; sleep 600", "'SIGINT'"),
        ("kill -34 $$", "the CLI was ended by signal 34,"),
    ] {
        for way in &ways {
            let project = Project::new(&format!("trap - INT; {RESULT}; {end}"));
            let path = project.path().join("scenarios/slow/scenario.toml");
            let is_error = exit.contains(' ');
            if !is_error {
                let toml = fs::read_to_string(&path).unwrap();
                fs::write(&path, format!("{toml}exit = {exit}\n")).unwrap();
            }
            let output =
                project.record().args(["--yes", "--force", "--confine", way]).output().unwrap();
            let told = format!("{way}: {end}: {}", text(&output));
            assert_eq!(output.status.success(), !is_error, "{told}");
            assert!(!is_error || told.contains(exit), "{told}");
            project.wait_for_silence(&told);
        }
    }
}

#[test]
fn issue_13_point_7_the_cli_is_confined_to_its_folder() {
    let script = "cat ../../../secret; echo x > ../../../new; cat /etc/hostname >/dev/null; \
                  echo y > \"$HOME/y\"; cat \"$HOME/y\"; ls /proc/self/fd | tail -n +5; \
                  tr '\\0' '\\n' </proc/$$/environ | grep -c PWD=;";
    let project = Project::new(&format!("{script} {RESULT}"));
    fs::write(project.path().join("secret"), "a secret\n").unwrap();
    let record = |way: &str| {
        let output =
            project.record().args(["--yes", "--force", "--confine", way]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let read = |name| fs::read_to_string(project.cassette().join(name)).unwrap();
        (read("stdout.jsonl"), read("cassette.toml"))
    };
    let ways = ways();
    let (open, manifest) = record("none");
    assert!(open.starts_with("a secret\ny\n"), "{open}");
    assert!(!manifest.contains("confined"), "{manifest}");
    fs::remove_file(project.path().join("new")).unwrap();
    for way in &ways {
        let (stdout, manifest) = record(way);
        assert!(manifest.contains(&format!("confined = \"{way}\"")), "{manifest}");
        assert_eq!(stdout, open.replace("a secret\n", ""), "{way}: files and environment");
        assert!(!project.path().join("new").exists(), "{way}");
    }
    let (_, manifest) = record("auto");
    let best = ways.first().map(|way| format!("confined = \"{way}\""));
    assert_eq!(manifest.contains("confined"), best.is_some(), "{manifest}");
    assert!(manifest.contains(&best.unwrap_or_default()), "{manifest}");
}

#[test]
fn issue_13_point_7_a_way_that_is_not_there_records_nothing() {
    let project = Project::new(RESULT);
    let broken = project.path().join("bin");
    fs::create_dir(&broken).unwrap();
    let bwrap = broken.join("bwrap");
    fs::write(&bwrap, "#!/bin/sh\necho 'bwrap: no \nnamespaces' >&2; exit 1\n").unwrap();
    fs::set_permissions(&bwrap, fs::Permissions::from_mode(0o755)).unwrap();
    let none = project.path().join("none");
    for (path, why) in [
        (&none, "there is no `bwrap` on PATH; install the package bubblewrap"),
        (&broken, "bubblewrap: bwrap: no namespaces; let bwrap make user namespaces"),
    ] {
        let record = |way: &str| {
            let mut command = project.record();
            command.args(["--yes", "--confine", way]).env("PATH", path).output().unwrap()
        };
        let told = text(&record("bubblewrap"));
        assert!(told.starts_with("exit status: 4") && told.contains(why), "{told}");
        assert!(!project.cassette().exists(), "{told}");
        let output = record("auto");
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(
            fs::read_to_string(project.cassette().join("stderr.txt")).unwrap_or_default(),
            ""
        );
        fs::remove_dir_all(project.cassette()).unwrap();
    }
}
