//! `clitape init` and `clitape new`: turns a folder into a workspace, also one inside the user's own repository, and
//! writes a scenario that records and passes without a change.

use std::io::Read as _;

use anyhow::{Context as _, bail};
use clitape_recording::files::CONFIG;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{
    InitDone, InitPlan, Starter, StarterFile, Workspace, init, template,
};
use clitape_recording::text::shell_quote;
use flate2::read::GzDecoder;

use crate::confirm::remember;
use crate::exit::ExitStatus;
use crate::terminal;

/// Makes a workspace of this folder: ten scenarios with their recordings and a first one of your own, clitape.toml, a
/// workflow for CI, and what git must know
///
/// With a NAME, that scenario is the only one. Nothing that is there is overwritten. Lines that are missing are added to
/// .gitattributes and .gitignore.
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// Name of the first scenario, or of a further one [default: first-scenario, if there is none]
    scenario: Option<ScenarioName>,
    /// Only for a gateway of your own: the workflow leaves clitape's own bridge out
    #[arg(long)]
    gateway: bool,
}

/// The files of the scenarios of a new workspace, one after another, as `build.rs` packs them.
const CONTENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starters.gz"));

/// The name of the first scenario, unless another one is given.
const FIRST: &str = "first-scenario";

pub(crate) fn run_init(
    workspace: &Workspace,
    args: &InitArgs,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    // A folder that is a workspace already is completed.
    let is_new = workspace.names()?.is_empty();
    let whole = workspace.root().canonicalize().ok().filter(|_| is_new);
    let parent = whole.as_deref().and_then(std::path::Path::parent);
    if let Some(above) = parent.and_then(Workspace::above) {
        bail!(
            "{} is a workspace already, and this folder is inside it; go there, or name another folder with `--root`",
            above.root().display()
        );
    }
    let first = FIRST.parse()?;
    let scenario = args.scenario.as_ref().unwrap_or(&first);
    let mut content = Vec::new();
    let unpacked = GzDecoder::new(CONTENT).read_to_end(&mut content);
    unpacked.context("the scenarios in this program can't be unpacked")?;
    let starters: &[Starter<'_>] = include!(concat!(env!("OUT_DIR"), "/starters.rs"));
    let plan = InitPlan {
        starters,
        first: scenario,
        is_named: args.scenario.is_some(),
        is_gateway: args.gateway,
    };
    let steps = init(workspace, plan)?;
    let mut out = terminal::stdout();
    let wrote = |place: &str| {
        steps.iter().any(|step| step.place.ends_with(place) && step.done == InitDone::Wrote)
    };
    let is_first = wrote(&format!("scenarios/{scenario}/"));
    if is_first {
        remember(workspace, scenario);
    }
    if quiet {
        return Ok(ExitStatus::Ok);
    }
    for step in &steps {
        out.line(step)?;
    }
    let program = workspace.program();
    let what = if is_first { scenario.to_string() } else { "--all".to_owned() };
    out.line("")?;
    out.line("next:")?;
    let next = [
        (
            format!("{program} record {what}"),
            "runs the real CLI, which npm installs; no account, no cost",
        ),
        (format!("{program} test"), "what was recorded, against the goldens"),
    ];
    let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, about) in next {
        out.line(format_args!("  {command:<width$}  # {about}"))?;
    }
    out.line("")?;
    out.line("Then commit it all. For your own gateway, fill in [subject.mine] of clitape.toml:")?;
    out.line(format_args!("  {program} subject check mine"))?;
    out.line(format_args!("  {program} test --subject mine"))?;
    if wrote("clitape.yml") {
        out.line("")?;
        out.line("The workflow installs clitape from git: set the variable CLITAPE_GIT of the repository.")?;
    }
    Ok(ExitStatus::Ok)
}

/// Writes a scenario that records and passes without a change, with comments that explain the keys
#[derive(clap::Args)]
pub(crate) struct NewArgs {
    /// Name of the scenario: small letters, digits and hyphens
    scenario: ScenarioName,
}

pub(crate) fn run_new(workspace: &Workspace, args: &NewArgs) -> anyhow::Result<ExitStatus> {
    let name = &args.scenario;
    let config = workspace.root().join(CONFIG);
    let has_config = config.exists();
    let dir = template::write(workspace, name)?;
    remember(workspace, name);
    let mut out = terminal::stdout();
    if !has_config {
        out.line(format_args!("wrote {}", workspace.shown(&config)))?;
    }
    out.line(format_args!(
        "wrote {}: read scenario.toml and model.toml, they say what to change",
        workspace.shown(&dir)
    ))?;
    let name = shell_quote(name);
    out.lines(format_args!("then:\n  clitape record {name}\n  clitape test {name}"))?;
    Ok(ExitStatus::Ok)
}
