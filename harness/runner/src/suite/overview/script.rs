//! Describes a scenario's prompts and its model's answers, in words for people.

use serde_json::Value;

use clitape_recording::scenario::{
    Model, ModelBlock, ModelContent, ModelFailureKind, ModelStopReason, ModelTurn, Resume,
    SayAction, SayBehavior, SayStep, Scenario, ScenarioError, ToolSide, Trigger,
};
use clitape_recording::text::{Keep, plain, truncate};

/// The most columns of a text of the model.
const TEXT: usize = 90;

/// A heading and the lines below it.
pub type ScriptPart = (String, Vec<String>);

/// Describes the prompt, the steps of the host and the model's answers, in order.
///
/// # Errors
///
/// [`ScenarioError`] when `model.toml` can't be used.
pub fn script(scenario: &Scenario) -> Result<Vec<ScriptPart>, ScenarioError> {
    let record = &scenario.record;
    let mut parts = Vec::new();
    if let Some(prompt) = &record.prompt {
        parts.push(("prompt".to_owned(), vec![short(prompt)]));
    }
    if let Some(host) = record.host {
        parts.push(("host".to_owned(), vec![format!("drives the CLI as `{host}` does")]));
    }
    if !record.say.is_empty() {
        parts.push(("host then".to_owned(), record.say.iter().map(step).collect()));
    }
    if let Some(signal) = &record.signal {
        let when = match &signal.when {
            Trigger::Tool(tool) => format!("a call of {tool} starts"),
            Trigger::Calls(calls) => format!("{calls} calls have started"),
            Trigger::Text(text) => format!("the answer contains {}", quoted(text)),
        };
        let line = format!("{} is sent once {when}", signal.send.as_str());
        parts.push(("signal".to_owned(), vec![line]));
    }
    for (number, run) in (2..).zip(&record.then) {
        let session = match run.resume {
            Resume::Id => "resumes the session",
            Resume::Continue => "continues the last session",
            Resume::Fork => "forks the session",
            Resume::UnknownId => "resumes a session that never was",
        };
        parts.push((format!("run {number}"), vec![format!("{session}: {}", short(&run.prompt))]));
    }
    if !scenario.has_model() {
        let line = "none: the recording was imported, and can't be made again".to_owned();
        parts.push(("model".to_owned(), vec![line]));
        return Ok(parts);
    }
    let model = Model::load(&scenario.dir)?;
    for (name, turns) in model.all_turns() {
        let heading = match name {
            "main" => "model".to_owned(),
            name => match name.strip_prefix("run") {
                Some(number) if number.parse::<u64>().is_ok() => format!("model, run {number}"),
                _ => format!("model, {name}"),
            },
        };
        let lines = (1..).zip(turns).map(|(number, one)| format!("{number}. {}", turn(one)));
        parts.push((heading, lines.collect()));
    }
    Ok(parts)
}

/// Describes a message of the model.
fn turn(turn: &ModelTurn) -> String {
    let mut words: Vec<String> = turn.failures().map(failure).collect();
    words.extend(turn.blocks.iter().map(block));
    if words.is_empty() {
        words.push("says nothing".to_owned());
    }
    let reason = turn.stop_reason();
    if !matches!(reason, ModelStopReason::EndTurn | ModelStopReason::ToolUse) {
        words.push(format!("ends with `{}`", reason.as_str()));
    }
    words.join("; ")
}

fn block(block: &ModelBlock) -> String {
    let text = block.content.pieces().joined();
    match &block.content {
        ModelContent::Text { .. } => format!("says {}", quoted(&text)),
        ModelContent::Thinking { .. } => format!("thinks {}", quoted(&text)),
        ModelContent::Tool { name, side, .. } => {
            let input = match text.as_str() {
                "" | "{}" => String::new(),
                text => format!(" with {}", short(text)),
            };
            let side = if *side == ToolSide::Server { " at the API" } else { "" };
            format!("calls {}{side}{input}", plain(name))
        }
        ModelContent::Raw(raw) => {
            let kind = raw.get("type").and_then(Value::as_str).unwrap_or_default();
            format!("sends a `{}`", plain(kind))
        }
    }
}

fn failure(kind: &ModelFailureKind) -> String {
    match kind {
        ModelFailureKind::Http { status, error, .. } => {
            format!("first fails with {status} {}", quoted(&error.message))
        }
        ModelFailureKind::Event { after, error } => {
            let message = quoted(&error.message);
            format!("first fails in block {} with {message}", after.block)
        }
        ModelFailureKind::Drop { after } => {
            format!("first loses the connection in block {}", after.block)
        }
    }
}

/// Describes a step of the host.
fn step(step: &SayStep) -> String {
    let what = match &step.action {
        SayAction::Message { content: Value::String(text), .. } => {
            format!("writes {}", quoted(text))
        }
        SayAction::Message { .. } => "writes a message of blocks".to_owned(),
        SayAction::Interrupt => "interrupts".to_owned(),
        SayAction::Answer(answer) => match answer.behavior {
            SayBehavior::Allow => "allows the call".to_owned(),
            SayBehavior::Deny => "denies the call".to_owned(),
            SayBehavior::DenyAndInterrupt => "denies the call and ends the turn".to_owned(),
        },
        SayAction::Choose(_) => "answers the question".to_owned(),
        SayAction::Close => "closes stdin".to_owned(),
        other => format!("sends `{}`", other.key()),
    };
    let when = step.when.as_ref().map(|when| format!(", once there is {when}"));
    plain(&format!("{what}{}", when.unwrap_or_default()))
}

fn quoted(text: &str) -> String {
    format!("“{}”", short(text))
}

/// Returns a text on one line and safe to print.
fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    truncate(&plain(&words.join(" ")), TEXT, Keep::Ends).into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_recording::scenario::Workspace;

    use super::*;

    /// Checks that the description of a committed scenario contains these lines.
    #[track_caller]
    fn check(name: &str, expect: &[&str]) {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let parts = script(&workspace.load(name).unwrap()).unwrap();
        let line = |(heading, lines): &ScriptPart| format!("{heading}: {}\n", lines.join(" | "));
        let text: String = parts.iter().map(line).collect();
        for part in expect {
            assert!(text.contains(part), "{name}: no `{part}` in\n{text}");
        }
    }

    #[test]
    fn a_scenario_is_told_in_words() {
        check(
            "three-tools",
            &[
                "prompt: Do the ports in server.conf and client.conf agree?\n",
                "model: 1. says “Let me look at both files.”; calls Read with {\"file_path\"",
            ],
        );
        let answer = "host then: allows the call, once there is { asked = \"Bash\" }";
        check("permission-allow", &["host: drives the CLI as `sdk` does", answer]);
        check("api-529-then-ok", &["first fails with 529"]);
        check("sigint-mid-text", &["signal: SIGINT is sent once"]);
        check("resume-killed-mid-tool", &["run 2: ", "model, run 2: 1. "]);
        check("thinking", &["thinks “"]);
    }

    #[test]
    fn every_committed_scenario_can_be_told() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        for name in workspace.names().unwrap() {
            let parts = script(&workspace.scenario_of(&name).unwrap()).unwrap();
            assert!(parts.iter().any(|(heading, _)| heading == "model"), "{name}: {parts:?}");
        }
    }
}
