//! Tests of the completions of a shell: options, and the names in the project of the working folder.
//!
//! Without zsh, fish or python3, its part is left out; it fails instead if `CLITAPE_REQUIRE` names it.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{check, clitape, has_program, put_program, root, workspace};

/// Returns the completions for the last of these words.
fn offered(dir: &Path, words: &[&str]) -> Vec<String> {
    let mut command = clitape();
    command.current_dir(dir).env("CLITAPE_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let output = command.args(["--", "clitape"]).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn names_versions_lanes_and_ids_complete() {
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
        (&["test", "three-tools/2.1.33"], &["three-tools/2.1.332"]),
        (&["test", "--exclude", "pl"], &["plain-text"]),
        (&["test", "--track", "openclaw#8004"], &["openclaw#80046"]),
        (&["test", "--subject", ""], &["mine", "other"]),
        (&["rig", "m"], &["mine"]),
        (&["drift", "--from", "2.1.33"], &["2.1.332"]),
        (&["record", "--claude", "npm:2.1.33"], &["npm:2.1.332"]),
        (&["replay", "plain"], &["plain-text/"]),
        (&["replay", "plain-text/2.1.33"], &["plain-text/2.1.332"]),
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
        // `--accept` may have no value, so that the next word may be an argument.
        found.dedup();
        assert_eq!(*found, expect, "{words:?}");
    }
    // Neither outside a project nor for an unknown shell are there completions.
    let nowhere = tempfile::tempdir().unwrap();
    assert_eq!(offered(nowhere.path(), &["show", "plain"]), [""; 0]);
    let unknown = clitape().env("CLITAPE_COMPLETE", "tcsh").args(["--", "clitape"]).output();
    assert_eq!(unknown.unwrap().status.code(), Some(2));
}

