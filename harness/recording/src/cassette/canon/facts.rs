//! Turns facts about the machine into needles, and guesses the facts from a capture that came without them.

use std::borrow::Cow;
use std::ops::Range;

use clitape_stream::tree::JsonNode;

use super::rules::ends_of;
use super::texts::{self, Edge, Needle, SHORTEST, Texts, is_word_before};

/// Facts about the machine and the run. Every value is replaced wherever it occurs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MachineFacts {
    /// The absolute paths of the machine's folders, and their canonical names. A folder may have several
    /// paths, such as `/tmp/x` and `/private/tmp/x`.
    pub paths: Vec<(String, MachineFolder)>,
    /// The name of the machine. A generic one such as `localhost` is not replaced.
    pub host: Option<String>,
    /// The name of the user. A generic one such as `root` is not replaced.
    pub user: Option<String>,
    /// The address of the model server, `127.0.0.1:PORT`.
    pub address: Option<String>,
    /// The version of the CLI. Versions before 2.1.100 print some fields in one of two forms by chance, so
    /// these fields get a constant value. Without a version, they stay as they are.
    pub cli_version: Option<String>,
}

/// The canonical name of a folder of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineFolder {
    /// The folder in which the CLI ran: `/clitape/project`.
    Project,
    /// The CLI's `HOME`: `/clitape/home`.
    Home,
    /// The CLI's `TMPDIR`: `/clitape/tmp`.
    Tmp,
}

impl MachineFolder {
    /// Returns the canonical path.
    pub fn path(self) -> &'static str {
        match self {
            Self::Project => "/clitape/project",
            Self::Home => "/clitape/home",
            Self::Tmp => "/clitape/tmp",
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Home => "home",
            Self::Tmp => "tmp",
        }
    }
}

/// The placeholder of the machine's name.
const HOST: &str = "clitape-host";
/// The placeholder of the user's name.
const USER: &str = "clitape-user";
/// The placeholder of the model server's address.
const ADDRESS: &str = "127.0.0.1:0";

/// The names of hosts and users that do not identify a machine, or that every recording contains.
const GENERIC: [&str; 32] = [
    "admin",
    "administrator",
    "agent",
    "anthropic",
    "assistant",
    "bash",
    "build",
    "builder",
    "claude",
    "debian",
    "default",
    "dev",
    "docker",
    "guest",
    "home",
    "host",
    "localhost",
    "main",
    "model",
    "node",
    "nobody",
    "project",
    "root",
    "runner",
    "system",
    "test",
    "tester",
    "tool",
    "ubuntu",
    "user",
    "users",
    "work",
];

/// Returns a needle for each form of each fact.
pub(super) fn needles(facts: &MachineFacts) -> Vec<Needle> {
    let mut all = Vec::new();
    for (path, place) in &facts.paths {
        let path = path.trim_end_matches(['/', '\\']);
        let slug = slug(path);
        match path.split(['/', '\\']).filter(|part| !part.is_empty()).count() {
            0 => {}
            1 => forms(path, place.path(), place.rule(), Edge::Word, &mut all),
            _ => {
                forms(path, place.path(), place.rule(), Edge::Any, &mut all);
                let canonical = self::slug(place.path());
                forms(&slug, &canonical, place.rule(), Edge::Any, &mut all);
            }
        }
    }
    if let Some(address) = &facts.address {
        forms(address, ADDRESS, "address", Edge::Word, &mut all);
    }
    for (name, with, rule) in [(&facts.host, HOST, "host"), (&facts.user, USER, "user")] {
        let telling = |name: &&String| {
            name.len() >= SHORTEST && !GENERIC.contains(&name.to_ascii_lowercase().as_str())
        };
        if let Some(name) = name.as_ref().filter(telling) {
            forms(name, with, rule, Edge::Value, &mut all);
        }
    }
    all
}

/// Adds a needle for the value as a file name, JSON, and JSON inside JSON write it.
fn forms(value: &str, with: &str, rule: &'static str, edge: Edge, all: &mut Vec<Needle>) {
    let mut form = value.to_owned();
    for _ in 0..3 {
        let escaped = form.replace('\\', "\\\\").replace('"', "\\\"");
        let changed = escaped != form;
        all.push(Needle { text: form.into_bytes(), with: with.to_owned(), rule, edge });
        if !changed {
            return;
        }
        form = escaped;
    }
}

