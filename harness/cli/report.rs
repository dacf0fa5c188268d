//! `clitape report`: works on the reports of test runs.

use std::path::PathBuf;

use clap::Subcommand;
use clitape_recording::files;
use clitape_recording::scenario::Workspace;
use clitape_runner::report::{self, Pages, findings, merge, read, summary};

use crate::exit::ExitStatus;
use crate::input::named;
use crate::outputs::{self, Outputs};

/// Joins the reports of shards
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ReportCommand,
}

#[derive(Subcommand)]
enum ReportCommand {
    Merge(Merge),
}

/// Makes one report of several, and ends as one run of all of them would have
#[derive(clap::Args)]
struct Merge {
    /// Reports that `clitape test --json FILE` wrote; - is standard input
    #[arg(required = true, value_name = "FILE")]
    reports: Vec<PathBuf>,
    /// Write the joined report as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let ReportCommand::Merge(args) = &args.what;
    let open = args.outputs.open(workspace.root(), args.out.as_deref())?;
    let mut parts = Vec::new();
    for path in &args.reports {
        let name = path.display().to_string();
        let text = files::read_named(named(path))?;
        parts.push((name.clone(), read(&name, &text)?));
    }
    let report = merge(parts)?;
    let mut out = open.people();
    open.begin(&mut out)?;
    if !quiet {
        report::terminal(&report, open.detail(), &mut out.screen())?;
    } else if !report.holds() {
        findings(&report, open.detail(), &mut out.screen())?;
        summary(&report, out.styled())?;
    }
    open.finish(&report, &Pages::new(), &mut out)?;
    outputs::complain(&report);
    Ok(outputs::exit(&report))
}
