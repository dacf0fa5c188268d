//! The recordings of a version: those that are committed, and those that are made now and stored in the cache.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clitape_process::host::HostPaths;
use clitape_recording::cassette::Cassette;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::secrets::redact;
use fs_err as fs;

use super::model::{About, ChangeKind, DriftChange, NotCompared};
use super::pairs::of_recordings;
use crate::check::Recording;
use crate::record::{Claude, RecordError, RecordSettings, digest, record};
use crate::suite::select::Selection;
use crate::suite::{SuiteOptions, TrialEvent, each};

/// The number of a hash's characters that name a folder.
const SHORT: usize = 16;
/// The most recordings of a scenario, made while the order or the number of records differs from the recording of the
/// other version.
const TRIES: usize = 3;

/// A version, and the places of its recordings.
#[derive(Debug)]
pub struct Side {
    /// The description.
    pub about: About,
    /// The workspace with the recording of each scenario.
    pub recordings: BTreeMap<ScenarioName, Workspace>,
    /// The output of `claude --help`, or the reason why it is unknown.
    pub help: Result<String, String>,
}

/// Records the scenarios that have no recording yet.
#[derive(Debug, Clone, Copy)]
pub struct Recorder<'a> {
    /// The CLI.
    pub claude: &'a Claude,
    /// The workspace with the scenarios.
    pub workspace: &'a Workspace,
    /// The recordings of the other version, and the version. Some records race each other: if their order or number
    /// differs from these, the scenario is recorded up to three times, and a recording without such a difference is
    /// taken.
    pub like: (&'a BTreeMap<ScenarioName, Workspace>, &'a CliVersion),
    /// The folder of the cache in which recordings are stored.
    pub cache: &'a Path,
    /// The settings of each recording.
    pub settings: RecordSettings,
    /// The number of scenarios that are recorded at a time; as many as there are cores by default.
    pub jobs: Option<usize>,
    /// The machine.
    pub host: &'a HostPaths,
    /// A flag that ends everything when the caller sets it.
    pub stop: &'a AtomicBool,
}

/// The result of a [`Recorder`].
#[derive(Debug, Default)]
pub struct Recorded {
    /// The workspace with the recording of each scenario.
    pub recordings: BTreeMap<ScenarioName, Workspace>,
    /// The scenarios that could not be recorded, with the reason.
    pub failed: Vec<NotCompared>,
}

/// Returns the committed recordings of a version.
pub fn committed(
    workspace: &Workspace,
    version: &CliVersion,
    scenarios: &[Arc<Scenario>],
) -> BTreeMap<ScenarioName, Workspace> {
    let names = scenarios.iter().map(|scenario| &scenario.name);
    let known = names.filter(|name| is_recorded(workspace, name, version));
    known.map(|name| (name.clone(), workspace.clone())).collect()
}

fn is_recorded(workspace: &Workspace, name: &ScenarioName, version: &CliVersion) -> bool {
    workspace.cassette(name, version).join("cassette.toml").is_file()
}

impl Recorder<'_> {
    /// Records the scenarios on all cores; a failure does not end it. A scenario that this CLI has recorded before, and
    /// that has not changed since, is not recorded again. Reports the progress.
    ///
    /// # Errors
    ///
    /// [`RecordError::Stopped`] when the caller asks to stop.
    pub fn record(
        &self,
        scenarios: &[Arc<Scenario>],
        report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
    ) -> Result<Recorded, RecordError> {
        let mut made = Vec::new();
        let one = |scenario: &Arc<Scenario>| match self.one(scenario) {
            Err(RecordError::Stopped) => Err(RecordError::Stopped),
            one => Ok(one),
        };
        each(scenarios, self.jobs, one, report, |one| made.push(one))?;
        let mut recorded = Recorded::default();
        for (scenario, one) in scenarios.iter().zip(made) {
            match one {
                Ok(workspace) => {
                    recorded.recordings.insert(scenario.name.clone(), workspace);
                }
                Err(error) => {
                    // The further lines have the output of the CLI.
                    let error = error.to_string();
                    let said = error.lines().next().unwrap_or_default();
                    recorded.failed.push(NotCompared {
                        what: scenario.name.to_string(),
                        why: format!("claude {} did not record it: {said}", self.claude.version),
                    });
                }
            }
        }
        Ok(recorded)
    }

    /// Returns the workspace with the recording of one scenario.
    fn one(&self, scenario: &Arc<Scenario>) -> Result<Workspace, RecordError> {
        let digest = digest(scenario, self.settings.workspace, self.stop)?;
        let folder = self.cache.join(&self.claude.sha256[..SHORT]).join(&digest[..SHORT]);
        let kept = Workspace::at(&folder);
        let dir = kept.cassette(&scenario.name, &self.claude.version);
        if Cassette::load(&dir).is_ok() {
            return Ok(kept);
        }
        fs::create_dir_all(&folder)?;
        for left in (0..TRIES).rev() {
            let recorded = record(scenario, self.claude, self.settings, self.host, self.stop)?;
            let mut take = recorded.take;
            if self.is_redacted(&scenario.name) {
                redact(&mut take)?;
            }
            take.write(&kept)?;
            if left == 0 || !self.is_of_a_race(scenario, &kept)? {
                break;
            }
        }
        Ok(kept)
    }

    /// Returns whether the recording differs from that of the other version in something that a race may decide: the
    /// number and order of records, or the lanes of the replay.
    fn is_of_a_race(
        &self,
        scenario: &Arc<Scenario>,
        made: &Workspace,
    ) -> Result<bool, RecordError> {
        let (recordings, version) = self.like;
        let Some(other) = recordings.get(&scenario.name) else { return Ok(false) };
        let load = |workspace, version| Recording::load(workspace, scenario, version);
        let pair = [load(other, version)?, load(made, &self.claude.version)?];
        let about = pair.each_ref().map(|recording| About {
            version: recording.version().clone(),
            recordings: String::new(),
        });
        let (jobs, stop, selection) = (self.jobs, Some(self.stop), Selection::default());
        let options = SuiteOptions { jobs, stop, ..SuiteOptions::new(&selection) };
        let found = of_recordings(&[pair], about.each_ref(), options, &mut |_| Ok(()))
            .map_err(|_| RecordError::Stopped)?;
        let is_of_race = |change: &DriftChange| {
            matches!(change.kind, ChangeKind::Count | ChangeKind::Order | ChangeKind::Lane)
        };
        Ok(found.changes.iter().any(is_of_race))
    }

    /// Returns whether the committed recordings, with which this one is compared, have redacted secrets.
    fn is_redacted(&self, name: &ScenarioName) -> bool {
        let versions = self.workspace.recorded(name).unwrap_or_default();
        let mut cassettes = versions.iter().map(|v| Cassette::find(self.workspace, name, v));
        cassettes.any(|found| found.is_ok_and(|cassette| !cassette.manifest.redacted.is_empty()))
    }
}
