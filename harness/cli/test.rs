//! `clitape test`: runs every scenario, or a subject of `clitape.toml`, prints the findings and writes the reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{io, thread};

use anyhow::{anyhow, bail};
use clitape_recording::limits::ReplayLimits;
use clitape_recording::scenario::{SeedRange, Seeds, Workspace};
use clitape_recording::text::{TerminalSafe, plural};
use clitape_rig::subject::{Conditions, DriveResult, Job, NamedGateway, Subjects, seen_runs};
use clitape_runner::check::{FailureMemory, Marks};
use clitape_runner::report::{
    Cause, CheckRun, ONE_RUN, Pages, Report, Trouble, findings, marks, page, scenario_line,
    seen_page, summary, timings,
};
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{
    GatheredCases, OwnGateway, ProofCase, SuiteOptions, SuiteRun, TrialEvent, run as run_suite,
};

use crate::conditions::{ConditionArgs, FOR_GATEWAYS, faults_line};
use crate::confirm::Confirmation;
use crate::exit::ExitStatus;
use crate::input::{JobsArg, Names, SelectionArgs, WorkLimits, duration};
use crate::outputs::{self, OpenOutput, Outputs, write_file};
use crate::progress::ProgressLine;
use crate::rig_limits::RigLimitArgs;
use crate::signals::stop_on_signals;
use crate::subject::{ChosenSubject, LogArg, Machine, print_left_out, split};
use crate::terminal::{self, Terminal};
use crate::tested::own_bridge;

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
    #[arg(long, value_name = "N", conflicts_with_all = ["restart", "person"])]
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
        return run_on_changes(workspace, || run_once(workspace, args, quiet));
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
        bail!("{FOR_GATEWAYS}");
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
    test_own(workspace, options, open.of(own_bridge(), None, workspace)?, quiet)
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
    let mut chosen = ChosenSubject::new(&subjects, subject, conditions, machine.rig(workspace))?;
    chosen.is_harsh = selection.is_whole;
    let gateway = chosen.gateway;
    if args.update && !conditions.are_recorded() {
        bail!(
            "`--update` proposes what a run with the recorded times shows; leave out `--pace` and what goes wrong, and \
             run it again"
        );
    }
    let (shown, version) = match gateway {
        Some(gateway) => (gateway.shown(), gateway.version_shown()),
        None => (subject.to_owned(), split(subject).1),
    };
    let open = args.outputs.open(workspace.root(), args.json.as_deref())?;
    let mut printer = TrialPrinter::new(open.of(shown, version, workspace)?, quiet)?;
    if let Some(line) = faults_line(conditions).filter(|_| !quiet) {
        printer.out.line(line)?;
    }
    let (run, played) = match chosen.play(suite, &mut |event| printer.show(&event)) {
        Ok(run) => run,
        Err(error) => {
            printer.fail(subject, &error)?;
            return Err(error);
        }
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
    for (job, seen) in seen_runs(gateway, conditions, &run.scenarios, played) {
        let (name, version) = (job.scenario.name.to_string(), job.version().to_string());
        let file = format!("{name}-{version}.html");
        write_file(&dir.join(&file), seen_page(&gateway.shown(), ONE_RUN, &[seen]))?;
        pages.entry(name).or_default().push((version, file));
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

/// The most plans of a subject, which plays each of them in real time.
const SUBJECT_PLANS: u64 = 1_000;

/// The options of a run
#[derive(clap::Args, Default)]
struct RunArgs {
    /// Replay the plans of these seeds instead of those that each scenario asks for: one, or from A up to and with B;
    /// `--seed 7 --plans 3` are 7, 8 and 9
    #[arg(long, value_name = "S|A..B", help_heading = "Run")]
    seed: Option<SeedRange>,
    #[command(flatten)]
    jobs: JobsArg,
    /// Begin no further scenario after the first one with a finding
    #[arg(long, help_heading = "Run")]
    fail_fast: bool,
    /// Give a scenario up after this time, such as 90s, 500ms or 5m, which is a finding
    #[arg(long, value_name = "DURATION", help_heading = "Run", value_parser = duration)]
    timeout: Option<Duration>,
    /// Run again whenever a file of scenarios/, cassettes/ or clitape.toml changes, until Ctrl-C
    #[arg(long, help_heading = "Run")]
    watch: bool,
}

impl RunArgs {
    /// Returns the seeds that the command line names; `plans` of them, if that is set.
    fn seeds(&self, plans: Option<u64>) -> anyhow::Result<Option<Seeds>> {
        Ok(match (&self.seed, plans) {
            (Some(range), plans) => Some(range.seeds(plans).map_err(|what| anyhow!(what))?),
            (None, Some(count)) => Some(Seeds { first: 1, count }),
            (None, None) => None,
        })
    }

    /// Adds the options of the command line to those of a suite.
    fn options<'a>(
        &self,
        plans: Option<u64>,
        options: SuiteOptions<'a>,
    ) -> anyhow::Result<SuiteOptions<'a>> {
        let seeds = self.seeds(plans)?;
        if let Some(seeds) = seeds {
            check(seeds, options.limits)?;
            if options.update {
                bail!(
                    "`--update` proposes what the plans of the scenarios give; leave out `--plans` \
                     and `--seed`"
                );
            }
        }
        Ok(self.with_seeds(seeds, options))
    }

    /// Adds the options of the command line to those of a subject, which plays each plan in real time.
    fn of_subject<'a>(
        &self,
        plans: Option<u64>,
        options: SuiteOptions<'a>,
    ) -> anyhow::Result<SuiteOptions<'a>> {
        let seeds = self.seeds(plans)?;
        if let Some(Seeds { count, .. }) = seeds.filter(|seeds| seeds.count > SUBJECT_PLANS) {
            bail!(
                "the command line asks for {count} plans of each scenario, and {SUBJECT_PLANS} are the most for a \
                 subject, which plays in real time"
            );
        }
        Ok(self.with_seeds(seeds, options))
    }

    fn with_seeds<'a>(&self, seeds: Option<Seeds>, options: SuiteOptions<'a>) -> SuiteOptions<'a> {
        SuiteOptions {
            seeds,
            jobs: self.jobs.get(),
            fail_fast: self.fail_fast,
            scenario_time: self.timeout,
            ..options
        }
    }
}

