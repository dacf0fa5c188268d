//! The settings of a subject, as `clitape.toml` gives them, with their placeholders such as `{bot_api}`; and the
//! conditions of a run that differ from the recorded ones: the times at which `claude` prints, and the faults of the
//! chat.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clitape_judge::observation::{InterludeKind, SubjectTraits};
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName, SubjectName};
use regex::Regex;
use serde::Deserialize;

use crate::chat_server::Faults;
use crate::stand_in::{CliFault, HALVES};

/// A subject.
#[derive(Debug)]
#[non_exhaustive]
pub enum SubjectSpec {
    /// A program between a person and `claude`; the person uses a chat or an editor.
    Gateway(Box<GatewaySpec>),
    /// A program that reads the bytes of stdout and prints lifecycle entries.
    Parser(Box<ParserSpec>),
    /// A program that is called like `clitape replay`.
    Replay(Box<ReplaySpec>),
}

/// The `kind` of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum SubjectKind {
    /// A program between a chat and `claude`.
    Gateway,
    /// A program between an editor and `claude`, which speaks the Agent Client Protocol on stdin and stdout.
    Agent,
    /// A program that reads the bytes of stdout and prints lifecycle entries.
    Parser,
    /// A program that is called like `clitape replay`.
    Replay,
}

/// The settings of a gateway: its start, the talk with it, and the signs that it is ready and done.
#[derive(Debug, Clone)]
pub struct GatewaySpec {
    /// The side of the person.
    pub front: Front,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The variables that its environment gets.
    pub env: BTreeMap<String, String>,
    /// The names of variables that are passed on from clitape's own environment.
    pub pass_env: Vec<String>,
    /// The folder in which it starts; by default that of `clitape.toml`.
    pub folder: Option<String>,
    /// The manner in which it drives `claude`.
    pub host: HostKind,
    /// The sign that it is ready.
    pub ready: Ready,
    /// The way by which it reaches the chat server; by default clitape chooses one.
    pub reach: Option<ChatReach>,
    /// The persons, their chats, and the starts that serve them.
    pub writers: Writers,
    /// The text that the person writes, with `{prompt}` in it.
    pub say: String,
    /// The text that interrupts a turn; `None` if the gateway has none.
    pub stop: Option<String>,
    /// The labels of the buttons that answer a question.
    pub press: PressLabels,
    /// True if it writes a message that comes during a turn to `claude` at once.
    pub writes_during_turn: bool,
    /// True if it gives `claude` its own prompts, which get a short answer.
    pub own_prompts: bool,
    /// The seconds without a call of the chat after which a run is over.
    pub idle_s: u64,
    /// The seconds that one run may take, in addition to the recorded time.
    pub within_s: u64,
    /// The number of runs at a time.
    pub at_once: AtOnce,
    /// The scenario of the warm-up, which is played first and does not count.
    pub warm_up: Option<ScenarioName>,
    /// The properties that it has by design.
    pub traits: SubjectTraits,
    /// The scenarios to play; empty means all that fit.
    pub scenarios: Vec<ScenarioName>,
    /// The scenarios to leave out, each with the reason.
    pub except: BTreeMap<ScenarioName, String>,
    /// The file of known differences, relative to the folder of `clitape.toml`.
    pub known: Option<PathBuf>,
    /// The files to write into the temporary folder, each with its template.
    pub files: BTreeMap<String, String>,
    /// The package that npm installs first.
    pub install: Option<InstallSpec>,
    /// The git repository with the revisions of `NAME@REVISION`, relative to the folder of `clitape.toml`.
    pub checkout: Option<PathBuf>,
    /// The command that builds a revision in its folder.
    pub build: Vec<String>,
    /// The version for a command line that names none.
    pub version: Option<String>,
    /// The version of the CLI whose cassettes are played; by default the first of each scenario.
    pub cli: Option<CliVersion>,
    /// The subject's own placeholders, with their values.
    pub values: BTreeMap<String, String>,
    /// The folders in which it looks for `claude` before it looks on `PATH`.
    pub claude_first: Vec<String>,
    /// The versions that have keys of their own, each with its whole settings.
    pub versions: BTreeMap<String, GatewaySpec>,
}

