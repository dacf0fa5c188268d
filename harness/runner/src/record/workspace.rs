//! The files of a scenario's workspace, and the fresh folders of a run: HOME, TMPDIR and project in one temporary
//! folder with a short path. The files are checked first, and then copied into the project, in which the CLI runs.

use std::io::{self, ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clitape_gateway::ByteSize;
use clitape_process::{PREFIX, Scratch};
use clitape_recording::files::{self, FileError};
use clitape_recording::limits::{WORKSPACE_BYTES, WORKSPACE_FILES};
use clitape_recording::scenario::ScenarioError;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use nix::fcntl::OFlag;
use sha2::{Digest as _, Sha256};
use walkdir::WalkDir;

use super::RecordError;

/// The limits of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkspaceLimits {
    /// The most bytes of all files together.
    pub bytes: ByteSize,
    /// The most files, folders and links.
    pub files: usize,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self { bytes: WORKSPACE_BYTES, files: WORKSPACE_FILES }
    }
}

/// The bytes of one read; the caller can stop between two reads.
const CHUNK: usize = 1 << 20;

/// The kind of a [`CopiedFile`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopiedKind {
    Folder,
    Link,
    File,
}

/// An entry of a workspace.
#[derive(Debug)]
struct CopiedFile {
    /// Its path in the workspace.
    inside: PathBuf,
    kind: CopiedKind,
    mode: u32,
}

/// A workspace that contains only folders, links and regular files, within its limits.
#[derive(Debug)]
pub(crate) struct ScenarioFolder {
    root: PathBuf,
    entries: Vec<CopiedFile>,
    limits: WorkspaceLimits,
}

impl ScenarioFolder {
    /// Checks the workspace in `root` without opening a file. A missing folder is an empty workspace.
    pub(crate) fn read(
        root: &Path,
        limits: WorkspaceLimits,
        stop: &AtomicBool,
    ) -> Result<Self, RecordError> {
        let mut found = Self { root: root.to_owned(), entries: Vec::new(), limits };
        match std::fs::symlink_metadata(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Ok(folder) if folder.is_dir() => {}
            Ok(_) => return Err(unsupported(root, "no folder")),
            Err(error) => return Err(error.into()),
        }
        let mut size = 0;
        for entry in WalkDir::new(root).min_depth(1).sort_by_file_name() {
            check(stop)?;
            let entry = entry.map_err(io::Error::from)?;
            let metadata = entry.metadata().map_err(io::Error::from)?;
            let kind = metadata.file_type();
            let kind = if kind.is_dir() {
                CopiedKind::Folder
            } else if kind.is_symlink() {
                CopiedKind::Link
            } else if kind.is_file() {
                size += metadata.len();
                CopiedKind::File
            } else {
                let what = match kind {
                    _ if kind.is_fifo() => "a FIFO",
                    _ if kind.is_socket() => "a socket",
                    _ => "a device",
                };
                return Err(unsupported(entry.path(), what));
            };
            if size > limits.bytes.get() {
                return Err(found.too_large());
            }
            if found.entries.len() >= limits.files {
                return Err(RecordError::ManyFiles { path: found.root, limit: limits.files });
            }
            let Ok(inside) = entry.path().strip_prefix(root) else {
                continue;
            };
            let inside = inside.to_owned();
            found.entries.push(CopiedFile { inside, kind, mode: metadata.mode() & 0o7777 });
        }
        Ok(found)
    }

