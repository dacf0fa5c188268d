//! Reads and writes files that others may have put there.
//!
//! A repository may bring a link, a FIFO or a device where a file is expected, or a file of any size.
//! A file of a workspace is therefore opened without following a link, has to be a regular
//! file, and has a limit; what is written goes to a new file in the same folder, which then takes the
//! place of the old one, so that a link there is replaced and never followed, and no reader or crash
//! leaves half a file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clitape_gateway::ByteSize;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

/// Largest file that is read, unless [`set_largest`] says otherwise.
pub const LARGEST: ByteSize = ByteSize::mib(256);

static LARGEST_NOW: AtomicU64 = AtomicU64::new(LARGEST.get());

/// Sets the size of the largest file that this process reads.
pub fn set_largest(size: ByteSize) {
    LARGEST_NOW.store(size.get(), Ordering::Relaxed);
}

/// The size of the largest file that this process reads.
pub fn largest() -> ByteSize {
    ByteSize::bytes(LARGEST_NOW.load(Ordering::Relaxed))
}

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
    /// Whether there is no such file.
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
            FileError::Link(_) | FileError::NotRegular(_) | FileError::NotFolder(_) => {
                io::ErrorKind::InvalidInput
            }
        };
        Self::new(kind, error)
    }
}

/// Reads a file of a workspace: a regular one of at most [`largest`], without following a link.
///
/// # Errors
///
/// [`FileError`], which names the file and what to do.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    read_opened(path, OpenOptions::new().read(true).custom_flags(NO_LINK.bits()).open(path))
}

/// The flags that open a file itself. Without O_NONBLOCK, opening a FIFO waits for a process that writes to it.
const NO_LINK: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_CLOEXEC);

/// Reads a file below `root`, which is the user's choice, as [`read`] does. No folder on the way is a link either, even
/// if another process puts one there meanwhile.
///
/// # Errors
///
/// [`FileError::NotFolder`] names the first folder that is something else, and the errors of [`read`].
pub(crate) fn read_below(root: &Path, relative: &Path) -> Result<Vec<u8>, FileError> {
    let mut path = root.to_owned();
    let mut folder =
        File::open(root).map_err(|error| FileError::Read { path: path.clone(), error })?;
    let mut parts = relative.iter().peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        let is_folder = parts.peek().is_some();
        let flags = if is_folder { NO_LINK | OFlag::O_DIRECTORY } else { NO_LINK };
        let opened = openat(&folder, part, flags, Mode::empty());
        match opened {
            Ok(opened) if is_folder => folder = opened.into(),
            Err(Errno::ENOTDIR | Errno::ELOOP) if is_folder => {
                return Err(FileError::NotFolder(path));
            }
            opened => return read_opened(&path, opened.map(File::from).map_err(io::Error::from)),
        }
    }
    Err(FileError::NotRegular(path))
}

/// Reads the file at `path`, which was opened with [`NO_LINK`].
fn read_opened(path: &Path, opened: io::Result<File>) -> Result<Vec<u8>, FileError> {
    let refused = |error| FileError::Read { path: path.to_owned(), error };
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::ELOOP as i32 => FileError::Link(path.to_owned()),
        _ => refused(error),
    })?;
    let metadata = file.metadata().map_err(refused)?;
    if !metadata.is_file() {
        return Err(FileError::NotRegular(path.to_owned()));
    }
    read_all(path, file, metadata.len())
}

/// [`read`] as text.
///
/// # Errors
///
/// As [`read`], and when it is no UTF-8.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    text(path, read(path)?)
}

/// Reads what the user names: a link is followed, and a pipe is read to its end; the limit is the same.
///
/// # Errors
///
/// [`FileError`], which names the file and what to do.
pub fn read_named(path: &Path) -> Result<Vec<u8>, FileError> {
    let file = open_named(path)?;
    // A pipe has none.
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    read_all(path, file, size)
}

