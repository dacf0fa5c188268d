//! The folders of a run: a fresh HOME, TMPDIR and project in one temporary folder with a short path.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clitape_process::{PREFIX, Scratch};
use clitape_recording::files::{self, FileError};
use fs_err as fs;

use super::RecordError;
use super::workspace::ScenarioFolder;

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
    use super::*;
    use crate::record::WorkspaceLimits;

    static RUNS: AtomicBool = AtomicBool::new(false);

    fn sandbox(parent: &Path) -> Result<Sandbox, RecordError> {
        let limits = WorkspaceLimits::default();
        let none = ScenarioFolder::read(Path::new("none"), limits, &RUNS)?;
        Sandbox::new(parent, &none, &RUNS)
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
