//! Finds a hint what to do about a gateway that is not ready or does not answer, from the words in the chat and in its
//! output.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::spec::{FirstStep, GatewaySpec};

/// The facts about a gateway that does not work, from which a hint follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints<'a> {
    /// The gateway's settings, because a hint to set them would be useless where they are set.
    pub(crate) spec: &'a GatewaySpec,
    /// Sentences about refused hosts, and the words of `claude`.
    pub(crate) facts: &'a [String],
    /// The messages in the chat, or the sentence why the gateway is not ready.
    pub(crate) chat: &'a [String],
    /// The last lines that the gateway printed.
    pub(crate) printed: &'a [String],
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
const ROWS: [Row; 18] = [
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
    pub(crate) fn best(&self) -> Option<String> {
        #[allow(clippy::expect_used, reason = "the expressions are constant")]
        static WORDS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
            let compile = |(_, words, _): &Row| Regex::new(words).expect("a row is an expression");
            ROWS.iter().map(compile).collect()
        });
        ROWS.iter().zip(WORDS.iter()).find_map(|((place, _, todo), words)| {
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
