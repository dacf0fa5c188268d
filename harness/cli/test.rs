//! `clitape test`: runs every scenario and says what does not hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clitape_runner::check::{Golden, check_workspace, checks, judge, unusable};
use clitape_runner::report::proof::Case;
use clitape_runner::report::{
    CheckRun, Pages, Report, ScenarioRun, findings, page, scenario_line, summary,
};
use clitape_runner::scenario::{Scenario, Workspace};
use clitape_runner::text::plural;

use crate::exit::ExitStatus;
use crate::input::WorkLimits;
use crate::outputs::{self, Outputs, write_file};
use crate::progress::ProgressLine;
use crate::terminal;

/// Runs every scenario: goldens of every lane, and seeded plans
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only scenarios whose name contains this
    filter: Option<String>,
    /// Write what differs as .snap.new beside the golden, for `clitape review`
    #[arg(long)]
    update: bool,
    /// Write the report as JSON, which `clitape report merge` reads
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    work: WorkLimits,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let open = args.outputs.open(args.json.as_deref())?;
    let filter = args.filter.as_deref().unwrap_or_default();
    let mut names = workspace.names()?;
    names.retain(|name| name.contains(filter));
    let (mut scenarios, mut runs) = (Vec::new(), Vec::new());
    for name in &names {
        let checked = workspace.scenario_of(name).and_then(|scenario| {
            scenario.check_work(args.work.limits())?;
            Ok(scenario)
        });
        match checked {
            Ok(scenario) => scenarios.push(scenario),
            // The others can be judged all the same.
            Err(error) => runs.push(ScenarioRun {
                name: name.to_string(),
                checks: vec![CheckRun::of("scenario", vec![unusable(name, &error)])],
                ..ScenarioRun::default()
            }),
        }
    }
    let mut out = terminal::stdout();
    open.begin(&mut out)?;
    if names.is_empty() {
        let what = if filter.is_empty() {
            "there is no scenario; write one with `clitape new NAME`".to_owned()
        } else {
            let all = workspace.names()?.join(", ");
            format!("no scenario's name contains `{filter}`; there are {all}")
        };
        out.line(format_args!("nothing ran: {what}"))?;
    }

    for run in &runs {
        scenario_line(out.styled(), run)?;
    }
    let mut progress = ProgressLine::new(quiet);
    judge_all(workspace, &scenarios, args.update, |told| {
        match told {
            Judged::Done(done) => {
                progress.now(&format!("checked {done} of {}", plural(scenarios.len(), "scenario")));
            }
            Judged::Told(run) => {
                let run = run?;
                if !quiet || !run.holds() {
                    progress.clear();
                    scenario_line(out.styled(), &run)?;
                }
                runs.push(run);
            }
        }
        Ok(())
    })?;
    drop(progress);
    let mut of_workspace = Vec::new();
    for (check, mut found) in check_workspace(workspace)? {
        found.retain(|found| found.place.contains(filter));
        // A check that finds nothing counts only where the whole workspace was looked at.
        if !found.is_empty() || filter.is_empty() && !names.is_empty() {
            of_workspace.push(CheckRun::of(check, found));
        }
    }
    let report = Report::new(env!("CARGO_PKG_VERSION"), runs, of_workspace);
    findings(&report, out.styled())?;
    if !names.is_empty() && (!quiet || !report.holds()) {
        summary(&report, out.styled())?;
    }
    let pages = match open.html() {
        Some(dir) => pages(workspace, &scenarios, &report, dir, quiet)?,
        None => Pages::new(),
    };
    open.finish(&report, &pages, &mut out)?;
    drop(out);
    outputs::complain(&report);
    Ok(outputs::exit(&report))
}

/// Writes a page to step through for every recording of which something does not hold.
fn pages(
    workspace: &Workspace,
    scenarios: &[Scenario],
    report: &Report,
    dir: &Path,
    quiet: bool,
) -> anyhow::Result<Pages> {
    let mut pages = Pages::new();
    let mut progress = ProgressLine::new(quiet);
    for scenario in scenarios {
        let Some(run) = report.scenarios.iter().find(|run| scenario.name == run.name.as_str())
        else {
            continue;
        };
        let failed = run.checks.iter().filter(|check| !check.findings.is_empty());
        let versions: BTreeSet<&str> =
            failed.filter_map(|check| Some(check.name.split_once("::")?.0)).collect();
        for version in workspace.recorded(&scenario.name)? {
            if !versions.contains(version.as_str()) {
                continue;
            }
            progress.now(&format!("the page of {} {version}", scenario.name));
            let case = Case::gather(workspace, scenario, &version)?;
            let file = format!("{}-{version}.html", scenario.name);
            let path = dir.join(&file);
            write_file(&path, page(&[case]))?;
            pages.entry(run.name.clone()).or_default().push((version.to_string(), file));
        }
    }
    Ok(pages)
}

/// What is told while scenarios are judged.
enum Judged {
    /// So many are done.
    Done(usize),
    /// The next one in their order.
    Told(anyhow::Result<ScenarioRun>),
}

/// Judges the scenarios on all cores, and tells each in order as soon as it is done.
fn judge_all(
    workspace: &Workspace,
    scenarios: &[Scenario],
    update: bool,
    mut tell: impl FnMut(Judged) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(scenarios.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scenario) = scenarios.get(i) else { break };
                    if sender.send((i, judge_one(workspace, scenario, update))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = std::collections::BTreeMap::new();
        let mut due = 0;
        for (done, (i, run)) in (1..).zip(receiver) {
            early.insert(i, run);
            while let Some(run) = early.remove(&due) {
                tell(Judged::Told(run))?;
                due += 1;
            }
            tell(Judged::Done(done))?;
        }
        Ok(())
    })
}

fn judge_one(
    workspace: &Workspace,
    scenario: &Scenario,
    update: bool,
) -> anyhow::Result<ScenarioRun> {
    let mut run = ScenarioRun { name: scenario.name.to_string(), ..ScenarioRun::default() };
    for check in checks(workspace, scenario)? {
        run.checks.push(CheckRun::new(&check, judge(workspace, scenario, &check, update)));
    }
    run.pending = Golden::pending(scenario)?.len() as u64;
    Ok(run)
}
