//! Lists what a scenario makes the CLI run, for the person who is about to record it, and computes the digests that
//! identify the scenario later.
//!
//! The list has programs, settings, and the files of the workspace that steer the CLI: its settings, hooks, tool
//! servers, plugins and notes. [`Agreed`] keeps the scenarios and subjects that a person has agreed to run here. It is
//! one file of the user, and each change replaces it as a whole.
//!
//! [`made_from`] computes a digest of each part of a scenario that decides what the CLI prints. It covers the meaning
//! of the part: comments, blanks and the order of keys do not count, and a key with its default value equals a missing
//! one. Keys that only decide how a recording is judged are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::hex;
use clitape_recording::files;
use clitape_recording::scenario::{
    Model, ModelContent, SayAction, SayBehavior, SayStep, Scenario, ScenarioError, ToolSide,
    read_toml,
};
use clitape_recording::text::{shell_quote, whole};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::workspace::{ScenarioFolder, WorkspaceLimits, field};
use super::{RecordError, RecordSettings};

/// The fields of a tool's input that describe a call best, in order.
const DESCRIPTIVE: [&str; 7] =
    ["command", "file_path", "notebook_path", "path", "url", "pattern", "query"];
/// The files of a scenario, to which the list refers for the rest of a long text.
const SCENARIO: &str = "scenario.toml";
const MODEL: &str = "model.toml";

/// The list and the digest of a scenario, or of other settings that make clitape run programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// The SHA-256 over all input of the run: of a scenario, `scenario.toml`, `model.toml` and every file of the
    /// workspace.
    pub digest: String,
    /// Lines for each prompt, argument, tool call and file of instructions, or for each setting. A text has all of its
    /// lines, and an indented line belongs to the one above. The lines contain text of others, so they must be made
    /// safe before a terminal shows them.
    pub lines: Vec<String>,
}

impl Review {
    /// Makes a review of `lines`, whose digest is the [`settings_digest`].
    pub fn of_settings(lines: Vec<String>, settings: &[(&str, Vec<&[u8]>)]) -> Self {
        Self { digest: settings_digest(settings), lines }
    }

    /// Reads the files that a recording would use.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the workspace contains something other than files, folders and links or exceeds `settings`,
    /// or `model.toml` can't be used.
    pub fn of(
        scenario: &Scenario,
        settings: RecordSettings,
        stop: &AtomicBool,
    ) -> Result<Self, RecordError> {
        let place = scenario.dir.join("workspace");
        let workspace = ScenarioFolder::read(&place, settings.workspace, stop)?;
        let digest = digest_of(scenario, &workspace, stop)?;
        let model = Model::load_within(&scenario.dir, settings.model_lines)?;
        let mut lines = Vec::new();
        let record = &scenario.record;
        let prompts = record.prompt.iter().chain(record.then.iter().map(|step| &step.prompt));
        lines.extend(prompts.flat_map(|prompt| whole("prompt", prompt, SCENARIO)));
        lines.extend(record.host.map(|host| format!("host: {host}")));
        lines.extend(record.say.iter().flat_map(|step| whole("stdin", &said(step), SCENARIO)));
        lines.extend(record.args.iter().flat_map(|arg| whole("argument", arg, SCENARIO)));
        lines.extend(calls(&model));
        lines.extend(instructions(scenario, &workspace));
        Ok(Self { digest, lines })
    }
}

/// Computes a digest of settings, each with a key and texts. The same bytes under other keys or in other cuts give
/// another digest.
pub fn settings_digest(settings: &[(&str, Vec<&[u8]>)]) -> String {
    let mut hash = Sha256::new();
    for (key, texts) in settings {
        field(&mut hash, key.as_bytes());
        field(&mut hash, &texts.len().to_le_bytes());
        texts.iter().for_each(|text| field(&mut hash, text));
    }
    hex(&hash.finalize())
}

