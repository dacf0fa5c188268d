//! Puts the stand-in into a folder under the name `claude`.

use std::path::{Path, PathBuf};

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

/// Links `program` into `dir` as `claude`, and copies it where the file system can't link. Returns the path.
///
/// # Errors
///
/// [`InstallError`] when the folder can't be made, or has another `claude`.
pub fn install(program: &Path, dir: &Path) -> Result<PathBuf, InstallError> {
    fs::create_dir_all(dir)?;
    let place = dir.join(NAME);
    if place.symlink_metadata().is_ok() {
        if fs::read(&place)? != fs::read(program)? {
            return Err(InstallError::Taken(place));
        }
        return Ok(place);
    }
    if fs::hard_link(program, &place).is_err() {
        fs::copy(program, &place)?;
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_installed_once_and_overwrites_nothing() {
        let dir = std::env::temp_dir().join(format!("clitape-install-{}", std::process::id()));
        let program = dir.join("program");
        fs::create_dir_all(&dir).unwrap();
        fs::write(&program, "a").unwrap();
        let bin = dir.join("bin");
        let place = install(&program, &bin).unwrap();
        assert_eq!(place, bin.join("claude"));
        assert_eq!(install(&program, &bin).unwrap(), place);
        fs::remove_file(&place).unwrap();
        fs::write(&place, "b").unwrap();
        assert!(matches!(install(&program, &bin), Err(InstallError::Taken(_))));
        fs::remove_dir_all(&dir).unwrap();
    }
}
