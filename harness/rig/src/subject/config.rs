//! `clitape.toml`: reads the subjects of a workspace.
//!
//! ```toml
//! [subject.mine]
//! kind = "gateway"
//! command = ["python3", "bot.py"]
//! env = { TELEGRAM_API = "{bot_api}", TELEGRAM_TOKEN = "{token}", CLAUDE_BIN = "{claude}" }
//!
//! [subject.mine-quiet]
//! like = "mine"
//! values = { mode = "off" }
//!
//! [subject.mine.at."2.0"]
//! env = { NEW_SWITCH = "1" }
//! ```
//!
//! `like` lets a subject take the keys of another, and `at` has keys for one version only. An unknown key, a key of
//! another kind of subject and an unknown placeholder are errors that name the line, because a misspelt key would be a
//! setting without effect.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clitape_judge::observation::SubjectTraits;
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName, SubjectName};
use clitape_recording::scenario::Versions;
use clitape_recording::text::distance;
use clitape_recording::toml_text::{TomlMistake, parse_toml};
use clitape_stream::EVENT_KINDS;
use regex::Regex;
use serde::Deserialize;
use toml::{Table, Value};

use super::error::SubjectError;
use super::spec::{
    AtOnce, CallSpec, ChatKind, ChatReach, Chats, FirstStep, Front, GatewaySpec, HostKind,
    InstallSpec, PLACES, ParserSpec, PressLabels, Ready, ReadySign, ReplaySpec, Started, Starts,
    SubjectKind, SubjectSpec, Writers, unknown_place,
};

/// The name of the file.
pub const FILE: &str = "clitape.toml";

