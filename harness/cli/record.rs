//! `clitape record`: runs the real CLI and writes cassettes.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context as _;
use clitape_gateway::ByteSize;
use clitape_runner::cassette::{Cassette, Confinement, FurtherRun, Take, Tick, TickKind};
use clitape_runner::check::first_difference;
use clitape_runner::files;
use clitape_runner::host::HostPaths;
use clitape_runner::limits::{
    INSTALL_OUTPUT, INSTALL_TIME, MODEL_LINES, MODEL_REQUEST, OutputLimits, RECORDED_TIME,
    VERSION_OUTPUT, VERSION_TIME, WORKSPACE_BYTES, WORKSPACE_FILES,
};
use clitape_runner::record::{
    Claude, ClaudeChoice, ConfineBy, RecordSettings, ResolveLimits, Swept, WorkspaceLimits, record,
    remove_stale, resolve,
};
use clitape_runner::scenario::{Scenario, Workspace};
use clitape_runner::secrets::redact;
use clitape_runner::text::plural;

use crate::confirm::{Confirmation, confirm};
use crate::exit::ExitStatus;
use crate::progress::ProgressLine;
use crate::scan::{Guarded, Secrets};
use crate::signals::stop_on_signals;
use crate::terminal;

/// What a recording can do on the machine, as `--help` shows it.
const HELP: &str = "\
A recording runs, as you, what the scenario asks for: the tool calls of its model.toml,
such as Bash commands, as far as `record.args` allows them, and the hooks and tool servers
of its workspace. This command shows all of that before it records. It asks once about a
scenario that was not recorded here before or has changed since.

The CLI runs in a temporary folder, which is removed afterwards. Landlock (Linux 5.13 and
later) confines it: it can write only that folder, read only the system and itself, send
no signal to other processes (Linux 6.12), and connect by TCP only to the model
(Linux 6.7). Where there is no Landlock, bubblewrap confines the files, but no signals and
connections, if `bwrap` is installed and may make user namespaces. cassette.toml and the
proof page name the way that was used. Without either, or with `--confine none`, a scenario
can do whatever you can. If you name a way that the system does not have, nothing is
recorded.

Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end the CLI and every process it started, and remove
the folder. After a kill -9, the next `clitape record` does this.";

/// Runs the real CLI against the scenario's model script and writes a cassette
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Scenarios to record
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// The CLI: PATH to a program, npm:VERSION, or `path` for the one on PATH [default: npm with
    /// every version the scenario names]
    #[arg(long, value_name = "CLI")]
    claude: Option<ClaudeChoice>,
    /// Record into memory and compare the bytes, those written to stdin too, with the cassette; write
    /// nothing
    #[arg(long)]
    check: bool,
    /// Record scenarios that were not recorded here before without asking; for CI
    #[arg(long)]
    yes: bool,
    /// What confines the CLI to its temporary folder
    #[arg(long, value_name = "WAY", value_enum, default_value = "auto")]
    confine: Confine,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    limits: Limits,
}

/// The limits on a scenario and the CLI.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct Limits {
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

impl Args {
    /// How recordings are made.
    fn settings(&self) -> RecordSettings {
        let limits = &self.limits;
        RecordSettings {
            output: OutputLimits {
                bytes: limits.max_output,
                line: limits.max_line,
                lines: limits.max_lines,
            },
            time: Duration::from_secs(limits.max_time),
            workspace: WorkspaceLimits {
                bytes: limits.max_workspace,
                files: limits.max_workspace_files,
            },
            model_lines: limits.max_model_lines,
            request: limits.max_request,
            confine: match self.confine {
                Confine::Auto => Some(ConfineBy::Any),
                Confine::Landlock => Some(ConfineBy::Only(Confinement::Landlock)),
                Confine::Bubblewrap => Some(ConfineBy::Only(Confinement::Bubblewrap)),
                Confine::Nothing => None,
            },
        }
    }

