//! `clitape test --watch`: runs again whenever one of its files changes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use clitape_recording::scenario::Workspace;

use crate::exit::ExitStatus;
use crate::terminal;

/// The interval at which the files are checked.
const POLL: Duration = Duration::from_millis(300);

/// The size of each file that a run reads and the time of its last change.
type WatchedFiles = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Calls `run` now and after each change of a file, until the process ends. An error is printed, because the next
/// change may fix it.
pub(super) fn run_on_changes(
    workspace: &Workspace,
    mut run: impl FnMut() -> anyhow::Result<ExitStatus>,
) -> anyhow::Result<ExitStatus> {
    loop {
        // The files are listed before the run, so that a change during the run starts the next one.
        let before = files_of(workspace);
        if let Err(error) = run() {
            terminal::error(format_args!("{error:#}"));
        }
        terminal::note(
            "waiting for a change of scenarios/, cassettes/ or clitape.toml; Ctrl-C ends",
        );
        let changed = wait_for_change(workspace, &before);
        terminal::note("");
        terminal::note(format_args!("{changed} changed"));
    }
}

/// Waits until the files differ from `before` and stay the same, and returns one that changed.
fn wait_for_change(workspace: &Workspace, before: &WatchedFiles) -> String {
    let mut last = before.clone();
    loop {
        let now = files_of(workspace);
        // The wait goes on while an editor or git still writes files.
        if now == last
            && let Some(path) = changed(before, &now)
        {
            return workspace.shown(path);
        }
        last = now;
        thread::sleep(POLL);
    }
}

/// Returns the first file that is new, changed or removed.
fn changed<'f>(before: &'f WatchedFiles, now: &'f WatchedFiles) -> Option<&'f Path> {
    let is_other = |(path, state): &(&PathBuf, &_)| before.get(*path) != Some(*state);
    let other = now.iter().find(is_other);
    let gone = || before.iter().find(|(path, _)| !now.contains_key(*path));
    other.or_else(gone).map(|(path, _)| path.as_path())
}

/// Lists the files of a run. An unreadable file is passed over, because the run reports it.
fn files_of(workspace: &Workspace) -> WatchedFiles {
    let mut files = WatchedFiles::new();
    for part in ["scenarios", "cassettes", "clitape.toml"] {
        // A missing part has no files.
        let _ = add(&workspace.root().join(part), &mut files);
    }
    files
}

/// Adds a file, or all files of a folder; links are not followed.
fn add(path: &Path, files: &mut WatchedFiles) -> io::Result<()> {
    let found = path.symlink_metadata()?;
    if found.is_dir() {
        for entry in std::fs::read_dir(path)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // A run writes pending goldens itself, and an editor its temporary files.
            if !name.starts_with('.') && !name.ends_with(".snap.new") && !name.ends_with('~') {
                // A file that is removed in the meantime is missing from the next list.
                let _ = add(&path, files);
            }
        }
    } else {
        files.insert(path.to_owned(), (found.len(), found.modified().ok()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_new_other_or_gone_is_a_change_and_a_pending_golden_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let golden = dir.path().join("scenarios/a/golden");
        fs::create_dir_all(&golden).unwrap();
        let workspace = Workspace::at(dir.path());
        let file = golden.join("bus.snap");
        let mut before = files_of(&workspace);
        let mut check = |expect: Option<&Path>| {
            let now = files_of(&workspace);
            assert_eq!(changed(&before, &now), expect);
            before = now;
        };
        check(None);
        fs::write(&file, "1").unwrap();
        check(Some(&file));
        fs::write(golden.join("bus.snap.new"), "2").unwrap();
        fs::write(golden.join(".bus.snap.swp"), "2").unwrap();
        check(None);
        fs::write(&file, "12").unwrap();
        check(Some(&file));
        fs::remove_file(&file).unwrap();
        check(Some(&file));
    }
}
