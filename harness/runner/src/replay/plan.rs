//! A plan: the resolved cuts, delays and faults of one replay.
//!
//! A plan is made from a cassette's timeline or from a seed, and is then data: it can be printed,
//! kept and replayed without whatever made it.

use std::fmt;
use std::str::FromStr;

use clitape_recording::capture::Capture;
use clitape_recording::cassette::{Tick, TickKind};
use clitape_recording::limits::{FAULTS, PAUSE_MS};
use clitape_recording::scenario::{Fault, FaultKind};
use serde::{Deserialize, Serialize};

use super::agent_fault::AgentFault;
use super::host_step::HostStep;
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

/// How a replay cuts the bytes.
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
    /// The number of pieces into which it cuts `total` bytes, where the number depends on nothing else.
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
        /// How much it may have.
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
    pub(super) fn paced(stdout: &[u8], pace_ms: u64) -> Self {
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
    /// [`PlanError`] when the text is no plan or the plan is for other bytes.
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

#[cfg(test)]
mod tests;
