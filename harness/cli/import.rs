//! `clitape import`: makes a cassette, and a scenario to hold it, from a plain capture or from the log of a gateway.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clitape_recording::cassette::{
    CaptureFacts, CapturedWrite, ImportError, LoggedRecords, Origin, Take, from_log, import,
    parse_stdin_capture, select_lines,
};
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Workspace, template};
use clitape_recording::text::{plural, shell_quote};
use clitape_runner::conform::{CheckedFormat, conform, is_transcript};
use clitape_runner::suite::select::NamePattern;

use crate::confirm::remember;
use crate::exit::ExitStatus;
use crate::input::{CaptureRecords, cut_records, on_lines, read_capture, read_records};
use crate::record::loss;
use crate::scan::{Guarded, Secrets};
use crate::schema::{IS_LOG, schema_of};
use crate::{shrink, terminal};

/// Makes a cassette from a capture: `claude … --output-format stream-json > FILE.jsonl`
///
/// A capture that is not one whole run is taken with a note: without `system/init` or a version, cut off, with lines of a
/// recorder before it, or with several sessions.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("source").required(true)))]
pub(crate) struct Args {
    /// The capture
    #[arg(value_name = "FILE.jsonl", group = "source")]
    file: Option<PathBuf>,
    /// Take the stream-json out of the log of a gateway: after times, levels and escapes of a terminal, and in texts of
    /// JSON; - is standard input
    #[arg(long, value_name = "FILE", group = "source", conflicts_with = "stdin")]
    from_log: Option<PathBuf>,
    /// The scenario of the cassette; a skeleton is written if there is none
    #[arg(long, value_name = "NAME")]
    scenario: ScenarioName,
    /// What was written to the CLI's stdin: lines of JSON with `stdout_offset`, the bytes of stdout
    /// that had been read by then, and `bytes`
    #[arg(long, value_name = "STDIN.jsonl")]
    stdin: Option<PathBuf>,
    /// Take only this session of several: its id, or the start of it. Lines that name no session are kept
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Version of the CLI [default: the one that the capture names, or else the recorded one that fits it best]
    #[arg(long, value_name = "VERSION")]
    cli_version: Option<CliVersion>,
    /// Mark the cassette as synthetic: no CLI printed the capture. A subject gets it only where the scenario is named
    #[arg(long)]
    synthetic: bool,
    /// Replace a cassette of this scenario and version that says something else
    #[arg(long)]
    force: bool,
    /// If a plan of the scenario fails, also write the smallest part that still fails as the scenario NEW, as `clitape
    /// shrink` does
    #[arg(long, value_name = "NEW")]
    shrink: Option<ScenarioName>,
    #[command(flatten)]
    secrets: Secrets,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let name = &args.scenario;
    args.secrets.check()?;
    if let Some(new) = args.shrink.as_ref().filter(|new| files::is_there(&workspace.scenario(new)))
    {
        bail!("the scenario {new} of --shrink is there already; choose another name");
    }
    let source = source(args)?;
    let shown = source.file.display();
    let version = match (&args.cli_version, &source.facts.version) {
        (Some(version), _) => version.clone(),
        (None, Some(named)) => {
            named.parse().map_err(ImportError::BadVersion).with_context(|| shown.to_string())?
        }
        (None, None) => guessed(&source)?,
    };
    let mut take = match import(name, &source.stdout, &source.written, Some(&version)) {
        Err(ImportError::NoRecord) if args.file.is_some() && from_log(&source.stdout).used > 0 => {
            bail!("{shown}: {IS_LOG}")
        }
        take => take.with_context(|| shown.to_string())?,
    };
    if args.synthetic {
        take.manifest.origin = Origin::Synthetic;
    }
    if let Some(what) = loss(workspace, &take).filter(|_| !args.force) {
        bail!("{what}; import under another `--scenario NAME`, or add `--force` to replace it");
    }
    let kept = match args.secrets.guard(&mut take)? {
        Guarded::Kept(said) => said,
        Guarded::Stopped(why) => {
            terminal::stdout().line(format_args!("{shown}: {why}"))?;
            return Ok(ExitStatus::Findings);
        }
    };
    for note in notes(&source.facts) {
        terminal::note(format_args!("note: {shown}: {note}"));
    }
    write(workspace, &take, &kept, args.shrink.is_none())?;
    if let Some(new) = args.shrink.clone() {
        let scenario: NamePattern = format!("{name}/{}", take.manifest.cli.version).parse()?;
        // A capture of which no plan fails is imported all the same.
        shrink::own(workspace, &scenario, &new, None)?;
    }
    Ok(ExitStatus::Ok)
}

