//! The result of a comparison: the sides, the cassettes with their differences, and what was not covered.
//!
//! A lane is shown with the entries of both sides beside each other. If several differences have the same form, only the
//! first is shown, with the entries around it.

use std::collections::{BTreeSet, HashSet};

use clitape_judge::{Class, Pair, Times, TraceDiff, between, entry_mark};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Chat, ChatProfile};
use clitape_recording::text::{MARK, WordDiff, changed_words, end, plural, start, width};
use clitape_recording::trace::{Entry, Lane, entry_bytes};
use serde_json::Value;

/// A comparison of two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The side that is taken as expected.
    pub a: SideDescription,
    /// The side that is compared with it.
    pub b: SideDescription,
    /// Every cassette that was compared, in the order of scenarios and versions.
    pub compared: Vec<Compared>,
    /// Every replay that could not be compared.
    pub failed: Vec<Failed>,
    /// One sentence for each area that was not covered. They are made from what was run.
    pub uncovered: Vec<String>,
    /// The number of cassettes that were not compared, because the comparison ended before them.
    pub unchecked: usize,
    /// True if the caller ended the comparison.
    pub is_stopped: bool,
}

/// The description of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideDescription {
    /// The name on the command line; for a program, the name of its file.
    pub name: String,
    /// The facts that identify it, such as `("revision", "6ef1…")`.
    pub facts: Vec<(&'static str, String)>,
    /// The command in a line that reproduces a difference: `clitape`, or the program's name.
    pub command: String,
    /// The comment at the end of such a line, which names the revision of clitape; may be empty.
    pub note: String,
}

/// A cassette that was compared: one scenario, with one version of the CLI on each side.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The scenario's name.
    pub scenario: String,
    /// The scenario's title.
    pub title: String,
    /// The versions of the CLI, A's and B's.
    pub versions: [CliVersion; 2],
    /// The number of views that were compared.
    pub views: usize,
    /// The views that differ.
    pub lanes: Vec<LaneDiff>,
    /// The chats in which a person reads something else at the end.
    pub chats: Vec<FinalChats>,
}

impl Compared {
    /// Returns whether the sides are two versions of the CLI.
    pub(super) fn is_of_two_versions(&self) -> bool {
        self.versions[0] != self.versions[1]
    }

    /// Returns the bytes of memory that the differences take.
    pub(super) fn bytes(&self) -> usize {
        let text = |text: &String| size_of::<String>() + text.capacity();
        let field = |(name, parts): &(String, Vec<(bool, String)>)| {
            let parts = parts.iter().map(|(_, part)| size_of::<usize>() + text(part));
            text(name) + size_of::<Vec<(bool, String)>>() + parts.sum::<usize>()
        };
        let cell = |cell: &Cell| text(&cell.words) + cell.fields.iter().map(field).sum::<usize>();
        let row = |row: &DiffRow| {
            let content = match row {
                DiffRow::Same { words, .. } | DiffRow::More(words) => text(words),
                DiffRow::Differ { a, b, .. } => a.iter().chain(b).map(cell).sum(),
                DiffRow::Gap => 0,
            };
            size_of::<DiffRow>() + content
        };
        let lanes = self.lanes.iter().map(|lane| {
            let texts = lane.consequences.iter().chain(&lane.commands).chain([&lane.first]);
            texts.map(text).sum::<usize>() + lane.rows.iter().map(row).sum::<usize>()
        });
        let last = self.chats.iter().flat_map(|chats| chats.last.iter().flatten());
        lanes.sum::<usize>() + last.map(entry_bytes).sum::<usize>()
    }

    /// Returns the gravest class of the differences, or `None` when there are none.
    pub fn class(&self) -> Option<Class> {
        self.lanes.iter().map(|lane| lane.class).max()
    }

    /// Returns the versions for people: `2.1.329`, or `2.1.148 → 2.1.329`.
    pub fn version(&self) -> String {
        match &self.versions {
            [a, b] if a == b => a.to_string(),
            [a, b] => format!("{a} → {b}"),
        }
    }
}

/// A replay that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The cassette, and the chat if there is one.
    pub place: String,
    /// The side that failed, and the reason.
    pub why: String,
}

