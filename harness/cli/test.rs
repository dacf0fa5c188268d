//! `clitape test`: runs every scenario and prints the findings.

mod own;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clitape_recording::scenario::Workspace;
use clitape_rig::subject::{
    Conditions, DriveResult, GatewaySubject, Job, NamedGateway, ParserSubject, ReplaySubject,
    RunEvent, SubjectSpec, Subjects, page_of_run,
};
use clitape_runner::check::FailureMemory;
use clitape_runner::report::{Pages, page};
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{
    GatheredCases, ProofCase, SuiteOptions, SuiteRun, TrialEvent, run as run_suite,
};

use crate::conditions::{ConditionArgs, check_chat, faults_line};
use crate::confirm::Confirmation;
use crate::exit::ExitStatus;
use crate::input::WorkLimits;
use crate::outputs::{Outputs, write_file};
use crate::rig_limits::RigLimitArgs;
use crate::selection::{Names, SelectionArgs};
use crate::subject::{LogArg, Machine, gateway, split};
use own::{RunArgs, TrialPrinter, test_own};

/// The help text about the selection.
const HELP: &str = "\
SCENARIO is the name of a scenario, or else a part of names. With /VERSION, only that
recording is judged. All that selects is joined: `--track openclaw#80046 --shard 1/2` is the
first half of the scenarios that track the issue. A name that means nothing is an error; where
nothing is left, nothing runs, and the exit code is 4.";

/// Runs every scenario: goldens of every lane, and seeded plans
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Test this subject of clitape.toml in real time, NAME or NAME@VERSION, instead of clitape's own pipeline
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Start a subject that you have not agreed to here before without asking; for CI
    #[arg(long, requires = "subject")]
    yes: bool,
    #[command(flatten)]
    log: LogArg,
    /// Replay N seeded plans of each scenario instead of those that it asks for; with --subject, play it also with what
    /// claude prints cut and delayed by N seeds, which are 0 otherwise
    #[arg(long, value_name = "N")]
    plans: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    conditions: ConditionArgs,
    /// Write what differs as .snap.new beside the golden, for `clitape review`
    #[arg(long)]
    update: bool,
    /// Write the report as JSON, which `clitape report merge` reads
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// List what was at stake: each rule, kind of finding and diagnostic, with the first scenario and plan that could have
    /// shown it. Where all scenarios run with all their plans, what never was at stake makes the run fail
    #[arg(long, conflicts_with_all = ["subject", "shard"])]
    marks: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    work: WorkLimits,
    #[command(flatten)]
    rig_limits: RigLimitArgs,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    if args.run.watch {
        return watch::run_on_changes(workspace, || run_once(workspace, args, quiet));
    }
    run_once(workspace, args, quiet)
}

fn run_once(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let conditions = args.conditions.conditions(None);
    let selection = args.selection.select(workspace, Names { parts: true, ..Names::default() })?;
    if let Some(subject) = &args.subject {
        return test_subject(workspace, &selection, args, subject, &conditions, quiet);
    }
    if !conditions.are_recorded() {
        bail!("--pace and the faults of the chat are for a gateway; name it with --subject");
    }
    let options = SuiteOptions {
        update: args.update,
        cases: match args.outputs.has_html() {
            true => GatheredCases::Failed,
            false => GatheredCases::None,
        },
        limits: args.work.limits(),
        memory: FailureMemory::KeepAndTryFirst,
        marks: args.marks,
        ..SuiteOptions::new(&selection)
    };
    let options = args.run.options(args.plans, options)?;
    let open = args.outputs.open(workspace.root(), args.json.as_deref())?;
    test_own(workspace, options, open, quiet)
}

/// Proposes a golden wherever a scenario's result differs, as `clitape test --update` does.
pub(crate) fn propose(workspace: &Workspace, quiet: bool) -> anyhow::Result<ExitStatus> {
    let selection = Selection::everything(workspace)?;
    let options = SuiteOptions { update: true, ..SuiteOptions::new(&selection) };
    test_own(workspace, options, Outputs::default().open(workspace.root(), None)?, quiet)
}

