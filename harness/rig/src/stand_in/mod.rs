//! The program that a gateway starts in place of `claude`: it replays a cassette on real pipes.
//!
//! [`run`] reads the arguments as `claude` would and does one of three things: it answers a side call such as
//! `--version`, prints one run (`-p PROMPT`), or stays and reads the host's lines from stdin (`--input-format
//! stream-json`). In the third form it is in lockstep with its host: it prints only the bytes that the recorded CLI
//! printed before the line for which it waits, and it ends at a line that the recorded CLI did not get.
//!
//! `arguments`, `options`, `dialogue`, `lockstep` and `adapt` do no IO and read no clock; `play` and `process` have the
//! pipes, the signals and the clock. [`install`] copies the program into a folder under the name `claude`.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clitape_judge::observation::{MARK, SessionOrigin};
use clitape_recording::cassette::Cassette;
use clitape_recording::files;
use fs_err as fs;
use memchr::memmem;

use arguments::{Arguments, Asks, Form};
use dialogue::Dialogue;
use log::Log;
use options::CliOptions;
use play::Player;
use refusal::StandInStart;
use settings::Settings;

mod adapt;
mod agent_faults;
mod answers;
mod arguments;
mod choose;
mod dialogue;
mod lockstep;
mod log;
mod mcp;
mod options;
mod play;
mod process;
mod refusal;
mod running;
mod settings;
mod transcript;

pub use agent_faults::CliFault;
pub(crate) use agent_faults::{AgentFaults, cut_off};
pub(crate) use arguments::argument_differences;
pub(crate) use play::OWN_PROMPT;
pub use process::{StandInError, USAGE, WRONG_LINE};
pub(crate) use running::HALVES;
pub use settings::write_run_file;

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
    if settings::hold_stdout(&args) {
        return ExitCode::SUCCESS;
    }
    let beside = settings::read_run_file(program);
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
        Form::SideCall(call) => answers::side_call(call, &arguments, &settings, &mut log),
        Form::OneShot | Form::Live => Player::new(&settings, &arguments, &mut log).play(),
        Form::Interactive => {
            log::tell("the stand-in has no terminal; give -p PROMPT or --input-format stream-json");
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

/// Returns the session that `claude`, started with the arguments behind its name, continues.
pub(crate) fn resumed(args: &[String]) -> Option<String> {
    Arguments::parse(args, &CliOptions::of(None), false).resume
}

/// Returns the conversation with which `claude`, started with the arguments behind its name, goes on.
pub(crate) fn origin(args: &[String]) -> SessionOrigin {
    let arguments = Arguments::parse(args, &CliOptions::of(None), false);
    match arguments.resume {
        _ if arguments.has("--continue") => SessionOrigin::Folder,
        Some(id) => SessionOrigin::Resumed { id, of_other: None },
        None => SessionOrigin::New,
    }
}

/// Returns whether a text has more than one marker, because a gateway put earlier messages in front of a prompt.
pub(crate) fn has_earlier_messages(text: &str) -> bool {
    text.matches(MARK).count() > 1
}

/// Returns whether a recording of one prompt can't be played to a host that writes to stdin: for the recorded host, the
/// CLI held its end back until background tasks were done, which it does not do for a live one.
pub(crate) fn is_held_back(cassette: &Cassette) -> bool {
    let mut runs = runs(cassette);
    runs.any(|run| Dialogue::cut(&run).is_held_back())
}

/// Returns the number of a run of a recording that can't be resumed, because the CLI found no session.
pub(crate) fn lost_session(cassette: &Cassette) -> Option<usize> {
    let lost = runs(cassette).skip(1).position(|run| !Dialogue::cut(&run).has_init());
    lost.map(|index| index + 2)
}

/// Iterates over the runs of a recording, each as a cassette.
fn runs(cassette: &Cassette) -> impl Iterator<Item = Cassette> {
    (1..=cassette.further.len() + 1).map(|number| choose::from_run(cassette.clone(), number).0)
}

/// The name of the program that the stand-in replaces.
const PROGRAM_NAME: &str = "claude";

/// An error of the installation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The folder has a `claude` that is not the stand-in.
    #[error("{0} is there already and is not the stand-in; choose another folder, or remove it")]
    Taken(PathBuf),
    /// The folder has the stand-in of another version of clitape.
    #[error("{0} is the stand-in of another version of clitape; remove it, and install this one")]
    OtherVersion(PathBuf),
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A text that every version of the stand-in has, and no other program.
const OWN_TEXT: &[u8] = b"CLITAPE_CASSETTE";

/// Copies `program` into `dir` as `claude` and returns the path. It is a copy and not a link, because whoever
/// overwrites that `claude` later would overwrite the program itself through a link.
///
/// # Errors
///
/// [`InstallError`] if the folder can't be made, or has another `claude`.
pub fn install(program: &Path, dir: &Path) -> Result<PathBuf, InstallError> {
    files::make_folder(dir).map_err(std::io::Error::from)?;
    let place = dir.join(PROGRAM_NAME);
    if place.symlink_metadata().is_ok() {
        let there = fs::read(&place)?;
        return match there == fs::read(program)? {
            true => Ok(place),
            false if memmem::find(&there, OWN_TEXT).is_some() => {
                Err(InstallError::OtherVersion(place))
            }
            false => Err(InstallError::Taken(place)),
        };
    }
    fs::copy(program, &place)?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_installed_once_overwrites_nothing_and_is_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        fs::write(&program, "a").unwrap();
        let bin = dir.path().join("bin");
        let place = install(&program, &bin).unwrap();
        assert_eq!(place, bin.join("claude"));
        assert_eq!(install(&program, &bin).unwrap(), place);
        // Writes in place, as `cp` and an update of the CLI do.
        fs::write(&place, "b").unwrap();
        assert_eq!(fs::read(&program).unwrap(), b"a", "the program is whole");
        assert!(matches!(install(&program, &bin), Err(InstallError::Taken(_))));
        fs::write(&place, "an older one, which reads CLITAPE_CASSETTE").unwrap();
        assert!(matches!(install(&program, &bin), Err(InstallError::OtherVersion(_))));
        assert!(fs::read(&place).unwrap().ends_with(b"CLITAPE_CASSETTE"), "it is as it was");
    }
}
