//! The mutants that `cargo mutants` lists, and the sample of them that is tried.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// The packages whose code is mutated.
pub(crate) const PACKAGES: [&str; 2] = ["clitape-stream", "clitape-gateway"];
/// A module of tests inside another one.
const TESTS: &str = "tests::";
/// Chooses the sample together with a mutant's name.
pub(crate) const SEED: u64 = 17;

/// What is done to the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Genre {
    /// The body of a function becomes a value.
    FnValue,
    /// An operator between two operands becomes another one.
    BinaryOperator,
    /// An operator before an operand goes away.
    UnaryOperator,
    /// The arm of a match goes away.
    MatchArm,
    /// The condition of an arm becomes `true` or `false`.
    MatchArmGuard,
    /// The field of a struct goes away, where others fill it.
    StructField,
}

/// A line and a column, both from 1. A column counts characters.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

/// From the first character to the one after the last.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

/// One mutant of the list.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Mutant {
    /// The file, below the root of the workspace.
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// What stands there instead.
    pub(crate) replacement: String,
    /// The file, the place and what is done.
    name: String,
    span: Span,
    /// The name without the place, so that it outlives a change of the lines above it. Where a function has several
    /// such mutants, each but the first has its number.
    #[serde(skip)]
    pub(crate) key: String,
}

impl Mutant {
    /// The bytes of `source` that are replaced.
    pub(crate) fn bytes(&self, source: &str) -> Result<Range<usize>> {
        let at = |position: Position| {
            let before: usize =
                source.split_inclusive('\n').take(position.line - 1).map(str::len).sum();
            let line = source[before..].split('\n').next()?;
            let mut columns = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            Some(before + columns.nth(position.column - 1)?)
        };
        let range = at(self.span.start).zip(at(self.span.end)).map(|(start, end)| start..end);
        range.with_context(|| format!("{} is not in its file", self.name))
    }
}

/// All mutants of the workspace at `root`, sorted by file and place.
pub(crate) fn listed(root: &Path) -> Result<Vec<Mutant>> {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--list", "--json", "--exclude-re", TESTS]);
    command.current_dir(root);
    PACKAGES.iter().for_each(|package| {
        command.args(["--package", package]);
    });
    let output = command.output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "run `cargo install --locked cargo-mutants`:\n{stderr}");
    let mut mutants: Vec<Mutant> = serde_json::from_slice(&output.stdout)?;
    mutants.sort_by_key(|one| (one.file.clone(), one.span.start.line, one.span.start.column));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for mutant in &mut mutants {
        let what = mutant.name.splitn(4, ':').nth(3).context("a name has a place")?.trim();
        let key = format!("{}: {what}", mutant.file);
        let count = seen.entry(key.clone()).or_default();
        *count += 1;
        mutant.key = if *count == 1 { key } else { format!("{key} ({count})") };
    }
    Ok(mutants)
}

/// The `most` mutants that come first in the order of the digests of the seed and their names: a change of the
/// code changes the sample only where it changes mutants.
pub(crate) fn sample(mut mutants: Vec<Mutant>, most: usize) -> Vec<Mutant> {
    mutants.sort_by_cached_key(|one| Sha256::digest(format!("{SEED} {}", one.key)));
    mutants.truncate(most);
    mutants
}
