//! `clitape record`: runs the real CLI and writes cassettes.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use clitape_process::host::HostPaths;
use clitape_process::{ConfineBy, Swept, remove_stale};
use clitape_recording::cassette::{Confinement, Take};
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::text::plural;
use clitape_runner::record::{Claude, ClaudeChoice, RecordError, RecordSettings, record, resolve};
use clitape_runner::suite::select::{Selected, Selection};

use crate::confirm::{Confirmation, confirm_scenario};
use crate::exit::ExitStatus;
use crate::progress::ProgressLine;
use crate::scan::{Guarded, Secrets};
use crate::selection::{Names, SelectionArgs};
use crate::signals::stop_on_signals;
use crate::terminal;
use failures::Failures;

mod check;
mod failures;
mod limits;
mod loss;

pub(crate) use limits::RecordLimits;
pub(crate) use loss::loss;

/// The help text about what a recording can do on the machine.
const HELP: &str = "\
A recording runs, as you, what the scenario asks for: the tool calls of its model.toml,
such as Bash commands, as far as `record.args` allows them, and the hooks and tool servers
of its workspace. This command shows all of that before it records. It asks once about a
scenario that was not recorded here before or has changed since.

The CLI runs in a temporary folder, which is removed afterwards, and in a session without
your terminal. Landlock (Linux 5.13 and later) confines it: it can write only that folder,
read only the system and itself, send no signal to other processes (Linux 6.12), and connect
only to the model: where the system lets you make namespaces, otherwise to its port on any
machine (Linux 6.7). Where there is no Landlock, bubblewrap confines the same but for signals,
if `bwrap` is installed and may make user namespaces. cassette.toml and the proof page name the
way that was used; SECURITY.md lists what each refuses. Without either, or with `--confine none`, a scenario can do whatever you can. If you
name a way that the system does not have, nothing is recorded.

Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end the CLI and every process it started, and remove
the folder. After a kill -9, the next `clitape record` does this.";

/// Runs the real CLI against the scenario's model script and writes a cassette
#[derive(clap::Args)]
#[command(after_help = HELP)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["names", "track", "changed", "all"]))]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Record every scenario that has a model.toml, but for those whose `record.only` leaves the version out
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// The CLI: PATH to a program, npm:VERSION, or `path` for the one on PATH [default: npm with
    /// every version of clitape.toml that the scenario does not leave out]
    #[arg(long, value_name = "CLI")]
    claude: Option<ClaudeChoice>,
    /// Record into memory and compare the bytes, those written to stdin too, with the cassette; write
    /// nothing
    #[arg(long)]
    check: bool,
    /// Replace a cassette that is there already and says something else
    #[arg(long, conflicts_with = "check")]
    force: bool,
    /// Record scenarios that were not recorded here before without asking; for CI
    #[arg(long)]
    yes: bool,
    /// What confines the CLI to its temporary folder
    #[arg(long, value_name = "WAY", value_enum, default_value = "auto")]
    confine: Confine,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    limits: RecordLimits,
}

/// The ways to confine the CLI.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Confine {
    /// Landlock, otherwise bubblewrap, otherwise nothing
    Auto,
    /// Landlock; without it nothing is recorded
    Landlock,
    /// bubblewrap; without it nothing is recorded
    Bubblewrap,
    /// Nothing: the CLI can do whatever you can
    #[value(name = "none")]
    Nothing,
}

