//! What a shell offers for a word on the command line: options, and the names of the project that it is in.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{check, clitape, workspace};

/// What is offered in place of the last of these words.
fn offered(dir: &Path, words: &[&str]) -> Vec<String> {
    let mut command = clitape();
    command.current_dir(dir).env("CLITAPE_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let output = command.args(["--", "clitape"]).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn issue_19_point_11_names_versions_lanes_and_ids_complete() {
    let dir = workspace(&["plain-text", "three-tools", "thinking"]);
    let path = dir.path();
    fs::write(
        path.join("clitape.toml"),
        "[subject.mine]\nkind = 'parser'\ncommand = ['cat']\n[subject.other]\nkind = 'parser'\ncommand = ['cat']\n",
    )
    .unwrap();
    let golden = path.join("scenarios/plain-text/golden/bus.snap");
    fs::copy(&golden, golden.with_extension("snap.new")).unwrap();
    for (words, expect) in [
        (&["rev"][..], &["review"][..]),
        (&["test", "th"], &["three-tools", "thinking"]),
        (&["show", "plain"], &["plain-text"]),
        (&["test", "three-tools/2.1.33"], &["three-tools/2.1.330"]),
        (&["test", "--exclude", "pl"], &["plain-text"]),
        (&["test", "--track", "openclaw#8004"], &["openclaw#80046"]),
        (&["test", "--subject", ""], &["mine", "other"]),
        (&["rig", "m"], &["mine"]),
        (&["drift", "--from", "2.1.33"], &["2.1.330"]),
        (&["record", "--claude", "npm:2.1.33"], &["npm:2.1.330"]),
        (&["replay", "plain"], &["plain-text/"]),
        (&["replay", "plain-text/2.1.33"], &["plain-text/2.1.330"]),
        (&["replay", "scen"], &["scenarios/"]),
        (&["replay", "--lane", "bus,te"], &["bus,telegram"]),
        (&["review", ""], &["plain-text/bus"]),
        (&["review", "--accept", "plain"], &["plain-text/bus"]),
        (&["test", "nothing-like-it"], &[]),
    ] {
        let mut offered = offered(path, words);
        offered.retain(|word| !word.starts_with('-'));
        let (mut expect, found) = (expect.to_vec(), &mut offered);
        expect.sort_unstable();
        found.sort_unstable();
        // `--accept` may stand without a value, so that what follows may be an argument.
        found.dedup();
        assert_eq!(*found, expect, "{words:?}");
    }
    // Outside a project, and for a shell that it does not know.
    let nowhere = tempfile::tempdir().unwrap();
    assert_eq!(offered(nowhere.path(), &["show", "plain"]), [""; 0]);
    let unknown = clitape().env("CLITAPE_COMPLETE", "tcsh").args(["--", "clitape"]).output();
    assert_eq!(unknown.unwrap().status.code(), Some(2));
}

#[test]
fn issue_19_point_11_the_line_for_bash_works_in_bash() {
    let dir = workspace(&["plain-text"]);
    let bin = Path::new(clitape().get_program()).parent().unwrap().to_owned();
    let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    let script = "source <(clitape completions bash) && complete -p clitape\n\
                  COMP_WORDS=(clitape show pla) COMP_CWORD=2 && _clap_complete_clitape clitape pla show\n\
                  printf '<%s>' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.current_dir(dir.path()).env_clear().env("PATH", path).args(["--norc", "-c", script]);
    let output = bash.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(said.contains("-F _clap_complete_clitape clitape"), "{said}");
    assert!(said.ends_with("<plain-text>"), "{said}");
}

#[test]
fn issue_19_point_11_five_shells_have_a_line_that_installs_them() {
    let here = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        check(here.path(), &["completions", shell], 0, &["clitape", "CLITAPE_COMPLETE"], &[]);
    }
    check(here.path(), &["completions", "tcsh"], 2, &[], &["bash"]);
    let install = [
        "source <(clitape completions bash)",
        "source <(clitape completions zsh)",
        "clitape completions fish | source",
        "eval (clitape completions elvish | slurp)",
        "$PROFILE",
    ];
    check(here.path(), &["completions", "--help"], 0, &install, &[]);
}
