//! `clitape subject check`: finds out in about ten seconds whether a subject starts, becomes ready, answers one
//! scenario and ends when asked.
//!
//! After a failure it shows the known facts (the chat, the log of `claude`, the gateway's last lines) and a hint what
//! to do, which is found from the words in the chat and in the output.

use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clitape_judge::observation::{ARGUMENTS_REFUSED, ObservedEnding};
use clitape_judge::{FindingKind, finally_read};
use clitape_recording::chat::ChatView;
use clitape_recording::text::{Keep, truncate};
use clitape_runner::suite::select::Selection;
use regex::{Captures, Regex};

use super::boot::Playing;
use super::drive::{DriveResult, Job, violations};
use super::error::SubjectError;
use super::patience::Patience;
use super::prepare::{RigHost, prepare_gateway};
use super::run::{ClaudeStarts, Play, RunEvent, play};
use super::spec::{
    AtOnce, ChatReach, FirstStep, Front, GatewaySpec, HostKind, NamedGateway, Printing,
};
use super::suite::{TRIED, select};
use crate::chat_server::Faults;
use crate::stand_in::AgentFaults;

/// The seconds that the scenario may take.
const WITHIN_S: u64 = 60;
/// The seconds that it may take at a gateway whose first turn is known to be slow.
const WARM_UP_S: u64 = 120;
/// The seconds without a call after which the run is over.
const IDLE_S: u64 = 2;
/// The number of messages of the chat, and the columns of a line, that a failed line shows.
const MESSAGES: usize = 3;
const COLUMNS: usize = 300;

/// One line of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckLine {
    /// True if the check passed.
    pub holds: bool,
    /// The subject of the check and its result.
    pub what: String,
    /// The facts about the reason, if it failed.
    pub details: Vec<String>,
    /// A proposal what to do, if it failed.
    pub todo: Option<String>,
}

impl CheckLine {
    fn ok(what: String) -> Self {
        Self { holds: true, what, details: Vec::new(), todo: None }
    }

    fn failed(what: String, todo: &str) -> Self {
        Self { holds: false, what, details: Vec::new(), todo: Some(todo.to_owned()) }
    }

    /// Adds the messages that the chat shows at the end.
    fn with_chat(mut self, messages: &[String]) -> Self {
        if messages.is_empty() {
            self.details.push("the chat has no message".to_owned());
        }
        let newest = &messages[messages.len().saturating_sub(MESSAGES)..];
        self.details.extend(newest.iter().map(|text| format!("the chat has: “{}”", shown(text))));
        self
    }

    /// Adds the facts from the log of `claude`, and the hosts that were refused to the gateway.
    fn with_starts(mut self, claude: &ClaudeStarts, refused: &[String]) -> Self {
        self.details.extend(refused.iter().cloned());
        if let Some(sentence) = &claude.refused {
            self.details.push(format!("`claude` said: {}", shown(sentence)));
        } else if let Some(arguments) = &claude.unheard {
            let arguments = shown(&arguments.join(" "));
            self.details
                .push(format!("`claude` was started, and got no message: claude {arguments}"));
        }
        self.details.extend(claude.differences.iter().cloned());
        self
    }

    /// Adds the last lines that the gateway printed.
    fn with_printed(mut self, printed: &[String]) -> Self {
        match printed {
            [] => self.details.push("it printed nothing".to_owned()),
            lines => {
                self.details.push("the last lines that it printed:".to_owned());
                self.details.extend(lines.iter().map(|line| format!("  {}", shown(line))));
            }
        }
        self
    }

    /// Replaces the proposal by the first hint that fits.
    fn with_hint(mut self, hints: &Hints) -> Self {
        self.todo = hints.best().or(self.todo);
        self
    }
}

