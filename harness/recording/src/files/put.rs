//! Writes a new file beside its place, and moves it there when it is complete.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use tempfile::NamedTempFile;

use super::way::{FileError, brought_by, place};

/// The beginning of the name of a file or folder that is not yet in its place.
pub const UNFINISHED: &str = ".clitape-";
/// The beginnings of the names of folders in which a cassette is written, in this version and before, or removed.
pub const UNFINISHED_CASSETTE: [&str; 3] = [".writing-", ".taking-", ".replaced-"];

/// A file that is written and then [put](Self::put) in its place. Until then an existing file stays there.
///
/// A link at the place is replaced. A character device or FIFO that no repository can have brought, such as `/dev/null`
/// or `/dev/fd/63` of a shell's `>(command)`, is written to instead.
#[derive(Debug)]
pub struct NewFile {
    /// The path as the caller wrote it.
    named: PathBuf,
    /// The same path without links in its folders.
    place: PathBuf,
    out: Out,
}

#[derive(Debug)]
enum Out {
    /// A file beside the place, with the mode of the file that it replaces.
    Beside(NamedTempFile, Option<Permissions>),
    /// The device or FIFO at the place.
    Stream(File),
}

impl NewFile {
    /// Opens a file for the place at `path`.
    ///
    /// # Errors
    ///
    /// [`FileError`] if no file can be written there.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let place = place(path)?;
        let out = match symlink_metadata(path, &place)? {
            Some(there) if !there.is_file() => match stream(path, &place, &there)? {
                Some(file) => Out::Stream(file),
                None => Out::Beside(beside(path, &place)?, None),
            },
            there => {
                let mode = there.map(|there| there.permissions());
                Out::Beside(beside(path, &place)?, mode)
            }
        };
        Ok(Self { named: path.to_owned(), place, out })
    }

    /// Returns the path without links in its folders, which is equal for two paths to one place.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    ///
    /// [`FileError::Write`] if it can't be moved there; an existing file then stays.
    pub fn put(mut self) -> Result<(), FileError> {
        let flushed = self.flush();
        let Self { named, place, out } = self;
        let put = flushed.and_then(|()| match out {
            Out::Stream(_) => Ok(()),
            Out::Beside(file, mode) => {
                if let Some(mode) = mode {
                    // The file keeps its mode, such as that of a script.
                    file.as_file().set_permissions(mode)?;
                }
                file.persist(&place).map(|_| ()).map_err(|error| error.error)
            }
        });
        put.map_err(|error| FileError::Write { path: named, error })
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Beside(file, _) => file.write(bytes),
            Out::Stream(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Beside(file, _) => file.flush(),
            Out::Stream(file) => file.flush(),
        }
    }
}

/// Writes a whole file: a new one in the same folder, which then replaces the entry at `path`.
///
/// # Errors
///
/// [`FileError`] if it can't be written; the entry at `path` then stays.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), FileError> {
    let mut file = NewFile::open(path)?;
    file.write_all(bytes.as_ref())
        .map_err(|error| FileError::Write { path: path.to_owned(), error })?;
    file.put()
}

/// Opens a file to append to it; a missing one is made.
///
/// # Errors
///
/// [`FileError`] if it can't be opened, or is a link in a repository.
pub fn append(path: &Path) -> Result<File, FileError> {
    let place = place(path)?;
    let flags = match place.parent().and_then(brought_by) {
        Some(_) => OFlag::O_NOFOLLOW,
        None => OFlag::empty(),
    };
    let file = OpenOptions::new().append(true).create(true).custom_flags(flags.bits()).open(place);
    file.map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::ELOOP as i32 => FileError::Link(path.to_owned()),
        _ => FileError::Write { path: path.to_owned(), error },
    })
}

/// Returns the metadata of the file or link at the place; `None` if it is free.
fn symlink_metadata(path: &Path, place: &Path) -> Result<Option<Metadata>, FileError> {
    match place.symlink_metadata() {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::Write { path: path.to_owned(), error }),
    }
}

/// Opens the device or FIFO that `there` is or leads to; `None` for a link that a file replaces.
fn stream(path: &Path, place: &Path, there: &Metadata) -> Result<Option<File>, FileError> {
    let taken = || FileError::Taken(path.to_owned());
    let folder = place.parent().unwrap_or(place);
    let target = place.metadata().ok();
    let is_stream = |target: &Metadata| {
        let kind = target.file_type();
        kind.is_char_device() || kind.is_fifo()
    };
    // The links in these folders are the open files of a process.
    let is_of_process = ["/dev", "/proc"].iter().any(|system| folder.starts_with(system));
    match target {
        Some(target) if target.is_dir() => Err(taken()),
        Some(target) if brought_by(folder).is_none() && (is_stream(&target) || is_of_process) => {
            if is_own_output(&target) {
                return Err(FileError::OwnOutput(path.to_owned()));
            }
            let mut options = OpenOptions::new();
            let options = options.append(true).custom_flags(OFlag::O_NOCTTY.bits());
            let file = options.open(place);
            file.map(Some).map_err(|error| FileError::Write { path: path.to_owned(), error })
        }
        _ if there.is_symlink() && !is_of_process => Ok(None),
        _ => Err(taken()),
    }
}

