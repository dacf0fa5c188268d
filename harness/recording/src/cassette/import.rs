//! Makes a cassette in memory from a plain capture of stdout.

use std::collections::BTreeMap;

use clitape_stream::{Event, Parser};
use serde::Deserialize;

use super::canon;
use super::format::{Cli, FORMAT, Manifest, Origin, RecordCounts, Tick, TickKind, line_by_line};
use super::store::{Take, sha256};
use crate::clock;
use crate::names::{CassetteFile, CassettePart, CliVersion, NameError, ScenarioName};

/// The errors of a capture that can't be imported.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ImportError {
    /// The capture has no record.
    #[error(
        "no line of the capture is a stream-json record; was it made with `--output-format stream-json --verbose`?"
    )]
    NoRecord,
    /// The version of the CLI is unknown.
    #[error("the capture does not say which CLI printed it; add `--cli-version VERSION`")]
    NoVersion,
    /// The version in the capture is not a valid version of a CLI.
    #[error(
        "the capture says which CLI printed it, but {0}; if you trust the capture, add `--cli-version VERSION`"
    )]
    BadVersion(NameError),
    /// A line of the capture of stdin can't be read.
    #[error("line {line}: {what}; each line is an object with `stdout_offset` and `bytes`")]
    BadStdin {
        /// The number of the line, from 1.
        line: usize,
        /// The mistake in words.
        what: String,
    },
}

/// A write to the CLI's stdin in a capture.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CapturedWrite {
    /// The number of bytes of stdout that had been read before.
    pub stdout_offset: u64,
    /// The text that was written.
    pub bytes: String,
}

/// Reads the capture of a stdin: a JSON object for each write, a line each. Further keys, such as the time of the
/// write, are ignored.
///
/// # Errors
///
/// [`ImportError::BadStdin`] if a line is not such an object.
pub fn parse_stdin_capture(text: &[u8]) -> Result<Vec<CapturedWrite>, ImportError> {
    let lines = (1..).zip(text.split(|&byte| byte == b'\n'));
    lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(number, line)| {
            serde_json::from_slice(line)
                .map_err(|error| ImportError::BadStdin { line: number, what: error.to_string() })
        })
        .collect()
}

/// Makes a take for `scenario` from the bytes of a capture. Ids, and the machine details that the capture itself
/// contains, are replaced as in a recording. `written` has the writes to stdin.
///
/// # Errors
///
/// [`ImportError`] if the capture has no record, or the version of its CLI is unknown.
pub fn import(
    scenario: &ScenarioName,
    stdout: &[u8],
    written: &[CapturedWrite],
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
    let (canonical, mut substitutions) = canon::canonical(stdout, &facts);
    let (lines, offsets) = stdin_lines(written);
    let offsets = offsets.into_iter().map(|raw| canonical.map_offset(raw));
    let timeline = with_stdin(line_by_line(&canonical.bytes), offsets);
    let stdin = substitutions.apply_lines(&lines);
    let mut replaced = canonical.counts.clone();
    for (rule, n) in stdin.counts {
        *replaced.entry(rule).or_default() += n;
    }
    let cli = Cli {
        version,
        sha256: None,
        argv: Vec::new(),
        platform: String::new(),
        date: clock::today(),
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
        made_from: BTreeMap::new(),
        canonical: replaced,
        redacted: BTreeMap::new(),
        sha256: BTreeMap::from([(CassetteFile::new(CassettePart::RawStdout, 1), sha256(stdout))]),
        runs: Vec::new(),
    };
    Ok(Take {
        manifest,
        stdout: canonical.bytes,
        timeline,
        stderr: Vec::new(),
        stdin: stdin.bytes,
        transcript: Vec::new(),
        further: Vec::new(),
    })
}

