//! Puts a folder with its files in its place: a new one beside it, which takes the place once it is whole.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::Flock;
use tempfile::TempDir;

use super::error::FileError;
use super::folder::{MadeFolders, unfinished};
use super::lock::lock;
use super::way::real_folder;

/// A folder that is filled and then [put](Self::put) in its place. Until then, what is there stays, and if it is
/// dropped before, it is removed. There is one writer in the folder above at a time.
#[derive(Debug)]
pub struct NewFolder {
    place: PathBuf,
    dir: TempDir,
    _lock: Flock<File>,
    _above: MadeFolders,
}

impl NewFolder {
    /// Makes a folder for the place at `path`, and the folders above it that are not there. Its name begins with
    /// `prefix`; folders with such names beside it, which a writer that was killed left, are removed.
    ///
    /// # Errors
    ///
    /// [`FileError`] when it can't be made, or another writer does not end.
    pub fn beside(path: &Path, prefix: &str) -> Result<Self, FileError> {
        let above = path.parent().unwrap_or(Path::new(""));
        let made = MadeFolders::make(above)?;
        let lock = lock(above)?;
        remove_abandoned(above, prefix);
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(above);
        let dir = dir.map_err(|error| FileError::Write { path: path.to_owned(), error })?;
        Ok(Self { place: path.to_owned(), dir, _lock: lock, _above: made })
    }

    /// The place that the folder takes in the end.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Writes a file into the folder, at this path there.
    ///
    /// # Errors
    ///
    /// [`FileError::Write`], which names the place where the file would be.
    pub fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<(), FileError> {
        let (path, place) = (self.dir.path().join(&path), self.place.join(&path));
        let above = path.parent().map_or(Ok(()), fs::create_dir_all);
        above
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|error| FileError::Write { path: place, error })
    }

    /// Puts the folder in its place, which has to be free.
    ///
    /// # Errors
    ///
    /// [`FileError`] when it can't be put there, or something is there.
    pub fn put(self) -> Result<PathBuf, FileError> {
        if self.place.symlink_metadata().is_ok() {
            return Err(FileError::Taken(self.place));
        }
        let Self { place, dir, .. } = self;
        set_readable(dir.path())
            .and_then(|()| fs::rename(dir.path(), &place))
            .map_err(|error| FileError::Write { path: place.clone(), error })?;
        let _moved = dir.keep();
        Ok(place)
    }

    /// Puts the folder in the place of the one that may be there, which is removed.
    ///
    /// # Errors
    ///
    /// [`FileError`] when it can't be put there, or something else than a folder is there.
    pub fn put_over(self) -> Result<PathBuf, FileError> {
        match self.place.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.put(),
            Err(error) => Err(FileError::Write { path: self.place, error }),
            Ok(there) if !there.is_dir() => Err(FileError::NotFolder(self.place)),
            Ok(_) => {
                let Self { place, dir, .. } = self;
                // The one that was there is in the temporary folder then, and is removed with it.
                set_readable(dir.path())
                    .and_then(|()| exchange(dir.path(), &place))
                    .map_err(|error| FileError::Write { path: place.clone(), error })?;
                Ok(place)
            }
        }
    }
}

/// Removes a folder in one step, as far as a reader sees: it gets a name that begins with `prefix` before its files are
/// removed. One that is not there is removed already.
///
/// # Errors
///
/// [`FileError`] when it can't be removed, or a link is on the way.
pub fn remove_folder(path: &Path, prefix: &str) -> Result<(), FileError> {
    let refused = |error| FileError::Write { path: path.to_owned(), error };
    let place = real_folder(path)?;
    if place.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    let above = place.parent().unwrap_or(&place);
    let _lock = lock(above)?;
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let aside = above.join(format!("{prefix}{name}"));
    // What is left of an earlier attempt is in the way.
    let _ = fs::remove_dir_all(&aside);
    fs::rename(&place, &aside).and_then(|()| fs::remove_dir_all(aside)).map_err(refused)
}

/// Puts `fresh` in the place of `target` and the other way round, in one step where the system can.
fn exchange(fresh: &Path, target: &Path) -> io::Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

        match renameat2(AT_FDCWD, fresh, AT_FDCWD, target, RenameFlags::RENAME_EXCHANGE) {
            // A kernel or a file system that can't.
            Err(Errno::EINVAL | Errno::ENOSYS) => {}
            done => return done.map_err(io::Error::from),
        }
    }
    let old = fresh.with_extension("old");
    fs::rename(target, &old)?;
    if let Err(error) = fs::rename(fresh, target) {
        fs::rename(&old, target)?;
        return Err(error);
    }
    fs::rename(&old, fresh)
}

/// Removes the folders of a writer that was killed. No other process writes while this one has the lock. A folder
/// that may hold what was at the place before stays, to be found as a leftover.
fn remove_abandoned(dir: &Path, prefix: &str) {
    // A folder that can't be listed can't be written to either, which the caller finds out.
    for path in unfinished(dir, &[prefix]).into_iter().flatten() {
        if path.extension().is_none_or(|extension| extension != "old") {
            // The folder itself is written all the same.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Temporary folders are private to their owner; what takes a place in a workspace is not.
fn set_readable(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::UNFINISHED;

    #[test]
    fn a_folder_is_there_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("above/new");
        let names = |path: &Path| -> Vec<String> {
            let all = fs::read_dir(path).unwrap();
            all.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
        };
        let begun = || {
            let folder = NewFolder::beside(&place, UNFINISHED).unwrap();
            folder.write("in/file", "text").unwrap();
            folder
        };
        drop(begun());
        assert!(names(dir.path()).is_empty(), "the folder above is gone too");
        fs::create_dir_all(dir.path().join("above/.clitape-killed/in")).unwrap();
        assert_eq!(begun().put().unwrap(), place);
        assert_eq!(names(&dir.path().join("above")), ["new"]);
        assert_eq!(fs::read_to_string(place.join("in/file")).unwrap(), "text");
        assert!(matches!(begun().put(), Err(FileError::Taken(_))));
        fs::write(place.join("in/file"), "old").unwrap();
        fs::write(place.join("more"), "old").unwrap();
        begun().put_over().unwrap();
        assert_eq!(names(&place), ["in"]);
        assert_eq!(fs::read_to_string(place.join("in/file")).unwrap(), "text");
        remove_folder(&place, UNFINISHED).unwrap();
        remove_folder(&place, UNFINISHED).unwrap();
        assert!(names(&dir.path().join("above")).is_empty());
    }
}
