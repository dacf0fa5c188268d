//! Reads the arguments of `claude` as far as they change what the stand-in does.

/// What the arguments ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// One run; the prompt is an argument or on stdin.
    OneShot,
    /// A process that reads the host's lines from stdin.
    Live,
    /// A question about the CLI itself.
    SideCall(SideCall),
    /// A session in a terminal, which the stand-in does not have.
    Interactive,
}

/// A question about the CLI itself, or one that plays no cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SideCall {
    /// `--version`.
    Version,
    /// `--help`.
    Help,
    /// `auth status`.
    AuthStatus,
    /// A completion of a host's own, such as a title: `--safe-mode`.
    Completion,
    /// Another command, which does nothing here.
    Other(String),
}

/// How stdout is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum OutputFormat {
    /// The answer alone.
    #[default]
    Text,
    /// The `result` record alone.
    Json,
    /// Every record.
    StreamJson,
}

/// The arguments that change what the stand-in does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arguments {
    /// What is asked for.
    pub(super) form: Form,
    /// The prompt, where it is an argument.
    pub(super) prompt: Option<String>,
    /// `--output-format`.
    pub(super) output: OutputFormat,
    /// Whether stdin is read as lines, in a side call too.
    pub(super) reads_lines: bool,
    /// `--session-id`.
    pub(super) session_id: Option<String>,
    /// `--resume`.
    pub(super) resume: Option<String>,
    /// `--fork-session`.
    pub(super) forks: bool,
    /// `--replay-user-messages`.
    pub(super) replays_messages: bool,
    /// What the log should say of the arguments.
    pub(super) notes: Vec<String>,
}

/// How many values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    None,
    One,
    /// One if the next argument is no option.
    Maybe,
    /// All arguments up to the next option.
    Many,
}

/// The options of the CLI, by how many values they take.
const OPTIONS: &[(Takes, &[&str])] = &[
    (
        Takes::None,
        &[
            "-p",
            "--print",
            "-c",
            "--continue",
            "-v",
            "--version",
            "-h",
            "--help",
            "--verbose",
            "--include-partial-messages",
            "--include-hook-events",
            "--replay-user-messages",
            "--fork-session",
            "--strict-mcp-config",
            "--safe-mode",
            "--bare",
            "--ide",
            "--chrome",
            "--no-chrome",
            "--brief",
            "--no-session-persistence",
            "--disable-slash-commands",
            "--dangerously-skip-permissions",
            "--allow-dangerously-skip-permissions",
            "--json",
            "--forward-subagent-text",
            "--exclude-dynamic-system-prompt-sections",
            "--bg",
            "--background",
            "--mcp-debug",
            "--ax-screen-reader",
            "--enable-auth-status",
        ],
    ),
    (
        Takes::One,
        &[
            "--input-format",
            "--output-format",
            "--session-id",
            "--model",
            "--fallback-model",
            "--permission-mode",
            "--permission-prompt-tool",
            "--append-system-prompt",
            "--append-system-prompt-file",
            "--system-prompt",
            "--system-prompt-file",
            "--max-turns",
            "--max-budget-usd",
            "--max-thinking-tokens",
            "--settings",
            "--setting-sources",
            "--agent",
            "--agents",
            "--effort",
            "--plugin-dir",
            "--json-schema",
            "--debug-file",
            "--resume-session-at",
            "--name",
            "-n",
            "--autocompact",
            "--thinking",
            "--task-budget",
            "--environment",
            "--managed-settings",
            "--rewind-files",
            "--sdk-url",
            "--thinking-display",
        ],
    ),
    (Takes::Maybe, &["-r", "--resume", "-d", "--debug", "-w", "--worktree", "--from-pr"]),
    (
        Takes::Many,
        &[
            "--allowedTools",
            "--allowed-tools",
            "--disallowedTools",
            "--disallowed-tools",
            "--tools",
            "--mcp-config",
            "--add-dir",
            "--betas",
            "--file",
        ],
    ),
];

