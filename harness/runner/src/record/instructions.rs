//! Lists the files of a scenario's workspace that steer the CLI: its settings, hooks, tool servers, plugins and notes.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use clitape_recording::files;
use clitape_recording::scenario::Scenario;
use clitape_recording::text::{shell_quote, whole};
use fs_err as fs;
use serde_json::Value;

use super::workspace::ScenarioFolder;

/// The files and folders of a project from which the CLI, or git for it, takes instructions.
const INSTRUCTIONS: [&str; 7] =
    [".claude", ".claude-plugin", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".git"];
/// The JSON keys that make the CLI run a program; a file with one of them counts as instructions, whatever its name.
/// Keys that end with `Helper` do the same.
const RUNNING: [&str; 9] = [
    "hooks",
    "mcpServers",
    "lspServers",
    "statusLine",
    "subagentStatusLine",
    "fileSuggestion",
    "awsAuthRefresh",
    "awsCredentialExport",
    "command",
];
/// The keys for the arguments, variables and origins of programs.
const DECIDING: [&str; 7] =
    ["args", "env", "url", "headers", "permissions", "enabledPlugins", "extraKnownMarketplaces"];
/// The endings of files that the CLI reads as JSON.
const JSON: [&str; 3] = ["json", "jsonc", "json5"];
/// The note on a file that the CLI may read differently, or not at all.
const UNREADABLE: &str = "which clitape can't read: look at it";

/// Returns lines for each link of the workspace, and for each file that steers the CLI, with all its commands and
/// settings.
pub(super) fn instructions(scenario: &Scenario, workspace: &ScenarioFolder) -> Vec<String> {
    let root = scenario.dir.join("workspace");
    let mut lines = Vec::new();
    let mut named = named(&scenario.record.args, &root);
    for link in workspace.links() {
        let target = inside(&root, link);
        let to = fs::read_link(root.join(link)).unwrap_or_default();
        let (link_shown, to) = (link.display(), to.display());
        lines.push(match &target {
            Some(_) => format!("a link: {link_shown} -> {to}"),
            None => format!("a link that leads to no file of the workspace: {link_shown} -> {to}"),
        });
        if let Some(target) = target
            && (is_instruction(link) || is_in(&named, link))
        {
            named.insert(target);
        }
    }
    for file in workspace.regular_files() {
        let place = format!("workspace/{}", file.display());
        let is_read = is_instruction(file) || is_in(&named, file);
        lines.extend(of_file(&root.join(file), file, &place, is_read));
    }
    lines
}

/// Returns the paths of the workspace that the arguments name, as they are written and where links lead.
fn named(args: &[String], root: &Path) -> BTreeSet<PathBuf> {
    let mut named = BTreeSet::new();
    for arg in args {
        let words = arg.split(['=', ',', ' ', '"', '\'']).filter(|word| !matches!(*word, "" | "."));
        for word in std::iter::once(arg.as_str()).chain(words) {
            let path = word.trim_start_matches("{{project}}").trim_start_matches('/');
            if path.is_empty() && !word.starts_with("{{project}}") {
                continue;
            }
            named.extend(normal(Path::new(path)));
            named.extend(inside(root, Path::new(path)));
        }
    }
    named
}

/// Returns a path without `.` and `..`, unless it leaves the folder that it begins in.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    Some(normal)
}

/// Returns the path in the workspace that a path there leads to through all links.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let (root, whole) = (fs::canonicalize(root).ok()?, fs::canonicalize(root.join(path)).ok()?);
    whole.strip_prefix(root).ok().map(Path::to_owned)
}

fn is_in(folders: &BTreeSet<PathBuf>, path: &Path) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn is_instruction(path: &Path) -> bool {
    path.components()
        .any(|part| INSTRUCTIONS.iter().any(|name| part.as_os_str().eq_ignore_ascii_case(name)))
}

fn ends_with(path: &Path, endings: &[&str]) -> bool {
    let end = path.extension().unwrap_or_default();
    endings.iter().any(|ending| end.eq_ignore_ascii_case(ending))
}

