//! The findings of a subject: the place, the sentence, the entries around the fault, and the command that shows it again.

use clitape_judge::known::KnownDifferences;
use clitape_judge::observation::ObservedEnding;
use clitape_judge::{ContextMoment, Finding, FindingKind, Violation, finally_read, says_the_same};
use clitape_recording::clock;
use clitape_recording::text::{Keep, truncate};
use clitape_recording::trace::Entry;

use super::drive::{DriveResult, Job};
use super::prepare::RigHost;
use super::spec::{Conditions, NamedGateway};

/// The most entries that a finding shows, the one at fault last.
const CONTEXT: usize = 6;
/// The most characters of a message in a finding.
const MESSAGE_WIDTH: usize = 160;

/// The place of a finding, and the command that shows it again.
pub(super) struct FindingPlace<'a> {
    pub(super) gateway: NamedGateway<'a>,
    pub(super) job: &'a Job,
    pub(super) rig: RigHost<'a>,
    pub(super) conditions: &'a Conditions,
    /// The cassettes that were played before it in the same chat.
    pub(super) before: &'a [Job],
}

impl FindingPlace<'_> {
    pub(super) fn name(&self) -> String {
        format!("subject {}: {}", self.gateway.shown(), self.job.name())
    }

    pub(super) fn reproduce(&self) -> String {
        let program = self.rig.workspace.program();
        let (gateway, conditions) = (self.gateway.shown(), self.conditions.arguments());
        let command = if self.before.is_empty() { "rig" } else { "test --subject" };
        let names: Vec<String> = self.before.iter().chain([self.job]).map(Job::name).collect();
        format!("{program} {command} {gateway} {}{conditions}", names.join(" "))
    }

    /// Returns the command that plays this cassette beside another one.
    fn reproduce_beside(&self, other: &str) -> String {
        let program = self.rig.workspace.program();
        let (gateway, conditions) = (self.gateway.shown(), self.conditions.arguments());
        format!("{program} test --subject {gateway} {} {other}{conditions}", self.job.name())
    }

    /// Returns the findings of violations, and for each one that is known a sentence.
    pub(super) fn mark(
        &self,
        known: &mut KnownDifferences,
        found: Vec<Violation>,
        entries: &[Entry],
    ) -> (Vec<Finding>, Vec<String>) {
        let (mut findings, mut notes) = (Vec::new(), Vec::new());
        for judged in known.mark(&self.job.scenario.name, &clock::today(), found) {
            let finding = self.finding(&judged.violation, entries);
            match judged.known {
                Some(reason) => {
                    let Finding { place, sentence, .. } = finding;
                    notes.push(format!("known: {place}: {sentence} ({reason})"));
                }
                None => findings.push(finding),
            }
        }
        (findings, notes)
    }

    pub(super) fn finding(&self, violation: &Violation, entries: &[Entry]) -> Finding {
        let Violation { kind, sentence, beside, .. } = violation;
        let reproduce = beside.as_deref().map(|other| self.reproduce_beside(other));
        let reproduce = reproduce.unwrap_or_else(|| self.reproduce());
        let design = kind.design().map(|key| format!("; if that is meant, write `{key}`"));
        let sentence = format!("{sentence}{}", design.unwrap_or_default());
        let finding = Finding::new(*kind, &self.name(), sentence, reproduce);
        finding.with_context(context(entries, violation.entry))
    }

    /// Returns a finding if a person reads something else under a plan than without one.
    pub(super) fn under_plan(
        &self,
        seed: u64,
        plain: &DriveResult,
        planned: &DriveResult,
    ) -> Option<Finding> {
        let sentence = differs_under_plan(
            seed,
            (&plain.entries, &plain.ending),
            (&planned.entries, &planned.ending),
        )?;
        let kind = FindingKind::WrongFinalText;
        Some(Finding::new(kind, &self.name(), sentence, self.reproduce()))
    }
}

/// Returns the sentence of a finding if a person reads something else under a plan than without one.
pub(super) fn differs_under_plan(
    seed: u64,
    plain: (&[Entry], &ObservedEnding),
    planned: (&[Entry], &ObservedEnding),
) -> Option<String> {
    let cut = format!("with the output cut and delayed by seed {seed}");
    if planned.1 != plain.1 {
        return Some(format!("{cut}, {}; without, {}", planned.1, plain.1));
    }
    let (expected, read) = (finally_read(plain.0), finally_read(planned.0));
    let is_same = |(one, other): (&String, &String)| says_the_same(one, other);
    let differs = expected.iter().zip(&read).position(|pair| !is_same(pair));
    let at = differs
        .or_else(|| (expected.len() != read.len()).then_some(expected.len().min(read.len())))?;
    let message = |texts: &[String]| match texts.get(at) {
        Some(text) => format!("`{}`", truncate(text, MESSAGE_WIDTH, Keep::End)),
        None => "nothing".to_owned(),
    };
    Some(format!(
        "{cut}, a person ends up reading {} as message {}, and {} without",
        message(&read),
        at + 1,
        message(&expected),
    ))
}

/// Returns the entries that a finding shows: up to the one at fault, or the last ones.
pub(super) fn context(entries: &[Entry], at: Option<usize>) -> Vec<ContextMoment> {
    let end = at.map_or(entries.len(), |at| (at + 1).min(entries.len()));
    entries[end.saturating_sub(CONTEXT)..end].iter().map(moment).collect()
}

/// Returns an entry as a finding shows it.
fn moment(entry: &Entry) -> ContextMoment {
    let lines = entry.headline_lines(ContextMoment::COLUMNS);
    let (input, output) = match entry.kind.starts_with('(') {
        true => (lines, Vec::new()),
        false => (Vec::new(), lines),
    };
    ContextMoment { at: entry.at, input, output }
}
