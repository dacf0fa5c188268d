//! Folders: those that may not be links, and what is in them.

use std::io;
use std::path::{Path, PathBuf};

use super::error::FileError;
use super::lock::without_writers;
use super::way::{place, real_folder};

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

/// Returns whether there is an entry at `path`, even a link without a target.
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

/// Makes a folder, and those above it that are not there; one that is there already stays.
///
/// # Errors
///
/// [`FileError`] when it can't be made, something else is there, or a link is on the way.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    MadeFolders::make(path)?.keep();
    Ok(())
}

/// Folders that were made for what comes into them; those that are empty in the end are removed again.
#[derive(Debug, Default)]
pub(super) struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Makes a folder as [`make_folder`] does.
    pub(super) fn make(path: &Path) -> Result<Self, FileError> {
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
                    // Another process made it meanwhile.
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
            // One with something in it stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Moves a file to another place, which it takes.
///
/// # Errors
///
/// [`FileError`] when it can't be moved, or a link is on the way.
pub fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    std::fs::rename(place(from)?, place(to)?)
        .map_err(|error| FileError::Write { path: to.to_owned(), error })
}

/// Removes a file; one that is not there is removed already, maybe by another process.
///
/// # Errors
///
/// [`FileError`] when it can't be removed, or a link is on the way.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(place(path)?) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::Write { path: path.to_owned(), error })
        }
        _ => Ok(()),
    }
}

/// The bytes of those files that are there.
///
/// # Errors
///
/// When the size of one can't be told.
pub fn bytes(paths: &[PathBuf]) -> io::Result<u64> {
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

/// The entries that writers in `dir` left when they were ended: those whose names begin with one of `prefixes`, sorted.
/// Empty where the folder is not there, or while a writer has its [lock](super::lock).
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

/// The entries of `dir` whose names begin with one of `prefixes`, sorted.
///
/// # Errors
///
/// When the folder can't be read.
pub(super) fn unfinished(dir: &Path, prefixes: &[&str]) -> io::Result<Vec<PathBuf>> {
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
}