    /// Returns the paths of its files and links.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.entries.iter().filter(|entry| entry.kind != CopiedKind::Folder);
        files.map(|entry| entry.inside.as_path())
    }

    /// Returns the paths of its links.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Path> {
        self.of_kind(CopiedKind::Link)
    }

    /// Returns the paths of its regular files, without links.
    pub(crate) fn regular_files(&self) -> impl Iterator<Item = &Path> {
        self.of_kind(CopiedKind::File)
    }

    fn of_kind(&self, kind: CopiedKind) -> impl Iterator<Item = &Path> {
        let entries = self.entries.iter().filter(move |entry| entry.kind == kind);
        entries.map(|entry| entry.inside.as_path())
    }

    fn too_large(&self) -> RecordError {
        RecordError::LargeWorkspace { path: self.root.clone(), limit: self.limits.bytes }
    }

    /// Copies the workspace into the folder `to`, and keeps modes and links.
    fn copy(&self, to: &Path, stop: &AtomicBool) -> Result<(), RecordError> {
        let mut size = 0;
        for CopiedFile { inside, kind, mode } in &self.entries {
            check(stop)?;
            let (from, target) = (self.root.join(inside), to.join(inside));
            match kind {
                CopiedKind::Folder => fs::create_dir(&target)?,
                CopiedKind::Link => fs::os::unix::fs::symlink(fs::read_link(&from)?, &target)?,
                CopiedKind::File => {
                    let mut new = fs::OpenOptions::new();
                    let mut new = new.write(true).create_new(true).mode(*mode).open(&target)?;
                    self.each_chunk(&from, &mut size, stop, |chunk| {
                        io::Write::write_all(&mut new, chunk)
                    })?;
                    new.set_permissions(std::fs::Permissions::from_mode(*mode))?;
                }
            }
        }
        Ok(())
    }

    /// Adds the names, kinds, contents and executable bits of all entries to a hash.
    pub(crate) fn hash(&self, hash: &mut Sha256, stop: &AtomicBool) -> Result<(), RecordError> {
        let mut size = 0;
        for CopiedFile { inside, kind, mode } in &self.entries {
            check(stop)?;
            let from = self.root.join(inside);
            let (bytes, is_executable) = match kind {
                CopiedKind::Folder => (Vec::new(), false),
                CopiedKind::Link => (fs::read_link(&from)?.as_os_str().as_bytes().to_vec(), false),
                CopiedKind::File => {
                    let mut whole = Sha256::new();
                    self.each_chunk(&from, &mut size, stop, |chunk| {
                        whole.update(chunk);
                        Ok(())
                    })?;
                    (whole.finalize().to_vec(), mode & 0o111 != 0)
                }
            };
            field(hash, &[*kind as u8, u8::from(is_executable)]);
            field(hash, inside.as_os_str().as_bytes());
            field(hash, &bytes);
        }
        Ok(())
    }

    /// Passes the bytes of a regular file to `take`; `size` counts the bytes of all files.
    fn each_chunk(
        &self,
        path: &Path,
        size: &mut u64,
        stop: &AtomicBool,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), RecordError> {
        // The file may have been replaced since it was checked.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(unsupported(path, "no regular file"));
        }
        let mut buffer = vec![0; CHUNK];
        loop {
            check(stop)?;
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                n => {
                    *size += n as u64;
                    if *size > self.limits.bytes.get() {
                        return Err(self.too_large());
                    }
                    take(&buffer[..n])?;
                }
            }
        }
    }
}

/// Adds bytes with their length to a hash, so that the same bytes in other cuts give another hash.
pub(crate) fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn check(stop: &AtomicBool) -> Result<(), RecordError> {
    if stop.load(Ordering::Relaxed) { Err(RecordError::Stopped) } else { Ok(()) }
}

fn unsupported(path: &Path, what: &'static str) -> RecordError {
    ScenarioError::OddFile { path: path.to_owned(), what }.into()
}

/// The paths of the folders of a run: the real ones, or the canonical ones of a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// The folder in which the CLI runs, `{{project}}`.
    pub(crate) project: String,
    /// The HOME of the CLI, `{{home}}`.
    pub(crate) home: String,
    /// The TMPDIR of the CLI, `{{tmp}}`.
    pub(crate) tmp: String,
}

/// One of the [`Folders`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folder {
    Project,
    Home,
    Tmp,
}

