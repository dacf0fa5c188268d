use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::subject::config::Subjects;
use crate::subject::packages::*;
use crate::subject::spec::{Places, SubjectSpec};

/// Makes a folder with these files.
fn tree(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for file in files {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "").unwrap();
    }
    (dir, root)
}

#[test]
fn the_cli_of_each_kind_of_package_is_found_once() {
    let (_dir, root) = tree(&[
        "site/claude_agent_sdk/_bundled/claude",
        "site/claude_agent_sdk/_bundled/claude.version",
        "node_modules/@anthropic-ai/claude-agent-sdk/cli.js",
        "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs",
        "node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude",
        "node_modules/@anthropic-ai/claude-code/bin/claude.exe",
        "node_modules/@anthropic-ai/sdk/cli.js",
        "node_modules/bridge/node_modules/@anthropic-ai/claude-code/cli.js",
        "node_modules/@a/b/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
        "node_modules/.pnpm/c@1/node_modules/@anthropic-ai/claude-agent-sdk/cli.js",
        "lib/node_modules/@anthropic-ai/claude-code/cli.js",
        "lib/node_modules/@anthropic-ai/claude-agent-sdk/cli.js",
    ]);
    let twice = root.join("node_modules");
    let packages = Packages {
        python: vec![root.join("none"), root.join("site")],
        node: vec![twice.clone(), twice, root.join("lib/node_modules")],
    };
    let found = find_bundled(&packages);
    let shown = found.iter().map(|cli| {
        let path = cli.path.strip_prefix(&root).unwrap().display().to_string();
        (path, cli.setting, cli.is_own)
    });
    let node = |path: &str, is_own| (path.to_owned(), "pathToClaudeCodeExecutable", is_own);
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            ("site/claude_agent_sdk/_bundled/claude".to_owned(), "cli_path", true),
            node("node_modules/@anthropic-ai/claude-agent-sdk/cli.js", true),
            node("node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude", true),
            node("node_modules/@anthropic-ai/claude-code/bin/claude.exe", true),
            node("node_modules/.pnpm/c@1/node_modules/@anthropic-ai/claude-agent-sdk/cli.js", true),
            node("node_modules/@a/b/node_modules/@anthropic-ai/claude-code-linux-x64/claude", true),
            node("node_modules/bridge/node_modules/@anthropic-ai/claude-code/cli.js", true),
            node("lib/node_modules/@anthropic-ai/claude-agent-sdk/cli.js", true),
            node("lib/node_modules/@anthropic-ai/claude-code/cli.js", false),
        ]
    );
}

/// A program in place of the stand-in: it prints its arguments and its stdin and ends with code 7, or waits and
/// ends by a signal.
const CLAUDE: &str = "#!/bin/sh\n\
        trap 'echo stopped; exit 3' TERM\n\
        [ \"$1\" = wait ] && { echo up; while :; do sleep 0.05; done; }\n\
        [ \"$1\" = die ] && kill -KILL $$\n\
        echo \"$@\"; cat; echo told >&2; exit 7\n";

#[test]
fn a_replacement_is_claude_in_every_way() {
    let (_dir, root) = tree(&["it's/claude", "pkg/cli.js", "pkg/claude", "run/x"]);
    let claude = root.join("it's/claude");
    fs::write(&claude, CLAUDE).unwrap();
    fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (file, starts_with, package) in [
        ("pkg/claude", &[][..], "{}"),
        ("pkg/cli.js", &["node"][..], r#"{"type":"module"}"#),
        ("pkg/cli.js", &["node"], r#"{"type":"commonjs"}"#),
        ("pkg/cli.js", &[], "{}"),
    ] {
        let path = root.join(file);
        let cli = BundledCli { path: path.clone(), setting: "", is_own: true };
        let made = cli.replacement(&claude, &root.join("run")).unwrap();
        assert_eq!(made, cli.replacement(&claude, &root.join("run")).unwrap());
        assert_eq!(made.path, path);
        fs::write(root.join("run/package.json"), package).unwrap();
        let call = |arguments: &[&str]| {
            let by = made.by.to_str().unwrap();
            let words = [starts_with, &[by], arguments].concat();
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        let output = call(&["-p", "a b", "$HOME"]).output().unwrap();
        let what = format!("{file} {package}: {output:?}");
        assert_eq!(output.stdout, b"-p a b $HOME\n", "{what}");
        assert_eq!(output.stderr, b"told\n", "{what}");
        assert_eq!(output.status.code(), Some(7), "{what}");
        assert_eq!(call(&["die"]).status().unwrap().signal(), Some(9), "{what}");
        let mut child = call(&["wait"]).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut up = [0; 3];
        out.read_exact(&mut up).unwrap();
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("stopped\n", Some(3)));
    }
}

#[test]
fn a_gateway_that_is_given_claude_is_not_refused() {
    let (_dir, root) = tree(&["conf.json"]);
    fs::write(root.join("conf.json"), r#"{"cli": "{claude}"}"#).unwrap();
    let cli = |is_own| BundledCli { path: "/p/claude".into(), setting: "cli_path", is_own };
    for (found, settings, is_refused) in [
        (vec![], "", false),
        (vec![cli(false)], "", false),
        (vec![cli(false), cli(true)], "", true),
        (vec![cli(true)], "env = { CLI = '{claude}' }", false),
        (vec![cli(true)], "env = { CLI = '{token}' }", true),
        (vec![cli(true)], "files = { 'home/conf.json' = 'conf.json' }", false),
        (vec![cli(true)], "files = { 'home/conf.json' = 'none.json' }", true),
    ] {
        let toml = format!("[subject.a]\nkind = 'gateway'\ncommand = ['a']\n{settings}\n");
        fs::write(root.join("clitape.toml"), toml).unwrap();
        let subjects = Subjects::load(&root).unwrap();
        let (_, SubjectSpec::Gateway(spec)) = subjects.get("a").unwrap() else { unreachable!() };
        let is_named = spec.has_place(&["{claude}", "{bin}"], Places::default(), &root);
        let refused = bundled_refusal(&found, is_named).map(|error| error.to_string());
        assert_eq!(refused.is_some(), is_refused, "{settings}: {refused:?}");
        let has_words = |words: &str| words.contains("/p/claude") && words.contains("`cli_path`");
        assert!(refused.is_none_or(|words| has_words(&words)));
    }
}
