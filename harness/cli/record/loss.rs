//! What would be lost if a new recording took the place of the one that is there.

use clitape_recording::cassette::{Cassette, Take};
use clitape_recording::files;
use clitape_recording::scenario::Workspace;

use super::check::{RecordingParts, difference};

/// What the cassette that is there has and `take` has not, in a sentence; none where there is no cassette, or `take` has
/// the same bytes.
pub(crate) fn loss(workspace: &Workspace, take: &Take) -> Option<String> {
    let (name, version) = (&take.manifest.scenario, &take.manifest.cli.version);
    let dir = workspace.cassette(name, version);
    if !files::is_there(&dir) {
        return None;
    }
    let shown = workspace.shown(&dir);
    let there = match Cassette::find(workspace, name, version) {
        Ok(cassette) => Take::from(cassette),
        Err(error) => {
            return Some(format!("{shown} is there already, but it can't be read ({error})"));
        }
    };
    if there.manifest.origin != take.manifest.origin {
        return Some(format!("{shown} is there already, and was made in another way"));
    }
    let what = difference(&RecordingParts::of(&there), &RecordingParts::of(take))?;
    Some(format!("{shown} is there already, and this one differs: {what}"))
}
