//! The checks of a scenario, and the marks of a run of the suite.
//!
//! A mark says what was at stake, how often, and where first. A rule that never was at stake can't be broken by any
//! recording, so that it is not tested.

use std::collections::BTreeMap;
use std::fmt;

use clitape_judge::{FindingKind, RULES, RuleScope, View};
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::trace::Lane;
use clitape_stream::DiagnosticCode;

use crate::replay::Replay;

/// One check of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A view of a cassette is what its golden says.
    Golden {
        /// The cassette.
        version: CliVersion,
        /// The view.
        view: View,
    },
    /// The seeded plans of a cassette give the trace of the uncut replay.
    Plans {
        /// The cassette.
        version: CliVersion,
    },
    /// The manifest of a cassette says what its scenario and its timeline say, and a person ends up reading the
    /// same when it is replayed as it was recorded.
    Recorded {
        /// The cassette.
        version: CliVersion,
    },
    /// Every outcome of a chat with variants has a name, and every variant is an outcome.
    Variants {
        /// The chat's view.
        view: View,
    },
    /// Every version of the scenario is recorded, no golden is orphaned or repeats another one, and no cassette and no
    /// golden holds a secret that its cassette does not allow.
    Complete,
}

impl Check {
    /// The version of its cassette; a check of several cassettes has none.
    pub fn version(&self) -> Option<&CliVersion> {
        match self {
            Self::Golden { version, .. } | Self::Plans { version } | Self::Recorded { version } => {
                Some(version)
            }
            Self::Variants { .. } | Self::Complete => None,
        }
    }

    /// The place of its findings, as a check of this scenario: `three-tools 2.1.332 bus`.
    pub(crate) fn place(&self, scenario: &ScenarioName) -> String {
        format!("{scenario} {}", self.to_string().replace("::", " "))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Golden { version, view } => write!(f, "{version}::{view}"),
            Self::Plans { version } => write!(f, "{version}::plans"),
            Self::Recorded { version } => write!(f, "{version}::recorded"),
            Self::Variants { view } => write!(f, "{view}::variants"),
            Self::Complete => f.write_str("complete"),
        }
    }
}

/// A kind of finding or diagnostic that a check can put at stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The finding could have come.
    Finding(FindingKind),
    /// The parser reported the diagnostic.
    Diagnostic(DiagnosticCode),
}

/// Where something was at stake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtStake {
    /// The number of checks or replays in which it was.
    pub times: u64,
    /// The first of them: `three-tools 2.1.332 seed 7`.
    pub first: String,
}

/// The kinds that were at stake, each with its first place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks(BTreeMap<Mark, AtStake>);

/// The kinds of findings that only a gateway or a parser of others can have, or a comparison of two sides, by the
/// beginning of their ids.
const OF_SUBJECTS: [&str; 4] = ["SB", "SA", "SP", "CM"];

/// The kinds that are at stake whenever scenarios are judged.
const OF_EVERY_RUN: [FindingKind; 5] = [
    FindingKind::ScenarioUnusable,
    FindingKind::Stray,
    FindingKind::Leftover,
    FindingKind::CassetteOrphan,
    FindingKind::CheckHangs,
];

/// The marks that no recording can put at stake, with the reasons.
const OUT_OF_REACH: [(Mark, &str); 2] = [
    (
        Mark::Diagnostic(DiagnosticCode::TooManyRecords),
        "a recording has at most as many lines as the parser reads; unit tests of the parser lower the limit",
    ),
    (
        Mark::Diagnostic(DiagnosticCode::TooManyBytes),
        "a recording has at most as many bytes as the parser reads; unit tests of the parser lower the limit",
    ),
];

impl Mark {
    /// All that a run of the suite should put at stake, in the order in which it is listed.
    pub fn all() -> impl Iterator<Item = Self> {
        let is_own = |kind: &&FindingKind| {
            let id = kind.to_string();
            let mut rules = RULES.iter().filter(|rule| rule.needs.scope != RuleScope::Others);
            let is_of_others = OF_SUBJECTS.iter().any(|subject| id.starts_with(subject));
            !is_of_others || rules.any(|rule| rule.kind == **kind)
        };
        let kinds = FindingKind::ALL.iter().filter(is_own).map(|kind| Self::Finding(*kind));
        let codes = DiagnosticCode::ALL.iter().map(|code| Self::Diagnostic(*code));
        kinds.chain(codes)
    }

    /// Why no recording can put it at stake, if that is so.
    pub fn out_of_reach(self) -> Option<&'static str> {
        OUT_OF_REACH.iter().find(|(mark, _)| *mark == self).map(|(_, why)| *why)
    }
}

/// `GW003 edit-after-final`, or `diagnostic cut-line`.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finding(kind) => write!(f, "{kind}"),
            Self::Diagnostic(code) => write!(f, "diagnostic {code}"),
        }
    }
}

