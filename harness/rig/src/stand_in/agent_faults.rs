//! The faults of `claude`'s output: bytes that a gateway meets in the field although no recording has them.
//!
//! They are those of `docs/faults.md` that are fair for any gateway: a person ends up reading what the recording says, or
//! that the turn was cut off. Each has a fixed place, so that a finding comes again.

use std::fmt;
use std::str::FromStr;

use clitape_recording::cassette::{Cassette, Exit, TickKind};
use clitape_runner::replay::{LOG_LINES, UNKNOWN_RECORDS, says_the_same_twice};

use super::adapt::{Rendered, Splice};
use super::dialogue::{Dialogue, Role};

/// The signal by which [`CliFault::Cut`] ends the process.
pub(super) const KILLED: i32 = 9;
/// The characters of [`CliFault::LongLine`]; many readers take lines of 64 KiB at most.
const LONG: usize = 70_000;
/// The index, in [`LOG_LINES`] and in [`UNKNOWN_RECORDS`], of the text before the first line, before one in the middle, and
/// before a result.
const LOGGED: [usize; 3] = [0, 1, 5];
const UNKNOWN: [usize; 3] = [1, 2, 0];

/// A fault of `claude`'s output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum CliFault {
    /// Lines end with CR and LF.
    Crlf,
    /// A banner before the first record, a line of a log between two, and a warning before the result.
    LogLine,
    /// Records, events and deltas of kinds that no version prints.
    UnknownKind,
    /// A result of more than 64 KiB, most of it in an unknown field.
    LongLine,
    /// The process is killed in the middle of the first result.
    Cut,
    /// The whole messages of the model the results of calls and the result come twice.
    Double,
}

impl FromStr for CliFault {
    /// The sentence about a word that is no fault.
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|fault| fault.to_string() == word);
        found.ok_or_else(|| {
            let all = Self::ALL.map(|fault| fault.to_string()).join(", ");
            format!("`{word}` is no fault of `claude`'s output; write one of {all}")
        })
    }
}

impl CliFault {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Crlf, Self::LogLine, Self::UnknownKind, Self::LongLine, Self::Cut, Self::Double];
}

/// A fault, and the cassette that has it; `None` for each one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FaultOf {
    cassette: Option<String>,
    fault: CliFault,
}

/// The value of `CLITAPE_AGENT_FAULTS`: faults with commas between them, each for every cassette, as in `crlf`, or for
/// one, as in `plain-text/2.1.332=crlf`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentFaults(Vec<FaultOf>);

impl AgentFaults {
    /// Returns these faults for every cassette.
    pub(crate) fn of_all(faults: &[CliFault]) -> Self {
        Self(faults.iter().map(|fault| FaultOf { cassette: None, fault: *fault }).collect())
    }

    /// Adds a fault of the cassette `NAME/VERSION`.
    pub(crate) fn add(&mut self, cassette: String, fault: CliFault) {
        self.0.push(FaultOf { cassette: Some(cassette), fault });
    }