/// Makes a take for `scenario` from a part of a recording: bytes of its stdout, and lines of its stdin, each with the
/// number of bytes of stdout that had been read before.
pub fn reduced(
    of: &Manifest,
    scenario: &ScenarioName,
    stdout: Vec<u8>,
    stdin: &[(&[u8], u64)],
) -> Take {
    let lines: Vec<u8> = stdin.iter().flat_map(|(line, _)| line.iter().copied()).collect();
    let timeline = with_stdin(line_by_line(&stdout), stdin.iter().map(|(_, offset)| *offset));
    let manifest = Manifest {
        scenario: scenario.clone(),
        origin: Origin::Edited,
        exit: None,
        counts: RecordCounts::default(),
        sha256: BTreeMap::new(),
        runs: Vec::new(),
        ..of.clone()
    };
    Take {
        manifest,
        stdout,
        timeline,
        stderr: Vec::new(),
        stdin: lines,
        transcript: Vec::new(),
        further: Vec::new(),
    }
}

/// Returns the written lines, each with its LF, and their offsets.
fn stdin_lines(written: &[CapturedWrite]) -> (Vec<u8>, Vec<u64>) {
    let mut lines = Vec::new();
    let mut offsets = Vec::new();
    for write in written {
        let ends = write.bytes.bytes().filter(|byte| *byte == b'\n').count();
        offsets.extend(std::iter::repeat_n(write.stdout_offset, ends));
        lines.extend_from_slice(write.bytes.as_bytes());
    }
    if lines.last().is_some_and(|&byte| byte != b'\n') {
        lines.push(b'\n');
        offsets.extend(written.last().map(|write| write.stdout_offset));
    }
    (lines, offsets)
}

/// Puts the lines of stdin into a timeline of whole lines, each after the last line of stdout that ends at its offset
/// or before.
fn with_stdin(reads: Vec<Tick>, offsets: impl Iterator<Item = u64>) -> Vec<Tick> {
    let mut numbered = (1..).zip(offsets).peekable();
    let mut ticks = Vec::new();
    let mut end = 0;
    for read in reads {
        let next = match read.kind {
            TickKind::Out(n) => end + n,
            _ => end,
        };
        while let Some((line, _)) = numbered.next_if(|(_, offset)| *offset < next) {
            ticks.push(Tick { after_ms: 0, kind: TickKind::In { line, offset: Some(end) } });
        }
        end = next;
        ticks.push(read);
    }
    let rest = numbered.map(|(line, _)| TickKind::In { line, offset: Some(end) });
    ticks.extend(rest.map(|kind| Tick { after_ms: 0, kind }));
    ticks
}

#[cfg(test)]
mod tests {
    use super::super::format::render_timeline;
    use super::*;

    const STDOUT: &str = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"845df1a2-d680-4cdc-ba84-847c1f5bcaa3\",\"duration_ms\":12345}\n{\"type\":\"result\",\"subtype\":\"success\"}\n";

    /// Imports a capture, and compares its stdin and its timeline.
    #[track_caller]
    fn check(capture: &str, stdin: &str, timeline: &str) {
        let written = parse_stdin_capture(capture.as_bytes()).unwrap();
        let (name, version) = ("a".parse().unwrap(), "1.0.0".parse().unwrap());
        let take = import(&name, STDOUT.as_bytes(), &written, Some(&version)).unwrap();
        assert_eq!(String::from_utf8_lossy(&take.stdin), stdin);
        assert_eq!(render_timeline(&take.timeline), timeline);
    }

    #[test]
    fn a_capture_of_stdin_is_kept_with_its_offsets() {
        check("", "", "[200,\"o\",103]\n[200,\"o\",38]\n");
        check(
            "{\"t_ms\":1,\"stdout_offset\":0,\"bytes\":\"a\\nb\\n\"}\n\
             {\"stdout_offset\":110,\"bytes\":\"845df1a2-d680-4cdc-ba84-847c1f5bcaa3\\n\"}\n\
             {\"stdout_offset\":120,\"bytes\":\"c\"}\n{\"stdout_offset\":999,\"bytes\":\"d\"}\n",
            "a\nb\n00000000-0000-4000-85e5-000000000001\ncd\n",
            "[0,\"i\",1,0]\n[0,\"i\",2,0]\n[200,\"o\",103]\n[0,\"i\",3,103]\n[200,\"o\",38]\n[0,\"i\",4,141]\n",
        );
        let error =
            parse_stdin_capture(b"{\"stdout_offset\":0,\"bytes\":\"a\"}\n\nno\n").unwrap_err();
        assert!(error.to_string().starts_with("line 3: expected ident"), "{error}");
    }
}