/// The subjects of a workspace.
#[derive(Debug)]
pub struct Subjects {
    /// The path of the file.
    pub path: PathBuf,
    /// The subjects by name.
    pub subjects: BTreeMap<SubjectName, SubjectSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectsFile {
    /// The versions of the CLI with which scenarios are recorded.
    #[expect(dead_code, reason = "the workspace reads it; here a mistake has a line")]
    versions: Option<Versions>,
    /// The subjects, each by its name: `[subject.NAME]`.
    #[serde(default)]
    subject: BTreeMap<SubjectName, SubjectFile>,
}

/// A program under test: the keys of every kind of subject, so that a mistake in one of them names its line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectFile {
    /// The kind of the program. A subject with `like` takes it from the other one.
    kind: Option<SubjectKind>,
    /// The name of a subject whose keys this one takes, where it has none of its own.
    #[expect(dead_code, reason = "`like` reads it from the table; here a mistake has a line")]
    like: Option<String>,
    /// The program and its arguments.
    command: Option<Vec<String>>,
    /// The variables that its environment gets, with placeholders such as `{bot_api}`.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The names of variables that are passed on from clitape's own environment.
    #[serde(default)]
    pass_env: Vec<String>,
    /// The folder in which it starts; by default that of `clitape.toml`.
    folder: Option<String>,
    /// The manner in which a gateway drives `claude`; by default `one-shot`.
    host: Option<HostKind>,
    /// The sign that a gateway is ready; by default that it asks for updates, or answers the `initialize` of an editor.
    ready: Option<ReadyFile>,
    /// The way by which a gateway reaches the chat server; by default clitape chooses one.
    reach: Option<ChatReach>,
    /// The chat of each recording; by default `each`.
    chats: Option<Chats>,
    /// The kind of the chats; by default `private`.
    chat: Option<ChatKind>,
    /// The number of recordings that a start of the gateway serves; by default `one` for all.
    starts: Option<Starts>,
    /// The steps of a person before the first prompt in a chat.
    first: Option<Vec<FirstStepFile>>,
    /// The text that the person writes, with `{prompt}` in it; by default the prompt alone.
    say: Option<String>,
    /// The text that interrupts a turn; without it, recordings with an interrupt are left out.
    stop: Option<String>,
    /// The labels of the buttons that answer a question, as regular expressions.
    press: Option<PressFile>,
    /// True if a message that comes during a turn is written to `claude` at once; false by default.
    writes_during_turn: Option<bool>,
    /// True if the gateway gives `claude` prompts of its own, which get a short answer; false by default.
    own_prompts: Option<bool>,
    /// The seconds without a call after which a run is over; 5 for a chat and 2 for an editor by default.
    idle_s: Option<u64>,
    /// The seconds that one run may take, in addition to the recorded time; 120 by default.
    within_s: Option<u64>,
    /// The number of runs at a time; by default a run finds it.
    at_once: Option<u64>,
    /// The scenario of the warm-up, which is played first and does not count.
    warm_up: Option<ScenarioName>,
    /// True if a person can read which tools run; this is the default.
    tools_shown: Option<bool>,
    /// True if the chat shows that the agent works; this is the default.
    progress_shown: Option<bool>,
    /// True if the gateway passes the questions of the CLI on; false by default, and true of an agent.
    questions_asked: Option<bool>,
    /// True if a turn leaves one message, besides pages and questions; false by default.
    one_message: Option<bool>,
    /// True if `NO_REPLY` and `HEARTBEAT_OK` stay out of the chat; false by default.
    silence_kept: Option<bool>,
    /// True if the message with the answer may have the reasoning of the model; false by default.
    reasoning_shown: Option<bool>,
    /// True if it may have what subagents said; false by default.
    subagents_shown: Option<bool>,
    /// True if a message goes on with the conversation of the messages before it; this is the default.
    sessions_resumed: Option<bool>,
    /// The scenarios to play; by default all that fit.
    #[serde(default)]
    scenarios: Vec<ScenarioName>,
    /// The scenarios to leave out, each with the reason.
    #[serde(default)]
    except: BTreeMap<ScenarioName, String>,
    /// The file of known differences, relative to the folder of `clitape.toml`.
    known: Option<PathBuf>,
    /// The files to write into the temporary folder, each with its template.
    files: Option<BTreeMap<String, String>>,
    /// The package that npm installs first.
    install: Option<InstallSpec>,
    /// The git repository with the revisions of `NAME@REVISION`, relative to the folder of `clitape.toml`.
    checkout: Option<PathBuf>,
    /// The command that builds a revision in its folder.
    build: Option<Vec<String>>,
    /// The version for a command line that names none.
    version: Option<String>,
    /// The version of the CLI whose recordings are played; by default the first of each scenario.
    cli: Option<CliVersion>,
    /// The kinds of lifecycle entries that a parser is held to; by default those that it prints.
    kinds: Option<Vec<String>>,
    /// The number of starts of a parser; by default `each`.
    started: Option<Started>,
    /// Placeholders of its own, with their values.
    values: Option<BTreeMap<String, String>>,
    /// The folders in which it looks for `claude` before it looks on `PATH`.
    claude_first: Option<Vec<String>>,
    /// Keys for one version: `[subject.NAME.at."VERSION"]`.
    #[expect(dead_code, reason = "as `like`")]
    #[serde(default)]
    at: BTreeMap<String, SubjectFile>,
}

/// The sign that a gateway is ready: one of `poll`, `output` and `url`, and the time for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadyFile {
    /// True if it is ready once it asks the chat server for updates, or sets a webhook.
    poll: Option<bool>,
    /// The text that it prints once it is ready.
    output: Option<String>,
    /// The address whose GET is answered with a status below 400 once it is ready.
    url: Option<String>,
    /// The seconds until the sign must come; 60 by default.
    within_s: Option<u64>,
}

/// A step of `first`: a text that the person writes, or a button that is pressed.
#[derive(Deserialize)]
#[serde(untagged, expecting = "write a text, or `{ press = \"LABEL\" }`")]
enum FirstStepFile {
    Say(String),
    Press(FirstPressFile),
}

/// A press of a button, as a step of `first`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstPressFile {
    /// The button to press: a regular expression that matches its label.
    press: String,
}

/// The labels of the buttons that answer a question, as regular expressions; each has a default for usual labels.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PressFile {
    /// The labels that mean yes, also from now on.
    allow: Option<String>,
    /// The labels that mean yes now and for the like from now on.
    always: Option<String>,
    /// The labels that mean no.
    deny: Option<String>,
    /// The labels that end a choice.
    done: Option<String>,
}

/// A key with an unusable value, and the reason.
struct Complaint {
    key: &'static str,
    what: String,
}