/// The number of recordings that are played at a gateway at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtOnce {
    /// The number at the start of the gateway.
    pub first: usize,
    /// The number up to which it rises, as long as the gateway plays the recordings beside each other.
    pub most: usize,
}

impl AtOnce {
    /// Returns a number that stays.
    pub fn fixed(number: usize) -> Self {
        Self { first: number, most: number }
    }

    /// Returns a number that begins with `first`, because many gateways serve one person at a time, and rises.
    pub fn rising(first: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { first, most: (PER_CORE * cores).clamp(first, MOST_AT_ONCE.max(first)) }
    }
}

/// The recordings that a core takes beside the gateway, and the most on any machine.
const PER_CORE: usize = 8;
const MOST_AT_ONCE: usize = 32;

/// The side of the person: the program in which they talk to a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Front {
    /// A chat of the Bot API.
    Chat,
    /// An editor, as a client of the Agent Client Protocol.
    Editor,
}

/// The `host` of a gateway: the manner in which it drives `claude`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HostKind {
    /// Starts `claude -p` once for each message, with the prompt as an argument or on stdin.
    #[default]
    OneShot,
    /// Keeps one process for many turns, and writes JSON lines to its stdin.
    Live,
}

/// The `reach` of a gateway: the way by which it reaches the chat server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ChatReach {
    /// A network of its own, in which `api.telegram.org` is the chat server and the only other host.
    Sandbox,
    /// The variables of a proxy that leads to the chat server under that name, and refuses every other host.
    Proxy,
    /// The address in `{bot_api}`, which the gateway calls.
    Address,
}

/// The persons who write to a gateway: their chats, the starts that serve them, and their steps before a prompt.
#[derive(Debug, Clone, Default)]
pub struct Writers {
    /// The chat of each recording.
    pub chats: Chats,
    /// The kind of the chats.
    pub chat: ChatKind,
    /// The number of recordings that a start of the gateway serves.
    pub starts: Starts,
    /// The steps of a person before the first prompt in a chat.
    pub first: Vec<FirstStep>,
}

impl Writers {
    /// Returns whether the recordings share a chat, or a group by its topics.
    pub(crate) fn share_chat(&self) -> bool {
        self.chats == Chats::One || self.chat == ChatKind::Topic
    }
}

/// The `chats` of a gateway: the chat of each recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chats {
    /// Each recording has its own chat and person.
    #[default]
    Each,
    /// All recordings share one chat and one person, one after another.
    One,
}

/// The `starts` of a gateway: the number of recordings that a start serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// One start serves all recordings.
    #[default]
    One,
    /// Each recording has a separate start, one after another.
    Each,
}

/// The `chat` of a gateway: the kind of its chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatKind {
    /// A private chat of the person with the bot.
    #[default]
    Private,
    /// A group.
    Group,
    /// A topic of a group that is a forum.
    Topic,
}

/// A step of `first`, before the first prompt in a chat.
#[derive(Debug, Clone)]
pub enum FirstStep {
    /// The person writes this text.
    Say(String),
    /// The person presses the button whose label matches.
    Press(Regex),
}

/// The sign that a gateway is ready, and the time for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The sign.
    pub sign: ReadySign,
    /// The seconds until the sign must come.
    pub within_s: u64,
}

/// The sign of a gateway that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadySign {
    /// It answers the editor's `initialize`.
    Greeting,
    /// It asks the chat server for updates, or sets a webhook.
    Poll,
    /// It prints this text.
    Output(String),
    /// A GET of this URL is answered with a status below 400.
    Url(String),
}

/// The `press` of a gateway: the labels of the buttons that answer a question, as regular expressions.
#[derive(Debug, Clone)]
pub struct PressLabels {
    /// The labels that mean yes, those of [`always`](Self::always) included.
    pub allow: Regex,
    /// The labels that mean yes now and for the like from now on.
    pub always: Regex,
    /// The labels that mean no.
    pub deny: Regex,
    /// The labels that end a choice.
    pub done: Regex,
}

impl PressLabels {
    /// Returns whether a label means yes for this once.
    pub(crate) fn is_once(&self, label: &str) -> bool {
        self.allow.is_match(label) && !self.always.is_match(label) && !self.deny.is_match(label)
    }
}