/// The bytes that are imported.
struct Source<'a> {
    file: &'a Path,
    stdout: Vec<u8>,
    written: Vec<CapturedWrite>,
    facts: CaptureFacts,
}

/// Reads the capture or the log, without the lines that are not of the CLI or of another session.
fn source(args: &Args) -> anyhow::Result<Source<'_>> {
    let (file, mut stdout, mut written) = match (&args.file, &args.from_log) {
        (_, Some(file)) => {
            let LoggedRecords { stdout, written, lines, used, cut } =
                from_log(&read_capture(file)?);
            let shown = file.display();
            let lines = plural(lines, "line");
            match (used, &cut[..]) {
                (0, []) => bail!(
                    "{shown}: {lines}, and no stream-json record; let the gateway log what the CLI prints, \
                     which many do at the level of debug or trace"
                ),
                (0, cut) => bail!("{shown}: {lines}, and no whole record; {}", cut_records(cut)),
                _ => terminal::note(format_args!(
                    "note: {shown}: {used} of {lines} have records; the others are left out"
                )),
            }
            if !written.is_empty() {
                let records = plural(written.len(), "record");
                terminal::note(format_args!(
                    "note: {shown}: {records} of the host, kept as its stdin"
                ));
            }
            if !cut.is_empty() {
                terminal::note(format_args!("note: {shown}: {}", cut_records(&cut)));
            }
            (file.as_path(), stdout, written)
        }
        (file, None) => {
            let file = file.as_deref().unwrap_or(Path::new(""));
            let CaptureRecords { stdout, written } = read_records(file)?;
            let written = match &args.stdin {
                None => written,
                Some(stdin) => parse_stdin_capture(&read_capture(stdin)?)
                    .with_context(|| stdin.display().to_string())?,
            };
            (file, stdout, written)
        }
    };
    let shown = file.display();
    ensure!(
        !is_transcript(&stdout),
        "{shown}: it is the transcript of a session, and no stream-json; import what `claude -p \
         --output-format stream-json --verbose` prints, or ask `clitape session {shown}` whether it may be resumed"
    );
    let mut facts = CaptureFacts::of(&stdout);
    let foreign = facts.foreign_lines;
    if foreign > 0 || args.session.is_some() {
        (stdout, written) = select_lines(&stdout, &written, |number, session| {
            let is_chosen = match (&args.session, session) {
                (Some(start), Some(session)) => session.starts_with(start.as_str()),
                _ => true,
            };
            number > foreign && is_chosen
        });
        // Each session of a file is of the CLI that one of them names.
        let (all, version) = (facts.sessions, facts.version);
        facts = CaptureFacts { foreign_lines: foreign, ..CaptureFacts::of(&stdout) };
        facts.version = facts.version.or(version);
        if let (Some(start), []) = (&args.session, &facts.sessions[..]) {
            let ids: Vec<&str> = all.iter().map(|session| &*session.id).collect();
            bail!("{shown}: no session begins with {start}; it has {}", ids.join(", "));
        }
    }
    Ok(Source { file, stdout, written, facts })
}