/// Returns whether this is the file or pipe behind standard output or standard error. A report there would come between
/// the lines for people, past the filter that protects GitHub Actions from commands. A terminal may get one, because a
/// report has no control characters.
fn is_own_output(target: &Metadata) -> bool {
    let is_same = |own: Metadata| (own.dev(), own.ino()) == (target.dev(), target.ino());
    let is_device = target.file_type().is_char_device();
    let own = ["/dev/stdout", "/dev/stderr"].iter().map(Path::new);
    !is_device && own.filter_map(|path| path.metadata().ok()).any(is_same)
}

/// Makes a file in the folder of the place, with the usual mode.
fn beside(path: &Path, place: &Path) -> Result<NamedTempFile, FileError> {
    let folder = place.parent().unwrap_or(place);
    let file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder);
    file.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FileError::NoFolder {
            path: path.to_owned(),
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        },
        _ => FileError::Write { path: path.to_owned(), error },
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;

    use super::*;
    use crate::files::read_text;

    #[test]
    fn a_link_is_replaced_and_never_written_through() {
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

    /// The expected result of a write to a place; an error with a part of its text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Expect {
        Replaced,
        Written,
        Refused(&'static str),
    }

    /// Writes to each of these places in a folder, which may be that of a repository.
    #[track_caller]
    fn check(is_repository: bool, rows: &[(&str, Expect)]) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        if is_repository {
            std::fs::create_dir(at(".git")).unwrap();
        }
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("file"), "old").unwrap();
        nix::unistd::mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        for (link, to) in [
            ("to_file", "file"),
            ("to_nowhere", "nowhere"),
            ("to_folder", "folder"),
            ("to_fifo", "fifo"),
            ("to_null", "/dev/null"),
        ] {
            symlink(to, at(link)).unwrap();
        }
        // Opened for reading and writing, so that the other side need not wait.
        let mut fifo = OpenOptions::new().read(true).write(true).open(at("fifo")).unwrap();
        for (name, expect) in rows {
            let written = replace(&at(name), "new");
            let now = at(name).symlink_metadata().unwrap();
            let found = match &written {
                Err(error) => {
                    let Expect::Refused(part) = expect else { panic!("{name}: {error}") };
                    let said = error.to_string();
                    assert!(said.contains(part) && said.contains(name), "{name}: {said}");
                    *expect
                }
                Ok(()) if now.is_file() => Expect::Replaced,
                Ok(()) => Expect::Written,
            };
            assert_eq!(found, *expect, "{name}");
            match expect {
                Expect::Replaced => assert_eq!(read_text(&at(name)).unwrap(), "new"),
                Expect::Written if name.contains("fifo") => {
                    let mut read = [0; 3];
                    io::Read::read_exact(&mut fifo, &mut read).unwrap();
                    assert_eq!(&read, b"new", "{name}");
                }
                _ => {}
            }
        }
        let left = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> =
            left.filter(|name| name.to_string_lossy().starts_with(UNFINISHED)).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn a_stream_of_the_user_is_written_to_and_one_of_a_repository_is_not() {
        use Expect::{Refused, Replaced, Written};
        const TAKEN: Expect = Refused("is there and is no file");
        check(
            false,
            &[
                ("file", Replaced),
                ("to_file", Replaced),
                ("to_nowhere", Replaced),
                ("fifo", Written),
                ("to_fifo", Written),
                ("to_null", Written),
                ("folder", TAKEN),
                ("to_folder", TAKEN),
                ("socket", TAKEN),
            ],
        );
        check(
            true,
            &[
                ("file", Replaced),
                ("to_file", Replaced),
                ("to_nowhere", Replaced),
                ("fifo", TAKEN),
                ("to_fifo", Replaced),
                ("to_null", Replaced),
                ("folder", TAKEN),
                ("to_folder", TAKEN),
                ("socket", TAKEN),
            ],
        );
        replace(Path::new("/dev/null"), "new").unwrap();
        let null = Path::new("/dev/null").symlink_metadata().unwrap();
        assert!(null.file_type().is_char_device(), "it is still a device");
    }

    #[test]
    fn what_is_added_to_is_no_link_of_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "old").unwrap();
        symlink("file", at("link")).unwrap();
        for (name, added) in [("file", "a"), ("link", "b"), ("new", "c")] {
            append(&at(name)).unwrap().write_all(added.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "oldab");
        std::fs::create_dir(at(".git")).unwrap();
        append(&at("file")).unwrap();
        assert!(matches!(append(&at("link")), Err(FileError::Link(_))));
    }
}
