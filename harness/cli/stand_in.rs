//! `clitape stand-in`: the program that a gateway starts in place of `claude`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clitape_rig::stand_in;

use crate::terminal;

/// The option that puts the program into a folder.
const INSTALL: &str = "--install";

/// Runs the stand-in if the program was started under the name `claude`, or as `clitape stand-in`. It does not
/// read its arguments with clap, because it gets those of `claude`, and has to begin in an instant.
pub(crate) fn is_asked_for(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let program = arguments.next()?;
    let is_claude = Path::new(&program).file_stem() == Some(OsStr::new("claude"));
    if !is_claude && arguments.next()? != "stand-in" {
        return None;
    }
    let arguments: Vec<OsString> = arguments.collect();
    match &arguments[..] {
        [install, dir] if install == INSTALL && !is_claude => Some(put_into(Path::new(dir))),
        _ => Some(stand_in::run(arguments, &|name| std::env::var_os(name))),
    }
}

/// Puts the program into a folder under the name `claude`.
fn put_into(dir: &Path) -> ExitCode {
    let program = std::env::current_exe().map_err(stand_in::InstallError::from);
    match program.and_then(|program| stand_in::install(&program, dir)) {
        Ok(path) => {
            let printed = terminal::stdout().line(format_args!("{}", path.display()));
            ExitCode::from(u8::from(printed.is_err()))
        }
        Err(error) => {
            terminal::error(format_args!("{error}"));
            ExitCode::from(stand_in::USAGE)
        }
    }
}
