//! `clitape editor`: a client of the Agent Client Protocol that prints what an agent sends.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clitape_process::ProcessError;
use clitape_rig::editor::{self, EditorError, EditorSettings, PermissionChoice};

use crate::exit::ExitStatus;
use crate::record::host_paths;
use crate::rig_limits::{SubjectOutput, SubjectUse};
use crate::signals::stop_in_time;
use crate::terminal;

/// Starts an agent of the Agent Client Protocol as an editor does, sends prompts and prints its updates
///
/// Prints each update as a line of a trace in the lane `acp`. Exits with 3 when the official types refuse one of
/// the agent's messages, or the agent fails.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The prompt; give it again for each further prompt
    #[arg(long, value_name = "TEXT", required = true)]
    prompt: Vec<String>,
    /// The answer when the agent asks: an option's kind (allow_once, reject_once), name or id, a label of a form, or
    /// cancel; give it again for each further question, the last one serves all others
    #[arg(long, value_name = "OPTION", default_value = "allow_once")]
    answer: Vec<String>,
    /// The folder of the session [default: the current one]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Seconds that the run may take
    #[arg(long, value_name = "S", default_value_t = 120, help_heading = "Limits",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    #[command(flatten)]
    output: SubjectOutput,
    #[command(flatten)]
    used: SubjectUse,
    /// The agent and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().context("can't tell the current folder")?,
    };
    let folder = std::path::absolute(&folder)
        .with_context(|| format!("can't find the folder {}", folder.display()))?;
    let choice = |word: &String| match word.as_str() {
        "cancel" => PermissionChoice::Cancel,
        word => PermissionChoice::Option(word.to_owned()),
    };
    let settings = EditorSettings {
        command: args.command.clone(),
        environment: std::env::vars_os().collect(),
        folder,
        prompts: args.prompt.clone(),
        choices: args.answer.iter().map(choice).collect(),
        within: Duration::from_secs(args.timeout),
        limits: args.used.limits(args.output.limits()),
    };
    let stop = stop_in_time()?;
    let mut refused = 0;
    let mut failed = None;
    let mut out = terminal::stdout();
    let ended = editor::run(&settings, &host_paths(), &stop, &mut |entry| {
        refused += u64::from(entry.field("refused").is_some());
        // A stream that can't be written to is reported at the end.
        failed = failed.take().or(out.json(&entry.to_line()).err());
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    if let Err(error) = ended {
        let lacks_threads = matches!(&error, EditorError::Start(ProcessError::NoMoreThreads(_)));
        if lacks_threads || matches!(error, EditorError::Stopped) {
            return Err(error.into());
        }
        terminal::note(format_args!("the run failed: {error}"));
        return Ok(ExitStatus::Findings);
    }
    if refused > 0 {
        terminal::note(format_args!("the official types refuse {refused} of the agent's messages"));
        return Ok(ExitStatus::Findings);
    }
    Ok(ExitStatus::Ok)
}
