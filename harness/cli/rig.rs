//! `clitape rig`: plays one scenario at a gateway and shows the chat live.

use std::path::PathBuf;

use anyhow::bail;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plain;
use clitape_rig::subject::{Front, GatewaySubject, RunEvent, Subjects, seen_run};
use clitape_runner::report::{
    Detail, ONE_RUN, Report, TerminalChat, findings, seen_page, write_entry,
};
use clitape_runner::suite::select::{NamePattern, Selector};
use clitape_runner::suite::{SuiteOptions, TrialEvent, run as run_suite};

use crate::conditions::{ConditionArgs, check_chat, faults_line};
use crate::confirm::{Confirmation, Consent};
use crate::exit::ExitStatus;
use crate::outputs::{make_folder, write_file};
use crate::progress::ProgressLine;
use crate::rig_limits::RigLimitArgs;
use crate::subject::{LogArg, Machine, gateway, print_left_out};
use crate::terminal;

/// Plays one scenario at a gateway and shows its chat as it changes
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The subject of clitape.toml: NAME or NAME@VERSION
    subject: String,
    /// The scenario: NAME or NAME/VERSION
    scenario: NamePattern,
    /// Cut and delay what claude prints by this seed, instead of as it was recorded
    #[arg(long, value_name = "N", conflicts_with = "pace")]
    seed: Option<u64>,
    #[command(flatten)]
    conditions: ConditionArgs,
    #[command(flatten)]
    consent: Consent,
    /// Print one line for each call instead of the chat
    #[arg(long)]
    calls: bool,
    /// Write a page of the run, DIR/index.html
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    #[command(flatten)]
    log: LogArg,
    #[command(flatten)]
    rig_limits: RigLimitArgs,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let subjects = Subjects::load(workspace.root())?;
    let gateway = gateway(&subjects, &args.subject)?;
    let machine = Machine::new(args.rig_limits.limits())?.with_log(&args.log)?;
    let how = Confirmation { yes: args.consent.yes, quiet };
    machine.ask(workspace, &subjects, &args.subject, how)?;
    let scenario = &args.scenario;
    let selector = Selector { names: vec![scenario.clone()], ..Selector::default() };
    let selection = &selector.choose(workspace)?;
    let conditions = args.conditions.conditions(args.seed);
    check_chat(&conditions, gateway)?;
    let mut out = terminal::stdout();
    if let Some(line) = faults_line(&conditions).filter(|_| !quiet) {
        out.line(line)?;
    }
    let mut chat = TerminalChat::default();
    // The run of an editor has no chat to draw.
    let has_chat = gateway.spec.front == Front::Chat;
    let draws = terminal::can_rewrite() && !args.calls && has_chat;
    let (mut failed, mut printed) = (None, Vec::new());
    let mut progress = ProgressLine::new(quiet);
    let mut report = |event: TrialEvent<'_>| {
        // The chat that is drawn shows the rest.
        if let TrialEvent::Step(_) = event {
            progress.follow(&event);
        }
        Ok(())
    };
    let mut watch = |event: RunEvent<'_>| {
        let shown = match event {
            RunEvent::Ready { after, .. } if !quiet => {
                let seconds = after.as_secs_f64();
                out.line(format_args!("{} is ready after {seconds:.1} s", args.subject))
            }
            RunEvent::Entries(_, entries) if !quiet => {
                entries.iter().try_for_each(|entry| match draws {
                    true if chat.apply(entry) => chat.draw(&mut out.screen(), entry.at),
                    true => Ok(()),
                    false => write_entry(out.styled(), entry),
                })
            }
            RunEvent::Stopped { printed: lines, .. } => {
                printed = lines;
                Ok(())
            }
            _ => Ok(()),
        };
        failed = failed.take().or(shown.err());
    };
    let rig = machine.rig(workspace);
    let subject = GatewaySubject::new(gateway, &conditions, rig).watched(&mut watch);
    let mut subject = subject.with_all_scenarios();
    let suite = run_suite(&mut subject, SuiteOptions::new(selection), &mut report)?;
    let played = subject.played;
    drop(progress);
    machine.check_log()?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let Some((job, seen)) = played.first() else {
        print_left_out(&mut out, &suite)?;
        bail!("{scenario} was not played");
    };
    if !quiet {
        let took = seen.took.as_secs_f64();
        out.line("")?;
        out.line(format_args!("{} took {took:.1} s; {}", job.name(), plain(&seen.how())))?;
        for (what, how) in seen.legs(job, gateway, &conditions) {
            out.line(format_args!("  {what:<12} {how}"))?;
        }
    }
    for sentence in &suite.notes {
        out.line(sentence)?;
    }
    for line in &printed {
        out.line(format_args!("the gateway printed: {line}"))?;
    }
    let report = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, Vec::new());
    findings(&report, Detail::default(), &mut out.screen())?;
    if let Some(dir) = &args.html {
        make_folder(dir)?;
        let path = dir.join("index.html");
        let found: Vec<_> =
            report.checks().flat_map(|(_, check)| check.findings.iter().cloned()).collect();
        let run = seen_run(gateway, &conditions, job, seen, found);
        write_file(&path, seen_page(&gateway.shown(), ONE_RUN, &[run]))?;
        out.line(format_args!("wrote {}", path.display()))?;
    }
    Ok(if report.holds() { ExitStatus::Ok } else { ExitStatus::Findings })
}