/// Returns a text of another program, made safe and on one line.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate(&line, COLUMNS, Keep::Start).into_owned()
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Checks a gateway and calls `line` with each line as soon as it is known. Returns whether all of them passed.
///
/// # Errors
///
/// [`SubjectError`] if the gateway can't be installed, if a scenario can't be read, or if the caller stops it.
pub fn check(
    gateway: NamedGateway<'_>,
    rig: RigHost<'_>,
    note: &mut dyn FnMut(&str),
    line: &mut dyn FnMut(CheckLine),
) -> Result<bool, SubjectError> {
    // A gateway with a warm-up is slow in its first turn.
    let within_s = if gateway.spec.warm_up.is_some() { WARM_UP_S } else { WITHIN_S };
    let mut spec = gateway.spec.clone();
    (spec.within_s, spec.idle_s) = (spec.within_s.min(within_s), spec.idle_s.min(IDLE_S));
    let (name, spec) = (gateway.name, &spec);
    let mut holds = true;
    let mut tell = |checked: CheckLine| {
        holds &= checked.holds;
        line(checked);
    };
    let everything = Selection::everything(rig.workspace)?;
    let all = select(rig.workspace, spec, &everything, false)?;
    match all.fit.len() {
        0 => tell(CheckLine::failed(
            "no cassette fits it".to_owned(),
            &format!(
                "see why with `clitape test --subject {name}`; `host` says how it drives claude"
            ),
        )),
        fit => tell(CheckLine::ok(format!(
            "{fit} of {} cassettes fit it (host = \"{}\")",
            fit + all.left_out.len(),
            spec.host
        ))),
    }
    if all.fit.is_empty() {
        return Ok(false);
    }
    let prepared = prepare_gateway(spec, gateway.version, rig, note)?;
    let (cli, printing) = (spec.cli.clone(), Printing::Recorded);
    let playing = Playing {
        cli,
        printing,
        in_halves: true,
        patience: Patience::Check,
        lives_on_s: 0,
        agent_faults: AgentFaults::default(),
        c_locale: false,
        sessions_are_gone: false,
    };
    let mut tried = Vec::new();
    for name in TRIED {
        let mut chosen = everything.clone();
        chosen.scenarios.retain(|one| one.name == name);
        tried.extend(select(rig.workspace, spec, &chosen, true)?.fit);
    }
    tried.extend(all.fit);
    tried.truncate(1);
    note("starting it");
    let faults = &Faults::None;
    let (prepared, playing) = (&prepared, &playing);
    let how =
        Play { spec, prepared, playing, warm_up: None, faults, at_once: AtOnce::fixed(1), kept: 0 };
    let (mut lines, mut messages) = (Vec::<CheckLine>::new(), Vec::new());
    let played = play(&tried, how, rig, &mut |event| match event {
        RunEvent::Ready { after, reach } => {
            lines.push(CheckLine::ok(format!("it starts and is ready after {}", seconds(after))));
            lines.extend(reached(spec.front, reach));
        }
        RunEvent::Ended { job, seen, .. } => {
            messages = finally_read(&seen.entries);
            lines.push(answer(job, seen, spec));
        }
        RunEvent::Stopped { after, in_time, printed, in_vain, claude } => {
            let in_vain = in_vain.sentences();
            // A gateway's output explains best why it does not answer.
            if let Some(at) = lines.iter().position(|line| !line.holds) {
                let failed = lines.remove(at).with_chat(&messages);
                let known = failed.details.len();
                let failed = failed.with_starts(&claude, &in_vain);
                let facts = [std::slice::from_ref(&failed.what), &failed.details[known..]].concat();
                let hints = Hints { spec, facts: &facts, chat: &messages, printed: &printed };
                lines.insert(at, failed.with_printed(&printed).with_hint(&hints));
            } else {
                let answered = CheckLine::ok(String::new()).with_starts(&claude, &in_vain);
                let hints = Hints { spec, facts: &answered.details, chat: &[], printed: &[] };
                let todo = hints.best().filter(|_| claude.refused.is_some());
                lines.extend(answered.details.into_iter().map(CheckLine::ok));
                let writes_lines =
                    |sentence: &String| sentence.contains("passes `--input-format stream-json`");
                if spec.host == HostKind::OneShot && claude.differences.iter().any(writes_lines) {
                    lines.push(CheckLine::ok(
                        "it writes JSON lines to `claude`: with `host = \"live\"`, recordings of such a host are played too".to_owned(),
                    ));
                }
                lines.extend(todo.map(CheckLine::ok));
            }
            lines.push(match in_time {
                true => CheckLine::ok(format!("it ends {} after SIGTERM", seconds(after))),
                false => CheckLine::failed(
                    format!("it had not ended {} after SIGTERM and was killed", seconds(after)),
                    "end the program on SIGTERM; until then every test takes that much longer",
                ),
            });
        }
        RunEvent::Begins(_) | RunEvent::Entries(..) => {}
    });
    lines.into_iter().for_each(&mut tell);
    match played {
        Ok(_) if rig.stop.load(Ordering::Relaxed) => return Err(SubjectError::Stopped),
        Ok(_) => {}
        Err(SubjectError::NotReady { why, printed, refused }) => {
            let failed = CheckLine::failed(why.clone(), "look at `command`, `env` and `ready`");
            let failed = failed.with_starts(&ClaudeStarts::default(), &refused);
            let chat = std::slice::from_ref(&why);
            let facts = failed.details.clone();
            let hints = Hints { spec, facts: &facts, chat, printed: &printed };
            tell(failed.with_printed(&printed).with_hint(&hints));
        }
        Err(error) => return Err(error),
    }
    Ok(holds)
}