    /// Returns the faults of the cassette `NAME/VERSION`.
    pub(crate) fn of(&self, name: &str) -> Vec<CliFault> {
        let is_its = |one: &&FaultOf| one.cassette.as_ref().is_none_or(|cassette| cassette == name);
        self.0.iter().filter(is_its).map(|one| one.fault).collect()
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for AgentFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, FaultOf { cassette, fault }) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match cassette {
                Some(cassette) => write!(f, "{comma}{cassette}={fault}")?,
                None => write!(f, "{comma}{fault}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for AgentFaults {
    /// The sentence about a word that is no fault.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |word: &str| {
            let (cassette, fault) = match word.split_once('=') {
                Some((cassette, fault)) => (Some(cassette.to_owned()), fault),
                None => (None, word),
            };
            Ok(FaultOf { cassette, fault: fault.parse()? })
        };
        text.split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(one)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Returns the number of bytes that a cassette prints with [`CliFault::Cut`]: up to the middle of its first result. `None`
/// if it has none.
pub(super) fn cut_at(cassette: &Cassette) -> Option<usize> {
    let dialogue = Dialogue::cut(cassette);
    let result = dialogue.lines.iter().find(|line| line.role == Role::Result)?;
    Some(result.range.start + result.range.len() / 2)
}

/// Changes a cassette as [`CliFault::Cut`] does: the process is killed in the middle of its first result. Returns whether
/// there is one.
pub(crate) fn cut_off(cassette: &mut Cassette) -> bool {
    let Some(at) = cut_at(cassette) else { return false };
    cassette.stdout.truncate(at);
    let mut left = at as u64;
    cassette.timeline.retain_mut(|tick| match &mut tick.kind {
        TickKind::Out(bytes) => {
            *bytes = left.min(*bytes);
            left -= *bytes;
            *bytes > 0
        }
        TickKind::In { offset, .. } => offset.is_none_or(|offset| offset <= at as u64),
        TickKind::Err(_) | TickKind::Exit(_) | TickKind::Marker(_) => true,
    });
    cassette.manifest.exit = Some(Exit::Signal(KILLED));
    true
}

/// The faults of one cassette while it is printed.
#[derive(Debug, Default)]
pub(super) struct FaultyPrint {
    faults: Vec<CliFault>,
    /// The place from which on a line counts as one in the middle.
    middle: usize,
    /// The number of lines that were printed.
    printed: usize,
    /// True once a line in the middle was printed.
    is_past_middle: bool,
}

/// The parts of a line that is printed: the lines around it, and what takes the place of its parts.
#[derive(Debug)]
pub(super) struct LineParts {
    pub(super) before: Vec<u8>,
    pub(super) splices: Vec<Splice>,
    pub(super) after: Vec<u8>,
}

impl FaultyPrint {
    pub(super) fn new(faults: Vec<CliFault>, lines: usize) -> Self {
        Self { faults, middle: lines / 2, ..Self::default() }
    }

    fn has(&self, fault: CliFault) -> bool {
        self.faults.contains(&fault)
    }

    /// Adds the faults of a line, the one with this index, to its parts.
    pub(super) fn spoil(
        &mut self,
        index: usize,
        role: &Role,
        line: &[u8],
        mut parts: LineParts,
    ) -> LineParts {
        if self.faults.is_empty() {
            return parts;
        }
        let is_result = *role == Role::Result;
        let is_middle = !self.is_past_middle && index >= self.middle;
        self.is_past_middle |= is_middle;
        let place = match (self.printed, is_result, is_middle) {
            (0, ..) => Some(0),
            (_, true, _) => Some(2),
            (_, _, true) => Some(1),
            _ => None,
        };
        self.printed += 1;
        if let Some(place) = place {
            let texts = [
                (CliFault::LogLine, LOG_LINES[LOGGED[place]]),
                (CliFault::UnknownKind, UNKNOWN_RECORDS[UNKNOWN[place]]),
            ];
            for (_, text) in texts.into_iter().filter(|(fault, _)| self.has(*fault)) {
                parts.before.extend_from_slice(text.as_bytes());
            }
        }
        if is_result && self.has(CliFault::LongLine) && line.starts_with(b"{\"") {
            let field = format!("\"from_the_future\":\"{}\",", "x".repeat(LONG));
            parts.splices.insert(0, (1..1, field.into_bytes()));
        }
        let is_whole = || serde_json::from_slice(line).is_ok_and(|line| says_the_same_twice(&line));
        if self.has(CliFault::Double) && is_whole() {
            parts.after = [again(line, &parts.splices), parts.after].concat();
        }
        if self.has(CliFault::Crlf) {
            if line.ends_with(b"\n") {
                parts.splices.push((line.len() - 1..line.len(), b"\r\n".to_vec()));
            }
            parts.before = crlf(&parts.before);
            parts.after = crlf(&parts.after);
        }
        parts
    }
}

/// Returns a line with its parts replaced, and with an end of line.
fn again(line: &[u8], splices: &[Splice]) -> Vec<u8> {
    let mut bytes = Rendered::new(line, Vec::new(), splices.to_vec(), b"").bytes;
    if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes
}

/// Returns lines that end with CR and LF.
fn crlf(lines: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.len() + 8);
    for byte in lines {
        if *byte == b'\n' {
            bytes.push(b'\r');
        }
        bytes.push(*byte);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line, its role, and what is printed of it; `…` stands for many characters.
    fn check(fault: CliFault, lines: &[(&str, Role)], expect: &[&str]) {
        let mut faulty = FaultyPrint::new(vec![fault], lines.len());
        let printed = lines.iter().enumerate().map(|(index, (line, role))| {
            let parts = LineParts { before: Vec::new(), splices: Vec::new(), after: Vec::new() };
            let LineParts { before, splices, after } =
                faulty.spoil(index, role, line.as_bytes(), parts);
            let line = again(line.as_bytes(), &splices);
            let text = String::from_utf8([before, line, after].concat()).unwrap();
            text.replace(&"x".repeat(LONG), "…")
        });
        assert_eq!(printed.collect::<Vec<_>>(), expect, "{fault}");
    }

    #[test]
    fn faults_stand_before_the_first_line_in_the_middle_and_at_the_result() {
        let lines = [
            ("{\"type\":\"system\"}\n", Role::Init),
            ("{\"type\":\"stream_event\"}\n", Role::Piece),
            ("{\"type\":\"result\"}\n", Role::Result),
        ];
        let whole = lines.clone().map(|(line, _)| line);
        let [first, middle, last] = whole;
        let before = |texts: [&str; 3]| {
            [texts[0].to_owned() + first, texts[1].to_owned() + middle, texts[2].to_owned() + last]
        };
        let logged = before(LOGGED.map(|index| LOG_LINES[index]));
        check(CliFault::LogLine, &lines, &logged.each_ref().map(String::as_str));
        let unknown = before(UNKNOWN.map(|index| UNKNOWN_RECORDS[index]));
        check(CliFault::UnknownKind, &lines, &unknown.each_ref().map(String::as_str));
        let crlf = whole.map(|line| line.replace('\n', "\r\n"));
        check(CliFault::Crlf, &lines, &crlf.each_ref().map(String::as_str));
        let long = last.replace("{\"type", "{\"from_the_future\":\"…\",\"type");
        check(CliFault::LongLine, &lines, &[first, middle, &long]);
        check(CliFault::Double, &lines, &[first, middle, &last.repeat(2)]);
        check(CliFault::Cut, &lines, &whole);
    }

    #[test]
    fn faults_are_of_all_cassettes_or_of_one() {
        let faults: AgentFaults = "crlf, plain-text/2.1.332=cut".parse().unwrap();
        assert_eq!(faults.of("plain-text/2.1.332"), [CliFault::Crlf, CliFault::Cut]);
        assert_eq!(faults.of("three-tools/2.1.332"), [CliFault::Crlf]);
        assert_eq!(faults.to_string(), "crlf,plain-text/2.1.332=cut");
        let wrong = "lf".parse::<AgentFaults>().unwrap_err();
        assert!(wrong.starts_with("`lf` is no fault") && wrong.contains("long-line"), "{wrong}");
    }
}
