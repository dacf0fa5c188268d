//! `clitape record`: runs the real CLI and writes cassettes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_gateway::ByteSize;
use clitape_process::host::HostPaths;
use clitape_process::{ConfineBy, InstallLimits, Swept, remove_stale};
use clitape_recording::cassette::{Cassette, Confinement, Take, Tick, TickKind};
use clitape_recording::files;
use clitape_recording::limits::{
    INSTALL_OUTPUT, INSTALL_TIME, MODEL_LINES, MODEL_REQUEST, OutputLimits, RECORDED_TIME,
    VERSION_OUTPUT, VERSION_TIME, WORKSPACE_BYTES, WORKSPACE_FILES,
};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::secrets::redact;
use clitape_recording::text::plural;
use clitape_runner::check::first_difference;
use clitape_runner::drift::changed_places;
use clitape_runner::record::{
    Claude, ClaudeChoice, NewRecording, RecordError, RecordSettings, ResolveSettings,
    WorkspaceLimits, installed_at, record, resolve,
};
use clitape_runner::suite::select::{Selected, Selection};

use crate::confirm::{Confirmation, confirm_scenario};
use crate::exit::{ExitStatus, classify};
use crate::input::{Names, SelectionArgs};
use crate::progress::ProgressLine;
use crate::scan::{Guarded, Secrets};
use crate::signals::stop_on_signals;
use crate::terminal;

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
    if !quiet {
        announce_installs(&takes)?;
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
            true => check_again(workspace, scenario, claude, |scenario, claude| {
                take(scenario, claude).map(|new| new.take)
            }),
            false => take(scenario, claude).and_then(|mut new| {
                if new.calls_at_once && !args.force {
                    progress.step(&format!(
                        "recording {place} again, because two of its calls may race"
                    ));
                    let second = || take(scenario, claude).map(|second| second.take);
                    if let Some(why) = unsteady(workspace, &new.take, second)? {
                        return Ok((ExitStatus::Findings, format!("{place}: {why}")));
                    }
                }
                let (recorded, said) = write(workspace, &mut new.take, args)?;
                Ok((recorded, said + &unasked(scenario, &new)))
            }),
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

/// The megabytes that a version of the CLI takes once it is installed, at most (`clitape cache` of 2.1.332).
const INSTALLED: usize = 400;

/// Says what npm is about to install, before it takes minutes.
fn announce_installs(takes: &[(&Scenario, ClaudeChoice)]) -> anyhow::Result<()> {
    let cache = cache()?;
    let missing: BTreeSet<&CliVersion> = takes
        .iter()
        .filter_map(|(_, choice)| match choice {
            ClaudeChoice::Npm(version) => Some(version),
            ClaudeChoice::Path(_) | ClaudeChoice::OnPath => None,
        })
        .filter(|version| !installed_at(&cache, version).exists())
        .collect();
    let Some(last) = missing.iter().max_by(|a, b| a.by_number(b)) else { return Ok(()) };
    let count = plural(missing.len(), "version");
    let names = missing.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ");
    let folder = installed_at(&cache, last);
    let megabytes = INSTALLED * missing.len();
    let less = match missing.len() {
        1 => String::new(),
        _ => format!("; for a first look, `--claude npm:{last}` takes one alone"),
    };
    terminal::note(format_args!(
        "npm installs {count} of claude first, once: {names} (up to {megabytes} MB in {}){less}",
        folder.parent().unwrap_or(&cache).display()
    ));
    Ok(())
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

/// Says which turns of the script the CLI never asked for, unless it was ended on purpose.
fn unasked(scenario: &Scenario, new: &NewRecording) -> String {
    if new.unasked.is_empty() || scenario.record.signal.is_some() {
        return String::new();
    }
    format!(
        "\n  model.toml has more than was asked for: {}; remove it, or let the turn before it call a tool",
        new.unasked.join(", ")
    )
}

fn take(
    scenario: &Scenario,
    claude: &Claude,
    settings: RecordSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> anyhow::Result<NewRecording> {
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

/// The recordings that failed, and the number of those that were made.
#[derive(Default)]
struct Failures {
    /// The recordings that failed, each with the error.
    failed: Vec<(String, anyhow::Error)>,
    /// The recordings with a finding, such as a secret, which was printed already.
    found: Vec<String>,
    successes: usize,
}

impl Failures {
    /// Counts a recording that was made.
    fn succeeded(&mut self) {
        self.successes += 1;
    }

    /// Counts a recording with a finding.
    fn found(&mut self, what: &str) {
        self.found.push(what.to_owned());
    }

    /// Adds a failure, so that the next recording is made.
    ///
    /// # Errors
    ///
    /// The error itself if the user has asked to stop; the earlier failures are then listed.
    fn add(&mut self, what: &str, error: anyhow::Error) -> anyhow::Result<()> {
        let reason = error.chain().find_map(|cause| cause.downcast_ref::<RecordError>());
        if let Some(RecordError::Stopped | RecordError::Declined { .. }) = reason {
            self.list();
            return Err(error);
        }
        self.failed.push((what.to_owned(), error));
        Ok(())
    }

    /// Lists the failures with their reasons; returns the exit code of the first one.
    ///
    /// # Errors
    ///
    /// The failure itself if it was the only recording.
    fn tell(mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.successes + self.found.len() == 0 && self.failed.len() == 1 {
            return Err(self.failed.remove(0).1);
        }
        self.list();
        Ok(self.failed.first().map(|(_, error)| classify(error)))
    }

    fn list(&self) {
        let all = self.failed.len() + self.found.len() + self.successes;
        if all > 1 && !self.found.is_empty() {
            let (count, names) = (self.found.len(), self.found.join(", "));
            terminal::note(format_args!(
                "{count} of {} with findings: {names}",
                plural(all, "recording")
            ));
        }
        if self.failed.is_empty() {
            return;
        }
        let line = |(what, error): &(String, anyhow::Error)| {
            let reason = format!("{error:#}").replace('\n', "\n    ");
            format!("\n  {what}: {reason}")
        };
        let lines: String = self.failed.iter().map(line).collect();
        let failed = self.failed.len();
        terminal::error(format_args!("{failed} of {} failed:{lines}", plural(all, "recording")));
    }
}

/// Compares a new recording with the cassette or, if there is none, with a second recording.
fn check_again(
    workspace: &Workspace,
    scenario: &Scenario,
    claude: &Claude,
    take: impl Fn(&Scenario, &Claude) -> anyhow::Result<Take>,
) -> anyhow::Result<(ExitStatus, String)> {
    let mut again = take(scenario, claude)?;
    let dir = workspace.cassette(&scenario.name, &claude.version);
    let mut note = String::new();
    let (before, against) = if files::is_there(&dir) {
        let cassette = Cassette::find(workspace, &scenario.name, &claude.version)?;
        note = other_program(&cassette, claude).unwrap_or_default();
        if !cassette.manifest.redacted.is_empty() {
            redact(&mut again)?;
        }
        (Take::from(cassette), workspace.shown(&dir))
    } else {
        (take(scenario, claude)?, "a second recording".to_owned())
    };
    let place = format!("{} {}", scenario.name, claude.version);
    if let Some(what) = difference(&RecordingParts::of(&before), &RecordingParts::of(&again)) {
        let race = race(before, again);
        return Ok((
            ExitStatus::Findings,
            format!("{place}: differs from {against}: {what}{race}{note}"),
        ));
    }
    let bytes = plural(RecordingParts::of(&again).bytes(), "byte");
    Ok((ExitStatus::Ok, format!("{place}: identical to {against}, {bytes}{note}")))
}

/// Returns the reason why a recording of calls that may race is not kept: a second one differs. A cassette that says the
/// same is such a second one.
fn unsteady(
    workspace: &Workspace,
    take: &Take,
    second: impl FnOnce() -> anyhow::Result<Take>,
) -> anyhow::Result<Option<String>> {
    let (name, version) = (&take.manifest.scenario, &take.manifest.cli.version);
    let parts = RecordingParts::of(take);
    if let Ok(kept) = Cassette::find(workspace, name, version)
        && difference(&RecordingParts::of(&Take::from(kept)), &parts).is_none()
    {
        return Ok(None);
    }
    let second = second()?;
    Ok(difference(&parts, &RecordingParts::of(&second)).map(|what| {
        let race = race(take.clone(), second);
        format!(
            "two recordings differ: {what}{race}\n  nothing was written; add `--force` to keep one nevertheless"
        )
    }))
}

/// Names the records that changed places between two recordings, and the cure; empty if none did.
fn race(before: Take, again: Take) -> String {
    let [before, again] = [before, again].map(Cassette::from);
    let changed = changed_places([&before, &again]);
    let Some(first) = changed.first() else { return String::new() };
    format!(
        "\n  {first}: which of them comes first is a race of the scenario; give them clearly different times in \
         model.toml, such as `end_delay_ms = 500` on the turn that calls the tools, or `delay_ms` on a block"
    )
}

/// Describes the first difference between two recordings in a sentence; `None` if they are equal.
fn difference(
    RecordingParts(before): &RecordingParts<'_>,
    RecordingParts(again): &RecordingParts<'_>,
) -> Option<String> {
    for (before, again) in before.iter().zip(again) {
        // A cassette without offsets is older than that part of the format.
        let is_old = before.kind == PartKind::Offsets && before.bytes.is_empty();
        if let Some(sentence) = first_difference(&before.bytes, &again.bytes).filter(|_| !is_old) {
            return Some(format!("{}{sentence}", before.name));
        }
    }
    let runs = |parts: &[RecordingPart<'_>]| {
        parts.iter().filter(|part| part.kind == PartKind::Stdout).count()
    };
    let (before, again) = (runs(before), runs(again));
    (before != again).then(|| format!("{} where there were {before}", plural(again, "run")))
}

/// Returns a note if the cassette was made by another program of the same version.
fn other_program(cassette: &Cassette, claude: &Claude) -> Option<String> {
    let before = cassette.manifest.cli.sha256.as_ref().filter(|hash| **hash != claude.sha256)?;
    let now = &claude.sha256;
    Some(format!(
        "\n  note: recorded by another program of this version, sha256 {before}; this is {now}"
    ))
}

/// A part of a recording that is the same each time.
struct RecordingPart<'t> {
    kind: PartKind,
    /// The start of the sentence about a difference in it.
    name: String,
    bytes: Cow<'t, [u8]>,
}

/// The kinds of parts that are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// The stdout of a run.
    Stdout,
    /// The lines written to stdin.
    Stdin,
    /// The bytes of stdout before each line of stdin.
    Offsets,
}

/// The parts of a recording that are compared.
struct RecordingParts<'t>(Vec<RecordingPart<'t>>);

impl<'t> RecordingParts<'t> {
    /// Returns the parts of a recording in memory.
    fn of(take: &'t Take) -> Self {
        let part = |kind, name: &str, bytes| RecordingPart { kind, name: name.to_owned(), bytes };
        let mut all = vec![
            part(PartKind::Stdout, "", Cow::from(&take.stdout)),
            part(PartKind::Stdin, "stdin.jsonl, ", Cow::from(&take.stdin)),
            part(PartKind::Offsets, "offsets of stdin.jsonl, ", Cow::from(offsets(&take.timeline))),
        ];
        for (number, run) in (2..).zip(&take.further) {
            all.push(part(PartKind::Stdout, &format!("run {number}, "), Cow::from(&run.stdout)));
        }
        Self(all)
    }

    /// Returns the number of bytes of stdout, over all runs.
    fn bytes(&self) -> usize {
        let stdout = self.0.iter().filter(|part| part.kind == PartKind::Stdout);
        stdout.map(|part| part.bytes.len()).sum()
    }
}

/// Returns the offset of each line of stdin, one on each line.
fn offsets(timeline: &[Tick]) -> Vec<u8> {
    let lines = timeline.iter().filter_map(|tick| match tick.kind {
        TickKind::In { line, offset: Some(offset) } => {
            Some(format!("line {line} after {offset} bytes of stdout\n"))
        }
        _ => None,
    });
    lines.collect::<String>().into_bytes()
}

/// Describes what the stored cassette has and `take` lacks; `None` without a cassette, or if the bytes are the same.
pub(crate) fn loss(workspace: &Workspace, take: &Take) -> Option<String> {
    let (name, version) = (&take.manifest.scenario, &take.manifest.cli.version);
    let dir = workspace.cassette(name, version);
    if !files::is_there(&dir) {
        return None;
    }
    let shown = workspace.shown(&dir);
    let there = match Cassette::find(workspace, name, version) {
        Ok(cassette) => Take::from(cassette),
        Err(error) => {
            return Some(format!("{shown} is there already, but it can't be read ({error})"));
        }
    };
    if there.manifest.origin != take.manifest.origin {
        return Some(format!("{shown} is there already, and was made in another way"));
    }
    let what = difference(&RecordingParts::of(&there), &RecordingParts::of(take))?;
    Some(format!("{shown} is there already, and this one differs: {what}"))
}

/// The limits on a scenario and the CLI.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct RecordLimits {
    /// Bytes that the CLI may print on stdout, and as many on stderr
    #[arg(long, value_name = "SIZE", default_value_t = OutputLimits::RECORDED.bytes)]
    max_output: ByteSize,
    /// Bytes that a line of the CLI may have
    #[arg(long, value_name = "SIZE", default_value_t = OutputLimits::RECORDED.line)]
    max_line: ByteSize,
    /// Lines that the CLI may print, and reads in which they may come
    #[arg(long, value_name = "N", default_value_t = OutputLimits::RECORDED.lines,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_lines: u64,
    /// Seconds that a run of the CLI may take, whatever `record.timeout_s` of the scenario allows
    #[arg(long, value_name = "S", default_value_t = RECORDED_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    max_time: u64,
    /// Size that the files of a workspace may have together
    #[arg(long, value_name = "SIZE", default_value_t = WORKSPACE_BYTES)]
    max_workspace: ByteSize,
    /// Files, folders and links that a workspace may have
    #[arg(long, value_name = "N", default_value_t = WORKSPACE_FILES)]
    max_workspace_files: usize,
    /// Lines that all `{{lines:N}}` of a model.toml may ask for
    #[arg(long, value_name = "N", default_value_t = MODEL_LINES)]
    max_model_lines: usize,
    /// Bytes that a request of the CLI to the scripted model may have
    #[arg(long, value_name = "SIZE", default_value_t = MODEL_REQUEST)]
    max_request: ByteSize,
    /// Seconds that `claude --version` may take
    #[arg(long, value_name = "S", default_value_t = VERSION_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    version_timeout: u64,
    /// Bytes that `claude --version` may print on stdout, and as many on stderr
    #[arg(long, value_name = "SIZE", default_value_t = VERSION_OUTPUT)]
    max_version_output: ByteSize,
    /// Seconds that npm may take to install a CLI
    #[arg(long, value_name = "S", default_value_t = INSTALL_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    install_timeout: u64,
    /// Bytes that npm may print on stdout, and as many on stderr
    #[arg(long, value_name = "SIZE", default_value_t = INSTALL_OUTPUT)]
    max_install_output: ByteSize,
}

impl RecordLimits {
    /// Returns the settings of a recording.
    pub(crate) fn record(&self, confine: Option<ConfineBy>) -> RecordSettings {
        RecordSettings {
            output: OutputLimits {
                bytes: self.max_output,
                line: self.max_line,
                lines: self.max_lines,
            },
            time: Duration::from_secs(self.max_time),
            workspace: WorkspaceLimits {
                bytes: self.max_workspace,
                files: self.max_workspace_files,
            },
            model_lines: self.max_model_lines,
            request: self.max_request,
            confine,
        }
    }

    /// Returns the settings of the search for the CLI.
    pub(crate) fn resolve(&self, confine: Option<ConfineBy>) -> ResolveSettings {
        ResolveSettings {
            version_time: Duration::from_secs(self.version_timeout),
            version_output: self.max_version_output,
            install: InstallLimits {
                time: Duration::from_secs(self.install_timeout),
                output: self.max_install_output,
            },
            confine,
        }
    }
}