/// Returns the lines of a file; empty if it does not steer the CLI.
fn of_file(path: &Path, inside: &Path, place: &str, is_read: bool) -> Vec<String> {
    let shown = inside.display();
    let is_json = ends_with(inside, &JSON);
    let Ok(bytes) = files::read(path) else {
        return vec![format!("the CLI reads {shown}, {UNREADABLE}")];
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_like_json = matches!(begins, Some(b'{' | b'['));
    let value = is_like_json.then(|| serde_json::from_slice::<Value>(bytes).ok()).flatten();
    let Some(value) = value else {
        let is_prose = ends_with(inside, &["md"]);
        let is_other = is_like_json && !is_prose || std::str::from_utf8(bytes).is_err();
        return match is_read {
            _ if is_json => vec![format!("the CLI reads {shown}, {UNREADABLE}")],
            false => Vec::new(),
            true if is_other => vec![format!("the CLI reads {shown}, {UNREADABLE}")],
            true if may_run(bytes) || inside.starts_with(".git") => {
                vec![format!("the CLI reads {shown}, which may run commands: look at it")]
            }
            true => vec![format!("the CLI reads {shown}")],
        };
    };
    let settings = CliSettings::of(&value);
    if !is_read && !settings.runs {
        return Vec::new();
    }
    let mut lines = vec![format!("the CLI reads {shown}")];
    for (key, text) in &settings.deciding {
        let setting = whole(key, text, place).into_iter();
        lines.extend(setting.map(|line| format!("    {line}")));
    }
    if !settings.others.is_empty() {
        let text = settings.others.join("\n");
        lines.extend(whole("    its other settings", &text, place));
    }
    lines
}

/// Returns whether a text other than JSON has the marks of hooks and of commands that the CLI runs, or of git's
/// programs.
fn may_run(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let is_key = |line: &str| {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        RUNNING.iter().any(|key| {
            let rest = line.strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).starts_with(':'))
        })
    };
    text.contains("!`") || text.contains("```!") || text.lines().any(is_key)
}

/// The settings in a value of JSON, each with the path of its key.
#[derive(Default)]
struct CliSettings {
    /// True if one of them runs a program.
    runs: bool,
    /// The settings that decide what runs, as keys and values.
    deciding: Vec<(String, String)>,
    others: Vec<String>,
}

impl CliSettings {
    fn of(value: &Value) -> Self {
        let mut settings = Self::default();
        settings.add("", value, false);
        settings
    }

    fn add(&mut self, key: &str, value: &Value, decides: bool) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    let runs = RUNNING.contains(&name.as_str()) || name.ends_with("Helper");
                    self.runs |= runs;
                    let decides = decides || runs || DECIDING.contains(&name.as_str());
                    let dot = if key.is_empty() { "" } else { "." };
                    self.add(&format!("{key}{dot}{name}"), value, decides);
                }
            }
            Value::Array(items) => match words(items) {
                Some(words) => self.leaf(key, words, decides),
                None => {
                    for (at, item) in items.iter().enumerate() {
                        self.add(&format!("{key}[{at}]"), item, decides);
                    }
                }
            },
            Value::String(text) => self.leaf(key, text.clone(), decides),
            value => self.leaf(key, value.to_string(), decides),
        }
    }

    fn leaf(&mut self, key: &str, text: String, decides: bool) {
        match decides {
            true => self.deciding.push((key.to_owned(), text)),
            false => self.others.push(format!("{key}: {text}")),
        }
    }
}

/// Returns a list of short strings as a shell reads it.
fn words(items: &[Value]) -> Option<String> {
    let words: Option<Vec<String>> =
        items.iter().map(|item| item.as_str().map(shell_quote)).collect();
    words.map(|words| words.join(" ")).filter(|words| words.len() <= LINE)
}

/// The most bytes of a list that is one line.
const LINE: usize = 100;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::workspace::WorkspaceLimits;
    use super::*;

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
}
