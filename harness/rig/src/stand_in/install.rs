//! Puts the stand-in into a folder under the name `claude`.

use std::path::{Path, PathBuf};

use clitape_recording::files;
use fs_err as fs;

/// The name of the program that it stands in for.
const NAME: &str = "claude";

/// Why the stand-in could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// Something else is there.
    #[error("{0} is there already and is not the stand-in; choose another folder, or remove it")]
    Taken(PathBuf),
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Copies `program` into `dir` as `claude`. Returns the path. A link would be the same file, so that another `claude` that
/// is written there later would replace the program itself.
///
/// # Errors
///
/// [`InstallError`] when the folder can't be made, or has another `claude`.
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
        // As `cp` and an update of the CLI write it.
        fs::write(&place, "b").unwrap();
        assert_eq!(fs::read(&program).unwrap(), b"a", "the program is whole");
        assert!(matches!(install(&program, &bin), Err(InstallError::Taken(_))));
    }
}
