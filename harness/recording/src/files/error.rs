//! Why a file is not read or written, each with what to do.

use std::io;
use std::path::PathBuf;

use clitape_gateway::ByteSize;

/// Why a file of a workspace is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system does not let it be read.
    #[error("can't read {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// The file system does not let it be written.
    #[error("can't write {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// It is a symbolic link.
    #[error("{0} is a link, and links in a workspace are not followed; put the file itself there")]
    Link(PathBuf),
    /// It is a folder, a FIFO, a device or a socket.
    #[error("{0} is no regular file; put one there, or remove it")]
    NotRegular(PathBuf),
    /// It is a link where a folder is expected, or another kind of file.
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
    /// The folder for a new file is not there.
    #[error(
        "can't write {path}: there is no folder {folder}; make it, or choose a path in a folder that is there"
    )]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// There is something else where a file is to be written.
    #[error("{0} is there and is no file; choose another path")]
    Taken(PathBuf),
    /// It is where the program prints.
    #[error("{0} is where this command prints; write `-` for standard output, or choose a file")]
    OwnOutput(PathBuf),
    /// Another process writes there.
    #[error("another process has been writing in {0} for 30 s; wait for it to end, then try again")]
    Busy(PathBuf),
    /// It is larger than what is read.
    #[error(
        "{path} has more than {limit}, the most that is read; raise the limit with `--max-file`"
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: ByteSize,
    },
    /// It is no UTF-8 text.
    #[error("{path} is no UTF-8 text: {error}")]
    NotText {
        /// The file.
        path: PathBuf,
        /// Where it stops being text.
        error: std::str::Utf8Error,
    },
}

impl FileError {
    /// Returns whether the file itself is at fault, because it can't be the one that is expected there, and neither the
    /// file system nor its user.
    pub fn is_wrong_kind(&self) -> bool {
        matches!(
            self,
            Self::Link(_) | Self::NotRegular(_) | Self::NotFolder(_) | Self::NotText { .. }
        )
    }

    /// Returns whether there is no such file.
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
