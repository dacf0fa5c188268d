//! Reads files: those of a workspace, which must not be links, and those that the user names.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use clitape_gateway::ByteSize;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use super::way::FileError;

/// The largest file that is read, unless [`set_largest`] changes it.
pub const LARGEST: ByteSize = ByteSize::mib(256);

static LARGEST_NOW: AtomicU64 = AtomicU64::new(LARGEST.get());

/// Sets the size of the largest file that this process reads.
pub fn set_largest(size: ByteSize) {
    LARGEST_NOW.store(size.get(), Ordering::Relaxed);
}

/// Returns the size of the largest file that this process reads.
pub fn largest() -> ByteSize {
    ByteSize::bytes(LARGEST_NOW.load(Ordering::Relaxed))
}

/// Reads a file of a workspace: a regular one of at most [`largest`], without following a link.
///
/// # Errors
///
/// [`FileError`], which names the file and the next step.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    read_all(path, open(path)?)
}

/// Opens a regular file to read it piece by piece, without following a link.
///
/// # Errors
///
/// [`FileError`], which names the file and the next step.
pub fn open(path: &Path) -> Result<File, FileError> {
    regular(path, OpenOptions::new().read(true).custom_flags(NO_LINK.bits()).open(path))
}

/// The flags that open a file itself. Without O_NONBLOCK, opening a FIFO waits for a process that writes to it.
const NO_LINK: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_CLOEXEC);

/// Reads a file below `root`, which is the user's choice, as [`read`] does. No folder on the way may be a link either,
/// even if another process puts one there meanwhile.
///
/// # Errors
///
/// [`FileError::NotFolder`] names the first entry that is not a folder; otherwise the errors of [`read`].
pub fn read_below(root: &Path, relative: &Path) -> Result<Vec<u8>, FileError> {
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
            opened => {
                let opened = opened.map(File::from).map_err(io::Error::from);
                return read_all(&path, regular(&path, opened)?);
            }
        }
    }
    Err(FileError::NotRegular(path))
}

/// Returns the file at `path`, opened with [`NO_LINK`], if it is a regular one.
fn regular(path: &Path, opened: io::Result<File>) -> Result<File, FileError> {
    let refused = |error| FileError::Read { path: path.to_owned(), error };
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::ELOOP as i32 => FileError::Link(path.to_owned()),
        _ => refused(error),
    })?;
    match file.metadata().map_err(refused)?.is_file() {
        true => Ok(file),
        false => Err(FileError::NotRegular(path.to_owned())),
    }
}

/// Reads a file as [`read`] does, as text.
///
/// # Errors
///
/// As [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    text(path, read(path)?)
}

/// Reads a file that the user names: a link is followed, and a pipe is read to its end; the limit is the same.
///
/// # Errors
///
/// [`FileError`], which names the file and the next step.
pub fn read_named(path: &Path) -> Result<Vec<u8>, FileError> {
    read_all(path, open_named(path)?)
}

/// Opens a file that the user names, to read it piece by piece: a link is followed, and it may be a pipe.
///
/// # Errors
///
/// [`FileError`], which names the file and the next step.
pub fn open_named(path: &Path) -> Result<File, FileError> {
    let refused = |error| FileError::Read { path: path.to_owned(), error };
    let file = File::open(path).map_err(refused)?;
    if file.metadata().map_err(refused)?.is_dir() {
        return Err(FileError::NotRegular(path.to_owned()));
    }
    Ok(file)
}

/// Reads a file as [`read_named`] does, as text.
///
/// # Errors
///
/// As [`read_named`], and if it is not UTF-8.
pub fn read_named_text(path: &Path) -> Result<String, FileError> {
    text(path, read_named(path)?)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes)
        .map_err(|error| FileError::NotText { path: path.to_owned(), error: error.utf8_error() })
}

/// Reads a file to its end. It may have more bytes than its size says, and a pipe has no size.
fn read_all(path: &Path, file: File) -> Result<Vec<u8>, FileError> {
    let limit = largest();
    let size = file.metadata().map_or(0, |metadata| metadata.len());
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_are_read() {
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
    fn a_file_over_the_limit_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(LARGEST.get() + 1).unwrap();
        for error in [read(&path).unwrap_err(), read_named(&path).unwrap_err()] {
            assert!(matches!(error, FileError::TooLarge { limit: LARGEST, .. }), "{error}");
        }
        assert!(matches!(read_named(Path::new("/dev/zero")), Err(FileError::TooLarge { .. })));
    }
}
