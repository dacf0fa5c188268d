//! Lists the programs that a subject makes clitape run, for the person who is about to start it, and computes the
//! digest by which the subject is known later.

use std::collections::BTreeMap;
use std::path::Path;

use clitape_recording::text::{shell_quote, whole};
use clitape_runner::record::Review;

use super::config::FILE;
use super::prepare::BUILD;
use super::spec::{
    CallSpec, FirstStep, GatewaySpec, InstallSpec, ParserSpec, Places, PressLabels, Ready,
    ReadySign, ReplaySpec, SubjectSpec, Writers, Writing,
};

/// The most bytes of a command that is listed on one line.
const LINE: usize = 100;

/// Lists the programs that a subject runs. The digest covers all settings that decide what runs, the version, and the
/// folder `root` of its `clitape.toml`, because the same command runs another program in another folder.
pub fn review(subject: &SubjectSpec, version: Option<&str>, root: &Path) -> Review {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut listing = Listing::default();
    match subject {
        SubjectSpec::Gateway(spec) => listing.gateway(spec.at_version(version), version),
        SubjectSpec::Parser(spec) => {
            // The kinds to compare, and the number of starts, do not change the program.
            let ParserSpec { call, kinds: _, started: _ } = &**spec;
            listing.hash("kind", ["parser"]);
            listing.call(call, version);
        }
        SubjectSpec::Replay(spec) => {
            let ReplaySpec { call, traits: _ } = &**spec;
            listing.hash("kind", ["replay"]);
            listing.call(call, version);
        }
    }
    let mut settings: Vec<(&str, Vec<&[u8]>)> =
        vec![("root", vec![root.as_os_str().as_encoded_bytes()])];
    for (key, texts) in &listing.settings {
        settings.push((key, texts.iter().map(String::as_bytes).collect()));
    }
    Review::of_settings(listing.lines, &settings)
}

/// The lines about a subject, and the hash for its digest.
///
/// The code takes settings out of their structs without `..`, so that a new setting must be listed here, or be named as
/// one that does not decide what runs.
#[derive(Default)]
struct Listing {
    lines: Vec<String>,
    settings: Vec<(&'static str, Vec<String>)>,
    /// The placeholders that the settings themselves fill.
    places: Places,
}

impl Listing {
    fn gateway(&mut self, spec: &GatewaySpec, version: Option<&str>) {
        let GatewaySpec {
            front,
            command,
            env,
            pass_env,
            folder,
            host,
            ready: Ready { sign, within_s: _ },
            reach,
            writers: Writers { first, chats: _, chat: _, starts: _ },
            say,
            stop,
            press: PressLabels { allow, always, deny, done },
            writes_during_turn,
            files,
            install,
            checkout,
            build,
            version: own_version,
            cli,
            values,
            claude_first,
            // Limits, judged promises and the choice of recordings do not decide what runs.
            own_prompts: _,
            idle_s: _,
            within_s: _,
            at_once: _,
            warm_up: _,
            traits: _,
            scenarios: _,
            except: _,
            known: _,
            // The settings of a version are part of the listed spec.
            versions: _,
        } = spec;
        self.hash("kind", [front.to_string()]);
        let version = version.or(own_version.as_deref());
        self.version(version);
        let install_places = self.places.clone();
        let mut placeholders = Vec::new();
        for (name, value) in values {
            let value = self.fill(value);
            placeholders.push(format!("{name}={}", word(&value)));
            self.places.set(name, value);
        }
        self.command(command);
        let filled = folder.as_ref().map(|folder| self.fill(folder));
        self.text("in the folder", filled.as_deref());
        self.hash("folder", folder);
        let repository = checkout.as_ref().map(|checkout| checkout.display().to_string());
        let revision = match (&repository, version) {
            (Some(repository), Some(version)) => Some(format!("{version} of {repository}")),
            _ => repository.clone(),
        };
        self.lines.extend(revision.iter().flat_map(|revision| whole("a revision", revision, FILE)));
        self.hash("checkout", repository);
        if !build.is_empty() {
            self.lines.extend(words("which is built by", build));
            let variables = format!("{}, and those that it gets itself", BUILD.join(", "));
            self.lines.extend(whole("the build gets your variables", &variables, FILE));
        }
        self.hash("build", build);
        self.install(install.as_ref(), &install_places);
        self.environment(pass_env, env);
        self.lines.extend(placeholders.iter().flat_map(|value| whole("placeholder", value, FILE)));
        self.hash("values", values.iter().flat_map(|(name, value)| [name, value]));
        self.pairs("files", "file", files);
        let sign = match sign {
            ReadySign::Greeting => ["greeting", ""],
            ReadySign::Poll => ["poll", ""],
            ReadySign::Output(text) => ["output", text],
            ReadySign::Url(url) => ["url", url],
        };
        if sign[0] == "url" {
            let url = self.fill(sign[1]);
            self.lines.extend(whole("clitape asks until it is ready", &url, FILE));
        }
        self.hash("ready", sign);
        self.hash("reach", reach.map(|reach| reach.to_string()));
        self.text("clitape writes to it", Some(say.as_str()).filter(|say| *say != "{prompt}"));
        self.hash("say", [say]);
        self.text("clitape writes to it, to stop it", stop.as_deref());
        self.hash("stop", stop);
        for step in first {
            let (what, text) = match step {
                FirstStep::Say(text) => ("clitape writes to it first", text.as_str()),
                FirstStep::Press(label) => ("clitape presses first", label.as_str()),
            };
            self.text(what, Some(text));
            self.hash("first", [what, text]);
        }
        self.hash("press", [allow, always, deny, done].map(|label| label.as_str()));
        self.hash("host", [host.to_string(), writes_during_turn.to_string()]);
        self.hash("cli", cli.as_ref().map(|cli| cli.as_str()));
        for folder in claude_first {
            let folder = self.fill(folder);
            self.lines.extend(whole("it looks for claude in", &folder, FILE));
        }
        self.hash("claude_first", claude_first);
    }

