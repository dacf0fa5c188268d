//! Writes cassettes: whole or not at all, one writer at a time.
//!
//! The files go to a folder beside the cassette, which then takes its place in one step, so that a
//! reader sees the old cassette or the new one, and so does whoever looks after a crash. A crash may
//! leave the folder beside it; [`abandoned`] finds those.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fs_err as fs;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::format::RunFacts;
use super::format::render_timeline;
use super::hash::sha256;
use super::seal::sealed;
use super::store::{CassetteError, MANIFEST, counts};
use super::take::Take;
use crate::files;
use crate::names::{CassetteFile, CassettePart};
use crate::scenario::Workspace;

/// How folders begin in which a cassette is written, in this version and before.
const UNFINISHED: [&str; 3] = [".writing-", ".taking-", ".replaced-"];

/// How long a writer waits for another one of the same scenario.
const PATIENCE: Duration = Duration::from_secs(30);

impl Take {
    /// Writes the take as the cassette of its scenario and CLI version, in place of an existing one
    /// there.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when a folder on the way is a link, a file can't be written, or another writer
    /// of the scenario does not end; what stood there stays.
    pub fn write(&self, workspace: &Workspace) -> Result<PathBuf, CassetteError> {
        let parent = workspace.make_cassettes(&self.manifest.scenario)?;
        let _lock = lock(&parent)?;
        remove_unfinished(&parent);
        let fresh = tempfile::Builder::new().prefix(UNFINISHED[0]).tempdir_in(&parent)?;
        self.write_files(fresh.path())?;
        set_readable(fresh.path())?;

        let target = workspace.cassette(&self.manifest.scenario, &self.manifest.cli.version);
        match target.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::rename(fresh.path(), &target)?;
                let _moved = fresh.keep();
            }
            Err(error) => return Err(error.into()),
            Ok(metadata) if !metadata.is_dir() => {
                return Err(CassetteError::File(files::FileError::NotFolder(target)));
            }
            // The previous cassette is in the fresh folder now, and is removed with it.
            Ok(_) => exchange(fresh.path(), &target)?,
        }
        Ok(target)
    }

    /// Writes all files of the cassette into `dir`.
    fn write_files(&self, dir: &Path) -> Result<(), CassetteError> {
        let mut manifest = self.manifest.clone();
        manifest.counts = counts(&self.stdout, &self.timeline);
        let further = self.further.iter();
        let further = further.map(|run| RunFacts {
            counts: counts(&run.stdout, &run.timeline),
            ..run.facts.clone()
        });
        manifest.runs = further.collect();
        let files = self.runs().flat_map(|run| {
            let timeline = CassetteFile::new(CassettePart::Timeline, run.number);
            let rendered = Cow::from(render_timeline(run.timeline).into_bytes());
            let files = run.files.into_iter().map(|(file, bytes)| (file, Cow::from(bytes)));
            std::iter::once((timeline, rendered)).chain(files)
        });
        for (file, bytes) in files {
            let is_always_there =
                matches!(file.part(), CassettePart::Stdout | CassettePart::Timeline);
            if let Some(path) = file.path(dir)
                && (is_always_there || !bytes.is_empty())
            {
                fs::write(path, &bytes)?;
                manifest.sha256.insert(file, sha256(&bytes));
            }
        }
        let text = toml::to_string(&manifest).map_err(io::Error::other)?;
        Ok(fs::write(dir.join(MANIFEST), sealed(&text))?)
    }
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

/// Removes the files of a writer that was killed. No other process writes while this one has the lock. A folder
/// that may hold the cassette that was there before stays, to be found by [`abandoned`].
fn remove_unfinished(dir: &Path) {
    let left = files::leftovers(dir, &UNFINISHED[..1]);
    // A folder that can't be listed can't be written to either, which the caller finds out.
    for path in left.into_iter().flatten() {
        if path.extension().is_none_or(|extension| extension != "old") {
            // The cassette itself is written all the same.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Waits until no one else writes to `dir`; the lock ends when it is dropped or its process ends.
fn lock(dir: &Path) -> Result<Flock<File>, CassetteError> {
    let begin = Instant::now();
    let mut file = File::open(dir)?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((again, Errno::EWOULDBLOCK)) if begin.elapsed() < PATIENCE => {
                file = again;
                thread::sleep(Duration::from_millis(20));
            }
            Err((_, Errno::EWOULDBLOCK)) => return Err(CassetteError::Busy(dir.to_owned())),
            Err((_, error)) => return Err(io::Error::from(error).into()),
        }
    }
}

/// Folders in `dir`, that of a scenario's cassettes, which a writer left when it was ended; none while
/// somebody writes there.
///
/// # Errors
///
/// When the folder can't be read.
pub(crate) fn abandoned(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let is_written = || {
        Flock::lock(File::open(dir)?, FlockArg::LockSharedNonblock)
            .map_or(Ok(true), |_| io::Result::Ok(false))
    };
    if !dir.is_dir() || is_written()? {
        return Ok(Vec::new());
    }
    files::leftovers(dir, &UNFINISHED)
}

/// Temporary folders are private to their owner; a cassette is not.
fn set_readable(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))
}
