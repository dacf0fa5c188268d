//! The files of a recording, run by run: the one place that lists the files of a cassette, for all
//! who write, scan or replace every one of them.

use super::format::Tick;
use super::store::Cassette;
use super::take::Take;
use crate::names::{CassetteFile, CassettePart};

/// The files of one run.
#[derive(Debug)]
pub struct RunParts<Argv, Timeline, Bytes> {
    /// Which run it is, from 1.
    pub number: usize,
    /// The command line, which `cassette.toml` keeps.
    pub argv: Argv,
    /// When what it printed came: the timeline's file, parsed.
    pub timeline: Timeline,
    /// The other files, also those that are empty.
    pub files: Vec<(CassetteFile, Bytes)>,
}

/// The runs of a [`Take`] or of a [`Cassette`], borrowed as `$borrow` says.
macro_rules! runs {
    ($take:expr, $($borrow:tt)+) => {{
        let take = $take;
        let first = RunParts {
            number: 1,
            argv: $($borrow)+ take.manifest.cli.argv,
            timeline: $($borrow)+ take.timeline,
            files: vec![
                (CassetteFile::new(CassettePart::Stdout, 1), $($borrow)+ take.stdout),
                (CassetteFile::new(CassettePart::Stderr, 1), $($borrow)+ take.stderr),
                (CassetteFile::new(CassettePart::Stdin, 1), $($borrow)+ take.stdin),
                (CassetteFile::new(CassettePart::Transcript, 1), $($borrow)+ take.transcript),
            ],
        };
        let further = (2..).zip($($borrow)+ take.further).map(|(number, run)| RunParts {
            number,
            argv: $($borrow)+ run.facts.argv,
            timeline: $($borrow)+ run.timeline,
            files: vec![
                (CassetteFile::new(CassettePart::Stdout, number), $($borrow)+ run.stdout),
                (CassetteFile::new(CassettePart::Stderr, number), $($borrow)+ run.stderr),
                (CassetteFile::new(CassettePart::Transcript, number), $($borrow)+ run.transcript),
                (CassetteFile::new(CassettePart::History, number), $($borrow)+ run.history),
            ],
        });
        std::iter::once(first).chain(further)
    }};
}

impl Take {
    /// The files of each run, to read them.
    pub fn runs(&self) -> impl Iterator<Item = RunParts<&Vec<String>, &Vec<Tick>, &Vec<u8>>> {
        runs!(self, &)
    }

    /// The files of each run, to change them.
    pub fn runs_mut(
        &mut self,
    ) -> impl Iterator<Item = RunParts<&mut Vec<String>, &mut Vec<Tick>, &mut Vec<u8>>> {
        runs!(self, &mut)
    }
}

impl Cassette {
    /// The files of each run.
    pub fn runs(&self) -> impl Iterator<Item = RunParts<&Vec<String>, &Vec<Tick>, &Vec<u8>>> {
        runs!(self, &)
    }
}