/// Describes a step of `[[record.say]]`: its message, or its action.
fn said(step: &SayStep) -> String {
    match &step.action {
        SayAction::Message { content: Value::String(text), .. } | SayAction::Raw(text) => {
            text.clone()
        }
        SayAction::Message { content, .. } => content.to_string(),
        SayAction::Answer(answer) => {
            let behavior = match answer.behavior {
                SayBehavior::Allow => "answer: allow",
                SayBehavior::Deny => "answer: deny",
                SayBehavior::DenyAndInterrupt => "answer: deny and interrupt",
            };
            let input =
                answer.input.clone().map(|input| format!(" with the input {}", Value::from(input)));
            let message = answer.message.as_ref().map(|message| format!(": {message}"));
            let suggestion = answer.suggestion.map(|n| format!(" and accept suggestion {n}"));
            [Some(behavior.to_owned()), suggestion, input, message].into_iter().flatten().collect()
        }
        SayAction::Initialize(initialize) => match &initialize.append_system_prompt {
            Some(prompt) => format!("initialize, with the system prompt {prompt}"),
            None => "initialize".into(),
        },
        action => action.key().into(),
    }
}

/// Computes the digest that identifies a scenario.
///
/// # Errors
///
/// Those of [`Review::of`].
pub fn digest(
    scenario: &Scenario,
    limits: WorkspaceLimits,
    stop: &AtomicBool,
) -> Result<String, RecordError> {
    let workspace = ScenarioFolder::read(&scenario.dir.join("workspace"), limits, stop)?;
    digest_of(scenario, &workspace, stop)
}

fn digest_of(
    scenario: &Scenario,
    workspace: &ScenarioFolder,
    stop: &AtomicBool,
) -> Result<String, RecordError> {
    let mut hash = Sha256::new();
    for name in [SCENARIO, MODEL] {
        let path = scenario.dir.join(name);
        let bytes = match files::read(&path) {
            // An imported scenario has no model.
            Err(error) if error.is_not_found() => Vec::new(),
            bytes => bytes.map_err(ScenarioError::from)?,
        };
        field(&mut hash, &bytes);
    }
    workspace.hash(&mut hash, stop)?;
    Ok(hex(&hash.finalize()))
}

/// Returns lines for each call of the model: the number of times it is made, and its whole input.
fn calls(model: &Model) -> Vec<String> {
    let mut calls: Vec<(Call, usize)> = Vec::new();
    let turns = model.all_turns().flat_map(|(_, turns)| turns);
    for call in turns.flat_map(|turn| &turn.blocks).filter_map(|block| Call::of(&block.content)) {
        match calls.iter_mut().find(|(known, _)| *known == call) {
            Some((_, times)) => *times += 1,
            None => calls.push((call, 1)),
        }
    }
    calls.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    calls.iter().flat_map(|(call, times)| call.lines(*times)).collect()
}

/// A call of a tool.
#[derive(PartialEq)]
struct Call {
    name: String,
    /// The field that describes it best, or the whole input if there is none.
    best: String,
    /// The other fields.
    others: Vec<(String, String)>,
}

impl Call {
    fn of(content: &ModelContent) -> Option<Self> {
        match content {
            ModelContent::Tool { side: ToolSide::Client, name, input, .. } => {
                let input = input.joined();
                let parsed = serde_json::from_str(&input).ok();
                Some(Self::new(name, parsed.as_ref(), input))
            }
            // A block that is sent unchanged may be a call too.
            ModelContent::Raw(block) if block.contains_key("input") => {
                let name = block.get("name").and_then(Value::as_str).unwrap_or("?");
                let input = block.get("input").and_then(Value::as_object);
                Some(Self::new(name, input, Value::from(block.clone()).to_string()))
            }
            _ => None,
        }
    }

    fn new(name: &str, input: Option<&Map<String, Value>>, joined: String) -> Self {
        let name = name.to_owned();
        let best = input.and_then(|input| {
            DESCRIPTIVE.iter().find_map(|key| Some((*key, input.get(*key)?.as_str()?)))
        });
        let Some(((key, best), input)) = best.zip(input) else {
            return Self { name, best: joined, others: Vec::new() };
        };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let others = input.iter().filter(|(other, _)| *other != key);
        let others = others.map(|(key, value)| (key.clone(), text(value))).collect();
        Self { name, best: best.to_owned(), others }
    }

