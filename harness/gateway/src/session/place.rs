//! Where the CLI keeps a session's transcript ([X1](crate::rules::X1)): `<config
//! folder>/projects/<slug of the working folder>/<session>.jsonl`.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use unicode_normalization::UnicodeNormalization as _;

/// Characters of a slug; a longer one is cut there and gets a hash.
const SLUG: usize = 200;

/// Why a transcript could not be found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocateError {
    /// The id is not one: it is empty, or would lead to another folder.
    #[error("the session id {0:?} is no id; give the one the CLI printed as session_id")]
    Id(String),
    /// The file does not exist.
    #[error("there is no transcript {}; check the id, and the folder the session ran in", .0.display())]
    NotFound(PathBuf),
    /// Several sessions have ids that begin so.
    #[error("several sessions begin with {id:?}; write more of the id: {}", .ids.join(", "))]
    Several {
        /// The start of the ids.
        id: String,
        /// The ids, sorted.
        ids: Vec<String>,
    },
    /// The file is a link that leads out of the projects folder, or no file at all.
    #[error("{} is no file of the projects folder; remove what stands in its place", .0.display())]
    Outside(PathBuf),
    /// It could not be looked at.
    #[error("can't look at {}: {source}; check who may read it", .path.display())]
    Io {
        /// The path that was read.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The CLI's config folder: `CLAUDE_CONFIG_DIR` if it is set and not empty, else `.claude` in HOME;
/// `None` if neither is known. openclaw#145309, openclaw#147745: the variable counts here too.
#[must_use]
pub fn config_dir(claude_config_dir: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    set(claude_config_dir).or_else(|| set(home).map(|home| home.join(".claude")))
}

/// Returns the folder name of a working folder: each UTF-16 unit other than an ASCII letter or digit becomes `-`; a
/// name longer than 200 becomes its first 200 and a hash.
#[must_use]
pub fn slug(cwd: &str) -> String {
    let plain = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    let slug: String = cwd.encode_utf16().map(plain).collect();
    match slug.get(..SLUG) {
        Some(start) if slug.len() > SLUG => format!("{start}-{}", base36(hash(cwd))),
        _ => slug,
    }
}

/// The hash of the CLI: `h * 31 + unit` in 32 bits, without its sign.
fn hash(path: &str) -> u32 {
    let step = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    path.encode_utf16().fold(0, step).unsigned_abs()
}

fn base36(number: u32) -> String {
    let mut digits = Vec::new();
    let mut left = number;
    loop {
        digits.extend(char::from_digit(left % 36, 36));
        left /= 36;
        if left == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Returns whether `id` can be a session's: not empty, and no way to another folder.
pub(super) fn is_id(id: &str) -> bool {
    let is_plain = |c: char| !matches!(c, '/' | '\\' | ':') && !c.is_control();
    !id.trim().is_empty() && !id.starts_with('.') && id.chars().all(is_plain)
}

/// The transcript of session `id`, run in the folder `cwd` ([X1](crate::rules::X1)), in
/// `config_dir`, see [`config_dir()`]. A folder whose name is not in Unicode's NFC is looked for as
/// it is spelled, which is how 2.1.329 writes it, and then in NFC, as versions before did.
///
/// # Errors
/// When the id looks like a path, which is reported before the disk is touched; when the transcript is missing; when
/// it is not a file, or is a link out of the projects folder; when the disk can't be read.
pub fn locate(config_dir: &Path, cwd: &Path, id: &str) -> Result<PathBuf, LocateError> {
    if !is_id(id) {
        return Err(LocateError::Id(id.to_owned()));
    }
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let cwd = cwd.to_string_lossy();
    let composed: String = cwd.nfc().collect();
    let projects = config_dir.join("projects");
    let find = |cwd: &str| file(&projects, &projects.join(slug(cwd)).join(format!("{id}.jsonl")));
    match find(&cwd) {
        Err(LocateError::NotFound(path)) => find(&composed).map_err(|error| match error {
            LocateError::NotFound(_) => LocateError::NotFound(path),
            error => error,
        }),
        found => found,
    }
}

/// Like [`locate`], for a person who writes only the start of an id: where no session has the id itself, it is that of
/// the one session of the folder that begins so.
///
/// # Errors
/// As [`locate`], and when several sessions begin so.
pub fn locate_short(config_dir: &Path, cwd: &Path, id: &str) -> Result<PathBuf, LocateError> {
    let missing = match locate(config_dir, cwd, id) {
        Err(LocateError::NotFound(path)) => path,
        found => return found,
    };
    let folders = missing.parent().into_iter().flat_map(std::fs::read_dir);
    let names = folders.flatten().flatten().map(|entry| entry.file_name());
    let mut ids: Vec<String> = names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".jsonl")?.to_owned()))
        .filter(|known| known.starts_with(id))
        .collect();
    ids.sort_unstable();
    match &ids[..] {
        [] => Err(LocateError::NotFound(missing)),
        [whole] => locate(config_dir, cwd, whole),
        _ => Err(LocateError::Several { id: id.to_owned(), ids }),
    }
}

/// `path` without links, if it is a file below `projects`.
fn file(projects: &Path, path: &Path) -> Result<PathBuf, LocateError> {
    let real = |place: &Path| {
        place.canonicalize().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                LocateError::NotFound(path.to_owned())
            }
            _ => LocateError::Io { path: path.to_owned(), source },
        })
    };
    let found = real(path)?;
    if found.starts_with(real(projects)?) && found.is_file() {
        Ok(found)
    } else {
        Err(LocateError::Outside(path.to_owned()))
    }
}
