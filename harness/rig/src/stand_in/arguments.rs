//! Reads the arguments of `claude` as far as they change the stand-in's behaviour, and compares those of a recorded
//! `claude` with those that a gateway gives.

use std::collections::BTreeMap;

use super::options::{Argument, CliOptions, Takes};

/// The kind of run that the arguments ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// One run; the prompt is an argument or on stdin.
    OneShot,
    /// A process that reads the host's lines from stdin.
    Live,
    /// A side call: it plays no cassette.
    SideCall(SideCall),
    /// A session in a terminal, which the stand-in does not have.
    Interactive,
}

impl Form {
    /// Returns the name of the form in the log.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::OneShot => "one-shot",
            Self::Live => "live",
            Self::SideCall(_) => "side call",
            Self::Interactive => "interactive",
        }
    }
}

/// A call that plays no cassette: a question about the CLI itself, or a prompt of the host's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SideCall {
    /// `--version`.
    Version,
    /// `--help`.
    Help,
    /// `auth status`.
    AuthStatus,
    /// A completion for the host's own use, such as a title: `--safe-mode`.
    Completion,
    /// Another command of the CLI, which the stand-in accepts without effect.
    Other(String),
}

/// The format of stdout: `--output-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum OutputFormat {
    /// The text of the answer alone.
    #[default]
    Text,
    /// The `result` record alone.
    Json,
    /// Every record.
    StreamJson,
}

/// The side that the CLI asks for permissions: `--permission-prompt-tool`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Asks {
    /// No side: the CLI decides by its rules.
    #[default]
    Nobody,
    /// The host, by a line on stdout.
    Host,
    /// A tool of an MCP server.
    Tool {
        /// The name of the server in `--mcp-config`.
        server: String,
        /// The name of the tool.
        tool: String,
    },
}

impl Asks {
    /// Reads the value of `--permission-prompt-tool`.
    fn read(value: &str) -> Self {
        match value.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
            Some((server, tool)) => Self::Tool { server: server.to_owned(), tool: tool.to_owned() },
            None => Self::Host,
        }
    }
}

/// An option with the values that the command line gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenOption {
    /// The option's long name, or the argument as it is written if the CLI has no such option.
    pub(super) name: String,
    /// The names and the value as the help writes them; `None` if the CLI has no such option.
    pub(super) flags: Option<String>,
    /// True if it needs a value.
    pub(super) needs_value: bool,
    /// The values that it accepts; empty if it accepts any.
    pub(super) choices: Vec<String>,
    /// The values on the command line.
    pub(super) values: Vec<String>,
}

/// The arguments that change the stand-in's behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the CLI")]
pub(super) struct Arguments {
    /// The kind of run.
    pub(super) form: Form,
    /// All options, in their order on the command line.
    pub(super) options: Vec<GivenOption>,
    /// The prompt, where it is an argument.
    pub(super) prompt: Option<String>,
    /// `--output-format`.
    pub(super) output: OutputFormat,
    /// True if stdin is read as lines, in a side call too.
    pub(super) reads_lines: bool,
    /// `--session-id`.
    pub(super) session_id: Option<String>,
    /// `--resume`.
    pub(super) resume: Option<String>,
    /// `--fork-session`.
    pub(super) forks: bool,
    /// `--replay-user-messages`.
    pub(super) replays_messages: bool,
    /// `--include-partial-messages`.
    pub(super) wants_partials: bool,
    /// `--permission-prompt-tool`.
    pub(super) asks: Asks,
    /// Notes about the arguments, for the log.
    pub(super) notes: Vec<String>,
}

/// The commands of the CLI: a first word that is one of them is not a prompt.
const COMMANDS: &[&str] = &[
    "auth",
    "mcp",
    "plugin",
    "plugins",
    "config",
    "doctor",
    "update",
    "upgrade",
    "install",
    "setup-token",
    "agents",
    "migrate-installer",
];