    fn lines(&self, times: usize) -> Vec<String> {
        let head = format!("the model calls {} ×{times}", self.name);
        let best = match self.best.contains('\n') {
            true => self.best.clone(),
            false => format!("`{}`", self.best),
        };
        let mut lines = whole(&head, &best, MODEL);
        for (key, text) in &self.others {
            lines.extend(whole(key, text, MODEL).into_iter().map(|line| format!("    {line}")));
        }
        lines
    }
}

/// The files and folders of a project from which the CLI, or git for it, takes instructions.
const INSTRUCTIONS: [&str; 7] =
    [".claude", ".claude-plugin", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".git"];
/// The JSON keys that make the CLI run a program; a file with one of them counts as instructions, whatever its name.
/// Keys that end with `Helper` do the same.
const RUNNING: [&str; 9] = [
    "hooks",
    "mcpServers",
    "lspServers",
    "statusLine",
    "subagentStatusLine",
    "fileSuggestion",
    "awsAuthRefresh",
    "awsCredentialExport",
    "command",
];
/// The keys for the arguments, variables and origins of programs.
const DECIDING: [&str; 7] =
    ["args", "env", "url", "headers", "permissions", "enabledPlugins", "extraKnownMarketplaces"];
/// The endings of files that the CLI reads as JSON.
const JSON: [&str; 3] = ["json", "jsonc", "json5"];
/// The note on a file that the CLI may read differently, or not at all.
const UNREADABLE: &str = "which clitape can't read: look at it";

/// Returns lines for each link of the workspace, and for each file that steers the CLI, with all its commands and
/// settings.
fn instructions(scenario: &Scenario, workspace: &ScenarioFolder) -> Vec<String> {
    let root = scenario.dir.join("workspace");
    let mut lines = Vec::new();
    let mut named = named(&scenario.record.args, &root);
    for link in workspace.links() {
        let target = inside(&root, link);
        let to = fs::read_link(root.join(link)).unwrap_or_default();
        let (link_shown, to) = (link.display(), to.display());
        lines.push(match &target {
            Some(_) => format!("a link: {link_shown} -> {to}"),
            None => format!("a link that leads to no file of the workspace: {link_shown} -> {to}"),
        });
        if let Some(target) = target
            && (is_instruction(link) || is_in(&named, link))
        {
            named.insert(target);
        }
    }
    for file in workspace.regular_files() {
        let place = format!("workspace/{}", file.display());
        let is_read = is_instruction(file) || is_in(&named, file);
        lines.extend(of_instruction_file(&root.join(file), file, &place, is_read));
    }
    lines
}

/// Returns the paths of the workspace that the arguments name, as they are written and where links lead.
fn named(args: &[String], root: &Path) -> BTreeSet<PathBuf> {
    let mut named = BTreeSet::new();
    for arg in args {
        let words = arg.split(['=', ',', ' ', '"', '\'']).filter(|word| !matches!(*word, "" | "."));
        for word in std::iter::once(arg.as_str()).chain(words) {
            let path = word.trim_start_matches("{{project}}").trim_start_matches('/');
            if path.is_empty() && !word.starts_with("{{project}}") {
                continue;
            }
            named.extend(normal(Path::new(path)));
            named.extend(inside(root, Path::new(path)));
        }
    }
    named
}

/// Returns a path without `.` and `..`, unless it leaves the folder that it begins in.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    Some(normal)
}

/// Returns the path in the workspace that a path there leads to through all links.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let (root, whole) = (fs::canonicalize(root).ok()?, fs::canonicalize(root.join(path)).ok()?);
    whole.strip_prefix(root).ok().map(Path::to_owned)
}

fn is_in(folders: &BTreeSet<PathBuf>, path: &Path) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn is_instruction(path: &Path) -> bool {
    path.components()
        .any(|part| INSTRUCTIONS.iter().any(|name| part.as_os_str().eq_ignore_ascii_case(name)))
}

fn ends_with(path: &Path, endings: &[&str]) -> bool {
    let end = path.extension().unwrap_or_default();
    endings.iter().any(|ending| end.eq_ignore_ascii_case(ending))
}

