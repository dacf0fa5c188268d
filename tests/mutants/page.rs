//! `docs/mutants.md`: how many mutants are caught, and those that nothing catches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::listed::{CodePart, Mutant, PARTS, SEED};
use super::trial::Caught;

/// The page, below the root of the workspace.
const PAGE: &str = "docs/mutants.md";
/// Why a mutant is left alive: a table from its name to the reason.
const REASONS: &str = "tests/mutants/survivors.toml";

const HEAD: &str = "\
# Mutants

A mutant is the code with one small change: a comparison turned round, an operator exchanged, a function that returns at
once, an arm of a match that is gone. What no check notices is either the same program or a gap in the checks.

`cargo mutants` lists the mutants of the parser and the gateway, and those of the runner and the rig. The sample of each of
the two parts is chosen by a digest of the seed and of each mutant's name, so that a change of the code leaves the rest of
it as it is. A mutant of the parser or the gateway meets the committed scenarios (goldens and invariants of every recording in
every channel, with the canonical plan and the recorded times; not the seeded plans, which take most of the time and catch
little more), and, where these find nothing, the tests of the four crates. No scenario looks at most of the runner and the rig,
so that the tests alone have to catch those. One that panics, hangs or asks for more than its memory is caught.

    cargo test --test mutants
    cargo test --test mutants -- --sample runner

The first command measures both parts, the second only the one with this crate. They write this page, and fail below the
bounds of the tables, or where a survivor of the parser or the gateway has no reason in `tests/mutants/survivors.toml`. The
scheduled workflow runs the first one.
";
/// How the section of a part begins.
const SECTION: &str = "\n## Mutants of ";

/// What became of a mutant.
#[derive(Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) mutant: &'a Mutant,
    pub(crate) caught: Caught,
}

/// Writes the page; the section of a part that is not among `parts` stays. `mutants` are those listed, those of the
/// sample, and those that no switch can be written for. Returns a sentence for each thing that is wrong.
pub(crate) fn write(
    root: &Path,
    parts: &[&CodePart],
    outcomes: &[Outcome<'_>],
    mutants: &[Vec<Mutant>; 3],
) -> Result<Vec<String>> {
    let reasons: BTreeMap<String, String> =
        toml::from_str(&fs::read_to_string(root.join(REASONS))?).context(REASONS)?;
    let (mut text, mut wrong) = (HEAD.to_owned(), Vec::new());
    let before = fs::read_to_string(root.join(PAGE))?;
    for part in &PARTS {
        if !parts.iter().any(|one| one.name == part.name) {
            let mut sections = before.split(SECTION);
            let section = sections.find(|section| section.starts_with(part.name));
            let section =
                section.with_context(|| format!("{PAGE} has no section about {}", part.name))?;
            write!(text, "{SECTION}{section}")?;
            continue;
        }
        let own: Vec<&Outcome<'_>> = outcomes.iter().filter(|one| part.has(one.mutant)).collect();
        let counts =
            [0, 1, 2].map(|at: usize| mutants[at].iter().filter(|one| part.has(one)).count());
        write_counts(&mut text, part, &own, counts, &mut wrong)?;
        write_survivors(&mut text, part, own, &reasons, &mut wrong)?;
    }
    fs::write(root.join(PAGE), text)?;
    Ok(wrong)
}

/// Writes the table of a part.
fn write_counts(
    text: &mut String,
    part: &CodePart,
    outcomes: &[&Outcome<'_>],
    [listed, sample, left_out]: [usize; 3],
    wrong: &mut Vec<String>,
) -> Result<()> {
    let CodePart { name, tried, least_by_scenarios, least, .. } = part;
    let count =
        |is_it: fn(&Caught) -> bool| outcomes.iter().filter(|one| is_it(&one.caught)).count();
    let viable = outcomes.len();
    let scenarios = count(|caught| matches!(caught, Caught::Scenario(_)));
    let all = count(|caught| *caught != Caught::Nothing);
    let percent =
        |part: usize| format!("{part} ({:.1} %)", part as f64 * 100.0 / viable.max(1) as f64);
    writeln!(text, "{SECTION}{name}\n\n| | mutants | at least |\n|---|---|---|")?;
    let rows = [
        ("listed", listed.to_string(), "-".to_owned()),
        (&*format!("in the sample of seed {SEED}"), sample.to_string(), "-".to_owned()),
        (
            "of these where no switch can stand (a constant, a chain of `let`, a returned `impl`)",
            left_out.to_string(),
            "-".to_owned(),
        ),
        ("that do not compile", (sample - left_out - viable).to_string(), "-".to_owned()),
        ("tried", viable.to_string(), tried.to_string()),
    ];
    for (what, number, least) in rows {
        writeln!(text, "| {what} | {number} | {least} |")?;
    }
    if viable < *tried {
        wrong.push(format!("of {name}, {viable} are tried; at least {tried} are asked for"));
    }
    let by_scenarios = least_by_scenarios.map(|least| ("the scenarios", scenarios, least));
    for (by, part, least) in by_scenarios.into_iter().chain([("all tests", all, *least)]) {
        writeln!(text, "| caught by {by} | {} | {least} % |", percent(part))?;
        if part * 100 < least * viable {
            let part = percent(part);
            wrong.push(format!("of {name}, {by} catch {part}; at least {least} % is asked for"));
        }
    }
    Ok(())
}

/// Writes the mutants of a part that nothing catches.
fn write_survivors(
    text: &mut String,
    part: &CodePart,
    mut outcomes: Vec<&Outcome<'_>>,
    reasons: &BTreeMap<String, String>,
    wrong: &mut Vec<String>,
) -> Result<()> {
    outcomes.retain(|one| one.caught == Caught::Nothing);
    outcomes.sort_by_key(|one| &one.mutant.key);
    text.push_str("\n| survivor | why it lives |\n|---|---|\n");
    for Outcome { mutant, .. } in outcomes {
        let reason = reasons.get(&mutant.key);
        if reason.is_none() && part.has_reasons {
            wrong.push(format!(
                "nothing catches `{}`; add a check, or a reason to {REASONS}",
                mutant.key
            ));
        }
        let reason = reason.map_or("-", String::as_str);
        let [key, reason] = [&mutant.key, reason].map(|text| text.replace('|', "\\|"));
        writeln!(text, "| `{key}` | {reason} |")?;
    }
    Ok(())
}
