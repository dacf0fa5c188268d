//! The settings of a subject.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clitape_judge::observation::SubjectTraits;
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName, SubjectName};
use regex::Regex;
use serde::Deserialize;

use super::placeholders::{Places, Writing};

/// A subject.
#[derive(Debug)]
#[non_exhaustive]
pub enum Subject {
    /// A program between a person and `claude`: the person uses a chat, or an editor.
    Gateway(Box<GatewaySpec>),
    /// A program that reads the bytes of stdout and prints lifecycle entries.
    Parser(Box<ParserSpec>),
    /// A program that is called as `clitape replay` is.
    Replay(Box<ReplaySpec>),
}

/// `kind` of a subject.
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
    /// A program that is called as `clitape replay` is.
    Replay,
}

/// A gateway, and how to start it, to talk to it, and to know that it is done.
#[derive(Debug, Clone)]
pub struct GatewaySpec {
    /// What the person uses.
    pub front: Front,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// Names of the variables of clitape's own environment that it gets too.
    pub pass_env: Vec<String>,
    /// The folder in which it starts; that of `clitape.toml` when absent.
    pub folder: Option<String>,
    /// How it drives `claude`.
    pub host: HostKind,
    /// How it says that it is ready.
    pub ready: Ready,
    /// The way by which it reaches the chat server; clitape chooses when absent.
    pub reach: Option<ChatReach>,
    /// Who writes, in which chats, and to which starts.
    pub writers: Writers,
    /// What the person writes, `{prompt}` in it.
    pub say: String,
    /// What the person writes to interrupt a turn; absent if nothing does.
    pub stop: Option<String>,
    /// The labels of the buttons that answer a question.
    pub press: PressLabels,
    /// Whether a message that comes during a turn is written to `claude` at once.
    pub writes_during_turn: bool,
    /// Whether it gives `claude` prompts of its own, which get a short answer.
    pub own_prompts: bool,
    /// The seconds without a call of the chat after which a run is over.
    pub idle_s: u64,
    /// The seconds that one run may take.
    pub within_s: u64,
    /// The most runs at the same time.
    pub at_once: u64,
    /// The scenario that is played first and does not count.
    pub warm_up: Option<ScenarioName>,
    /// What it shows by its design.
    pub traits: SubjectTraits,
    /// The scenarios that are played; all that fit when empty.
    pub scenarios: Vec<ScenarioName>,
    /// Scenarios that are left out, each with the reason.
    pub except: BTreeMap<ScenarioName, String>,
    /// The file of known differences, from the folder of `clitape.toml`.
    pub known: Option<PathBuf>,
    /// Files of the temporary folder, each with the template that it is made of.
    pub files: BTreeMap<String, String>,
    /// What npm installs first.
    pub install: Option<InstallSpec>,
    /// The git repository of which `NAME@REVISION` is a revision, from the folder of `clitape.toml`.
    pub checkout: Option<PathBuf>,
    /// The command that builds a revision, which runs in its folder.
    pub build: Vec<String>,
    /// The version that is meant when the command line names none.
    pub version: Option<String>,
    /// The version of the CLI whose cassettes are played; the first of each scenario when absent.
    pub cli: Option<CliVersion>,
    /// Placeholders of its own, each with its value.
    pub values: BTreeMap<String, String>,
    /// The folders in which it looks for `claude` before those of `PATH`.
    pub claude_first: Vec<String>,
    /// The versions that have keys of their own, each with all of its settings.
    pub versions: BTreeMap<String, GatewaySpec>,
}

/// What a person uses to talk to a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Front {
    /// A chat of the Bot API.
    Chat,
    /// An editor, as a client of the Agent Client Protocol.
    Editor,
}

/// `host` of a gateway: how it drives `claude`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HostKind {
    /// It starts `claude -p` once for each message, with the prompt as an argument or on stdin.
    #[default]
    OneShot,
    /// It keeps one process for many turns, and writes JSON lines to its stdin.
    Live,
}

/// `reach` of a gateway: how it reaches the chat server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ChatReach {
    /// It has a network of its own, in which `api.telegram.org` is the chat server and no other host exists.
    Sandbox,
    /// It has the variables of a proxy that leads to the chat server under that name, and refuses every other host.
    Proxy,
    /// It calls the address that `{bot_api}` gives it.
    Address,
}

/// Who writes to a gateway: the chats of its recordings, the starts that serve them, and what comes before a prompt.
#[derive(Debug, Clone, Default)]
pub struct Writers {
    /// Which chat each recording has.
    pub chats: Chats,
    /// Which kind of chat it is.
    pub chat: ChatKind,
    /// The number of recordings that a start of the gateway serves.
    pub starts: Starts,
    /// The steps of the person before the first prompt of a chat.
    pub first: Vec<FirstStep>,
}

/// `chats` of a gateway: which chat each recording has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chats {
    /// A chat and a person of its own.
    #[default]
    Each,
    /// All recordings have the same chat and the same person, one after the other.
    One,
}

/// `starts` of a gateway: how many recordings a start serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// One start serves all.
    #[default]
    One,
    /// Each recording has a start of its own, one after the other.
    Each,
}