    fn call(&mut self, spec: &CallSpec, version: Option<&str>) {
        let CallSpec {
            command,
            env,
            pass_env,
            install,
            version: own_version,
            cli,
            // A limit and the choice of recordings do not decide what runs.
            within_s: _,
            scenarios: _,
            except: _,
        } = spec;
        self.version(version.or(own_version.as_deref()));
        self.command(command);
        self.install(install.as_ref(), &self.places.clone());
        self.environment(pass_env, env);
        self.hash("cli", cli.as_ref().map(|cli| cli.as_str()));
    }

    fn version(&mut self, version: Option<&str>) {
        if let Some(version) = version {
            self.places.set("version", version);
        }
        self.hash("version", version);
    }

    /// Lists the packages that npm installs; only the name of the package has placeholders.
    fn install(&mut self, install: Option<&InstallSpec>, places: &Places) {
        let Some(InstallSpec { npm, node, overrides, scripts }) = install else { return };
        let package = places.fill(npm, Writing::Plain);
        self.lines.extend(whole("npm installs", &package, FILE));
        self.hash("install.npm", [npm]);
        let node_shown = node.as_ref().map(|node| format!("node@{node}"));
        self.lines.extend(node_shown.iter().flat_map(|node| whole("npm installs", node, FILE)));
        self.hash("install.node", node);
        for (name, version) in overrides {
            let version = format!("{name}={}", word(version));
            self.lines.extend(whole("npm installs in place of another version", &version, FILE));
        }
        self.hash(
            "install.overrides",
            overrides.iter().flat_map(|(name, version)| [name, version]),
        );
        if *scripts {
            self.lines.push(
                "npm runs the scripts of these packages, which get all your variables".to_owned(),
            );
        }
        self.hash("install.scripts", [scripts.to_string()]);
    }

    /// Lists the variables of the person's environment that the subject reads, and the variables that its settings set.
    fn environment(&mut self, pass_env: &[String], env: &BTreeMap<String, String>) {
        self.lines
            .extend(pass_env.iter().flat_map(|name| whole("it gets your variable", name, FILE)));
        self.hash("pass_env", pass_env);
        self.pairs("env", "its environment", env);
    }

    fn command(&mut self, command: &[String]) {
        let filled: Vec<String> = command.iter().map(|word| self.fill(word)).collect();
        self.lines.extend(words("command", &filled));
        self.hash("command", command);
    }

