//! `clitape import`: makes a cassette, and a scenario to hold it, from a plain capture.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clitape_recording::cassette::{import, parse_stdin_capture};
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Workspace, template};
use clitape_recording::text::{plural, shell_quote};
use clitape_recording::{files, limits};

use crate::confirm::remember;
use crate::exit::ExitStatus;
use crate::input::named;
use crate::record::loss;
use crate::scan::{Guarded, Secrets};
use crate::terminal;

/// Makes a cassette from a capture: `claude … --output-format stream-json > FILE.jsonl`
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The capture
    #[arg(value_name = "FILE.jsonl")]
    file: PathBuf,
    /// The scenario of the cassette; a skeleton is written if there is none
    #[arg(long, value_name = "NAME")]
    scenario: ScenarioName,
    /// What was written to the CLI's stdin: lines of JSON with `stdout_offset`, the bytes of stdout
    /// that had been read by then, and `bytes`
    #[arg(long, value_name = "STDIN.jsonl")]
    stdin: Option<PathBuf>,
    /// Version of the CLI, for captures without it (before 2.0.70)
    #[arg(long, value_name = "VERSION")]
    cli_version: Option<CliVersion>,
    /// Replace a cassette of this scenario and version that says something else
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    secrets: Secrets,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let name = &args.scenario;
    let stdout = files::read_named(named(&args.file))?;
    limits::check_input(&args.file, &stdout)?;
    args.secrets.check()?;
    let written = match &args.stdin {
        None => Vec::new(),
        Some(file) => {
            let text = files::read_named(named(file))?;
            limits::check_input(file, &text)?;
            parse_stdin_capture(&text).with_context(|| file.display().to_string())?
        }
    };
    let mut take = import(name, &stdout, &written, args.cli_version.as_ref())
        .with_context(|| args.file.display().to_string())?;
    if let Some(what) = loss(workspace, &take).filter(|_| !args.force) {
        bail!("{what}; import under another `--scenario NAME`, or add `--force` to replace it");
    }
    let mut out = terminal::stdout();
    let kept = match args.secrets.guard(&mut take)? {
        Guarded::Kept(said) => said,
        Guarded::Stopped(why) => {
            out.line(format_args!("{}: {why}", args.file.display()))?;
            return Ok(ExitStatus::Findings);
        }
    };
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
    out.lines(format_args!(
        "then:\n  clitape replay {}\n  clitape test {} --update\n  clitape review",
        shell_quote(&workspace.shown(&dir)),
        shell_quote(name)
    ))?;
    Ok(ExitStatus::Ok)
}