/// Checks that the command line asks for no more seeds than the limit on plans.
fn check(Seeds { count, .. }: Seeds, limits: ReplayLimits) -> anyhow::Result<()> {
    let most = limits.plans;
    if count > most {
        bail!(
            "the command line asks for {count} plans of each scenario, and {most} are the most that \
             are replayed; write fewer, or raise the limit with `--max-plans`"
        );
    }
    Ok(())
}

/// Tests clitape's own pipeline.
fn test_own(
    workspace: &Workspace,
    options: SuiteOptions<'_>,
    open: OpenOutput,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    // Without a thread for it, a signal ends the command at once.
    let stop = stop_on_signals().ok();
    let options = SuiteOptions { stop: stop.as_deref(), ..options };
    let mut printer = TrialPrinter::new(open, quiet)?;
    let mut subject = OwnGateway::new(workspace);
    let mut suite = run_suite(&mut subject, options, &mut |event| printer.show(&event))?;
    let pages = match printer.open.html() {
        Some(dir) => pages(std::mem::take(&mut suite.cases), dir)?,
        None => Pages::new(),
    };
    let has_run = !suite.scenarios.is_empty();
    let marks = options.marks.then(|| std::mem::take(&mut suite.marks));
    let never = marks.as_ref().map_or(0, |marks| marks.never().count());
    printer.marks = marks.filter(|_| has_run);
    let exit = printer.finish(suite, options.selection, "nothing was selected", &pages)?;
    // A part of the scenarios, or of the plans, does not have to put everything at stake.
    let is_all = options.selection.is_whole && options.seeds.is_none();
    Ok(match exit {
        ExitStatus::Ok if is_all && never > 0 => ExitStatus::Findings,
        exit => exit,
    })
}

