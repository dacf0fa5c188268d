//! Reports as files: written whole or not at all, and opened before anything runs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use thiserror::Error;

use super::groups::Detail;
use super::model::Report;
use super::{json, junit, markdown, tap};
use crate::files;

/// What a report's file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JUnit XML.
    Junit,
    /// TAP 14.
    Tap,
    /// JSON, as `schemas/report.json` states it.
    Json,
    /// Markdown, with the lanes of a group or without.
    Markdown(Detail),
}

impl Format {
    /// Writes the report in this format.
    ///
    /// # Errors
    ///
    /// When `out` can't be written to.
    pub fn write(self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Junit => junit(report, out),
            Self::Tap => tap(report, out),
            Self::Json => json(report, out),
            Self::Markdown(detail) => markdown(report, detail, out),
        }
    }
}

/// Why a report's file can't be written.
#[derive(Debug, Error)]
pub enum ReportFileError {
    /// There is something else at the path.
    #[error("{0} is there and is no file; choose another path for the report")]
    NoFile(PathBuf),
    /// Two reports have one path.
    #[error("{0} can hold one report only; give the other a path of its own")]
    Twice(PathBuf),
    /// The system says no.
    #[error("can't write {path}: {source}; choose a path in a folder that is there")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Files that wait for their report. Until it is written, what was at their paths stays.
#[derive(Debug, Default)]
pub struct ReportFiles {
    open: Vec<(Format, PathBuf, NamedTempFile)>,
}

impl ReportFiles {
    /// Opens a file beside each path.
    ///
    /// # Errors
    ///
    /// [`ReportFileError`] when a report could not be written there.
    pub fn open(wanted: &[(Format, &Path)]) -> Result<Self, ReportFileError> {
        let mut open: Vec<(Format, PathBuf, NamedTempFile)> = Vec::new();
        for &(format, path) in wanted {
            if path.exists() && !path.is_file() || path.file_name().is_none() {
                return Err(ReportFileError::NoFile(path.to_owned()));
            }
            let refused = |source| ReportFileError::Io { path: path.to_owned(), source };
            let target = target(path).map_err(refused)?;
            if open.iter().any(|(_, known, _)| *known == target) {
                return Err(ReportFileError::Twice(path.to_owned()));
            }
            let file = files::beside(&target).map_err(refused)?;
            open.push((format, target, file));
        }
        Ok(Self { open })
    }

    /// Writes the report into all of them, and only then puts each in its place.
    ///
    /// # Errors
    ///
    /// [`ReportFileError`] when one can't be written; then none is put in its place.
    pub fn write(mut self, report: &Report) -> Result<(), ReportFileError> {
        for (format, path, file) in &mut self.open {
            let mut out = io::BufWriter::new(file.as_file_mut());
            format
                .write(report, &mut out)
                .and_then(|()| out.flush())
                .map_err(|source| ReportFileError::Io { path: path.clone(), source })?;
        }
        for (_, path, file) in self.open {
            file.persist(&path)
                .map_err(|error| ReportFileError::Io { path, source: error.error })?;
        }
        Ok(())
    }
}

/// The file that `path` means, under its one full name; of a link, what it names.
fn target(path: &Path) -> io::Result<PathBuf> {
    if path.exists() {
        return path.canonicalize();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}
