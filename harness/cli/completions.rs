//! `clitape completions` and `clitape man`: prints the scripts of shells and the manual pages.
//!
//! The script of a shell calls this program for each completion, so that the names of the workspace complete too.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Command;
use clap_complete::env::{CompleteEnv, Shells};

use crate::exit::ExitStatus;
use crate::outputs::{make_folder, write_files};
use crate::terminal::verbatim;

mod candidates;

/// The variable in which the script names its shell.
const VARIABLE: &str = "CLITAPE_COMPLETE";
/// The name of the command.
const NAME: &str = "clitape";

/// The help text with the line that installs the completions, for each shell.
const HELP: &str = r#"Options, scenarios, versions, lanes, issues, subjects and goldens complete, those of the project
that the shell is in. Add the line of your shell, and open a new one:
  bash        ~/.bashrc                    source <(clitape completions bash)
  zsh         ~/.zshrc, after compinit     source <(clitape completions zsh)
  fish        ~/.config/fish/config.fish   clitape completions fish | source
  elvish      ~/.config/elvish/rc.elv      eval (clitape completions elvish | slurp)
  powershell  $PROFILE                     clitape completions powershell | Out-String | Invoke-Expression"#;

/// Prints completions for a shell
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Completions {
    /// The shell that the completions are for
    shell: clap_complete::Shell,
}

/// Prints the manual page
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Write a page for the command and each subcommand into this folder, which is made
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Answers a shell that asks for completions. Returns false if the command was called for something else.
pub(crate) fn answer(command: fn() -> Command) -> anyhow::Result<bool> {
    let here = std::env::current_dir().ok();
    let shell = CompleteEnv::with_factory(|| candidates::add(command())).var(VARIABLE);
    Ok(shell.try_complete(std::env::args_os(), here.as_deref())?)
}

pub(crate) fn completions(args: &Completions) -> anyhow::Result<ExitStatus> {
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&shell).with_context(|| format!("{shell} is not supported"))?;
    let mut text = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut text)?;
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
    make_folder(dir)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, dir, &mut pages)?;
    write_files(pages)?;
    Ok(ExitStatus::Ok)
}

/// Adds the page of a command and those of its subcommands, each with its place.
fn add_pages(
    command: &Command,
    dir: &Path,
    pages: &mut Vec<(PathBuf, Vec<u8>)>,
) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below, dir, pages)?;
    }
    let (page, mut text) = (clap_mangen::Man::new(command.clone()), Vec::new());
    page.render(&mut text)?;
    pages.push((dir.join(page.get_filename()), text));
    Ok(())
}
