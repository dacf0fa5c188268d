//! A plan: the resolved cuts, delays and faults of one replay, and the moments of the host's lines.
//!
//! A plan is made from a cassette's timeline or from a seed, and is then data: it can be printed,
//! kept and replayed without whatever made it.
//!
//! A recorded process always gets the answers that were recorded, so that its output after an answer stays
//! the same. A plan varies what the gateway hears of an answer: early, late, twice, never, or with the id
//! of no question.

use std::fmt;
use std::str::FromStr;

use clitape_recording::capture::{Capture, StdinLine};
use clitape_recording::cassette::{Tick, TickKind};
use clitape_recording::limits::{FAULTS, PAUSE_MS};
use clitape_recording::scenario::{Fault, FaultKind};
use clitape_recording::text::plural;
use serde::{Deserialize, Serialize};

use super::faults::{AgentFault, AnswerFault, HostStep};
use super::random;

/// The format of a printed plan.
pub const PLAN_FORMAT: u32 = 1;

/// The cuts, delays and faults of one replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// The seed it was made from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The pieces, in order.
    pub steps: Vec<PlanStep>,
    /// The lines of the host, in the order in which they are handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostStep>,
    /// The faults of the chat's server. If a call has two of them, the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The faults of the agent's side, which change the bytes. The sizes and places of the plan are those of the
    /// bytes without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent: Vec<AgentFault>,
}

/// One piece of the bytes; printed as `[after_ms, bytes]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 2]", into = "[u64; 2]")]
pub struct PlanStep {
    /// Milliseconds since the piece before.
    pub after_ms: u64,
    /// Size of the piece.
    pub bytes: u64,
}

impl From<[u64; 2]> for PlanStep {
    fn from([after_ms, bytes]: [u64; 2]) -> Self {
        Self { after_ms, bytes }
    }
}

impl From<PlanStep> for [u64; 2] {
    fn from(step: PlanStep) -> Self {
        [step.after_ms, step.bytes]
    }
}

/// The way in which a replay cuts the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// As they were read.
    None,
    /// At every line end.
    Line,
    /// At every byte.
    Byte,
    /// After each block of this number of bytes.
    Size(u64),
    /// Anywhere, with random delays.
    Random,
}

impl Cut {
    /// The number of pieces into which it cuts `total` bytes, if the number depends on `total` alone; else 0.
    pub(super) fn pieces(self, total: u64) -> u64 {
        match self {
            Self::Byte => total,
            Self::Size(n) => total.div_ceil(n),
            Self::None | Self::Line | Self::Random => 0,
        }
    }
}

/// The word that [`FromStr`] reads.
impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Line => f.write_str("line"),
            Self::Byte => f.write_str("byte"),
            Self::Size(n) => n.fmt(f),
            Self::Random => f.write_str("random"),
        }
    }
}

/// Why a word is not a [`Cut`].
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a way to cut; write line, byte, random, none or a number of bytes")]
pub struct CutError(String);

impl FromStr for Cut {
    type Err = CutError;

    fn from_str(word: &str) -> Result<Self, CutError> {
        match word {
            "none" => Ok(Self::None),
            "line" => Ok(Self::Line),
            "byte" => Ok(Self::Byte),
            "random" => Ok(Self::Random),
            _ => match word.parse() {
                Ok(n) if n > 0 => Ok(Self::Size(n)),
                _ => Err(CutError(word.to_owned())),
            },
        }
    }
}