#[test]
fn the_line_for_bash_works_in_bash() {
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
fn five_shells_have_a_line_that_installs_them() {
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

/// The commands that each shell runs at its start: a prompt, and its line of `clitape completions --help`.
const SHELLS: [(&str, &[&str], &str); 3] = [
    (
        "bash",
        &["--rcfile", "RC", "-i"],
        "PS1='READY> '; bind 'set bell-style none'; source <(clitape completions bash)",
    ),
    (
        "zsh",
        &["-d", "-i"],
        "PS1='READY> '; autoload -U compinit && compinit -u -D; source <(clitape completions zsh)",
    ),
    (
        "fish",
        &["--no-config", "-i", "-C", "source RC"],
        "function fish_prompt; echo 'READY> '; end; clitape completions fish | source",
    ),
];

/// The number of hostile names that are typed into the shells, which start slowly.
const IN_SHELLS: usize = 4;

/// Types these words, a TAB and the enter key into each shell of the machine, and returns the arguments with which
/// clitape was run, by shell. `home` is for further files of the test, outside the folder.
fn typed_in_shells(dir: &Path, home: &Path, words: &str) -> Vec<(&'static str, Vec<String>)> {
    let ran = home.join("ran");
    let program = format!(
        "#!/bin/sh\n[ -n \"$CLITAPE_COMPLETE\" ] || [ \"$1\" = completions ] && exec {} \"$@\"\n\
         printf '%s\\0' \"$@\" > {ran}.new && mv {ran}.new {ran}\n",
        clitape().get_program().display(),
        ran = ran.display(),
    );
    put_program(&home.join("bin/clitape"), &program);
    let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
    let mut all = Vec::new();
    for (shell, args, start) in SHELLS {
        if !has_program(shell) || !has_program("python3") {
            continue;
        }
        let args = args.iter().map(|arg| arg.replace("RC", &home.join("rc").display().to_string()));
        for name in ["rc", ".zshrc"] {
            fs::write(home.join(name), format!("{start}\n")).unwrap();
        }
        let mut terminal = Command::new("python3");
        terminal.arg(root().join("tests/commands/completions/tab.py"));
        terminal.arg(format!("clitape {words}\t\r")).arg(&ran).arg(shell).args(args);
        terminal.current_dir(dir).env("PATH", &path).env("TERM", "xterm");
        terminal.env("HOME", home).env("ZDOTDIR", home).env_remove("XDG_CONFIG_HOME");
        let output = terminal.output().unwrap();
        assert!(output.status.success(), "{shell} {words:?}: {output:?}");
        let arguments = fs::read_to_string(&ran).unwrap();
        fs::remove_file(&ran).unwrap();
        all.push((shell, arguments.split_terminator('\0').map(str::to_owned).collect()));
    }
    all
}

#[test]
fn a_shell_completes_only_what_it_gives_no_meaning() {
    let dir = workspace(&["plain-text", "three-tools"]);
    let (path, home) = (dir.path(), tempfile::tempdir().unwrap());
    let home = home.path();
    let scenario = path.join("scenarios/plain-text");
    fs::copy(scenario.join("golden/bus.snap"), scenario.join("golden/bus.snap.new")).unwrap();
    fs::write(path.join("kept.jsonl"), "").unwrap();
    for (words, expect) in [
        ("show pla", "plain-text"),
        ("test --track openclaw#8004", "openclaw#80046"),
        ("review plain-text/b", "plain-text/bus"),
        ("replay plain-text/2.1.33", "plain-text/2.1.332"),
        ("scan kept", "kept.jsonl"),
    ] {
        let typed = typed_in_shells(path, home, words);
        assert!(typed.iter().any(|(shell, _)| *shell == "bash") || !has_program("python3"));
        for (shell, arguments) in typed {
            let last = arguments.last().map(String::as_str);
            assert_eq!(last, Some(expect), "{shell} {words:?}: {arguments:?}");
        }
    }
    // Names that would run a program if a shell read them, each as the end of another name.
    let hostile = [
        "$(touch pwned)",
        "`touch pwned`",
        "\ntouch pwned\n",
        ";touch${IFS}pwned;",
        " touch pwned",
        "|touch${IFS}pwned&",
        "&&touch${IFS}pwned",
        ">pwned",
        "(touch pwned)",
        "\u{a0};touch\tpwned",
    ];
    let text = fs::read_to_string(scenario.join("scenario.toml")).unwrap();
    for (i, end) in hostile.iter().enumerate() {
        let name = format!("evil{i}{end}");
        let tracks = format!("tracks = [{}]\n{text}", toml::Value::from(name.clone()));
        for (folder, text) in [(name.clone(), &text), (format!("tracks{i}"), &tracks)] {
            let other = path.join("scenarios").join(folder);
            fs::create_dir(&other).unwrap();
            fs::write(other.join("scenario.toml"), text).unwrap();
        }
        fs::create_dir_all(path.join(format!("cassettes/plain-text/9.{name}"))).unwrap();
        fs::write(scenario.join(format!("golden/{name}.snap.new")), "x").unwrap();
        fs::write(path.join(format!("{name}.jsonl")), "x").unwrap();
    }
    for (before, begin) in [
        ("show", ""),
        ("test --track", ""),
        ("review", "plain-text/"),
        ("replay", "plain-text/9."),
        ("scan", ""),
    ] {
        for i in 0..hostile.len() {
            let words = format!("{before} {begin}evil{i}");
            let offered = offered(path, &words.split(' ').collect::<Vec<_>>());
            assert_eq!(offered, [""; 0], "{words:?}");
            if i >= IN_SHELLS {
                continue;
            }
            let is_file = begin.is_empty();
            for (shell, arguments) in typed_in_shells(path, home, &words) {
                // Without a completion of ours, a shell may complete a file by itself, with quotes.
                let is_own = is_file && arguments.len() == words.split(' ').count();
                assert!(is_own || arguments.join(" ") == words, "{shell}: {arguments:?}");
            }
            assert!(!path.join("pwned").exists(), "{words:?}");
        }
    }
}
