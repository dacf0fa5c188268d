//! The cache folder: the installed CLIs, builds and recordings that commands store in it, and their removal.
//!
//! Everything in it can be made again. An entry is one installed CLI, one subject or revision of a subject, one build
//! of clitape, or the recordings that `clitape drift` made with one CLI. Other files in the folder are left alone.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fs_err as fs;
use strum::IntoEnumIterator as _;
use walkdir::WalkDir;

use clitape_recording::clock;
use clitape_recording::text::{did_you_mean, near, plain};

/// The starts of the names of folders that are being made.
const UNFINISHED: [&str; 2] = [".installing-", ".building-"];
/// The start of the name of a folder that is being removed.
const REMOVING: &str = ".removing-";
/// The age at which an unfinished folder counts as left behind.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// The folder below `builds` in which cargo compiles.
const TARGET: &str = "target";

/// The kinds of entries, which are the folders of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumIter)]
#[strum(serialize_all = "lowercase")]
pub enum CacheKind {
    /// A CLI that npm installed, by its version.
    Claude,
    /// A gateway, parser or agent that npm installed, or a revision of one.
    Subjects,
    /// A revision of clitape, built for `clitape compare`.
    Builds,
    /// Recordings that `clitape drift` made with one CLI.
    Drift,
}

/// An entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// The kind.
    pub kind: CacheKind,
    /// The name of its folder: the version of a CLI or the id of a build.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
    /// The sum of the sizes of its files, in bytes.
    pub bytes: u64,
    /// The time when one of its files was last read or written, as far as the file system records it.
    pub used: SystemTime,
}

/// The error for a name that no entry of the cache has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cache has no `{}`{hint}", plain(.name))]
pub struct NoSuchEntry {
    name: String,
    hint: String,
}

impl CacheEntry {
    /// Returns the name of the entry on a command line: `claude/2.1.329`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// Describes the entry for people.
    pub fn about(&self) -> String {
        match self.kind {
            CacheKind::Claude => format!("claude {}, installed by npm", self.name),
            CacheKind::Subjects => "installed for `test --subject`".to_owned(),
            CacheKind::Builds if self.name == TARGET => "what cargo compiles for builds".to_owned(),
            CacheKind::Builds => "clitape, built for `compare git:…`".to_owned(),
            CacheKind::Drift => match self.version() {
                Some(version) => format!("recordings of claude {version} for `drift`"),
                None => "recordings for `drift`".to_owned(),
            },
        }
    }

    /// Returns the version of the CLI that the entry is, or that made it.
    pub fn version(&self) -> Option<String> {
        match self.kind {
            CacheKind::Claude => Some(self.name.clone()),
            CacheKind::Drift => {
                // The folders are DIGEST/cassettes/SCENARIO/VERSION.
                let walk = WalkDir::new(&self.path).min_depth(4).max_depth(4);
                let mut folders = walk.into_iter().filter_map(Result::ok);
                folders.find_map(|it| Some(plain(it.file_name().to_str()?)))
            }
            CacheKind::Subjects | CacheKind::Builds => None,
        }
    }

    /// Returns the day of the last use (UTC), `YYYY-MM-DD`.
    pub fn used_on(&self) -> String {
        clock::day(self.used)
    }

    /// Removes the entry: first it is renamed, so that no command uses a half of it, then its files are removed.
    ///
    /// # Errors
    ///
    /// When it can't be renamed or removed.
    pub fn remove(&self) -> io::Result<()> {
        let parent = self.path.parent().unwrap_or(&self.path);
        let aside = parent.join(format!("{REMOVING}{}-{}", std::process::id(), self.name));
        fs::rename(&self.path, &aside)?;
        fs::remove_dir_all(aside)
    }
}

/// Lists the entries of the cache, the longest unused first; empty if the folder does not exist.
///
/// # Errors
///
/// When a folder can't be read.
pub fn entries(cache: &Path) -> io::Result<Vec<CacheEntry>> {
    let mut found = Vec::new();
    for kind in CacheKind::iter() {
        let folder = cache.join(kind.to_string());
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !entry.file_type()?.is_dir()
                || name.starts_with('.') && !is_left(&name, &entry.path())
            {
                continue;
            }
            let (bytes, used) = measure(&entry.path())?;
            found.push(CacheEntry { kind, name, path: entry.path(), bytes, used });
        }
    }
    found.sort_by(|a, b| a.used.cmp(&b.used).then_with(|| a.id().cmp(&b.id())));
    Ok(found)
}

