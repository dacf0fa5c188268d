//! `docs/mutants.md`: how many mutants are caught, and those that nothing catches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::listed::{Mutant, SEED};
use super::trial::Caught;

/// The page, below the root of the workspace.
const PAGE: &str = "docs/mutants.md";
/// Why a mutant is left alive: a table from its name to the reason.
const REASONS: &str = "tests/mutants/survivors.toml";
/// The parts in a hundred that the scenarios, and all tests together, have to catch.
const LEAST: [usize; 2] = [80, 97];

const HEAD: &str = "\
# Mutants

A mutant is the code with one small change: a comparison turned round, an operator exchanged, a function that returns at
once, an arm of a match that is gone. What no check notices is either the same program or a gap in the checks.

`cargo mutants` lists the mutants of the parser and the gateway. The sample is chosen by a digest of the seed and of
each mutant's name, so that a change of the code leaves the rest of it as it is. Each mutant meets the committed
scenarios (goldens and invariants of every recording in every channel, with the canonical plan and the recorded times; not the
seeded plans, which take most of the time and catch little more), and, where these find nothing, the unit tests of both
packages. One that panics, hangs or asks for more than its memory is caught.

    cargo test --test mutants

measures it, writes this page, and fails below the bounds of the table, or where a survivor has no reason in
`tests/mutants/survivors.toml`.
";

/// What became of a mutant.
#[derive(Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) mutant: &'a Mutant,
    pub(crate) caught: Caught,
}

/// Writes the page. `counts` are the mutants listed, those of the sample, and those that no switch can be written
/// for. Gives a sentence for each thing that is wrong.
pub(crate) fn write(
    root: &Path,
    outcomes: &[Outcome<'_>],
    [listed, sample, left_out]: [usize; 3],
) -> Result<Vec<String>> {
    let reasons: BTreeMap<String, String> =
        toml::from_str(&fs::read_to_string(root.join(REASONS))?).context(REASONS)?;
    let count =
        |is_it: fn(&Caught) -> bool| outcomes.iter().filter(|one| is_it(&one.caught)).count();
    let viable = outcomes.len();
    let scenarios = count(|caught| matches!(caught, Caught::Scenario(_)));
    let all = count(|caught| *caught != Caught::Nothing);
    let percent =
        |part: usize| format!("{part} ({:.1} %)", part as f64 * 100.0 / viable.max(1) as f64);
    let mut text = format!("{HEAD}\n| | mutants | at least |\n|---|---|---|\n");
    for (what, number, least) in [
        ("listed", listed.to_string(), "-".to_owned()),
        (&*format!("in the sample of seed {SEED}"), sample.to_string(), "-".to_owned()),
        (
            "of these where no switch can stand (a constant, a chain of `let`, a returned `impl`)",
            left_out.to_string(),
            "-".to_owned(),
        ),
        ("that do not compile", (sample - left_out - viable).to_string(), "-".to_owned()),
        ("tried", viable.to_string(), "400".to_owned()),
        ("caught by the scenarios", percent(scenarios), format!("{} %", LEAST[0])),
        ("caught by the scenarios or the unit tests", percent(all), format!("{} %", LEAST[1])),
    ] {
        writeln!(text, "| {what} | {number} | {least} |")?;
    }
    text.push_str("\n## Survivors\n\n| mutant | why it lives |\n|---|---|\n");
    let mut wrong = Vec::new();
    let mut survivors: Vec<_> =
        outcomes.iter().filter(|one| one.caught == Caught::Nothing).collect();
    survivors.sort_by_key(|one| &one.mutant.key);
    for Outcome { mutant, .. } in survivors {
        let reason = reasons.get(&mutant.key);
        if reason.is_none() {
            wrong.push(format!(
                "nothing catches `{}`; add a check, or a reason to {REASONS}",
                mutant.key
            ));
        }
        let reason = reason.map_or("-", String::as_str);
        let [key, reason] = [&mutant.key, reason].map(|text| text.replace('|', "\\|"));
        writeln!(text, "| `{key}` | {reason} |")?;
    }
    fs::write(root.join(PAGE), text)?;
    for (what, part, least) in
        [("the scenarios catch", scenarios, LEAST[0]), ("all tests catch", all, LEAST[1])]
    {
        if part * 100 < least * viable {
            wrong.push(format!("{what} {}; at least {least} % is asked for", percent(part)));
        }
    }
    Ok(wrong)
}