/// Tests a subject of clitape.toml.
fn test_subject(
    workspace: &Workspace,
    selection: &Selection,
    args: &Args,
    subject: &str,
    conditions: &Conditions,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let suite = SuiteOptions { update: args.update, ..SuiteOptions::new(selection) };
    let suite = args.run.of_subject(args.plans, suite)?;
    let subjects = Subjects::load(workspace.root())?;
    let machine = Machine::new(args.rig_limits.limits())?.with_log(&args.log)?;
    machine.ask(workspace, &subjects, subject, Confirmation { yes: args.yes, quiet })?;
    let (name, version) = split(subject);
    let (name, spec) = subjects.get(name)?;
    if !matches!(spec, SubjectSpec::Gateway(_)) && !conditions.are_recorded() {
        bail!("{name} is no gateway, so that it has neither a pace nor a chat server");
    }
    let gateway = match spec {
        SubjectSpec::Gateway(_) => Some(gateway(&subjects, subject)?),
        _ => None,
    };
    if let Some(gateway) = gateway {
        check_chat(conditions, gateway)?;
    }
    let mut printer =
        TrialPrinter::new(args.outputs.open(workspace.root(), args.json.as_deref())?, quiet)?;
    if let Some(line) = faults_line(conditions).filter(|_| !quiet) {
        printer.out.line(line)?;
    }
    let rig = machine.rig(workspace);
    let report = &mut |event: TrialEvent<'_>| printer.show(&event);
    let mut played = Vec::new();
    let run = match (spec, gateway) {
        (SubjectSpec::Parser(spec), _) => {
            run_suite(&mut ParserSubject { name, version, spec, rig }, suite, report)?
        }
        (SubjectSpec::Replay(spec), _) => {
            run_suite(&mut ReplaySubject { name, version, spec, rig }, suite, report)?
        }
        (_, Some(gateway)) => {
            let mut watch = |_: RunEvent<'_>| {};
            let mut subject = GatewaySubject::new(gateway, conditions, rig, &mut watch);
            let run = run_suite(&mut subject, suite, report)?;
            played = subject.played;
            run
        }
        _ => bail!("{name} is of a kind that can't be tested"),
    };
    machine.check_log()?;
    let pages = match (printer.open.html(), gateway) {
        (Some(dir), Some(gateway)) => subject_pages(gateway, conditions, &run, &played, dir)?,
        _ => Pages::new(),
    };
    let misfit = format!("no cassette that is selected fits {subject}");
    printer.finish(run, selection, &misfit, &pages)
}

/// Writes a page for every run at a subject, also for one that passes, so that people can look at it.
fn subject_pages(
    gateway: NamedGateway<'_>,
    conditions: &Conditions,
    run: &SuiteRun,
    played: &[(Job, DriveResult)],
    dir: &Path,
) -> anyhow::Result<Pages> {
    let mut pages = Pages::new();
    for (run, (job, seen)) in run.scenarios.iter().zip(played) {
        let found: Vec<_> =
            run.checks.iter().flat_map(|check| check.findings.iter().cloned()).collect();
        let version = job.version().to_string();
        let file = format!("{}-{version}.html", run.name);
        write_file(&dir.join(&file), page_of_run(gateway, conditions, job, seen, &found))?;
        pages.entry(run.name.clone()).or_default().push((version, file));
    }
    Ok(pages)
}

/// Writes a page to step through for every recording with a finding.
fn pages(cases: Vec<ProofCase>, dir: &Path) -> anyhow::Result<Pages> {
    let mut pages = Pages::new();
    for case in cases {
        let (name, version) = (case.name.clone(), case.version().to_owned());
        let file = format!("{name}-{version}.html");
        write_file(&dir.join(&file), page(&[case]))?;
        pages.entry(name).or_default().push((version, file));
    }
    Ok(pages)
}
