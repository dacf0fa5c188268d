//! The arguments that `claude` refuses, with its words, by its version. Each sentence was measured with the versions
//! 1.0.128, 2.1.148 and 2.1.332.

use std::io::{self, Write as _};
use std::path::{Path, absolute};

use clitape_judge::observation::ARGUMENTS_REFUSED;
use clitape_recording::cassette::canon::is_uuid;
use serde_json::json;

use super::adapt::fresh_uuid;
use super::arguments::{Arguments, Form, GivenOption, OutputFormat, SideCall};
use super::log::Log;
use super::options::CliOptions;

/// The exit code of the CLI if it refuses its arguments.
pub(super) const REFUSED: u8 = 1;

/// The words of the CLI for a run without a prompt.
pub(super) const NO_INPUT: &str =
    "Error: Input must be provided either through stdin or as a prompt argument when using --print";

/// A version of the CLI, as three numbers.
type Version = [u64; 3];
/// The versions from which on a sentence was measured.
const V1: Version = [0, 0, 0];
const V2: Version = [2, 1, 148];
const V2_1_329: Version = [2, 1, 329];
const NEVER: Version = [u64::MAX; 3];

/// The output of the CLI in place of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The text on stderr.
    pub(super) text: String,
    /// The text on stdout: a `result` record if a session can't be resumed, else empty.
    stdout: String,
}

impl Refusal {
    /// Creates a refusal whose stdout is empty.
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), stdout: String::new() }
    }

    /// Prints the refusal and logs it.
    pub(super) fn report(&self, log: &mut Log) {
        log.refused(&format!("{ARGUMENTS_REFUSED}{}", self.text));
        // A host that closed stdout or stderr still gets the exit code and the log.
        let _ = io::stdout().write_all(self.stdout.as_bytes());
        let _ = writeln!(io::stderr(), "{}", self.text);
    }
}

/// A start of the CLI: its arguments and its surroundings.
pub(super) struct StandInStart<'a> {
    pub(super) arguments: &'a Arguments,
    /// The working folder.
    pub(super) folder: &'a Path,
    /// Returns whether a session can be resumed in this folder.
    pub(super) has_session: &'a dyn Fn(&str) -> bool,
}