impl Arguments {
    /// Reads the arguments behind the name of the program. An option that the CLI does not have takes no value.
    /// `has_terminal` is true if stdout is a terminal: without one, the CLI prints as with `--print`.
    pub(super) fn parse(args: &[String], options: &CliOptions, has_terminal: bool) -> Self {
        let mut read = Self {
            form: Form::Interactive,
            options: Vec::new(),
            prompt: None,
            output: OutputFormat::Text,
            reads_lines: false,
            session_id: None,
            resume: None,
            forks: false,
            replays_messages: false,
            wants_partials: false,
            asks: Asks::Nobody,
            notes: Vec::new(),
        };
        let mut side_call = None;
        for (index, argument) in options.read(args).into_iter().enumerate() {
            match argument {
                Argument::Option { option, written, values } => {
                    let given = GivenOption {
                        name: option.map_or(written, |option| option.name().to_owned()),
                        flags: option.map(|option| option.flags.clone()),
                        needs_value: option
                            .is_some_and(|option| matches!(option.takes, Takes::One | Takes::Many)),
                        choices: option.map(|option| option.choices.clone()).unwrap_or_default(),
                        values,
                    };
                    side_call = side_call.or(match &*given.name {
                        "--version" => Some(SideCall::Version),
                        "--help" => Some(SideCall::Help),
                        _ => None,
                    });
                    read.options.push(given);
                }
                Argument::Word(word) if index == 0 && COMMANDS.contains(&word.as_str()) => {
                    side_call = Some(match args.get(1).map(String::as_str) {
                        Some("status") if word == "auth" => SideCall::AuthStatus,
                        _ => SideCall::Other(word),
                    });
                    break;
                }
                // The prompt follows `-p`; a later word may be the value of an unknown option.
                Argument::Word(word) => _ = read.prompt.get_or_insert(word),
                Argument::Rest(rest) => {
                    read.prompt = rest.into_iter().next().or_else(|| read.prompt.take());
                }
            }
        }
        read.take_options();
        let prints = read.has("--print") || !has_terminal;
        read.form = match side_call {
            Some(call) => Form::SideCall(call),
            None if read.has("--safe-mode") => Form::SideCall(SideCall::Completion),
            None if read.reads_lines => Form::Live,
            None if prints || read.output != OutputFormat::Text => Form::OneShot,
            None => Form::Interactive,
        };
        read
    }

    /// Sets the fields that follow from the options.
    fn take_options(&mut self) {
        for option in &self.options {
            let value = option.values.first();
            match &*option.name {
                "--input-format" => {
                    self.reads_lines = value.is_some_and(|value| value == "stream-json");
                }
                "--output-format" => {
                    self.output = match value.map(String::as_str) {
                        Some("json") => OutputFormat::Json,
                        Some("stream-json") => OutputFormat::StreamJson,
                        _ => OutputFormat::Text,
                    };
                }
                "--session-id" => self.session_id = value.cloned(),
                "--resume" => self.resume = value.cloned(),
                "--fork-session" => self.forks = true,
                "--replay-user-messages" => self.replays_messages = true,
                "--include-partial-messages" => self.wants_partials = true,
                "--permission-prompt-tool" => {
                    self.asks = value.map(|value| Asks::read(value)).unwrap_or_default();
                }
                "--continue" => {
                    let what = "--continue goes on with no session here: the stand-in begins one";
                    self.notes.push(what.to_owned());
                }
                _ => {}
            }
        }
        if self.values("--permission-prompts").any(|value| value == "none") {
            self.asks = Asks::Nobody;
        }
    }

    /// Returns the side that the CLI asks in a recording. `asks_person` is true of a recording with a question that
    /// comes in every mode.
    pub(super) fn asks_in(&self, asks_person: bool) -> Asks {
        match self.bypasses_permissions() && !asks_person {
            true => Asks::Nobody,
            false => self.asks.clone(),
        }
    }

    /// Returns whether the CLI runs tools without asking for permission. The question of `AskUserQuestion` comes
    /// nevertheless (measured with 2.1.332).
    pub(super) fn bypasses_permissions(&self) -> bool {
        self.has("--dangerously-skip-permissions")
            || self.values("--permission-mode").last() == Some("bypassPermissions")
    }

    /// Returns whether the command line has an option of this long name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.name == name)
    }

    /// Returns the values of an option, from every place where the command line has it.
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let given = self.options.iter().filter(move |option| option.name == name);
        given.flat_map(|option| &option.values).map(String::as_str)
    }
}

/// The options that differ from run to run: sessions, and texts of the gateway itself.
const IGNORED_OPTIONS: [&str; 6] =
    ["--session-id", "--resume", "--continue", "--fork-session", "--name", "--debug-file"];