    fn text(&mut self, label: &str, text: Option<&str>) {
        self.lines.extend(text.iter().flat_map(|text| whole(label, text, FILE)));
    }

    /// Lists settings, one a line.
    fn pairs(&mut self, key: &'static str, label: &str, pairs: &BTreeMap<String, String>) {
        for (name, value) in pairs {
            let pair = format!("{name}={}", word(&self.fill(value)));
            self.lines.extend(whole(label, &pair, FILE));
        }
        self.hash(key, pairs.iter().flat_map(|(name, value)| [name, value]));
    }

    fn hash<T: ToString>(&mut self, key: &'static str, texts: impl IntoIterator<Item = T>) {
        self.settings.push((key, texts.into_iter().map(|text| text.to_string()).collect()));
    }

    fn fill(&self, text: &str) -> String {
        self.places.fill(text, Writing::Plain)
    }
}

/// Returns a command as a shell reads it; a long one has one word a line.
fn words(label: &str, command: &[String]) -> Vec<String> {
    let words: Vec<String> = command.iter().map(|part| word(part)).collect();
    let line = words.join(" ");
    if line.len() <= LINE && !line.contains('\n') {
        return vec![format!("{label}: {line}")];
    }
    let mut lines = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match at {
            0 => lines.extend(whole(label, word, FILE)),
            _ => lines.extend(whole("    argument", word, FILE)),
        }
    }
    lines
}

