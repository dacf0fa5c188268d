//! How much a program works: two looks say whether it does anything, or waits for something that does not come.

use std::iter::Sum;

/// The work of a program and its descendants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// The processor time that they have used, in clock ticks; it falls when a descendant ends.
    pub ticks: u64,
    /// Is true if one of them computes, waits for a processor, or waits for a disk.
    pub is_running: bool,
}

impl Work {
    /// Reads the work of one process from its `/proc/PID/stat`. The program's name may contain blanks and parentheses, so
    /// this reads the fields after the last parenthesis.
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
