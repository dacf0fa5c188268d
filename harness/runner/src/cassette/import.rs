//! Makes a cassette in memory from a plain capture of stdout.

use std::collections::BTreeMap;

use clitape_stream::{Event, Parser};

use super::canon;
use super::format::{Cli, FORMAT, Manifest, Origin, RecordCounts, line_by_line, today};
use super::store::sha256;
use super::take::Take;
use crate::names::{CassetteFile, CassettePart, CliVersion, NameError, ScenarioName};

/// Why a capture can't be imported.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ImportError {
    /// There is no record in it.
    #[error(
        "no line of the capture is a stream-json record; was it made with `--output-format stream-json --verbose`?"
    )]
    NoRecord,
    /// Nothing says which CLI printed it.
    #[error("the capture does not say which CLI printed it; add `--cli-version VERSION`")]
    NoVersion,
    /// The version in the capture is not a valid version of a CLI.
    #[error(
        "the capture says which CLI printed it, but {0}; if you trust the capture, add `--cli-version VERSION`"
    )]
    BadVersion(NameError),
}

/// Makes a take for `scenario` from the bytes of a capture; canonical ids and the machine details
/// that the capture itself gives away are replaced, as in a recording.
///
/// # Errors
///
/// [`ImportError`] when there is no record in it, or its CLI is not known.
pub fn import(
    scenario: &ScenarioName,
    stdout: &[u8],
    version: Option<&CliVersion>,
) -> Result<Take, ImportError> {
    let mut told = None;
    let mut parser = Parser::new();
    let mut sink = |event: Event<'_>| {
        if let Event::Session { cli_version: Some(version), .. } = event {
            told.get_or_insert_with(|| version.into_owned());
        }
    };
    parser.feed_with(stdout, &mut sink);
    let stats = parser.finish_with(&mut sink);
    if stats.records == 0 {
        return Err(ImportError::NoRecord);
    }
    let version = match (version, told) {
        (Some(version), _) => version.clone(),
        (None, Some(told)) => told.parse().map_err(ImportError::BadVersion)?,
        (None, None) => return Err(ImportError::NoVersion),
    };
    let facts = canon::guess(stdout);
    let (canonical, _) = canon::canonical(stdout, &facts);
    let timeline = line_by_line(&canonical.bytes);
    let cli = Cli {
        version,
        sha256: None,
        argv: Vec::new(),
        platform: String::new(),
        date: today(),
        confined: None,
    };
    let manifest = Manifest {
        format: FORMAT,
        scenario: scenario.clone(),
        origin: Origin::Imported,
        allowed_secrets: Vec::new(),
        cli,
        exit: None,
        counts: RecordCounts::default(),
        canonical: canonical.counts.clone(),
        redacted: BTreeMap::new(),
        sha256: BTreeMap::from([(CassetteFile::new(CassettePart::RawStdout, 1), sha256(stdout))]),
        runs: Vec::new(),
    };
    Ok(Take {
        manifest,
        stdout: canonical.bytes,
        timeline,
        stderr: Vec::new(),
        stdin: Vec::new(),
        transcript: Vec::new(),
        further: Vec::new(),
    })
}