/// The options whose value is a path, a text, or a list that depends on the gateway's machine. Only their presence is
/// compared.
const FREE_VALUES: [&str; 15] = [
    "--add-dir",
    "--agent",
    "--agents",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--file",
    "--json-schema",
    "--managed-settings",
    "--mcp-config",
    "--plugin-dir",
    "--settings",
    "--system-prompt",
    "--system-prompt-file",
    "--worktree",
    "--debug",
];
/// The behaviour of `claude` if a gateway does not pass an option of the recording.
const MISSING_EFFECTS: [(&str, &str); 3] = [
    ("--include-partial-messages", "it prints no pieces of a text (`stream_event`)"),
    ("--permission-prompt-tool", "it asks nobody for a permission"),
    ("--replay-user-messages", "it repeats no message"),
];
/// The behaviour of `claude` if a gateway passes an option that the recording does not have.
const ADDED_EFFECTS: [(&str, &str); 1] =
    [("--include-partial-messages", "the recording has no pieces of a text (`stream_event`)")];

/// Returns a sentence for each difference between the options of a recording, from its manifest, and those of a start,
/// from the stand-in's log. Prompts, session ids, paths and texts are not compared.
pub(crate) fn argument_differences(recorded: &[String], actual: &[String]) -> Vec<String> {
    let cli = CliOptions::of(None);
    let (recorded, actual) = (given_options(&cli, recorded), given_options(&cli, actual));
    let because = |reasons: &[(&str, &str)], name: &str| {
        let reason = reasons.iter().find(|(option, _)| *option == name);
        reason.map(|(_, reason)| format!(": {reason}")).unwrap_or_default()
    };
    let mut sentences = Vec::new();
    for (name, value) in &recorded {
        match actual.get(name) {
            None => sentences.push(format!(
                "the recording has `{}`, and the gateway does not pass it{}",
                written_option(name, value),
                because(&MISSING_EFFECTS, name)
            )),
            Some(other) if other != value => sentences.push(format!(
                "the recording has `{}`, and the gateway passes `{}`",
                written_option(name, value),
                written_option(name, other)
            )),
            Some(_) => {}
        }
    }
    for (name, value) in actual.iter().filter(|(name, _)| !recorded.contains_key(*name)) {
        sentences.push(format!(
            "the gateway passes `{}`, and the recording does not have it{}",
            written_option(name, value),
            because(&ADDED_EFFECTS, name)
        ));
    }
    sentences
}

/// Returns the options by their long names, each with its values in order, if its values are compared.
fn given_options(cli: &CliOptions, args: &[String]) -> BTreeMap<String, Vec<String>> {
    // A manifest begins with the name of the program.
    let args = match args.split_first() {
        Some((program, rest)) if program == "claude" => rest,
        _ => args,
    };
    let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for argument in cli.read(args) {
        let Argument::Option { option, written, values } = argument else { continue };
        let name = option.map_or(written, |option| option.name().to_owned());
        if IGNORED_OPTIONS.contains(&name.as_str()) {
            continue;
        }
        let is_free = FREE_VALUES.contains(&name.as_str());
        let known = options.entry(name).or_default();
        if !is_free {
            // A list of tools is written with commas or as several arguments.
            let values = values.iter().flat_map(|value| value.split(','));
            known.extend(values.map(|value| value.trim().to_owned()));
            known.sort_unstable();
        }
    }
    options
}

