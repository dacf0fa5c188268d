//! The failing plans that `clitape test` keeps under `.clitape/failures/`, so that the next run replays them first.
//!
//! There is a file for each recording. It has numbers, ids of findings and the hash of stdout, but nothing of what was
//! recorded.

use std::fmt;

use clitape_recording::cassette::sha256;
use clitape_recording::scenario::{OwnFile, Workspace};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::recording::Recording;
use crate::replay::{Plan, PlanArg};

/// The format of a file.
const FORMAT: u32 = 1;
/// The most plans that are kept of a recording.
const MOST: usize = 20;

/// What is done with plans that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureMemory {
    /// They are told, and forgotten.
    #[default]
    Off,
    /// They are kept under `.clitape/failures/`.
    Keep,
    /// They are kept, and those that are kept are replayed before all others.
    KeepAndTryFirst,
}

/// A plan that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptPlan {
    /// What it was made from: `seed 7`.
    pub(super) name: String,
    /// The id of what it showed: `PL001 plan-diverges`.
    pub(super) finding: String,
    /// The plan, made as small as it gets.
    pub(super) plan: Plan,
}

/// The kept plans of a recording.
pub(super) struct KeptPlans<'a> {
    workspace: &'a Workspace,
    recording: &'a Recording,
    before: Vec<KeptPlan>,
    /// The plans, the latest first.
    pub(super) plans: Vec<KeptPlan>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptFile {
    format: u32,
    stdout_sha256: String,
    #[serde(deserialize_with = "at_most")]
    plans: Vec<KeptPlan>,
}

/// Reads as many plans as are kept. A repository may bring a file with any number of them, and each is replayed.
fn at_most<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<KeptPlan>, D::Error> {
    struct Plans;

    impl<'de> Visitor<'de> for Plans {
        type Value = Vec<KeptPlan>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST} plans")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            let mut plans = Vec::new();
            while let Some(plan) = all.next_element()? {
                if plans.len() == MOST {
                    let more = format!("it has more than {MOST} plans, the most that are kept");
                    return Err(A::Error::custom(more));
                }
                plans.push(plan);
            }
            Ok(plans)
        }
    }

    deserializer.deserialize_seq(Plans)
}

impl<'a> KeptPlans<'a> {
    /// Reads the plans that are kept of a recording, and adds to `notes` what can't be used.
    pub(super) fn read(
        workspace: &'a Workspace,
        recording: &'a Recording,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut kept = Self { workspace, recording, before: Vec::new(), plans: Vec::new() };
        let file = match kept.file().read(workspace) {
            Ok(None) => return kept,
            Ok(Some(text)) => read(&text),
            Err(error) => Err(error.to_string()),
        };
        match file {
            Ok(file) => kept.take(file, notes),
            Err(why) => {
                let path = workspace.shown(&kept.file().path(workspace));
                notes.push(format!("NOT READ {path} has no kept plans: {why}; remove it"));
            }
        }
        kept
    }

    /// Keeps a plan that failed, before the others.
    pub(super) fn keep(&mut self, plan: KeptPlan) {
        self.plans.retain(|other| other.plan != plan.plan);
        self.plans.insert(0, plan);
        self.plans.truncate(MOST);
    }

    /// Writes the plans, and adds to `notes` why they can't be written: the workspace may well be one that can only
    /// be read.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn write(self, notes: &mut Vec<String>) {
        if self.plans == self.before {
            return;
        }
        let file = self.file();
        let written = if self.plans.is_empty() {
            file.remove(self.workspace)
        } else {
            let stdout_sha256 = sha256(self.recording.capture().stdout);
            let kept = KeptFile { format: FORMAT, stdout_sha256, plans: self.plans };
            let text = serde_json::to_string(&kept).expect("numbers and words serialise");
            file.write(self.workspace, &(text + "\n"))
        };
        notes.extend(written.err().map(|error| format!("NOT KEPT {error}")));
    }

    /// Takes the plans that are for the recording.
    fn take(&mut self, file: KeptFile, notes: &mut Vec<String>) {
        let (name, version) = (&self.recording.scenario.name, self.recording.version());
        let is_same = file.stdout_sha256 == sha256(self.recording.capture().stdout);
        self.before.clone_from(&file.plans);
        for kept in file.plans {
            let why = match is_same {
                false => Some("it is for another recording".to_owned()),
                true => {
                    let plan = PlanArg::Json(kept.plan.to_line());
                    self.recording.given_plan(plan).err().map(|error| error.to_string())
                }
            };
            let Some(why) = why else {
                self.plans.push(kept);
                continue;
            };
            let KeptPlan { name: seed, finding, .. } = kept;
            notes.push(format!("DROPPED {name} {version}: {seed} ({finding}): {why}"));
        }
    }

    fn file(&self) -> OwnFile<'a> {
        OwnFile::Failures(&self.recording.scenario.name, self.recording.version())
    }
}

fn read(text: &str) -> Result<KeptFile, String> {
    let file: KeptFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if file.format > FORMAT {
        return Err(format!("it has format {}, which a later clitape reads", file.format));
    }
    Ok(file)
}