impl From<Confine> for Option<ConfineBy> {
    fn from(confine: Confine) -> Self {
        match confine {
            Confine::Auto => Some(ConfineBy::Any),
            Confine::Landlock => Some(ConfineBy::Only(Confinement::Landlock)),
            Confine::Bubblewrap => Some(ConfineBy::Only(Confinement::Bubblewrap)),
            Confine::Nothing => None,
        }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    args.secrets.check()?;
    let mut failures = Failures::default();
    let stop = stop_on_signals()?;
    let settings = args.limits.record(args.confine.into());
    let names = Names { new_versions: true, ..Names::default() };
    let selection = args.selection.select(workspace, names)?;
    if let Some(why) = &selection.nothing {
        terminal::note(format_args!("nothing to record: {why}"));
        return Ok(ExitStatus::Nothing);
    }
    let scenarios = loaded(workspace, &selection, &mut failures)?;
    let mut takes = takes(workspace, &scenarios, args)?;
    for (scenario, _) in &scenarios {
        let how = Confirmation { yes: args.yes, quiet };
        match confirm_scenario(scenario, settings, how, &stop) {
            Ok(()) => {}
            Err(error) if error.chain().any(|cause| cause.is::<RecordError>()) => {
                failures.add(scenario.name.as_str(), error)?;
                takes.retain(|(of, _)| of.name != scenario.name);
            }
            // The question could not be asked.
            Err(error) => return Err(error),
        }
    }
    let host = host_paths();
    say(remove_stale(&host.temporary));
    let take =
        |scenario: &Scenario, claude: &Claude| take(scenario, claude, settings, &host, &stop);
    let mut progress = ProgressLine::new(quiet);
    let mut exit = ExitStatus::Ok;
    let mut known: Vec<(&ClaudeChoice, Option<Claude>)> = Vec::new();
    for (i, (scenario, choice)) in takes.iter().enumerate() {
        if known.iter().all(|(of, _)| *of != choice) {
            let (cache, limits) = (cache()?, args.limits.resolve(args.confine.into()));
            let found = resolve(choice, &cache, limits, &host, &stop, &mut |text| {
                progress.step(text);
            });
            let claude = match found {
                Ok(claude) => Some(claude),
                Err(error) => {
                    failures.add(&shown(choice), error.into())?;
                    None
                }
            };
            known.push((choice, claude));
        }
        let claude =
            known.iter().find_map(|(of, claude)| claude.as_ref().filter(|_| *of == choice));
        // A CLI that can't be found or installed counts as one failure, however many scenarios it was to record.
        let Some(claude) = claude else { continue };
        let is_named = scenarios.iter().any(|(of, one)| of.name == scenario.name && one.is_named);
        if !is_named && is_left_out(scenario, claude) {
            continue;
        }
        let (number, of) = (i + 1, takes.len());
        let place = format!("{} {}", scenario.name, claude.version);
        progress.step(&format!("recording {place} ({number} of {of})"));
        let recorded = match args.check {
            true => check::check(workspace, scenario, claude, take),
            false => {
                take(scenario, claude).and_then(|mut taken| write(workspace, &mut taken, args))
            }
        };
        progress.clear();
        match recorded {
            Ok((recorded, said)) => {
                match recorded {
                    ExitStatus::Ok => failures.succeeded(),
                    _ => failures.found(&place),
                }
                if !quiet || recorded != ExitStatus::Ok {
                    terminal::stdout().lines(said)?;
                }
                if recorded != ExitStatus::Ok {
                    exit = recorded;
                }
            }
            Err(error) => {
                if number < of {
                    terminal::note(format_args!("{place} failed; the recordings go on"));
                }
                failures.add(&place, error)?;
            }
        }
    }
    Ok(failures.tell()?.unwrap_or(exit))
}

/// Loads the selected scenarios. One that is selected by a pattern is left out if it can't be recorded.
fn loaded<'s>(
    workspace: &Workspace,
    selection: &'s Selection,
    failures: &mut Failures,
) -> anyhow::Result<Vec<(Scenario, &'s Selected)>> {
    let mut scenarios = Vec::new();
    for one in &selection.scenarios {
        match workspace.scenario_of(&one.name) {
            Ok(scenario) if one.is_named || scenario.has_model() => scenarios.push((scenario, one)),
            Ok(_) => {}
            Err(error) if one.is_named => return Err(error.into()),
            Err(error) => failures.add(one.name.as_str(), error.into())?,
        }
    }
    Ok(scenarios)
}