/// `chat` of a gateway: the kind of its chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatKind {
    /// The person and the bot alone.
    #[default]
    Private,
    /// A group.
    Group,
    /// A topic of a group that is a forum.
    Topic,
}

/// A step of `first`.
#[derive(Debug, Clone)]
pub enum FirstStep {
    /// The person writes this.
    Say(String),
    /// The person presses the button whose label matches.
    Press(Regex),
}

/// How a gateway says that it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The sign.
    pub sign: ReadySign,
    /// The seconds that it may take.
    pub within_s: u64,
}

/// The sign of a gateway that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadySign {
    /// It answers `initialize` of the editor.
    Greeting,
    /// It asks the chat server for updates, or sets a webhook.
    Poll,
    /// It prints this text.
    Output(String),
    /// A GET of this URL is answered with a status below 400.
    Url(String),
}

/// `press`: the labels of the buttons that answer a question, as regular expressions.
#[derive(Debug, Clone)]
pub struct PressLabels {
    /// Yes.
    pub allow: Regex,
    /// No.
    pub deny: Regex,
    /// That all is chosen.
    pub done: Regex,
}

/// `install`: what npm installs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallSpec {
    /// The package, such as `openclaw@{version}`.
    pub npm: String,
    /// The version of node that is installed beside it.
    #[serde(default)]
    pub node: Option<String>,
    /// Versions of its own dependencies that take the place of others.
    #[serde(default)]
    pub overrides: BTreeMap<String, String>,
    /// Whether npm runs the scripts of the packages.
    #[serde(default)]
    pub scripts: bool,
}

/// A parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParserSpec {
    /// How it is called.
    pub call: CallSpec,
    /// The kinds of lifecycle entries that it prints; the others are not compared.
    pub kinds: Vec<String>,
    /// How often it is started.
    pub started: Started,
}

/// How often a parser is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Started {
    /// For each cassette, whose end is the end of its stdin.
    #[default]
    Each,
    /// Once: it answers the line `{"type":"clitape_end"}` after each cassette with an empty line.
    Once,
}

/// A program that is called as `clitape replay` is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySpec {
    /// How it is called.
    pub call: CallSpec,
    /// What it shows by its design.
    pub traits: SubjectTraits,
}

/// How a program is called that is given cassettes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSpec {
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// Names of the variables of clitape's own environment that it gets too.
    pub pass_env: Vec<String>,
    /// The seconds that it may take for one cassette.
    pub within_s: u64,
    /// The scenarios that it gets; all that fit when empty.
    pub scenarios: Vec<ScenarioName>,
    /// Scenarios that are left out, each with the reason.
    pub except: BTreeMap<ScenarioName, String>,
    /// What npm installs first.
    pub install: Option<InstallSpec>,
    /// The version that is meant when the command line names none.
    pub version: Option<String>,
    /// The version of the CLI whose cassettes it gets; the first of each scenario when absent.
    pub cli: Option<CliVersion>,
}

impl GatewaySpec {
    /// The settings of a version; of [`version`](Self::version) where none is named.
    pub fn at_version(&self, version: Option<&str>) -> &Self {
        let version = version.or(self.version.as_deref());
        version.and_then(|version| self.versions.get(version)).unwrap_or(self)
    }

    /// Whether it is given the path of a file for its event bus.
    pub fn has_bus(&self) -> bool {
        self.texts().any(|text| text.contains("{bus}"))
    }

    /// Returns whether its settings, or the templates of its files in the folder `root`, have one of these placeholders.
    /// The paths of templates have those that `places` and `values` set.
    pub(crate) fn has_place(&self, names: &[&str], mut places: Places, root: &Path) -> bool {
        for (name, value) in &self.values {
            let value = places.fill(value, Writing::Plain);
            places.set(name, value);
        }
        let template = |path: &String| {
            let path = root.join(places.fill(path, Writing::Plain));
            // One that can't be read is reported when the file is made.
            files::read_text(&path).unwrap_or_default()
        };
        let has = |text: &str| names.iter().any(|name| text.contains(name));
        self.texts().any(|text| has(text)) || self.files.values().any(|path| has(&template(path)))
    }

    fn texts(&self) -> impl Iterator<Item = &String> {
        self.command.iter().chain(self.env.values()).chain(self.values.values())
    }
}

/// A subject of kind gateway, and how its name was written.
#[derive(Debug, Clone, Copy)]
pub struct NamedGateway<'a> {
    /// Its name.
    pub name: &'a SubjectName,
    /// The version that the command line names.
    pub version: Option<&'a str>,
    /// Its settings.
    pub spec: &'a GatewaySpec,
}

impl NamedGateway<'_> {
    /// `NAME` or `NAME@VERSION`.
    pub fn shown(&self) -> String {
        shown(self.name, self.version)
    }
}

/// `NAME` or `NAME@VERSION`, as the command line has it.
pub(crate) fn shown(name: &SubjectName, version: Option<&str>) -> String {
    match version {
        Some(version) => format!("{name}@{version}"),
        None => name.to_string(),
    }
}