/// Why a plan can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The text is not a plan.
    #[error(
        "this is not a plan: {0}; print one with `clitape replay CASSETTE --seed N --print-plan`"
    )]
    Parse(#[from] serde_json::Error),
    /// It was printed by a later version.
    #[error("the plan has format {0}, this version reads up to {PLAN_FORMAT}; update clitape")]
    TooNew(u32),
    /// It has too many faults, or waits too long for a piece or a line of the host.
    #[error("the plan has {what}; {most} are the most")]
    TooMuch {
        /// The excess in words.
        what: String,
        /// The most that it may have.
        most: u64,
    },
    /// It was made for other bytes.
    #[error(
        "the plan is for {plan} bytes, the input has {input}; it was made for another cassette"
    )]
    OtherBytes {
        /// Bytes the plan accounts for.
        plan: u64,
        /// Bytes there are.
        input: u64,
    },
    /// It has a fault of the agent's side at a line or a byte that is not there.
    #[error(
        "the plan has the fault `{fault}`, and the input, which has {lines} lines, has no such place; it was made \
         for another cassette"
    )]
    OtherLines {
        /// The fault.
        fault: AgentFault,
        /// The number of lines that there are.
        lines: u64,
    },
    /// It has faults of the agent's side, and the bytes are printed as they were recorded.
    #[error(
        "the plan has faults of the agent's side, and only `clitape replay` and `clitape test` play those; remove \
         `agent`"
    )]
    AgentFaults,
    /// It was made for another dialogue.
    #[error(
        "the plan hands over line {line} of stdin at byte {at}; the input has {lines} lines of stdin and \
         {bytes} bytes, so that the plan was made for another cassette"
    )]
    OtherDialogue {
        /// The number of the line in the plan.
        line: u64,
        /// Where the plan hands it over.
        at: u64,
        /// The number of lines that there are.
        lines: u64,
        /// The number of bytes that there are.
        bytes: u64,
    },
}

impl Plan {
    /// A plan without bytes, lines and faults.
    fn empty() -> Self {
        let (steps, host) = (Vec::new(), Vec::new());
        Self { format: PLAN_FORMAT, seed: None, steps, host, faults: Vec::new(), agent: Vec::new() }
    }

    /// All `bytes` at once, without the host's lines.
    pub fn at_once(bytes: u64) -> Self {
        Self { steps: vec![PlanStep { after_ms: 0, bytes }], ..Self::empty() }
    }

    /// The reads as they were recorded, at the times they were recorded.
    pub fn recorded(timeline: &[Tick]) -> Self {
        let reads = reads(timeline);
        let ends: Vec<u64> = reads.iter().map(|read| read.end).collect();
        Self::at_recorded_times(&reads, &ends).with_recorded_dialogue(timeline)
    }

