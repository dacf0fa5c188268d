//! `clitape completions` and `clitape man`: what shells and `man` want to know of the command.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;

use crate::exit::ExitStatus;
use crate::terminal::verbatim;

/// Prints completions for a shell
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell that the completions are for
    shell: Shell,
}

/// Prints the manual page
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Write a page for the command and each subcommand into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn completions(args: &Completions, mut command: Command) -> anyhow::Result<ExitStatus> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "clitape", &mut text);
    verbatim(&text)?;
    Ok(ExitStatus::Ok)
}

pub(crate) fn man(args: &Man, command: Command) -> anyhow::Result<ExitStatus> {
    let Some(dir) = &args.out else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        verbatim(&text)?;
        return Ok(ExitStatus::Ok);
    };
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("can't write manual pages into {}", dir.display()))?;
    Ok(ExitStatus::Ok)
}
