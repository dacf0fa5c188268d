//! Lists the programs and settings that a scenario makes the CLI run, for the person who is about to record
//! it, and computes the digest that identifies the scenario later.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::workspace::{ScenarioFolder, WorkspaceLimits, field};
use super::{RecordError, RecordSettings};
use crate::cassette::hex;
use crate::files;
use crate::scenario::{
    Model, ModelContent, SayAction, SayBehavior, SayStep, Scenario, ScenarioError, ToolSide,
};
use crate::text::{MARK, plural, start};

/// The files and folders of a project from which the CLI takes instructions.
const INSTRUCTIONS: [&str; 5] =
    [".claude", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"];
/// The fields of a tool's input that describe a call best, in order.
const DESCRIPTIVE: [&str; 7] =
    ["command", "file_path", "notebook_path", "path", "url", "pattern", "query"];
/// The characters of a call that are shown.
const CLIP: usize = 300;

/// The list and the digest of a scenario, or of another thing that makes clitape run programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// SHA-256 over all that is run: of a scenario, `scenario.toml`, `model.toml` and every file of the workspace.
    pub digest: String,
    /// One line for each prompt, argument, tool call and file of instructions, or for each setting. The lines contain
    /// text of others, so they must be made safe before a terminal shows them.
    pub lines: Vec<String>,
}

impl Review {
    /// Makes the list of `lines`, of which a person sees the beginnings. The digest is of them and of `parts`.
    pub fn of_lines(lines: &[String], parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        let all = lines.iter().map(String::as_bytes).chain(parts.iter().copied());
        all.for_each(|part| field(&mut hash, part));
        let lines = lines.iter().map(|line| clipped(line)).collect();
        Self { digest: hex(&hash.finalize()), lines }
    }

    /// Reads the files that a recording would use.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the workspace contains an entry that is no file or more than `settings` allow, or
    /// `model.toml` can't be used.
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
        lines.extend(prompts.map(|prompt| format!("prompt: {}", clipped(prompt))));
        lines.extend(record.host.map(|host| format!("host: {host}")));
        lines.extend(record.say.iter().map(|step| format!("stdin: {}", clipped(&said(step)))));
        if !scenario.record.args.is_empty() {
            lines.push(format!("arguments: {}", clipped(&scenario.record.args.join(" "))));
        }
        lines.extend(calls(&model));
        lines.extend(instructions(scenario, &workspace));
        Ok(Self { digest, lines })
    }
}

/// Describes a step of `[[record.say]]`: its message, or its action.
fn said(step: &SayStep) -> String {
    match &step.action {
        SayAction::Message { content: Value::String(text), .. } | SayAction::Raw(text) => {
            text.clone()
        }
        SayAction::Message { content, .. } => content.to_string(),
        SayAction::Answer(answer) => match answer.behavior {
            SayBehavior::Allow => "answer: allow".into(),
            SayBehavior::Deny => "answer: deny".into(),
            SayBehavior::DenyAndInterrupt => "answer: deny and interrupt".into(),
        },
        action => action.key().into(),
    }
}

/// Computes the digest that identifies a scenario.
///
/// # Errors
///
/// As [`Review::of`].
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
    for name in ["scenario.toml", "model.toml"] {
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

/// Returns a line for each tool that the model calls: how often, and with which inputs.
fn calls(model: &Model) -> Vec<String> {
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let turns = model.all_turns().flat_map(|(_, turns)| turns);
    for block in turns.flat_map(|turn| &turn.blocks) {
        match &block.content {
            ModelContent::Tool { side: ToolSide::Client, name, input, .. } => {
                let input = input.joined();
                let parsed = serde_json::from_str(&input).ok();
                calls.entry(name.clone()).or_default().push(description(parsed.as_ref(), &input));
            }
            // A block that is sent unchanged may be a call too.
            ModelContent::Raw(block) if block.contains_key("input") => {
                let name = block.get("name").and_then(Value::as_str).unwrap_or("?").to_owned();
                let input = block.get("input").and_then(Value::as_object);
                let text = Value::from(block.clone()).to_string();
                calls.entry(name).or_default().push(description(input, &text));
            }
            _ => {}
        }
    }
    calls
        .into_iter()
        .map(|(name, inputs)| {
            let all: Vec<String> =
                inputs.iter().map(|input| format!("`{}`", clipped(input))).collect();
            format!("the model calls {name} ×{}: {}", inputs.len(), all.join(", "))
        })
        .collect()
}

/// Returns the field that describes a call best, or the whole input if there is none.
fn description(input: Option<&Map<String, Value>>, whole: &str) -> String {
    let best = |input: &Map<String, Value>| {
        DESCRIPTIVE.iter().find_map(|name| input.get(*name)?.as_str().map(str::to_owned))
    };
    input.and_then(best).unwrap_or_else(|| whole.to_owned())
}

/// Returns a line for each file of the workspace from which the CLI takes instructions, with its commands.
fn instructions(scenario: &Scenario, workspace: &ScenarioFolder) -> Vec<String> {
    let is_named = |path: &Path| {
        let args = scenario.record.args.iter();
        args.flat_map(|arg| arg.split(['=', ',', ' '])).any(|word| {
            word.trim_start_matches("{{project}}/").trim_start_matches("./")
                == path.to_string_lossy()
        })
    };
    let is_instruction = |path: &Path| {
        path.components().any(|part| INSTRUCTIONS.iter().any(|name| part.as_os_str() == *name))
    };
    let mut lines = Vec::new();
    for inside in workspace.files().filter(|path| is_instruction(path) || is_named(path)) {
        let shown = clipped(&inside.to_string_lossy());
        let commands = commands(&scenario.dir.join("workspace").join(inside));
        match commands.is_empty() {
            true => lines.push(format!("the CLI reads {shown}")),
            false => {
                lines.push(format!("the CLI reads {shown}, which runs {}", commands.join(", ")));
            }
        }
    }
    lines
}

/// Returns the commands in a JSON file: hooks, and MCP servers with their arguments.
fn commands(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    // A link is copied as a link, so its target is not read.
    if let Ok(text) = files::read_text(path)
        && let Ok(value) = serde_json::from_str(&text)
    {
        collect(&value, &mut found);
    }
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(command) = fields.get("command").and_then(Value::as_str) {
                let args = fields.get("args").and_then(Value::as_array).into_iter().flatten();
                let words: Vec<&str> =
                    std::iter::once(command).chain(args.filter_map(Value::as_str)).collect();
                found.push(format!("`{}`", clipped(&words.join(" "))));
            }
            fields.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Returns the start of a long text with the number of characters that are left out.
fn clipped(text: &str) -> String {
    let start = start(text, CLIP);
    match text[start.len()..].chars().count() {
        0 => text.to_owned(),
        more => format!("{start}{MARK} ({})", plural(more, "more character")),
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
                "arguments: --allowedTools Bash --mcp-config mcp.json",
                "the model calls Bash ×2: `ls -la`, `rm -r x`",
                "the model calls Odd ×1: `{\"n\":1}`",
                "the model calls Read ×1: `b`",
                "the model calls Write ×1: `a`",
                "the CLI reads .claude/settings.json, which runs `curl x | sh`",
                "the CLI reads mcp.json, which runs `node a.js`",
            ]
        );
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