    /// Cut as `cut` says; the pieces come when the recorded read that brought their last byte did,
    /// or, at random, when `seed` says.
    pub fn cut<'a>(
        capture: impl Into<Capture<'a>>,
        timeline: &[Tick],
        cut: Cut,
        seed: u64,
    ) -> Self {
        let capture = capture.into();
        let total = capture.stdout.len() as u64;
        let every = |n: u64| (1..=total.div_ceil(n)).map(|i| (i * n).min(total)).collect();
        let ends: Vec<u64> = match cut {
            Cut::None => return Self::recorded(timeline),
            Cut::Random => return Self::seeded(capture, seed),
            Cut::Line => line_ends(capture.stdout),
            Cut::Byte => every(1),
            Cut::Size(n) => every(n),
        };
        Self::at_recorded_times(&reads(timeline), &ends).with_recorded_dialogue(timeline)
    }

    /// Whole lines, `pace_ms` apart, without the host's lines.
    fn paced(stdout: &[u8], pace_ms: u64) -> Self {
        let mut start = 0;
        let steps = line_ends(stdout).into_iter().enumerate().map(|(i, end)| {
            let bytes = end - start;
            start = end;
            PlanStep { after_ms: if i == 0 { 0 } else { pace_ms }, bytes }
        });
        Self { steps: steps.collect(), ..Self::empty() }
    }

    /// Random cuts and delays, the same ones for the same seed on every machine, without the host's lines.
    pub(super) fn random(stdout: &[u8], seed: u64) -> Self {
        let pieces = random::pieces(&line_ends(stdout), stdout.ends_with(b"\n"), seed);
        let step = |(after_ms, bytes)| PlanStep { after_ms, bytes };
        let steps = pieces.into_iter().map(step).collect();
        Self { seed: Some(seed), steps, ..Self::empty() }
    }

    /// The same cuts and delays with these faults of the chat's server after those it has.
    #[must_use]
    pub fn with_faults(mut self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.faults.extend(faults);
        self
    }

    /// Random faults of `kinds`, the same ones for the same seed on every machine: four at most, at
    /// the first calls. Few enough for the final message to arrive (V6).
    pub fn random_faults(seed: u64, kinds: &[FaultKind]) -> Vec<Fault> {
        random::faults(seed, kinds)
    }

    /// The same arrival times without the cuts: every line comes whole, at the moment this plan
    /// brings its last byte.
    pub fn uncut(&self, stdout: &[u8]) -> Self {
        let ends = line_ends(stdout);
        let mut steps = Vec::with_capacity(ends.len());
        let (mut pieces, mut arrived, mut now) = (self.steps.iter(), 0, 0);
        let (mut start, mut before) = (0, 0);
        for end in ends {
            while arrived < end {
                let Some(piece) = pieces.next() else { break };
                arrived += piece.bytes;
                now += piece.after_ms;
            }
            steps.push(PlanStep { after_ms: now - before, bytes: end - start });
            (start, before) = (end, now);
        }
        // Delays behind the last byte still pass before the end of the bytes.
        let rest: u64 = pieces.map(|piece| piece.after_ms).sum();
        if rest > 0 {
            steps.push(PlanStep { after_ms: rest, bytes: 0 });
        }
        Self { steps, ..self.clone() }
    }

    /// Returns whether another plan prints and writes the same at the same times, with the same faults.
    pub(crate) fn is_replayed_as(&self, other: &Self) -> bool {
        let Self { format: _, seed: _, steps, host, faults, agent } = self;
        (steps, host, faults, agent) == (&other.steps, &other.host, &other.faults, &other.agent)
    }

    /// The number of its pieces and of the host's lines, each of which is a step of the replay.
    pub(super) fn pieces_and_lines(&self) -> u64 {
        self.steps.len() as u64 + self.host.len() as u64
    }

    /// The plan with the steps `from..to` as one, which comes when the last of them did.
    pub fn glued(&self, from: usize, to: usize) -> Self {
        let mut plan = self.clone();
        let mut glued = PlanStep { after_ms: 0, bytes: 0 };
        for step in plan.steps.splice(from..to, []) {
            glued.after_ms += step.after_ms;
            glued.bytes += step.bytes;
        }
        plan.steps.insert(from, glued);
        plan
    }

    /// The bytes as this plan brings them: milliseconds since the piece before, and the piece.
    pub fn pieces<'a>(&self, stdout: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> {
        self.steps.iter().scan(stdout, |rest, step| {
            let size = usize::try_from(step.bytes).unwrap_or(usize::MAX).min(rest.len());
            let (piece, more) = rest.split_at(size);
            *rest = more;
            Some((step.after_ms, piece))
        })
    }

    /// Reads a printed plan for an input of `total` bytes.
    ///
    /// # Errors
    ///
    /// [`PlanError`] if the text can't be read as a plan, or the plan is for other bytes.
    pub fn parse(text: &str, total: u64) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text)?;
        if plan.format > PLAN_FORMAT {
            return Err(PlanError::TooNew(plan.format));
        }
        let too_much = |what: String, most: u64| Err(PlanError::TooMuch { what, most });
        if plan.faults.len() > FAULTS {
            return too_much(format!("{} faults", plan.faults.len()), FAULTS as u64);
        }
        if plan.agent.len() > FAULTS {
            let what = format!("{} faults of the agent's side", plan.agent.len());
            return too_much(what, FAULTS as u64);
        }
        let pauses = plan.steps.iter().map(|step| step.after_ms);
        let mut pauses = pauses.chain(plan.host.iter().map(|step| step.after_ms));
        if let Some(pause) = pauses.find(|&pause| pause > PAUSE_MS) {
            return too_much(format!("a pause of {pause} ms"), PAUSE_MS);
        }
        let bytes = plan.steps.iter().fold(0, |sum: u64, step| sum.saturating_add(step.bytes));
        if bytes != total {
            return Err(PlanError::OtherBytes { plan: bytes, input: total });
        }
        Ok(plan)
    }

    /// The plan, if it leaves the bytes as they were recorded.
    ///
    /// # Errors
    ///
    /// [`PlanError::AgentFaults`] when it does not.
    pub fn without_agent_faults(self) -> Result<Self, PlanError> {
        if self.agent.is_empty() { Ok(self) } else { Err(PlanError::AgentFaults) }
    }

    /// The plan as one line of JSON, without LF.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("numbers in a struct serialise")
    }

    fn at_recorded_times(reads: &[RecordedRead], ends: &[u64]) -> Self {
        let mut steps = Vec::with_capacity(ends.len());
        let (mut start, mut before, mut read) = (0, 0, 0);
        for &end in ends {
            while read + 1 < reads.len() && reads[read].end < end {
                read += 1;
            }
            let at = reads.get(read).map_or(0, |read| read.at);
            steps.push(PlanStep { after_ms: at - before, bytes: end - start });
            (start, before) = (end, at);
        }
        Self { steps, ..Self::empty() }
    }
}