/// Returns the line about the way to the chat server.
fn reached(front: Front, reach: ChatReach) -> Option<CheckLine> {
    let how = match reach {
        ChatReach::Sandbox => {
            "in a network of its own, where api.telegram.org is the chat server and no other host is there"
        }
        ChatReach::Proxy => "by a proxy, as api.telegram.org; other hosts are refused",
        ChatReach::Address => "at the address {bot_api}",
    };
    (front == Front::Chat)
        .then(|| CheckLine::ok(format!("it reaches the chat server {how} (reach = \"{reach}\")")))
}

/// Returns the sentence about an answer that is not in the chat.
fn lost_answer(job: &Job, seen: &DriveResult, spec: &GatewaySpec) -> Option<String> {
    let found = violations(job, seen, spec.traits, spec.front, None);
    let lost = found.into_iter().find(|found| found.kind == FindingKind::AnswerMissing);
    lost.map(|lost| lost.sentence)
}

/// Returns the line about the scenario that was played.
fn answer(job: &Job, seen: &DriveResult, spec: &GatewaySpec) -> CheckLine {
    let (name, front) = (job.name(), spec.front);
    let view = ChatView::after(&seen.entries);
    // The run goes on after the answer, to see whether more comes.
    let last = seen.entries.iter().rfind(|entry| !entry.is_typing());
    let took = seconds(last.map_or(seen.took, |last| Duration::from_millis(last.at)));
    let chunks = seen.entries.iter().filter(|entry| entry.kind == "agent_message_chunk").count();
    match &seen.ending {
        ObservedEnding::Over if front == Front::Editor && chunks == 0 => CheckLine::failed(
            format!("{name} was played to its end in {took}, and the editor got no text"),
            "send what claude prints to the editor, with session/update",
        ),
        ObservedEnding::Over if front == Front::Editor => {
            let chunks = clitape_recording::text::plural(chunks, "piece");
            CheckLine::ok(format!("{name} is answered in {took}: {chunks} of text in the editor"))
        }
        ObservedEnding::Over if view.final_text().is_empty() => CheckLine::failed(
            format!("{name} was played to its end in {took}, and the chat has no message"),
            "send what claude prints to the chat, with sendMessage and editMessageText",
        ),
        ObservedEnding::Over => match lost_answer(job, seen, spec) {
            Some(sentence) => CheckLine::failed(
                format!("{name} was played to its end in {took}, and {sentence}"),
                "read claude's stdout line by line: a read of the pipe may end in the middle of one; then send each \
                 text to the chat",
            ),
            None => {
                let messages = clitape_recording::text::plural(view.final_text().len(), "message");
                CheckLine::ok(format!("{name} is answered in {took}: {messages} in the chat"))
            }
        },
        ObservedEnding::Hung { waited_s, waited_for, .. }
            if finally_read(&seen.entries).is_empty() =>
        {
            CheckLine::failed(
                format!("{name} hangs: for {waited_s} s, {waited_for}"),
                "start the program `{claude}` for a person's message; does it know this person (`{person}` in the variable \
                 that lists who may write), or wait for a command first (`first = [\"/start\"]`)?",
            )
        }
        ObservedEnding::Hung { waited_s, waited_for, .. } => CheckLine::failed(
            format!("{name} hangs: for {waited_s} s, {waited_for}"),
            "start the program `{claude}` for a person's message, and pass the message on as it is",
        ),
        ObservedEnding::Refused(sentence) if sentence.starts_with(ARGUMENTS_REFUSED) => {
            CheckLine::failed(
                format!("{name}: {sentence}"),
                "start `claude` with arguments that this version of it takes: the sentence is its own",
            )
        }
        ObservedEnding::Refused(sentence) => CheckLine::failed(
            format!("{name}: claude was given something else than recorded: {sentence}"),
            "compare what the gateway writes to claude with `host`",
        ),
        ObservedEnding::Died { how, .. } => {
            CheckLine::failed(format!("{name}: the gateway {how}"), "look at its output")
        }
        ObservedEnding::NotServed(sentence) => CheckLine::failed(
            format!("{name}: {sentence}"),
            "give it the persons that it knows: `{persons}` or `{person}`",
        ),
        ObservedEnding::Flooded(what) => CheckLine::failed(
            format!("{name}: {what}"),
            "call the chat less often, and send it less",
        ),
    }
}

