//! `clitape test`: runs every scenario and says what does not hold.

use std::path::{Path, PathBuf};

use clitape_runner::report::{Pages, Report, findings, page, scenario_line, summary};
use clitape_runner::scenario::Workspace;
use clitape_runner::suite::{Case, SuiteEvent, SuiteOptions, run as run_suite};
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
    let options = SuiteOptions {
        filter: args.filter.as_deref().unwrap_or_default(),
        update: args.update,
        gather_cases: open.html().is_some(),
        limits: args.work.limits(),
    };
    let mut out = terminal::stdout();
    open.begin(&mut out)?;
    let mut progress = ProgressLine::new(quiet);
    let suite = run_suite(workspace, options, |event| {
        match event {
            SuiteEvent::Judged { done, of } => {
                progress.now(&format!("checked {done} of {}", plural(of, "scenario")));
            }
            SuiteEvent::Scenario(run) if quiet && run.holds() => {}
            SuiteEvent::Scenario(run) => {
                progress.clear();
                scenario_line(out.styled(), run)?;
            }
        }
        Ok(())
    })?;
    drop(progress);
    let nothing_ran = suite.scenarios.is_empty();
    if nothing_ran {
        let what = match options.filter {
            "" => "there is no scenario; write one with `clitape new NAME`".to_owned(),
            filter => {
                let all = workspace.names()?.join(", ");
                format!("no scenario's name contains `{filter}`; there are {all}")
            }
        };
        out.line(format_args!("nothing ran: {what}"))?;
    }
    let report = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, suite.workspace);
    findings(&report, out.styled())?;
    if !nothing_ran && (!quiet || !report.holds()) {
        summary(&report, out.styled())?;
    }
    let pages = match open.html() {
        Some(dir) => pages(suite.cases, dir)?,
        None => Pages::new(),
    };
    open.finish(&report, &pages, &mut out)?;
    drop(out);
    outputs::complain(&report);
    Ok(outputs::exit(&report))
}

/// Writes a page to step through for every recording of which something does not hold.
fn pages(cases: Vec<Case>, dir: &Path) -> anyhow::Result<Pages> {
    let mut pages = Pages::new();
    for case in cases {
        let (name, version) = (case.name.clone(), case.version().to_owned());
        let file = format!("{name}-{version}.html");
        write_file(&dir.join(&file), page(&[case]))?;
        pages.entry(name).or_default().push((version, file));
    }
    Ok(pages)
}
