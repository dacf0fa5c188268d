//! Measures a program: the size of its output, with its limits, and its work. Two measurements of the work show whether
//! the program computes or waits.

use std::fmt;
use std::iter::Sum;

use clitape_gateway::ByteSize;
use clitape_recording::limits::OutputLimits;

/// A limit that a program has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The limit [`OutputLimits::bytes`].
    Bytes(ByteSize),
    /// The limit [`OutputLimits::line`].
    Line(ByteSize),
    /// The limit [`OutputLimits::lines`].
    Lines(u64),
    /// The limit of the account in which the output is counted.
    Kept(ByteSize),
    /// The limit of the memory of the program and its descendants.
    Memory(ByteSize),
}

impl Overflow {
    /// Returns the option that raises the limit.
    pub fn option(self) -> &'static str {
        match self {
            Self::Bytes(_) => "--max-output",
            Self::Line(_) => "--max-line",
            Self::Lines(_) => "--max-lines",
            Self::Kept(_) => "--max-kept",
            Self::Memory(_) => "--max-memory",
        }
    }

    /// Returns the limit and the option, such as "more than 64MiB on stdout or stderr; raise the limit with
    /// `--max-output`".
    pub fn with_option(self) -> String {
        format!("{self}; raise the limit with `{}`", self.option())
    }
}

/// Writes the excess in words, such as "more than 64MiB".
impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(most) => write!(f, "more than {most} on stdout or stderr"),
            Self::Line(most) => write!(f, "a line of more than {most}"),
            Self::Lines(most) => write!(f, "more than {most} lines, or in as many pieces"),
            Self::Kept(most) => write!(f, "more than {most} with what else is kept"),
            Self::Memory(most) => write!(f, "more than {most} of memory"),
        }
    }
}

/// The counts of one output stream of a program.
#[derive(Debug)]
pub struct Meter {
    limits: OutputLimits,
    bytes: u64,
    /// The number of bytes of the current line.
    line: u64,
    lines: u64,
    reads: u64,
}

impl Meter {
    /// Makes a meter for the start of a stream.
    pub fn new(limits: OutputLimits) -> Self {
        Self { limits, bytes: 0, line: 0, lines: 0, reads: 0 }
    }

    /// Counts one read.
    ///
    /// # Errors
    ///
    /// The first limit that it exceeds.
    pub fn take(&mut self, read: &[u8]) -> Result<(), Overflow> {
        let OutputLimits { bytes, line, lines } = self.limits;
        self.bytes += read.len() as u64;
        self.reads += 1;
        for part in read.split_inclusive(|&byte| byte == b'\n') {
            self.line += part.len() as u64;
            if self.line > line.get() {
                return Err(Overflow::Line(line));
            }
            if part.ends_with(b"\n") {
                self.line = 0;
                self.lines += 1;
            }
        }
        if self.bytes > bytes.get() {
            return Err(Overflow::Bytes(bytes));
        }
        if self.lines.max(self.reads) > lines {
            return Err(Overflow::Lines(lines));
        }
        Ok(())
    }
}

/// The work of a program and its descendants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// The processor time that they have used, in clock ticks; it falls when a descendant ends.
    pub ticks: u64,
    /// True if one of them computes, waits for a processor, or waits for a disk.
    pub is_running: bool,
}

impl Work {
    /// Reads the work of one process from its `/proc/PID/stat`. The program's name may contain blanks and parentheses,
    /// so this reads the fields after the last parenthesis.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
        let is_running = matches!(*fields.first()?, "R" | "D");
        Some(Self { ticks: ticks(11)? + ticks(12)?, is_running })
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            ticks: sum.ticks + one.ticks,
            is_running: sum.is_running || one.is_running,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: OutputLimits =
        OutputLimits { bytes: ByteSize::bytes(20), line: ByteSize::bytes(8), lines: 3 };

    #[track_caller]
    fn check(reads: &[&str], expect: Option<Overflow>) {
        let mut meter = Meter::new(LIMITS);
        let got = reads.iter().try_for_each(|read| meter.take(read.as_bytes()));
        assert_eq!(got.err(), expect, "{reads:?}");
    }

    #[test]
    fn output_is_counted() {
        check(&["1234567\n", "1234567\n", "1234"], None);
        check(&["1234567\n", "1234567\n", "12345"], Some(Overflow::Bytes(LIMITS.bytes)));
        check(&["1234", "5678", "9"], Some(Overflow::Line(LIMITS.line)));
        check(&["12345678\n"], Some(Overflow::Line(LIMITS.line)));
        check(&["\n\n\n"], None);
        check(&["\n\n\n\n"], Some(Overflow::Lines(3)));
        check(&["1", "2", "3", "4"], Some(Overflow::Lines(3)));
    }

    #[test]
    fn the_work_of_a_process_is_read_after_its_name() {
        let rest = "7 1 1 0 -1 4 0 0 0 0 30 12 0 0 20 0 1 0 4711 0";
        let work = |is_running| Some(Work { ticks: 42, is_running });
        for (stat, expect) in [
            (format!("9 (sh) S {rest}"), work(false)),
            (format!("9 (a) S (b) R {rest}"), work(true)),
            (format!("9 (sh) D {rest}"), work(true)),
            ("9 (sh) S 7".to_owned(), None),
        ] {
            assert_eq!(Work::parse(&stat), expect, "{stat}");
        }
    }
}
