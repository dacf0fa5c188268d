//! The mutants that `cargo mutants` lists, and the sample of them that is tried.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// A part of the code that has a sample of its own.
#[derive(Debug)]
pub(crate) struct CodePart {
    /// The name of the part on the page.
    pub(crate) name: &'static str,
    /// The folders of its crates.
    pub(crate) crates: [&'static str; 2],
    /// The mutants of its sample, those included that do not compile.
    pub(crate) sample: usize,
    /// The number of mutants that have to be tried.
    pub(crate) tried: usize,
    /// The parts in a hundred that the scenarios have to catch; `None` where no scenario looks at the code.
    pub(crate) least_by_scenarios: Option<usize>,
    /// The parts in a hundred that have to be caught by anything.
    pub(crate) least: usize,
    /// True if each mutant that nothing catches needs a reason.
    pub(crate) has_reasons: bool,
}

/// The parts of the code that are mutated.
pub(crate) const PARTS: [CodePart; 2] = [
    CodePart {
        name: "the parser and the gateway",
        crates: ["stream", "gateway"],
        sample: 500,
        tried: 400,
        least_by_scenarios: Some(80),
        least: 97,
        has_reasons: true,
    },
    CodePart {
        name: "the runner and the rig",
        crates: ["runner", "rig"],
        sample: 80,
        tried: 50,
        least_by_scenarios: None,
        least: 85,
        has_reasons: false,
    },
];

impl CodePart {
    /// The part that a mutant is of.
    pub(crate) fn of(mutant: &Mutant) -> &'static Self {
        PARTS.iter().find(|part| part.has(mutant)).expect("only the crates of the parts are listed")
    }

    /// Returns true if a mutant is of this part.
    pub(crate) fn has(&self, mutant: &Mutant) -> bool {
        self.crates.contains(&mutant.folder())
    }
}

/// Returns the arguments that name the packages whose code is mutated.
pub(crate) fn packages() -> impl Iterator<Item = String> {
    let crates = PARTS.iter().flat_map(|part| part.crates);
    crates.flat_map(|name| ["--package".to_owned(), format!("clitape-{name}")])
}

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
    /// The folder of its crate.
    pub(crate) fn folder(&self) -> &str {
        self.file.split('/').nth(1).unwrap_or_default()
    }

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
    command.args(packages());
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

/// The mutants of each of `parts` that come first in the order of the digests of the seed and their names: a change of
/// the code changes the sample only where it changes mutants.
pub(crate) fn sample(mutants: &[Mutant], parts: &[&CodePart]) -> Vec<Mutant> {
    let of_part = |part: &&CodePart| {
        let mut own: Vec<&Mutant> = mutants.iter().filter(|one| part.has(one)).collect();
        own.sort_by_cached_key(|one| Sha256::digest(format!("{SEED} {}", one.key)));
        own.into_iter().take(part.sample).cloned().collect::<Vec<_>>()
    };
    parts.iter().flat_map(of_part).collect()
}