/// Returns the recorded version that fits best to a capture that names none.
fn guessed(source: &Source<'_>) -> anyhow::Result<CliVersion> {
    let shown = source.file.display();
    let found = conform(&schema_of(None)?, &source.stdout, None);
    ensure!(
        found.records == 0 || found.format != CheckedFormat::Foreign,
        "{shown}: none of its records is of a kind that claude prints; import what \
         `claude -p --output-format stream-json --verbose` prints, or add `--cli-version VERSION` to take it all the same"
    );
    // A line that only a lenient reader takes may name the version.
    let version = found.held_to.or_else(|| found.printed_by.first().cloned());
    let version = version.context("the schema of clitape's recordings has versions")?;
    if found.records > 0 {
        terminal::note(format_args!(
            "note: {shown}: it does not say which CLI printed it, and is taken for {version}, the recorded version that \
             fits best; if you know better, add `--cli-version VERSION`"
        ));
    }
    Ok(version)
}

/// The most sessions that a note lists.
const SHOWN: usize = 5;

/// Returns what a capture lacks that one whole run has, and what to do about it.
fn notes(facts: &CaptureFacts) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.foreign_lines > 0 {
        let lines = plural(facts.foreign_lines, "line");
        notes.push(format!("{lines} before the first record, which no CLI prints, left out"));
    }
    if !facts.has_init {
        notes.push(
            "it has no `system/init`, so that the beginning of the run is missing".to_owned(),
        );
    }
    if !facts.broken_lines.is_empty() {
        notes.push(format!(
            "a record that is cut, broken by another line, or on a line with a second one, on {}: a reader loses it, and \
             `--from-log FILE` takes what is whole",
            on_lines(&facts.broken_lines)
        ));
    }
    if !facts.logged_lines.is_empty() {
        notes.push(format!(
            "a record after something else, as in a log, on {}; `--from-log FILE` takes it as well",
            on_lines(&facts.logged_lines)
        ));
    }
    if let Some(line) = facts.cut_line {
        notes.push(format!(
            "line {line} ends within a record; it is kept, as of a CLI that was killed"
        ));
    }
    if let Some(line) = facts.open_turn {
        notes.push(format!(
            "no `result` follows the message on line {line}: the capture ends within a turn, and is replayed so"
        ));
    }
    if facts.sessions.len() > 1 {
        let shown = facts.sessions.iter().take(SHOWN);
        let mut sessions: Vec<String> =
            shown.map(|session| format!("{} from line {}", session.id, session.line)).collect();
        if facts.sessions.len() > SHOWN {
            sessions.push("…".to_owned());
        }
        notes.push(format!(
            "it has {} ({}), replayed as one run; to take one alone, add `--session ID`",
            plural(facts.sessions.len(), "session"),
            sessions.join(", ")
        ));
    }
    notes
}

/// Writes the cassette, and a scenario if there is none. `kept` describes the secrets in it.
fn write(workspace: &Workspace, take: &Take, kept: &str, with_next: bool) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    let name = &take.manifest.scenario;
    let dir = if files::is_there(&workspace.scenario(name)) {
        take.write(workspace)?
    } else {
        let scenario = template::skeleton(workspace, name, &take.manifest.cli.version)?;
        let shown = workspace.shown(scenario.place());
        let dir = take.write_with(workspace, scenario)?;
        remember(workspace, name);
        out.line(format_args!("wrote {shown}: fill in title, about and tracks"))?;
        dir
    };
    let replaced: u64 = take.manifest.canonical.values().sum();
    out.line(format_args!(
        "wrote {}: {}, {}{kept}",
        workspace.shown(&dir),
        plural(take.stdout.len(), "byte"),
        plural(replaced, "replacement")
    ))?;
    if with_next {
        out.lines(format_args!(
            "then:\n  clitape replay {}\n  clitape test {} --update\n  clitape review",
            shell_quote(&workspace.shown(&dir)),
            shell_quote(name)
        ))?;
    }
    Ok(())
}
