//! Makes a cassette in memory from a plain capture of stdout.

use std::collections::BTreeMap;

use clitape_stream::{Event, Parser};
use serde::Deserialize;

use super::canon;
use super::format::{Cli, FORMAT, Manifest, Origin, RecordCounts, Tick, TickKind, line_by_line};
use super::line::{LineHead, RecordPart, trimmed};
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

/// A session in a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedSession {
    /// Its id.
    pub id: String,
    /// The first line that names it, from 1.
    pub line: usize,
}

/// The facts that tell whether a capture is one whole run of a CLI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureFacts {
    /// The number of lines at the beginning that are JSON objects without a `type`, which a recorder wrote and no CLI.
    pub foreign_lines: usize,
    /// The version of the CLI that a record names first, as it is written there.
    pub version: Option<String>,
    /// True if there is a `system/init`.
    pub has_init: bool,
    /// The sessions, in the order in which they begin.
    pub sessions: Vec<CapturedSession>,
    /// The lines, from 1, that begin as a record and are none, but for the last one that ends within a record.
    pub broken_lines: Vec<usize>,
    /// The lines, from 1, with a record after something else.
    pub logged_lines: Vec<usize>,
    /// The last line, from 1, if it ends within a record.
    pub cut_line: Option<usize>,
    /// The last line of a message, from 1, if no `result` follows it.
    pub open_turn: Option<usize>,
}

impl CaptureFacts {
    /// Reads the facts of the bytes of a capture.
    pub fn of(stdout: &[u8]) -> Self {
        let mut facts = Self::default();
        let mut is_begun = false;
        for (number, line) in (1..).zip(stdout.split_inclusive(|byte| *byte == b'\n')) {
            let is_ended = line.ends_with(b"\n");
            let line = trimmed(line);
            let mut heads = Vec::from_iter(LineHead::of(line));
            if heads.is_empty() {
                is_begun |= !line.is_empty();
                facts.cut_line = (!is_ended && line.starts_with(b"{")).then_some(number);
                match RecordPart::of(line).filter(|_| facts.cut_line.is_none()) {
                    Some(RecordPart::Begun) => facts.broken_lines.push(number),
                    Some(RecordPart::Logged) => facts.logged_lines.push(number),
                    None => {}
                }
                heads = LineHead::all_of(line);
            }
            for head in heads {
                facts.add(&head, number, is_begun);
                is_begun |= head.kind().is_some();
            }
        }
        facts
    }

    /// Adds a record on this line, before which a record has begun or not.
    fn add(&mut self, head: &LineHead, number: usize, is_begun: bool) {
        match head.kind() {
            None if !is_begun => self.foreign_lines = number,
            Some("assistant" | "stream_event") => self.open_turn = Some(number),
            Some("result") => self.open_turn = None,
            Some("system") => self.has_init |= head.subtype == "init",
            _ => {}
        }
        let version = head.claude_code_version.as_str();
        self.version = self.version.take().or_else(|| version.map(str::to_owned));
        if let Some(id) = head.session().filter(|_| head.kind().is_some())
            && self.sessions.iter().all(|session| session.id != id)
        {
            self.sessions.push(CapturedSession { id: id.to_owned(), line: number });
        }
    }
}

/// Returns the lines that `keep` chooses by their numbers, from 1, and by the session that they name, and moves the
/// offsets of what was written to them.
pub fn select_lines(
    stdout: &[u8],
    written: &[CapturedWrite],
    keep: impl Fn(usize, Option<&str>) -> bool,
) -> (Vec<u8>, Vec<CapturedWrite>) {
    let mut kept = Vec::new();
    let mut written = written.to_vec();
    let mut end = 0;
    let mut next = written.iter_mut().peekable();
    for (number, line) in (1..).zip(stdout.split_inclusive(|byte| *byte == b'\n')) {
        end += line.len() as u64;
        while let Some(write) = next.next_if(|write| write.stdout_offset < end) {
            write.stdout_offset = kept.len() as u64;
        }
        if keep(number, LineHead::of(line).as_ref().and_then(LineHead::session)) {
            kept.extend_from_slice(line);
        }
    }
    next.for_each(|write| write.stdout_offset = kept.len() as u64);
    (kept, written)
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

    const MESSAGE: &str = r#"{"type":"assistant","message":{},"session_id":"s"}"#;
    const RESULT: &str = r#"{"type":"result","session_id":"s","claude_code_version":"2.1.1"}"#;

    /// Checks the facts of a capture; its sessions as the lines on which they begin.
    #[track_caller]
    fn check_facts(lines: &[&str], sessions: &[usize], expected: CaptureFacts) {
        let facts = CaptureFacts::of(lines.join("\n").as_bytes());
        let begins: Vec<usize> = facts.sessions.iter().map(|session| session.line).collect();
        assert_eq!(begins, sessions, "{lines:?}");
        assert_eq!(
            facts,
            CaptureFacts { sessions: facts.sessions.clone(), ..expected },
            "{lines:?}"
        );
    }

    #[test]
    fn a_capture_says_what_it_lacks() {
        let facts = CaptureFacts::default;
        let named = || Some("2.1.1".to_owned());
        let init = r#"{"type":"system","subtype":"init","session_id":"t"}"#;
        check_facts(&["a banner", RESULT, ""], &[2], CaptureFacts { version: named(), ..facts() });
        let meta = r#"{"_meta":true,"session_id":"x"}"#;
        check_facts(
            &[meta, meta, init, meta],
            &[3],
            CaptureFacts { foreign_lines: 2, has_init: true, ..facts() },
        );
        check_facts(&["a banner", meta], &[], facts());
        let marked = format!("\u{feff}{init}");
        check_facts(&[&marked], &[1], CaptureFacts { has_init: true, ..facts() });
        check_facts(
            &[MESSAGE, RESULT, MESSAGE, ""],
            &[1],
            CaptureFacts { open_turn: Some(3), version: named(), ..facts() },
        );
        check_facts(
            &[MESSAGE, &MESSAGE[..20]],
            &[1],
            CaptureFacts { open_turn: Some(1), cut_line: Some(2), ..facts() },
        );
        let both = format!("{init}{MESSAGE}");
        check_facts(
            &[&both, RESULT, &MESSAGE[..20], &format!("> {MESSAGE}"), ""],
            &[1, 1],
            CaptureFacts {
                has_init: true,
                version: named(),
                broken_lines: vec![1, 3],
                logged_lines: vec![4],
                ..facts()
            },
        );
        check_facts(
            &[init, MESSAGE, init],
            &[1, 2],
            CaptureFacts { has_init: true, open_turn: Some(2), ..facts() },
        );
    }

    #[test]
    fn lines_are_selected_with_what_was_written_after_them() {
        let stdout = [MESSAGE, "no record", RESULT, ""].join("\n");
        let first = MESSAGE.len() as u64 + 1;
        let write = |stdout_offset| CapturedWrite { stdout_offset, bytes: "a\n".to_owned() };
        let written = [write(0), write(first), write(first + 10), write(999)];
        let (kept, moved) = select_lines(stdout.as_bytes(), &written, |number, session| {
            number == 2 || session.is_none()
        });
        assert_eq!(kept, b"no record\n");
        let offsets: Vec<u64> = moved.iter().map(|write| write.stdout_offset).collect();
        assert_eq!(offsets, [0, 0, 10, 10]);
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
