//! Reports as files: opened before anything runs, and written whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clitape_recording::files::{FileError, NewFile};
use thiserror::Error;

use super::groups::Detail;
use super::model::Report;
use super::{json, junit, markdown, tap};

/// The format of a report's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JUnit XML.
    Junit,
    /// TAP 14.
    Tap,
    /// JSON, by `schemas/report.json`.
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

/// The reason why a report's file can't be written.
#[derive(Debug, Error)]
pub enum ReportFileError {
    /// The path can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Two reports have the same path.
    #[error("{0} can hold one report only; give the other a path of its own")]
    Twice(PathBuf),
}

/// Files that wait for their report. Until it is written, the old files at their paths stay.
#[derive(Debug, Default)]
pub struct ReportFiles {
    open: Vec<(Format, PathBuf, NewFile)>,
}

impl ReportFiles {
    /// Opens a file for each path.
    ///
    /// # Errors
    ///
    /// [`ReportFileError`] when a report could not be written there.
    pub fn open(wanted: &[(Format, &Path)]) -> Result<Self, ReportFileError> {
        let mut open: Vec<(Format, PathBuf, NewFile)> = Vec::new();
        for &(format, path) in wanted {
            let file = NewFile::open(path)?;
            if open.iter().any(|(_, _, other)| other.place() == file.place()) {
                return Err(ReportFileError::Twice(path.to_owned()));
            }
            open.push((format, path.to_owned(), file));
        }
        Ok(Self { open })
    }

    /// Writes the report into all files, and then puts each in its place.
    ///
    /// # Errors
    ///
    /// [`ReportFileError`] when one can't be written; the old files then stay.
    pub fn write(mut self, report: &Report) -> Result<(), ReportFileError> {
        for (format, path, file) in &mut self.open {
            let mut out = io::BufWriter::new(file);
            format
                .write(report, &mut out)
                .and_then(|()| out.flush())
                .map_err(|error| FileError::Write { path: path.clone(), error })?;
        }
        Ok(self.open.into_iter().try_for_each(|(_, _, file)| file.put())?)
    }
}