/// Returns the lines of a file; empty if it does not steer the CLI.
fn of_instruction_file(path: &Path, inside: &Path, place: &str, is_read: bool) -> Vec<String> {
    let shown = inside.display();
    let is_json = ends_with(inside, &JSON);
    let Ok(bytes) = files::read(path) else {
        return vec![format!("the CLI reads {shown}, {UNREADABLE}")];
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_like_json = matches!(begins, Some(b'{' | b'['));
    let value = is_like_json.then(|| serde_json::from_slice::<Value>(bytes).ok()).flatten();
    let Some(value) = value else {
        let is_prose = ends_with(inside, &["md"]);
        let is_other = is_like_json && !is_prose || std::str::from_utf8(bytes).is_err();
        return match is_read {
            _ if is_json => vec![format!("the CLI reads {shown}, {UNREADABLE}")],
            false => Vec::new(),
            true if is_other => vec![format!("the CLI reads {shown}, {UNREADABLE}")],
            true if may_run(bytes) || inside.starts_with(".git") => {
                vec![format!("the CLI reads {shown}, which may run commands: look at it")]
            }
            true => vec![format!("the CLI reads {shown}")],
        };
    };
    let settings = CliSettings::of(&value);
    if !is_read && !settings.runs {
        return Vec::new();
    }
    let mut lines = vec![format!("the CLI reads {shown}")];
    for (key, text) in &settings.deciding {
        let setting = whole(key, text, place).into_iter();
        lines.extend(setting.map(|line| format!("    {line}")));
    }
    if !settings.others.is_empty() {
        let text = settings.others.join("\n");
        lines.extend(whole("    its other settings", &text, place));
    }
    lines
}

/// Returns whether a text other than JSON has the marks of hooks and of commands that the CLI runs, or of git's
/// programs.
fn may_run(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let is_key = |line: &str| {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        RUNNING.iter().any(|key| {
            let rest = line.strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).starts_with(':'))
        })
    };
    text.contains("!`") || text.contains("```!") || text.lines().any(is_key)
}

/// The settings in a value of JSON, each with the path of its key.
#[derive(Default)]
struct CliSettings {
    /// True if one of them runs a program.
    runs: bool,
    /// The settings that decide what runs, as keys and values.
    deciding: Vec<(String, String)>,
    others: Vec<String>,
}

impl CliSettings {
    fn of(value: &Value) -> Self {
        let mut settings = Self::default();
        settings.add("", value, false);
        settings
    }

    fn add(&mut self, key: &str, value: &Value, decides: bool) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    let runs = RUNNING.contains(&name.as_str()) || name.ends_with("Helper");
                    self.runs |= runs;
                    let decides = decides || runs || DECIDING.contains(&name.as_str());
                    let dot = if key.is_empty() { "" } else { "." };
                    self.add(&format!("{key}{dot}{name}"), value, decides);
                }
            }
            Value::Array(items) => match words(items) {
                Some(words) => self.leaf(key, words, decides),
                None => {
                    for (at, item) in items.iter().enumerate() {
                        self.add(&format!("{key}[{at}]"), item, decides);
                    }
                }
            },
            Value::String(text) => self.leaf(key, text.clone(), decides),
            value => self.leaf(key, value.to_string(), decides),
        }
    }

    fn leaf(&mut self, key: &str, text: String, decides: bool) {
        match decides {
            true => self.deciding.push((key.to_owned(), text)),
            false => self.others.push(format!("{key}: {text}")),
        }
    }
}

/// Returns a list of short strings as a shell reads it.
fn words(items: &[Value]) -> Option<String> {
    let words: Option<Vec<String>> =
        items.iter().map(|item| item.as_str().map(shell_quote)).collect();
    words.map(|words| words.join(" ")).filter(|words| words.len() <= LINE)
}

/// The most bytes of a list that is one line.
const LINE: usize = 100;

/// The name of the file.
const AGREED_FILE: &str = "agreed.toml";

/// The reason why the list can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AgreedError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has other content than such a list.
    #[error("{path}: {}; remove the file", error.message())]
    NotList {
        /// The file.
        path: PathBuf,
        /// The error of the TOML parser.
        error: Box<toml::de::Error>,
    },
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgreedFile {
    /// The name of each scenario and subject by its digest.
    #[serde(default)]
    agreed: BTreeMap<String, String>,
}