/// A view of a cassette that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneDiff {
    /// The name of the view, such as `bus` or `telegram-progress`.
    pub view: String,
    /// The class of the differences as a whole.
    pub class: Class,
    /// The first difference in one sentence, which takes A as the expected side.
    pub first: String,
    /// The later differences, in groups.
    pub consequences: Vec<String>,
    /// The entries that differ side by side, with a few equal ones around them.
    pub rows: Vec<DiffRow>,
    /// The commands that show the view again, A's and B's.
    pub commands: [String; 2],
}

/// One row of two lanes that are shown side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffRow {
    /// Both sides have the same entry.
    Same {
        /// The virtual time in milliseconds.
        at: u64,
        /// The entry in a few words.
        words: String,
    },
    /// The sides differ.
    Differ {
        /// The class of the difference.
        class: Class,
        /// A's entry, if it has one.
        a: Option<Cell>,
        /// B's entry, if it has one.
        b: Option<Cell>,
    },
    /// Differences are left out: their number, in a few words.
    More(String),
    /// Equal entries are left out.
    Gap,
}

/// One side of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The virtual time in milliseconds.
    pub at: u64,
    /// The entry in a few words; only its kind and id, where the other side has an entry of the same kind and
    /// id.
    pub words: String,
    /// The fields that differ: the name, and the value in parts, each with `true` if it differs.
    pub fields: Vec<(String, Vec<(bool, String)>)>,
}

/// The messages that a person reads at the end, on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalChats {
    /// The chats with these messages; all have the same profile.
    pub chats: Vec<Chat>,
    /// The messages as entries of the trace, A's and B's.
    pub last: [Vec<Entry>; 2],
}

impl FinalChats {
    /// Returns the profile by whose rules the texts are formatted.
    pub fn profile(&self) -> ChatProfile {
        self.chats.first().map(|chat| chat.profile).unwrap_or_default()
    }
}

/// The number of cassettes by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparisonCounts {
    /// The number of cassettes that were compared.
    pub compared: usize,
    /// The number of cassettes that are equal in every view.
    pub equal: usize,
    /// The number of cassettes by the gravest class of their differences: times, the text that a person reads,
    /// and what programs read.
    pub by_class: [(Class, usize); 3],
    /// The number of replays that could not be compared.
    pub failed: usize,
}

impl Comparison {
    /// Returns whether everything was compared and is equal.
    pub fn holds(&self) -> bool {
        self.finds_nothing() && self.unchecked == 0
    }

    /// Returns whether all that was asked for so far was compared and is equal.
    pub fn finds_nothing(&self) -> bool {
        self.failed.is_empty() && self.differing().next().is_none()
    }

    /// Returns the cassettes that differ.
    pub fn differing(&self) -> impl Iterator<Item = &Compared> {
        self.compared.iter().filter(|compared| !compared.lanes.is_empty())
    }

    /// Returns the cassettes that differ, grouped by scenario, in order.
    pub fn scenarios(&self) -> Vec<Vec<&Compared>> {
        let mut scenarios: Vec<Vec<&Compared>> = Vec::new();
        for compared in self.differing() {
            match scenarios.last_mut() {
                Some(group) if group[0].scenario == compared.scenario => group.push(compared),
                _ => scenarios.push(vec![compared]),
            }
        }
        scenarios
    }

    /// Counts the results.
    pub fn counts(&self) -> ComparisonCounts {
        let of = |class| self.compared.iter().filter(|one| one.class() == class).count();
        ComparisonCounts {
            compared: self.compared.len(),
            equal: of(None),
            by_class: [Class::Timing, Class::Text, Class::Contract]
                .map(|class| (class, of(Some(class)))),
            failed: self.failed.len(),
        }
    }

    /// Returns the result in a few words.
    pub fn verdict(&self) -> String {
        let ComparisonCounts { compared, equal, failed, .. } = self.counts();
        let failed = match failed {
            0 => String::new(),
            n => format!("; {} could not be compared", plural(n, "replay")),
        };
        let failed = match self.unchecked {
            0 => failed,
            n => {
                let why =
                    if self.is_stopped { "stopped by a signal" } else { "after the first finding" };
                format!("{failed}; {why}: not compared: {}", plural(n, "cassette"))
            }
        };
        match compared - equal {
            0 => format!("nothing differs in {}{failed}", plural(compared, "cassette")),
            1 => format!("1 of {} differs{failed}", plural(compared, "cassette")),
            n => format!("{n} of {} differ{failed}", plural(compared, "cassette")),
        }
    }
}