/// Shows a test run on the terminal, whatever the subject, and writes its reports.
struct TrialPrinter {
    began: Instant,
    quiet: bool,
    progress: ProgressLine,
    open: OpenOutput,
    out: Terminal,
    /// The marks that were at stake, if the command line asks for them.
    marks: Option<Marks>,
}

impl TrialPrinter {
    fn new(open: OpenOutput, quiet: bool) -> io::Result<Self> {
        let mut out = open.people();
        open.begin(&mut out)?;
        let (progress, began) = (ProgressLine::new(quiet), Instant::now());
        Ok(Self { began, quiet, progress, open, out, marks: None })
    }

    /// Shows an event.
    fn show(&mut self, event: &TrialEvent<'_>) -> io::Result<()> {
        match event {
            TrialEvent::Scenario(run) if self.quiet && run.holds() => {}
            TrialEvent::Scenario(run) => {
                self.progress.clear();
                scenario_line(self.out.styled(), run)?;
            }
            event => self.progress.follow(event),
        }
        Ok(())
    }

    /// Writes the reports of a run that broke off, so that CI has its error where it has findings.
    fn fail(self, subject: &str, error: &anyhow::Error) -> anyhow::Result<()> {
        let Self { progress, open, mut out, .. } = self;
        drop(progress);
        let sentence = TerminalSafe::lines(&format!("{error:#}")).to_string();
        let error = Some(Trouble { cause: Cause::Subject, sentence });
        let check = CheckRun { error, ..CheckRun::of(&format!("subject {subject}"), Vec::new()) };
        let report = Report::new(env!("CARGO_PKG_VERSION"), Vec::new(), vec![check]);
        open.finish(&report, &Pages::new(), &mut out)
    }

    /// Prints the findings and the summary, and writes the reports. `nothing` says why nothing ran, if the selection does
    /// not say it.
    fn finish(
        self,
        suite: SuiteRun,
        selection: &Selection,
        nothing: &str,
        pages: &Pages,
    ) -> anyhow::Result<ExitStatus> {
        let Self { began, quiet, progress, open, mut out, marks: stakes } = self;
        drop(progress);
        if !quiet {
            print_left_out(&mut out, &suite)?;
        }
        // Of a run that was stopped, the last line says so.
        if suite.scenarios.is_empty() && suite.unchecked == 0 {
            let why = selection.nothing.as_deref().unwrap_or(nothing);
            out.line(format_args!("nothing ran: {why}"))?;
        }
        for sentence in suite.notes.iter().filter(|_| !quiet) {
            out.line(sentence)?;
        }
        let report = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, suite.workspace)
            .of_shard(selection.shard);
        findings(&report, open.detail(), &mut out.screen())?;
        if !report.is_empty() && (!quiet || !report.holds()) {
            summary(&report, out.styled())?;
        }
        if let Some(stakes) = &stakes {
            marks(stakes, out.styled())?;
        }
        if suite.is_stopped && suite.unchecked == 0 {
            out.line(
                "stopped by a signal after all scenarios were judged, before the subject had ended",
            )?;
        }
        if suite.unchecked > 0 {
            let why = match suite.is_stopped {
                true => "stopped by a signal",
                false => "stopped after the first scenario with a finding (--fail-fast)",
            };
            let unchecked = plural(suite.unchecked, "scenario");
            out.line(format_args!("{why}: not checked: {unchecked}"))?;
        }
        open.finish(&report, pages, &mut out)?;
        drop(out);
        // The times go to stderr, because stdout is the same from run to run.
        if !quiet && !report.is_empty() {
            terminal::note(timings(&report, began.elapsed()));
        }
        outputs::complain(&report);
        Ok(match outputs::exit(&report) {
            // A part of the scenarios does not prove that all of them pass.
            ExitStatus::Ok if suite.is_stopped => ExitStatus::Nothing,
            exit => exit,
        })
    }
}

