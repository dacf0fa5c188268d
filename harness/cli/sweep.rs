//! `clitape sweep`: replays the plans of many seeds, for as long as there is time, and continues where it was ended.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clitape_recording::files::NewFile;
use clitape_recording::scenario::{SeedRange, Seeds, Workspace};
use clitape_recording::text::{self, plural};
use clitape_runner::report::write_finding;
use clitape_runner::suite::{
    FailingSeed, SearchEvent, SearchState, SeedSearch, search_fingerprint, search_seeds,
};

use crate::exit::ExitStatus;
use crate::input::{JobsArg, Names, SelectionArgs, WorkLimits, duration, is_standard};
use crate::outputs::write_file;
use crate::progress::ProgressLine;
use crate::terminal;

/// Replays the plans of many seeds, such as for a night, and lists the seeds that fail
///
/// It looks at the plans alone. After every 16 seeds it writes down how far it is, so that the same command goes on
/// after it was ended.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// The seeds, from A up to and with B
    #[arg(long, value_name = "A..B")]
    seeds: SeedRange,
    /// End after this time, such as 30m, 8h or 90s; the same command then goes on with the next seed
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
    #[command(flatten)]
    jobs: JobsArg,
    /// Write how far the search is and the seeds that fail as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    work: WorkLimits,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let seeds = args.seeds.seeds(None).map_err(|what| anyhow!(what))?;
    // A long search must not find out at its end that the file can't be written. A pipe is not opened here, because its
    // reader would take the close for the end.
    if let Some(path) = args.json.as_deref()
        && !is_standard(path)
        && (path.is_file() || !path.exists())
    {
        NewFile::open(path)?;
    }
    let selection = args.selection.select(workspace, Names { parts: true, ..Names::default() })?;
    if let Some(nothing) = &selection.nothing {
        terminal::stdout().line(format_args!("nothing ran: {nothing}"))?;
        return Ok(ExitStatus::Nothing);
    }
    let program = std::env::current_exe().context("can't tell where this program is")?;
    let search = SeedSearch {
        selection: &selection,
        seeds,
        until: args.time.map(|time| Instant::now() + time),
        jobs: args.jobs.get(),
        limits: args.work.limits(),
        fingerprint: &search_fingerprint(workspace, &program, &selection)?,
    };
    let is_printed = args.json.as_deref().is_some_and(is_standard);
    let mut out = if is_printed { terminal::stderr() } else { terminal::stdout() };
    let mut progress = ProgressLine::new(quiet);
    let state = search_seeds(workspace, search, |event| {
        match event {
            SearchEvent::GoesOn(state) => {
                progress.clear();
                let (next, failing) = (state.next(), plural(state.failing.len(), "failure"));
                if !quiet {
                    out.line(format_args!("goes on at seed {next}; {failing} so far"))?;
                }
            }
            SearchEvent::Anew(why) => {
                progress.clear();
                terminal::note(format_args!("the search begins anew: {why}"));
            }
            SearchEvent::Judged { state, done, of } => {
                let of = plural(of, "scenario");
                progress.now(&format!("{}; checked {done} of {of}", how_far(state)));
            }
            SearchEvent::Failed(FailingSeed { finding, .. }) => {
                progress.clear();
                write_finding(&mut out.screen(), finding)?;
            }
        }
        Ok(())
    })?;
    drop(progress);
    if !quiet || !state.failing.is_empty() {
        summary(&state, &mut out)?;
    }
    if let Some(path) = &args.json {
        match is_printed {
            true => terminal::stdout().json(&state.to_json())?,
            false => write_file(path, text::json(&state.to_json()) + "\n")?,
        }
    }
    Ok(match (state.done, state.failing.is_empty()) {
        (0, _) => ExitStatus::Nothing,
        (_, true) => ExitStatus::Ok,
        (_, false) => ExitStatus::Findings,
    })
}

/// Describes the progress: `seed 33 of 1..1000, 2 failures`.
fn how_far(state: &SearchState) -> String {
    let Seeds { first, count } = state.seeds();
    let last = first.saturating_add(count.saturating_sub(1));
    let failing = plural(state.failing.len(), "failure");
    format!("seed {} of {first}..{last}, {failing}", state.next())
}

/// Prints the seeds that fail, and whether all were replayed.
fn summary(state: &SearchState, out: &mut terminal::Terminal) -> anyhow::Result<()> {
    if !state.failing.is_empty() {
        out.lines("\nseeds that fail:")?;
        for FailingSeed { name, finding } in &state.failing {
            out.line(format_args!("  {name:<10} {} ({})", finding.place, finding.id))?;
        }
    }
    let plans = plural(state.plans, "plan");
    let verdict = match state.failing.len() {
        0 => "all held".to_owned(),
        n => plural(n, "failure"),
    };
    out.lines(format_args!(
        "\n{} of {}, {plans}: {verdict}",
        plural(state.done, "seed"),
        state.seeds().count
    ))?;
    if !state.is_complete() {
        let next = state.next();
        out.line(format_args!("the time is over; the same command goes on with seed {next}"))?;
    }
    Ok(())
}