    /// The limits on finding the CLI.
    fn resolve_limits(&self) -> ResolveLimits {
        let limits = &self.limits;
        ResolveLimits {
            version_time: Duration::from_secs(limits.version_timeout),
            version_output: limits.max_version_output,
            install_time: Duration::from_secs(limits.install_timeout),
            install_output: limits.max_install_output,
        }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    args.secrets.check()?;
    let mut scenarios = Vec::new();
    for name in &args.scenarios {
        scenarios.push(workspace.load(name)?);
    }
    let mut takes = Vec::new();
    for scenario in &scenarios {
        let choices = match &args.claude {
            Some(choice) => vec![choice.clone()],
            None => scenario.record.versions.iter().cloned().map(ClaudeChoice::Npm).collect(),
        };
        takes.extend(choices.into_iter().map(|choice| (scenario, choice)));
    }
    let settings = args.settings();
    let stop = stop_on_signals()?;
    confirm(&scenarios, &Confirmation { yes: args.yes, quiet, settings }, &stop)?;
    let host = host_paths();
    say(remove_stale(&host.temporary));
    let take =
        |scenario: &Scenario, claude: &Claude| take(scenario, claude, settings, &host, &stop);
    let mut progress = ProgressLine::new(quiet);
    let mut exit = ExitStatus::Ok;
    let mut known: Vec<(&ClaudeChoice, Claude)> = Vec::new();
    for (i, (scenario, choice)) in takes.iter().enumerate() {
        let claude = match known.iter().find(|(of, _)| *of == choice) {
            Some((_, claude)) => claude.clone(),
            None => {
                let (cache, limits) = (cache()?, args.resolve_limits());
                let claude = resolve(choice, &cache, limits, &host, &stop, &mut |text| {
                    progress.step(text);
                })?;
                known.push((choice, claude.clone()));
                claude
            }
        };
        let (number, of) = (i + 1, takes.len());
        progress
            .step(&format!("recording {} {} ({number} of {of})", scenario.name, claude.version));
        let (recorded, said) = if args.check {
            check(workspace, scenario, &claude, take)?
        } else {
            write(workspace, &mut take(scenario, &claude)?, &args.secrets)?
        };
        progress.clear();
        if !quiet || recorded != ExitStatus::Ok {
            terminal::stdout().lines(said)?;
        }
        if recorded != ExitStatus::Ok {
            exit = recorded;
        }
    }
    Ok(exit)
}

/// Reports what an earlier run has left behind, if there is any.
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
    secrets: &Secrets,
) -> anyhow::Result<(ExitStatus, String)> {
    let kept = match secrets.guard(take)? {
        Guarded::Kept(said) => said,
        Guarded::Stopped(why) => {
            let place = format!("{} {}", take.manifest.scenario, take.manifest.cli.version);
            return Ok((ExitStatus::Findings, format!("{place}: {why}")));
        }
    };
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

/// Compares a new recording with the cassette or, if there is none, with a second recording.
fn check(
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
        let Cassette { stdout, stdin, timeline, further, .. } = cassette;
        (parts(stdout, stdin, &timeline, further), workspace.shown(&dir))
    } else {
        let second = take(scenario, claude)?;
        let Take { stdout, stdin, timeline, further, .. } = second;
        (parts(stdout, stdin, &timeline, further), "a second recording".to_owned())
    };
    let Take { stdout, stdin, timeline, further, .. } = again;
    let again = parts(stdout, stdin, &timeline, further);
    let place = format!("{} {}", scenario.name, claude.version);
    for (before, again) in before.iter().zip(&again) {
        // A cassette without offsets is older than they are.
        let is_old = before.kind == PartKind::Offsets && before.bytes.is_empty();
        if let Some(sentence) = first_difference(&before.bytes, &again.bytes).filter(|_| !is_old) {
            let part = &before.name;
            let said = format!("{place}: differs from {against}: {part}{sentence}{note}");
            return Ok((ExitStatus::Findings, said));
        }
    }
    let runs = |parts: &[Part]| parts.iter().filter(|part| part.kind == PartKind::Stdout).count();
    if runs(&before) != runs(&again) {
        let (before, again) = (runs(&before), runs(&again));
        let runs = format!("{} where there were {before}", plural(again, "run"));
        return Ok((
            ExitStatus::Findings,
            format!("{place}: differs from {against}: {runs}{note}"),
        ));
    }
    let printed = again.iter().filter(|part| part.kind == PartKind::Stdout);
    let bytes = plural(printed.map(|part| part.bytes.len()).sum::<usize>(), "byte");
    Ok((ExitStatus::Ok, format!("{place}: identical to {against}, {bytes}{note}")))
}

/// A note that the cassette was made by another program than this one of the same version.
fn other_program(cassette: &Cassette, claude: &Claude) -> Option<String> {
    let before = cassette.manifest.cli.sha256.as_ref().filter(|hash| **hash != claude.sha256)?;
    let now = &claude.sha256;
    Some(format!(
        "\n  note: recorded by another program of this version, sha256 {before}; this is {now}"
    ))
}

/// A part of a recording that is the same each time.
struct Part {
    kind: PartKind,
    /// The start of the sentence about a difference in it.
    name: String,
    bytes: Vec<u8>,
}

/// The kinds of parts that are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// The stdout of a run.
    Stdout,
    /// The lines written to stdin.
    Stdin,
    /// How much of stdout came before each line of stdin.
    Offsets,
}

/// The parts of a recording.
fn parts(
    stdout: Vec<u8>,
    stdin: Vec<u8>,
    timeline: &[Tick],
    further: Vec<FurtherRun>,
) -> Vec<Part> {
    let part = |kind, name: &str, bytes| Part { kind, name: name.to_owned(), bytes };
    let mut all = vec![
        part(PartKind::Stdout, "", stdout),
        part(PartKind::Stdin, "stdin.jsonl, ", stdin),
        part(PartKind::Offsets, "offsets of stdin.jsonl, ", offsets(timeline)),
    ];
    for (number, run) in (2..).zip(further) {
        all.push(part(PartKind::Stdout, &format!("run {number}, "), run.stdout));
    }
    all
}

/// The offset of each line of stdin, a line each.
fn offsets(timeline: &[Tick]) -> Vec<u8> {
    let lines = timeline.iter().filter_map(|tick| match tick.kind {
        TickKind::In { line, offset: Some(offset) } => {
            Some(format!("line {line} after {offset} bytes of stdout\n"))
        }
        _ => None,
    });
    lines.collect::<String>().into_bytes()
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

/// The paths of this machine, as the environment names them.
pub(crate) fn host_paths() -> HostPaths {
    HostPaths {
        path: std::env::var_os("PATH").unwrap_or_default(),
        temporary: std::env::temp_dir(),
        home: std::env::var_os("HOME").map(PathBuf::from),
    }
}

/// The folder for installed CLIs and built revisions, in the user's cache folder.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| Some(set("HOME")?.join(".cache")))
        .map(|dir| dir.join("clitape"))
        .context("there is no folder for installed CLIs and builds; set HOME or XDG_CACHE_HOME")
}