/// The `install` of a subject: the package that npm installs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallSpec {
    /// The name of the package, such as `openclaw@{version}`.
    pub npm: String,
    /// The version of node to install beside it.
    #[serde(default)]
    pub node: Option<String>,
    /// The versions that replace those of its dependencies.
    #[serde(default)]
    pub overrides: BTreeMap<String, String>,
    /// True if npm runs the scripts of the packages.
    #[serde(default)]
    pub scripts: bool,
}

/// The settings of a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParserSpec {
    /// The call of the program.
    pub call: CallSpec,
    /// The kinds of lifecycle entries to compare; empty means those that it prints.
    pub kinds: Vec<String>,
    /// The number of its starts.
    pub started: Started,
}

/// The `started` of a parser: the number of its starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Started {
    /// A start for each cassette, whose end is the end of stdin.
    #[default]
    Each,
    /// One start: the parser answers the line `{"type":"clitape_end"}` after each cassette with an empty line.
    Once,
}

/// The settings of a program that is called like `clitape replay`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySpec {
    /// The call of the program.
    pub call: CallSpec,
    /// The properties that it has by design.
    pub traits: SubjectTraits,
}

/// The call of a program that gets cassettes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSpec {
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// The variables that its environment gets.
    pub env: BTreeMap<String, String>,
    /// The names of variables that are passed on from clitape's own environment.
    pub pass_env: Vec<String>,
    /// The seconds that it may take for one cassette.
    pub within_s: u64,
    /// The scenarios that it gets; empty means all that fit.
    pub scenarios: Vec<ScenarioName>,
    /// The scenarios to leave out, each with the reason.
    pub except: BTreeMap<ScenarioName, String>,
    /// The package that npm installs first.
    pub install: Option<InstallSpec>,
    /// The version for a command line that names none.
    pub version: Option<String>,
    /// The version of the CLI whose cassettes it gets; by default the first of each scenario.
    pub cli: Option<CliVersion>,
}

impl GatewaySpec {
    /// Returns the settings of a version; `None` means [`version`](Self::version).
    pub fn at_version(&self, version: Option<&str>) -> &Self {
        let version = version.or(self.version.as_deref());
        version.and_then(|version| self.versions.get(version)).unwrap_or(self)
    }

    /// Returns whether it gets the path of a file for its event bus.
    pub fn has_bus(&self) -> bool {
        self.texts().any(|text| text.contains("{bus}"))
    }

    /// Returns whether its settings, or the templates of its files in the folder `root`, contain one of these
    /// placeholders. The paths of the templates may have the placeholders that `places` and `values` set.
    pub(crate) fn has_place(&self, names: &[&str], mut places: Places, root: &Path) -> bool {
        for (name, value) in &self.values {
            let value = places.fill(value, Writing::Plain);
            places.set(name, value);
        }
        let template = |path: &String| {
            let path = root.join(places.fill(path, Writing::Plain));
            // An unreadable template is reported when its file is made.
            files::read_text(&path).unwrap_or_default()
        };
        let has = |text: &str| names.iter().any(|name| text.contains(name));
        self.texts().any(|text| has(text)) || self.files.values().any(|path| has(&template(path)))
    }

    fn texts(&self) -> impl Iterator<Item = &String> {
        self.command.iter().chain(self.env.values()).chain(self.values.values())
    }
}

/// A subject of kind gateway, with its name as the command line has it.
#[derive(Debug, Clone, Copy)]
pub struct NamedGateway<'a> {
    /// The name of the subject.
    pub name: &'a SubjectName,
    /// The version that the command line names.
    pub version: Option<&'a str>,
    /// The settings of the subject.
    pub spec: &'a GatewaySpec,
}

impl<'a> NamedGateway<'a> {
    /// Returns the version that the command line or `clitape.toml` names.
    pub fn version_shown(&self) -> Option<&'a str> {
        self.version.or(self.spec.version.as_deref())
    }

    /// Returns `NAME` or `NAME@VERSION`.
    pub fn shown(&self) -> String {
        shown(self.name, self.version)
    }
}

/// Returns `NAME` or `NAME@VERSION`, as a command line has it.
pub(crate) fn shown(name: &SubjectName, version: Option<&str>) -> String {
    match version {
        Some(version) => format!("{name}@{version}"),
        None => name.to_string(),
    }
}

