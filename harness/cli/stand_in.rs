//! `clitape stand-in`, or `clitape claude`: the program that a gateway starts in place of `claude`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::shell_quote;
use clitape_rig::stand_in;

use crate::exit::ExitStatus;
use crate::terminal;

/// The names of the command.
const NAMES: [&str; 2] = ["stand-in", "claude"];
/// The option that puts the program into a folder.
const INSTALL: &str = "--install";

/// The help text after the usage. It is written by hand, because clap does not parse these arguments.
const HELP: &str = "\
Arguments:
  --install DIR   put the program into DIR under the name claude, and print its path; stderr says how to use it
  CLAUDE_ARGS     what a gateway gives claude: -p PROMPT --output-format stream-json --verbose …

It prints the recorded bytes with the recorded pauses, and reads the lines of a host that writes JSON lines. The
recording is the first of these that is there: CLITAPE_CASSETTE, the next line of CLITAPE_QUEUE, a marker
[[clitape:NAME]] or [[clitape:NAME/VERSION]] in the prompt, the one that began the session of --resume, the scenario
whose prompt the prompt contains. Arguments that claude refuses are refused in its words.

Variables, of which those that are not set are read from claude.run.json beside the program:
  CLITAPE_ROOT        the folder of scenarios/ and cassettes/ [default: the nearest at or above the current one]
  CLITAPE_CASSETTE    NAME, NAME/VERSION or a cassette's folder
  CLITAPE_QUEUE       a file with one NAME[/VERSION] on each line; each turn takes one
  CLITAPE_VERSION     the version of the CLI to be [default: the newest recorded]
  CLITAPE_PLAY        recorded, canonical, instant, pace:MS, seed:N or plan:FILE, and `,halves`
                      behind it to cut each line in two [default: recorded]
  CLITAPE_END         end in another way: at:BYTES, code:N, signal:N, stay:MS, eof:MS, with commas between
  CLITAPE_WAIT_S      the seconds to wait for a line of the host [default: 30]
  CLITAPE_MAX_LINE    the bytes that a line of the host may have [default: 32MiB]
  CLITAPE_MAX_KEPT    the bytes of memory that the lines of the host may take [default: 256MiB]
  CLITAPE_TRANSCRIPT  off: write no transcript
  CLITAPE_LOG         a file that gets a line of JSON for each thing that happens

Exit codes of its own: 64 wrong usage or no cassette; 70 a wrong line, or no line in time; 1 refused
arguments. Else the recorded one.
`clitape help stand-in-page` has more.
";

/// Takes the place of `claude` for a gateway: plays recordings on real pipes
#[derive(clap::Args)]
#[command(
    visible_alias = NAMES[1],
    override_usage = "clitape stand-in --install DIR\n       clitape stand-in [CLAUDE_ARGS]…",
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n{after-help}",
    after_help = HELP
)]
pub(crate) struct Args {
    /// Put the program into this folder under the name `claude`, and print its path
    #[arg(long, value_name = "DIR")]
    install: Option<PathBuf>,
    /// What a gateway gives `claude`
    #[arg(value_name = "CLAUDE_ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Refuses a call that [`is_asked_for`] did not take, because another option comes before it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let rest = match &args.install {
        Some(_) => "--install DIR",
        None if args.arguments.is_empty() => "",
        None => "…",
    };
    bail!(
        "no option may come before stand-in, because what comes after it belongs to claude; call \
         `clitape stand-in {rest}`"
    )
}

/// Runs the stand-in if the program was started under the name `claude`, or as `clitape stand-in`. The arguments are
/// not read with clap, because they are those of `claude`, and because the stand-in must start fast. Only `clitape
/// stand-in --help` is left to clap.
pub(crate) fn is_asked_for(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let program = arguments.next()?;
    let is_claude = Path::new(&program).file_stem() == Some(OsStr::new("claude"));
    if !is_claude {
        let command = arguments.next()?;
        if !NAMES.iter().any(|name| command == *name) {
            return None;
        }
    }
    let arguments: Vec<OsString> = arguments.collect();
    match &arguments[..] {
        [help] if (help == "--help" || help == "-h") && !is_claude => None,
        [install, dir] if install == INSTALL && !is_claude => Some(put_into(Path::new(dir))),
        _ => {
            let program = std::env::current_exe().ok();
            let variable = |name: &str| std::env::var_os(name);
            Some(stand_in::run(arguments, &variable, program.as_deref()))
        }
    }
}

/// Puts the program into a folder under the name `claude`.
fn put_into(dir: &Path) -> ExitCode {
    let program = std::env::current_exe().map_err(stand_in::InstallError::from);
    match program.and_then(|program| stand_in::install(&program, dir)) {
        Ok(path) => {
            let printed = terminal::stdout().line(format_args!("{}", path.display()));
            say_how_to_use(dir);
            ExitCode::from(u8::from(printed.is_err()))
        }
        Err(error) => {
            terminal::error(format_args!("{error}"));
            ExitCode::from(stand_in::USAGE)
        }
    }
}

/// Says on stderr how callers of `claude` get the program in `dir`, and how they choose what it plays.
fn say_how_to_use(dir: &Path) {
    let shown = |path: &Path| {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        shell_quote(&path.to_string_lossy())
    };
    let here = std::env::current_dir().ok().and_then(|here| Workspace::above(&here));
    let (root, hint) = match &here {
        Some(workspace) => (shown(workspace.root()), ""),
        None => ("DIR".to_owned(), "   (the folder of scenarios/, which `clitape init` makes)"),
    };
    terminal::note(format_args!("first on PATH:       export PATH={}:\"$PATH\"", shown(dir)));
    terminal::note(format_args!("the project:         export CLITAPE_ROOT={root}{hint}"));
    terminal::note(
        "what it plays:       export CLITAPE_CASSETTE=NAME   (`clitape list` has the names)",
    );
    terminal::note(
        "or prompt by prompt: claude -p 'Hi [[clitape:NAME]]' --output-format stream-json --verbose",
    );
}
