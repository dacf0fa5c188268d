//! The program that a gateway starts in place of `claude`: it replays a cassette on real pipes.
//!
//! [`run`] reads the arguments as `claude` would and does one of three things: it answers a side call such as
//! `--version`, prints one run (`-p PROMPT`), or stays and reads the host's lines from stdin (`--input-format
//! stream-json`). In the third form it is in lockstep with its host: it prints only the bytes that the recorded CLI
//! printed before the line for which it waits, and it ends at a line that the recorded CLI did not get.
//!
//! `arguments`, `options`, `dialogue`, `host_line`, `lockstep`, `bind` and `adapt` do no IO and read no clock; `play`
//! has the pipes, the signals and the clock.

mod adapt;
mod arguments;
mod bind;
mod choose;
mod dialogue;
mod differences;
mod ending;
mod error;
mod host_line;
mod install;
mod listen;
mod lockstep;
mod log;
mod mcp;
mod options;
mod other_end;
mod pieces;
mod pipes;
mod plan;
mod play;
mod printed;
mod refusal;
mod replies;
mod run_file;
mod running;
mod sessions;
mod settings;
mod side_calls;
mod transcript;
mod transcript_file;
mod turn;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;

pub use error::{StandInError, USAGE, WRONG_LINE};
pub use install::{InstallError, install};
pub use run_file::write_run_file;

use clitape_recording::cassette::Cassette;

use arguments::{Arguments, Asks, Form};
use dialogue::Dialogue;
pub(crate) use differences::argument_differences;
use log::Log;
use options::CliOptions;
use play::Player;
use refusal::StandInStart;
use settings::Settings;

/// Runs the stand-in with the arguments behind the program's name, and returns the exit code. Settings that the
/// environment does not have are read from the file beside `program`, the running one.
///
/// If a signal ended the recorded CLI, the process ends in here by the same signal.
pub fn run(
    args: Vec<OsString>,
    env: &dyn Fn(&str) -> Option<OsString>,
    program: Option<&Path>,
) -> ExitCode {
    let args: Vec<String> =
        args.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if other_end::hold(&args) {
        return ExitCode::SUCCESS;
    }
    let beside = run_file::read(program);
    let variable = |name: &str| {
        env(name).filter(|value| !value.is_empty()).or_else(|| beside.get(name).cloned())
    };
    let settings = Settings::read(&variable);
    let mut log = Log::open(settings.log.as_deref());
    let version = choose::version(&settings);
    let options = CliOptions::of(version.as_deref());
    let arguments = Arguments::parse(&args, &options, io::stdout().is_terminal());
    log.start(&args, arguments.form.name(), settings.version.as_deref());
    for note in &arguments.notes {
        log.note(note);
    }
    for option in arguments.options.iter().filter(|option| option.flags.is_none()) {
        log.note(&format!("the stand-in does not know the option {}", option.name));
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let has_session = |session: &str| settings.has_session(&folder, session);
    let start = StandInStart { arguments: &arguments, folder: &folder, has_session: &has_session };
    if let Some(refusal) = refusal::refusal(&start, &options) {
        refusal.report(&mut log);
        log.exit(refusal::REFUSED);
        return ExitCode::from(refusal::REFUSED);
    }
    let code = match &arguments.form {
        Form::SideCall(call) => side_calls::answer(call, &arguments, &settings, &mut log),
        Form::OneShot | Form::Live => Player::new(&settings, &arguments, &mut log).play(),
        Form::Interactive => {
            pipes::tell(
                "the stand-in has no terminal; give -p PROMPT or --input-format stream-json",
            );
            USAGE
        }
    };
    log.exit(code);
    ExitCode::from(code)
}

/// Returns the name in the last marker of a text, `NAME` or `NAME/VERSION`.
pub(crate) fn marked(text: &str) -> Option<&str> {
    choose::marker(text)
}

/// Returns whether `claude`, started with the arguments behind its name, asks neither host nor tool for permissions in
/// a recording.
pub(crate) fn asks_nobody(args: &[String], cassette: &Cassette) -> bool {
    let arguments = Arguments::parse(args, &CliOptions::of(None), false);
    arguments.asks_in(Dialogue::cut(cassette).asks_person()) == Asks::Nobody
}

/// Returns whether a recording of one prompt can't be played to a host that writes to stdin: for the recorded host, the
/// CLI held its end back until background tasks were done, which it does not do for a live one.
pub(crate) fn is_held_back(cassette: &Cassette) -> bool {
    Dialogue::cut(cassette).is_held_back()
}
