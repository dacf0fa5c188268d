//! A finding: one named failure, with a sentence, the place, and the line that reproduces it; and what
//! a check found.

use std::fmt;

use super::change::Change;
use super::context::ContextMoment;
use super::diff::DiffLine;

/// The kinds of findings, each with a stable id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A lane is not what its golden says.
    GoldenDiffers,
    /// A lane has no golden.
    GoldenMissing,
    /// A golden that no lane was compared with.
    GoldenOrphan,
    /// A golden file that can't be read.
    GoldenUnreadable,
    /// An outcome of a chat with variants that neither its golden nor a variant says.
    OutcomeUnnamed,
    /// A variant that no replay gave.
    VariantNeverSeen,
    /// A replay under a plan told something else than the uncut one.
    PlanDiverges,
    /// With faults of the chat's server a person ends up reading something else than without.
    Misread,
    /// A scenario, or a CLI version it names, has no cassette.
    NotRecorded,
    /// A cassette whose scenario is not there.
    CassetteOrphan,
    /// A line of stdout that nothing accounts for.
    LineLost,
    /// A tool call that did not start once and end once.
    ToolUnbalanced,
    /// The bus has a gap, or no single end.
    BusBroken,
    /// A call of the channel after the final text.
    EditAfterFinal,
    /// More or fewer final texts than one.
    FinalNotOnce,
    /// More than one visible message where one would do, or a gap without any.
    SecondMessage,
    /// A channel call sooner after the last one than the throttle allows.
    TooFast,
    /// Progress in the channel after the agent has sent its message with a tool.
    ToldAfterSend,
    /// A silent run of which the channel heard.
    SilentRunTold,
    /// A callback of a channel failed, or was given up.
    CallbackFailed,
    /// A call of the channel before the time that the chat's server asked to wait was over.
    CalledTooEarly,
    /// A scenario that can't be loaded.
    ScenarioUnusable,
    /// A folder or link in `scenarios/` or `cassettes/` that can't be what stands there.
    Stray,
    /// What a writer of a cassette left when it was ended.
    Leftover,
    /// A cassette or a golden with a secret in it that `cassette.toml` does not allow.
    SecretKept,
}

/// Id and name of each kind; ids are never used again for something else.
const NAMES: [(FindingKind, &str, &str); 25] = [
    (FindingKind::GoldenDiffers, "GD001", "golden-differs"),
    (FindingKind::GoldenMissing, "GD002", "golden-missing"),
    (FindingKind::GoldenOrphan, "GD003", "golden-orphan"),
    (FindingKind::GoldenUnreadable, "GD004", "golden-unreadable"),
    (FindingKind::OutcomeUnnamed, "GD005", "outcome-unnamed"),
    (FindingKind::VariantNeverSeen, "GD006", "variant-never-seen"),
    (FindingKind::PlanDiverges, "PL001", "plan-diverges"),
    (FindingKind::Misread, "PL002", "misread"),
    (FindingKind::NotRecorded, "TP001", "not-recorded"),
    (FindingKind::CassetteOrphan, "TP002", "cassette-orphan"),
    (FindingKind::LineLost, "ST001", "line-lost"),
    (FindingKind::ToolUnbalanced, "GW001", "tool-unbalanced"),
    (FindingKind::BusBroken, "GW002", "bus-broken"),
    (FindingKind::EditAfterFinal, "GW003", "edit-after-final"),
    (FindingKind::FinalNotOnce, "GW004", "final-not-once"),
    (FindingKind::SecondMessage, "GW005", "second-message"),
    (FindingKind::TooFast, "GW006", "too-fast"),
    (FindingKind::ToldAfterSend, "GW007", "told-after-send"),
    (FindingKind::SilentRunTold, "GW008", "silent-run-told"),
    (FindingKind::CallbackFailed, "GW009", "callback-failed"),
    (FindingKind::CalledTooEarly, "GW010", "called-too-early"),
    (FindingKind::ScenarioUnusable, "WS001", "scenario-unusable"),
    (FindingKind::Stray, "WS002", "stray"),
    (FindingKind::Leftover, "WS003", "leftover"),
    (FindingKind::SecretKept, "SC001", "secret-kept"),
];

impl FindingKind {
    fn row(self) -> (&'static str, &'static str) {
        NAMES
            .iter()
            .find(|(kind, ..)| *kind == self)
            .map_or(("??000", "unnamed"), |&(_, id, name)| (id, name))
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, name) = self.row();
        write!(f, "{id} {name}")
    }
}

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of failure.
    pub kind: FindingKind,
    /// Where: scenario, CLI version and view, as far as they apply.
    pub place: String,
    /// One sentence.
    pub sentence: String,
    /// What the difference is about as a whole, and what follows from it, where two texts differ.
    pub change: Option<Change>,
    /// What came in beside what was seen, up to the first difference of a golden.
    pub moments: Vec<ContextMoment>,
    /// An aligned diff, where two texts were compared; empty elsewhere.
    pub diff: Vec<DiffLine>,
    /// The command that shows it again, or settles it.
    pub reproduce: String,
}

impl Finding {
    /// A finding without a diff.
    pub fn new(kind: FindingKind, place: &str, sentence: String, reproduce: String) -> Self {
        Self {
            kind,
            place: place.to_owned(),
            sentence,
            change: None,
            moments: Vec::new(),
            diff: Vec::new(),
            reproduce,
        }
    }
}

/// What a check found, and what it did.
#[derive(Debug, Default)]
pub struct CheckResult {
    /// What is wrong; empty when all held.
    pub findings: Vec<Finding>,
    /// Goldens compared.
    pub goldens: u64,
    /// Plans replayed.
    pub plans: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_id_of_its_own() {
        for (i, (kind, id, name)) in NAMES.iter().enumerate() {
            assert_eq!(kind.to_string(), format!("{id} {name}"));
            assert!(NAMES[i + 1..].iter().all(|(_, other, _)| other != id), "{id} stands twice");
        }
        assert_eq!(FindingKind::EditAfterFinal.to_string(), "GW003 edit-after-final");
        assert_eq!(NAMES.len(), FindingKind::SecretKept as usize + 1, "a kind has no row");
    }
}