/// Returns an option as it is written on a command line.
fn written_option(name: &str, values: &[String]) -> String {
    match values.is_empty() {
        true => name.to_owned(),
        false => format!("{name} {}", values.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Arguments {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Arguments::parse(&args, &CliOptions::of(None), true)
    }

    #[track_caller]
    fn check(line: &str, form: &Form, prompt: Option<&str>) {
        let read = parse(line);
        assert_eq!((&read.form, read.prompt.as_deref()), (form, prompt), "{line}");
    }

    #[test]
    fn the_form_and_the_prompt_are_found() {
        for (line, form, prompt) in [
            ("-p Hello --output-format stream-json --verbose", Form::OneShot, Some("Hello")),
            ("--model opus -p --allowedTools Read Bash -- Hello", Form::OneShot, Some("Hello")),
            ("-p --resume abc", Form::OneShot, None),
            ("-p Hello --new-option value", Form::OneShot, Some("Hello")),
            ("-p --allowedTools Read Bash", Form::OneShot, None),
            ("-pr abc Hello", Form::OneShot, Some("Hello")),
            ("--output-format=stream-json --print", Form::OneShot, None),
            ("--input-format stream-json --output-format stream-json", Form::Live, None),
            ("--version", Form::SideCall(SideCall::Version), None),
            ("auth status --json", Form::SideCall(SideCall::AuthStatus), None),
            ("mcp list", Form::SideCall(SideCall::Other("mcp".to_owned())), None),
            (
                "--print --max-turns 1 --safe-mode --tools  --no-session-persistence",
                Form::SideCall(SideCall::Completion),
                None,
            ),
            ("Hello", Form::Interactive, Some("Hello")),
        ] {
            check(line, &form, prompt);
        }
    }

    #[test]
    fn the_arguments_of_openclaw_2026_9_6_are_known() {
        let read = parse(
            "--disallowedTools ScheduleWakeup,CronCreate,Bash(run_in_background:true),Monitor \
             --strict-mcp-config --mcp-config F --plugin-dir D --print --input-format stream-json \
             --output-format stream-json --verbose --include-partial-messages --replay-user-messages \
             --permission-prompt-tool stdio --permission-mode default --setting-sources user --model M \
             --allowedTools mcp__openclaw__* --session-id S",
        );
        let expect = (Form::Live, None, Some("S"), true);
        assert_eq!(
            (read.form, read.prompt, read.session_id.as_deref(), read.replays_messages),
            expect
        );
        assert!(read.options.iter().all(|option| option.flags.is_some()), "{:?}", read.options);
        assert!(read.wants_partials && read.asks == Asks::Host);
        assert_eq!(read.output, OutputFormat::StreamJson);
    }

    #[test]
    fn claude_prints_where_stdout_is_no_terminal() {
        let parse = |has_terminal| {
            Arguments::parse(&["Hello".to_owned()], &CliOptions::of(None), has_terminal).form
        };
        assert_eq!((parse(true), parse(false)), (Form::Interactive, Form::OneShot));
    }

    #[test]
    fn whom_it_asks_is_read() {
        let asks = |line: &str| parse(line).asks;
        assert_eq!(asks("-p Hello"), Asks::Nobody);
        assert_eq!(asks("-p --permission-prompt-tool stdio"), Asks::Host);
        assert_eq!(
            asks("-p --permission-prompt-tool stdio --permission-prompts none"),
            Asks::Nobody
        );
        let (server, tool) = ("gate".to_owned(), "ask_it".to_owned());
        assert_eq!(
            asks("-p --permission-prompt-tool mcp__gate__ask_it"),
            Asks::Tool { server, tool }
        );
    }

    const RECORDED: &str = "claude -p --output-format stream-json --verbose --include-partial-messages \
                            --input-format stream-json --permission-prompt-tool stdio --allowedTools Read,Bash";

    #[track_caller]
    fn check_differences(actual: &str, expect: &[&str]) {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(argument_differences(&words(RECORDED), &words(actual)), expect, "{actual}");
    }

    #[test]
    fn options_that_differ_are_named_and_ids_paths_and_prompts_are_not() {
        let same = "--print --verbose --output-format=stream-json --input-format stream-json \
                    --include-partial-messages --permission-prompt-tool stdio --allowed-tools Bash Read";
        check_differences(same, &[]);
        check_differences(&format!("{same} --session-id S --resume R -- Hello there"), &[]);
        check_differences(
            &same.replace("--include-partial-messages --permission-prompt-tool stdio", ""),
            &[
                "the recording has `--include-partial-messages`, and the gateway does not pass it: it prints no \
                 pieces of a text (`stream_event`)",
                "the recording has `--permission-prompt-tool stdio`, and the gateway does not pass it: it asks nobody \
                 for a permission",
            ],
        );
        check_differences(
            &format!("{same} --mcp-config /a/b.json --model opus"),
            &[
                "the gateway passes `--mcp-config`, and the recording does not have it",
                "the gateway passes `--model opus`, and the recording does not have it",
            ],
        );
        check_differences(
            &same.replace("stdio", "mcp__gate__ask"),
            &["the recording has `--permission-prompt-tool stdio`, and the gateway passes \
               `--permission-prompt-tool mcp__gate__ask`"],
        );
    }
}