/// The list of the scenarios and subjects that a person has agreed to run, in a folder of the user.
#[derive(Debug)]
pub struct Agreed {
    path: PathBuf,
    text: AgreedFile,
}

impl Agreed {
    /// Reads the list in `folder`; without a file it is empty.
    ///
    /// # Errors
    ///
    /// [`AgreedError`] when the file can't be read or is not such a list.
    pub fn read(folder: &Path) -> Result<Self, AgreedError> {
        let path = folder.join(AGREED_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => match toml::from_str(&text) {
                Ok(text) => text,
                Err(error) => return Err(AgreedError::NotList { path, error: Box::new(error) }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => AgreedFile::default(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path, text })
    }

    /// Returns whether the list has this digest.
    pub fn has(&self, digest: &str) -> bool {
        self.text.agreed.contains_key(digest)
    }

    /// Adds a digest to the list and writes the file.
    ///
    /// # Errors
    ///
    /// [`AgreedError`] when the file can't be written; the old file then stays.
    pub fn add(&mut self, digest: &str, name: &str) -> Result<(), AgreedError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Another clitape may have added to the file in the meantime.
        self.text.agreed.extend(Self::read(folder)?.text.agreed);
        self.text.agreed.insert(digest.to_owned(), name.to_owned());
        let text = toml::to_string(&self.text).map_err(io::Error::other)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The characters of a digest.
const DIGITS: usize = 16;
/// The keys of `[record]` that decide whether a recording is taken, and that do not change its content.
const JUDGES: [&str; 3] = ["exit", "only", "timeout_s"];
/// The defaults of `[record]`, as JSON.
const DEFAULTS: [(&str, &str); 5] = [
    ("args", "[]"),
    ("login", "\"key\""),
    ("partial_messages", "true"),
    ("say", "[]"),
    ("then", "[]"),
];

/// Returns the digests of a recording's sources: of each key of `[record]`, of `model.toml` and of `workspace`.
///
/// # Errors
///
/// [`RecordError`] when a file can't be read, or the workspace is larger than its limits.
pub fn made_from(
    scenario: &Scenario,
    limits: WorkspaceLimits,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, String>, RecordError> {
    let read = |name: &str| read_toml::<Value>(&scenario.dir.join(name));
    let mut parts = record_digests(read("scenario.toml")?.get("record").unwrap_or(&Value::Null));
    if scenario.has_model() {
        parts.insert("model.toml".to_owned(), value_digest(&read("model.toml")?));
    }
    let folder = ScenarioFolder::read(&scenario.dir.join("workspace"), limits, stop)?;
    if folder.files().next().is_some() {
        let mut hash = Sha256::new();
        folder.hash(&mut hash, stop)?;
        parts.insert("workspace".to_owned(), short_digest(hash));
    }
    Ok(parts)
}

/// Returns the digests of the keys of `[record]`.
fn record_digests(record: &Value) -> BTreeMap<String, String> {
    let keys = record.as_object().into_iter().flatten();
    let says = |key: &str, value: &Value| {
        !JUDGES.contains(&key) && !DEFAULTS.contains(&(key, &value.to_string()))
    };
    let keys = keys.map(|(key, value)| (key, without_exits(value.clone())));
    let keys = keys.filter(|(key, value)| says(key, value));
    keys.map(|(key, value)| (key.clone(), value_digest(&value))).collect()
}

/// Returns a value of `[record]` without the exits of further runs.
fn without_exits(mut value: Value) -> Value {
    let steps = value.as_array_mut().into_iter().flatten();
    steps.filter_map(Value::as_object_mut).for_each(|step| {
        step.remove("exit");
    });
    value
}

/// Returns the digest of a value, with its keys in alphabetical order.
fn value_digest(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    short_digest(Sha256::new_with_prefix(sorted.to_string()))
}

fn short_digest(hash: Sha256) -> String {
    let mut digest = hex(&hash.finalize());
    digest.truncate(DIGITS);
    digest
}

#[cfg(test)]
mod tests;
