//! `.clitape/`: what clitape keeps of a workspace for itself, from one run to the next. Version control ignores it.

use std::path::{Path, PathBuf};

use super::workspace::Workspace;
use crate::files::{self, FileError};
use crate::names::{CliVersion, ScenarioName};

/// The folder.
const FOLDER: &str = ".clitape";

/// A file that clitape keeps.
#[derive(Debug, Clone, Copy)]
pub enum OwnFile<'a> {
    /// The plans of a recording that failed: `.clitape/failures/NAME/VERSION.json`.
    Failures(&'a ScenarioName, &'a CliVersion),
    /// How far `clitape sweep` is: `.clitape/sweep.json`.
    Sweep,
}

impl OwnFile<'_> {
    /// Its place in the workspace.
    pub fn path(self, workspace: &Workspace) -> PathBuf {
        workspace.root().join(FOLDER).join(self.place())
    }

    /// Its text; none where it is not there.
    ///
    /// # Errors
    ///
    /// When it can't be read, or a folder on the way is a link.
    pub fn read(self, workspace: &Workspace) -> Result<Option<String>, FileError> {
        self.check_folders(workspace)?;
        match files::read_text(&self.path(workspace)) {
            Err(error) if error.is_not_found() => Ok(None),
            text => Ok(Some(text?)),
        }
    }

    /// Writes it whole, and the folders on the way.
    ///
    /// # Errors
    ///
    /// When it can't be written, or a folder on the way is a link.
    pub fn write(self, workspace: &Workspace, text: &str) -> Result<(), FileError> {
        self.check_folders(workspace)?;
        files::make_folder(&workspace.root().join(self.folder()))?;
        let ignored = workspace.root().join(FOLDER).join(".gitignore");
        if !files::is_there(&ignored) {
            files::replace(&ignored, "*\n")?;
        }
        files::replace(&self.path(workspace), text)
    }

    /// Removes it; another process may have done so already.
    ///
    /// # Errors
    ///
    /// When it can't be removed, or a folder on the way is a link.
    pub fn remove(self, workspace: &Workspace) -> Result<(), FileError> {
        self.check_folders(workspace)?;
        files::remove(&self.path(workspace))
    }

    /// Its place below the folder.
    fn place(self) -> PathBuf {
        match self {
            Self::Failures(name, version) => {
                Path::new("failures").join(name.as_str()).join(format!("{version}.json"))
            }
            Self::Sweep => PathBuf::from("sweep.json"),
        }
    }

    /// The folder that it is in, as seen from the workspace.
    fn folder(self) -> PathBuf {
        let mut place = Path::new(FOLDER).join(self.place());
        place.pop();
        place
    }

    fn check_folders(self, workspace: &Workspace) -> Result<(), FileError> {
        files::check_folders(workspace.root(), &self.folder())
    }
}
