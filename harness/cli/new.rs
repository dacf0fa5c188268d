//! `clitape new`: writes a scenario that records and passes without a change.

use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{Workspace, template};
use clitape_recording::text::shell_quote;

use crate::confirm::remember;
use crate::exit::ExitStatus;
use crate::terminal;

/// Writes a scenario that records and passes without a change, with comments that explain the keys
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the scenario: small letters, digits and hyphens
    scenario: ScenarioName,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let name = &args.scenario;
    let dir = template::write(workspace, name)?;
    remember(workspace, name);
    let mut out = terminal::stdout();
    out.line(format_args!(
        "wrote {}: read scenario.toml and model.toml, they say what to change",
        workspace.shown(&dir)
    ))?;
    let name = shell_quote(name);
    out.lines(format_args!("then:\n  clitape record {name}\n  clitape test {name}"))?;
    Ok(ExitStatus::Ok)
}
