//! What a comparison told: the sides, what was compared and how it differs, and what was not covered.

use std::collections::BTreeSet;

use crate::check::Class;
use crate::names::CliVersion;
use crate::replay::{Entry, Lane};
use crate::scenario::{Chat, ChatProfile};
use crate::text::plural;

/// A comparison of two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is taken as what is expected.
    pub a: About,
    /// What is held against it.
    pub b: About,
    /// Every cassette that was compared, in the order of scenarios and versions.
    pub compared: Vec<Compared>,
    /// Every replay that could not be compared.
    pub failed: Vec<Failed>,
    /// What was not covered, a sentence each; made from what was run.
    pub uncovered: Vec<String>,
}

/// What a side is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// As it was named; of a program's path, the file's name.
    pub name: String,
    /// What it is exactly: `("revision", "6ef1…")`.
    pub facts: Vec<(&'static str, String)>,
    /// What stands for the command in a line that reproduces: `clitape`, or the program's name.
    pub command: String,
    /// What stands after such a line: of which revision that clitape is.
    pub note: String,
}

/// A cassette that was compared: one scenario with one version of the CLI on each side.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The scenario's name.
    pub scenario: String,
    /// One line for people.
    pub title: String,
    /// The versions of the CLI, A's and B's.
    pub versions: [CliVersion; 2],
    /// How many views were compared.
    pub views: usize,
    /// The views that differ.
    pub lanes: Vec<LaneDiff>,
    /// What a person reads in the end, where that differs.
    pub chats: Vec<Chats>,
}

impl Compared {
    /// Whether the sides are two versions of the CLI.
    pub(super) fn is_of_two_versions(&self) -> bool {
        self.versions[0] != self.versions[1]
    }

    /// The gravest class of its differences; `None` when it is equal.
    pub fn class(&self) -> Option<Class> {
        self.lanes.iter().map(|lane| lane.class).max()
    }

    /// Its versions for people: `2.1.329`, or `2.1.148 → 2.1.329`.
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
    /// Which cassette.
    pub place: String,
    /// Which side failed, and why.
    pub why: String,
}

/// A view of a cassette that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneDiff {
    /// What it shows: `bus`, `telegram-progress`.
    pub view: String,
    /// What the change is about, taken together.
    pub class: Class,
    /// The first difference, in one sentence; A says what should be.
    pub first: String,
    /// What differs after it, grouped.
    pub consequences: Vec<String>,
    /// Entry beside entry: what differs, with a little around it.
    pub rows: Vec<DiffRow>,
    /// The lines that show it again, A's and B's.
    pub commands: [String; 2],
}

/// One row of two lanes beside each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffRow {
    /// Both say the same, in a few words.
    Same {
        /// Virtual ms.
        at: u64,
        /// The entry in a few words.
        words: String,
    },
    /// They differ.
    Differ {
        /// What the difference is about.
        class: Class,
        /// What A has there.
        a: Option<Cell>,
        /// What B has there.
        b: Option<Cell>,
    },
    /// So many differences are left out, in a few words.
    More(String),
    /// Equal entries are left out.
    Gap,
}

/// What one side has in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Virtual ms.
    pub at: u64,
    /// The entry in a few words, or, beside one of the same kind and ids, just these.
    pub words: String,
    /// The fields that differ: the name, and the value in parts; `true` for those that differ.
    pub fields: Vec<(String, Vec<(bool, String)>)>,
}

/// What a person reads in the end, on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Chats {
    /// The chats it is so in; all have the same marks.
    pub chats: Vec<Chat>,
    /// The messages as entries of the trace, A's and B's.
    pub last: [Vec<Entry>; 2],
}

impl Chats {
    /// Whose marks the texts have.
    pub fn profile(&self) -> ChatProfile {
        self.chats.first().map(|chat| chat.profile).unwrap_or_default()
    }
}

/// How many cassettes came out how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparisonCounts {
    /// All that were compared.
    pub compared: usize,
    /// Those that are equal in every view.
    pub equal: usize,
    /// Those that differ at most in times, in what a person reads, in what programs read.
    pub by_class: [(Class, usize); 3],
    /// Replays that could not be compared.
    pub failed: usize,
}

impl Comparison {
    /// Whether everything was compared and is equal.
    pub fn holds(&self) -> bool {
        self.failed.is_empty() && self.differing().next().is_none()
    }

    /// The cassettes that differ.
    pub fn differing(&self) -> impl Iterator<Item = &Compared> {
        self.compared.iter().filter(|compared| !compared.lanes.is_empty())
    }

    /// The scenarios of which some cassette differs, in order.
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

    /// Counts what came out.
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

    /// The verdict in a few words.
    pub fn verdict(&self) -> String {
        let ComparisonCounts { compared, equal, failed, .. } = self.counts();
        let failed = match failed {
            0 => String::new(),
            n => format!("; {} could not be compared", plural(n, "replay")),
        };
        match compared - equal {
            0 => format!("nothing differs in {}{failed}", plural(compared, "cassette")),
            1 => format!("1 of {} differs{failed}", plural(compared, "cassette")),
            n => format!("{n} of {} differ{failed}", plural(compared, "cassette")),
        }
    }
}

/// The lanes in the order of a trace, for people.
pub(super) fn named(lanes: &BTreeSet<Lane>) -> String {
    lanes.iter().map(|lane| lane.as_str()).collect::<Vec<_>>().join(", ")
}