/// Returns the name that the CLI gives the folder of a project: every character that is neither a letter nor
/// a digit becomes `-`.
fn slug(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// The fields of the `init` record that name the folder in which the CLI ran.
const FOLDERS: [&str; 2] = ["cwd", "original_cwd"];

/// The text that follows a folder in the paths that the CLI creates below it.
const BELOW: [(&[u8], MachineFolder); 3] = [
    (b"/.claude/projects/-", MachineFolder::Home),
    (b"/cc-socks/", MachineFolder::Tmp),
    (b"/claude-", MachineFolder::Tmp),
];

/// The folders that contain the users' home folders.
const HOMES: [&[u8]; 2] = [b"/home/", b"/Users/"];

/// Returns the facts that a capture from elsewhere contains about its machine: the folder in which its CLI ran,
/// the folders below which the CLI keeps its files, every `/home/NAME` and `/Users/NAME`, and the user of the
/// first of these.
pub fn guess(stdout: &[u8]) -> MachineFacts {
    let mut facts = MachineFacts::default();
    let mut texts = Texts::default();
    for line in texts::lines(stdout) {
        let records = texts::records(stdout, &line);
        texts.add(stdout, &line, &records);
        for record in &records {
            read_init(stdout, record, &mut facts);
        }
    }
    for text in &texts.all {
        let bytes = text.bytes(stdout);
        for (mark, place) in BELOW {
            for span in above(&bytes, mark) {
                add(&mut facts, String::from_utf8_lossy(&bytes[span]), place);
            }
        }
        for span in HOMES.iter().flat_map(|root| homes(&bytes, root)) {
            let path = String::from_utf8_lossy(&bytes[span]);
            if facts.user.is_none() {
                facts.user = path.rsplit('/').next().map(str::to_owned);
            }
            add(&mut facts, path, MachineFolder::Home);
        }
    }
    facts
}

/// Adds the facts that an `init` record contains.
fn read_init(raw: &[u8], node: &JsonNode, facts: &mut MachineFacts) {
    if node.get("subtype").map(|kind| kind.text(raw)) != Some(b"init") {
        return;
    }
    for value in FOLDERS.iter().filter_map(|key| node.get(key)) {
        // A word without a separator is not a path; it may equal an id of the run.
        let path = value.unescaped(raw);
        if path.contains(['/', '\\']) {
            add(facts, path.into(), MachineFolder::Project);
        }
    }
    if let (None, Some(version)) = (&facts.cli_version, node.get("claude_code_version")) {
        facts.cli_version = Some(String::from_utf8_lossy(version.text(raw)).into_owned());
    }
}

fn add(facts: &mut MachineFacts, path: Cow<'_, str>, place: MachineFolder) {
    if facts.paths.iter().all(|(known, _)| *known != path) {
        facts.paths.push((path.into_owned(), place));
    }
}

/// Returns the absolute paths before each `mark`.
fn above<'t>(text: &'t [u8], mark: &'t [u8]) -> impl Iterator<Item = Range<usize>> + 't {
    let in_path = |b: &&u8| b.is_ascii_alphanumeric() || b"/._-@+~".contains(b);
    ends_of(text, mark).filter_map(move |behind| {
        let end = behind - mark.len();
        let start = end - text[..end].iter().rev().take_while(in_path).count();
        let start = start + text[start..end].iter().position(|&b| b == b'/')?;
        let digits = text[behind..].iter().take_while(|b| b.is_ascii_digit()).count();
        let kept = mark.ends_with(b"/-") || mark.ends_with(b"/");
        let own = kept || digits > 0 && text[behind + digits..].starts_with(b"/-");
        (own && !text[start..].starts_with(b"//")).then_some(start..end)
    })
}

/// Returns the ranges of a text that are a user's folder: `root` and a name.
fn homes<'t>(text: &'t [u8], root: &'t [u8]) -> impl Iterator<Item = Range<usize>> + 't {
    let in_name = |b: &&u8| b.is_ascii_alphanumeric() || b"._-".contains(b);
    ends_of(text, root).filter(move |&name| !is_word_before(text, name - root.len())).filter_map(
        move |name| {
            let length = text[name..].iter().take_while(in_name).count();
            let dots = text[name..name + length].iter().rev();
            let length = length - dots.take_while(|b| **b == b'.').count();
            (length > 0).then(|| name - root.len()..name + length)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The home folder of the superuser on any Linux.
    const SUPERUSER: &str = "/root";
    const S: &str = "845df1a2-d680-4cdc-ba84-847c1f5bcaa3";

    #[test]
    fn facts_are_guessed_from_a_capture() {
        let stdout = [
            r#"{"subtype":"init","cwd":"/home/ann/p","messaging_socket_path":"/var/t/cc-socks/7.sock","claude_code_version":"2.1.148"}"#,
            &r#"{"x":"at\nHOME/.claude/projects/-home-ann-p/s.jsonl, x/home/bob, /Users/cy."}"#
                .replace("HOME", SUPERUSER),
            r#"{"x":"to: /t/claude-0/-home-ann-p/s, /models/claude-3/x"}"#,
        ]
        .join("\n");
        let path = |path: &str, place| (path.to_owned(), place);
        let expect = MachineFacts {
            paths: vec![
                path("/home/ann/p", MachineFolder::Project),
                path("/var/t", MachineFolder::Tmp),
                path("/home/ann", MachineFolder::Home),
                path(SUPERUSER, MachineFolder::Home),
                path("/Users/cy", MachineFolder::Home),
                path("/t", MachineFolder::Tmp),
            ],
            user: Some("ann".to_owned()),
            cli_version: Some("2.1.148".to_owned()),
            ..MachineFacts::default()
        };
        assert_eq!(guess(stdout.as_bytes()), expect);
    }

    #[test]
    fn a_working_folder_that_is_no_path_is_no_folder() {
        for (cwd, folders) in [("/w/app", 1), ("C:\\\\app", 1), (S, 0), ("", 0)] {
            let line = format!(r#"{{"type":"system","subtype":"init","cwd":"{cwd}"}}"#);
            assert_eq!(guess(line.as_bytes()).paths.len(), folders, "{cwd}");
        }
    }
}