fn complain<T>(key: &'static str, what: impl Into<String>) -> Result<T, Complaint> {
    Err(Complaint { key, what: what.into() })
}

/// The labels of buttons that mean yes, yes from now on, no, and that all is chosen, as a subject has them by default.
const ALLOW: &str = "(?i)allow|approve|^yes";
const ALWAYS: &str = "(?i)always|ask again|remember|session";
const DENY: &str = "(?i)deny|reject|^no|don.t allow";
const DONE: &str = "(?i)done|submit|confirm|finish|continue|send|^ok";

/// The numeric keys of a subject, with the default, the least and the most.
const IDLE_S: NumberKey = NumberKey { key: "idle_s", default: 5, range: 1..=600 };
/// Shorter, because an agent reports the end of a turn itself, and only later messages are waited for.
const AGENT_IDLE_S: NumberKey = NumberKey { key: "idle_s", default: 2, range: 1..=600 };
const WITHIN_S: NumberKey = NumberKey { key: "within_s", default: 120, range: 1..=86_400 };
/// By default a run finds the number, and begins with this one.
const AT_ONCE: NumberKey = NumberKey { key: "at_once", default: 4, range: 1..=64 };
const READY_S: NumberKey = NumberKey { key: "ready", default: 60, range: 1..=3_600 };

/// The numeric keys of a subject, each with the least and the most.
pub const RANGES: [(&str, RangeInclusive<u64>); 4] = [
    ("idle_s", IDLE_S.range),
    ("within_s", WITHIN_S.range),
    ("ready.within_s", READY_S.range),
    ("at_once", AT_ONCE.range),
];

/// A key whose value is a number.
struct NumberKey {
    key: &'static str,
    default: u64,
    range: RangeInclusive<u64>,
}

impl NumberKey {
    /// Returns the subject's value, or the default.
    fn of(&self, value: Option<u64>) -> Result<u64, Complaint> {
        match value {
            None => Ok(self.default),
            Some(value) if self.range.contains(&value) => Ok(value),
            Some(value) => {
                let (least, most) = (self.range.start(), self.range.end());
                complain(self.key, format!("{value} is not from {least} to {most}"))
            }
        }
    }
}

