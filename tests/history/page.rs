//! `docs/history.md`: the bugs that are planted, and what convicts each.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clitape_judge::FindingKind;

use super::convictor::{Found, kind};
use super::plants::{CrateTest, Plant};
use super::question::needs_no_golden;

/// The page, below the root of the workspace.
pub(crate) const PAGE: &str = "docs/history.md";

/// The words before a test that convicts a bug.
const TEST: &str = "the test ";

const HEAD: &str = "\
# Bugs of the past, planted

Each row is a bug that a gateway has had. The tests plant it in clitape's own pipeline, one at a time, replay the
scenarios that are named, and note what `clitape test` finds, and what the rules for gateways under test
([subject-rules.md](subject-rules.md)) find in the chat and on the bus. Rows with an `H` are the bugs that this project began with,
those with an `F` come from the issues of other gateways, and those with a `-` from neither.

No scenario looks at the recorder, the runner and the rig. A bug of theirs, and one that no recording shows, is convicted
by a test of its crate, which the table names; that test passes without the bug. `odd-*`, `same-index` and some others are synthetic:
no CLI prints their records (`clitape list` marks them).

A finding that needs no golden also convicts a gateway whose goldens nobody has written: an invariant, the
equivalence of plans, or one of those rules (`SB`). Of a bug that a golden alone convicts, the table says what a rule would have to find; of one that no
scenario convicts, why.

    UPDATE_HISTORY=1 cargo test --test history

measures all bugs and writes this page. `ALL_HISTORY=1` in place of that variable holds the page against all of them;
without a variable, `cargo test` measures a sample, with other bugs each time. `tests/history/plants.toml` lists the bugs
and the scenarios: each row says how a copy of the code gets the bug. A new bug report becomes a row first.
";

/// A row of the page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageRow {
    /// The row of the history that the bug is known by.
    pub(crate) known_as: String,
    about: String,
    /// The scenarios that find something.
    scenarios: Vec<String>,
    /// The words about what convicts it.
    by: String,
}

impl PageRow {
    /// Makes the row of a bug from what its scenarios find, and from its tests that fail.
    pub(crate) fn new(plant: &Plant, found: &Found, failing: &[&CrateTest]) -> Self {
        let convicting = found.iter().filter(|(_, kinds)| !kinds.is_empty());
        let scenarios: Vec<String> = convicting.map(|(name, _)| name.clone()).collect();
        let kinds: BTreeSet<_> = found.iter().flat_map(|(_, kinds)| kinds).collect();
        let names = kinds.into_iter().map(FindingKind::to_string);
        let free = names.filter(|name| needs_no_golden(name)).map(|name| format!("`{name}`"));
        let free: Vec<String> = free.collect();
        let tests: Vec<String> = failing
            .iter()
            .map(|CrateTest { program, name }| format!("{TEST}`{name}` of `{program}`"))
            .collect();
        let by = match (scenarios.is_empty(), free.is_empty()) {
            (true, _) if !tests.is_empty() => tests.join(", "),
            (true, _) => plant.why.clone(),
            (false, true) => format!("a golden; a rule would find that {}", plant.why),
            (false, false) => free.join(", "),
        };
        Self { known_as: plant.row.clone(), about: plant.about.clone(), scenarios, by }
    }

    /// Reads a line of the table; `None` where it is another line.
    fn read(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [known_as, about, scenarios, by] = cells[..] else { return None };
        let quoted = |name: &str| Some(name.strip_prefix('`')?.strip_suffix('`')?.to_owned());
        Some(Self {
            known_as: known_as.to_owned(),
            about: about.to_owned(),
            scenarios: scenarios.split(", ").filter_map(quoted).collect(),
            by: by.to_owned(),
        })
    }

    /// Writes the line of the table.
    pub(crate) fn line(&self) -> String {
        let Self { known_as, about, scenarios, by } = self;
        let names: Vec<String> = scenarios.iter().map(|name| format!("`{name}`")).collect();
        let names = if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        format!("| {known_as} | {about} | {names} | {by} |")
    }

    /// Returns the findings that need no golden.
    pub(crate) fn free(&self) -> BTreeSet<FindingKind> {
        let names = self.by.split(", ");
        names.filter_map(|name| kind(name.strip_prefix('`')?.strip_suffix('`')?)).collect()
    }

    /// Returns true if a test of a crate convicts it, and no scenario.
    fn is_of_test(&self) -> bool {
        self.by.starts_with(TEST)
    }

    /// Returns true if no scenario and no test convicts it.
    pub(crate) fn is_unconvicted(&self) -> bool {
        self.scenarios.is_empty() && !self.is_of_test()
    }

    /// Returns true if it is the row of this bug.
    pub(crate) fn is_of(&self, plant: &Plant) -> bool {
        let is_named = |name: &String| plant.scenarios.contains(name);
        (&self.known_as, &self.about) == (&plant.row, &plant.about)
            && self.scenarios.iter().all(is_named)
    }
}

/// Returns the rows of the page.
pub(crate) fn rows(page: &str) -> Vec<PageRow> {
    let table = page.lines().skip_while(|line| !line.starts_with("| row | bug |")).skip(2);
    table.filter_map(PageRow::read).collect()
}

/// Returns the page.
pub(crate) fn page(rows: &[PageRow]) -> String {
    let count = |is_it: &dyn Fn(&PageRow) -> bool| rows.iter().filter(|one| is_it(one)).count();
    let of = rows.len();
    let percent = |part: usize| format!("{part} ({} %)", part * 100 / of.max(1));
    let convicted = percent(count(&|one| !one.scenarios.is_empty()));
    let twice = percent(count(&|one| one.scenarios.len() > 1));
    let free = percent(count(&|one| !one.free().is_empty()));
    let mut text = format!("{HEAD}\n| | bugs |\n|---|---|\n");
    let tests = percent(count(&PageRow::is_of_test));
    for (what, bugs) in [
        ("planted", of.to_string()),
        ("convicted by a scenario", convicted),
        ("convicted by two scenarios", twice),
        ("convicted without a golden", free),
        ("convicted by a test of a crate alone", tests),
    ] {
        writeln!(text, "| {what} | {bugs} |").expect("a string can be written");
    }
    text.push_str("\n| row | bug | scenarios | convicted by |\n|---|---|---|---|\n");
    for row in rows {
        writeln!(text, "{}", row.line()).expect("a string can be written");
    }
    text
}