/// Opens what the user names, to read it piece by piece: a link is followed, and it may be a pipe.
///
/// # Errors
///
/// [`FileError`], which names the file and what to do.
pub fn open_named(path: &Path) -> Result<File, FileError> {
    let refused = |error| FileError::Read { path: path.to_owned(), error };
    let file = File::open(path).map_err(refused)?;
    if file.metadata().map_err(refused)?.is_dir() {
        return Err(FileError::NotRegular(path.to_owned()));
    }
    Ok(file)
}

/// [`read_named`] as text.
///
/// # Errors
///
/// As [`read_named`], and when it is no UTF-8.
pub fn read_named_text(path: &Path) -> Result<String, FileError> {
    text(path, read_named(path)?)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes)
        .map_err(|error| FileError::NotText { path: path.to_owned(), error: error.utf8_error() })
}

/// Reads a file that is said to have `size` bytes; it may have more.
fn read_all(path: &Path, file: File, size: u64) -> Result<Vec<u8>, FileError> {
    let limit = largest();
    let expected = usize::try_from(size.min(limit.get())).unwrap_or_default();
    let mut bytes = Vec::with_capacity(expected);
    file.take(limit.get().saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| FileError::Read { path: path.to_owned(), error })?;
    if limit.is_below(bytes.len()) {
        return Err(FileError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

/// The root of the git repository that a folder is in, and the folder as seen from it; `None` for a folder in none.
///
/// # Errors
///
/// When the folder can't be found.
pub fn repository(folder: &Path) -> io::Result<Option<(PathBuf, PathBuf)>> {
    let whole = folder.canonicalize()?;
    let mut above = whole.ancestors().filter(|above| is_there(&above.join(".git")));
    Ok(above.find_map(|root| Some((root.to_owned(), whole.strip_prefix(root).ok()?.to_owned()))))
}

/// Whether there is an entry at `path`, even a link without a target.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Checks that no folder from `root`, which is the user's choice, down to `root/relative` is a link; what
/// is not there yet is none.
///
/// # Errors
///
/// [`FileError::NotFolder`] names the first one that is something else than a folder.
pub fn check_folders(root: &Path, relative: &Path) -> Result<(), FileError> {
    let mut path = root.to_owned();
    for part in relative.components() {
        path.push(part);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(_) => return Err(FileError::NotFolder(path)),
            Err(error) => return Err(FileError::Read { path, error }),
        }
    }
    Ok(())
}

/// Writes a file whole: a new one in the same folder, which then takes the place of what is at `path`.
///
/// # Errors
///
/// [`FileError`] when it can't be written; what was at `path` stays.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), FileError> {
    let refused = |error| FileError::Write { path: path.to_owned(), error };
    let before = path.symlink_metadata().ok().filter(Metadata::is_file);
    if before.is_none() && path.is_dir() {
        return Err(FileError::NotRegular(path.to_owned()));
    }
    let mut file = beside(path).map_err(refused)?;
    file.write_all(bytes.as_ref()).and_then(|()| file.flush()).map_err(refused)?;
    if let Some(before) = before {
        // A file keeps its mode, such as that of a script.
        file.as_file().set_permissions(before.permissions()).map_err(refused)?;
    }
    file.persist(path).map_err(|error| refused(error.error))?;
    Ok(())
}

/// How the name of a file begins that is not yet in its place.
pub(crate) const UNFINISHED: &str = ".clitape-";

/// The bytes of those files that are there.
///
/// # Errors
///
/// When the size of one can't be told.
pub(crate) fn bytes(paths: &[PathBuf]) -> io::Result<u64> {
    let size = |path: &PathBuf| match fs_err::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        metadata => Ok(metadata?.len()),
    };
    paths.iter().map(size).sum()
}

/// What is in a folder and in those in it, sorted, without hidden files; nothing where there is no such folder. A
/// link counts as a file.
///
/// # Errors
///
/// When a folder can't be read.
pub(crate) fn below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = dir.is_dir().then(|| dir.to_owned()).into_iter().collect();
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                _ if entry.file_name().as_encoded_bytes().starts_with(b".") => {}
                true => folders.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The entries of `dir` whose names begin with one of `prefixes`, sorted; none if there is no such