/// A rule by which the CLI refuses a start: its first and its last version, and a function that returns the words if
/// the rule applies.
struct RefusalRule {
    since: Version,
    until: Version,
    words: fn(&StandInStart<'_>) -> Option<String>,
}

/// The rules, in the order in which the CLI applies them.
const RULES: [RefusalRule; 18] = [
    RefusalRule { since: V1, until: V2_1_329, words: |start| settings_missing(start, false) },
    RefusalRule { since: V2_1_329, until: NEVER, words: |start| settings_missing(start, true) },
    RefusalRule { since: V1, until: NEVER, words: wrong_source },
    RefusalRule {
        since: V1,
        until: V2,
        words: |start| {
            is_other_session(start)
                .then(|| "Error: --session-id cannot be used with --continue or --resume.".into())
        },
    },
    RefusalRule {
        since: V2,
        until: V2_1_329,
        words: |start| {
            let words = "Error: --session-id can only be used with --continue or --resume if --fork-session is also \
                         specified.";
            (is_other_session(start) && !start.arguments.forks).then(|| words.into())
        },
    },
    RefusalRule {
        since: V2_1_329,
        until: NEVER,
        words: |start| {
            let words =
                "Error: --session-id with --continue or --resume also needs --fork-session.";
            (is_other_session(start) && !start.arguments.forks).then(|| words.into())
        },
    },
    RefusalRule {
        since: V1,
        until: NEVER,
        words: |start| {
            let id = start.arguments.session_id.as_deref();
            id.is_some_and(|id| !is_uuid(id.as_bytes()))
                .then(|| "Error: Invalid session ID. Must be a valid UUID.".into())
        },
    },
    RefusalRule {
        since: V1,
        until: V2,
        words: |start| {
            let mut models = start.arguments.values("--model");
            let mut fallback = start.arguments.values("--fallback-model");
            let is_same = fallback.next().is_some_and(|model| models.next() == Some(model));
            let words = "Error: Fallback model cannot be the same as the main model. Please specify a different model \
                         for --fallback-model.";
            is_same.then(|| words.into())
        },
    },
    RefusalRule {
        since: V1,
        until: V2_1_329,
        words: |start| {
            let is_both = start.arguments.has("--system-prompt")
                && start.arguments.has("--system-prompt-file");
            let words = "Error: Cannot use both --system-prompt and --system-prompt-file. Please use only one.";
            is_both.then(|| words.into())
        },
    },
    RefusalRule { since: V1, until: NEVER, words: prompt_file_missing },
    RefusalRule { since: V1, until: NEVER, words: servers_missing },
    RefusalRule { since: V1, until: NEVER, words: wrong_formats },
    RefusalRule {
        since: V2_1_329,
        until: NEVER,
        words: |start| {
            let is_blank = |prompt: &String| !prompt.is_empty() && prompt.trim().is_empty();
            let words = "Error: Input contained only whitespace. Provide a prompt with text through stdin or as a \
                         prompt argument when using --print";
            start.arguments.prompt.as_ref().is_some_and(is_blank).then(|| words.into())
        },
    },
    RefusalRule {
        since: V1,
        until: NEVER,
        words: |start| {
            (start.arguments.has("--resume-session-at") && !start.arguments.has("--resume"))
                .then(|| "Error: --resume-session-at requires --resume".into())
        },
    },
    RefusalRule {
        since: V1,
        until: V2,
        words: |start| {
            let head = "Error: --resume requires a valid session ID when used with --print\nUsage: claude -p --resume \
                        <session-id>";
            let wrong = wrong_resume(start)?;
            Some(wrong.map_or(head.to_owned(), |value| {
                format!(
                    "{head}\nSession IDs must be in UUID format (e.g., 550e8400-e29b-41d4-a716-446655440000)\nProvided \
                     value \"{value}\" is not a valid UUID"
                )
            }))
        },
    },
    RefusalRule {
        since: V2,
        until: NEVER,
        words: |start| {
            let head = "Error: --resume requires a valid session ID or session title when used with --print. Usage: \
                        claude -p --resume <session-id|title>";
            let wrong = wrong_resume(start)?;
            Some(wrong.map_or(head.to_owned(), |value| {
                format!(
                    "{head}. Provided value \"{value}\" is not a UUID and does not match any session title."
                )
            }))
        },
    },
    RefusalRule {
        since: V1,
        until: NEVER,
        words: |start| {
            let words = "Error: When using --print, --output-format=stream-json requires --verbose";
            let is_stream = start.arguments.output == OutputFormat::StreamJson;
            (is_stream && !start.arguments.has("--verbose")).then(|| words.into())
        },
    },
    RefusalRule {
        since: V1,
        until: NEVER,
        words: |start| {
            let session = start.arguments.resume.as_deref().filter(|id| is_uuid(id.as_bytes()))?;
            (!(start.has_session)(session)).then(|| format!("{NO_SESSION}{session}"))
        },
    },
];

/// The words of the CLI about an unknown session; the id follows.
const NO_SESSION: &str = "No conversation found with session ID: ";

/// The options that need a number, each with the words of the CLI about another value.
const NUMBERS: [(&str, &str); 4] = [
    ("--max-turns", "must be a number"),
    ("--max-thinking-tokens", "must be a number"),
    ("--max-budget-usd", "--max-budget-usd must be a number greater than 0"),
    ("--task-budget", "--task-budget must be a positive integer"),
];

/// The values that an option accepts beside those in its help.
const MORE_CHOICES: [(&str, &str); 1] = [("--permission-mode", "default")];

/// Returns the output of the CLI if it refuses a start. Unknown options are accepted for a version that is newer than
/// those with a stored help.
pub(super) fn refusal(start: &StandInStart<'_>, cli: &CliOptions) -> Option<Refusal> {
    let arguments = start.arguments;
    let is_run = match &arguments.form {
        Form::OneShot | Form::Live | Form::SideCall(SideCall::Completion) => true,
        Form::Interactive | Form::SideCall(_) => false,
    };
    if !is_run {
        return None;
    }
    if let Some(text) = wrong_option(arguments, cli) {
        return Some(Refusal::of(&text));
    }
    let applies = |rule: &&RefusalRule| rule.since <= cli.version && cli.version < rule.until;
    let text = RULES.iter().filter(applies).find_map(|rule| (rule.words)(start))?;
    let is_stream = arguments.output == OutputFormat::StreamJson;
    let is_of_session =
        text.starts_with("Error: --resume requires") || text.starts_with(NO_SESSION);
    let has_record = is_stream && cli.version >= V2 && is_of_session;
    let stdout = if has_record { no_session(&text) } else { String::new() };
    Some(Refusal { text, stdout })
}

/// Returns the words of commander, which reads the arguments: it checks the value of each option in turn, and unknown
/// names last.
fn wrong_option(arguments: &Arguments, cli: &CliOptions) -> Option<String> {
    let wrong = arguments.options.iter().find_map(|option| wrong_value(option, cli));
    wrong.or_else(|| {
        let unknown = arguments.options.iter().find(|option| option.flags.is_none())?;
        let suggestion = cli.suggestion(&unknown.name);
        (!cli.is_newer).then(|| format!("error: unknown option '{}'{suggestion}", unknown.name))
    })
}

/// Returns the words of commander about a wrong value of an option.
fn wrong_value(option: &GivenOption, cli: &CliOptions) -> Option<String> {
    let flags = option.flags.as_ref()?;
    let Some(value) = option.values.first() else {
        let what = format!("error: option '{flags}' argument missing");
        return option.needs_value.then_some(what);
    };
    let invalid =
        |why: &str| Some(format!("error: option '{flags}' argument '{value}' is invalid. {why}"));
    let is_more = cli.version >= V2_1_329 && MORE_CHOICES.contains(&(&option.name, value));
    if !option.choices.is_empty() && !option.choices.contains(value) && !is_more {
        return invalid(&format!("Allowed choices are {}.", option.choices.join(", ")));
    }
    let number = NUMBERS.iter().find(|(name, _)| *name == option.name);
    if let Some((_, why)) = number
        && cli.version >= V2_1_329
        && value.trim().parse::<f64>().is_err()
    {
        return invalid(why);
    }
    let levels = ["low", "medium", "high", "xhigh", "max"];
    if option.name == "--effort"
        && (V2..V2_1_329).contains(&cli.version)
        && !levels.contains(&value.as_str())
    {
        return invalid(&format!("It must be one of: {}", levels.join(", ")));
    }
    None
}

/// Returns whether the arguments have both a session id and a session to continue.
fn is_other_session(start: &StandInStart<'_>) -> bool {
    let goes_on = start.arguments.has("--resume") || start.arguments.has("--continue");
    start.arguments.session_id.is_some() && goes_on
}

/// Returns the value of `--resume` if it can't be a session; the inner `None` is an option without a value.
fn wrong_resume<'a>(start: &'a StandInStart<'_>) -> Option<Option<&'a str>> {
    if !start.arguments.has("--resume") {
        return None;
    }
    match start.arguments.resume.as_deref() {
        // The path of a transcript is accepted too.
        Some(value) if is_uuid(value.as_bytes()) || value.ends_with(".jsonl") => None,
        value => Some(value),
    }
}

fn wrong_formats(start: &StandInStart<'_>) -> Option<String> {
    let arguments = start.arguments;
    let is_stream = arguments.output == OutputFormat::StreamJson;
    let says = |applies: bool, words: &str| applies.then(|| words.to_owned());
    says(
        arguments.reads_lines && !is_stream,
        "Error: --input-format=stream-json requires output-format=stream-json.",
    )
    .or_else(|| {
        says(
            arguments.replays_messages && !(arguments.reads_lines && is_stream),
            "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json.",
        )
    })
    .or_else(|| {
        says(
            arguments.wants_partials && !is_stream,
            "Error: --include-partial-messages requires --print and --output-format=stream-json.",
        )
    })
}

fn wrong_source(start: &StandInStart<'_>) -> Option<String> {
    let sources = start.arguments.values("--setting-sources").flat_map(|value| value.split(','));
    let known = ["", "user", "project", "local"];
    let wrong = sources.map(str::trim).find(|source| !known.contains(source))?;
    Some(format!(
        "Error processing --setting-sources: Invalid setting source: {wrong}. Valid options are: user, project, local"
    ))
}

fn settings_missing(start: &StandInStart<'_>, is_absolute: bool) -> Option<String> {
    let value = start.arguments.values("--settings").next()?;
    if serde_json::from_str::<serde_json::Value>(value).is_ok_and(|json| json.is_object()) {
        return None;
    }
    let path = missing(start, value)?;
    let path = if is_absolute { path } else { value.to_owned() };
    Some(format!("Error: Settings file not found: {path}"))
}

fn prompt_file_missing(start: &StandInStart<'_>) -> Option<String> {
    let files =
        [("--system-prompt-file", "System"), ("--append-system-prompt-file", "Append system")];
    files.into_iter().find_map(|(option, which)| {
        let path = missing(start, start.arguments.values(option).next()?)?;
        Some(format!("Error: {which} prompt file not found: {path}"))
    })
}

fn servers_missing(start: &StandInStart<'_>) -> Option<String> {
    let files = start.arguments.values("--mcp-config");
    let mut files = files.filter(|value| !value.trim_start().starts_with('{'));
    let path = files.find_map(|file| missing(start, file))?;
    Some(format!("Error: Invalid MCP configuration:\nMCP config file not found: {path}"))
}

/// Returns the absolute path of a file if it does not exist.
fn missing(start: &StandInStart<'_>, file: &str) -> Option<String> {
    let path = start.folder.join(file);
    let path = absolute(&path).unwrap_or(path);
    (!path.exists()).then(|| path.display().to_string())
}

/// Returns the record that the CLI prints if it can't continue a session.
fn no_session(text: &str) -> String {
    let record = json!({
        "type": "result", "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0,
        "is_error": true, "num_turns": 0, "stop_reason": null, "session_id": fresh_uuid(), "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0}, "modelUsage": {}, "permission_denials": [],
        "uuid": fresh_uuid(), "errors": [text],
    });
    format!("{record}\n")
}

#[cfg(test)]
mod tests;
