//! A golden in the list of a review: the reason why it is there, and the texts that a reviewer compares.

use std::fmt;
use std::path::{Path, PathBuf};

use clitape_judge::{Golden, GoldenChange, body};
use clitape_recording::files;
use clitape_recording::scenario::{ChatProfile, Scenario, Workspace};
use clitape_recording::text::plural;
use clitape_runner::report::ReviewedGolden;

/// The reason why a golden is in the list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GoldenState {
    New,
    Changed,
    Orphan,
    Repeated,
    Missing,
    Unseen,
}

impl GoldenState {
    /// Returns whether a golden is proposed, so that it can be settled.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::New | Self::Changed)
    }
}

impl fmt::Display for GoldenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Orphan => "orphan",
            Self::Repeated => "repeated",
            Self::Missing => "missing",
            Self::Unseen => "unseen",
        })
    }
}

/// A golden in the list.
pub(super) struct ReviewItem {
    /// The scenario and the view, such as `plain-text/bus`, with the version where it has one.
    pub(super) id: String,
    pub(super) golden: PathBuf,
    pub(super) state: GoldenState,
    /// The golden that a proposal is compared with: the one of the same name; for a new one with a version, the golden
    /// that was valid for the version so far; for a variant, the usual one.
    pub(super) old: Option<PathBuf>,
    /// The profile of the chat, if the golden shows one.
    profile: ChatProfile,
}

impl ReviewItem {
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn new(
        scenario: &Scenario,
        golden: PathBuf,
        state: GoldenState,
    ) -> anyhow::Result<Self> {
        let view = golden.file_stem().expect("a golden has a name").to_string_lossy();
        let folder = golden.parent().and_then(Path::file_name).expect("a golden has a folder");
        // The goldens of a subject are in a folder with its name.
        let id = match folder.to_string_lossy() {
            folder if folder == "golden" => format!("{}/{view}", scenario.name),
            subject => format!("{}/{subject}/{view}", scenario.name),
        };
        let old = match state {
            GoldenState::New => Golden::before(scenario, &golden)?,
            _ => Some(golden.clone()),
        };
        let profile = Golden::profile(scenario, &golden);
        Ok(Self { id, golden, state, old, profile })
    }

    pub(super) fn proposed(&self) -> PathBuf {
        let mut path = self.golden.clone().into_os_string();
        path.push(".new");
        path.into()
    }

    /// Returns whether the filter is the id, or a part of the id or path.
    pub(super) fn is_meant(&self, filter: &str, workspace: &Workspace) -> bool {
        self.id.contains(filter) || workspace.shown(&self.golden).contains(filter)
    }

    /// Returns the reason why the golden is in the list, in one sentence.
    pub(super) fn sentence(&self) -> anyhow::Result<String> {
        Ok(match self.state {
            GoldenState::Orphan => "nothing is compared with it; remove it".to_owned(),
            GoldenState::Repeated => {
                "it says the same as the golden before it, which holds for its version too; remove it"
                    .to_owned()
            }
            GoldenState::Missing => {
                "the variant has no golden; `clitape test --update` proposes it".to_owned()
            }
            GoldenState::Unseen => {
                "no replay gives this variant; remove it, or replay more `plans` \
                              under [sweep]"
                    .to_owned()
            }
            GoldenState::New | GoldenState::Changed => self.sentence_of(&self.change()?)?,
        })
    }

    /// Returns the sentence of a proposal with this change.
    pub(super) fn sentence_of(&self, change: &GoldenChange) -> anyhow::Result<String> {
        let first = change.sentence.as_deref().unwrap_or("the texts are equal");
        if self.state != GoldenState::New {
            return Ok(first.to_owned());
        }
        let entries = plural(text(&self.proposed())?.lines().count(), "entry");
        Ok(match &self.old {
            None => format!("a new golden of {entries}"),
            Some(old) => {
                let name = old.file_name().unwrap_or_default().to_string_lossy();
                format!("a new golden of {entries}; compared with {name}: {first}")
            }
        })
    }

    /// Returns the change from the golden that was valid so far to the proposal.
    pub(super) fn change(&self) -> anyhow::Result<GoldenChange> {
        let old = self.old.as_deref().map(text).transpose()?.unwrap_or_default();
        Ok(GoldenChange::between(&old, &text(&self.proposed())?, self.profile))
    }

    /// Returns the proposal for a page.
    pub(super) fn reviewed(&self, workspace: &Workspace) -> anyhow::Result<ReviewedGolden> {
        let change = self.change()?;
        Ok(ReviewedGolden {
            id: self.id.clone(),
            state: self.state.to_string(),
            path: workspace.shown(&self.golden),
            sentence: self.sentence_of(&change)?,
            change,
        })
    }
}

/// Reads a golden and returns its text below the header.
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    let file = files::read_text(path)?;
    Ok(body(&file).unwrap_or(&file).to_owned())
}
