//! What to do about a gateway that is not ready or does not answer, from what stands in the chat and what it printed.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The output of a gateway that does not do what it should, from which a hint follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints<'a> {
    /// The messages that stand in the chat, or the sentence that says why it is not ready.
    pub(crate) chat: &'a [String],
    /// The last lines that it printed.
    pub(crate) printed: &'a [String],
}

/// Where the words of a row are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Chat,
    Printed,
    Both,
}

/// A row of the table: words, where they are looked for, and what to do. `{0}` is the first group of the words.
type Row = (In, &'static str, &'static str);

/// The first row whose words are there counts; of texts, the newest.
const ROWS: [Row; 12] = [
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
        r"(/(?:new|start|project|session|create|open|login|cd|switch|use)\b)(?: ?<| ?\[| name)",
        "it waits for a command first: write `first = [\"{0} test\"]`",
    ),
    (
        In::Chat,
        r"(/(?:new|start|project|session|create|open|login|cd|switch|use)\b)",
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
    /// Returns what to do, as the first row says whose words are there.
    pub(crate) fn best(&self) -> Option<String> {
        #[allow(clippy::expect_used, reason = "the expressions are constant")]
        static WORDS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
            let compile = |(_, words, _): &Row| Regex::new(words).expect("a row is an expression");
            ROWS.iter().map(compile).collect()
        });
        ROWS.iter().zip(WORDS.iter()).find_map(|((place, _, todo), words)| {
            let chat = (*place != In::Printed).then_some(self.chat);
            let printed = (*place != In::Chat).then_some(self.printed);
            let texts = chat.into_iter().chain(printed).flat_map(|texts| texts.iter().rev());
            let found = texts.filter_map(|text| words.captures(text)).next()?;
            Some(filled(todo, &found))
        })
    }
}

/// A hint with the words that were found.
fn filled(todo: &str, found: &Captures<'_>) -> String {
    todo.replace("{0}", found.get(1).map_or("", |group| group.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_gateway_say_what_to_do() {
        /// A text of the chat, what was printed, and the part of the hint that says it.
        fn check(chat: &str, printed: &str, expect: Option<&str>) {
            let texts = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            let (chat, printed) = (texts(chat), texts(printed));
            let found = Hints { chat: &chat, printed: &printed }.best();
            match expect {
                Some(words) => assert!(
                    found.as_ref().is_some_and(|it| it.contains(words)),
                    "{chat:?} {printed:?}: {found:?}"
                ),
                None => assert_eq!(found, None, "{chat:?} {printed:?}"),
            }
        }
        for chat in [
            "Unauthorized. Your chat ID is: 7000002",
            "⛔ not authorized",
            "🚫 You are not allowed to use this bot.",
            "Access denied",
            "Sorry, your user id 7000002 is not on the allowlist.",
            "This is a private bot.",
        ] {
            check(chat, "", Some("`{person}`"));
        }
        for (chat, printed) in [
            ("Error: [Errno 2] No such file or directory: '/nowhere/claude'", ""),
            ("❌ Claude Code CLI not found. Install it first.", ""),
            ("Something went wrong", "Error: spawn claude ENOENT"),
            ("Failed", "sh: 1: claude: not found"),
        ] {
            check(chat, printed, Some("`{claude}`"));
        }
        check("No active session. Use /new <name> first.", "", Some(r#"first = ["/new test"]"#));
        check("Send /start to begin", "", Some(r#"first = ["/start"]"#));
        check("Pick one with /project [name]", "", Some(r#"first = ["/project test"]"#));
        let said = "it did not ask http://127.0.0.1:1 for updates; the chat server said: ";
        check(&format!("{said}getMe: Unauthorized"), "", Some("`{token}`"));
        check(&format!("{said}/bot/bot<token>/getMe: Not Found"), "", Some("`{bot_api}`"));
        check("can't start ./none: No such file", "", Some("`./none`"));
        for (printed, expect) in [
            ("ModuleNotFoundError: No module named 'telegram'", "no `telegram`"),
            ("Error: Cannot find module 'grammy'", "no `grammy`"),
            ("KeyError: 'BOT_TOKEN'", "variable BOT_TOKEN"),
            (
                "Error: missing required environment variable TELEGRAM_BOT_TOKEN",
                "variable TELEGRAM_BOT_TOKEN",
            ),
            ("TELEGRAM_TOKEN is not set", "variable TELEGRAM_TOKEN"),
        ] {
            check("it ended with code 1 before it was ready", printed, Some(expect));
        }
        check("You said: hello", "INFO: polling", None);
    }
}
