//! The options of `claude` by its version: those that its `--help` shows, which `versions/` has, and those that it
//! accepts without showing them.

use std::collections::VecDeque;

use clitape_recording::text::distance;

/// The versions with a stored help, the oldest first. The files are links to those in `versions/`, because a package of the
/// crate has what is in its folder.
const HELPS: [(&str, &str); 4] = [
    ("1.0.128", include_str!("help/1.0.128.txt")),
    ("2.1.148", include_str!("help/2.1.148.txt")),
    ("2.1.329", include_str!("help/2.1.329.txt")),
    ("2.1.332", include_str!("help/2.1.332.txt")),
];

/// The options that the help does not show, by the first version of [`HELPS`] that accepts them; measured by starting
/// each version with each name.
const HIDDEN: [(&str, &[&str]); 3] = [
    (
        "1.0.128",
        &[
            "-d2e, --debug-to-stderr",
            "--max-turns <turns>",
            "--permission-prompt-tool <tool>",
            "--remote [description|session_id|url]",
            "--resume-session-at <message id>",
            "--sdk-url <url>",
            "--system-prompt <prompt>",
            "--system-prompt-file <file>",
            "--teleport [session]",
        ],
    ),
    (
        "2.1.148",
        &[
            "--agent-color <color>",
            "--agent-id <id>",
            "--agent-name <name>",
            "--agent-type <type>",
            "--append-system-prompt-file <file>",
            "--channels <servers...>",
            "--dangerously-load-development-channels <servers...>",
            "--deep-link-cwd-b64 <b64>",
            "--deep-link-last-fetch <ms>",
            "--deep-link-origin",
            "--deep-link-repo <slug>",
            "--enable-auth-status",
            "--enable-auto-mode",
            "--init",
            "--init-only",
            "--maintenance",
            "--managed-settings <json>",
            "--max-thinking-tokens <tokens>",
            "--parent-session-id <id>",
            "--plan-mode-instructions <instructions>",
            "--plan-mode-required",
            "--prefill <text>",
            "--prefill-b64 <b64>",
            "--rc [name]",
            "--rewind-files <user-message-id>",
            "--session-mirror",
            "--task-budget <tokens>",
            "--team-name <name>",
            "--teammate-mode <mode>",
            "--thinking <mode> (choices: \"enabled\", \"adaptive\", \"disabled\")",
            "--thinking-display <display>",
            "--workload <tag>",
        ],
    ),
    (
        "2.1.329",
        &[
            "--advisor <model>",
            "--agents-view-if-allowed",
            "--allow-other-models",
            "--append-subagent-system-prompt <prompt>",
            "--append-subagent-system-prompt-file <file>",
            "--attach-serve <session_id>",
            "--await-claim",
            "--await-initialize",
            "--client-data-url <url>",
            "--correlation-id <id>",
            "--fast-mode <on|off>",
            "--forward-home-settings <true|false>",
            "--hold-repository-while-parked",
            "--host-auth-is-org-sign-in",
            "--include-unsupported-models",
            "--inherit-permission-mode <mode>",
            "--initialize-fields <names>",
            "--lead-verify-key <time.key>",
            "--managed-settings-in-initialize",
            "--messaging-socket-path <path>",
            "--metadata <key=value>",
            "--on-branch <branch>",
            "--plugin-dir-no-mcp <path>",
            "--pool <pool_id>",
            "--proactivity <level>",
            "--project-config-root <dir>",
            "--ref <ref>",
            "--reply-on-resume",
            "--resume-drops-turn <message id>",
            "--runner-declares <names>",
            "--session-began-as-copy <value>",
            "--watch-artifact <artifact>",
            "--watch-artifact-no-autoreact <artifact>",
        ],
    ),
];

/// The number of values that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    None,
    One,
    /// One, if the next argument is not an option.
    Maybe,
    /// All arguments up to the next option, and at least one.
    Many,
}

