//! What every gateway meets sooner or later: some cassettes of a run are played once more, with a 429 at the result, with a
//! `claude` that lives on, and with faults of what `claude` prints.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use clitape_judge::FindingId;
use clitape_runner::suite::{Observing, TrialEvent};

use super::{GatewaySubject, GatewayTrials, TRIED, ends_with_answer};
use crate::chat_server::Faults;
use crate::stand_in::{AgentFaults, CliFault};
use crate::subject::boot::Playing;
use crate::subject::drive::{DriveResult, Job, violations};
use crate::subject::error::SubjectError;
use crate::subject::finding::FindingPlace;
use crate::subject::run::{Play, play};
use crate::subject::spec::{Conditions, Front, HostKind};

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

    /// Returns the indexes of the cassettes that are played once more with faults of `claude`'s output: short ones of one
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
                self.add_again(index, &jobs[index], conditions, again);
            }
        }
        Ok(())
    }

    /// Plays some cassettes once more, each with a fault of `claude`'s output, as many at a time as there are.
    pub(super) fn play_with_faults(
        &mut self,
        how: Play<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        let (jobs, rig, indexes) = (self.jobs, self.rig, self.faulty.clone());
        for faults in CliFault::ALL.chunks(indexes.len().max(1)) {
            if indexes.is_empty() || rig.stop.load(Ordering::Relaxed) {
                break;
            }
            let words: Vec<String> = faults.iter().map(CliFault::to_string).collect();
            let step =
                format!("once more, with faults of what claude prints: {}", words.join(", "));
            let _ = tell(TrialEvent::Step(&step).into());
            let (mut agent_faults, mut faulty) = (AgentFaults::default(), Vec::new());
            for (index, fault) in indexes.iter().zip(faults) {
                agent_faults.add(jobs[*index].name(), *fault);
                faulty.push(jobs[*index].with_fault(*fault));
            }
            let playing = &Playing { agent_faults, ..how.playing.clone() };
            let how = Play { playing, ..how };
            let again = play(&faulty, how, rig, &mut |event| self.note_in_vain(&event));
            let again = self.unless_failed(again)?;
            for (place, seen) in again.iter().enumerate() {
                let Some(seen) = seen else { continue };
                let agent_faults = vec![faults[place]];
                let conditions = &Conditions { agent_faults, ..self.conditions.clone() };
                self.add_again(indexes[place], &faulty[place], conditions, seen);
            }
        }
        Ok(())
    }

    /// Adds the findings of a run of a cassette under other conditions, if those of the run before it are others.
    fn add_again(&mut self, index: usize, job: &Job, conditions: &Conditions, seen: &DriveResult) {
        let Some(check) = &mut self.checks[index] else { return };
        let is_put_off = seen.entries.iter().any(|entry| entry.wait_s().is_some());
        if conditions.faults != Faults::None && !is_put_off {
            let name = job.name();
            self.notes
                .push(format!("not tried: a 429 at the result of {name}: no call came after it"));
        }
        let (gateway, rig) = (self.gateway, self.rig);
        let place = FindingPlace { gateway, job, rig, conditions, before: &[] };
        let mut found = violations(job, seen, self.traits, gateway.spec.front, None);
        found.retain(|found| {
            !check.findings.iter().any(|known| known.id == FindingId::Known(found.kind))
        });
        check.findings.extend(place.mark(&mut self.known, found, &seen.entries).0);
        check.took = check.took.map(|took| took + seen.took);
    }
}
