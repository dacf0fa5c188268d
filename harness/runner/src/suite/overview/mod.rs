//! Lists the content of a workspace without a replay: each scenario with its recordings and goldens, for `clitape list`
//! and `show`.

mod script;

use std::io;
use std::path::PathBuf;

use clitape_recording::cassette::{Cassette, Origin};
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::text::plain;
use serde::Serialize;

use clitape_judge::{Golden, View};
pub use script::{ScriptPart, script};

use super::pool::short_jobs;

/// The files that an overview counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// The goldens are counted, and the bytes of the recordings.
    Files,
    /// Only names are listed, so that fewer folders are read.
    Nothing,
}

/// A scenario, with its recordings and goldens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScenarioOverview {
    /// Its name.
    pub name: ScenarioName,
    /// The title, one line for people; empty if the scenario can't be read.
    pub title: String,
    /// The sentence about what it shows.
    pub about: String,
    /// The issues it guards.
    pub tracks: Vec<String>,
    /// The channels in which a person sees the run, as goldens name them: `telegram-partial`, `acp`, `sse`.
    pub channels: Vec<String>,
    /// Its recordings, the oldest version first.
    pub recordings: Vec<RecordingOverview>,
    /// The number of its goldens; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goldens: Option<usize>,
    /// The reason why the scenario can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordingOverview {
    /// The version of the CLI.
    pub version: CliVersion,
    /// The day of the recording, `YYYY-MM-DD`; absent if `cassette.toml` can't be read.
    pub date: Option<String>,
    /// The origin of its bytes; absent if `cassette.toml` can't be read.
    pub origin: Option<Origin>,
    /// The bytes of its files; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl ScenarioOverview {
    /// Reads the files of a scenario. An unreadable scenario or cassette is not an error, but shown as a part of the
    /// overview.
    ///
    /// # Errors
    ///
    /// When a folder can't be read.
    pub fn of(workspace: &Workspace, name: &ScenarioName, counting: Counting) -> io::Result<Self> {
        let counts = counting == Counting::Files;
        let mut overview = Self {
            name: name.clone(),
            title: String::new(),
            about: String::new(),
            tracks: Vec::new(),
            channels: Vec::new(),
            recordings: Vec::new(),
            goldens: counts.then(|| goldens(workspace, name)).transpose()?.map(|all| all.len()),
            problem: None,
        };
        match workspace.scenario_of(name) {
            Ok(scenario) => overview.add(&scenario),
            Err(error) => overview.problem = Some(plain(&error.to_string())),
        }
        let mut versions = workspace.recorded(name)?;
        versions.sort_by(CliVersion::by_number);
        for version in versions {
            let dir = workspace.cassette(name, &version);
            let manifest = Cassette::manifest(&dir).ok();
            overview.recordings.push(RecordingOverview {
                date: manifest.as_ref().map(|it| plain(&it.cli.date)),
                origin: manifest.as_ref().map(|it| it.origin),
                bytes: counts.then(|| files::bytes(&files::below(&dir)?)).transpose()?,
                version,
            });
        }
        Ok(overview)
    }

    fn add(&mut self, scenario: &Scenario) {
        self.title = plain(&scenario.title);
        self.about = plain(&scenario.about);
        self.tracks = scenario.tracks.iter().map(|track| plain(track)).collect();
        let is_channel = |view: &View| matches!(view, View::Telegram(_) | View::Acp(_) | View::Sse);
        let views = View::of(scenario).into_iter().filter(is_channel);
        self.channels = views.map(|view| view.to_string()).collect();
    }

    /// Returns the day of the newest recording.
    pub fn last_recorded(&self) -> Option<&str> {
        self.recordings.iter().filter_map(|it| it.date.as_deref()).max()
    }
}

/// Reads these scenarios on all cores; returns them in their order.
///
/// # Errors
///
/// When a folder can't be read.
pub fn overviews(
    workspace: &Workspace,
    names: &[ScenarioName],
    counting: Counting,
) -> io::Result<Vec<ScenarioOverview>> {
    short_jobs(names, |name| ScenarioOverview::of(workspace, name, counting))
}

/// Returns the names of a scenario's goldens, as paths below `golden/`, sorted: `bus.2.1.330.snap`.
///
/// # Errors
///
/// When a folder can't be read.
pub fn goldens(workspace: &Workspace, name: &ScenarioName) -> io::Result<Vec<String>> {
    let scenario = workspace.scenario(name);
    let dir = scenario.join("golden");
    let shown = |path: &PathBuf| Some(path.strip_prefix(&dir).ok()?.display().to_string());
    let goldens = Golden::files(&scenario)?;
    Ok(goldens.iter().filter_map(shown).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fs_err as fs;

    use super::*;

    #[test]
    fn an_overview_reads_what_is_there() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let name: ScenarioName = "three-tools".parse().unwrap();
        let overview = ScenarioOverview::of(&workspace, &name, Counting::Files).unwrap();
        assert!(overview.tracks.contains(&"openclaw#80046".to_owned()));
        assert!(overview.channels.contains(&"telegram-partial".to_owned()));
        let oldest = &overview.recordings[0];
        assert_eq!((oldest.version.as_str(), oldest.origin), ("1.0.128", Some(Origin::Recorded)));
        assert!(oldest.bytes > Some(1_000), "{oldest:?}");
        assert!(overview.last_recorded() >= oldest.date.as_deref());
        assert!(overview.goldens > Some(4), "{overview:?}");
        assert_eq!(overview.problem, None);
        let mut brief = ScenarioOverview::of(&workspace, &name, Counting::Nothing).unwrap();
        assert!(brief.goldens.is_none() && brief.recordings.iter().all(|it| it.bytes.is_none()));
        brief.goldens = overview.goldens;
        for (brief, full) in brief.recordings.iter_mut().zip(&overview.recordings) {
            brief.bytes = full.bytes;
        }
        assert_eq!(brief, overview, "the rest is the same");

        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("scenarios/three-tools")).unwrap();
        let empty =
            ScenarioOverview::of(&Workspace::at(dir.path()), &name, Counting::Files).unwrap();
        assert!(empty.problem.is_some() && empty.recordings.is_empty(), "{empty:?}");
    }
}
