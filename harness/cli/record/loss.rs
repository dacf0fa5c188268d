//! Finds what a new recording would overwrite.

use clitape_recording::cassette::{Cassette, Take};
use clitape_recording::files;
use clitape_recording::scenario::Workspace;

use super::check::{RecordingParts, difference};

/// Describes what the stored cassette has and `take` lacks; `None` without a cassette, or if the bytes are the same.
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
