//! The way to a file: which links on it are followed.
//!
//! A person names a path, and a repository that the person works in may have put a link there: `reports` may lead to
//! the home folder. A link in a folder of a repository or a workspace is therefore not followed. Elsewhere it is the
//! person's own, or the system's, such as `/tmp` of macOS.

use std::path::{Component, Path, PathBuf};

use super::error::FileError;

/// The folder of the scenarios, by which a workspace is known.
pub const SCENARIOS: &str = "scenarios";
/// The settings of a workspace.
pub const CONFIG: &str = "clitape.toml";
/// Entries of the root of a repository or a workspace.
const MARKS: [&str; 3] = [".git", CONFIG, SCENARIOS];

/// The root of the repository or workspace that brings what is in `folder`, a path without links; `None` for a folder in
/// none.
pub(super) fn brought_by(folder: &Path) -> Option<&Path> {
    let has_mark =
        |above: &&Path| MARKS.iter().any(|mark| above.join(mark).symlink_metadata().is_ok());
    folder.ancestors().find(has_mark)
}

/// The folder at `path` without links on the way; it need not be there.
///
/// # Errors
///
/// [`FileError::LinkOnTheWay`] for a link in a repository or a workspace, and [`FileError::Write`] for one that leads
/// nowhere.
pub(super) fn real_folder(path: &Path) -> Result<PathBuf, FileError> {
    let whole = |path: &Path| {
        path.canonicalize().map_err(|error| FileError::Write { path: path.to_owned(), error })
    };
    let mut real = if path.is_absolute() { PathBuf::from("/") } else { whole(Path::new("."))? };
    let mut named = PathBuf::new();
    for part in path.components() {
        named.push(part);
        match part {
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                let next = real.join(name);
                if !next.is_symlink() {
                    real = next;
                    continue;
                }
                if let Some(root) = brought_by(&real) {
                    return Err(FileError::LinkOnTheWay { link: named, root: root.to_owned() });
                }
                real = whole(&next)?;
            }
        }
    }
    Ok(real)
}

/// The place of the file at `path`, without links in its folders.
///
/// # Errors
///
/// As [`real_folder`], and [`FileError::Taken`] for a path without the name of a file.
pub(super) fn place(path: &Path) -> Result<PathBuf, FileError> {
    let name = path.file_name().ok_or_else(|| FileError::Taken(path.to_owned()))?;
    Ok(real_folder(path.parent().unwrap_or(Path::new("")))?.join(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_links_outside_of_repositories_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["target", "cloned/.git", "cloned/in", "unpacked/scenarios", "plain/in"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::create_dir(base.join("settings")).unwrap();
        fs::write(base.join("settings/clitape.toml"), "").unwrap();
        for folder in ["cloned", "cloned/in", "unpacked", "settings", "plain", "plain/in"] {
            symlink(base.join("target"), base.join(folder).join("link")).unwrap();
        }
        symlink(base.join("nowhere"), base.join("plain/broken")).unwrap();
        symlink(base.join("cloned/in"), base.join("plain/into")).unwrap();
        for (path, expect) in [
            ("plain/in", Some("plain/in")),
            ("plain/link/a/b", Some("target/a/b")),
            ("plain/in/link/..", Some("")),
            ("plain/in/../link", Some("target")),
            ("plain/new/../in", Some("plain/in")),
            ("plain/into/new", Some("cloned/in/new")),
            ("plain/into/link/new", None),
            ("plain/broken/new", None),
            ("cloned/in/new", Some("cloned/in/new")),
            ("cloned/link", None),
            ("cloned/in/link/x", None),
            ("cloned/../plain/link", Some("target")),
            ("unpacked/link", None),
            ("settings/link", None),
        ] {
            let found = real_folder(&base.join(path));
            let expect = expect.map(|expect| base.join(expect));
            assert_eq!(found.as_ref().ok(), expect.as_ref(), "{path}: {found:?}");
        }
        let refused = real_folder(&base.join("cloned/in/link/x")).unwrap_err().to_string();
        let shown = format!("{}/cloned/in/link is a link in the repository", base.display());
        assert!(refused.starts_with(&shown) && refused.contains("/cloned, and"), "{refused}");
    }
}