impl Subjects {
    /// Reads `clitape.toml` in `root`.
    ///
    /// # Errors
    ///
    /// [`SubjectError`] if the file does not exist, or with the line of a mistake in it.
    pub fn load(root: &Path) -> Result<Self, SubjectError> {
        let path = root.join(FILE);
        let text = match files::read_text(&path) {
            Err(error) if error.is_not_found() => return Err(SubjectError::NoFile(path)),
            text => text?,
        };
        Self::parse(path, &text)
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, SubjectError> {
        let wrong =
            |TomlMistake { line, what }| SubjectError::Config { path: path.clone(), line, what };
        let file: SubjectsFile = parse_toml(text).map_err(wrong)?;
        let document: toml::Table = parse_toml(text).map_err(wrong)?;
        let tables = document.get("subject").and_then(toml::Value::as_table);
        let tables = tables.cloned().unwrap_or_default();
        let mut subjects = BTreeMap::new();
        for name in file.subject.into_keys() {
            let subject = subject_of(&tables, &name).map_err(|Complaint { key, what }| {
                let (line, what) = (line_of(text, &name, key), format!("`{key}`: {what}"));
                SubjectError::Config { path: path.clone(), line, what }
            })?;
            subjects.insert(name, subject);
        }
        Ok(Self { path, subjects })
    }

    /// Returns the subject of this name, with the name.
    ///
    /// # Errors
    ///
    /// [`SubjectError::Unknown`], which names the subjects that exist.
    pub fn get(&self, name: &str) -> Result<(&SubjectName, &SubjectSpec), SubjectError> {
        self.subjects.get_key_value(name).ok_or_else(|| {
            let known = self.subjects.keys().map(SubjectName::as_str);
            let hint = suggestion(name, known.clone());
            let all: Vec<&str> = known.collect();
            let hint = hint.unwrap_or_else(|| match all.as_slice() {
                [] => "write a table `[subject.NAME]`, as `clitape help subjects` shows".to_owned(),
                all => format!("there are {}", all.join(", ")),
            });
            SubjectError::Unknown { name: name.to_owned(), path: self.path.clone(), hint }
        })
    }
}

/// Returns the subject of this name, with the keys that it takes from others, and with the versions that have keys of
/// their own.
fn subject_of(tables: &toml::Table, name: &str) -> Result<SubjectSpec, Complaint> {
    let like = |what| Complaint { key: "like", what };
    let one = |version: Option<&str>| {
        let keys = subject_keys(tables, name, version).map_err(like)?;
        let file: Result<SubjectFile, _> = keys.try_into();
        file.or_else(|error: toml::de::Error| complain("like", error.message()))?.subject()
    };
    let mut subject = one(None)?;
    if let SubjectSpec::Gateway(spec) = &mut subject {
        for version in subject_versions(tables, name).map_err(like)? {
            if let SubjectSpec::Gateway(of_version) = one(Some(&version))? {
                spec.versions.insert(version, *of_version);
            }
        }
    }
    Ok(subject)
}

impl SubjectFile {
    fn subject(mut self) -> Result<SubjectSpec, Complaint> {
        let Some(kind) = self.kind else {
            return complain("kind", "it is missing; write gateway, agent, parser or replay");
        };
        let command = self.command.take().unwrap_or_default();
        if command.is_empty() {
            return complain("command", "it is empty; name the program and its arguments");
        }
        self.check_places(&command)?;
        if let Some((key, owner)) = self.foreign_key(kind) {
            return complain(
                key,
                format!("a subject of kind {kind} has none; only {owner} has it"),
            );
        }
        Ok(match kind {
            SubjectKind::Gateway => {
                SubjectSpec::Gateway(Box::new(self.gateway(command, Front::Chat)?))
            }
            SubjectKind::Agent => {
                SubjectSpec::Gateway(Box::new(self.gateway(command, Front::Editor)?))
            }
            SubjectKind::Parser => {
                let (kinds, started) = (self.kinds.take().unwrap_or_default(), self.started);
                if let Some(unknown) =
                    kinds.iter().find(|kind| !EVENT_KINDS.contains(&kind.as_str()))
                {
                    let hint = suggestion(unknown, EVENT_KINDS)
                        .unwrap_or_else(|| format!("the lane has {}", EVENT_KINDS.join(", ")));
                    return complain(
                        "kinds",
                        format!("there is no kind `{unknown}` on the lane `lifecycle`; {hint}"),
                    );
                }
                SubjectSpec::Parser(Box::new(ParserSpec {
                    kinds,
                    started: started.unwrap_or_default(),
                    call: self.call(command)?,
                }))
            }
            SubjectKind::Replay => {
                let traits = self.traits(SubjectTraits::default());
                SubjectSpec::Replay(Box::new(ReplaySpec { traits, call: self.call(command)? }))
            }
        })
    }

    fn call(self, command: Vec<String>) -> Result<CallSpec, Complaint> {
        Ok(CallSpec {
            within_s: WITHIN_S.of(self.within_s)?,
            command,
            env: self.env,
            pass_env: self.pass_env,
            scenarios: self.scenarios,
            except: self.except,
            install: self.install,
            version: self.version,
            cli: self.cli,
        })
    }

    /// Returns the subject's traits by design, with those of `usual` where it sets none.
    fn traits(&self, usual: SubjectTraits) -> SubjectTraits {
        SubjectTraits {
            shows_tools: self.tools_shown.unwrap_or(usual.shows_tools),
            shows_progress: self.progress_shown.unwrap_or(usual.shows_progress),
            asks_questions: self.questions_asked.unwrap_or(usual.asks_questions),
            lets_claude_ask: usual.lets_claude_ask,
            one_message: self.one_message.unwrap_or(usual.one_message),
            keeps_silence: self.silence_kept.unwrap_or(usual.keeps_silence),
            shows_reasoning: self.reasoning_shown.unwrap_or(usual.shows_reasoning),
            shows_subagents: self.subagents_shown.unwrap_or(usual.shows_subagents),
            resumes_sessions: self.sessions_resumed.unwrap_or(usual.resumes_sessions),
        }
    }

