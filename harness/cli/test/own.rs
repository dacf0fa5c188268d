//! The parts of `clitape test` that every subject has: the options of a run, and its output; and the run of clitape's own
//! pipeline.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clitape_recording::limits::ReplayLimits;
use clitape_recording::scenario::{SeedRange, Seeds, Workspace};
use clitape_recording::text::plural;
use clitape_runner::check::Marks;
use clitape_runner::report::{Pages, Report, findings, marks, scenario_line, summary, timings};
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{OwnGateway, SuiteOptions, SuiteRun, TrialEvent, run as run_suite};

use super::pages;
use crate::exit::ExitStatus;
use crate::input::{JobsArg, duration};
use crate::outputs::{self, OpenOutput};
use crate::progress::ProgressLine;
use crate::signals::stop_on_signals;
use crate::subject::print_left_out;
use crate::terminal::{self, Terminal};

/// The most plans of a subject, which plays each of them in real time.
const SUBJECT_PLANS: u64 = 1_000;

/// The options of a run
#[derive(clap::Args, Default)]
pub(super) struct RunArgs {
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
    pub(super) watch: bool,
}

impl RunArgs {
    /// Returns the seeds that the command line names; `plans` of them, if that is set.
    pub(super) fn seeds(&self, plans: Option<u64>) -> anyhow::Result<Option<Seeds>> {
        Ok(match (&self.seed, plans) {
            (Some(range), plans) => Some(range.seeds(plans).map_err(|what| anyhow!(what))?),
            (None, Some(count)) => Some(Seeds { first: 1, count }),
            (None, None) => None,
        })
    }

    /// Adds the options of the command line to those of a suite.
    pub(super) fn options<'a>(
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
    pub(super) fn of_subject<'a>(
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
pub(super) fn test_own(
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
pub(super) struct TrialPrinter {
    began: Instant,
    quiet: bool,
    progress: ProgressLine,
    pub(super) open: OpenOutput,
    pub(super) out: Terminal,
    /// The marks that were at stake, if the command line asks for them.
    marks: Option<Marks>,
}

impl TrialPrinter {
    pub(super) fn new(open: OpenOutput, quiet: bool) -> io::Result<Self> {
        let mut out = open.people();
        open.begin(&mut out)?;
        let (progress, began) = (ProgressLine::new(quiet), Instant::now());
        Ok(Self { began, quiet, progress, open, out, marks: None })
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &TrialEvent<'_>) -> io::Result<()> {
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

    /// Prints the findings and the summary, and writes the reports. `nothing` says why nothing ran, if the selection does
    /// not say it.
    pub(super) fn finish(
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
        let has_run = !suite.scenarios.is_empty();
        if !has_run {
            let why = selection.nothing.as_deref().unwrap_or(nothing);
            out.line(format_args!("nothing ran: {why}"))?;
        }
        for sentence in suite.notes.iter().filter(|_| !quiet) {
            out.line(sentence)?;
        }
        let report = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, suite.workspace)
            .of_shard(selection.shard);
        findings(&report, open.detail(), out.styled())?;
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