/// Returns a word as a shell reads it, with the line breaks in it.
fn word(word: &str) -> String {
    match word.contains('\n') {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => shell_quote(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subjects;

    fn read(toml: &str) -> Result<Review, String> {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join(FILE), format!("[subject.x]\n{toml}")).unwrap();
        let subjects = Subjects::load(dir.path()).map_err(|error| error.to_string())?;
        let (_, subject) = subjects.get("x").unwrap();
        Ok(review(subject, None, Path::new("/project")))
    }

    #[track_caller]
    fn lines(toml: &str) -> Review {
        read(toml).unwrap()
    }

    #[test]
    fn a_subject_shows_all_that_it_runs() {
        for (toml, expect) in [
            (
                "kind = 'gateway'\ncommand = ['sh', '-c', 'cat ~/.ssh/id_rsa']\n\
                 pass_env = ['AWS_SECRET']\nfolder = '{mode}'\nvalues = { mode = 'bot' }\n\
                 env = { A = 'b', NODE_OPTIONS = '--import ./a.mjs' }",
                &[
                    "command: sh -c 'cat ~/.ssh/id_rsa'",
                    "in the folder: bot",
                    "it gets your variable: AWS_SECRET",
                    "its environment: A=b",
                    "its environment: NODE_OPTIONS='--import ./a.mjs'",
                    "placeholder: mode=bot",
                ][..],
            ),
            (
                "kind = 'parser'\ncommand = ['./parse', '{version}', '{root}']\nversion = 'touch x'\n\
                 install = { npm = 'p@{version}', node = '24', overrides = { a = '1', b = 'npm:c@2' }, scripts = true }",
                &[
                    "command: ./parse 'touch x' '{root}'",
                    "npm installs: p@touch x",
                    "npm installs: node@24",
                    "npm installs in place of another version: a=1",
                    "npm installs in place of another version: b=npm:c@2",
                    "npm runs the scripts of these packages, which get all your variables",
                ][..],
            ),
            (
                "kind = 'gateway'\ncommand = ['sh', '-c', \"\"\"a\nb 'c' d\"\"\"]\ncheckout = '.'\n\
                 build = ['make']\nversion = 'v1'",
                &[
                    "command: sh",
                    "    argument: -c",
                    "    argument:",
                    "    'a",
                    r"    b '\''c'\'' d'",
                    "a revision: v1 of .",
                    "which is built by: make",
                    &format!(
                        "the build gets your variables: {}, and those that it gets itself",
                        BUILD.join(", ")
                    ),
                ][..],
            ),
        ] {
            assert_eq!(lines(toml).lines, expect, "{toml}");
        }
    }

    #[test]
    fn the_end_of_all_that_a_subject_runs_is_shown() {
        let names: Vec<String> = (0..60).map(|n| format!("'NAME_OF_A_VARIABLE_{n}'")).collect();
        for long in ["x".repeat(3_000), "x ".repeat(9_000), "x\n".repeat(9_000)] {
            let text = |end: &str| serde_json::Value::from(format!("{long}{end}")).to_string();
            let shown = lines(&format!(
                "kind = 'gateway'\ncommand = ['sh', '-c', {}, 'EVIL-LAST']\npass_env = [{}, 'EVIL-NAME']\n\
                 env = {{ A = {}, B = 'EVIL-NEXT' }}\nbuild = ['sh', '-c', {}]\ncheckout = '.'",
                text("EVIL-COMMAND"),
                names.join(", "),
                text("EVIL-ENV"),
                text("EVIL-BUILD"),
            ));
            let shown = shown.lines.join("\n");
            for end in ["COMMAND", "LAST", "NAME", "NEXT", "ENV", "BUILD"] {
                assert!(shown.contains(&format!("EVIL-{end}")), "{end}: {shown}");
            }
            assert_eq!(shown.contains("read clitape.toml)"), long.len() > 4_000);
        }
    }

    /// The settings that change what runs, each with two values: agreement to the first must not count for the second.
    const RUNS: [(&str, &str, &str); 35] = [
        ("kind", "kind = 'gateway'", "kind = 'agent'"),
        ("kind", "kind = 'parser'", "kind = 'replay'"),
        ("command", "command = ['a', 'b']", "command = ['a b']"),
        ("env", "env = { A = 'b' }", "env = { A = 'c' }"),
        ("env", "env = { A = 'b' }", "pass_env = ['A', 'b']"),
        ("pass_env", "pass_env = ['A']", "pass_env = ['B']"),
        ("folder", "folder = 'a'", "folder = 'b'"),
        ("host", "host = 'one-shot'", "host = 'live'"),
        ("ready", "ready = { url = 'http://a' }", "ready = { url = 'http://b' }"),
        ("ready.output", "ready = { output = 'a' }", "ready = { output = 'b' }"),
        ("ready.url", "ready = { output = 'http://a' }", "ready = { url = 'http://a' }"),
        ("ready.poll", "ready = { poll = true }", "ready = { output = 'a' }"),
        ("say", "say = '{prompt}'", "say = '/run x {prompt}'"),
        ("stop", "stop = 'a'", "stop = 'b'"),
        ("first", "first = ['a']", "first = ['b']"),
        ("first", "first = ['a']", "first = [{ press = 'a' }]"),
        ("press", "press = { allow = 'a' }", "press = { allow = 'b' }"),
        ("press.allow", "press = { allow = 'a' }", "press = { deny = 'a' }"),
        ("press.always", "press = { always = 'a' }", "press = { always = 'b' }"),
        ("press.deny", "press = { deny = 'a' }", "press = { deny = 'b' }"),
        ("press.done", "press = { done = 'a' }", "press = { done = 'b' }"),
        ("writes_during_turn", "", "writes_during_turn = true"),
        ("files", "files = { a = 'b' }", "files = { a = 'c' }"),
        ("install", "", "install = { npm = 'a' }"),
        ("install.npm", "install = { npm = 'a' }", "install = { npm = 'b' }"),
        (
            "install.node",
            "install = { npm = 'a', node = '24' }",
            "install = { npm = 'a', node = 'npm:x@1' }",
        ),
        (
            "install.overrides",
            "install = { npm = 'a', overrides = { b = '0.18.9' } }",
            "install = { npm = 'a', overrides = { b = 'npm:x@6' } }",
        ),
        ("install.scripts", "install = { npm = 'a' }", "install = { npm = 'a', scripts = true }"),
        ("checkout", "checkout = 'a'", "checkout = 'b'"),
        ("build", "build = ['a']", "build = ['b']"),
        ("version", "version = 'true'", "version = 'touch x'"),
        ("cli", "cli = '2.1.332'", "cli = '2.1.329'"),
        ("values", "values = { a = 'b' }", "values = { a = 'c' }"),
        ("claude_first", "claude_first = ['a']", "claude_first = ['b']"),
        ("reach", "reach = 'proxy'", "reach = 'address'"),
    ];
    /// The settings that do not change what runs: limits, judged promises, and the choice of recordings.
    const RUNS_NOTHING: [(&str, &str); 22] = [
        ("own_prompts", "own_prompts = true"),
        ("idle_s", "idle_s = 9"),
        ("within_s", "within_s = 9"),
        ("ready.within_s", "ready = { within_s = 9 }"),
        ("at_once", "at_once = 9"),
        ("chats", "chats = 'one'"),
        ("chat", "chat = 'group'"),
        ("starts", "starts = 'each'"),
        ("warm_up", "warm_up = 'a'"),
        ("tools_shown", "tools_shown = false"),
        ("progress_shown", "progress_shown = false"),
        ("questions_asked", "questions_asked = true"),
        ("one_message", "one_message = true"),
        ("silence_kept", "silence_kept = true"),
        ("reasoning_shown", "reasoning_shown = true"),
        ("subagents_shown", "subagents_shown = true"),
        ("sessions_resumed", "sessions_resumed = false"),
        ("scenarios", "scenarios = ['a']"),
        ("except", "except = { a = 'b' }"),
        ("known", "known = 'a'"),
        ("kinds", "kinds = ['text']"),
        ("started", "started = 'once'"),
    ];
    /// The keys that take settings from another table; those settings are checked themselves.
    const ELSEWHERE: [&str; 2] = ["like", "at"];

    fn subject(settings: &str) -> String {
        let is_parser = ["kinds", "started"].iter().any(|key| settings.starts_with(key));
        let kind = if is_parser { "kind = 'parser'" } else { "kind = 'gateway'" };
        let kind = if settings.starts_with("kind ") { "" } else { kind };
        let command = if settings.starts_with("command") { "" } else { "command = ['a']" };
        format!("{kind}\n{command}\n{settings}\n")
    }

    #[test]
    fn a_changed_setting_is_asked_about_unless_it_runs_nothing() {
        for (key, before, after) in RUNS {
            let (one, other) = (lines(&subject(before)), lines(&subject(after)));
            assert_ne!(one.digest, other.digest, "{key}");
            assert_eq!(one.digest, lines(&subject(before)).digest, "{key}");
        }
        for (key, setting) in RUNS_NOTHING {
            let plain = if subject(setting).contains("parser") { "kinds = []" } else { "" };
            assert_eq!(lines(&subject(plain)).digest, lines(&subject(setting)).digest, "{key}");
        }
    }

    #[test]
    fn every_key_of_a_subject_is_known_to_run_something_or_nothing() {
        for (table, toml) in [
            ("", "none_such = 1"),
            ("install.", "install = { npm = 'a', none_such = 1 }"),
            ("ready.", "ready = { none_such = 1 }"),
            ("press.", "press = { none_such = 1 }"),
        ] {
            let error = read(&subject(toml)).unwrap_err();
            let (_, keys) = error.split_once("expected one of ").unwrap();
            let keys: Vec<&str> = keys.split('`').skip(1).step_by(2).collect();
            assert!(keys.len() > 2, "{error}");
            for key in keys {
                let key = format!("{table}{key}");
                let runs = RUNS.iter().map(|(key, ..)| *key);
                let nothing = RUNS_NOTHING.iter().map(|(key, _)| *key);
                let mut known = runs.chain(nothing).chain(ELSEWHERE);
                assert!(known.any(|known| known == key), "`{key}` is in no list above");
            }
        }
    }

    #[test]
    fn a_subject_is_known_by_its_version_and_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let toml = "[subject.x]\nkind = 'gateway'\ncommand = ['{version}']\nversion = '1'\n\
                    [subject.x.at.3]\nenv = { A = 'b' }\n[subject.y]\nlike = 'x'\n";
        fs_err::write(dir.path().join(FILE), toml).unwrap();
        let subjects = Subjects::load(dir.path()).unwrap();
        let digest = |name: &str, version: Option<&str>, root: &str| {
            review(subjects.get(name).unwrap().1, version, Path::new(root)).digest
        };
        let own = digest("x", None, "/a");
        assert_eq!(own, digest("x", Some("1"), "/a"));
        assert_eq!(own, digest("y", None, "/a"));
        for (version, root) in [(Some("2"), "/a"), (Some("3"), "/a"), (None, "/b")] {
            assert_ne!(own, digest("x", version, root), "{version:?} {root}");
        }
    }
}
