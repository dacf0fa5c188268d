//! The paths of the machine on which clitape starts programs. The caller reads them from the environment, because this
//! crate reads no environment variables.

use std::env::split_paths;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The folders of the machine that a recording depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPaths {
    /// The folders in which programs are found, in the form of `PATH`.
    pub path: OsString,
    /// The folder for temporary files.
    pub temporary: PathBuf,
    /// The user's own folder, if it is known.
    pub home: Option<PathBuf>,
}

impl HostPaths {
    /// Returns the program of this name on `PATH`.
    pub fn which(&self, name: &str) -> Option<PathBuf> {
        which(&self.path, name)
    }
}

/// Returns the first program of this name in the folders of `path`. A folder that is not absolute is skipped, because
/// the program in it would depend on the folder in which clitape runs.
pub fn which(path: &OsStr, name: &str) -> Option<PathBuf> {
    let mut programs = split_paths(path).map(|folder| folder.join(name));
    programs.find(|program| program.is_absolute() && program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl HostPaths {
        /// The paths of the process that runs the tests.
        pub(crate) fn of_tests() -> Self {
            Self {
                path: std::env::var_os("PATH").unwrap(),
                temporary: std::env::temp_dir(),
                home: std::env::var_os("HOME").map(PathBuf::from),
            }
        }
    }

    #[test]
    fn a_program_is_the_first_file_of_its_name_in_an_absolute_folder() {
        let [none, folder, file, last] = [(); 4].map(|()| tempfile::tempdir().unwrap());
        fs_err::create_dir(folder.path().join("tool")).unwrap();
        for dir in [&file, &last] {
            fs_err::write(dir.path().join("tool"), "").unwrap();
        }
        let relative = PathBuf::from("src");
        assert!(relative.join("host.rs").is_file(), "tests run in the folder of the crate");
        let folders = [none.path(), folder.path(), &relative, file.path(), last.path()];
        let path = std::env::join_paths(folders).unwrap();
        assert_eq!(which(&path, "tool"), Some(file.path().join("tool")));
        for name in ["host.rs", "other"] {
            assert_eq!(which(&path, name), None, "{name}");
        }
        assert_eq!(which(OsStr::new(""), "tool"), None);
    }
}
