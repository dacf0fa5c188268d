//! `clitape test` of clitape's own pipeline: the options of a run, and the run itself.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clitape_recording::limits::ReplayLimits;
use clitape_recording::scenario::{SeedRange, Seeds, Workspace};
use clitape_recording::text::plural;
use clitape_runner::report::{Pages, Report, findings, marks, scenario_line, summary, timings};
use clitape_runner::suite::{SuiteEvent, SuiteOptions, run as run_suite};

use super::pages;
use crate::exit::ExitStatus;
use crate::input::duration;
use crate::outputs::{self, OpenOutput};
use crate::progress::ProgressLine;
use crate::terminal;

/// The options of a run
#[derive(clap::Args, Default)]
pub(super) struct RunArgs {
    /// Replay the plans of these seeds instead of those that each scenario asks for: one, or from A up to and with B;
    /// `--seed 7 --plans 3` are 7, 8 and 9
    #[arg(long, value_name = "S|A..B", help_heading = "Run")]
    seed: Option<SeedRange>,
    /// Judge this many scenarios at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", conflicts_with = "subject", help_heading = "Run",
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    jobs: Option<u16>,
    /// Begin no further scenario after the first one with a finding
    #[arg(long, conflicts_with = "subject", help_heading = "Run")]
    fail_fast: bool,
    /// Give a scenario up after this time, such as 90s, 500ms or 5m, which is a finding
    #[arg(long, value_name = "DURATION", conflicts_with = "subject", help_heading = "Run",
        value_parser = duration)]
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
        Ok(SuiteOptions {
            seeds,
            jobs: self.jobs.map(usize::from),
            fail_fast: self.fail_fast,
            scenario_time: self.timeout,
            ..options
        })
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
    let began = Instant::now();
    let mut out = open.people();
    open.begin(&mut out)?;
    let mut progress = ProgressLine::new(quiet);
    let mut checked = String::new();
    let suite = run_suite(workspace, options, |event| {
        match event {
            SuiteEvent::Judged { done, of } => {
                checked = format!("checked {done} of {}", plural(of, "scenario"));
                progress.now(&checked);
            }
            SuiteEvent::Check { scenario, check, replays } => {
                let replays = match replays {
                    0 => String::new(),
                    n => format!(", {}", plural(n, "replay")),
                };
                let separator = if checked.is_empty() { "" } else { "; " };
                progress.now(&format!("{checked}{separator}{scenario} {check}{replays}"));
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
        let why = options.selection.nothing.as_deref().unwrap_or("nothing was selected");
        out.line(format_args!("nothing ran: {why}"))?;
    }
    let report = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, suite.workspace)
        .of_shard(options.selection.shard);
    findings(&report, open.detail(), out.styled())?;
    if !nothing_ran && (!quiet || !report.holds()) {
        summary(&report, out.styled())?;
    }
    if options.marks && !nothing_ran {
        marks(&suite.marks, out.styled())?;
    }
    if suite.unchecked > 0 {
        out.line(format_args!(
            "stopped after the first scenario with a finding (--fail-fast): not checked: {}",
            plural(suite.unchecked, "scenario")
        ))?;
    }
    let pages = match open.html() {
        Some(dir) => pages(suite.cases, dir)?,
        None => Pages::new(),
    };
    open.finish(&report, &pages, &mut out)?;
    drop(out);
    // The times go to stderr, because stdout is the same from run to run.
    if !quiet && !nothing_ran {
        terminal::note(timings(&report, began.elapsed()));
    }
    outputs::complain(&report);
    // A part of the scenarios, or of the plans, does not have to put everything at stake.
    let is_all = options.selection.is_whole && options.seeds.is_none();
    let is_missed = options.marks && is_all && suite.marks.never().count() > 0;
    Ok(match outputs::exit(&report) {
        ExitStatus::Ok if is_missed => ExitStatus::Findings,
        exit => exit,
    })
}
