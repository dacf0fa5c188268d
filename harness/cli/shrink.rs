//! `clitape shrink`: reduces a recording and a plan that fail to the smallest that still fail, and writes them as a
//! scenario.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use clitape_recording::cassette::reduced;
use clitape_recording::files;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{Workspace, template};
use clitape_recording::text::{plural, shell_quote};
use clitape_runner::check::{Recording, shrink};
use clitape_runner::replay::PlanArg;
use clitape_runner::suite::select::{NamePattern, Selected, Selector};

use crate::confirm::remember;
use crate::exit::ExitStatus;
use crate::terminal;

/// Makes a recording and a plan that fail as small as they get, and writes them as a scenario
///
/// Records are left out of the recording, and cuts, delays and faults of the plan, as long as the same kind of finding
/// shows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The scenario that fails; SCENARIO/VERSION names the recording [default: the newest one]
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: NamePattern,
    /// Name of the scenario that is written
    #[arg(value_name = "NEW")]
    pub(crate) new: ScenarioName,
    /// The plan that fails: a file, - for standard input, or the JSON text that a finding prints [default: the first one that fails]
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) plan: Option<PlanArg>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let (Selected { name, versions, .. }, new) = (&one(workspace, &args.scenario)?, &args.new);
    let scenario = Arc::new(workspace.scenario_of(name)?);
    let usual = workspace.usual_version(&scenario)?;
    let version = versions.iter().flatten().next().or(usual.as_ref());
    let version = version.context("the scenario has no cassette; add one with `clitape record`")?;
    for there in [workspace.scenario(new), workspace.cassette(new, version)] {
        if files::is_there(&there) {
            let shown = workspace.shown(&there);
            bail!("{shown} is there already, and nothing is overwritten; choose another name");
        }
    }
    let recording = Recording::load(workspace, &scenario, version)?;
    let plan = args.plan.clone().map(|plan| recording.given_plan(plan)).transpose()?;
    let mut out = terminal::stdout();
    let Some(shrunk) = shrink(&recording, plan) else {
        let which = if args.plan.is_some() { "the plan breaks no rule" } else { "no plan fails" };
        out.line(format_args!("{name} {version}: {which}, so that there is nothing to shrink"))?;
        if args.plan.is_some() {
            out.line(format_args!(
                "the plan of a GD005 is as small as it gets already; name its outcome with `clitape test {} --update`",
                shell_quote(name)
            ))?;
        }
        return Ok(ExitStatus::Nothing);
    };
    let about = format!("{}: {}", shrunk.finding.id, shrunk.finding.sentence);
    let stdin: Vec<(&[u8], u64)> =
        shrunk.stdin.iter().map(|line| (line.line.as_slice(), line.offset)).collect();
    let plan = shrunk.plan.to_line();
    let scenario = template::smallest(workspace, new, name, version, &about, &plan)?;
    let shown = workspace.shown(scenario.place());
    reduced(recording.manifest(), new, shrunk.stdout, &stdin).write_with(workspace, scenario)?;
    remember(workspace, new);
    let [before, after] = shrunk.lines;
    let before = plural(before, "line");
    out.line(format_args!("wrote {shown}: {after} of {before}"))?;
    out.line(format_args!("{about}"))?;
    out.line(format_args!("plan: {plan}"))?;
    out.lines(format_args!("then:\n  clitape test {}", shell_quote(new)))?;
    Ok(ExitStatus::Ok)
}

/// Returns the one scenario that the pattern means, with one version or without.
fn one(workspace: &Workspace, pattern: &NamePattern) -> anyhow::Result<Selected> {
    let selector = Selector { names: vec![pattern.clone()], ..Selector::default() };
    let mut scenarios = selector.choose(workspace)?.scenarios;
    let has_one = |one: &Selected| one.versions.as_ref().is_none_or(|all| all.len() == 1);
    match scenarios.pop().filter(|one| scenarios.is_empty() && has_one(one)) {
        Some(one) => Ok(one),
        None => {
            bail!("`{pattern}` means several recordings; name one, such as three-tools/2.1.329")
        }
    }
}
