//! Compares the flags and commands in two outputs of `claude --help`.

use std::collections::BTreeMap;

use clitape_recording::text::{Keep, truncate};

use super::model::{ChangeKind, DriftChange, Part};

/// The most columns of a text that is shown as an example.
const LONGEST: usize = 160;

/// The flags and commands of a help text: for each name, its spelling and its description.
type HelpEntries = BTreeMap<String, (String, String)>;

/// Returns the flags and commands that are new, gone or described in other words.
pub(super) fn command_line(from: &str, to: &str) -> Vec<DriftChange> {
    let [from, to] = [entries(from), entries(to)];
    let change = |kind, place: &str, what: String, example: &str| DriftChange {
        part: Part::CommandLine,
        kind,
        place: place.to_owned(),
        what,
        scenarios: Vec::new(),
        example: Some(truncate(example, LONGEST, Keep::Start).into_owned()),
    };
    let new = to.iter().filter(|(name, _)| !from.contains_key(*name));
    let new =
        new.map(|(name, (_, text))| change(ChangeKind::FlagNew, name, "is new".to_owned(), text));
    let others = from.iter().filter_map(|(name, (written, text))| match to.get(name) {
        None => Some(change(ChangeKind::FlagGone, name, "is gone".to_owned(), text)),
        Some((now, _)) if now != written => {
            let what = format!("is written `{now}` where it was `{written}`");
            Some(change(ChangeKind::FlagChanged, name, what, text))
        }
        Some((_, now)) if now != text => {
            let what = "is described in other words".to_owned();
            Some(change(ChangeKind::FlagChanged, name, what, now))
        }
        Some(_) => None,
    });
    new.chain(others).collect()
}

/// Parses the flags (`--model`) and commands (`command mcp`) of a help text.
///
/// A section begins with a line such as `Options:`. An entry is indented by two columns. Its text follows after two
/// columns or more, and on lines that are indented further.
fn entries(help: &str) -> HelpEntries {
    let mut entries = HelpEntries::new();
    let mut section = "";
    let mut last: Option<String> = None;
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        let rest = line.trim();
        match indent {
            _ if rest.is_empty() => last = None,
            0 => {
                section = rest.trim_end_matches(':');
                last = None;
            }
            2 => {
                let (written, text) = rest.split_once("  ").unwrap_or((rest, ""));
                let name = name(section, written);
                entries.insert(name.clone(), (written.to_owned(), text.trim().to_owned()));
                last = Some(name);
            }
            _ => {
                if let Some((_, text)) = last.as_ref().and_then(|name| entries.get_mut(name)) {
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(rest);
                }
            }
        }
    }
    entries
}

/// Returns the name of an entry: the longest spelling of a flag, or the command.
fn name(section: &str, written: &str) -> String {
    let words = || written.split([' ', ',', '|']).filter(|word| !word.is_empty());
    let flag = words().filter(|word| word.starts_with("--")).max_by_key(|word| word.len());
    match (flag, words().next()) {
        (Some(flag), _) => flag.to_owned(),
        (None, Some(first)) if section == "Commands" => format!("command {first}"),
        (None, first) => first.unwrap_or(written).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Usage: claude [options]\n\nOptions:\n  -p, --print                 Print\n                              and exit\n  --allowedTools, --allowed-tools <tools...>\n      The tools to allow\n  --model <model>             The model\n\nCommands:\n  mcp                         Servers\n";

    #[track_caller]
    fn check(change: (&str, &str), expect: &[(ChangeKind, &str, &str)]) {
        let changed = HELP.replace(change.0, change.1);
        let found = command_line(HELP, &changed);
        let found: Vec<_> =
            found.iter().map(|one| (one.kind, one.place.as_str(), one.what.as_str())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn flags_and_commands_are_new_gone_and_changed() {
        check(("", ""), &[]);
        check(
            ("Commands:", "  --new <file>  A file\n\nCommands:"),
            &[(ChangeKind::FlagNew, "--new", "is new")],
        );
        check(
            ("  --model <model>             The model\n", ""),
            &[(ChangeKind::FlagGone, "--model", "is gone")],
        );
        check(
            ("<model>", "<name>"),
            &[(
                ChangeKind::FlagChanged,
                "--model",
                "is written `--model <name>` where it was `--model <model>`",
            )],
        );
        check(
            ("The tools to allow", "The tools that may run"),
            &[(ChangeKind::FlagChanged, "--allowed-tools", "is described in other words")],
        );
        check(
            ("  mcp  ", "  mcp2 "),
            &[
                (ChangeKind::FlagNew, "command mcp2", "is new"),
                (ChangeKind::FlagGone, "command mcp", "is gone"),
            ],
        );
    }

    #[test]
    fn a_text_that_is_only_broken_elsewhere_is_the_same() {
        check(("Print\n                              and exit", "Print and\n      exit"), &[]);
    }
}
