//! What every gateway meets sooner or later: some cassettes of a run are also played with faults of what `claude` prints,
//! before all others, and once more at the end, with a 429 at the result and with a `claude` that lives on. Those with
//! findings are played once more alone.

use std::ops::ControlFlow;

use clitape_judge::observation::ObservedEnding;
use clitape_judge::{Finding, FindingId, FindingKind};
use clitape_runner::suite::{CheckRun, Observing, TrialEvent};

use super::{GatewaySubject, GatewayTrials, TRIED, ends_with_answer};
use crate::chat_server::Faults;
use crate::stand_in::{AgentFaults, CliFault};
use crate::subject::boot::Playing;
use crate::subject::drive::{DriveResult, Job, violations};
use crate::subject::error::SubjectError;
use crate::subject::finding::FindingPlace;
use crate::subject::run::{Play, play};
use crate::subject::spec::{Conditions, Front, HostKind};

/// The most cassettes with findings that are played once more alone.
const ALONE: usize = 3;
/// What is said of a finding that does not show then.
const NOT_ALONE: &str =
    "; played once more alone, it did not show, so that the line below may not show it either";
/// The finding that is dropped then: that no message ever tells of a tool is disproved by one that does. Whether a draft is
/// due while a short tool runs is a matter of milliseconds, and of the load of the machine.
const TOLD_ALONE: FindingId = FindingId::Known(FindingKind::ToolsUntold);
/// The note about such a finding.
const TOOLS_TOLD_ALONE: &str =
    "no message told of a tool, and played once more alone, one did, so that this is no finding";
/// The seconds that the chat server asks to wait at a result.
const WAIT_AT_RESULT_S: u64 = 3;
/// The seconds for which `claude` lives on after a result, longer than a gateway that answers at the result takes.
const LIVES_ON_S: u64 = 8;

impl GatewaySubject<'_> {
    /// Plays one cassette once more under conditions that every gateway meets. Faults that the caller asks for take their
    /// place.
    pub fn with_harsh_conditions(mut self) -> Self {
        let is_asked = self.conditions.faults != Faults::None;
        self.is_played_harshly = !is_asked && self.gateway.spec.front == Front::Chat;
        self
    }

    /// Returns the conditions under which one cassette is played once more, each with its words: the first call after the
    /// result gets a 429, so that the final message has to wait, and a `claude` of one message lives on after it.
    pub(super) fn harsh(&self) -> Vec<(Conditions, &'static str)> {
        let faults = Faults::at_first_result(WAIT_AT_RESULT_S);
        let waiting = Conditions { faults, ..self.conditions.clone() };
        let late = Conditions { lives_on_s: LIVES_ON_S, ..self.conditions.clone() };
        let is_one_shot = self.gateway.spec.host == HostKind::OneShot;
        let late = is_one_shot.then_some((late, "a `claude` that lives on after its result"));
        [(waiting, "a 429 at its result")].into_iter().chain(late).collect()
    }

    /// Returns the index of the cassette that is played once more.
    pub(super) fn again(&self, jobs: &[Job]) -> Option<usize> {
        jobs.iter().rposition(|job| self.is_played_harshly && ends_with_answer(job))
    }

    /// Returns the indexes of the cassettes that are also played with faults of `claude`'s output: short ones of one
    /// message and its answer.
    pub(super) fn faulty(&self, jobs: &[Job]) -> Vec<usize> {
        let fits = |index: &usize| self.is_played_harshly && ends_with_answer(&jobs[*index]);
        let mut indexes: Vec<usize> = (0..jobs.len()).filter(fits).collect();
        let is_usual = |job: &Job| TRIED.contains(&job.scenario.name.as_str());
        indexes.sort_by_key(|index| {
            let job = &jobs[*index];
            (!is_usual(job), job.cassette.stdout.len())
        });
        indexes.truncate(CliFault::ALL.len());
        indexes
    }
}