/// Returns whether a hidden folder was left by a clitape that was ended while it made or removed an entry.
fn is_left(name: &str, path: &Path) -> bool {
    let is_old = || {
        let changed = path.symlink_metadata().and_then(|it| it.modified()).ok();
        changed.and_then(|it| it.elapsed().ok()).is_some_and(|age| age > ABANDONED)
    };
    let is_unfinished = UNFINISHED.iter().any(|start| name.starts_with(start));
    (is_unfinished || name.starts_with(REMOVING)) && is_old()
}

/// Returns the bytes of all files below a folder, and the last time when one of them was read or written.
fn measure(folder: &Path) -> io::Result<(u64, SystemTime)> {
    let (mut bytes, mut used) = (0, UNIX_EPOCH);
    // npm links a large program under several names.
    let mut linked = BTreeSet::new();
    for entry in WalkDir::new(folder) {
        // Another clitape may remove the file at the same time.
        let Ok(metadata) = entry.and_then(|entry| entry.metadata()) else { continue };
        if !metadata.is_dir() {
            if metadata.nlink() < 2 || linked.insert((metadata.dev(), metadata.ino())) {
                bytes += metadata.len();
            }
            let times = [metadata.accessed().ok(), metadata.modified().ok()];
            used = times.into_iter().flatten().fold(used, SystemTime::max);
        }
    }
    if used == UNIX_EPOCH {
        used = fs::symlink_metadata(folder)?.modified()?;
    }
    Ok((bytes, used))
}

/// Returns the entries that `name` means: a kind such as `drift`, an entry such as `claude/2.1.329`, or its version
/// alone.
///
/// # Errors
///
/// [`NoSuchEntry`] when it means none.
pub fn named<'e>(
    entries: &'e [CacheEntry],
    name: &str,
) -> Result<Vec<&'e CacheEntry>, NoSuchEntry> {
    let is_meant =
        |it: &&CacheEntry| it.kind.to_string() == name || it.id() == name || it.name == name;
    let found: Vec<&CacheEntry> = entries.iter().filter(is_meant).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let kinds: Vec<String> = CacheKind::iter().map(|kind| kind.to_string()).collect();
    // A kind without entries is a valid name.
    if kinds.iter().any(|kind| kind == name) {
        return Ok(Vec::new());
    }
    let ids: Vec<String> = entries.iter().map(CacheEntry::id).collect();
    let names = entries.iter().map(|it| it.name.as_str());
    let known = ids.iter().chain(&kinds).map(String::as_str).chain(names);
    let hint = match did_you_mean(&near(name, known)) {
        hint if hint.is_empty() => "; `clitape cache` lists what it has".to_owned(),
        hint => hint,
    };
    Err(NoSuchEntry { name: name.to_owned(), hint })
}

/// Returns the entries to remove so that the others take no more than `most` bytes. `entries` must begin with the
/// longest unused, which go first.
pub fn over(entries: &[CacheEntry], most: u64) -> &[CacheEntry] {
    let mut rest: u64 = entries.iter().map(|it| it.bytes).sum();
    let mut count = 0;
    while rest > most && count < entries.len() {
        rest -= entries[count].bytes;
        count += 1;
    }
    &entries[..count]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: CacheKind, name: &str, bytes: u64) -> CacheEntry {
        let path = PathBuf::from(name);
        CacheEntry { kind, name: name.to_owned(), path, bytes, used: UNIX_EPOCH }
    }

    #[test]
    fn what_was_not_used_for_longest_leaves_first() {
        let all = [
            entry(CacheKind::Claude, "1.0.128", 300),
            entry(CacheKind::Drift, "f390", 10),
            entry(CacheKind::Claude, "2.1.332", 300),
        ];
        for (most, expect) in
            [(1_000, 0), (610, 0), (609, 1), (310, 1), (309, 2), (300, 2), (299, 3), (0, 3)]
        {
            assert_eq!(over(&all, most).len(), expect, "{most}");
        }
    }

    #[test]
    fn an_entry_has_several_names() {
        let all = [
            entry(CacheKind::Claude, "1.0.128", 1),
            entry(CacheKind::Claude, "2.1.332", 1),
            entry(CacheKind::Drift, "f390", 1),
        ];
        for (name, expect) in [
            ("claude", Ok(2)),
            ("claude/2.1.332", Ok(1)),
            ("2.1.332", Ok(1)),
            ("drift", Ok(1)),
            ("builds", Ok(0)),
            ("2.1.333", Err("did you mean `2.1.332`")),
            ("everything", Err("`clitape cache` lists what it has")),
        ] {
            match (named(&all, name), expect) {
                (Ok(found), Ok(count)) => assert_eq!(found.len(), count, "{name}"),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (got, _) => panic!("{name}: {got:?}"),
            }
        }
    }
}
