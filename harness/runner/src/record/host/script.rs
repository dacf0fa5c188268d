//! The lines of a host in one run: its own first lines, then the steps of the scenario.

use clitape_recording::scenario::{
    HostProfile, PLAIN, RecordSpec, SayAction, SayAnswer, SayInitialize, SayStep, SayTrigger,
};
use serde_json::Value;

use crate::record::sandbox::Folders;

/// The lines of a host, in order, with real folders.
#[derive(Debug, Clone)]
pub(crate) struct HostScript {
    /// The form in which the host writes.
    pub(super) profile: &'static HostProfile,
    /// The steps.
    pub(super) steps: Vec<HostScriptStep>,
}

/// A step, with the name that errors use for it.
#[derive(Debug, Clone)]
pub(super) struct HostScriptStep {
    /// The step of the scenario and its action.
    pub(super) name: String,
    /// The line to write.
    pub(super) action: HostAction,
    /// The record that the CLI must have printed before.
    pub(super) when: Option<SayTrigger>,
    /// The milliseconds between that record and the line.
    pub(super) delay_ms: u64,
}

/// The line of a step.
#[derive(Debug, Clone)]
pub(super) enum HostAction {
    /// The first request of a [`HostProfile`].
    Begin(&'static str),
    /// An action of the scenario.
    Say(SayAction),
}

impl HostScript {
    /// Returns the script of a scenario's host; `None` if the CLI has no stdin.
    pub(crate) fn new(record: &RecordSpec, folders: &Folders) -> Option<Self> {
        if record.host.is_none() && record.say.is_empty() {
            return None;
        }
        let profile = record.host.map_or(&PLAIN, |host| host.profile());
        let begin = profile.initialize.map(|request| HostScriptStep {
            name: "the `initialize` of `record.host`".into(),
            action: HostAction::Begin(request),
            when: None,
            delay_ms: 0,
        });
        let prompt = record.prompt.as_ref().filter(|_| record.host.is_some());
        let prompt = prompt.map(|prompt| HostScriptStep {
            name: "`record.prompt`".into(),
            action: HostAction::Say(SayAction::Message {
                content: Value::from(folders.expand(prompt)),
                uuid: None,
            }),
            when: begin.as_ref().map(|_| SayTrigger::Response(1)),
            delay_ms: 0,
        });
        let mut steps: Vec<HostScriptStep> = begin.into_iter().chain(prompt).collect();
        let begins = steps.len() == 1 && profile.initialize.is_some();
        for (number, step) in (1..).zip(&record.say) {
            let SayStep { action, when, delay_ms } = step;
            // Without a prompt, the first step of the scenario waits for the answer to `initialize`.
            let when = match when {
                None if begins && number == 1 => Some(SayTrigger::Response(1)),
                when => when.clone(),
            };
            steps.push(HostScriptStep {
                name: format!("step {number} of `[[record.say]]` (`{}`)", action.key()),
                action: HostAction::Say(expanded(action, folders)),
                when,
                delay_ms: *delay_ms,
            });
        }
        Some(Self { profile, steps })
    }

    /// Returns the texts that the triggers of the steps wait for.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match &step.when {
            Some(SayTrigger::Text(text)) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns whether a step waits for an event of the model, which takes a parser to read.
    pub(super) fn reads_the_model(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.when, Some(SayTrigger::Tool(_) | SayTrigger::Text(_))))
    }
}

/// Returns the action with real folders.
fn expanded(action: &SayAction, folders: &Folders) -> SayAction {
    let text = |text: &String| folders.expand(text);
    match action {
        SayAction::Message { content, uuid } => {
            SayAction::Message { content: expanded_value(content, folders), uuid: *uuid }
        }
        SayAction::Answer(SayAnswer { behavior, input, message, suggestion }) => {
            let input = input.as_ref().map(|input| {
                input.iter().map(|(key, value)| (key.clone(), expanded_value(value, folders)))
            });
            SayAction::Answer(SayAnswer {
                behavior: *behavior,
                input: input.map(Iterator::collect),
                message: message.as_ref().map(text),
                suggestion: *suggestion,
            })
        }
        SayAction::Initialize(SayInitialize { hooks, append_system_prompt }) => {
            SayAction::Initialize(SayInitialize {
                hooks: hooks.clone(),
                append_system_prompt: append_system_prompt.as_ref().map(text),
            })
        }
        SayAction::Raw(line) => SayAction::Raw(text(line)),
        SayAction::Interrupt | SayAction::Choose(_) | SayAction::Close => action.clone(),
    }
}

fn expanded_value(value: &Value, folders: &Folders) -> Value {
    match value {
        Value::String(text) => Value::from(folders.expand(text)),
        Value::Array(items) => items.iter().map(|item| expanded_value(item, folders)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), expanded_value(value, folders)))
            .collect(),
        other => other.clone(),
    }
}