/// The facts about a gateway that does not work, from which a hint follows.
#[derive(Debug, Clone, Copy)]
struct Hints<'a> {
    /// The gateway's settings, because a hint to set them would be useless where they are set.
    pub(crate) spec: &'a GatewaySpec,
    /// Sentences about refused hosts, and the words of `claude`.
    facts: &'a [String],
    /// The messages in the chat, or the sentence why the gateway is not ready.
    pub(crate) chat: &'a [String],
    /// The last lines that the gateway printed.
    printed: &'a [String],
}

/// The place in which the words of a row are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Facts,
    Chat,
    Printed,
    Both,
}

/// A row of the table: the place, the words, and the hint, in which `{0}` is the first group of the words. A match that
/// names a variable which clitape sets, or a command of `first`, is skipped.
type Row = (In, &'static str, &'static str);

/// The variables that clitape sets.
const OURS: [&str; 9] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_USE_ENV_PROXY",
    "NODE_OPTIONS",
];

/// The rows, the most telling first; within a place, the newest text counts.
const HINT_ROWS: [Row; 18] = [
    (
        In::Facts,
        r"api\.anthropic\.com",
        "another `claude` than the stand-in may have run, because the real one asks for that host: an SDK starts the one of \
         its own package, which clitape finds by the program in `command` and the folders named there; name the program \
         itself and not one that starts it, or give the SDK `{claude}` (`cli_path`, `pathToClaudeCodeExecutable`)",
    ),
    (
        In::Facts,
        r"the prompt “.*” has no marker",
        "pass the person's message on to `claude` as it is, with its marker; a prompt that the gateway makes itself, such as \
         for a title or to begin a session, is answered with `own_prompts = true`",
    ),
    (
        In::Facts,
        r"asked for no updates and set no webhook",
        "let it ask for updates (`getUpdates`), or set a webhook at `http://127.0.0.1:{port}`: it hears of no message",
    ),
    (
        In::Facts,
        r"after the steps of `first`, the chat said “[^”]*” \[([^\]]+)\]",
        "it waits for a button after them: add a press to `first`, such as `{ press = \"{0}\" }`",
    ),
    (
        In::Facts,
        r"got no message: .*--input-format stream-json.* -- ",
        "with `--input-format stream-json`, `claude` reads its prompt from stdin unless stdin is a terminal, and the gateway \
         gives it as an argument: it is made for a terminal, or has a setting for runs without one",
    ),
    (
        In::Chat,
        r"asks for an answer on a terminal",
        "write what it asks for into `env` or a file of `files`: its last line says what it lacks",
    ),
    (
        In::Chat,
        r"the chat server said: .*: Unauthorized",
        "write `{token}` into the variable that has the bot's token",
    ),
    (
        In::Chat,
        r"the chat server said: /\S*: Not Found",
        "`{bot_api}` is the address without `/bot` and without the token: look at the variable that has it",
    ),
    (
        In::Chat,
        r"can't start (.+?): ",
        "`command` names the program: `{0}` is searched for on `PATH`, or, with a `/`, from `folder`",
    ),
    (
        In::Chat,
        r"(?i)un-?authori[sz]ed|not (?:authori[sz]ed|allowed|permitted)|access (?:denied|restricted)|forbidden|no access|permission denied|allow-?list|white-?list|private bot|(?:chat|user|telegram)[ _]?id",
        "it does not know this person: write `{person}`, or `{persons}` for all of them, into the variable or the file that \
         lists who may write",
    ),
    (
        In::Both,
        r"(?i)(?:ENOENT|no such file|not found|cannot find|can't find|not installed|could not find|couldn't find)[^\n]*\b(?:claude|cli)\b|\b(?:claude|cli)\b[^\n]*(?:ENOENT|no such file|not found|not installed|is missing)",
        "it did not find `claude`: write `{claude}` into the variable that names the program, or let it look on `PATH`, where \
         `{bin}` comes first",
    ),
    (
        In::Chat,
        r"(/(?:new|start|project|session|create|open|cd|switch|use)\b)(?: ?<| ?\[| name)",
        "it waits for a command first: write `first = [\"{0} test\"]`",
    ),
    (
        In::Chat,
        r"(/(?:new|start|project|session|create|open|cd|switch|use)\b)",
        "it waits for a command first: write `first = [\"{0}\"]`",
    ),
    (
        In::Printed,
        r"No module named '?([\w.]+)",
        "the Python of `command` has no `{0}`: name the Python in whose environment the gateway is installed",
    ),
    (
        In::Printed,
        r"Cannot find (?:module|package) '([^']+)'",
        "Node finds no `{0}`: run `npm install` in the gateway's folder, or name its folder with `folder`",
    ),
    (
        In::Printed,
        r"KeyError: '([A-Z][A-Z0-9_]{2,})'",
        "it reads the variable {0}, which `env` does not set",
    ),
    (
        In::Printed,
        r"(?i:missing|set|required?|needs?|define|no)\b[^\n]*?\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b",
        "it reads the variable {0}: set it in `env`",
    ),
    (
        In::Printed,
        r"\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b[^\n]*?\b(?i:missing|not set|not defined|required?|must|empty|unset|invalid)\b",
        "it reads the variable {0}: set it in `env`",
    ),
];

