//! The answers of the recorded host, by the tool call that waited for each.

use clitape_recording::cassette::Cassette;
use clitape_recording::wire::{
    ControlResponse, PermissionAnswer, PermissionDecision, RequestKind, WireLine,
};
use clitape_runner::replay::stdin_lines;

use super::dialogue::records;
use crate::editor::PermissionChoice;

/// An answer of the recorded host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedAnswer {
    /// The id of the call that waited; `None` in recordings of old CLIs, which do not name it.
    call: Option<String>,
    /// The bytes of stdout that the CLI had printed when the host answered; `None` if it never did.
    pub(crate) offset: Option<u64>,
    /// The answer, as a choice of a person.
    pub(crate) choice: PermissionChoice,
}

/// The answers that are not given yet, in the order of the questions.
#[derive(Debug)]
pub(crate) struct RecordedAnswers(Vec<RecordedAnswer>);

impl RecordedAnswers {
    /// Reads the answers of a cassette. A question without an answer is included.
    pub(crate) fn of(cassette: &Cassette) -> Self {
        let lines = stdin_lines(&cassette.stdin, &cassette.timeline);
        let answers: Vec<(u64, ControlResponse)> = lines
            .iter()
            .filter_map(|line| match WireLine::read(&line.line)? {
                WireLine::Response(response) => Some((line.offset, response)),
                _ => None,
            })
            .collect();
        let question = |record: WireLine| {
            let WireLine::Request(request) = record else { return None };
            let RequestKind::Permission(question) = request.kind else { return None };
            let answer =
                answers.iter().find(|(_, response)| response.request_id == request.request_id);
            let (offset, choice) =
                answer.map(|(offset, response)| (*offset, choice(response))).unzip();
            Some(RecordedAnswer {
                call: question.tool_use_id,
                offset,
                choice: choice.unwrap_or(PermissionChoice::Cancel),
            })
        };
        Self(records(&cassette.stdout).filter_map(|(_, record)| question(record)).collect())
    }

    /// Returns the answer to a question about a tool call.
    pub(crate) fn find(&self, call: Option<&str>) -> Option<&RecordedAnswer> {
        self.place(call).map(|place| &self.0[place])
    }

    /// Removes the answer to a question about a tool call, once it is given.
    pub(crate) fn take(&mut self, call: Option<&str>) {
        if let Some(place) = self.place(call) {
            self.0.remove(place);
        }
    }

    fn place(&self, call: Option<&str>) -> Option<usize> {
        let named =
            self.0.iter().position(|answer| call.is_some() && answer.call.as_deref() == call);
        named.or_else(|| self.0.iter().position(|answer| answer.call.is_none()))
    }
}

/// Returns the choice of a person that has the effect of this answer.
fn choice(response: &ControlResponse) -> PermissionChoice {
    let answer = response.permission();
    if let Some(labels) = answer.as_ref().and_then(PermissionAnswer::chosen_labels) {
        return PermissionChoice::Labels(labels);
    }
    match answer.map(|answer| answer.decision) {
        Some(PermissionDecision::Allow { .. }) => PermissionChoice::Option("allow_once".to_owned()),
        _ => PermissionChoice::Option("reject_once".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_answers_of_recorded_hosts_are_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
        let answers = |name: &str| RecordedAnswers::of(&Cassette::load(&root.join(name)).unwrap());
        let option = |word: &str| PermissionChoice::Option(word.to_owned());
        for (name, choice) in [
            ("permission-allow/2.1.330", option("allow_once")),
            ("permission-deny/2.1.330", option("reject_once")),
            ("ask-user/2.1.330", PermissionChoice::Labels(vec!["Blue".to_owned()])),
        ] {
            let mut answers = answers(name);
            let call = answers.0[0].call.clone();
            assert_eq!(answers.find(call.as_deref()).unwrap().choice, choice, "{name}");
            answers.take(call.as_deref());
            assert_eq!(answers.find(call.as_deref()), None);
        }
        assert_eq!(answers("permission-unanswered/2.1.330").0[0].offset, None);
    }
}