/// The commands of the CLI, which are no prompts.
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
    /// Reads the arguments, the name of the program left out. An option that is not known is noted, and the
    /// arguments after it are read as if it took no value.
    pub(super) fn parse(args: &[String]) -> Self {
        let mut read = Self {
            form: Form::Interactive,
            prompt: None,
            output: OutputFormat::Text,
            reads_lines: false,
            session_id: None,
            resume: None,
            forks: false,
            replays_messages: false,
            notes: Vec::new(),
        };
        let (mut prints, mut is_safe, mut side_call) = (false, false, None);
        let mut rest = args;
        let mut is_first = true;
        while let Some((arg, after)) = rest.split_first() {
            rest = after;
            if arg == "--" {
                read.prompt = rest.first().cloned();
                break;
            }
            if !arg.starts_with('-') || arg == "-" {
                if is_first && COMMANDS.contains(&arg.as_str()) {
                    let command = match (arg.as_str(), rest.first().map(String::as_str)) {
                        ("auth", Some("status")) => SideCall::AuthStatus,
                        _ => SideCall::Other(arg.clone()),
                    };
                    side_call = Some(command);
                    break;
                }
                // The prompt follows `-p`; a later word may be the value of an option that is not known.
                read.prompt.get_or_insert_with(|| arg.clone());
                is_first = false;
                continue;
            }
            is_first = false;
            let (name, attached) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (arg.as_str(), None),
            };
            let known = OPTIONS.iter().find(|(_, names)| names.contains(&name));
            let takes = known.map_or(Takes::None, |(takes, _)| *takes);
            if known.is_none() {
                read.notes.push(format!("the stand-in does not know the option {name}"));
            }
            let is_value = |value: &&String| !value.starts_with('-');
            let count = match takes {
                _ if attached.is_some() => 0,
                Takes::None => 0,
                Takes::One => rest.len().min(1),
                Takes::Maybe => rest.iter().take(1).filter(is_value).count(),
                Takes::Many => rest.iter().take_while(is_value).count(),
            };
            let (values, after) = rest.split_at(count);
            rest = after;
            let value = || attached.map(str::to_owned).or_else(|| values.first().cloned());
            match name {
                "-p" | "--print" => prints = true,
                "--safe-mode" => is_safe = true,
                "-v" | "--version" => side_call = side_call.or(Some(SideCall::Version)),
                "-h" | "--help" => side_call = side_call.or(Some(SideCall::Help)),
                "--input-format" => read.reads_lines = value().as_deref() == Some("stream-json"),
                "--output-format" => {
                    read.output = match value().as_deref() {
                        Some("json") => OutputFormat::Json,
                        Some("stream-json") => OutputFormat::StreamJson,
                        _ => OutputFormat::Text,
                    };
                }
                "--session-id" => read.session_id = value(),
                "-r" | "--resume" => read.resume = value(),
                "--fork-session" => read.forks = true,
                "--replay-user-messages" => read.replays_messages = true,
                "-c" | "--continue" => {
                    let what = "--continue goes on with no session here: the stand-in begins one";
                    read.notes.push(what.to_owned());
                }
                _ => {}
            }
        }
        read.form = match side_call {
            Some(call) => Form::SideCall(call),
            None if is_safe => Form::SideCall(SideCall::Completion),
            None if read.reads_lines => Form::Live,
            None if prints || read.output != OutputFormat::Text => Form::OneShot,
            None => Form::Interactive,
        };
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Arguments {
        Arguments::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
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
        assert!(read.notes.is_empty(), "{:?}", read.notes);
        assert_eq!(read.output, OutputFormat::StreamJson);
    }

    #[test]
    fn an_unknown_option_is_noted() {
        assert_eq!(parse("-p --frob").notes, ["the stand-in does not know the option --frob"]);
    }
}