/// An option of the CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CliOption {
    /// The names and the value as the help writes them: `-r, --resume [value]`.
    pub(super) flags: String,
    /// The names alone.
    names: Vec<String>,
    /// The number of values that it takes.
    pub(super) takes: Takes,
    /// The values that it accepts; empty if it accepts any.
    pub(super) choices: Vec<String>,
    /// True if the help shows it.
    is_shown: bool,
}

/// The options of one version of the CLI.
#[derive(Debug, Clone)]
pub(super) struct CliOptions {
    all: Vec<CliOption>,
    /// The version, as three numbers.
    pub(super) version: [u64; 3],
    /// True if the version is newer than all with a stored help, so that it may have more options than these.
    pub(super) is_newer: bool,
}

/// An argument, as the CLI reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument<'a> {
    /// An option, with the values that belong to it.
    Option {
        /// The option; `None` if the CLI does not have it.
        option: Option<&'a CliOption>,
        /// The argument as written.
        written: String,
        /// The values of the option.
        values: Vec<String>,
    },
    /// An argument that is neither an option nor a value.
    Word(String),
    /// The arguments behind `--`, which the CLI does not read as options.
    Rest(Vec<String>),
}

impl CliOption {
    /// Reads the entry of a help, its lines joined: the flags, two spaces, and the text.
    fn read(entry: &str, is_shown: bool) -> Self {
        let words = entry.find('<').into_iter().chain(entry.find('[')).min();
        let end = match (words, entry.find("  ")) {
            // A value may contain spaces.
            (Some(value), gap) if gap.is_none_or(|gap| value < gap) => {
                let close = |c: char| c == '>' || c == ']';
                entry[value..].find(close).map_or(entry.len(), |end| value + end + 1)
            }
            (_, Some(gap)) => gap,
            _ => entry.find(" (").unwrap_or(entry.len()),
        };
        let flags = entry[..end].trim_end().to_owned();
        let takes = match flags.chars().last() {
            Some('>') if flags.ends_with("...>") => Takes::Many,
            Some('>') => Takes::One,
            Some(']') => Takes::Maybe,
            _ => Takes::None,
        };
        let names = flags.split([' ', ',']).filter(|word| word.starts_with('-'));
        let names = names.map(str::to_owned).collect();
        let choices = entry[end..].split_once("(choices: ").map(|(_, rest)| rest);
        let choices = choices.unwrap_or_default().split(')').next().unwrap_or_default();
        // The part after the last quoted name is the default.
        let choices = choices.split(", ").take_while(|choice| choice.starts_with('"'));
        let choices = choices.map(|choice| choice.trim_matches('"').to_owned()).collect();
        Self { flags, names, takes, choices, is_shown }
    }

    /// Returns the last name, which is the long one.
    pub(super) fn name(&self) -> &str {
        // The last name is the one that commander takes for the long one.
        self.names.last().map_or("", String::as_str)
    }

