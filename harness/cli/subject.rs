//! `clitape subject`: lists the subjects of `clitape.toml`, and checks whether one of them can be tested.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use clitape_process::host::HostPaths;
use clitape_process::remove_stale;
use clitape_recording::names::SubjectName;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_rig::limits::RigLimits;
use clitape_rig::subject::{
    CheckLine, Conditions, DriveResult, Front, GatewaySubject, Job, NamedGateway, OutputLog,
    ParserSubject, ReplaySubject, RigHost, SubjectKind, SubjectSpec, Subjects, check, review,
};
use clitape_runner::suite::{SuiteOptions, SuiteRun, TrialEvent, run as run_suite};

use crate::conditions::check_chat;
use crate::confirm::{ConfirmTarget, Confirmation, Consent, confirm};
use crate::exit::ExitStatus;
use crate::progress::ProgressLine;
use crate::record::{cache, host_paths};
use crate::rig_limits::RigLimitArgs;
use crate::signals::stop_in_time;
use crate::terminal::{self, Terminal};

/// The most names of cassettes on a line about cassettes that are left out.
const NAMES_SHOWN: usize = 4;

/// The file for all output of a gateway
#[derive(clap::Args)]
pub(crate) struct LogArg {
    /// Keep all that the gateway prints in this file, which is emptied first; of an agent, what it prints on stderr
    #[arg(long, value_name = "FILE", requires = "subject")]
    log: Option<PathBuf>,
}

/// Lists the subjects of clitape.toml, or checks one of them
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SubjectCommand,
}

#[derive(Subcommand)]
enum SubjectCommand {
    /// Lists the subjects of clitape.toml
    List,
    /// Says in about ten seconds whether a gateway starts, answers a scenario and ends, and what it lacks
    Check(Box<CheckArgs>),
}

#[derive(clap::Args)]
struct CheckArgs {
    /// The subject: NAME or NAME@VERSION
    subject: String,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    log: LogArg,
    #[command(flatten)]
    rig_limits: RigLimitArgs,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let subjects = Subjects::load(workspace.root())?;
    match &args.command {
        SubjectCommand::List => list(&subjects),
        SubjectCommand::Check(args) => {
            let CheckArgs { subject, consent, log, rig_limits } = &**args;
            let (name, version) = split(subject);
            let (name, SubjectSpec::Gateway(spec)) = subjects.get(name)? else {
                bail!("{name} is no gateway; run `clitape test --subject {name}`");
            };
            let machine = Machine::new(rig_limits.limits())?.with_log(log)?;
            machine.ask(workspace, &subjects, subject, Confirmation { yes: consent.yes, quiet })?;
            let spec = spec.at_version(version);
            checked(workspace, &machine, NamedGateway { name, version, spec }, quiet)
        }
    }
}

/// Splits `NAME@VERSION` into its parts.
pub(crate) fn split(subject: &str) -> (&str, Option<&str>) {
    match subject.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (subject, None),
    }
}

fn list(subjects: &Subjects) -> anyhow::Result<ExitStatus> {
    let mut out = terminal::stdout();
    for (name, subject) in &subjects.subjects {
        let (kind, command) = match subject {
            SubjectSpec::Gateway(spec) => {
                let kind = match spec.front {
                    Front::Chat => format!("gateway, {}", spec.host),
                    Front::Editor => SubjectKind::Agent.to_string(),
                };
                (kind, spec.command.join(" "))
            }
            SubjectSpec::Parser(spec) => ("parser".to_owned(), spec.call.command.join(" ")),
            SubjectSpec::Replay(spec) => ("replay".to_owned(), spec.call.command.join(" ")),
            _ => continue,
        };
        out.line(format_args!("{name:<20} {kind:<18} {command}"))?;
    }
    match subjects.subjects.is_empty() {
        true => {
            out.line(format_args!("{} has no subject", subjects.path.display()))?;
            Ok(ExitStatus::Nothing)
        }
        false => Ok(ExitStatus::Ok),
    }
}

fn checked(
    workspace: &Workspace,
    machine: &Machine,
    gateway: NamedGateway<'_>,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let progress = std::cell::RefCell::new(ProgressLine::new(quiet));
    let mut out = terminal::stdout();
    let mut failed = None;
    let mut line = |CheckLine { holds, what, details, todo }: CheckLine| {
        progress.borrow_mut().clear();
        if holds && quiet {
            return;
        }
        let printed = out.lines(format_args!("{} {what}", if holds { "ok" } else { "✗ " }));
        let details = details.into_iter().chain(todo.map(|todo| format!("→ {todo}")));
        let printed = printed.and_then(|()| {
            details.into_iter().try_for_each(|line| out.line(format_args!("   {line}")))
        });
        failed = failed.take().or(printed.err());
    };
    let mut note = |text: &str| progress.borrow_mut().now(text);
    let holds = check(gateway, machine.rig(workspace), &mut note, &mut line)?;
    machine.check_log()?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if holds && !quiet {
        out.line(format_args!("next: clitape test --subject {} --pace 200", gateway.shown()))?;
    }
    Ok(if holds { ExitStatus::Ok } else { ExitStatus::Findings })
}

/// The machine around a run of a subject: its paths, the limits, the log and the flag that stops the run.
pub(crate) struct Machine {
    host: HostPaths,
    program: PathBuf,
    cache: PathBuf,
    limits: RigLimits,
    log: Option<OutputLog>,
    stop: Arc<AtomicBool>,
}

/// Returns a variable of the environment of this process.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

