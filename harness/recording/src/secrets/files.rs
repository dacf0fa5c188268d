//! Scans files and folders on disk: regular files only, links are not followed.

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Deserialize;
use walkdir::WalkDir;

use super::scan::{CleanTexts, Hit, scan_with};
use crate::cassette::{Cassette, render_timeline};
use crate::files::{self, FileError};
use crate::names::{CassetteFile, CassettePart};

/// The result of a scan of files.
#[derive(Debug, Default)]
pub struct Scanned {
    /// The secrets that are not allowed.
    pub hits: Vec<Hit>,
    /// The secrets that the `cassette.toml` of their cassette allows.
    pub allowed: Vec<Hit>,
    /// Files that were read.
    pub files: u64,
    /// Files that were not, and why.
    pub skipped: Vec<(PathBuf, String)>,
    /// Strings of the files that have none.
    clean: CleanTexts,
}

/// Scans a file, or all files of a folder but what Git keeps for itself.
///
/// # Errors
///
/// When a file or a folder can't be read.
pub fn scan_path(path: &Path, scanned: &mut Scanned) -> io::Result<()> {
    let is_git = |name: &std::ffi::OsStr| name == ".git";
    let walk = WalkDir::new(path).follow_root_links(false).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || !is_git(entry.file_name())) {
        let entry = entry?;
        let kind = entry.file_type();
        if kind.is_dir() {
            continue;
        }
        if !kind.is_file() {
            let why = if kind.is_symlink() { "it is a link" } else { "it is no regular file" };
            scanned.skipped.push((entry.into_path(), why.to_owned()));
            continue;
        }
        let bytes = match files::read(entry.path()) {
            Ok(bytes) => bytes,
            // Another process has moved or removed it since it was listed.
            Err(error) if error.is_not_found() => continue,
            Err(error @ FileError::Read { .. }) => return Err(error.into()),
            Err(error) => {
                scanned.skipped.push((entry.into_path(), error.to_string()));
                continue;
            }
        };
        let file = entry.path().display().to_string();
        let hits = scan_with(&file, &bytes, &mut scanned.clean);
        let allowed = if hits.is_empty() { Vec::new() } else { allowed_for(entry.path()) };
        let (allowed, hits) =
            hits.into_iter().partition(|hit| allowed.iter().any(|r| r == hit.rule));
        scanned.hits.extend::<Vec<_>>(hits);
        scanned.allowed.extend::<Vec<_>>(allowed);
        scanned.files += 1;
    }
    Ok(())
}

/// Scans what the user names by `path`, such as a pipe, to its end.
///
/// # Errors
///
/// [`FileError`](crate::files::FileError), when it can't be read.
pub fn scan_named(path: &Path, scanned: &mut Scanned) -> Result<(), FileError> {
    let bytes = files::read_named(path)?;
    let file = path.display().to_string();
    scanned.hits.extend(scan_with(&file, &bytes, &mut scanned.clean));
    scanned.files += 1;
    Ok(())
}

/// Scans the files of a cassette that was read; what its `cassette.toml` allows is left out.
///
/// Comments in `cassette.toml` are not looked at: they are no part of what was read.
///
/// # Errors
///
/// When its facts can't be written as TOML, which they were read from.
pub fn scan_loaded(cassette: &Cassette) -> io::Result<Vec<Hit>> {
    let shown = |name: &str| cassette.dir.join(name).display().to_string();
    let manifest = toml::to_string(&cassette.manifest).map_err(io::Error::other)?;
    let mut clean = CleanTexts::default();
    let mut scan = |name: &str, bytes: &[u8]| scan_with(&shown(name), bytes, &mut clean);
    let mut hits = scan("cassette.toml", manifest.as_bytes());
    for run in cassette.runs() {
        let timeline = CassetteFile::new(CassettePart::Timeline, run.number);
        let ticks = render_timeline(run.timeline);
        hits.extend(scan(&timeline.to_string(), ticks.as_bytes()));
        for (file, bytes) in run.files {
            hits.extend(scan(&file.to_string(), bytes));
        }
    }
    hits.retain(|hit| !cassette.manifest.allowed_secrets.iter().any(|rule| rule == hit.rule));
    Ok(hits)
}

/// Scans the goldens of a scenario, whose cassettes allow the rules `allowed`, beside what was scanned before. Returns their
/// secrets.
///
/// # Errors
///
/// When a file can't be read.
pub fn scan_goldens(
    scenario: &Path,
    allowed: &[String],
    scanned: &mut Scanned,
) -> io::Result<Vec<Hit>> {
    let before = scanned.hits.len();
    let dir = scenario.join("golden");
    if dir.is_dir() {
        scan_path(&dir, scanned)?;
    }
    let mut hits = scanned.hits.split_off(before);
    hits.retain(|hit| !allowed.iter().any(|rule| rule == hit.rule));
    Ok(hits)
}

/// Returns the rules that the `cassette.toml` of a folder allows. A file that is missing or invalid allows
/// none, so that no secret is left out.
pub fn allowed_in(cassette: &Path) -> Vec<String> {
    #[derive(Deserialize)]
    struct AllowedSecrets {
        #[serde(default)]
        allowed_secrets: Vec<String>,
    }
    let text = files::read_text(&cassette.join("cassette.toml")).ok();
    let head = text.and_then(|text| toml::from_str::<AllowedSecrets>(&text).ok());
    head.map(|head| head.allowed_secrets).unwrap_or_default()
}

/// The rules that are allowed in a file: those of the cassette it belongs to, or, for a golden, those of
/// the cassettes of its scenario.
fn allowed_for(file: &Path) -> Vec<String> {
    let Some(dir) = file.parent() else { return Vec::new() };
    let own = allowed_in(dir);
    let scenario = dir.parent().filter(|_| dir.ends_with("golden"));
    let Some((scenario, root)) =
        scenario.and_then(|of| Some((of.file_name()?, of.parent()?.parent()?)))
    else {
        return own;
    };
    let cassettes = fs::read_dir(root.join("cassettes").join(scenario)).into_iter().flatten();
    own.into_iter().chain(cassettes.flatten().flat_map(|entry| allowed_in(&entry.path()))).collect()
}