    /// Returns whether the option has this name.
    fn is(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}

/// Returns the numbers of a version; a part that is not a number counts as 0.
pub(super) fn numbers(version: &str) -> [u64; 3] {
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

impl CliOptions {
    /// Returns the options of a version: those of the nearest earlier version with a stored help, or else of the
    /// oldest; without a version, those of the newest.
    pub(super) fn of(version: Option<&str>) -> Self {
        let newest = HELPS.last().map_or("", |(version, _)| version);
        let version = numbers(version.unwrap_or(newest));
        let known = HELPS.iter().rev().find(|(known, _)| numbers(known) <= version);
        let (known, help) = known.unwrap_or(&HELPS[0]);
        let mut all: Vec<CliOption> =
            entries(help).iter().map(|entry| CliOption::read(entry, true)).collect();
        for (since, hidden) in HIDDEN {
            if numbers(since) <= numbers(known) {
                let hidden = hidden.iter().map(|entry| CliOption::read(entry, false));
                // A later version may show an option that an earlier one hid.
                let hidden =
                    hidden.filter(|option| !all.iter().any(|known| known.is(option.name())));
                let hidden: Vec<CliOption> = hidden.collect();
                all.extend(hidden);
            }
        }
        Self { all, version, is_newer: version > numbers(newest) }
    }

    /// Returns the option of this name.
    fn find(&self, name: &str) -> Option<&CliOption> {
        self.all.iter().find(|option| option.is(name))
    }

    /// Reads the arguments one after another; an option takes its values with it.
    pub(super) fn read(&self, args: &[String]) -> Vec<Argument<'_>> {
        let mut read = Vec::new();
        let mut rest: VecDeque<String> = args.iter().cloned().collect();
        while let Some(arg) = rest.pop_front() {
            if arg == "--" {
                read.push(Argument::Rest(rest.into()));
                break;
            }
            if !is_option(&arg) {
                read.push(Argument::Word(arg));
                continue;
            }
            let (written, attached) = self.name_and_value(&arg);
            let option = self.find(&written);
            let takes = option.map_or(Takes::None, |option| option.takes);
            if let (false, Some(letters)) = (written.starts_with("--"), &attached)
                && option.is_some()
                && takes == Takes::None
            {
                // Reads `-cp` as `-c -p`.
                rest.push_front(format!("-{letters}"));
                read.push(Argument::Option { option, written, values: Vec::new() });
                continue;
            }
            let count = match takes {
                _ if attached.is_some() => 0,
                Takes::None => 0,
                Takes::One => rest.len().min(1),
                Takes::Maybe => rest.iter().take(1).filter(|value| !is_option(value)).count(),
                // The first argument is a value even if it looks like an option.
                Takes::Many => {
                    let more = rest.iter().skip(1).take_while(|value| !is_option(value));
                    rest.len().min(1) + more.count()
                }
            };
            // An option that takes no value is unknown if one is attached.
            let option = option.filter(|_| attached.is_none() || takes != Takes::None);
            let values = attached.into_iter().chain(rest.drain(..count)).collect();
            let written = if option.is_some() { written } else { arg };
            read.push(Argument::Option { option, written, values });
        }
        read
    }

    /// Splits `--name=VALUE` and `-nVALUE`.
    fn name_and_value(&self, arg: &str) -> (String, Option<String>) {
        if self.find(arg).is_some() {
            return (arg.to_owned(), None);
        }
        if arg.starts_with("--") {
            let parts = arg.split_once('=');
            let parts = parts.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
            return parts.unwrap_or((arg.to_owned(), None));
        }
        let letter: String = arg.chars().take(2).collect();
        match self.find(&letter) {
            Some(_) if letter.len() < arg.len() => {
                let value = arg[letter.len()..].to_owned();
                (letter, Some(value))
            }
            _ => (arg.to_owned(), None),
        }
    }

    /// Returns the line that the CLI adds when it refuses an unknown option: the names that were perhaps meant.
    pub(super) fn suggestion(&self, written: &str) -> String {
        let Some(word) = written.strip_prefix("--") else { return String::new() };
        let shown = self.all.iter().filter(|option| option.is_shown);
        let mut near: Vec<(usize, &str)> = Vec::new();
        for name in shown.filter_map(|option| option.name().strip_prefix("--")) {
            let (letters, longest) = (distance(word, name), word.len().max(name.len()));
            // The rule of commander, which reads the arguments of `claude`: at most 3 letters differ, and more than 0.4
            // of all are equal.
            if letters <= 3 && (longest - letters) * 10 > longest * 4 {
                near.push((letters, name));
            }
        }
        let Some(least) = near.iter().map(|(letters, _)| *letters).min() else {
            return String::new();
        };
        near.retain(|(letters, _)| *letters == least);
        let mut names: Vec<String> = near.iter().map(|(_, name)| format!("--{name}")).collect();
        names.sort_unstable();
        let one_of = if names.len() > 1 { "one of " } else { "" };
        format!("\n(Did you mean {one_of}{}?)", names.join(", "))
    }
}

/// Returns whether an argument has the form of an option.
fn is_option(arg: &str) -> bool {
    arg.len() > 1 && arg.starts_with('-')
}

/// Returns the entries of the part `Options:` of a help, each as one line.
fn entries(help: &str) -> Vec<String> {
    let options = help.split("\nOptions:\n").nth(1).unwrap_or_default();
    let mut entries: Vec<String> = Vec::new();
    for line in options.lines().take_while(|line| !line.is_empty()) {
        match (line.starts_with("  -"), entries.last_mut()) {
            (true, _) => entries.push(line.trim().to_owned()),
            (false, Some(entry)) => {
                // The first line of a text that did not fit beside its flags.
                entry.push_str(if entry.contains("  ") { " " } else { "  " });
                entry.push_str(line.trim());
            }
            (false, None) => {}
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_each_version_are_read_from_its_help() {
        for (version, name, flags, takes, choices) in [
            ("1.0.128", "--resume", "-r, --resume [sessionId]", Takes::Maybe, ""),
            ("2.1.332", "-r", "-r, --resume [value]", Takes::Maybe, ""),
            (
                "2.1.332",
                "--allowedTools",
                "--allowedTools, --allowed-tools <tools...>",
                Takes::Many,
                "",
            ),
            ("2.1.332", "--verbose", "--verbose", Takes::None, ""),
            (
                "1.0.128",
                "--permission-mode",
                "--permission-mode <mode>",
                Takes::One,
                "acceptEdits bypassPermissions default plan",
            ),
            (
                "2.1.332",
                "--permission-mode",
                "--permission-mode <mode>",
                Takes::One,
                "acceptEdits auto bypassPermissions manual dontAsk plan",
            ),
            (
                "2.1.332",
                "--permission-prompts",
                "--permission-prompts <target>",
                Takes::One,
                "host none",
            ),
            ("2.1.332", "--thinking", "--thinking <mode>", Takes::One, "enabled adaptive disabled"),
            ("2.1.332", "--resume-session-at", "--resume-session-at <message id>", Takes::One, ""),
            (
                "2.1.148",
                "--input-format",
                "--input-format <format>",
                Takes::One,
                "text stream-json",
            ),
        ] {
            let options = CliOptions::of(Some(version));
            let found = options.find(name).unwrap();
            let read = (&*found.flags, found.takes, found.choices.join(" "));
            assert_eq!(read, (flags, takes, choices.to_owned()), "{version} {name}");
        }
    }

    #[test]
    fn a_version_has_the_options_of_the_nearest_known_one() {
        for (version, name, is_there, is_newer) in [
            ("1.0.128", "--effort", false, false),
            ("1.0.1", "--max-turns", true, false),
            ("2.1.148", "--effort", true, false),
            ("2.1.200", "--safe-mode", false, false),
            ("2.1.329", "--safe-mode", true, false),
            ("2.1.332", "--safe-mode", true, false),
            ("2.1.333", "--safe-mode", true, true),
            ("2.1.332", "--mcp-debug", false, false),
        ] {
            let options = CliOptions::of(Some(version));
            let found = (options.find(name).is_some(), options.is_newer);
            assert_eq!(found, (is_there, is_newer), "{version} {name}");
        }
    }

    #[test]
    fn an_option_takes_its_values_with_it() {
        let options = CliOptions::of(None);
        let read = |line: &str| {
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let read = options.read(&args).into_iter().map(|argument| match argument {
                Argument::Option { option: Some(option), values, .. } => {
                    format!("{}[{}]", option.name(), values.join(","))
                }
                Argument::Option { written, .. } => format!("?{written}"),
                Argument::Word(word) => word,
                Argument::Rest(rest) => format!("-- {}", rest.join(" ")),
            });
            read.collect::<Vec<_>>().join(" ")
        };
        for (line, expect) in [
            ("-p Hi --verbose", "--print[] Hi --verbose[]"),
            ("--allowedTools A B -p", "--allowed-tools[A,B] --print[]"),
            ("--resume --verbose", "--resume[] --verbose[]"),
            ("-pr abc -- -x", "--print[] --resume[abc] -- -x"),
            ("-rabc -c", "--resume[abc] --continue[]"),
            ("-cx Hi", "--continue[] ?-x Hi"),
            ("--model=opus --print=x --frob y", "--model[opus] ?--print=x ?--frob y"),
            ("--model", "--model[]"),
        ] {
            assert_eq!(read(line), expect, "{line}");
        }
    }
}
