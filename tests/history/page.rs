//! `docs/history.md`: the bugs that are planted, and what convicts each.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clitape_judge::FindingKind;

use super::needs_no_golden;
use super::table::Row;

/// The page, below the root of the workspace.
pub(crate) const PAGE: &str = "docs/history.md";

const HEAD: &str = "\
# Bugs of the past, planted

Each row is a bug that a gateway has had. The tests plant it in clitape's own pipeline, one at a time, replay the
scenarios that are named, and note what `clitape test` finds, and what the rules for gateways under test
([subject-rules.md](subject-rules.md)) find in the chat and on the bus. Rows with an `H` are the bugs that this project began with,
those with an `F` come from the issues of other gateways, and those with a `-` from neither.

A finding that needs no golden also convicts a gateway whose goldens nobody has written: an invariant, the
equivalence of plans, or one of those rules (`SB`). Of a bug that a golden alone convicts, the table says what a rule would have to find; of one that no
scenario convicts, why.

    UPDATE_HISTORY=1 cargo test --test history

writes this page, and `cargo test` fails when it is not true any more. `tests/history/table.rs` names the scenarios;
`harness/stream/src/plant.rs` lists the bugs. A new bug report becomes a row first.
";

/// The kinds of findings of each scenario.
pub(crate) type Found = Vec<(&'static str, BTreeSet<FindingKind>)>;

/// What convicts a bug.
#[derive(Debug, Clone)]
pub(crate) struct Conviction {
    pub(crate) row: &'static Row,
    /// What each of its scenarios finds.
    pub(crate) found: Found,
}

impl Conviction {
    /// The scenarios that find something.
    fn scenarios(&self) -> Vec<&'static str> {
        let found = self.found.iter().filter(|(_, kinds)| !kinds.is_empty());
        found.map(|(name, _)| *name).collect()
    }

    /// The findings that need no golden.
    pub(crate) fn free(&self) -> BTreeSet<FindingKind> {
        let kinds = self.found.iter().flat_map(|(_, kinds)| kinds).copied();
        kinds.filter(|kind| needs_no_golden(*kind)).collect()
    }
}

/// The row of the table.
pub(crate) fn row(conviction: &Conviction) -> String {
    let (known_as, bug) = conviction.row.plant.row();
    let scenarios = conviction.scenarios();
    let names: Vec<String> = scenarios.iter().map(|name| format!("`{name}`")).collect();
    let free: Vec<String> = conviction.free().iter().map(|kind| format!("`{kind}`")).collect();
    let by = match (scenarios.is_empty(), free.is_empty()) {
        (true, _) => conviction.row.why.to_owned(),
        (false, true) => format!("a golden; a rule would find that {}", conviction.row.why),
        (false, false) => free.join(", "),
    };
    let names = if names.is_empty() { "-".to_owned() } else { names.join(", ") };
    format!("| {known_as} | {} | {names} | {by} |", bug.trim())
}

/// The page.
pub(crate) fn page(convictions: &[Conviction]) -> String {
    let count =
        |is_it: &dyn Fn(&Conviction) -> bool| convictions.iter().filter(|one| is_it(one)).count();
    let of = convictions.len();
    let percent = |part: usize| format!("{part} ({} %)", part * 100 / of.max(1));
    let convicted = percent(count(&|one| !one.scenarios().is_empty()));
    let twice = percent(count(&|one| one.scenarios().len() > 1));
    let free = percent(count(&|one| !one.free().is_empty()));
    let mut text = format!("{HEAD}\n| | bugs |\n|---|---|\n");
    for (what, bugs) in [
        ("planted", of.to_string()),
        ("convicted by a scenario", convicted),
        ("convicted by two scenarios", twice),
        ("convicted without a golden", free),
    ] {
        writeln!(text, "| {what} | {bugs} |").expect("a string can be written");
    }
    text.push_str("\n| row | bug | scenarios | convicted by |\n|---|---|---|---|\n");
    for conviction in convictions {
        writeln!(text, "{}", row(conviction)).expect("a string can be written");
    }
    text
}