/// folder. Writers use such names until they are done, so this is what one left when it was ended, as long as
/// no one writes there now.
///
/// # Errors
///
/// When the folder can't be read.
pub(crate) fn leftovers(dir: &Path, prefixes: &[&str]) -> io::Result<Vec<PathBuf>> {
    let entries = match fs_err::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut left = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            left.push(entry.path());
        }
    }
    left.sort();
    Ok(left)
}

/// A new file in the folder of `path`, readable as files usually are.
pub(crate) fn beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let usual = std::fs::Permissions::from_mode(0o666);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    tempfile::Builder::new()
        .prefix(UNFINISHED)
        .permissions(usual)
        .tempfile_in(folder.unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn issue_13_finding_4_only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read_text(&at("file")).unwrap(), "text");
        for (name, part) in [
            ("link", "is a link"),
            ("zero", "is a link"),
            ("fifo", "is no regular file"),
            ("socket", "No such device or address"),
            ("", "is no regular file"),
            ("none", "No such file"),
        ] {
            let error = read(&at(name)).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(name), "{name}: {error}");
        }
        assert_eq!(read_named_text(&at("link")).unwrap(), "text", "the user's own choice");
    }

    #[test]
    fn a_file_is_read_from_the_root_down_without_a_link() {
        let [root, outside] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        std::fs::write(outside.path().join("file"), "secret").unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        std::fs::write(root.path().join("a/b/file"), "text").unwrap();
        symlink(outside.path(), root.path().join("a/link")).unwrap();
        symlink(outside.path().join("file"), root.path().join("a/b/link")).unwrap();
        for (relative, expect) in [
            ("a/b/file", Ok("text")),
            ("a/link/file", Err("a/link is no folder of its own")),
            ("a/b/link", Err("a/b/link is a link")),
            ("a/b/file/x", Err("a/b/file is no folder of its own")),
            ("a/none/file", Err("No such file")),
            ("a/b", Err("a/b is no regular file")),
            ("", Err("is no regular file")),
        ] {
            let found = read_below(root.path(), Path::new(relative));
            match (found, expect) {
                (Ok(bytes), Ok(text)) => assert_eq!(bytes, text.as_bytes(), "{relative}"),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, _) => panic!("{relative}: {found:?}"),
            }
        }
    }

    #[test]
    fn issue_13_finding_4_a_file_over_the_limit_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(LARGEST.get() + 1).unwrap();
        for error in [read(&path).unwrap_err(), read_named(&path).unwrap_err()] {
            assert!(matches!(error, FileError::TooLarge { limit: LARGEST, .. }), "{error}");
        }
        assert!(matches!(read_named(Path::new("/dev/zero")), Err(FileError::TooLarge { .. })));
    }

    #[test]
    fn issue_13_finding_5_a_link_is_replaced_and_never_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let [precious, link] = ["precious", "link"].map(|name| dir.path().join(name));
        std::fs::write(&precious, "mine").unwrap();
        symlink(&precious, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(read_text(&link).unwrap(), "new");
        assert_eq!(read_text(&precious).unwrap(), "mine");
        assert!(replace(dir.path(), "x").is_err(), "a folder is not replaced");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left over");
    }

    #[test]
    fn issue_13_finding_5_a_link_is_no_folder_of_a_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        symlink(outside.path(), dir.path().join("real/golden")).unwrap();
        for (relative, expect) in
            [("", true), ("real", true), ("real/none/x", true), ("real/golden", false)]
        {
            let found = check_folders(dir.path(), Path::new(relative));
            assert_eq!(found.is_ok(), expect, "{relative}: {found:?}");
        }
        assert!(check_folders(outside.path(), Path::new("")).is_ok(), "the root is not looked at");
    }
}