/// Returns the names of the lanes for people, in the order of a trace.
pub(super) fn named(lanes: &BTreeSet<Lane>) -> String {
    lanes.iter().map(|lane| lane.as_str()).collect::<Vec<_>>().join(", ")
}

/// The most differing rows that are shown of one lane; the others are counted.
const ROWS: usize = 24;
/// The most rows that are shown of a lane that differs only in times and numbers.
const MINOR_ROWS: usize = 4;
/// The number of equal characters that are shown before and after a change.
const AROUND: usize = 32;
/// The number of characters that are shown of the beginning and of the end of a change within a field.
const CHANGED: (usize, usize) = (160, 60);

/// Compares a lane; returns `None` if both sides are equal.
pub(super) fn compare(
    view: &str,
    a: &[Entry],
    b: &[Entry],
    commands: [String; 2],
) -> Option<LaneDiff> {
    let diff = TraceDiff::new(a, b, Times::Compared).within(b);
    let first = diff.first()?.sentence;
    let change = diff.change()?;
    let rows = rows(diff.pairs(), a, b);
    let (class, consequences) = (change.class, change.consequences);
    Some(LaneDiff { view: view.to_owned(), class, first, consequences, rows, commands })
}

/// The importance of a pair's difference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Equal,
    Minor,
    Major,
}

fn rows(pairs: &[Pair], a: &[Entry], b: &[Entry]) -> Vec<DiffRow> {
    let weights: Vec<Weight> = pairs.iter().map(|pair| weight(*pair, a, b)).collect();
    let shown = weights.iter().copied().max().unwrap_or(Weight::Equal);
    let limit = if shown == Weight::Major { ROWS } else { MINOR_ROWS };
    let mut seen = HashSet::new();
    let (mut chosen, mut alike, mut over) = (Vec::new(), 0, 0);
    for (at, pair) in pairs.iter().enumerate().filter(|(at, _)| weights[*at] == shown) {
        let row = row(*pair, a, b, true);
        let is_new = way(&row).is_none_or(|way| seen.insert(way));
        if !is_new {
            alike += 1;
        } else if chosen.len() == limit {
            over += 1;
        } else {
            chosen.push((at, row));
        }
    }
    let mut rows = Vec::new();
    let mut next = 0;
    for (at, differs) in chosen {
        // One row before the difference and one after it are shown, and a gap where more are left out.
        for near in [at.checked_sub(1), Some(at), Some(at + 1)].into_iter().flatten() {
            if near < next || near >= pairs.len() || (near != at && weights[near] == shown) {
                continue;
            }
            if near > next && !rows.is_empty() {
                rows.push(DiffRow::Gap);
            }
            next = near + 1;
            rows.push(if near == at { differs.clone() } else { row(pairs[near], a, b, false) });
        }
    }
    for (count, how) in [(alike, "in the same way"), (over, "in other ways")] {
        if count > 0 {
            rows.push(DiffRow::More(format!("{} {how}", plural(count, "more difference"))));
        }
    }
    rows
}

/// Returns the form of a row's difference: the kind of the entry, and the texts that replace each other in its
/// fields. Returns `None` where one side has no entry, or another one.
fn way(row: &DiffRow) -> Option<String> {
    let DiffRow::Differ { a: Some(a), b: Some(b), .. } = row else { return None };
    let changed = |cell: &Cell| -> String {
        let fields = cell.fields.iter().map(|(name, parts)| {
            let texts = parts.iter().filter(|(changed, _)| *changed).map(|(_, text)| text);
            format!(" {name}={:?}", texts.collect::<BTreeSet<_>>())
        });
        fields.collect()
    };
    let (old, new) = (changed(a), changed(b));
    let kind = a.words.split(' ').next().unwrap_or_default();
    (!old.is_empty()).then(|| format!("{kind}{old} |{new}"))
}