impl Hints<'_> {
    /// Returns the hint of the first row whose words are found.
    fn best(&self) -> Option<String> {
        #[allow(clippy::expect_used, reason = "the expressions are constant")]
        static WORDS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
            let compile = |(_, words, _): &Row| Regex::new(words).expect("a row is an expression");
            HINT_ROWS.iter().map(compile).collect()
        });
        HINT_ROWS.iter().zip(WORDS.iter()).find_map(|((place, _, todo), words)| {
            let texts: &[&[String]] = match place {
                In::Facts => &[self.facts],
                In::Chat => &[self.chat],
                In::Printed => &[self.printed],
                In::Both => &[self.chat, self.printed],
            };
            let texts = texts.iter().flat_map(|texts| texts.iter().rev());
            let found = texts.filter_map(|text| words.captures(text));
            let word = |found: &Captures<'_>| {
                found.get(1).map_or(String::new(), |group| group.as_str().to_owned())
            };
            let word = found.map(|found| word(&found)).find(|word| !self.has(word))?;
            match self.spec.env.contains_key(&word) {
                true => Some(format!(
                    "it does not take {word} from its environment, where `env` sets it: name the file that it reads with `files`"
                )),
                false => Some(todo.replace("{0}", &word)),
            }
        })
    }

    /// Returns whether a word is a command that the person writes first, or a variable that clitape sets.
    fn has(&self, word: &str) -> bool {
        let is_written = |step: &FirstStep| match step {
            FirstStep::Say(text) => text.split_whitespace().next() == Some(word),
            FirstStep::Press(_) => false,
        };
        OURS.contains(&word) || self.spec.writers.first.iter().any(is_written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::config::tests::gateway;

    #[test]
    fn the_words_of_a_gateway_say_what_to_do() {
        let spec = gateway("env = { SET_ALREADY = 'x' }\nfirst = ['/open .']");
        // Compares the hint for some facts, a text of the chat, and an output, with a part of the expected one.
        let check = |[facts, chat, printed]: [&str; 3], expect: Option<&str>| {
            let texts = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            let (all, chat, printed) = (texts(facts), texts(chat), texts(printed));
            let hints = Hints { spec: &spec, facts: &all, chat: &chat, printed: &printed };
            let found = hints.best();
            match expect {
                Some(words) => assert!(
                    found.as_ref().is_some_and(|it| it.contains(words)),
                    "{hints:?}: {found:?}"
                ),
                None => assert_eq!(found, None, "{hints:?}"),
            }
        };
        for chat in [
            "Unauthorized. Your chat ID is: 7000002",
            "⛔ not authorized",
            "🚫 You are not allowed to use this bot.",
            "Access denied",
            "Sorry, your user id 7000002 is not on the allowlist.",
            "This is a private bot.",
        ] {
            check(["", chat, ""], Some("`{person}`"));
        }
        for (chat, printed) in [
            ("Error: [Errno 2] No such file or directory: '/nowhere/claude'", ""),
            ("❌ Claude Code CLI not found. Install it first.", ""),
            ("Something went wrong", "Error: spawn claude ENOENT"),
            ("Failed", "sh: 1: claude: not found"),
        ] {
            check(["", chat, printed], Some("`{claude}`"));
        }
        let said = "it did not ask http://127.0.0.1:1 for updates; the chat server said: ";
        for (chat, expect) in [
            ("No active session. Use /new <name> first.", Some(r#"first = ["/new test"]"#)),
            ("Send /start to begin", Some(r#"first = ["/start"]"#)),
            ("Pick one with /project [name]", Some(r#"first = ["/project test"]"#)),
            // The person has written the command already.
            ("Choose a folder with /open", None),
            (&format!("{said}getMe: Unauthorized"), Some("`{token}`")),
            (&format!("{said}/bot/bot<token>/getMe: Not Found"), Some("`{bot_api}`")),
            ("can't start ./none: No such file", Some("`./none`")),
        ] {
            check(["", chat, ""], expect);
        }
        for (printed, expect) in [
            ("ModuleNotFoundError: No module named 'telegram'", Some("no `telegram`")),
            ("Error: Cannot find module 'grammy'", Some("no `grammy`")),
            ("KeyError: 'BOT_TOKEN'", Some("variable BOT_TOKEN")),
            (
                "Error: missing required environment variable TELEGRAM_BOT_TOKEN",
                Some("variable TELEGRAM_BOT_TOKEN"),
            ),
            ("TELEGRAM_TOKEN is not set", Some("variable TELEGRAM_TOKEN")),
            ("Missing required config: SET_ALREADY", Some("the file that it reads with `files`")),
            ("session set: NODE_EXTRA_CA_CERTS=***", None),
        ] {
            check(["", "it ended with code 1 before it was ready", printed], expect);
        }
        for (facts, expect) in [
            ("it asked for api.anthropic.com 3 times: refused", "another `claude`"),
            (
                "`claude` said: the prompt “Say OK” has no marker [[clitape:NAME]]",
                "own_prompts = true",
            ),
            (
                "`claude` was not started, because the gateway has asked for no updates and set no webhook",
                "`getUpdates`",
            ),
            (
                "`claude` was not started; after the steps of `first`, the chat said “Where?” [Use this folder] [No]",
                "`{ press = \"Use this folder\" }`",
            ),
            (
                "`claude` was started, and got no message: claude -p --input-format stream-json -- Hi",
                "unless stdin is a terminal",
            ),
        ] {
            check([facts, "Please run /login", ""], Some(expect));
        }
        check(["", "You said: hello", "INFO: polling"], None);
    }
}
