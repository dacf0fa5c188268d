//! Translates the lines of the recorded host into acts of a person in a chat: messages, answers, interruptions.

use clitape_recording::cassette::Cassette;
use clitape_recording::scenario::{RecordSpec, SayAction, SayStep, SayTrigger};
use clitape_recording::wire::{PermissionAnswer, PermissionDecision, RequestKind, WireLine};
use clitape_runner::replay::{StdinLine, stdin_lines};

/// The acts of a person in a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonDialogue {
    /// The first message.
    pub(crate) prompt: String,
    /// The later acts, in order.
    pub(crate) steps: Vec<PersonStep>,
    /// The act of the host that no person can do, if there is one.
    pub(crate) impossible: Option<&'static str>,
    /// True if a message comes before the result of the turn before it.
    pub(crate) has_message_during_turn: bool,
}

/// An act with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonStep {
    /// The bytes of stdout that the CLI had printed when the host acted.
    pub(crate) offset: u64,
    /// The act to do.
    pub(crate) act: Act,
}

/// An act of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Writes this message.
    Say(String),
    /// Answers a permission question.
    Answer {
        /// True for yes, false for no.
        allows: bool,
    },
    /// Chooses these labels in a question.
    Choose(Vec<String>),
    /// Interrupts the turn.
    Stop,
}

impl PersonDialogue {
    /// Reads the dialogue of a cassette; `record` is the recording part of its scenario.
    pub(crate) fn of(cassette: &Cassette, record: &RecordSpec) -> Self {
        let lines = stdin_lines(&cassette.stdin, &cassette.timeline);
        let mut impossible = None;
        let mut steps = Vec::new();
        for line in &lines {
            match act(line) {
                Ok(Some(act)) => steps.push(PersonStep { offset: line.offset, act }),
                Ok(None) => {}
                Err(what) => impossible = impossible.or(Some(what)),
            }
        }
        impossible = impossible.or(closes_early(&record.say));
        let first = steps.iter().position(|step| matches!(step.act, Act::Say(_)));
        let prompt = match first.map(|first| steps.remove(first).act) {
            Some(Act::Say(text)) => text,
            _ => record.prompt.clone().unwrap_or_default(),
        };
        if prompt.is_empty() {
            impossible = impossible.or(Some("writes no message"));
        }
        let has_message_during_turn = is_during_turn(&cassette.stdout, &steps);
        Self { prompt, steps, impossible, has_message_during_turn }
    }
}

/// Returns the act in a line of the host; `None` for lines that a gateway writes by itself. The error is an act that no
/// person can do.
fn act(line: &StdinLine) -> Result<Option<Act>, &'static str> {
    match WireLine::read(&line.line) {
        None => Err("writes a line that is not JSON"),
        Some(WireLine::Message(message)) => match message.text_alone() {
            Some(text) => Ok(Some(Act::Say(text))),
            None => Err("writes a message that is not text alone"),
        },
        Some(WireLine::Request(request)) => {
            Ok((request.kind == RequestKind::Interrupt).then_some(Act::Stop))
        }
        // Answers to hooks come from the gateway, so only those to permission questions count.
        Some(WireLine::Response(response)) => {
            Ok(response.permission().map(|answer| answer_of(&answer)))
        }
        Some(_) => Err("writes a line of no known type"),
    }
}

/// Returns the act of a person who gives this answer.
fn answer_of(answer: &PermissionAnswer) -> Act {
    match answer.chosen_labels() {
        Some(labels) => Act::Choose(labels),
        None => Act::Answer { allows: matches!(answer.decision, PermissionDecision::Allow { .. }) },
    }
}

/// Returns the reason if the host closed stdin at another time than after the last result.
fn closes_early(steps: &[SayStep]) -> Option<&'static str> {
    let is_early = |step: &SayStep| {
        step.action == SayAction::Close && !matches!(step.when, Some(SayTrigger::Result(_)))
    };
    steps.iter().any(is_early).then_some("closes stdin in the middle of a turn")
}

/// Iterates over the records of stdout, each with the number of bytes up to its end.
pub(crate) fn records(stdout: &[u8]) -> impl Iterator<Item = (u64, WireLine)> + '_ {
    let mut end = 0;
    stdout.split_inclusive(|&byte| byte == b'\n').filter_map(move |line| {
        end += line.len() as u64;
        Some((end, WireLine::read(line)?))
    })
}

/// Returns whether a message comes before the result of the turn before it.
fn is_during_turn(stdout: &[u8], steps: &[PersonStep]) -> bool {
    let results = records(stdout).filter(|(_, record)| record.kind() == "result");
    let results: Vec<u64> = results.map(|(end, _)| end).collect();
    let messages = steps.iter().filter(|step| matches!(step.act, Act::Say(_)));
    (1..)
        .zip(messages)
        .any(|(turn, step)| results.iter().filter(|result| **result <= step.offset).count() < turn)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_recording::scenario::Workspace;

    use super::*;

    fn dialogue(name: &str) -> PersonDialogue {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let cassette = Cassette::load(&workspace.cassettes().join(name)).unwrap();
        let scenario = workspace.load(name.split_once('/').unwrap().0).unwrap();
        PersonDialogue::of(&cassette, &scenario.record)
    }

    fn acts(name: &str) -> Vec<Act> {
        dialogue(name).steps.into_iter().map(|step| step.act).collect()
    }

    #[test]
    fn the_acts_of_recorded_hosts_are_read() {
        let ports = "Do the ports in server.conf and client.conf agree?";
        assert_eq!(dialogue("three-tools/2.1.329").prompt, ports);
        let allow = dialogue("permission-allow/2.1.330");
        assert_eq!(allow.prompt, "Make a file that is called made.txt.");
        assert_eq!(acts("permission-allow/2.1.330"), [Act::Answer { allows: true }]);
        assert_eq!(acts("permission-deny/2.1.330"), [Act::Answer { allows: false }]);
        assert_eq!(acts("ask-user/2.1.330"), [Act::Choose(vec!["Blue".to_owned()])]);
        let next = Act::Say("And how many lines do they have?".to_owned());
        assert_eq!(acts("live-multi-turn/2.1.330"), [next]);
        assert_eq!(acts("live-interrupt-text/2.1.330"), [Act::Stop]);
    }

    #[test]
    fn what_no_person_can_do_and_what_comes_during_a_turn_is_known() {
        for (name, impossible, during) in [
            ("live-multi-turn/2.1.330", None, false),
            ("live-queue/2.1.330", None, true),
            ("bad-line/2.1.330", Some("writes a line that is not JSON"), false),
            (
                "permission-stdin-closed/2.1.330",
                Some("closes stdin in the middle of a turn"),
                false,
            ),
            ("permission-unanswered/2.1.330", None, false),
        ] {
            let dialogue = dialogue(name);
            let found = (dialogue.impossible, dialogue.has_message_during_turn);
            assert_eq!(found, (impossible, during), "{name}");
        }
    }
}