/// The names of all placeholders.
pub(crate) const PLACES: [&str; 24] = [
    "claude",
    "bin",
    "bot_api",
    "token",
    "workspace",
    "home",
    "temp",
    "port",
    "prompt",
    "version",
    "checkout",
    "root",
    "node",
    "node_folder",
    "install",
    "log",
    "bus",
    "person",
    "persons",
    "username",
    "usernames",
    "chat",
    "chats",
    "bot",
];

/// The values of the placeholders of one start of a subject.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    values: Vec<(String, String)>,
}

/// The syntax in which a value is written into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// The value as it is.
    Plain,
    /// The value escaped for a JSON string.
    Json,
}

impl Places {
    /// Sets the value of a placeholder.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.values.push((name.to_owned(), value.into()));
    }

    /// Adds the values of other placeholders. A name that is set already keeps its value.
    pub(crate) fn add(&mut self, others: &Self) {
        self.values.extend(others.values.iter().cloned());
    }

    /// Returns a text with every placeholder that has a value filled. Other braces stay as they are.
    pub(crate) fn fill(&self, text: &str, writing: Writing) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = next_place(rest) {
            filled.push_str(before);
            match self.values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) if writing == Writing::Json => {
                    let quoted = serde_json::Value::from(value.as_str()).to_string();
                    filled.push_str(&quoted[1..quoted.len() - 1]);
                }
                Some((_, value)) => filled.push_str(value),
                None => {
                    filled.push('{');
                    filled.push_str(name);
                    filled.push('}');
                }
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

/// Returns the first placeholder in a text that neither exists nor is one of `own`. A placeholder is a name of small
/// letters and `_` between braces.
pub(crate) fn unknown_place<'a>(text: &'a str, own: &[&str]) -> Option<&'a str> {
    let mut rest = text;
    while let Some((_, name, after)) = next_place(rest) {
        if !PLACES.contains(&name) && !own.contains(&name) {
            return Some(name);
        }
        rest = after;
    }
    None
}

/// Returns the text before the next placeholder, its name, and the text after it.
fn next_place(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        let name = &text[open + 1..];
        let end = name.find(|c: char| !(c.is_ascii_lowercase() || "_-".contains(c)));
        let end = end.unwrap_or(name.len());
        // With a hyphen it is no name, but what is meant by `{bot-api}` is clear.
        let is_name =
            !name[..end].contains('-') || PLACES.contains(&&*name[..end].replace('-', "_"));
        if end > 0 && is_name && name[end..].starts_with('}') {
            return Some((&text[..open], &name[..end], &name[end + 1..]));
        }
        from = open + 1;
    }
    None
}

/// The times at which `claude` prints its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Printing {
    /// The recorded times.
    #[default]
    Recorded,
    /// One line in every so many milliseconds.
    Paced(u64),
    /// Pieces that a seed cuts and delays.
    Seeded(u64),
}

impl Printing {
    /// Returns the value of `CLITAPE_PLAY`. With `in_halves`, each line that no seed cuts comes in two pieces.
    pub(crate) fn play(self, in_halves: bool) -> String {
        let play = match self {
            Self::Recorded => "recorded".to_owned(),
            Self::Paced(ms) => format!("pace:{ms}"),
            Self::Seeded(seed) => return format!("seed:{seed}"),
        };
        if in_halves { play + HALVES } else { play }
    }

    /// Returns the option of `clitape rig`; `None` for the default.
    fn argument(self) -> Option<String> {
        match self {
            Self::Recorded => None,
            Self::Paced(ms) => Some(format!("--pace {ms}")),
            Self::Seeded(seed) => Some(format!("--seed {seed}")),
        }
    }
}

/// The conditions of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The times at which `claude` prints.
    pub printing: Printing,
    /// True if lines come whole where they were recorded so; otherwise each comes in two pieces with a pause between
    /// them, because a pipe promises no more.
    pub whole_lines: bool,
    /// The calls of each chat that fail.
    pub faults: Faults,
    /// The seconds for which a `claude` of one message lives on after its result.
    pub lives_on_s: u64,
    /// The faults of what `claude` prints.
    pub agent_faults: Vec<CliFault>,
    /// True if the gateway's program runs in the locale `C`, in which text is ASCII.
    pub c_locale: bool,
    /// The interlude in the midst of each recording.
    pub interlude: Option<InterludeKind>,
}

