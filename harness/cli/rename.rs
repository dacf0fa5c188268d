//! `clitape rename`: gives a scenario another name, wherever it is named.

use clitape_recording::names::ScenarioName;
use clitape_recording::rename::{RenameError, rename};
use clitape_recording::scenario::Workspace;

use crate::exit::ExitStatus;
use crate::terminal;

/// Gives a scenario another name: its folders, what its recordings and goldens say of it, and what lists it in clitape.toml
///
/// A rename that was begun by moving a folder is completed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Present name of the scenario
    #[arg(value_name = "SCENARIO")]
    old: ScenarioName,
    /// New name: small letters, digits and hyphens
    new: ScenarioName,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let changed = rename(workspace, &args.old, &args.new).map_err(|error| match error {
        // Its exit code is that of a damaged cassette.
        RenameError::Cassette(error) => anyhow::Error::from(error),
        error => error.into(),
    })?;
    let mut out = terminal::stdout();
    if !quiet {
        for place in changed {
            out.line(format_args!("changed  {place}"))?;
        }
        out.lines(format_args!("then:\n  {} test {}", workspace.program(), args.new))?;
    }
    Ok(ExitStatus::Ok)
}