    fn gateway(self, command: Vec<String>, front: Front) -> Result<GatewaySpec, Complaint> {
        let (idle_s, host) = match front {
            Front::Editor => (AGENT_IDLE_S, HostKind::Live),
            Front::Chat => (IDLE_S, self.host.unwrap_or_default()),
        };
        let asks_questions = front == Front::Editor;
        let traits = self.traits(SubjectTraits { asks_questions, ..SubjectTraits::default() });
        let mut ready = self.ready.map_or_else(|| Ok(Ready::default()), ReadyFile::ready)?;
        if front == Front::Editor {
            ready.sign = ReadySign::Greeting;
        }
        let press = self.press.unwrap_or_default();
        let say = self.say.unwrap_or_else(|| "{prompt}".to_owned());
        if !say.contains("{prompt}") {
            return complain("say", "it has no `{prompt}`, by which `claude` finds its cassette");
        }
        if let Some((file, _)) = self.files.iter().flatten().find(|(file, _)| !is_inside(file)) {
            return complain("files", format!("`{file}` is no path in the temporary folder"));
        }
        let writers = Writers {
            chats: self.chats.unwrap_or_default(),
            chat: self.chat.unwrap_or_default(),
            starts: self.starts.unwrap_or_default(),
            first: self
                .first
                .into_iter()
                .flatten()
                .map(FirstStepFile::step)
                .collect::<Result<_, _>>()?,
        };
        Ok(GatewaySpec {
            front,
            writers,
            idle_s: idle_s.of(self.idle_s)?,
            within_s: WITHIN_S.of(self.within_s)?,
            at_once: {
                let number = usize::try_from(AT_ONCE.of(self.at_once)?).unwrap_or(usize::MAX);
                self.at_once.map_or(AtOnce::rising(number), |_| AtOnce::fixed(number))
            },
            press: PressLabels {
                allow: expression("press", press.allow.as_deref().unwrap_or(ALLOW))?,
                always: expression("press", press.always.as_deref().unwrap_or(ALWAYS))?,
                deny: expression("press", press.deny.as_deref().unwrap_or(DENY))?,
                done: expression("press", press.done.as_deref().unwrap_or(DONE))?,
            },
            command,
            env: self.env,
            pass_env: self.pass_env,
            folder: self.folder,
            host,
            ready,
            reach: self.reach,
            say,
            stop: self.stop,
            writes_during_turn: self.writes_during_turn.unwrap_or(false),
            own_prompts: self.own_prompts.unwrap_or(false),
            warm_up: self.warm_up,
            traits,
            scenarios: self.scenarios,
            except: self.except,
            known: self.known,
            files: self.files.unwrap_or_default(),
            install: self.install,
            checkout: self.checkout,
            build: self.build.unwrap_or_default(),
            version: self.version,
            cli: self.cli,
            values: self.values.unwrap_or_default(),
            claude_first: self.claude_first.unwrap_or_default(),
            versions: BTreeMap::new(),
        })
    }
}

impl FirstStepFile {
    /// Returns the text that the person writes, if the step is not a press.
    fn text(&self) -> Option<&String> {
        match self {
            Self::Say(text) => Some(text),
            Self::Press(_) => None,
        }
    }

