//! Folders: checks for links on the way, lists of their content, and new folders that are moved to their place when
//! they are complete.
//!
//! A folder has one writer at a time. By the lock, a reader who finds an unfinished file knows that its writer has
//! ended.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use super::way::{FileError, place, real_folder};

/// Returns the root of the git repository that contains a folder, and the folder's path in it; `None` outside of
/// repositories.
///
/// # Errors
///
/// When the folder can't be found.
pub fn repository(folder: &Path) -> io::Result<Option<(PathBuf, PathBuf)>> {
    let whole = folder.canonicalize()?;
    let mut above = whole.ancestors().filter(|above| is_there(&above.join(".git")));
    Ok(above.find_map(|root| Some((root.to_owned(), whole.strip_prefix(root).ok()?.to_owned()))))
}

/// Returns whether there is an entry at `path`, even a link without a target.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Checks that no folder from `root`, which is the user's choice, down to `root/relative` is a link; missing folders
/// are accepted.
///
/// # Errors
///
/// [`FileError::NotFolder`] names the first entry that is not a folder.
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

/// Makes a folder and its missing parents; an existing one stays.
///
/// # Errors
///
/// [`FileError`] if it can't be made, another entry has its name, or a link is on the way.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    MadeFolders::make(path)?.keep();
    Ok(())
}

/// The folders that were made for later files; those that are empty in the end are removed again.
#[derive(Debug, Default)]
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Makes a folder as [`make_folder`] does.
    fn make(path: &Path) -> Result<Self, FileError> {
        let mut made = Self::default();
        let mut missing = vec![real_folder(path)?];
        while let Some(folder) = missing.pop() {
            match folder.metadata() {
                Ok(there) if there.is_dir() => {}
                Ok(_) => return Err(FileError::NotFolder(path.to_owned())),
                Err(_) => match std::fs::create_dir(&folder) {
                    Ok(()) => made.0.push(folder),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        let above = folder.parent().map(Path::to_owned);
                        missing.push(folder);
                        missing.extend(above);
                    }
                    // Another process has made it meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(FileError::Write { path: path.to_owned(), error }),
                },
            }
        }
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // A folder with an entry in it stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Moves a file to another path, and replaces the file there.
///
/// # Errors
///
/// [`FileError`] if it can't be moved, or a link is on the way.
pub fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    std::fs::rename(place(from)?, place(to)?)
        .map_err(|error| FileError::Write { path: to.to_owned(), error })
}

/// Removes a file; a missing one is accepted, because another process may have removed it.
///
/// # Errors
///
/// [`FileError`] if it can't be removed, or a link is on the way.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(place(path)?) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::Write { path: path.to_owned(), error })
        }
        _ => Ok(()),
    }
}

/// Returns the size of the existing files together, in bytes.
///
/// # Errors
///
/// When the size of one can't be read.
pub fn bytes(paths: &[PathBuf]) -> io::Result<u64> {
    let size = |path: &PathBuf| match fs_err::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        metadata => Ok(metadata?.len()),
    };
    paths.iter().map(size).sum()
}