const WRITTEN: [(&str, Folder); 3] =
    [("{{project}}", Folder::Project), ("{{home}}", Folder::Home), ("{{tmp}}", Folder::Tmp)];

impl Folders {
    /// Returns the canonical paths.
    pub(crate) fn canonical() -> Self {
        Self::under("/clitape")
    }

    fn under(root: &str) -> Self {
        Self {
            project: format!("{root}/project"),
            home: format!("{root}/home"),
            tmp: format!("{root}/tmp"),
        }
    }

    /// Replaces `{{project}}`, `{{home}}` and `{{tmp}}` in a text by the paths.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, folder, after)) = Self::first_in(rest) {
            expanded.push_str(before);
            expanded.push_str(self.path(folder));
            rest = after;
        }
        expanded + rest
    }

    pub(crate) fn path(&self, folder: Folder) -> &str {
        match folder {
            Folder::Project => &self.project,
            Folder::Home => &self.home,
            Folder::Tmp => &self.tmp,
        }
    }

    /// Returns the first folder that `text` names, with the text before and after it.
    pub(crate) fn first_in(text: &str) -> Option<(&str, Folder, &str)> {
        WRITTEN
            .iter()
            .filter_map(|&(written, folder)| Some((text.find(written)?, written, folder)))
            .min_by_key(|&(at, ..)| at)
            .map(|(at, written, folder)| (&text[..at], folder, &text[at + written.len()..]))
    }
}

/// The folders of a run on disk. Dropping this removes them and ends every process that was started with them.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) folders: Folders,
    root: Scratch,
}

impl Sandbox {
    /// Creates the folders in `parent` and copies `workspace` into the project.
    pub(crate) fn new(
        parent: &Path,
        workspace: &ScenarioFolder,
        stop: &AtomicBool,
    ) -> Result<Self, RecordError> {
        let no_folder = |error: io::Error| no_folder(parent, &error);
        let parent = fs::canonicalize(parent).map_err(no_folder)?;
        let root = Scratch::new(&parent, PREFIX).map_err(no_folder)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let Some(path) = root.path().to_str().filter(|path| path.chars().all(plain)) else {
            return Err(RecordError::Folder {
                path: parent,
                what: "its path has other characters than A-Z, a-z, 0-9 and /._-".into(),
            });
        };
        for name in ["CLAUDE.md", "CLAUDE.local.md", ".git"] {
            if let Some(above) = parent.ancestors().find(|above| above.join(name).exists()) {
                return Err(RecordError::Folder {
                    path: parent.clone(),
                    what: format!("the CLI would read {}", above.join(name).display()),
                });
            }
        }
        let folders = Folders::under(path);
        for folder in [&folders.project, &folders.home, &folders.tmp] {
            fs::create_dir(folder)?;
        }
        workspace.copy(Path::new(&folders.project), stop)?;
        Ok(Self { folders, root })
    }

    /// Returns the folder that contains all of them.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the lock file, which names the process that uses them.
    pub(crate) fn lock(&self) -> PathBuf {
        self.root.lock()
    }

    /// Returns the CLI's transcript of a session; empty if there is none. Links are not followed, because the CLI may
    /// have made one to a file that it must not read.
    pub(crate) fn transcript(&self, session: &str) -> io::Result<Vec<u8>> {
        let projects = Path::new("home/.claude/projects");
        let entries = match fs::read_dir(self.root().join(projects)) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Vec::new());
            }
            entries => entries?,
        };
        for project in entries {
            let file = projects.join(project?.file_name()).join(format!("{session}.jsonl"));
            match files::read_below(self.root(), &file) {
                Err(error) if error.is_not_found() => {}
                Err(FileError::NotFolder(_)) => {}
                transcript => return Ok(transcript?),
            }
        }
        Ok(Vec::new())
    }
}

