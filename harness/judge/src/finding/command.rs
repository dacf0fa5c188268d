//! The commands of a finding, and which of them a report may show as commands.
//!
//! A report can come from anyone, and a reader pastes its commands into a shell. Of what was read, only a line that
//! clitape itself writes is a command; any other one is text.

use std::fmt;
use std::path::{Component, Path};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use clitape_recording::names::CliVersion;
use clitape_recording::text::{plain, shell_words};

/// A line of a shell that shows a finding again, or that mends it. Two of them are equal if their lines are.
#[derive(Debug, Clone)]
pub struct FindingCommand {
    line: String,
    is_own: bool,
}

impl FindingCommand {
    /// A line that a check made.
    pub fn made(line: String) -> Self {
        Self { line, is_own: true }
    }

    /// A line that was read.
    pub fn read(line: String) -> Self {
        let is_own = shell_words(&line)
            .is_some_and(|commands| commands.iter().all(|words| is_written_here(words)));
        Self { line, is_own }
    }

    /// The line.
    pub fn as_str(&self) -> &str {
        &self.line
    }

    /// Returns whether clitape writes such a line, so that a reader may paste it.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// The same with the line made safe to print.
    pub fn safe(self) -> Self {
        Self { line: plain(&self.line), ..self }
    }
}

impl PartialEq for FindingCommand {
    fn eq(&self, other: &Self) -> bool {
        self.line == other.line
    }
}

impl Eq for FindingCommand {}

impl fmt::Display for FindingCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl Serialize for FindingCommand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.line)
    }
}

impl<'de> Deserialize<'de> for FindingCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::read)
    }
}

/// A subcommand as findings write it: its name, its flags, and its options with a value.
type Written = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The subcommands that findings write. None of their options names a file that is written.
const WRITTEN: [Written; 7] = [
    ("new", &[], &[]),
    ("record", &["--force", "--redact"], &["--claude"]),
    (
        "replay",
        &["--json", "--reasoning", "--resume", "--silent", "--terminal"],
        &[
            "--cut",
            "--delivery",
            "--fault",
            "--lane",
            "--limit",
            "--mode",
            "--pace",
            "--plan",
            "--profile",
            "--seed",
            "--seed-faults",
            "--stream-break",
            "--stuck-callback",
        ],
    ),
    ("review", &[], &[]),
    ("rig", &[], &["--chat-faults", "--chat-rate", "--chat-seed", "--pace", "--seed"]),
    ("scan", &[], &[]),
    ("test", &["--lanes", "--update"], &["--subject"]),
];

/// Returns whether a finding of clitape may have this command.
fn is_written_here(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ls", "-l" | "-la", path] => is_value(path),
        ["rm", path] => is_in_goldens(Path::new(path)),
        ["clitape", "--root", root, rest @ ..] => is_value(root) && is_subcommand(rest),
        ["clitape", rest @ ..] => is_subcommand(rest),
        _ => false,
    }
}

fn is_subcommand(words: &[&str]) -> bool {
    let Some((name, mut rest)) = words.split_first() else { return false };
    let Some((_, flags, options)) = WRITTEN.iter().find(|(of, ..)| of == name) else {
        return false;
    };
    loop {
        rest = match rest {
            [] => return true,
            [flag, rest @ ..] if flags.contains(flag) => rest,
            // Another program would be started.
            ["--claude", value, rest @ ..] if options.contains(&"--claude") => {
                let version = value.strip_prefix("npm:");
                match version.is_some_and(|version| version.parse::<CliVersion>().is_ok()) {
                    true => rest,
                    false => return false,
                }
            }
            [option, value, rest @ ..] if options.contains(option) && is_value(value) => rest,
            [value, rest @ ..] if is_value(value) => rest,
            _ => return false,
        }
    }
}

/// Returns whether a word is a value, and not an option.
fn is_value(word: &str) -> bool {
    !word.starts_with('-')
}

/// Returns whether a path is that of a file among the goldens of a scenario.
fn is_in_goldens(path: &Path) -> bool {
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    matches!(parts.as_deref(), Some(["scenarios", _, "golden", _, ..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_findings_write_are_commands() {
        for (line, expect) in [
            ("clitape test plain-text", true),
            ("clitape test plain-text --update && clitape review", true),
            (
                "clitape --root 'my work' test plain-text --update && clitape --root 'my work' review",
                true,
            ),
            ("clitape test --subject mine@1.2 a b", true),
            ("clitape record a --claude npm:2.1.329 --redact --force", true),
            (
                r#"clitape replay cassettes/a/2.1.9 --mode partial --plan '{"format":1}' --lane sse"#,
                true,
            ),
            ("clitape rig mine a/2.1.9 --pace 9 --chat-faults sendMessage:2:lost-reply", true),
            ("clitape scan cassettes/a/2.1.9/stdout.jsonl", true),
            ("clitape new a", true),
            ("ls -la 'scenarios/a b'", true),
            (r"rm $'scenarios/a/golden/x\x1b.snap'", true),
            ("rm scenarios/a/golden/mine/telegram.snap", true),
            // Another command.
            ("$(touch pwned)", false),
            ("touch pwned", false),
            ("clitape test a; touch pwned", false),
            ("clitape test a;touch pwned", false),
            ("clitape test a && touch pwned", false),
            ("clitape test a || touch", false),
            ("clitape test a | sh", false),
            ("clitape test a & sh", false),
            ("clitape test $(touch)", false),
            ("clitape test `touch`", false),
            ("clitape test ~", false),
            ("clitape test a # comment", false),
            ("clitape test a > pwned", false),
            ("clitape test a\ntouch pwned", false),
            ("./clitape test a", false),
            ("x=1 clitape test a", false),
            ("rm scenarios", false),
            ("rm -rf scenarios/a/golden/x", false),
            ("rm scenarios/../golden/x/y", false),
            ("rm /scenarios/a/golden/x", false),
            ("ls -l $HOME", false),
            ("", false),
            (" clitape test a", false),
            ("clitape", false),
            // A quote that clitape would write in another way, or that does not end.
            ("clitape test 'a'", false),
            ("clitape test \"a b\"", false),
            ("clitape test 'a b", false),
            (r"clitape test $'a\101'", false),
            ("clitape test a'b c'", false),
            // An option that writes a file, or starts another program.
            ("clitape test a --json r.json", false),
            ("clitape test --json=r.json", false),
            ("clitape record a --claude ./claude", false),
            ("clitape record a --claude path", false),
            ("clitape record a --claude", false),
            ("clitape record a --yes", false),
            ("clitape --root -x test a", false),
            ("clitape cache --clean", false),
            ("clitape proof a --out x", false),
        ] {
            assert_eq!(FindingCommand::read(line.to_owned()).is_own(), expect, "{line}");
        }
    }
}
