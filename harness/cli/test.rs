//! `clitape test`: runs every scenario and prints the findings.

mod own;
mod watch;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use clitape_recording::scenario::{Seeds, Workspace};
use clitape_rig::subject::{
    Conditions, LeftOut, NamedGateway, NamedParser, NamedReplay, ReplayOptions, RunEvent, Subject,
    SubjectError, SubjectOptions, SubjectSuite, Subjects, page_of_run, test, test_parser,
    test_replay,
};
use clitape_runner::check::FailureMemory;
use clitape_runner::report::{Pages, Report, findings, page, scenario_line, summary, timings};
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{ProofCase, ScenarioRun, SuiteOptions};

use crate::conditions::{ConditionArgs, check_chat, faults_line};
use crate::confirm::Confirmation;
use crate::exit::ExitStatus;
use crate::input::WorkLimits;
use crate::outputs::{self, OpenOutput, Outputs, write_file};
use crate::progress::ProgressLine;
use crate::rig_limits::RigLimitArgs;
use crate::selection::{Names, SelectionArgs};
use crate::subject::{LogArg, Machine, gateway, print_left_out, split};
use crate::terminal::{self, Terminal};
use own::{RunArgs, test_own};

/// The help text about the selection.
const HELP: &str = "\
SCENARIO is the name of a scenario, or else a part of names. With /VERSION, only that
recording is judged. All that selects is joined: `--track openclaw#80046 --shard 1/2` is the
first half of the scenarios that track the issue. A name that means nothing is an error; where
nothing is left, nothing runs, and the exit code is 4.";

/// The most plans of a subject, which plays each of them in real time.
const SUBJECT_PLANS: u64 = 1_000;

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
        gather_cases: args.outputs.has_html(),
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
    let seeds = args.run.seeds(args.plans)?.unwrap_or(Seeds::NONE);
    if seeds.count > SUBJECT_PLANS {
        bail!(
            "the command line asks for {} plans of each scenario, and {SUBJECT_PLANS} are the most for a subject, which \
             plays in real time",
            seeds.count
        );
    }
    let subjects = Subjects::load(workspace.root())?;
    let machine = Machine::new(args.rig_limits.limits())?.with_log(&args.log)?;
    machine.ask(workspace, &subjects, subject, Confirmation { yes: args.yes, quiet })?;
    let began = Instant::now();
    let (name, version) = split(subject);
    let (name, subject_spec) = subjects.get(name)?;
    if !matches!(subject_spec, Subject::Gateway(_)) && !conditions.are_recorded() {
        bail!("{name} is no gateway, so that it has neither a pace nor a chat server");
    }
    match subject_spec {
        Subject::Parser(spec) => {
            let parser = NamedParser { name, version, spec };
            return test_called(workspace, selection, args, quiet, began, |note, report| {
                let runs = test_parser(parser, selection, machine.rig(workspace), note, report)?;
                Ok((runs, Vec::new()))
            });
        }
        Subject::Replay(spec) => {
            let replay = NamedReplay { name, version, spec };
            let options = ReplayOptions { selection, update: args.update, seeds };
            return test_called(workspace, selection, args, quiet, began, |note, report| {
                let suite = test_replay(replay, options, machine.rig(workspace), note, report)?;
                Ok((suite.scenarios, suite.left_out))
            });
        }
        _ => {}
    }
    let gateway = gateway(&subjects, subject)?;
    check_chat(conditions, gateway)?;
    let open = args.outputs.open(workspace.root(), args.json.as_deref())?;
    let options =
        SubjectOptions { selection, force: false, update: args.update, seeds, conditions };
    let mut out = open.people();
    open.begin(&mut out)?;
    if let Some(line) = faults_line(conditions).filter(|_| !quiet) {
        out.line(line)?;
    }
    let progress = RefCell::new(ProgressLine::new(quiet));
    let mut note = |text: &str| progress.borrow_mut().step(text);
    let suite = test(gateway, options, machine.rig(workspace), &mut note, &mut |event| {
        if let RunEvent::Ended { job, seen, done } = event {
            let took = seen.took.as_secs_f64();
            progress.borrow_mut().now(&format!("{done}: {} took {took:.1} s", job.name()));
        }
    })?;
    drop(progress);
    machine.check_log()?;
    if !quiet {
        print_left_out(&mut out, &suite.left_out)?;
        for run in &suite.scenarios {
            scenario_line(out.styled(), run)?;
        }
    }
    if suite.scenarios.is_empty() {
        let misfit = format!("no cassette that is selected fits {subject}");
        let why = selection.nothing.as_ref().unwrap_or(&misfit);
        out.line(format_args!("nothing ran: {why}"))?;
    }
    for (place, sentence, reason) in &suite.known {
        out.line(format_args!("known: {place}: {sentence} ({reason})"))?;
    }
    for sentence in suite.in_vain.sentences().into_iter().filter(|_| !quiet) {
        out.line(sentence)?;
    }
    let pages = match open.html() {
        Some(dir) => subject_pages(gateway, conditions, &suite, dir)?,
        None => Pages::new(),
    };
    let report = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, suite.workspace)
        .of_shard(selection.shard);
    finish(&report, open, &pages, out, quiet, began)
}

/// The result of a program that is called once for each cassette.
type Called = Result<(Vec<ScenarioRun>, Vec<LeftOut>), SubjectError>;

/// Tests a program that is called once for each cassette, and prints each scenario as soon as it is judged.
fn test_called(
    workspace: &Workspace,
    selection: &Selection,
    args: &Args,
    quiet: bool,
    began: Instant,
    test: impl FnOnce(&mut dyn FnMut(&str), &mut dyn FnMut(&ScenarioRun)) -> Called,
) -> anyhow::Result<ExitStatus> {
    let open = args.outputs.open(workspace.root(), args.json.as_deref())?;
    let mut out = open.people();
    open.begin(&mut out)?;
    let mut progress = ProgressLine::new(quiet);
    let mut failed = None;
    let (scenarios, left_out) = test(&mut |text| progress.step(text), &mut |run| {
        if !quiet || !run.holds() {
            failed = failed.take().or(scenario_line(out.styled(), run).err());
        }
    })?;
    drop(progress);
    if let Some(error) = failed {
        return Err(error.into());
    }
    if !quiet {
        print_left_out(&mut out, &left_out)?;
    }
    let report =
        Report::new(env!("CARGO_PKG_VERSION"), scenarios, Vec::new()).of_shard(selection.shard);
    finish(&report, open, &Pages::new(), out, quiet, began)
}

/// Prints the findings and the summary of a subject, and writes the report.
fn finish(
    report: &Report,
    open: OpenOutput,
    pages: &Pages,
    mut out: Terminal,
    quiet: bool,
    began: Instant,
) -> anyhow::Result<ExitStatus> {
    findings(report, open.detail(), out.styled())?;
    if !report.is_empty() && (!quiet || !report.holds()) {
        summary(report, out.styled())?;
    }
    open.finish(report, pages, &mut out)?;
    drop(out);
    if !quiet && !report.is_empty() {
        terminal::note(timings(report, began.elapsed()));
    }
    outputs::complain(report);
    Ok(outputs::exit(report))
}

/// Writes a page for every run at a subject, also for one that passes, so that people can look at it.
fn subject_pages(
    gateway: NamedGateway<'_>,
    conditions: &Conditions,
    suite: &SubjectSuite,
    dir: &Path,
) -> anyhow::Result<Pages> {
    let mut pages = Pages::new();
    for (run, (job, seen)) in suite.scenarios.iter().zip(&suite.played) {
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