fn weight(pair: Pair, a: &[Entry], b: &[Entry]) -> Weight {
    let Pair::Both(i, j) = pair else { return Weight::Major };
    match between(&a[i], &b[j]) {
        None => Weight::Equal,
        Some(_) if entry_mark(&a[i]).content == entry_mark(&b[j]).content => Weight::Minor,
        Some(_) => Weight::Major,
    }
}

fn row(pair: Pair, a: &[Entry], b: &[Entry], differs: bool) -> DiffRow {
    match pair {
        Pair::Both(i, _) if !differs => DiffRow::Same { at: a[i].at, words: a[i].headline() },
        Pair::Both(i, j) => {
            let class = between(&a[i], &b[j]).map_or(Class::Timing, |(class, _)| class);
            let (a, b) = cells(&a[i], &b[j]);
            DiffRow::Differ { class, a: Some(a), b: Some(b) }
        }
        Pair::Old(i) => DiffRow::Differ { class: Class::Contract, a: Some(alone(&a[i])), b: None },
        Pair::New(j) => DiffRow::Differ { class: Class::Contract, a: None, b: Some(alone(&b[j])) },
    }
}

fn alone(entry: &Entry) -> Cell {
    Cell { at: entry.at, words: entry.headline(), fields: Vec::new() }
}

/// Returns the cells of two entries: the kind and id with the fields that differ, or each entry in a few words if their
/// kind or id differs.
fn cells(a: &Entry, b: &Entry) -> (Cell, Cell) {
    if entry_mark(a).identity != entry_mark(b).identity {
        return (alone(a), alone(b));
    }
    if a.data == b.data {
        return (alone(a), alone(b));
    }
    let renumbered = entry_mark(a).content == entry_mark(b).content;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let keys = a.data.keys().chain(b.data.keys().filter(|key| a.field(key).is_none()));
    for key in keys.filter(|key| renumbered || *key != "seq") {
        let (old, new) = (a.field(key), b.field(key));
        if old != new {
            let [old, new] = changed_words(&shown(old), &shown(new)).map(shorten);
            left.push((key.clone(), old));
            right.push((key.clone(), new));
        }
    }
    let cell = |entry, fields| Cell { words: which(entry), fields, at: entry.at };
    (cell(a, left), cell(b, right))
}

/// Returns the kind of an entry and the id that names it.
fn which(entry: &Entry) -> String {
    let id = ["message_id", "toolCallId", "id", "run"].iter().find_map(|key| entry.field(key));
    match id {
        Some(id) if entry.lane == Lane::Telegram => format!("{} #{id}", entry.kind),
        Some(Value::String(id)) => format!("{} {id}", entry.kind),
        Some(id) => format!("{} {id}", entry.kind),
        None => entry.kind.clone().into_owned(),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), Value::to_string)
}

