//! Temporary folders that are always removed in the end, even after a `kill -9`.
//!
//! A folder `clitape-Ab12Cd` has a lock file `clitape-Ab12Cd.lock` beside it. The lock file names the process that uses
//! the folder, and this process holds a lock on it. It is created before the folder and removed after it, so that a
//! folder always has a lock file. [`sweep`] removes the folders whose process has ended.
//!
//! A folder that another program has filled is removed at any depth, with any modes, and without following a link: a
//! folder in it is moved up to the root before it is removed itself, so that no path gets long and at most two folders
//! are open.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fs_err as fs;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::Uid;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno as RustixErrno;
use serde::{Deserialize, Serialize};
use tempfile::TempPath;

use super::processes::{end_started_in, start_time};
use crate::host::HostPaths;

/// The start of the names of folders in the system's folder for temporary files.
pub const PREFIX: &str = "clitape-";
/// The end of the names of lock files.
const LOCK: &str = ".lock";
/// The number of tries to remove a folder that another thread may remove too.
const TRIES: usize = 20;
/// The most bytes of a lock file; clitape writes shorter ones.
const LONGEST: u64 = 200;

/// The content of a lock file: the process that uses the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Owner {
    pid: i32,
    /// The start of the process, in clock ticks since the machine started; 0 if that is unknown.
    start: u64,
}

impl Owner {
    fn this_process() -> Self {
        let pid = nix::unistd::getpid().as_raw();
        Self { pid, start: start_time(pid).unwrap_or(0) }
    }

    fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.start)
    }
}

/// The folders of this process. A thread that makes one holds the lock, so that the set lacks no folder.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is valid after any panic.
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary folder. Dropping it removes it and ends every process that was started with it.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    lock: Option<TempPath>,
    /// The lock on the lock file while the folder is used; an unlocked file if the file system has no locks.
    _held: Result<Flock<File>, File>,
}

impl Scratch {
    /// Creates a folder for a [`Program`](super::Program) in the machine's folder for temporary files.
    ///
    /// # Errors
    ///
    /// When the folder can't be made.
    pub fn for_program(host: &HostPaths) -> io::Result<Self> {
        // Processes that use the folder have its real path.
        Self::new(&fs::canonicalize(&host.temporary)?, PREFIX)
    }