/// A recorded read: where its bytes end, and when it came (ms since the first one).
struct RecordedRead {
    end: u64,
    at: u64,
}

fn reads(timeline: &[Tick]) -> Vec<RecordedRead> {
    let (mut end, mut now, mut first) = (0, 0, None);
    let mut reads = Vec::new();
    for tick in timeline {
        now += tick.after_ms;
        if let TickKind::Out(n) = tick.kind {
            end += n;
            reads.push(RecordedRead { end, at: now - *first.get_or_insert(now) });
        }
    }
    reads
}

/// Where lines end; an unterminated last one ends with the bytes.
pub(super) fn line_ends(stdout: &[u8]) -> Vec<u64> {
    let mut ends: Vec<u64> = memchr::memchr_iter(b'\n', stdout).map(|at| at as u64 + 1).collect();
    let total = stdout.len() as u64;
    if total > 0 && ends.last() != Some(&total) {
        ends.push(total);
    }
    ends
}

/// The number of line feeds.
pub(super) fn line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

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

/// The next step of a replay.
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
        self.host = host_steps(stdin, |line| if line.is_answer { ANSWER_MS } else { pace_ms });
        self
    }

    /// The same plan with the lines of the host at random moments after what made the host write them, and
    /// with random faults of the answers.
    #[must_use]
    fn with_random_dialogue(mut self, capture: Capture<'_>, seed: u64) -> Self {
        let mut draw = random::RandomDialogue::new(seed);
        let ends = line_ends(capture.stdout);
        let steps = host_steps(capture.stdin, |_| draw.delay());
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
    fn with_recorded_dialogue(mut self, timeline: &[Tick]) -> Self {
        let (mut read, mut since) = (0, 0);
        // The first piece that begins at or after the bytes that are read, and where it begins.
        let (mut next, mut begin) = (0, 0);
        for tick in timeline {
            since += tick.after_ms;
            match tick.kind {
                TickKind::Out(n) => (read, since) = (read + n, 0),
                TickKind::In { line, .. } => {
                    // A plan leaves out the time before the first read.
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

    /// Returns whether every line of the host comes once, with its own id, at its place.
    pub(super) fn is_faithful(&self, stdin: &[StdinLine]) -> bool {
        let faithful = host_steps(stdin, |_| 0);
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

    /// Returns the plan's actions, each with the milliseconds since the one before. A piece is cut where the host
    /// writes.
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
fn host_steps(stdin: &[StdinLine], mut delay: impl FnMut(&StdinLine) -> u64) -> Vec<HostStep> {
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
