//! The result of a comparison: the sides, the cassettes with their differences, and what was not covered.

use std::collections::BTreeSet;

use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Chat, ChatProfile};
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane, entry_bytes};

use clitape_judge::Class;

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
    /// The number of cassettes that were not compared, because the caller ended the comparison.
    pub unchecked: usize,
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
            n => format!("{failed}; stopped by a signal: not compared: {}", plural(n, "cassette")),
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
