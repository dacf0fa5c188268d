//! `clitape drift --accept`: adds the newer version to the workspace.

use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_runner::baseline::accept;
use clitape_runner::drift::{Drift, Side};

use crate::exit::ExitStatus;
use crate::terminal;
use crate::test::propose;

/// Adds the version of `side`, and proposes the goldens that differ.
pub(super) fn run(
    workspace: &Workspace,
    side: &Side,
    found: &Drift,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let version = &side.about.version;
    if !found.not_compared.is_empty() {
        terminal::note(format_args!(
            "claude {version} was not accepted, because {} could not be compared; say in a scenario.toml how the CLI ends \
             (`exit` under [record]) or why the version is left out (`only = {{ until = \"{}\", reason = \"…\" }}`), and \
             accept again: what was recorded is kept in the cache",
            plural(found.not_compared.len(), "part"),
            found.from.version
        ));
        return Ok(ExitStatus::Findings);
    }
    let accepted = accept(workspace, side)?;
    let mut out = terminal::stdout();
    let place =
        if accepted.version { "clitape.toml names it now" } else { "clitape.toml named it before" };
    out.line(format_args!(
        "accepted claude {version}: {} added, and {place}",
        plural(accepted.recordings, "recording")
    ))?;
    drop(out);
    propose(workspace, quiet)
}