/// Lists the files below a folder, sorted, without hidden ones; empty if the folder is missing. A link counts as a
/// file.
///
/// # Errors
///
/// When a folder can't be read.
pub fn below(dir: &Path) -> io::Result<Vec<PathBuf>> {
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

/// Lists the entries that interrupted writers left in `dir`: those whose names begin with one of `prefixes`, sorted. It
/// is empty if the folder is missing, or while a writer has its [lock].
///
/// # Errors
///
/// When the folder can't be read.
pub fn leftovers(dir: &Path, prefixes: &[&str]) -> io::Result<Vec<PathBuf>> {
    match without_writers(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(None) => Ok(Vec::new()),
        Ok(Some(_without)) => unfinished(dir, prefixes),
    }
}

/// Lists the entries of `dir` whose names begin with one of `prefixes`, sorted.
///
/// # Errors
///
/// When the folder can't be read.
fn unfinished(dir: &Path, prefixes: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if prefixes.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// A folder that is filled and then [put](Self::put) in its place. Until then an existing entry stays there; a dropped
/// folder is removed. The folder above has one writer at a time.
#[derive(Debug)]
pub struct NewFolder {
    place: PathBuf,
    dir: TempDir,
    _lock: Flock<File>,
    _above: MadeFolders,
}

impl NewFolder {
    /// Makes a folder for the place at `path`, and the missing folders above it. Its name begins with `prefix`; folders
    /// with such names beside it, which a killed writer left, are removed.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it can't be made, or another writer does not end.
    pub fn beside(path: &Path, prefix: &str) -> Result<Self, FileError> {
        // A name alone is in the current folder.
        let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
        let made = MadeFolders::make(above)?;
        let lock = lock(above)?;
        remove_abandoned(above, prefix);
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(above);
        let dir = dir.map_err(|error| FileError::Write { path: path.to_owned(), error })?;
        Ok(Self { place: path.to_owned(), dir, _lock: lock, _above: made })
    }

    /// Returns the final path of the folder.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Writes a file into the folder, at this path in it.
    ///
    /// # Errors
    ///
    /// [`FileError::Write`], which names the final path of the file.
    pub fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<(), FileError> {
        let (path, place) = (self.dir.path().join(&path), self.place.join(&path));
        let above = path.parent().map_or(Ok(()), fs::create_dir_all);
        above
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|error| FileError::Write { path: place, error })
    }

    /// Moves the folder to its place, which must be free.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it can't be moved there, or the place is taken.
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

    /// Moves the folder to its place, and removes an existing folder there.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it can't be moved there, or an entry other than a folder has the place.
    pub fn put_over(self) -> Result<PathBuf, FileError> {
        match self.place.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.put(),
            Err(error) => Err(FileError::Write { path: self.place, error }),
            Ok(there) if !there.is_dir() => Err(FileError::NotFolder(self.place)),
            Ok(_) => {
                let Self { place, dir, .. } = self;
                // The old folder is in the temporary folder now, and is removed with it.
                set_readable(dir.path())
                    .and_then(|()| exchange(dir.path(), &place))
                    .map_err(|error| FileError::Write { path: place.clone(), error })?;
                Ok(place)
            }
        }
    }
}

/// Removes a folder, in one step for a reader: it gets a name that begins with `prefix` before its files are removed. A
/// missing folder is accepted.
///
/// # Errors
///
/// [`FileError`] if it can't be removed, or a link is on the way.
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
    // The rest of an earlier attempt is in the way.
    let _ = fs::remove_dir_all(&aside);
    fs::rename(&place, &aside).and_then(|()| fs::remove_dir_all(aside)).map_err(refused)
}

/// Exchanges `fresh` and `target`, in one step if the system can.
fn exchange(fresh: &Path, target: &Path) -> io::Result<()> {
    // As a call of the kernel: the C library has it since glibc 2.28 only.
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(CWD, fresh, CWD, target, RenameFlags::EXCHANGE) {
            // The kernel or the file system can't exchange folders.
            Err(Errno::INVAL | Errno::NOSYS) => {}
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

/// Removes the folders of a killed writer. This process has the lock, so no other one writes. A folder that may hold
/// the previous content of the place stays, and is found as a leftover.
fn remove_abandoned(dir: &Path, prefix: &str) {
    // A folder that can't be listed can't be written to either, which the caller finds out.
    for path in unfinished(dir, &[prefix]).into_iter().flatten() {
        if path.extension().is_none_or(|extension| extension != "old") {
            // The folder itself is written all the same.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Makes a temporary folder readable for others, as folders of a workspace are.
fn set_readable(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, Permissions::from_mode(0o755))
}

/// The time that a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(30);
/// The shortest and the longest pause before a writer looks again.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// Waits until no other process writes to `dir`, and locks it; the lock ends when it is dropped or its process ends.
///
/// # Errors
///
/// [`FileError::Busy`] if another writer does not end, and [`FileError::Write`] if the folder can't be locked.
pub fn lock(dir: &Path) -> Result<Flock<File>, FileError> {
    let refused = |error: io::Error| FileError::Write { path: dir.to_owned(), error };
    let begin = Instant::now();
    let [mut pause, longest] = PAUSES;
    let mut file = File::open(dir).map_err(refused)?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((again, Errno::EWOULDBLOCK)) if begin.elapsed() < PATIENCE => {
                file = again;
                thread::sleep(pause);
                pause = longest.min(pause * 2);
            }
            Err((_, Errno::EWOULDBLOCK)) => return Err(FileError::Busy(dir.to_owned())),
            Err((_, error)) => return Err(refused(error.into())),
        }
    }
}

/// Keeps writers out of `dir` until the lock is dropped; `None` while one writes there.
///
/// # Errors
///
/// When the folder can't be opened.
fn without_writers(dir: &Path) -> io::Result<Option<Flock<File>>> {
    Ok(Flock::lock(File::open(dir)?, FlockArg::LockSharedNonblock).ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::files::UNFINISHED;

    #[test]
    fn a_link_is_no_folder_of_a_workspace() {
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
