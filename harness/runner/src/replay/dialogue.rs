//! The host's side of a plan: when each line that the host wrote is handed over, and what goes wrong with
//! its answers.
//!
//! A recorded process always gets the answers that were recorded, so that its output after an answer stays
//! what it is. What varies is what the gateway hears of an answer: early, late, twice, never, or with the id
//! of no question.

use clitape_recording::capture::{Capture, StdinLine};
use clitape_recording::cassette::{Tick, TickKind};
use clitape_recording::text::plural;

use super::host_step::{AnswerFault, HostStep};
use super::plan::{Plan, PlanError, line_ends};
use super::random;

/// Milliseconds that a person takes for an answer in the replay that goldens are made of.
const ANSWER_MS: u64 = 3_000;
/// The most answers whose faults are enumerated one by one.
const ENUMERATED: usize = 6;

impl AnswerFault {
    /// The fault in words, after the name of the line.
    fn words(self) -> String {
        match self {
            Self::Early => "early".to_owned(),
            Self::Late(lines) => format!("{} late", plural(lines, "record")),
            Self::Last => "after everything else".to_owned(),
            Self::Twice => "twice".to_owned(),
            Self::Never => "never".to_owned(),
            Self::WrongId => "with a wrong id".to_owned(),
            Self::WrongIdFirst => "first with a wrong id".to_owned(),
        }
    }

    /// The steps of an answer with this fault. `ends` are the ends of the lines of stdout.
    fn steps(self, step: HostStep, ends: &[u64]) -> Vec<HostStep> {
        let read = ends.partition_point(|&end| end <= step.at);
        let total = ends.last().copied().unwrap_or(0);
        let later = |lines: usize| {
            let at = ends.get((read + lines).saturating_sub(1)).copied().unwrap_or(total);
            HostStep { at, ..step.clone() }
        };
        let wrong = || HostStep { wrong_id: true, ..step.clone() };
        match self {
            Self::Early => {
                let at = read.checked_sub(2).map_or(0, |index| ends[index]);
                vec![HostStep { at, ..step }]
            }
            Self::Late(lines) => vec![later(lines)],
            Self::Last => vec![HostStep { at: total, ..step }],
            Self::Twice => vec![step.clone(), HostStep { after_ms: 0, ..later(1) }],
            Self::Never => Vec::new(),
            Self::WrongId => vec![wrong()],
            Self::WrongIdFirst => vec![wrong(), step],
        }
    }
}

/// What a replay does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action<'a> {
    /// The CLI printed these bytes.
    Print(&'a [u8]),
    /// The host wrote this line.
    Write(Vec<u8>),
}

