//! Copies of the workspace whose code has the mutants, and the programs that are built from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::copy::{Program, WorkspaceCopy, is_on};
use super::listed::{Mutant, packages};
use super::switches::{Switched, switched};

/// The folder of the copy in which the mutants that do not compile are found.
const FITTED: &str = "fitted";
/// The folder of the copy that is built. It is written once, so that a second run builds only what has changed.
const BUILT: &str = "tree";
/// What a mutant may do, although the compiler can tell that it panics.
const ALLOWED: &str = "-A arithmetic_overflow -A unconditional_panic";

/// Two copies of the workspace with the mutants.
pub(crate) struct Tree {
    /// The workspace that is copied.
    source: PathBuf,
    fitted: WorkspaceCopy,
    built: WorkspaceCopy,
    mutants: Vec<Mutant>,
    /// The numbers of the mutants that a switch turns on; a number is a place in `mutants`, from 1.
    pub(crate) viable: BTreeSet<usize>,
    /// The numbers of those that no switch can be written for.
    pub(crate) left_out: BTreeSet<usize>,
}

/// What is built from the copy.
pub(crate) struct Programs {
    /// This test.
    pub(crate) suite: Program,
    /// The tests of the mutated packages.
    pub(crate) tests: Vec<Program>,
}

impl Tree {
    /// Copies the workspace at `from`, but for the files that get mutants.
    pub(crate) fn new(from: &Path, mutants: Vec<Mutant>) -> Result<Self> {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutants");
        let mutated: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
        let copy = |name: &str| -> Result<WorkspaceCopy> {
            let copy = WorkspaceCopy::new(from, target.join(name), target.clone(), &mutated)?;
            Ok(copy.with("RUSTFLAGS", ALLOWED))
        };
        let (fitted, built) = (copy(FITTED)?, copy(BUILT)?);
        let (viable, left_out) = ((1..=mutants.len()).collect(), BTreeSet::new());
        Ok(Self { source: from.to_owned(), fitted, built, mutants, viable, left_out })
    }

    /// The mutant of a number.
    pub(crate) fn mutant(&self, number: usize) -> &Mutant {
        &self.mutants[number - 1]
    }

    /// Writes the mutants into the copy, less and less of them, until what is left compiles.
    pub(crate) fn fit(&mut self) -> Result<()> {
        loop {
            let (files, left_out) = self.written(&self.fitted)?;
            self.leave_out(left_out);
            let bad = self.errors(&files)?;
            if bad.is_empty() {
                return Ok(());
            }
            eprintln!("{} mutants do not compile", bad.len());
            self.viable.retain(|number| !bad.contains(number));
        }
    }

    /// Writes the files of a copy with the mutants that are left. Returns them, and the numbers of the mutants that
    /// have no switch in them.
    fn written(&self, copy: &WorkspaceCopy) -> Result<(BTreeMap<String, Switched>, Vec<usize>)> {
        let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for (number, mutant) in (1..).zip(&self.mutants) {
            files.entry(&mutant.file).or_default().push((number, mutant));
        }
        let mut written = BTreeMap::new();
        let mut left_out = Vec::new();
        for (file, mut mutants) in files {
            mutants.retain(|(number, _)| self.viable.contains(number));
            let source = fs::read_to_string(self.source.join(file))?;
            let switched =
                switched(&source, &mutants, is_on(file)).with_context(|| file.to_owned())?;
            copy.write(file, switched.text.as_bytes())?;
            left_out.extend(switched.left_out.iter().copied());
            written.insert(file.to_owned(), switched);
        }
        Ok((written, left_out))
    }

    fn leave_out(&mut self, numbers: Vec<usize>) {
        self.viable.retain(|number| !numbers.contains(number));
        self.left_out.extend(numbers);
    }

    /// The mutants that the compiler refuses.
    fn errors(&self, files: &BTreeMap<String, Switched>) -> Result<BTreeSet<usize>> {
        let packages: Vec<String> = packages().collect();
        let args = ["check", "--all-features"].into_iter();
        let args: Vec<&str> = args.chain(packages.iter().map(String::as_str)).collect();
        let (messages, success) = self.fitted.cargo(&args)?;
        let mut bad = BTreeSet::new();
        for message in messages.iter().filter(|one| one["message"]["level"] == "error") {
            let message = &message["message"];
            let mut places = Vec::new();
            spans(message, &mut places);
            let of =
                |(file, bytes): &(String, Range<usize>)| files.get(file).map(|file| file.at(bytes));
            let mutants = places.iter().filter_map(of).find(|found| !found.is_empty());
            let is_summary = message["spans"].as_array().is_some_and(Vec::is_empty);
            ensure!(
                mutants.is_some() || is_summary,
                "no mutant makes this error:\n{}",
                message["rendered"].as_str().unwrap_or_default()
            );
            bad.extend(mutants.into_iter().flatten());
        }
        ensure!(success || !bad.is_empty(), "the copy does not compile");
        Ok(bad)
    }

    /// Builds this test and those of the mutated packages.
    pub(crate) fn build(&mut self) -> Result<Programs> {
        let (_, left_out) = self.written(&self.built)?;
        self.leave_out(left_out);
        let packages: Vec<String> = packages().collect();
        let args = ["test", "--no-run", "--package", "clitape", "--test", "mutants"];
        let mut built = self.built.executables(&args)?;
        let suite = built.pop().context("cargo builds this test")?;
        let tests = ["test", "--no-run", "--tests", "--all-features"].into_iter();
        let tests: Vec<&str> = tests.chain(packages.iter().map(String::as_str)).collect();
        Ok(Programs { suite, tests: self.built.executables(&tests)? })
    }
}

/// The places that a message of the compiler names, those of macros that were called there included: the primary
/// ones first.
fn spans(message: &Value, places: &mut Vec<(String, Range<usize>)>) {
    let all = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (primary, other): (Vec<_>, Vec<_>) =
        all.iter().partition(|span| span["is_primary"] == true);
    for mut span in primary.into_iter().chain(other) {
        while !span.is_null() {
            let byte = |key: &str| span[key].as_u64().and_then(|at| usize::try_from(at).ok());
            if let (Some(file), Some(start), Some(end)) =
                (span["file_name"].as_str(), byte("byte_start"), byte("byte_end"))
            {
                places.push((file.to_owned(), start..end));
            }
            span = &span["expansion"]["span"];
        }
    }
    let children = message["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    children.iter().for_each(|child| spans(child, places));
}
