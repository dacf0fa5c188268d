//! The result of a comparison of two versions: the changes by part, the scenarios that were compared, those that were
//! not, and the size of the recordings, which does not count as drift.

use clitape_recording::cassette::Cassette;
use clitape_recording::names::{CliVersion, ScenarioName};
use serde::Serialize;

use crate::compare::Comparison;

/// The part of what a CLI does to which a change belongs, the gravest for a reader of the stream first.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The kinds of records, their fields, types and values.
    Schema,
    /// How many records of each kind come, and in which order.
    Order,
    /// Control requests and answers, on stdout and stdin.
    Dialogue,
    /// The flags of `claude --help`.
    CommandLine,
    /// What our parser, bus, event stream and editor make of it.
    Lanes,
    /// What a person sees in a chat.
    Person,
    /// How the CLI ends, what it keeps of a session, and whether that can be resumed.
    Behaviour,
}

impl Part {
    /// All parts, the gravest first.
    pub const ALL: [Self; 7] = [
        Self::Schema,
        Self::Order,
        Self::Dialogue,
        Self::CommandLine,
        Self::Lanes,
        Self::Person,
        Self::Behaviour,
    ];

    /// Returns the heading of the part in a report.
    pub fn title(self) -> &'static str {
        match self {
            Self::Schema => "Schema of the records",
            Self::Order => "Order and number of records",
            Self::Dialogue => "Control requests and answers",
            Self::CommandLine => "Command line",
            Self::Lanes => "Parser, bus, event stream and editor",
            Self::Person => "What a person sees in a chat",
            Self::Behaviour => "Exit, transcript and resume",
        }
    }
}

/// What kind of change it is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A kind of record, or of object inside one, is new.
    KindNew,
    /// A kind is gone.
    KindGone,
    /// A field is new.
    FieldNew,
    /// A field is gone.
    FieldGone,
    /// The values have another type.
    Retyped,
    /// `null` is possible now.
    Nullable,
    /// `null` no longer comes.
    NeverNull,
    /// A field that every object of its kind had is missing in some.
    Optional,
    /// A field that some objects lacked is in every one.
    Required,
    /// A word of a closed set is new.
    ValueNew,
    /// A word of a closed set is gone.
    ValueGone,
    /// A key stands at another place among the keys of its object.
    KeyMoved,
    /// Records of a kind come more or less often.
    Count,
    /// The same records come in another order.
    Order,
    /// A flag of the command line is new.
    FlagNew,
    /// A flag is gone.
    FlagGone,
    /// A flag has another value or another text.
    FlagChanged,
    /// A lane of the replay differs.
    Lane,
    /// A run ends in another way.
    Exit,
}

/// A change, with every recording that shows it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Change"))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftChange {
    /// The part to which it belongs.
    pub part: Part,
    /// What kind of change it is.
    pub kind: ChangeKind,
    /// What changed: a field such as `result.begun_message_ids`, a flag, or a lane.
    pub place: String,
    /// What is said of the place: `is new in result/success`.
    pub what: String,
    /// The scenarios whose recordings show it, sorted.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub scenarios: Vec<ScenarioName>,
    /// One example: a value, or what the first recording shows.
    pub example: Option<String>,
}

/// A scenario that was not compared, though it should have been.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotCompared {
    /// The scenario, or what else there is to compare, such as `the command line`.
    pub what: String,
    /// Why, in a sentence.
    pub why: String,
}

/// A difference in order that did not come again when both versions recorded the scenario again.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Race {
    /// The scenario.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub scenario: ScenarioName,
    /// The sequence in which the records changed places: `records: order`, `dialogue: order` or `transcript: order`.
    pub place: String,
    /// The two records: `user/tool_result` comes where `stream_event/message_delta` came.
    pub what: String,
}

/// One of the two versions.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// The version, as the CLI prints it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub version: CliVersion,
    /// Where the recordings come from: `committed`, `recorded now`, or both.
    pub recordings: String,
}

/// The drift from one version of the CLI to another.
#[derive(Debug, Clone)]
pub struct Drift {
    /// The version that is taken as known.
    pub from: About,
    /// The version that is compared with it.
    pub to: About,
    /// The scenarios that were compared.
    pub compared: Vec<ScenarioName>,
    /// The scenarios and texts that should have been compared and were not.
    pub not_compared: Vec<NotCompared>,
    /// The scenarios that do not apply to both versions, with the reason; hand-written captures are among them.
    pub left_out: Vec<NotCompared>,
    /// The changes, by part.
    pub changes: Vec<DriftChange>,
    /// The lanes that differ only because the gateway uses new parts of the records: without these, both recordings
    /// have the same lanes.
    pub follows: Vec<DriftChange>,
    /// The differences in order that did not come again when both versions recorded the scenario again. They do not
    /// count as changes.
    pub races: Vec<Race>,
    /// The time and the size of the recordings, which do not count as changes.
    pub cost: [Cost; 2],
    /// The lanes of both versions side by side.
    pub lanes: Comparison,
}

impl Drift {
    /// Returns whether there is no change and everything was compared.
    pub fn holds(&self) -> bool {
        self.changes.is_empty() && self.not_compared.is_empty()
    }

    /// Returns the changes of a part.
    pub fn of(&self, part: Part) -> impl Iterator<Item = &DriftChange> {
        self.changes.iter().filter(move |change| change.part == part)
    }
}

/// The size of recordings together. The time is no part of it: it differs from one recording to the next.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The records of stdout.
    pub records: u64,
    /// The bytes of stdout.
    pub bytes: u64,
}

impl Cost {
    /// Adds a recording.
    pub(super) fn add(&mut self, cassette: &Cassette) {
        let further = cassette.further.iter().map(|run| &run.stdout);
        for stdout in [&cassette.stdout].into_iter().chain(further) {
            self.records += stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.bytes += stdout.len() as u64;
        }
    }
}
