//! Copies the stand-in into a folder under the name `claude`.

use std::path::{Path, PathBuf};

use clitape_recording::files;
use fs_err as fs;

/// The name of the program that the stand-in replaces.
const NAME: &str = "claude";

/// An error of the installation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The folder has a `claude` that is not the stand-in.
    #[error("{0} is there already and is not the stand-in; choose another folder, or remove it")]
    Taken(PathBuf),
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Copies `program` into `dir` as `claude` and returns the path. It is a copy and not a link, because whoever
/// overwrites that `claude` later would overwrite the program itself through a link.
///
/// # Errors
///
/// [`InstallError`] if the folder can't be made, or has another `claude`.
pub fn install(program: &Path, dir: &Path) -> Result<PathBuf, InstallError> {
    files::make_folder(dir).map_err(std::io::Error::from)?;
    let place = dir.join(NAME);
    if place.symlink_metadata().is_ok() {
        if fs::read(&place)? != fs::read(program)? {
            return Err(InstallError::Taken(place));
        }
        return Ok(place);
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
    }
}