/// Returns the error for a folder for temporary files that can't be used.
pub(crate) fn no_folder(temporary: &Path, error: &io::Error) -> RecordError {
    let what = match error.kind() {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        ErrorKind::PermissionDenied => "nothing may be written there".to_owned(),
        _ => error.to_string(),
    };
    RecordError::Folder { path: temporary.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;

    use super::*;
    use crate::record::WorkspaceLimits;

    static RUNS: AtomicBool = AtomicBool::new(false);

    fn within(bytes: u64) -> WorkspaceLimits {
        WorkspaceLimits { bytes: ByteSize::bytes(bytes), files: 3 }
    }

    fn copied(
        limits: WorkspaceLimits,
        fill: impl FnOnce(&Path),
    ) -> Result<tempfile::TempDir, RecordError> {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fill(from.path());
        ScenarioFolder::read(from.path(), limits, &RUNS)?.copy(to.path(), &RUNS)?;
        Ok(to)
    }

    #[test]
    fn a_workspace_is_copied_with_its_modes_and_links() {
        let to = copied(WorkspaceLimits::default(), |from| {
            fs::create_dir(from.join("sub")).unwrap();
            fs::write(from.join("sub/run.sh"), "#!/bin/sh\n").unwrap();
            let mode = std::fs::Permissions::from_mode(0o755);
            fs::set_permissions(from.join("sub/run.sh"), mode).unwrap();
            fs::os::unix::fs::symlink("sub/run.sh", from.join("link")).unwrap();
            fs::os::unix::fs::symlink("/dev/zero", from.join("outside")).unwrap();
        })
        .unwrap();
        let found = fs::metadata(to.path().join("sub/run.sh")).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o755);
        for (link, target) in [("link", "sub/run.sh"), ("outside", "/dev/zero")] {
            assert_eq!(fs::read_link(to.path().join(link)).unwrap(), Path::new(target));
        }
    }

    #[test]
    fn what_is_no_file_is_refused_by_name() {
        for what in ["a FIFO", "a socket"] {
            let error = copied(within(1000), |from| {
                let path = from.join("odd");
                match what {
                    "a FIFO" => nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap(),
                    _ => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
                }
            })
            .unwrap_err()
            .to_string();
            assert!(error.contains(&format!("odd is {what}, ")), "{error}");
        }
    }

    #[test]
    fn a_workspace_over_the_limit_is_refused_before_it_is_copied() {
        let sparse = |from: &Path| {
            let file = std::fs::File::create(from.join("huge")).unwrap();
            file.set_len(20 << 30).unwrap();
        };
        let error = copied(WorkspaceLimits::default(), sparse).unwrap_err().to_string();
        assert!(error.contains("more than 256MiB") && error.contains("--max-workspace"), "{error}");
        assert!(copied(within(4), |from| fs::write(from.join("a"), "1234").unwrap()).is_ok());
        assert!(copied(within(3), |from| fs::write(from.join("a"), "1234").unwrap()).is_err());
    }

    #[test]
    fn a_workspace_of_too_many_files_is_refused() {
        let many = |n: usize| {
            copied(within(1000), |from| {
                fs::create_dir(from.join("sub")).unwrap();
                (1..n).for_each(|i| fs::write(from.join(format!("sub/{i}")), "").unwrap());
            })
        };
        assert!(many(3).is_ok());
        let error = many(4).unwrap_err().to_string();
        let expect = "more than 3 files, folders and links; remove some, or raise the limit with \
                      `--max-workspace-files`";
        assert!(error.ends_with(expect), "{error}");
    }

    #[test]
    fn a_hash_tells_names_bytes_modes_and_links_apart() {
        let hash = |fill: &dyn Fn(&Path)| {
            let dir = tempfile::tempdir().unwrap();
            fill(dir.path());
            let mut hash = Sha256::new();
            let workspace = ScenarioFolder::read(dir.path(), within(1000), &RUNS).unwrap();
            workspace.hash(&mut hash, &RUNS).unwrap();
            hash.finalize()
        };
        let write = |name: &'static str, text: &'static str| {
            move |dir: &Path| fs::write(dir.join(name), text).unwrap()
        };
        let all = [
            hash(&|_| {}),
            hash(&write("a", "b")),
            hash(&write("a", "c")),
            hash(&write("b", "b")),
            hash(&|dir| fs::create_dir(dir.join("a")).unwrap()),
            hash(&|dir| fs::os::unix::fs::symlink("b", dir.join("a")).unwrap()),
            hash(&|dir| {
                write("a", "b")(dir);
                let mode = std::fs::Permissions::from_mode(0o755);
                fs::set_permissions(dir.join("a"), mode).unwrap();
            }),
        ];
        for (i, one) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| other == one), Some(i), "{i}");
        }
        assert_eq!(all[1], hash(&write("a", "b")));
    }

    #[test]
    fn reading_and_copying_can_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "a").unwrap();
        let stopped = ScenarioFolder::read(dir.path(), within(1000), &AtomicBool::new(true));
        assert!(matches!(stopped, Err(RecordError::Stopped)));
    }

    static SANDBOX_RUNS: AtomicBool = AtomicBool::new(false);

    fn sandbox(parent: &Path) -> Result<Sandbox, RecordError> {
        let limits = WorkspaceLimits::default();
        let none = ScenarioFolder::read(Path::new("none"), limits, &SANDBOX_RUNS)?;
        Sandbox::new(parent, &none, &SANDBOX_RUNS)
    }

    #[test]
    fn a_folder_the_recording_would_show_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let odd = outer.path().join("über uns");
        fs::create_dir(&odd).unwrap();
        let told = outer.path().join("told");
        fs::create_dir(&told).unwrap();
        fs::write(told.join("CLAUDE.md"), "").unwrap();
        for (parent, part) in [(&odd, "has other characters"), (&told, "told/CLAUDE.md")] {
            let error = sandbox(parent).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("TMPDIR"), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_lives_in_the_folders_goes_with_them() {
        use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

        let sandbox = sandbox(&std::env::temp_dir()).unwrap();
        let mut left = std::process::Command::new("sleep")
            .arg("600")
            .env("HOME", &sandbox.folders.home)
            .process_group(0)
            .spawn()
            .unwrap();
        drop(sandbox);
        assert_eq!(left.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_transcript_is_found_and_no_link_is_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("a-1.jsonl"), "of another session").unwrap();
        for (is_there, expect) in [(false, ""), (true, "of this session")] {
            let sandbox = sandbox(&std::env::temp_dir()).unwrap();
            let projects = sandbox.root().join("home/.claude/projects");
            fs::create_dir_all(projects.join("project")).unwrap();
            fs::write(projects.join("a-1.jsonl"), "of no project").unwrap();
            fs::os::unix::fs::symlink(outside.path(), projects.join("00")).unwrap();
            if is_there {
                fs::write(projects.join("project/a-1.jsonl"), expect).unwrap();
            }
            assert_eq!(sandbox.transcript("a-1").unwrap(), expect.as_bytes());
            fs::remove_dir_all(sandbox.root().join("home/.claude")).unwrap();
            fs::os::unix::fs::symlink(outside.path(), sandbox.root().join("home/.claude")).unwrap();
            fs::create_dir_all(outside.path().join("projects/project")).unwrap();
            fs::write(outside.path().join("projects/project/a-1.jsonl"), "outside").unwrap();
            assert_eq!(sandbox.transcript("a-1").unwrap(), b"");
        }
    }

    #[test]
    fn folders_expand_where_they_are_named() {
        let folders = Folders::canonical();
        for (text, expect) in [
            ("", ""),
            ("{{home}}{{tmp}}/{{project}}", "/clitape/home/clitape/tmp//clitape/project"),
            ("{{other}} {{ project }}", "{{other}} {{ project }}"),
        ] {
            assert_eq!(folders.expand(text), expect);
        }
    }
}