impl Plan {
    /// The replay that goldens are made of: whole lines, `pace_ms` apart, and the host's lines where it wrote
    /// them. It does not depend on the speed of the machine that recorded.
    pub fn canonical<'a>(capture: impl Into<Capture<'a>>, pace_ms: u64) -> Self {
        let Capture { stdout, stdin } = capture.into();
        Self::paced(stdout, pace_ms).with_dialogue(stdin, pace_ms)
    }

    /// Random cuts and delays, and the host's lines at random moments with random faults of its answers, the
    /// same ones for the same seed on every machine.
    pub fn seeded<'a>(capture: impl Into<Capture<'a>>, seed: u64) -> Self {
        let capture = capture.into();
        Self::random(capture.stdout, seed).with_random_dialogue(capture, seed)
    }

    /// The same plan with the lines of the host at their places: a person takes 3 s for an answer, and the
    /// other lines come `pace_ms` after what made the host write them.
    #[must_use]
    pub(super) fn with_dialogue(mut self, stdin: &[StdinLine], pace_ms: u64) -> Self {
        self.host = steps(stdin, |line| if line.is_answer { ANSWER_MS } else { pace_ms });
        self
    }

    /// The same plan with the lines of the host at random moments after what made the host write them, and
    /// with random faults of the answers.
    #[must_use]
    fn with_random_dialogue(mut self, capture: Capture<'_>, seed: u64) -> Self {
        let mut draw = random::RandomDialogue::new(seed);
        let ends = line_ends(capture.stdout);
        let steps = steps(capture.stdin, |_| draw.delay());
        let steps = steps.into_iter().zip(capture.stdin).flat_map(|(step, line)| {
            match draw.fault().filter(|_| line.is_answer) {
                None => vec![step],
                Some(fault) => fault.steps(step, &ends),
            }
        });
        self.host = steps.collect();
        self.host.sort_by_key(|step| step.at);
        self
    }

    /// The same plan with the lines of the host when they were written.
    #[must_use]
    pub(super) fn with_recorded_dialogue(mut self, timeline: &[Tick]) -> Self {
        let (mut read, mut since) = (0, 0);
        // The first piece that begins at or after the bytes that are read, and where it begins.
        let (mut next, mut begin) = (0, 0);
        for tick in timeline {
            since += tick.after_ms;
            match tick.kind {
                TickKind::Out(n) => (read, since) = (read + n, 0),
                TickKind::In { line, .. } => {
                    // Time before the first read is no part of a plan.
                    let after_ms = if read == 0 { 0 } else { since };
                    self.host.push(HostStep { line, at: read, after_ms, wrong_id: false });
                    while let Some(step) = self.steps.get(next).filter(|_| begin < read) {
                        (next, begin) = (next + 1, begin + step.bytes);
                    }
                    if let Some(step) = self.steps.get_mut(next) {
                        step.after_ms = step.after_ms.saturating_sub(after_ms);
                    }
                    since = 0;
                }
                TickKind::Err(_) | TickKind::Marker(_) | TickKind::Exit(_) => {}
            }
        }
        self
    }

    /// One plan with its name for each fault of each answer, if there are few answers. The plan has every line
    /// of the host once.
    pub(crate) fn faulty_dialogues(&self, capture: Capture<'_>) -> Vec<(String, Self)> {
        let answers: Vec<usize> =
            (0..capture.stdin.len()).filter(|&index| capture.stdin[index].is_answer).collect();
        if answers.len() > ENUMERATED {
            return Vec::new();
        }
        let ends = line_ends(capture.stdout);
        let faulty = |index: usize, fault: AnswerFault| {
            let name = format!("stdin line {} {}", index + 1, fault.words());
            let mut plan = self.clone();
            let answer = plan.host.remove(index);
            plan.host.splice(index..index, fault.steps(answer, &ends));
            plan.host.sort_by_key(|step| step.at);
            (name, plan)
        };
        let plans = answers
            .into_iter()
            .flat_map(|index| AnswerFault::ALL.map(|fault| faulty(index, fault)));
        plans.collect()
    }

    /// Whether every line of the host comes once, with its own id, at its place.
    pub(super) fn is_faithful(&self, stdin: &[StdinLine]) -> bool {
        let faithful = steps(stdin, |_| 0);
        self.host.len() == faithful.len()
            && self.host.iter().zip(&faithful).all(|(step, expect)| {
                (step.line, step.at, step.wrong_id) == (expect.line, expect.at, false)
            })
    }

    /// Checks that the lines and places of the host's side are there.
    ///
    /// # Errors
    ///
    /// [`PlanError::OtherDialogue`] when the plan names a line or a byte that the capture does not have.
    pub fn check_dialogue(&self, capture: Capture<'_>) -> Result<(), PlanError> {
        let (lines, bytes) = (capture.stdin.len() as u64, capture.stdout.len() as u64);
        let is_there = |step: &&HostStep| (1..=lines).contains(&step.line) && step.at <= bytes;
        match self.host.iter().find(|step| !is_there(step)) {
            None => Ok(()),
            Some(HostStep { line, at, .. }) => {
                Err(PlanError::OtherDialogue { line: *line, at: *at, lines, bytes })
            }
        }
    }

    /// What the plan does, step by step, each with the milliseconds since the step before. A piece is cut
    /// where the host writes.
    pub(super) fn actions<'a>(&self, capture: Capture<'a>) -> Vec<(u64, Action<'a>)> {
        let mut actions = Vec::with_capacity(self.steps.len() + self.host.len());
        let mut host = self.host.iter().peekable();
        let mut read = 0_u64;
        let mut write = |read: u64, actions: &mut Vec<(u64, Action<'a>)>| {
            while let Some(step) = host.next_if(|step| step.at <= read) {
                let index = usize::try_from(step.line).ok().and_then(|line| line.checked_sub(1));
                let line = index.and_then(|index| capture.stdin.get(index));
                let line = line.map(|line| match step.wrong_id {
                    true => line.with_wrong_id(),
                    false => line.line.clone(),
                });
                actions.extend(line.map(|line| (step.after_ms, Action::Write(line))));
            }
            host.peek().map(|step| step.at)
        };
        let mut next = write(read, &mut actions);
        for (mut after_ms, mut piece) in self.pieces(capture.stdout) {
            loop {
                let room = next.map_or(u64::MAX, |next| next.saturating_sub(read));
                let size = usize::try_from(room).unwrap_or(usize::MAX).min(piece.len());
                let (first, rest) = piece.split_at(size);
                actions.push((after_ms, Action::Print(first)));
                read += first.len() as u64;
                next = write(read, &mut actions);
                if rest.is_empty() {
                    break;
                }
                (after_ms, piece) = (0, rest);
            }
        }
        write(u64::MAX, &mut actions);
        actions
    }
}

/// The lines of the host at their places, each after `delay` milliseconds.
fn steps(stdin: &[StdinLine], mut delay: impl FnMut(&StdinLine) -> u64) -> Vec<HostStep> {
    let step = |(line, written): (u64, &StdinLine)| HostStep {
        line,
        at: written.offset,
        // What is written before anything was read begins the replay.
        after_ms: if written.offset == 0 { 0 } else { delay(written) },
        wrong_id: false,
    };
    (1..).zip(stdin).map(step).collect()
}

#[cfg(test)]
mod tests;
