//! The options that choose scenarios, which all commands about scenarios share.

use clitape_recording::scenario::Workspace;
use clitape_runner::suite::select::{NamePattern, Selection, Selector, Shard, changed_since};

/// The revision of `--changed` without a value: it selects what is not committed.
const UNCOMMITTED: &str = "HEAD";

/// The options that choose scenarios
#[derive(clap::Args, Debug, Default)]
pub(crate) struct SelectionArgs {
    /// Scenarios: NAME, NAME/VERSION, or a pattern such as 'three-*' or '*/2.1.330'
    #[arg(value_name = "SCENARIO")]
    names: Vec<NamePattern>,
    /// Only scenarios that track this issue, such as openclaw#80046 or 'openclaw#*'
    #[arg(long, value_name = "ISSUE", help_heading = "Selection")]
    track: Vec<String>,
    /// Leave these scenarios, or with /VERSION these recordings, out
    #[arg(long, value_name = "SCENARIO", help_heading = "Selection")]
    exclude: Vec<NamePattern>,
    /// Only scenarios of which a file changed since the branch left this revision of git; without one, those with
    /// changes that are not committed
    #[arg(long, value_name = "REVISION", num_args = 0..=1, require_equals = true,
        default_missing_value = UNCOMMITTED, help_heading = "Selection")]
    changed: Option<String>,
    /// Only this part of the selected scenarios, such as 1/4; all parts together are all of them
    #[arg(long, value_name = "K/N", help_heading = "Selection")]
    shard: Option<Shard>,
}

/// The meanings that a command gives to names, in addition to those of existing scenarios and recordings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Names {
    /// A part of a scenario's name means all scenarios that contain it.
    pub(crate) parts: bool,
    /// A version may be one that is not recorded yet.
    pub(crate) new_versions: bool,
}

impl SelectionArgs {
    /// Returns the selected scenarios of a workspace.
    pub(crate) fn select(&self, workspace: &Workspace, names: Names) -> anyhow::Result<Selection> {
        let changed = match &self.changed {
            Some(revision) => Some((revision.clone(), changed_since(workspace, revision)?)),
            None => None,
        };
        let selector = Selector {
            names: self.names.clone(),
            parts: names.parts,
            new_versions: names.new_versions,
            exclude: self.exclude.clone(),
            tracks: self.track.clone(),
            changed,
            shard: self.shard,
        };
        Ok(selector.choose(workspace)?)
    }
}