/// Leaves out equal text that is far from a change, and the middle of a long change.
fn shorten(mut parts: WordDiff) -> WordDiff {
    parts.retain(|(_, text)| !text.is_empty());
    let last = parts.len().saturating_sub(1);
    for (at, (changed, text)) in parts.iter_mut().enumerate() {
        let (head, tail) = match (*changed, at) {
            (true, _) => CHANGED,
            (false, 0) if at != last => (0, AROUND),
            (false, at) if at == last => (AROUND, 0),
            (false, _) => (AROUND, AROUND),
        };
        if width(text) > head + tail + AROUND {
            let (head, tail) = (start(text, head), end(text, tail));
            let left_out = text[head.len()..text.len() - tail.len()].chars().count();
            *text = match changed {
                true => {
                    let left_out = plural(left_out, "more character");
                    format!("{head}{MARK} {left_out} {MARK}{tail}")
                }
                false => format!("{head}{MARK}{tail}"),
            };
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(at: u64, text: &str) -> Entry {
        let data = format!(r#"{{"message_id":1,"text":"{text}"}}"#);
        let line =
            format!(r#"{{"at":{at},"lane":"telegram","kind":"editMessageText","data":{data}}}"#);
        serde_json::from_str(&line).unwrap()
    }

    fn cell(cell: &Option<Cell>) -> String {
        let Some(Cell { at, words, fields }) = cell else { return String::new() };
        let field = |(name, parts): &(String, WordDiff)| {
            let parts = parts.iter().map(|(changed, text)| match changed {
                true => format!("[{text}]"),
                false => text.clone(),
            });
            format!(" {name}={}", parts.collect::<String>())
        };
        format!("{at} {words}{}", fields.iter().map(field).collect::<String>())
    }

    /// Compares two lanes, and checks the rows, such as `class: 12 editMessageText #1 text="a[b]c" | …`.
    fn check(a: &[Entry], b: &[Entry], class: Option<Class>, expect: &[&str]) {
        let found = compare("telegram", a, b, Default::default());
        assert_eq!(found.as_ref().map(|lane| lane.class), class);
        let rows = found.map(|lane| lane.rows).unwrap_or_default();
        let shown = rows.iter().map(|row| match row {
            DiffRow::Same { at, words } => format!("{at} {words}"),
            DiffRow::Gap => "…".to_owned(),
            DiffRow::More(words) => words.clone(),
            DiffRow::Differ { class, a, b } => format!("{class}: {} | {}", cell(a), cell(b)),
        });
        assert_eq!(shown.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn only_what_differs_is_shown_with_a_little_around() {
        let run = |x: &str, at: u64| -> Vec<Entry> {
            ["a", "b", "c", x, "d", "e", "f"]
                .iter()
                .zip(1..)
                .map(|(text, i)| edit(if i > 4 { i + at } else { i }, text))
                .collect()
        };
        check(&run("x", 0), &run("x", 0), None, &[]);
        check(
            &run("x", 0),
            &run("y", 0),
            Some(Class::Text),
            &[
                "3 editMessageText #1 \"c\"",
                "text: 4 editMessageText #1 text=\"[x]\" | 4 editMessageText #1 text=\"[y]\"",
                "5 editMessageText #1 \"d\"",
            ],
        );
        let mut fewer = run("x", 0);
        fewer.remove(3);
        check(
            &run("x", 0),
            &fewer,
            Some(Class::Contract),
            &[
                "3 editMessageText #1 \"c\"",
                "contract: 4 editMessageText #1 \"x\" | ",
                "5 editMessageText #1 \"d\"",
            ],
        );
    }

    #[test]
    fn each_way_to_differ_is_shown_once() {
        let side = |word: &str| ["1", "2", "3"].map(|n| edit(0, &format!("{word} {n}")));
        let row = r#"text: 0 editMessageText #1 text="[a] 1" | 0 editMessageText #1 text="[b] 1""#;
        check(
            &side("a"),
            &side("b"),
            Some(Class::Text),
            &[row, "2 more differences in the same way"],
        );
    }

    #[test]
    fn a_text_is_compared_word_by_word() {
        let a = [edit(0, "one two three two four"), edit(0, "one two")];
        let b = [edit(0, "one 2 three 2 four"), edit(0, "one 2")];
        let row = r#"text: 0 editMessageText #1 text="one [two] three [two] four" | 0 editMessageText #1 text="one [2] three [2] four""#;
        check(&a, &b, Some(Class::Text), &[row, "1 more difference in the same way"]);
    }

    #[test]
    fn times_alone_are_shown_where_nothing_else_differs() {
        let (a, b): (Vec<_>, Vec<_>) = (0..9).map(|i| (edit(i, "a"), edit(i + 10, "a"))).unzip();
        let found = compare("telegram", &a, &b, Default::default()).unwrap();
        assert_eq!(found.class, Class::Timing);
        assert_eq!(found.rows.len(), MINOR_ROWS + 1, "the rest by number");
        assert_eq!(
            found.rows.last(),
            Some(&DiffRow::More("5 more differences in other ways".to_owned()))
        );
    }

    #[test]
    fn a_change_of_everything_stays_small() {
        let side = |c: char| -> Vec<Entry> {
            (0..500).map(|i| edit(i, &format!("{c}{i}{}", c.to_string().repeat(9_000)))).collect()
        };
        let found = compare("telegram", &side('a'), &side('b'), Default::default()).unwrap();
        let size = format!("{:?}", found.rows).len();
        assert!(size < 40_000, "{size} bytes of rows");
        assert_eq!(
            found.rows.last(),
            Some(&DiffRow::More("476 more differences in other ways".to_owned()))
        );
    }
}
