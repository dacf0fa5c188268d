//! `clitape session`: decides whether a session on disk may be resumed, and prints why.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_gateway::session::{
    self, LineSummary, LocateError, NoTranscript, Orphan, Resumability, config_dir, locate_short,
    transcript,
};
use clitape_recording::files::{self, FileError};
use clitape_recording::text::plural;

use crate::exit::ExitStatus;
use crate::input::named;
use crate::terminal::{self, Terminal};

/// Decides whether a session on disk may be resumed, and prints why
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub(crate) struct Args {
    /// The session's transcript; - is standard input
    #[arg(value_name = "TRANSCRIPT", group = "what")]
    transcript: Option<PathBuf>,
    /// The session's id, with which its transcript is found, or a start of it that no other session has
    #[arg(long, value_name = "ID", group = "what")]
    id: Option<String>,
    /// The folder in which the session ran [default: this one]
    #[arg(long, value_name = "DIR", requires = "id")]
    cwd: Option<PathBuf>,
    /// The CLI's config folder [default: $CLAUDE_CONFIG_DIR, or .claude in $HOME]
    #[arg(long, value_name = "DIR", requires = "id")]
    config_dir: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let (path, verdict) = match find(args)? {
        Ok(path) => {
            let verdict = judge(&path)?;
            (path, verdict)
        }
        Err(missing) => (missing, Resumability::not_found()),
    };
    let mut out = terminal::stdout();
    if args.json {
        out.json(&serde_json::to_string(&verdict)?)?;
    } else {
        print(&mut out, &path, &verdict)?;
    }
    Ok(if verdict.resumable { ExitStatus::Ok } else { ExitStatus::Findings })
}

/// Returns the path of the transcript; as an error, the path at which it is missing.
fn find(args: &Args) -> anyhow::Result<Result<PathBuf, PathBuf>> {
    let Some(id) = &args.id else {
        return Ok(Ok(args.transcript.clone().unwrap_or_default()));
    };
    let config = match &args.config_dir {
        Some(config) => config.clone(),
        None => {
            let set = |name| std::env::var_os(name);
            config_dir(set("CLAUDE_CONFIG_DIR").as_deref(), set("HOME").as_deref())
                .context("can't find the CLI's config folder; name it with --config-dir DIR")?
        }
    };
    let cwd = match &args.cwd {
        Some(cwd) => cwd.clone(),
        None => std::env::current_dir().context("can't find the current folder")?,
    };
    match locate_short(&config, &cwd, id) {
        Ok(path) => Ok(Ok(path)),
        Err(LocateError::NotFound(path)) => Ok(Err(path)),
        Err(error) => Err(error.into()),
    }
}

fn judge(path: &Path) -> anyhow::Result<Resumability> {
    let limit = files::largest();
    let read = || {
        let mut reader =
            BufReader::new(File::open(named(path))?.take(limit.get().saturating_add(1)));
        let transcript = transcript::read(&mut reader)?;
        match reader.into_inner().limit() {
            0 => Err(FileError::TooLarge { path: path.to_owned(), limit }.into()),
            _ => io::Result::Ok(transcript),
        }
    };
    let transcript = read().with_context(|| {
        format!("can't read the transcript {}; name a file, or use --id ID", path.display())
    })?;
    let what = match transcript.mistaken_for() {
        None => return Ok(session::resumability(&transcript)),
        Some(NoTranscript::StreamJson) => "is what a CLI printed on stdout (stream-json)",
        Some(_) => "has no line that is a JSON object",
    };
    bail!(
        "{} {what}, and no transcript; a transcript is in ~/.claude/projects, and \
         `clitape session --id SESSION_ID` finds it in the folder in which the session ran",
        path.display()
    )
}

fn print(out: &mut Terminal, path: &Path, verdict: &Resumability) -> io::Result<()> {
    let Resumability { resumable, reason, orphans, lines, advice, .. } = verdict;
    let word = if *resumable { "resumable" } else { "not resumable" };
    out.line(format_args!("{word}: {}", reason.as_str()))?;
    out.line(path.display())?;
    out.line(reason.sentence())?;
    for Orphan { id, name, line, kind, .. } in orphans {
        let kind = kind.as_str();
        out.line(format_args!("  line {line}: {name} {id} ({kind})"))?;
    }
    out.line(advice)?;
    odd(lines).iter().try_for_each(|sentence| out.line(sentence))
}

/// Returns sentences about lines of the transcript that were not used.
fn odd(lines: &LineSummary) -> Vec<String> {
    let mut odd = Vec::new();
    if lines.unfinished_bytes > 0 {
        odd.push(format!(
            "The last line is still being written ({}): look again when the CLI has ended.",
            plural(lines.unfinished_bytes, "byte")
        ));
    }
    if lines.unusable > 0 {
        odd.push(format!("Lines that are not JSON and count for nothing: {}.", lines.unusable));
    }
    if lines.abandoned > 0 {
        odd.push(format!(
            "Lines of a branch that was left, which do not count: {}.",
            lines.abandoned
        ));
    }
    odd
}