/// The interval at which the files are checked.
const POLL: Duration = Duration::from_millis(300);

/// The size of each file that a run reads and the time of its last change.
type WatchedFiles = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Calls `run` now and after each change of a file, until the process ends. An error is printed, because the next
/// change may fix it.
fn run_on_changes(
    workspace: &Workspace,
    mut run: impl FnMut() -> anyhow::Result<ExitStatus>,
) -> anyhow::Result<ExitStatus> {
    loop {
        // The files are listed before the run, so that a change during the run starts the next one.
        let before = files_of(workspace);
        if let Err(error) = run() {
            terminal::error(format_args!("{error:#}"));
        }
        terminal::note(
            "waiting for a change of scenarios/, cassettes/ or clitape.toml; Ctrl-C ends",
        );
        let changed = wait_for_change(workspace, &before);
        terminal::note("");
        terminal::note(format_args!("{changed} changed"));
    }
}

/// Waits until the files differ from `before` and stay the same, and returns one that changed.
fn wait_for_change(workspace: &Workspace, before: &WatchedFiles) -> String {
    let mut last = before.clone();
    loop {
        let now = files_of(workspace);
        // The wait goes on while an editor or git still writes files.
        if now == last
            && let Some(path) = changed(before, &now)
        {
            return workspace.shown(path);
        }
        last = now;
        thread::sleep(POLL);
    }
}

/// Returns the first file that is new, changed or removed.
fn changed<'f>(before: &'f WatchedFiles, now: &'f WatchedFiles) -> Option<&'f Path> {
    let is_other = |(path, state): &(&PathBuf, &_)| before.get(*path) != Some(*state);
    let other = now.iter().find(is_other);
    let gone = || before.iter().find(|(path, _)| !now.contains_key(*path));
    other.or_else(gone).map(|(path, _)| path.as_path())
}

/// Lists the files of a run. An unreadable file is passed over, because the run reports it.
fn files_of(workspace: &Workspace) -> WatchedFiles {
    let mut files = WatchedFiles::new();
    for part in ["scenarios", "cassettes", "clitape.toml"] {
        // A missing part has no files.
        let _ = add(&workspace.root().join(part), &mut files);
    }
    files
}

/// Adds a file, or all files of a folder; links are not followed.
fn add(path: &Path, files: &mut WatchedFiles) -> io::Result<()> {
    let found = path.symlink_metadata()?;
    if found.is_dir() {
        for entry in std::fs::read_dir(path)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // A run writes pending goldens itself, and an editor its temporary files.
            if !name.starts_with('.') && !name.ends_with(".snap.new") && !name.ends_with('~') {
                // A file that is removed in the meantime is missing from the next list.
                let _ = add(&path, files);
            }
        }
    } else {
        files.insert(path.to_owned(), (found.len(), found.modified().ok()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_new_other_or_gone_is_a_change_and_a_pending_golden_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let golden = dir.path().join("scenarios/a/golden");
        fs::create_dir_all(&golden).unwrap();
        let workspace = Workspace::at(dir.path());
        let file = golden.join("bus.snap");
        let mut before = files_of(&workspace);
        let mut check = |expect: Option<&Path>| {
            let now = files_of(&workspace);
            assert_eq!(changed(&before, &now), expect);
            before = now;
        };
        check(None);
        fs::write(&file, "1").unwrap();
        check(Some(&file));
        fs::write(golden.join("bus.snap.new"), "2").unwrap();
        fs::write(golden.join(".bus.snap.swp"), "2").unwrap();
        check(None);
        fs::write(&file, "12").unwrap();
        check(Some(&file));
        fs::remove_file(&file).unwrap();
        check(Some(&file));
    }
}
