//! Mutations of a capture that a reader of its bytes must survive: one small damage each, drawn from a seed.

use clitape_recording::capture::Capture;
use strum::{EnumIter, IntoEnumIterator as _, IntoStaticStr};

use super::faults::{AgentFault, AgentFaultKind};
use super::plan::Plan;
use super::played::{Lines, fault_of_kind};
use super::random::AgentDraw;

/// The kinds of mutations. All but the first are faults of the agent's side of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum MutationKind {
    /// A record is missing.
    Dropped,
    /// A whole message or a result comes twice.
    Twice,
    /// The output ends within or after a record.
    Cut,
    /// A line of a log comes inside a record, and inside a character where the capture has one of several bytes.
    LogInside,
    /// A record of a kind that no version of the CLI prints comes between two records.
    UnknownKind,
}

impl MutationKind {
    /// Returns all kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Returns its name in the corpus.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the fault of a plan that makes it; `None` for a missing record.
    fn fault(self) -> Option<AgentFaultKind> {
        match self {
            Self::Dropped => None,
            Self::Twice => Some(AgentFaultKind::Twice),
            Self::Cut => Some(AgentFaultKind::Cut),
            Self::LogInside => Some(AgentFaultKind::LogInside),
            Self::UnknownKind => Some(AgentFaultKind::UnknownKind),
        }
    }
}

/// A mutation of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// The kind.
    pub kind: MutationKind,
    /// The number of the line, from 1.
    pub line: u64,
    /// The number of bytes of the line before the damage; `None` if the whole line is meant.
    pub byte: Option<u64>,
    /// The bytes with the damage.
    pub stdout: Vec<u8>,
}

impl Mutation {
    /// Draws a mutation of some bytes; `None` if the kind fits none of their lines.
    pub fn draw(kind: MutationKind, stdout: &[u8], seed: u64) -> Option<Self> {
        let lines = Lines::of(stdout);
        let mut draw = AgentDraw::new(seed, stdout.len() as u64);
        let Some(fault) = kind.fault() else {
            let number = 1 + draw.below(lines.len());
            let line = lines.get(number)?;
            let stdout = [&stdout[..line.start], &stdout[line.end..]].concat();
            return Some(Self { kind, line: number, byte: None, stdout });
        };
        let fault = match inside_character(stdout, &lines, &mut draw) {
            Some((number, byte)) if kind == MutationKind::LogInside => {
                AgentFault { number, kind: fault, byte }
            }
            _ if lines.len() == 0 => return None,
            _ => fault_of_kind(fault, Capture::from(stdout), &lines, &mut draw)?,
        };
        let plan = Plan { agent: vec![fault], ..Plan::at_once(stdout.len() as u64) };
        let stdout = plan.played(Capture::from(stdout)).stdout.into_owned();
        let byte = fault.kind.row().has_byte.then_some(fault.byte);
        Some(Self { kind, line: fault.number, byte, stdout })
    }
}

/// Draws a place inside a character of several bytes: a line, and the bytes before the place.
fn inside_character(stdout: &[u8], lines: &Lines<'_>, draw: &mut AgentDraw) -> Option<(u64, u64)> {
    let is_inside = |byte: &u8| byte & 0xc0 == 0x80;
    let places: Vec<usize> =
        (0..).zip(stdout).filter(|(_, byte)| is_inside(byte)).map(|(at, _)| at).collect();
    let drawn = usize::try_from(draw.below(places.len() as u64)).ok()?;
    let at = *places.get(drawn)?;
    let number =
        (1..=lines.len()).find(|number| lines.get(*number).is_some_and(|line| at < line.end))?;
    Some((number, (at - lines.get(number)?.start) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STDOUT: &str = concat!(
        "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"Grüße\"}]}}\n",
        "{\"type\":\"result\",\"result\":\"Grüße\"}\n",
    );

    #[test]
    fn each_kind_damages_one_place() {
        for seed in 0..20 {
            for kind in MutationKind::all() {
                let drawn = Mutation::draw(kind, STDOUT.as_bytes(), seed).unwrap();
                assert_eq!(Some(&drawn), Mutation::draw(kind, STDOUT.as_bytes(), seed).as_ref());
                let lines = drawn.stdout.split_inclusive(|byte| *byte == b'\n').count();
                let (expect, is_text) = match kind {
                    MutationKind::Dropped => (1..=1, true),
                    MutationKind::Twice | MutationKind::UnknownKind => (3..=3, true),
                    MutationKind::Cut => (0..=2, true),
                    MutationKind::LogInside => (3..=3, false),
                };
                assert!(expect.contains(&lines), "{kind:?} of seed {seed}: {lines} lines");
                let is_cut = kind == MutationKind::Cut;
                assert!(is_cut || str::from_utf8(&drawn.stdout).is_ok() == is_text, "{kind:?}");
            }
        }
    }

    #[test]
    fn bytes_without_a_line_have_no_mutation() {
        for kind in MutationKind::all() {
            assert_eq!(Mutation::draw(kind, b"", 1), None, "{kind:?}");
        }
    }
}
