//! The way to a file: the links on it that are followed, and the errors of reading and writing.
//!
//! A person names a path, and a repository that the person works in may have put a link there: `reports` may lead to
//! the home folder. A link in a folder of a repository or a workspace is therefore not followed. Elsewhere it belongs
//! to the person, or to the system, such as `/tmp` of macOS.

use std::io;
use std::path::{Component, Path, PathBuf};

use clitape_gateway::ByteSize;

/// The folder of the scenarios, which identifies a workspace.
pub const SCENARIOS: &str = "scenarios";
/// The settings of a workspace.
pub const CONFIG: &str = "clitape.toml";
/// The entries that identify the root of a repository or a workspace.
const MARKS: [&str; 3] = [".git", CONFIG, SCENARIOS];

/// Returns the root of the repository or workspace that contains `folder`, a path without links; `None` outside of
/// both.
pub(super) fn brought_by(folder: &Path) -> Option<&Path> {
    let has_mark =
        |above: &&Path| MARKS.iter().any(|mark| above.join(mark).symlink_metadata().is_ok());
    folder.ancestors().find(has_mark)
}

/// Returns the path of a folder without links on the way; the folder may be missing.
///
/// # Errors
///
/// [`FileError::LinkOnTheWay`] for a link in a repository or a workspace, and [`FileError::Write`] for a dangling one.
pub(super) fn real_folder(path: &Path) -> Result<PathBuf, FileError> {
    let whole = |path: &Path| {
        path.canonicalize().map_err(|error| FileError::Write { path: path.to_owned(), error })
    };
    let mut real = if path.is_absolute() { PathBuf::from("/") } else { whole(Path::new("."))? };
    let mut named = PathBuf::new();
    for part in path.components() {
        named.push(part);
        match part {
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                let next = real.join(name);
                if !next.is_symlink() {
                    real = next;
                    continue;
                }
                if let Some(root) = brought_by(&real) {
                    return Err(FileError::LinkOnTheWay { link: named, root: root.to_owned() });
                }
                real = whole(&next)?;
            }
        }
    }
    Ok(real)
}

/// Returns the path of a file without links in its folders.
///
/// # Errors
///
/// As [`real_folder`], and [`FileError::Taken`] for a path without the name of a file.
pub(super) fn place(path: &Path) -> Result<PathBuf, FileError> {
    let name = path.file_name().ok_or_else(|| FileError::Taken(path.to_owned()))?;
    Ok(real_folder(path.parent().unwrap_or(Path::new("")))?.join(name))
}

/// The errors of reading and writing a file of a workspace.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system refused to read the file.
    #[error("can't read {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// The file system refused to write the file.
    #[error("can't write {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// The file is a symbolic link.
    #[error("{0} is a link, and links in a workspace are not followed; put the file itself there")]
    Link(PathBuf),
    /// The file is a folder, a FIFO, a device or a socket.
    #[error("{0} is no regular file; put one there, or remove it")]
    NotRegular(PathBuf),
    /// A link or a file has the place of a folder.
    #[error("{0} is no folder of its own (a link is not followed); put a folder there")]
    NotFolder(PathBuf),
    /// A folder on the way is a link that a repository may have brought.
    #[error(
        "{link} is a link in the repository or workspace {root}, and a link there is not followed; name the folder that \
         it leads to, or put a folder there"
    )]
    LinkOnTheWay {
        /// The link.
        link: PathBuf,
        /// The root of the repository or workspace.
        root: PathBuf,
    },
    /// The folder for a new file is missing.
    #[error(
        "can't write {path}: there is no folder {folder}; make it, or choose a path in a folder that is there"
    )]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// Another kind of entry has the place of the file.
    #[error("{0} is there and is no file; choose another path")]
    Taken(PathBuf),
    /// The file is the program's own output.
    #[error("{0} is where this command prints; write `-` for standard output, or choose a file")]
    OwnOutput(PathBuf),
    /// Another process writes to the folder.
    #[error("another process has been writing in {0} for 30 s; wait for it to end, then try again")]
    Busy(PathBuf),
    /// The file is larger than the limit.
    #[error(
        "{path} has more than {limit}, the most that is read; raise the limit with `--max-file`"
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: ByteSize,
    },
    /// The file is not UTF-8.
    #[error("{path} is no UTF-8 text: {error}")]
    NotText {
        /// The file.
        path: PathBuf,
        /// The place at which the text ends.
        error: std::str::Utf8Error,
    },
}

impl FileError {
    /// Returns whether the entry itself is of a wrong kind, rather than the file system or its user at fault.
    pub fn is_wrong_kind(&self) -> bool {
        matches!(
            self,
            Self::Link(_) | Self::NotRegular(_) | Self::NotFolder(_) | Self::NotText { .. }
        )
    }

    /// Returns whether the file is missing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Read { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        let kind = match &error {
            FileError::Read { error, .. } | FileError::Write { error, .. } => error.kind(),
            FileError::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            FileError::NotText { .. } => io::ErrorKind::InvalidData,
            FileError::NoFolder { .. } => io::ErrorKind::NotFound,
            FileError::Busy(_) => io::ErrorKind::WouldBlock,
            FileError::Link(_)
            | FileError::NotRegular(_)
            | FileError::NotFolder(_)
            | FileError::LinkOnTheWay { .. }
            | FileError::Taken(_)
            | FileError::OwnOutput(_) => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_links_outside_of_repositories_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["target", "cloned/.git", "cloned/in", "unpacked/scenarios", "plain/in"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::create_dir(base.join("settings")).unwrap();
        fs::write(base.join("settings/clitape.toml"), "").unwrap();
        for folder in ["cloned", "cloned/in", "unpacked", "settings", "plain", "plain/in"] {
            symlink(base.join("target"), base.join(folder).join("link")).unwrap();
        }
        symlink(base.join("nowhere"), base.join("plain/broken")).unwrap();
        symlink(base.join("cloned/in"), base.join("plain/into")).unwrap();
        for (path, expect) in [
            ("plain/in", Some("plain/in")),
            ("plain/link/a/b", Some("target/a/b")),
            ("plain/in/link/..", Some("")),
            ("plain/in/../link", Some("target")),
            ("plain/new/../in", Some("plain/in")),
            ("plain/into/new", Some("cloned/in/new")),
            ("plain/into/link/new", None),
            ("plain/broken/new", None),
            ("cloned/in/new", Some("cloned/in/new")),
            ("cloned/link", None),
            ("cloned/in/link/x", None),
            ("cloned/../plain/link", Some("target")),
            ("unpacked/link", None),
            ("settings/link", None),
        ] {
            let found = real_folder(&base.join(path));
            let expect = expect.map(|expect| base.join(expect));
            assert_eq!(found.as_ref().ok(), expect.as_ref(), "{path}: {found:?}");
        }
        let refused = real_folder(&base.join("cloned/in/link/x")).unwrap_err().to_string();
        let shown = format!("{}/cloned/in/link is a link in the repository", base.display());
        assert!(refused.starts_with(&shown) && refused.contains("/cloned, and"), "{refused}");
    }
}
