//! `clitape completions` and `clitape man`: what shells and `man` want to know of the command.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;

use crate::exit::ExitStatus;
use crate::terminal::verbatim;

/// How completions are installed, as `--help` shows it.
const HELP: &str = r#"Install them, and open a new shell:
  bash        clitape completions bash > ~/.local/share/bash-completion/completions/clitape
  zsh         clitape completions zsh > "${fpath[1]}/_clitape"
  fish        clitape completions fish > ~/.config/fish/completions/clitape.fish
  elvish      clitape completions elvish >> ~/.config/elvish/rc.elv
  powershell  clitape completions powershell >> $PROFILE"#;

/// Prints completions for a shell
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Completions {
    /// The shell that the completions are for
    shell: Shell,
}

/// Prints the manual page
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Write a page for the command and each subcommand into this folder, which is made
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
    std::fs::create_dir_all(dir)
        .with_context(|| format!("can't make the folder {}; choose another", dir.display()))?;
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("can't write manual pages into {}", dir.display()))?;
    Ok(ExitStatus::Ok)
}