    /// Creates a folder in `parent` whose name begins with `prefix`.
    pub fn new(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mut folders = folders();
        loop {
            let file = tempfile::Builder::new().prefix(prefix).suffix(LOCK).tempfile_in(parent)?;
            let (mut file, path) = file.into_parts();
            let text = toml::to_string(&Owner::this_process()).map_err(io::Error::other)?;
            let held = match Flock::lock(file.try_clone()?, FlockArg::LockExclusiveNonblock) {
                Ok(held) => Ok(held),
                // Another process has found the new file stale and will remove it.
                Err((_, Errno::EWOULDBLOCK)) => continue,
                Err((file, _)) => Err(file),
            };
            file.write_all(text.as_bytes())?;
            if file.metadata()?.nlink() == 0 {
                continue;
            }
            let root = path.with_extension("");
            match std::fs::DirBuilder::new().mode(0o700).create(&root) {
                Ok(()) => {
                    folders.insert(root.clone());
                    return Ok(Self { root, lock: Some(path), _held: held });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the path of its lock file.
    pub fn lock(&self) -> PathBuf {
        lock_of(&self.root)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        end_started_in(&self.root);
        if remove_tree(&self.root).is_err()
            && let Some(lock) = self.lock.take()
        {
            // Keeps the lock file, by which the next sweep finds the folder. `keep` fails only on Windows.
            let _ = lock.keep();
        }
        folders().remove(&self.root);
    }
}

/// Removes all folders of this process, which exits next without dropping their owners: no other folder can be made.
/// Their programs have been ended, and what can't be removed is left to their supervisors.
pub fn remove_all() {
    let folders = folders();
    remove_each(&folders);
    std::mem::forget(folders);
}

fn remove_each(folders: &BTreeSet<PathBuf>) {
    for root in folders {
        // Their owner may remove it at the same time, so that a name that was listed is gone.
        let is_removed = (0..TRIES).any(|_| remove_tree(root).is_ok());
        if is_removed {
            // An error means that the owner has removed it too.
            let _ = std::fs::remove_file(lock_of(root));
        }
    }
}

fn lock_of(root: &Path) -> PathBuf {
    let mut name = root.as_os_str().to_owned();
    name.push(LOCK);
    name.into()
}

/// The number of folders and processes that `sweep` removed and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// The folders that no running clitape used.
    pub folders: usize,
    /// The processes that were started with them.
    pub processes: usize,
}

/// Removes the folders in `parent` whose names begin with `prefix` and whose process has ended. A folder
/// without a lock file, or of another user, stays.
pub(crate) fn sweep(parent: &Path, prefix: &str) -> Swept {
    let mut swept = Swept::default();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_lock = name.to_str().is_some_and(|name| is_lock_name(name, prefix));
        if is_lock && let Some(processes) = clean(&entry.path()) {
            swept.folders += 1;
            swept.processes += processes;
        }
    }
    swept
}

/// Removes the folders that killed runs left in `temporary`, the folder for temporary files.
pub fn remove_stale(temporary: &Path) -> Swept {
    // Sandboxes and the processes in them use the real path of the folder.
    sweep(&temporary.canonicalize().unwrap_or(temporary.to_owned()), PREFIX)
}

/// Returns whether a name is that of a lock file: the prefix, maybe a word, and random characters.
fn is_lock_name(name: &str, prefix: &str) -> bool {
    let stem = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(LOCK));
    stem.is_some_and(|stem| {
        !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}

/// Removes the folder of a stale lock file and the lock file. Returns the number of processes that used the folder, or
/// `None` if the lock file is in use or is not one of clitape's.
pub(crate) fn clean(lock: &Path) -> Option<usize> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(lock).ok()?;
    let is_ours = |found: &std::fs::Metadata| found.uid() == Uid::effective().as_raw();
    let found = file.metadata().ok()?;
    if !found.is_file() || !is_ours(&found) || found.len() > LONGEST {
        return None;
    }
    let held = match Flock::lock(file.try_clone().ok()?, FlockArg::LockExclusiveNonblock) {
        Ok(held) => Some(held),
        Err((_, Errno::EWOULDBLOCK)) => return None,
        Err(_) => None,
    };
    if file.metadata().ok()?.nlink() == 0 {
        return None;
    }
    let mut text = String::new();
    (&file).take(LONGEST).read_to_string(&mut text).ok()?;
    let root = lock.with_extension("");
    let folder = std::fs::symlink_metadata(&root).ok();
    let mut processes = 0;
    match (toml::from_str::<Owner>(&text), folder) {
        // Its process was killed before it wrote the lock file, and so before it created the folder.
        (_, None) if text.is_empty() => {}
        (Ok(owner), None) if !owner.is_alive() => {}
        (Ok(owner), Some(folder)) if !owner.is_alive() && folder.is_dir() && is_ours(&folder) => {
            processes = end_started_in(&root);
            remove_tree(&root).ok()?;
        }
        _ => return None,
    }
    fs::remove_file(lock).ok()?;
    drop(held);
    Some(processes)
}

/// Removes a folder with its content. A folder that does not exist is not an error.
fn remove_tree(root: &Path) -> io::Result<()> {
    let folder = match opened(CWD, root) {
        Err(RustixErrno::NOENT) => return Ok(()),
        other => other?,
    };
    let mut moved = 0;
    loop {
        let names = names(&folder)?;
        if names.is_empty() {
            return Ok(unlinkat(CWD, root, AtFlags::REMOVEDIR)?);
        }
        for name in names {
            if unlinkat(&folder, &name, AtFlags::empty()).is_ok() {
                continue;
            }
            let below = opened(&folder, &name)?;
            for child in self::names(&below)? {
                if unlinkat(&below, &child, AtFlags::empty()).is_err() {
                    // A folder that can't be written can't be moved.
                    opened(&below, &child)?;
                    move_up(&below, &child, &folder, &mut moved)?;
                }
            }
            unlinkat(&folder, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Moves a folder into `root`, under a free name.
fn move_up(from: &OwnedFd, name: &CString, root: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match renameat(from, name, root, format!("moved-{moved}")) {
            Err(RustixErrno::EXIST | RustixErrno::NOTEMPTY | RustixErrno::NOTDIR) => {}
            other => return Ok(other?),
        }
    }
}

/// Opens a folder, which must not be a link, and gives its owner all rights to it.
fn opened(at: impl AsFd, name: impl rustix::path::Arg + Copy) -> Result<OwnedFd, RustixErrno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;

        let place = openat(&at, name, flags | OFlags::PATH, Mode::empty())?;
        if Mode::from_raw_mode(fstat(&place)?.st_mode).contains(Mode::RWXU) {
            return openat(&place, c".", flags, Mode::empty());
        }
        // The number of the open file is used, because any other name may be a link by now.
        rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
        openat(&place, c".", flags, Mode::empty())
    }
    #[cfg(not(target_os = "linux"))]
    {
        // An error means that the folder is opened with its present rights.
        let _ = rustix::fs::chmodat(&at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW);
        openat(&at, name, flags, Mode::empty())
    }
}

/// Lists the names in a folder.
fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let entries = Dir::read_from(folder)?;
    let names = entries.filter_map(|entry| match entry {
        Ok(entry) => {
            let name = entry.file_name();
            (name != c"." && name != c"..").then(|| Ok(name.to_owned()))
        }
        Err(error) => Some(Err(error.into())),
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Makes a parent folder with one folder, whose lock file contains `text`.
    fn left(text: &str) -> tempfile::TempDir {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir_all(parent.path().join("clitape-a/home")).unwrap();
        fs::write(parent.path().join("clitape-a.lock"), text).unwrap();
        parent
    }

    fn names(parent: &Path) -> Vec<String> {
        let entries = fs::read_dir(parent).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_goes_with_its_lock_file_and_what_can_not_be_written() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(parent.path(), PREFIX).unwrap();
        assert_eq!(scratch.lock(), lock_of(scratch.path()));
        assert_eq!(names(parent.path()).len(), 2);
        let locked = scratch.path().join("locked");
        fs::create_dir(&locked).unwrap();
        fs::write(locked.join("a"), "").unwrap();
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o500)).unwrap();
        assert_eq!(sweep(parent.path(), PREFIX), Swept::default(), "it is in use");
        drop(scratch);
        assert_eq!(names(parent.path()), [""; 0]);
    }

    #[test]
    fn an_exit_removes_a_folder_beside_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        for _ in 0..50 {
            let scratch = Scratch::new(parent.path(), PREFIX).unwrap();
            let root = scratch.path().to_owned();
            (0..50).for_each(|number| fs::create_dir(root.join(number.to_string())).unwrap());
            assert!(folders().contains(&root));
            let all = BTreeSet::from([root.clone()]);
            std::thread::scope(|scope| {
                scope.spawn(|| drop(scratch));
                remove_each(&all);
            });
            assert_eq!(names(parent.path()), [""; 0]);
            assert!(!folders().contains(&root));
        }
        // Its owner is never dropped.
        let scratch = std::mem::ManuallyDrop::new(Scratch::new(parent.path(), PREFIX).unwrap());
        remove_each(&BTreeSet::from([scratch.path().to_owned()]));
        assert_eq!(names(parent.path()), [""; 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_nobody_uses_is_removed_and_the_rest_stays() {
        let me = Owner::this_process();
        let text = |owner: Owner| toml::to_string(&owner).unwrap();
        let stale = text(Owner { start: me.start + 1, ..me });
        for (text, is_removed) in [
            (&*stale, true),
            ("pid = 2147483647\nstart = 1\n", true),
            (&*text(me), false),
            ("", false),
            ("pid = 1", false),
            ("pid = 2147483647\nstart = 1\nfolder = '/'\n", false),
            (&*format!("{stale}#{}", "x".repeat(200)), false),
        ] {
            let parent = left(text);
            let expect = Swept { folders: usize::from(is_removed), processes: 0 };
            assert_eq!(sweep(parent.path(), PREFIX), expect, "{text}");
            assert_eq!(names(parent.path()).is_empty(), is_removed, "{text}");
        }
    }

    #[test]
    fn links_and_folders_without_a_lock_file_stay() {
        let stale = "pid = 2147483647\nstart = 1\n";
        let parent = left(stale);
        let at = |name: &str| parent.path().join(name);
        fs::rename(at("clitape-a"), at("kept")).unwrap();
        std::os::unix::fs::symlink(at("kept"), at("clitape-a")).unwrap();
        fs::create_dir(at("clitape-b")).unwrap();
        fs::create_dir(at("clitape-c")).unwrap();
        std::os::unix::fs::symlink(at("clitape-a.lock"), at("clitape-c.lock")).unwrap();
        let before = names(parent.path());
        assert_eq!(sweep(parent.path(), PREFIX), Swept::default());
        assert_eq!(names(parent.path()), before);
        assert!(at("kept/home").is_dir());
        // A process that was killed before it wrote its lock file made no folder.
        fs::write(at("clitape-d.lock"), "").unwrap();
        assert_eq!(sweep(parent.path(), PREFIX).folders, 1);
        assert_eq!(names(parent.path()), before);
    }

    #[test]
    fn a_deep_folder_goes_and_what_its_links_lead_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [root, outside] = ["root", "outside"].map(|name| dir.path().join(name));
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::create_dir_all(root.join("moved-1/x")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        symlink(&outside, root.join("a/b/link")).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        let mut folder = opened(CWD, &root).unwrap();
        // The path is longer than any that the system accepts.
        for _ in 0..5_000 {
            rustix::fs::mkdirat(&folder, c"d", Mode::RWXU).unwrap();
            folder = opened(&folder, c"d").unwrap();
        }
        let closed = fs::Permissions::from_mode(0o0);
        fs::set_permissions(root.join("a/b/c"), closed.clone()).unwrap();
        fs::set_permissions(root.join("a/b"), closed.clone()).unwrap();
        let open = fs::metadata(&outside).unwrap().permissions();
        fs::set_permissions(&root, closed).unwrap();
        remove_tree(&root).unwrap();
        assert!(!root.exists() && outside.join("kept").exists());
        assert_eq!(fs::metadata(&outside).unwrap().permissions(), open);
        remove_tree(&root).unwrap();
        symlink(&outside, &root).unwrap();
        assert!(remove_tree(&root).is_err() && outside.join("kept").exists());
    }
}