impl Conditions {
    /// The milliseconds between two lines of `claude` that a caller may ask for.
    pub const PACE_MS: RangeInclusive<u64> = 1..=60_000;
    /// The seconds for which a `claude` of one message may live on after its result.
    pub const LIVES_ON_S: RangeInclusive<u64> = 0..=600;
    /// The percentage of calls of a chat that may go wrong at random.
    pub const CHAT_RATE: RangeInclusive<u8> = 1..=100;
    /// The percentage of calls that go wrong if the caller names a seed alone.
    pub const USUAL_CHAT_RATE: u8 = 20;

    /// Returns whether the conditions are the recorded ones, so that the chat can be compared with accepted goldens.
    pub fn are_recorded(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the options of `clitape rig` that repeat the run, each after a space.
    pub fn arguments(&self) -> String {
        let faults = match &self.faults {
            Faults::None => None,
            Faults::Listed(_) => Some(format!("--chat-faults {}", self.faults)),
            Faults::Seeded { seed, percent } => {
                Some(format!("--chat-seed {seed} --chat-rate {percent}"))
            }
        };
        let whole = self.whole_lines.then(|| "--whole-lines".to_owned());
        let interlude = self.interlude.map(InterludeKind::option);
        let lives_on = (self.lives_on_s > 0).then(|| format!("--lives-on {}", self.lives_on_s));
        let agent: Vec<String> = self.agent_faults.iter().map(CliFault::to_string).collect();
        let agent = (!agent.is_empty()).then(|| format!("--agent-faults {}", agent.join(",")));
        let locale = self.c_locale.then(|| "--c-locale".to_owned());
        let all = [self.printing.argument(), whole, agent, locale, faults, lives_on, interlude];
        all.into_iter().flatten().map(|argument| format!(" {argument}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use clitape_judge::FindingCommand;

    use super::*;

    #[test]
    fn known_places_are_filled_and_other_braces_stay() {
        let mut places = Places::default();
        places.set("token", "1:a\"b");
        places.set("port", "80");
        let text = r#"{"a":{"t":"{token}"},"p":{port},"x":"{unset}"} {{port}"#;
        assert_eq!(
            places.fill(text, Writing::Plain),
            r#"{"a":{"t":"1:a"b"},"p":80,"x":"{unset}"} {80"#
        );
        assert!(places.fill(text, Writing::Json).contains(r#""1:a\"b""#));
    }

    #[test]
    fn a_place_that_does_not_exist_is_found() {
        assert_eq!(unknown_place("--port={port} {bot_url}", &[]), Some("bot_url"));
        assert_eq!(unknown_place("{mode} {modes}", &["mode"]), Some("modes"));
        for text in ["{token}", "{ }", "{A}", "{}", "{", "{a-b}", r#"{"a":1}"#] {
            assert_eq!(unknown_place(text, &[]), None, "{text}");
        }
    }

    #[test]
    fn the_conditions_of_a_run_are_options() {
        let check = |printing, faults, arguments: &str| {
            let conditions = Conditions { printing, faults, ..Conditions::default() };
            assert_eq!(conditions.arguments(), arguments);
            let line = format!("clitape rig mine@1.2 plain-text/2.1.329{arguments}");
            assert!(FindingCommand::read(line).is_own(), "a report shows it as a command");
        };
        check(Printing::Recorded, Faults::None, "");
        let faults = Faults::Listed(vec!["sendMessage:2:lost-reply".parse().unwrap()]);
        check(Printing::Paced(200), faults, " --pace 200 --chat-faults sendMessage:2:lost-reply");
        let faults = Faults::Seeded { seed: 7, percent: 20 };
        check(Printing::Seeded(3), faults, " --seed 3 --chat-seed 7 --chat-rate 20");
        let late = Conditions { lives_on_s: 9, ..Conditions::default() };
        assert_eq!(late.arguments(), " --lives-on 9");
        let whole = Conditions { whole_lines: true, ..Conditions::default() };
        assert_eq!(whole.arguments(), " --whole-lines");
        assert_eq!(Printing::Paced(200).play(true), "pace:200,halves");
        assert_eq!(Printing::Seeded(3).play(true), "seed:3");
    }
}