impl Machine {
    /// Returns the machine, and removes the files that killed runs have left.
    pub(crate) fn new(limits: RigLimits) -> anyhow::Result<Self> {
        let host = host_paths();
        remove_stale(&host.temporary);
        let program = std::env::current_exe().context("can't find the path of this program")?;
        let (cache, stop) = (cache()?, stop_in_time()?);
        Ok(Self { host, program, cache, limits, log: None, stop })
    }

    /// Adds the file that gets all output of a gateway.
    pub(crate) fn with_log(self, log: &LogArg) -> anyhow::Result<Self> {
        Ok(Self { log: log.log.as_deref().map(OutputLog::create).transpose()?, ..self })
    }

    /// Fails if the log could not be written.
    pub(crate) fn check_log(&self) -> anyhow::Result<()> {
        let log = self.log.as_ref().map_or(Ok(()), OutputLog::check);
        log.context("can't write the log; is the disk full?")
    }

    /// Shows what a subject, NAME or NAME@VERSION, makes clitape run, and asks about one that a person has not agreed to
    /// here before.
    pub(crate) fn ask(
        &self,
        workspace: &Workspace,
        subjects: &Subjects,
        subject: &str,
        how: Confirmation,
    ) -> anyhow::Result<()> {
        let (name, version) = split(subject);
        let (_, settings) = subjects.get(name)?;
        let review = review(settings, version, workspace.root());
        confirm(ConfirmTarget::Subject(subject), &review, how, &self.stop)
    }

    /// Returns whether a signal has ended the run.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the flag that stops a run.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    pub(crate) fn rig<'a>(&'a self, workspace: &'a Workspace) -> RigHost<'a> {
        let Self { host, program, cache, limits, log, stop } = self;
        let (limits, log) = (*limits, log.as_ref());
        RigHost { workspace, host, program, cache, variable: &variable, limits, log, stop }
    }
}

/// A subject of the command line, with the conditions under which it runs.
pub(crate) struct ChosenSubject<'a> {
    name: &'a SubjectName,
    version: Option<&'a str>,
    spec: &'a SubjectSpec,
    /// The subject, if it is a gateway.
    pub(crate) gateway: Option<NamedGateway<'a>>,
    conditions: &'a Conditions,
    rig: RigHost<'a>,
    /// True to play one recording of a gateway under harsh conditions too.
    pub(crate) is_harsh: bool,
    /// True to play each recording, also one that the settings of a gateway leave out.
    pub(crate) plays_all: bool,
}

impl<'a> ChosenSubject<'a> {
    /// Takes a subject, NAME or NAME@VERSION; an error if the conditions do not apply to it.
    pub(crate) fn new(
        subjects: &'a Subjects,
        subject: &'a str,
        conditions: &'a Conditions,
        rig: RigHost<'a>,
    ) -> anyhow::Result<Self> {
        let (name, version) = split(subject);
        let (name, spec) = subjects.get(name)?;
        let gateway = match spec {
            SubjectSpec::Gateway(_) => Some(gateway(subjects, subject)?),
            _ if !conditions.are_recorded() => {
                bail!("{name} is no gateway, so that it has neither a pace nor a chat server")
            }
            _ => None,
        };
        if let Some(gateway) = gateway {
            check_chat(conditions, gateway)?;
        }
        let (is_harsh, plays_all) = (false, false);
        Ok(Self { name, version, spec, gateway, conditions, rig, is_harsh, plays_all })
    }

    /// Plays the recordings, and returns also what was seen of a gateway.
    pub(crate) fn play(
        &self,
        suite: SuiteOptions<'_>,
        report: &mut dyn FnMut(TrialEvent<'_>) -> std::io::Result<()>,
    ) -> anyhow::Result<(SuiteRun, Vec<(Job, DriveResult)>)> {
        let Self { name, version, spec, gateway, conditions, rig, is_harsh, plays_all } = *self;
        let run = match (spec, gateway) {
            (SubjectSpec::Parser(spec), _) => {
                run_suite(&mut ParserSubject { name, version, spec, rig }, suite, report)?
            }
            (SubjectSpec::Replay(spec), _) => {
                run_suite(&mut ReplaySubject { name, version, spec, rig }, suite, report)?
            }
            (_, Some(gateway)) => {
                let mut subject = GatewaySubject::new(gateway, conditions, rig);
                if is_harsh {
                    subject = subject.with_harsh_conditions();
                }
                if plays_all {
                    subject = subject.with_all_scenarios();
                }
                let run = run_suite(&mut subject, suite, report)?;
                return Ok((run, subject.played));
            }
            _ => bail!("{name} is of a kind that can't be tested"),
        };
        Ok((run, Vec::new()))
    }
}

/// Returns the gateway of this name; an error if the subject is of another kind.
pub(crate) fn gateway<'a>(
    subjects: &'a Subjects,
    subject: &'a str,
) -> anyhow::Result<NamedGateway<'a>> {
    let (name, version) = split(subject);
    match subjects.get(name)? {
        (name, SubjectSpec::Gateway(spec)) => {
            Ok(NamedGateway { name, version, spec: spec.at_version(version) })
        }
        (name, _) => bail!(
            "{name} is no gateway, so that there is no chat to watch; run `clitape test --subject {name}`"
        ),
    }
}

/// Prints the cassettes that were left out, grouped by the reason.
pub(crate) fn print_left_out(out: &mut Terminal, run: &SuiteRun) -> std::io::Result<()> {
    for (reason, names) in run.left_out_by_reason() {
        let shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
        let more = match names.len().saturating_sub(NAMES_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        out.line(format_args!(
            "left out {}: {reason}: {shown}{more}",
            plural(names.len(), "cassette")
        ))?;
    }
    Ok(())
}