impl Marks {
    /// Where something was at stake; none where it never was.
    pub fn get(&self, mark: Mark) -> Option<&AtStake> {
        self.0.get(&mark)
    }

    /// Returns the marks that should have been at stake and never were.
    pub fn never(&self) -> impl Iterator<Item = Mark> {
        Mark::all().filter(|mark| mark.out_of_reach().is_none() && self.get(*mark).is_none())
    }

    /// Adds the marks of what was judged later.
    pub(crate) fn merge(&mut self, later: Self) {
        for (mark, AtStake { times, first }) in later.0 {
            let stake = self.0.entry(mark).or_insert(AtStake { times: 0, first });
            stake.times += times;
        }
    }

    /// Returns the marks that are at stake in every run.
    pub(crate) fn of_every_run() -> Self {
        let mut marks = Self::default();
        OF_EVERY_RUN.iter().for_each(|kind| marks.add(*kind, "every run"));
        marks
    }

    /// One more time at `place`.
    pub(super) fn add(&mut self, kind: FindingKind, place: &str) {
        self.add_mark(Mark::Finding(kind), place);
    }

    /// Adds the kinds that a check looks for in every recording.
    pub(super) fn add_check(&mut self, check: &Check, place: &str) {
        let kinds: &[FindingKind] = match check {
            Check::Golden { .. } => &[
                FindingKind::GoldenDiffers,
                FindingKind::GoldenMissing,
                FindingKind::GoldenUnreadable,
            ],
            Check::Plans { .. } => &[FindingKind::PlanDiverges],
            Check::Recorded { .. } => &[
                FindingKind::RecordedDiverges,
                FindingKind::ManifestDiffers,
                FindingKind::TimesImplausible,
            ],
            Check::Variants { .. } => &[FindingKind::OutcomeUnnamed, FindingKind::VariantNeverSeen],
            Check::Complete => &[
                FindingKind::NotRecorded,
                FindingKind::RecordingStale,
                FindingKind::GoldenOrphan,
                FindingKind::SecretKept,
            ],
        };
        kinds.iter().for_each(|kind| self.add(*kind, place));
    }

    /// The invariants that a replay could break, and what the parser says of its input.
    pub(super) fn add_replay(&mut self, replay: &Replay, place: &str) {
        for rule in RULES.iter().filter(|rule| rule.is_at_stake(replay)) {
            self.add(rule.kind, place);
        }
        for entry in replay.lane(Lane::Lifecycle).filter(|entry| entry.kind == "diagnostic") {
            if let Ok(code) = entry.text("code").parse() {
                self.add_mark(Mark::Diagnostic(code), place);
            }
        }
    }

    fn add_mark(&mut self, mark: Mark, place: &str) {
        let new = || AtStake { times: 0, first: place.to_owned() };
        self.0.entry(mark).or_insert_with(new).times += 1;
    }
}

#[cfg(test)]
mod tests {
    use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Setup};

    use super::super::sweep::tests::RUN;
    use super::*;
    use crate::replay::{Plan, replay};

    #[test]
    fn a_replay_marks_what_it_could_break_and_nothing_else() {
        let channel = Some(Chat::of(ChatMode::Partial));
        let setup = Setup { run: RunSpec::default(), channel, acp: None };
        let bytes = [RUN.as_bytes(), b"no json\n"].concat();
        let replay = replay(&bytes, &Plan::canonical(&bytes, 200), setup);
        let mut marks = Marks::default();
        marks.add_replay(&replay, "x 1.0 seed 1");
        marks.add_replay(&replay, "x 1.0 seed 2");
        let stake = AtStake { times: 2, first: "x 1.0 seed 1".to_owned() };
        for mark in [
            Mark::Finding(FindingKind::LineLost),
            Mark::Finding(FindingKind::FinalNotOnce),
            Mark::Diagnostic(DiagnosticCode::NotJson),
        ] {
            assert_eq!(marks.get(mark), Some(&stake), "{mark}");
        }
        for kind in [FindingKind::CallMisread, FindingKind::InProgressWhileAsked] {
            assert_eq!(marks.get(Mark::Finding(kind)), None, "{kind}");
            assert!(marks.never().any(|mark| mark == Mark::Finding(kind)), "{kind}");
        }
        let mut all = Marks::of_every_run();
        all.merge(marks.clone());
        all.merge(marks);
        let stake = all.get(Mark::Finding(FindingKind::LineLost)).unwrap();
        assert_eq!((stake.times, stake.first.as_str()), (4, "x 1.0 seed 1"));
    }

    #[test]
    fn what_is_of_subjects_or_out_of_reach_is_never_missed() {
        let never: Vec<Mark> = Marks::default().never().collect();
        assert!(!never.contains(&Mark::Finding(FindingKind::AnswerMissing)));
        assert!(!never.contains(&Mark::Diagnostic(DiagnosticCode::TooManyBytes)));
        assert!(never.contains(&Mark::Diagnostic(DiagnosticCode::CutLine)));
    }
}