/// Returns each scenario with each CLI that records it.
fn takes<'s>(
    workspace: &Workspace,
    scenarios: &'s [(Scenario, &Selected)],
    args: &Args,
) -> anyhow::Result<Vec<(&'s Scenario, ClaudeChoice)>> {
    let mut takes = Vec::new();
    for (scenario, selected) in scenarios {
        let choices = match (&args.claude, &selected.versions) {
            (Some(_), Some(versions)) => bail!(
                "{}/{} names a version, and so does --claude; leave one of them out",
                scenario.name,
                versions.join(", ")
            ),
            (Some(choice), None) => vec![choice.clone()],
            (None, named) => {
                let versions = match named {
                    Some(versions) => versions.clone(),
                    None => workspace.versions_to_record(scenario)?,
                };
                versions.into_iter().map(ClaudeChoice::Npm).collect()
            }
        };
        takes.extend(choices.into_iter().map(|choice| (scenario, choice)));
    }
    Ok(takes)
}

/// Returns whether `record.only` of a scenario leaves out the version of a CLI.
fn is_left_out(scenario: &Scenario, claude: &Claude) -> bool {
    scenario.record.only.as_ref().is_some_and(|range| !range.contains(&claude.version))
}

/// Names a CLI in a few words.
fn shown(choice: &ClaudeChoice) -> String {
    match choice {
        ClaudeChoice::Npm(version) => format!("CLI {version}"),
        ClaudeChoice::Path(path) => path.display().to_string(),
        ClaudeChoice::OnPath => "the `claude` on PATH".to_owned(),
    }
}

/// Reports the folders and processes that a killed run has left, if there are any.
fn say(Swept { folders, processes }: Swept) {
    if folders > 0 {
        terminal::note(format_args!(
            "removed what a clitape that was killed has left: temporary folders: {folders}, \
             processes in them: {processes}"
        ));
    }
}

fn write(
    workspace: &Workspace,
    take: &mut Take,
    args: &Args,
) -> anyhow::Result<(ExitStatus, String)> {
    let place = format!("{} {}", take.manifest.scenario, take.manifest.cli.version);
    let kept = match args.secrets.guard(take)? {
        Guarded::Kept(said) => said,
        Guarded::Stopped(why) => {
            return Ok((ExitStatus::Findings, format!("{place}: {why}")));
        }
    };
    if let Some(what) = loss(workspace, take).filter(|_| !args.force) {
        let why = format!("{what}; nothing was written; add `--force` to replace it");
        return Ok((ExitStatus::Findings, format!("{place}: {why}")));
    }
    let dir = take.write(workspace)?;
    let replaced: u64 = take.manifest.canonical.values().sum();
    let lines = take.stdout.iter().filter(|&&byte| byte == b'\n').count();
    let said = format!(
        "wrote {}: {}, {}, {}{kept}",
        workspace.shown(&dir),
        plural(lines, "line"),
        plural(take.stdout.len(), "byte"),
        plural(replaced, "replacement")
    );
    Ok((ExitStatus::Ok, said))
}

fn take(
    scenario: &Scenario,
    claude: &Claude,
    settings: RecordSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> anyhow::Result<Take> {
    record(scenario, claude, settings, host, stop)
        .with_context(|| format!("can't record {} with {}", scenario.name, claude.version))
}

/// Returns the paths of this machine, as the environment names them.
pub(crate) fn host_paths() -> HostPaths {
    HostPaths {
        path: std::env::var_os("PATH").unwrap_or_default(),
        temporary: std::env::temp_dir(),
        home: std::env::var_os("HOME").map(PathBuf::from),
    }
}

/// Returns the folder for installed CLIs and built revisions, in the user's cache folder.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| Some(set("HOME")?.join(".cache")))
        .map(|dir| dir.join("clitape"))
        .context("there is no folder for installed CLIs and builds; set HOME or XDG_CACHE_HOME")
}