impl GatewayTrials<'_> {
    /// Returns whether a cassette is played once more alone, because it has findings in a run of several.
    pub(super) fn is_to_be_repeated(&self, check: &CheckRun) -> bool {
        self.jobs.len() > 1 && !self.options.fail_fast && !check.findings.is_empty()
    }

    /// Plays the first cassettes with findings once more, each alone as the line `reproduce` does, and says of a finding
    /// that does not show then.
    pub(super) fn play_alone(
        &mut self,
        how: Play<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        let (jobs, rig) = (self.jobs, self.rig);
        let has_failed = |check: &Option<CheckRun>| {
            check.as_ref().is_some_and(|check| self.is_to_be_repeated(check))
        };
        let failed = (0..jobs.len()).filter(|index| has_failed(&self.checks[*index]));
        for index in failed.take(ALONE).collect::<Vec<_>>() {
            let job = &jobs[index];
            let step = format!("{} once more alone, because of its findings", job.name());
            let _ = tell(TrialEvent::Step(&step).into());
            let one = std::slice::from_ref(job);
            let alone = play(one, how, rig, &mut |event| self.note_in_vain(&event));
            let alone = self.unless_failed(alone)?;
            let Some(alone) = alone.iter().flatten().next() else { continue };
            let shown = self.kinds(job, alone);
            let Some(check) = &mut self.checks[index] else { continue };
            let before = check.findings.len();
            check.findings.retain_mut(|finding| {
                // A golden is compared in the whole run only, and some lines play several cassettes.
                let plays_it = finding.reproduce.as_str().contains(" rig ");
                if !plays_it || finding.golden.is_some() || shown.contains(&finding.id) {
                    return true;
                }
                finding.sentence.push_str(NOT_ALONE);
                finding.id != TOLD_ALONE
            });
            if check.findings.len() < before {
                self.notes.push(format!("{}: {TOOLS_TOLD_ALONE}", job.name()));
            }
        }
        Ok(())
    }

    /// Returns the kinds of what a run of a cassette shows by itself.
    fn kinds(&self, job: &Job, seen: &DriveResult) -> Vec<FindingId> {
        let found = violations(job, seen, self.traits, self.gateway.spec.front, None);
        found.into_iter().map(|found| FindingId::Known(found.kind)).collect()
    }

    /// Plays one cassette once more under each of these conditions, which come with their words.
    pub(super) fn play_once_more(
        &mut self,
        harsh: &[(Conditions, &str)],
        how: Play<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        let (jobs, rig) = (self.jobs, self.rig);
        let Some(index) = self.again else { return Ok(()) };
        for (conditions, words) in harsh {
            let step = format!("{} once more, with {words}", jobs[index].name());
            let _ = tell(TrialEvent::Step(&step).into());
            let playing = &Playing { lives_on_s: conditions.lives_on_s, ..how.playing.clone() };
            let how = Play { playing, faults: &conditions.faults, ..how };
            let one = std::slice::from_ref(&jobs[index]);
            let again = play(one, how, rig, &mut |event| self.note_in_vain(&event));
            for again in self.unless_failed(again)?.iter().flatten() {
                self.add_again(index, conditions, again);
            }
        }
        Ok(())
    }

    /// Plays some short cassettes with all faults of `claude`'s output, of which each cassette has some: first of all, so
    /// that a reader that takes no such line is convicted within seconds. What the cassette shows without faults, too, is
    /// not counted.
    pub(super) fn play_with_faults(
        &mut self,
        how: Play<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        let (jobs, rig, indexes) = (self.jobs, self.rig, self.faulty.clone());
        if indexes.is_empty() {
            return Ok(());
        }
        let _ = tell(TrialEvent::Step("with faults of what claude prints").into());
        let faults = dealt(indexes.len());
        let (mut agent_faults, mut faulty) = (AgentFaults::default(), Vec::new());
        for (index, faults) in indexes.iter().zip(&faults) {
            let job = jobs[*index].clone();
            faults.iter().for_each(|fault| agent_faults.add(job.name(), *fault));
            faulty.push(if faults.contains(&CliFault::Cut) { job.cut_off() } else { job });
        }
        let playing = &Playing { agent_faults, ..how.playing.clone() };
        let with_faults = Play { playing, ..how };
        let seen = play(&faulty, with_faults, rig, &mut |event| self.note_in_vain(&event));
        let seen = self.unless_failed(seen)?;
        let served = |seen: &DriveResult| !matches!(seen.ending, ObservedEnding::NotServed(_));
        // The cassettes of which something was found.
        let places: Vec<usize> = (0..faulty.len())
            .filter(|place| {
                let seen = seen[*place].as_ref().filter(|seen| served(seen));
                seen.is_some_and(|seen| !self.kinds(&faulty[*place], seen).is_empty())
            })
            .collect();
        if places.is_empty() {
            return Ok(());
        }
        let without: Vec<Job> = places.iter().map(|place| jobs[indexes[*place]].clone()).collect();
        let plain = play(&without, how, rig, &mut |event| self.note_in_vain(&event));
        let plain = self.unless_failed(plain)?;
        for ((place, job), plain) in places.into_iter().zip(&without).zip(&plain) {
            let (Some(seen), Some(plain)) = (&seen[place], plain) else { continue };
            self.found[indexes[place]] = self.kinds(job, plain);
            let agent_faults = faults[place].clone();
            let conditions = &Conditions { agent_faults, ..self.conditions.clone() };
            let found = self.new_findings(indexes[place], &faulty[place], conditions, seen);
            self.of_faults.extend(found);
        }
        self.tell_of_faults(tell);
        Ok(())
    }

    /// Says at once what the faults have shown, and ends the run if the first finding is enough.
    fn tell_of_faults(&mut self, tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>) {
        if self.of_faults.is_empty() {
            return;
        }
        let mut ids: Vec<String> =
            self.of_faults.iter().map(|finding| finding.id.to_string()).collect();
        ids.sort_unstable();
        ids.dedup();
        let step = format!("found with faults of what claude prints: {}", ids.join(", "));
        let flow = tell(TrialEvent::Step(&step).into());
        self.go_on(if self.options.fail_fast { ControlFlow::Break(()) } else { flow });
    }

    /// Adds the findings of a run under other conditions to those of the run before it.
    fn add_again(&mut self, index: usize, conditions: &Conditions, seen: &DriveResult) {
        let (jobs, name) = (self.jobs, self.jobs[index].name());
        let is_put_off = seen.entries.iter().any(|entry| entry.wait_s().is_some());
        if conditions.faults != Faults::None && !is_put_off {
            self.notes
                .push(format!("not tried: a 429 at the result of {name}: no call came after it"));
        }
        let findings = self.new_findings(index, &jobs[index], conditions, seen);
        let Some(check) = &mut self.checks[index] else { return };
        check.findings.extend(findings);
        check.took = check.took.map(|took| took + seen.took);
    }

    /// Returns the findings of a run of a cassette under other conditions, without those of the run before it.
    fn new_findings(
        &mut self,
        index: usize,
        job: &Job,
        conditions: &Conditions,
        seen: &DriveResult,
    ) -> Vec<Finding> {
        let (gateway, rig) = (self.gateway, self.rig);
        let place = FindingPlace { gateway, job, rig, conditions, before: &[] };
        let mut found = violations(job, seen, self.traits, gateway.spec.front, None);
        found.retain(|found| !self.found[index].contains(&FindingId::Known(found.kind)));
        place.mark(&mut self.known, found, &seen.entries).0
    }
}

/// Deals the faults of `claude`'s output to so many cassettes. One that is cut off has no other fault, so that it needs a
/// cassette of its own.
fn dealt(cassettes: usize) -> Vec<Vec<CliFault>> {
    let mut dealt = vec![Vec::new(); cassettes];
    let (whole, cut) = dealt.split_at_mut(cassettes.saturating_sub(1).max(1));
    let others = CliFault::ALL.into_iter().filter(|fault| *fault != CliFault::Cut);
    for (number, fault) in others.enumerate() {
        let places = whole.len();
        whole[number % places].push(fault);
    }
    if let Some(cut) = cut.first_mut() {
        cut.push(CliFault::Cut);
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cassette_gets_some_faults_and_one_is_cut_off_alone() {
        let check = |cassettes: usize, expect: &[&str]| {
            let words = |faults: Vec<CliFault>| {
                faults.iter().map(CliFault::to_string).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(dealt(cassettes).into_iter().map(words).collect::<Vec<_>>(), expect);
        };
        check(1, &["crlf log-line unknown-kind long-line double"]);
        check(3, &["crlf unknown-kind double", "log-line long-line", "cut"]);
        check(6, &["crlf", "log-line", "unknown-kind", "long-line", "double", "cut"]);
    }
}
