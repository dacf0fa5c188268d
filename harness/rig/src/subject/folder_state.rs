//! Finds the files that a gateway writes into the folder of `clitape.toml`, where its next run finds them: each start has
//! a home folder of its own, but the default `folder` is the same for all.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clitape_recording::text::plain;

/// The folders that are not read: those of recordings, of packages and of programs.
const NOT_READ: [&str; 6] =
    ["scenarios", "cassettes", "node_modules", "target", "venv", "__pycache__"];
/// The depth of the folders that are read, and the most files.
const DEPTH: usize = 2;
const MOST_FILES: usize = 5_000;
/// The number of files that the sentence lists.
const LISTED: usize = 4;

/// The files of a folder, each with its time and its size.
#[derive(Debug, Default)]
pub(super) struct FolderState(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl FolderState {
    /// Reads the state of a folder. What can't be read is left out.
    pub(super) fn of(folder: &Path) -> Self {
        let mut state = Self::default();
        state.read(folder, DEPTH);
        state
    }

    fn read(&mut self, folder: &Path, depth: usize) {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && depth > 0 && is_read(&entry) {
                self.read(&entry.path(), depth - 1);
            } else if metadata.is_file() && self.0.len() < MOST_FILES {
                self.0.insert(entry.path(), (metadata.modified().ok(), metadata.len()));
            }
        }
    }

    /// Returns the sentence about the files that were written into the folder since; `None` if there are none.
    pub(super) fn written_since(&self, folder: &Path) -> Option<String> {
        let now = Self::of(folder);
        let new = now.0.iter().filter(|(path, state)| self.0.get(*path) != Some(state));
        let names = new.filter_map(|(path, _)| path.strip_prefix(folder).ok());
        let names: Vec<String> = names.map(|name| plain(&name.to_string_lossy())).collect();
        let more = match names.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = names.iter().take(LISTED).map(|name| format!("`{name}`"));
        let listed = listed.collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| {
            format!(
                "{listed}{more} was written into the folder of clitape.toml during the run, where the next run finds it; \
                 with `folder = \"{{workspace}}\"` each start has an empty folder, and `{{root}}` names this one"
            )
        })
    }
}

/// Returns whether a folder may have files of a gateway.
fn is_read(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    !name.starts_with('.') && !NOT_READ.contains(&&*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_the_next_run_finds_are_named() {
        let check = |write: &[&str], expect: Option<&str>| {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["data", ".cache", "node_modules"] {
                fs::create_dir(dir.path().join(folder)).unwrap();
            }
            fs::write(dir.path().join("bot.py"), "").unwrap();
            let before = FolderState::of(dir.path());
            for file in write {
                fs::write(dir.path().join(file), "state").unwrap();
            }
            let sentence = before.written_since(dir.path());
            let named = sentence.as_deref().and_then(|it| it.split(" was written").next());
            assert_eq!(named, expect, "{write:?}");
        };
        check(&[], None);
        check(&[".cache/a", "node_modules/b"], None);
        check(&["bot.py"], Some("`bot.py`"));
        check(&["data/a.db", ".state.json"], Some("`.state.json`, `data/a.db`"));
        check(&["1", "2", "3", "4", "5"], Some("`1`, `2`, `3`, `4` and 1 more"));
    }
}