    fn step(self) -> Result<FirstStep, Complaint> {
        match self {
            Self::Say(text) if text.trim().is_empty() => {
                complain("first", "a text is empty; nobody can send it")
            }
            Self::Say(text) => Ok(FirstStep::Say(text)),
            Self::Press(FirstPressFile { press }) => {
                Ok(FirstStep::Press(expression("first", &press)?))
            }
        }
    }
}

fn expression(key: &'static str, text: &str) -> Result<Regex, Complaint> {
    Regex::new(text).or_else(|error| {
        complain(
            key,
            format!("`{text}` is no regular expression: {}", error.to_string().replace('\n', " ")),
        )
    })
}

/// Returns whether a path stays within the folder to which it is joined.
fn is_inside(path: &str) -> bool {
    use std::path::Component;

    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

impl Default for Ready {
    fn default() -> Self {
        Self { sign: ReadySign::Poll, within_s: READY_S.default }
    }
}

impl ReadyFile {
    fn ready(self) -> Result<Ready, Complaint> {
        let poll = self.poll.filter(|poll| *poll).map(|_| ReadySign::Poll);
        let signs = [poll, self.output.map(ReadySign::Output), self.url.map(ReadySign::Url)];
        let mut signs = signs.into_iter().flatten();
        let sign = signs.next().unwrap_or(ReadySign::Poll);
        if signs.next().is_some() {
            return complain("ready", "it has several of `poll`, `output` and `url`; write one");
        }
        Ok(Ready { sign, within_s: READY_S.of(self.within_s)? })
    }
}

/// Returns the line of a subject's key, or of the subject's table if the key is not found.
fn line_of(text: &str, subject: &SubjectName, key: &str) -> usize {
    let header = format!("[subject.{subject}]");
    let is_header = |line: &str| line.trim_start().starts_with(&header);
    let is_key = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let begin = text.lines().position(is_header).unwrap_or(0);
    let within = text.lines().enumerate().skip(begin + 1);
    let mut within = within.take_while(|(_, line)| !line.trim_start().starts_with("[subject."));
    within.find(|(_, line)| is_key(line)).map_or(begin, |(number, _)| number) + 1
}

impl SubjectFile {
    /// Returns the first key that belongs to another kind, with that kind.
    fn foreign_key(&self, kind: SubjectKind) -> Option<(&'static str, SubjectKind)> {
        let chat = [
            ("host", self.host.is_some()),
            ("ready", self.ready.is_some()),
            ("reach", self.reach.is_some()),
            ("stop", self.stop.is_some()),
            ("press", self.press.is_some()),
            ("chats", self.chats.is_some()),
            ("chat", self.chat.is_some()),
            ("starts", self.starts.is_some()),
            ("first", self.first.is_some()),
            ("own_prompts", self.own_prompts.is_some()),
            ("sessions_resumed", self.sessions_resumed.is_some()),
        ];
        let person = [
            ("folder", self.folder.is_some()),
            ("say", self.say.is_some()),
            ("writes_during_turn", self.writes_during_turn.is_some()),
            ("idle_s", self.idle_s.is_some()),
            ("at_once", self.at_once.is_some()),
            ("warm_up", self.warm_up.is_some()),
            ("known", self.known.is_some()),
            ("files", self.files.is_some()),
            ("checkout", self.checkout.is_some()),
            ("build", self.build.is_some()),
            ("values", self.values.is_some()),
            ("claude_first", self.claude_first.is_some()),
        ];
        // Promises about the contents of a chat, which a replay has as well.
        let promises = [
            ("tools_shown", self.tools_shown.is_some()),
            ("progress_shown", self.progress_shown.is_some()),
            ("questions_asked", self.questions_asked.is_some()),
            ("one_message", self.one_message.is_some()),
            ("silence_kept", self.silence_kept.is_some()),
            ("reasoning_shown", self.reasoning_shown.is_some()),
            ("subagents_shown", self.subagents_shown.is_some()),
        ];
        let is_replay = kind == SubjectKind::Replay;
        let promises = promises.into_iter().filter(|_| !is_replay);
        let chat = chat.into_iter().chain(promises);
        let chat = chat.map(|(key, is_there)| (key, is_there, SubjectKind::Gateway));
        // Gateways and agents both have these keys.
        let other = if kind == SubjectKind::Agent { kind } else { SubjectKind::Gateway };
        let person = person.map(|(key, is_there)| (key, is_there, other));
        let parser = [("kinds", self.kinds.is_some()), ("started", self.started.is_some())];
        let parser = parser.map(|(key, is_there)| (key, is_there, SubjectKind::Parser));
        let mut keys = chat.chain(person).chain(parser);
        keys.find(|(_, is_there, owner)| *is_there && *owner != kind)
            .map(|(key, _, owner)| (key, owner))
    }

    /// Complains about a placeholder that does not exist, and about a key of `values` that is the name of an existing
    /// one.
    fn check_places(&self, command: &[String]) -> Result<(), Complaint> {
        let own: Vec<&str> = self.values.iter().flatten().map(|(name, _)| name.as_str()).collect();
        for name in &own {
            let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if !is_name || name.is_empty() || PLACES.contains(name) {
                let what =
                    "is no name for a placeholder of its own; take other small letters and _";
                return complain("values", format!("`{name}` {what}"));
            }
        }
        let install = self.install.iter().map(|install| ("install", &install.npm));
        let texts = command.iter().map(|text| ("command", text));
        let first = self.claude_first.iter().flatten().map(|text| ("claude_first", text));
        let texts = texts.chain(first);
        let texts = texts.chain(self.env.values().map(|text| ("env", text)));
        let texts = texts.chain(self.folder.iter().map(|text| ("folder", text))).chain(install);
        let texts = texts.chain(self.say.iter().map(|text| ("say", text)));
        let texts = texts.chain(self.stop.iter().map(|text| ("stop", text)));
        let first = self.first.iter().flatten().filter_map(FirstStepFile::text);
        let texts = texts.chain(first.map(|text| ("first", text)));
        for (key, text) in texts {
            if let Some(name) = unknown_place(text, &own) {
                let places = PLACES.into_iter().chain(own.iter().copied());
                let hint = suggestion(name, places).unwrap_or_else(|| {
                    let all: Vec<String> =
                        PLACES.iter().map(|name| format!("{{{name}}}")).collect();
                    format!("there are {}", all.join(", "))
                });
                return complain(key, format!("there is no placeholder `{{{name}}}`; {hint}"));
            }
        }
        Ok(())
    }
}

/// The keys whose tables are merged row by row; for all others the nearest value counts.
const BY_ROW: [&str; 4] = ["env", "files", "values", "except"];

/// Returns all keys of a subject: those of the subject that it is like, overridden by its own, and both by those of the
/// version.
///
/// # Errors
///
/// A sentence if it is like itself, or like a subject that does not exist.
fn subject_keys(subjects: &Table, name: &str, version: Option<&str>) -> Result<Table, String> {
    let mut keys = Table::new();
    for name in like_line(subjects, name)?.iter().rev() {
        let mut own = own_keys(subjects, name);
        own.remove("like");
        let versions = own.remove("at");
        put_over(&mut keys, own);
        let of_version = version.and_then(|version| versions?.get(version)?.as_table().cloned());
        put_over(&mut keys, of_version.unwrap_or_default());
    }
    Ok(keys)
}

/// Returns the versions for which a subject has keys of their own.
///
/// # Errors
///
/// Those of [`subject_keys`].
fn subject_versions(subjects: &Table, name: &str) -> Result<BTreeSet<String>, String> {
    let mut versions = BTreeSet::new();
    for name in like_line(subjects, name)? {
        let own = own_keys(subjects, name);
        let at = own.get("at").and_then(Value::as_table);
        versions.extend(at.into_iter().flat_map(|at| at.keys().cloned()));
    }
    Ok(versions)
}

/// Returns a subject, the one that it is like, and so on.
fn like_line<'a>(subjects: &'a Table, name: &'a str) -> Result<Vec<&'a str>, String> {
    let mut line = vec![name];
    let mut last = name;
    while let Some(next) = subjects.get(last).and_then(|keys| keys.get("like")?.as_str()) {
        if !subjects.contains_key(next) {
            return Err(format!("there is no subject `{next}`"));
        }
        if line.contains(&next) {
            return Err(format!("`{next}` is like itself: {} → {next}", line.join(" → ")));
        }
        line.push(next);
        last = next;
    }
    Ok(line)
}

fn own_keys(subjects: &Table, name: &str) -> Table {
    subjects.get(name).and_then(Value::as_table).cloned().unwrap_or_default()
}

fn put_over(keys: &mut Table, over: Table) {
    for (key, value) in over {
        match (keys.get_mut(&key), value) {
            (Some(Value::Table(rows)), Value::Table(more)) if BY_ROW.contains(&key.as_str()) => {
                rows.extend(more);
            }
            (_, value) => drop(keys.insert(key, value)),
        }
    }
}

/// The most letters by which a misspelt name may differ.
const MOST_WRONG: usize = 3;

/// Returns `did you mean X?` for the known name that is most like `name`, if one is near enough.
fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = known.into_iter().map(|other| (distance(name, other), other)).min()?;
    let is_like = near.0 <= MOST_WRONG && near.0 < name.chars().count();
    is_like.then(|| format!("did you mean `{}`?", near.1))
}

#[cfg(test)]
pub(super) mod tests;
