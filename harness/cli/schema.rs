//! `clitape schema`: prints the JSON Schema of the recorded records.

use clitape_recording::scenario::Workspace;
use clitape_runner::observed::observe;

use crate::exit::ExitStatus;
use crate::terminal;

/// Prints a JSON Schema of every kind of record in the recordings
///
/// Each field has its types, how often it was there, an example, and the versions since and until which others of
/// its kind lack it. Recordings that were imported or edited by hand are left out.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<ExitStatus> {
    let schema = observe(workspace)?;
    if schema["x-versions"].as_array().is_none_or(Vec::is_empty) {
        terminal::note("nothing is recorded here; run `clitape record` first");
        return Ok(ExitStatus::Nothing);
    }
    terminal::stdout().lines(serde_json::to_string_pretty(&schema)?)?;
    Ok(ExitStatus::Ok)
}
