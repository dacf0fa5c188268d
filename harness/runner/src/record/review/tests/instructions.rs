use std::sync::atomic::AtomicBool;

use crate::record::review::*;
use crate::record::workspace::WorkspaceLimits;

const HOOK: &str = r#"{"hooks":{"Stop":[{"hooks":[{"command":"evil"}]}]}}"#;

/// Checks the lines of a workspace of `files`, a link where the text begins with `->`.
#[track_caller]
fn check(args: &str, files: &[(&str, &str)], expect: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("one/workspace");
    let text = format!("title = 't'\nabout = 'a'\n[record]\nprompt = 'p'\nargs = [{args}]\n");
    fs::create_dir_all(&root).unwrap();
    fs::write(dir.path().join("one/scenario.toml"), text).unwrap();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text.strip_prefix("->") {
            Some(target) => fs::os::unix::fs::symlink(target, path).unwrap(),
            None => fs::write(path, text).unwrap(),
        }
    }
    let scenario = Scenario::load(&dir.path().join("one")).unwrap();
    let stop = AtomicBool::new(false);
    let workspace = ScenarioFolder::read(&root, WorkspaceLimits::default(), &stop).unwrap();
    let lines = instructions(&scenario, &workspace);
    assert_eq!(lines, expect, "{args} {files:?}");
}

#[test]
fn commands_are_listed_wherever_they_are() {
    let at = |path: &str| format!("the CLI reads {path}");
    let runs = "    hooks.Stop[0].hooks[0].command: evil";
    let bom = format!("\u{feff}{HOOK}");
    check(
        "",
        &[(".claude", "->conf"), ("conf/settings.json", HOOK)],
        &["a link: .claude -> conf", &at("conf/settings.json"), runs],
    );
    check(
        "",
        &[(".claude/settings.json", "->../conf/x"), ("conf/x", HOOK)],
        &["a link: .claude/settings.json -> ../conf/x", &at("conf/x"), runs],
    );
    check("", &[(".claude/settings.json", &bom)], &[&at(".claude/settings.json"), runs]);
    check("'--plugin-dir', 'plug'", &[("plug/a", HOOK)], &[&at("plug/a"), runs]);
    check("'--settings', 'x/./s'", &[("x/s", HOOK)], &[&at("x/s"), runs]);
    for (text, lines) in [
        (r#"{"apiKeyHelper":"evil"}"#, &["    apiKeyHelper: evil"][..]),
        (r#"{"statusLine":{"command":"evil"}}"#, &["    statusLine.command: evil"]),
        (r#"{"mcpServers":{"a":{"url":"http://e"}}}"#, &["    mcpServers.a.url: http://e"]),
        (r#"[{"command":"a","args":["b c"]}]"#, &["    [0].command: a", "    [0].args: 'b c'"]),
        (r#"{"awsAuthRefresh":"evil"}"#, &["    awsAuthRefresh: evil"]),
    ] {
        let expect = [&["the CLI reads any"], lines].concat();
        check("", &[("any", text)], &expect);
    }
    check("", &[("data.json", r#"{"a":1}"#), ("notes.txt", "{ a")], &[]);
}

#[test]
fn settings_are_listed_to_their_end() {
    let filler: Vec<String> = (0..9_000).map(|n| n.to_string()).collect();
    let value = serde_json::json!({
        "filler": filler,
        "env": { "A": "x".repeat(900), "NODE_OPTIONS": "--import /evil.mjs" },
        "more": filler,
        "last": "end",
    });
    let settings = CliSettings::of(&value);
    assert_eq!(settings.deciding[1].0, "env.NODE_OPTIONS");
    assert!(settings.others.last().unwrap().ends_with("last: end"));
}

#[test]
fn a_file_that_can_not_be_read_is_said() {
    let unread = "the CLI reads .claude/settings.json, which clitape can't read: look at it";
    for text in ["{hooks: 1}", "{\"hooks\":1,}", "// x\n{}", "\u{feff}\u{feff}{}"] {
        check("", &[(".claude/settings.json", text)], &[unread]);
    }
    check(
        "'--settings', './a'",
        &[("a", "{hooks: {}}"), ("b", "{hooks: {}}")],
        &["the CLI reads a, which clitape can't read: look at it"],
    );
    let outside = "a link that leads to no file of the workspace: ";
    for target in ["/etc/passwd", "../project/conf", "../../x"] {
        let line = format!("{outside}.claude -> {target}");
        check("", &[(".claude", &format!("->{target}"))], &[&line]);
    }
    check(
        "",
        &[(".claude/agents/a.md", "---\nhooks:\n  Stop: x\n---\n"), (".claude/b.md", "b")],
        &[
            "the CLI reads .claude/agents/a.md, which may run commands: look at it",
            "the CLI reads .claude/b.md",
        ],
    );
    check("", &[("CLAUDE.md", "[a](b)")], &["the CLI reads CLAUDE.md"]);
}

#[test]
fn what_arguments_name_is_read() {
    for args in ["a/b.md", "./a/b.md", "{{project}}/a/../a/b.md", "--x=a/b.md", "a", "l", "."] {
        let files = [("a/b.md", "b"), ("l", "->a")];
        let lines = ["a link: l -> a", "the CLI reads a/b.md"];
        check(&format!("'{args}'"), &files, &lines);
    }
    check("'Say b. Then stop . End'", &[("a/b.md", "b")], &[]);
}
