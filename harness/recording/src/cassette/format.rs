//! The cassette's format: the contents of `cassette.toml` and `timeline.jsonl`.
//!
//! A cassette is `cassettes/<scenario>/<cli version>/` with `cassette.toml`, `stdout.jsonl`,
//! `timeline.jsonl` and, where there were any, `stderr.txt`, `stdin.jsonl` and
//! `transcript.jsonl`. Only TOML and JSON: nothing in a cassette is ever executed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::names::{CassetteFile, CliVersion, ScenarioName};
use crate::scenario::{Exit, Resume};

/// The format this version writes; a cassette of a later one is refused.
pub const FORMAT: u32 = 2;

/// The text of `cassette.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The scenario it was recorded for.
    pub scenario: ScenarioName,
    /// The origin of the bytes.
    pub origin: Origin,
    /// The rules whose secrets may be in the cassette: those that `--allow-secrets` named and that found
    /// one; absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_secrets: Vec<String>,
    /// The CLI that printed them.
    pub cli: Cli,
    /// What it was recorded from: a digest of each part of the scenario that decides what the CLI prints; absent in one
    /// that was not recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub made_from: BTreeMap<String, String>,
    /// How the CLI ended; absent when an imported capture does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Sizes.
    pub counts: RecordCounts,
    /// Replacements made before the files were written, by rule id.
    #[serde(default)]
    pub canonical: BTreeMap<String, u64>,
    /// Secrets replaced by fakes with `--redact`, by rule id; absent when there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// SHA-256 of every file beside this one, and of each run's stdout before replacements
    /// (`raw-stdout`, `raw-stdout.2`).
    #[serde(default)]
    pub sha256: BTreeMap<CassetteFile, String>,
    /// `[[run]]`: the further runs, from the second.
    #[serde(default, rename = "run", skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunFacts>,
}

/// The origin of a cassette's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// By `clitape record`, from the real CLI.
    Recorded,
    /// By `clitape import`, from a capture made elsewhere.
    Imported,
    /// Put together from parts of recordings.
    Composed,
    /// Recorded, then changed by hand.
    Edited,
}

/// The CLI of a cassette.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cli {
    /// Its version, as it prints it.
    pub version: CliVersion,
    /// SHA-256 of the program that ran, links followed; absent when not known, as of a capture
    /// made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The command line, machine details replaced; empty when not known.
    #[serde(default)]
    pub argv: Vec<String>,
    /// Operating system and architecture, such as `linux-x86_64`; empty when not known.
    #[serde(default)]
    pub platform: String,
    /// Day of the recording, `YYYY-MM-DD`.
    pub date: String,
    /// The way in which the CLI was confined to its temporary folder; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confinement>,
}

/// The way in which a CLI is confined to its temporary folder during a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confinement {
    /// Landlock, a part of the Linux kernel.
    Landlock,
    /// bubblewrap, which makes a sandbox of namespaces; it confines files, not connections.
    Bubblewrap,
}

/// Sizes of a cassette's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordCounts {
    /// Bytes of stdout.
    pub bytes: u64,
    /// Lines of stdout, an unterminated last one included.
    pub lines: u64,
    /// The number of reads.
    pub reads: u64,
}

/// `[[run]]` of `cassette.toml`: a further run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFacts {
    /// Which session it went on with.
    pub resume: Resume,
    /// The command line, machine details replaced.
    pub argv: Vec<String>,
    /// How the CLI ended.
    pub exit: Exit,
    /// Sizes.
    pub counts: RecordCounts,
}

/// One entry of `timeline.jsonl`: something that happened `after_ms` after the entry before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// Milliseconds since the entry before.
    pub after_ms: u64,
    /// The event.
    pub kind: TickKind,
}

/// The event of a [`Tick`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TickKind {
    /// `"o"`: a read brought this many bytes of stdout.
    Out(u64),
    /// `"e"`: a read brought this many bytes of stderr.
    Err(u64),
    /// `"i"`: a line of `stdin.jsonl` was written.
    In {
        /// Which line, from 1.
        line: u64,
        /// The number of bytes of stdout up to the end of the record that fired the line or one before it,
        /// which is the same in every recording and never falls; absent in older cassettes.
        offset: Option<u64>,
    },
    /// `"m"`: a marker.
    Marker(String),
    /// `"x"`: the CLI ended.
    Exit(Exit),
}

/// Writes a timeline as JSON lines `[interval ms, code, n]`; a line of stdin has its offset as well.
pub fn render_timeline(ticks: &[Tick]) -> String {
    let mut text = String::new();
    for tick in ticks {
        let ms = tick.after_ms;
        // A write to a `String` never fails.
        let _ = match &tick.kind {
            TickKind::Out(n) => writeln!(text, "[{ms},\"o\",{n}]"),
            TickKind::Err(n) => writeln!(text, "[{ms},\"e\",{n}]"),
            TickKind::In { line, offset: None } => writeln!(text, "[{ms},\"i\",{line}]"),
            TickKind::In { line, offset: Some(offset) } => {
                writeln!(text, "[{ms},\"i\",{line},{offset}]")
            }
            TickKind::Marker(name) => {
                writeln!(text, "[{ms},\"m\",{}]", serde_json::Value::from(name.as_str()))
            }
            TickKind::Exit(Exit::Code(n)) => writeln!(text, "[{ms},\"x\",{n}]"),
            TickKind::Exit(Exit::Signal(n)) => writeln!(text, "[{ms},\"x\",\"SIG{n}\"]"),
        };
    }
    text
}

/// Longest time between the start of a run and its last tick, in milliseconds: 30 days.
const LONGEST_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// Reads what [`render_timeline`] wrote; on failure the number of the bad line and what is wrong.
///
/// The sizes and the intervals add up without overflow, so that a caller that adds them need not check.
pub fn parse_timeline(text: &str) -> Result<Vec<Tick>, (usize, String)> {
    let (mut bytes, mut out, mut ms) = (0_u64, 0_u64, 0_u64);
    let mut ticks = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let tick = parse_tick(line).map_err(|what| (number, what))?;
        let n = match tick.kind {
            TickKind::Out(n) | TickKind::Err(n) => n,
            TickKind::In { .. } | TickKind::Marker(_) | TickKind::Exit(_) => 0,
        };
        if let TickKind::Out(n) = tick.kind {
            out = out.saturating_add(n);
        }
        if let TickKind::In { offset: Some(offset), .. } = tick.kind
            && offset > out
        {
            let what = format!("offset {offset} is past the {out} bytes of stdout before it");
            return Err((number, what));
        }
        bytes = bytes
            .checked_add(n)
            .ok_or_else(|| (number, "the sizes add up to more than 2^64 bytes".to_owned()))?;
        ms = ms.checked_add(tick.after_ms).filter(|&ms| ms <= LONGEST_MS).ok_or_else(|| {
            (
                number,
                format!("the intervals add up to more than {LONGEST_MS} ms, which are 30 days"),
            )
        })?;
        ticks.push(tick);
    }
    Ok(ticks)
}

/// The four values of a line.
#[derive(Deserialize)]
struct TickLine(u64, String, serde_json::Value, #[serde(default)] Option<u64>);

fn parse_tick(line: &str) -> Result<Tick, String> {
    let TickLine(after_ms, code, value, offset) =
        serde_json::from_str(line).map_err(|e| e.to_string())?;
    if offset.is_some() && code != "i" {
        return Err(format!("only an `i` has an offset, and this is an `{code}`"));
    }
    let number = || value.as_u64().ok_or_else(|| format!("`{value}` is not a count"));
    let kind = match code.as_str() {
        "o" => TickKind::Out(number()?),
        "e" => TickKind::Err(number()?),
        "i" => TickKind::In { line: number()?, offset },
        "m" => TickKind::Marker(
            value
                .as_str()
                .ok_or_else(|| format!("`{value}` is not the name of a marker"))?
                .to_owned(),
        ),
        "x" => TickKind::Exit(parse_exit(&value)?),
        other => return Err(format!("`{other}` is not one of o, e, i, m, x")),
    };
    Ok(Tick { after_ms, kind })
}

fn parse_exit(value: &serde_json::Value) -> Result<Exit, String> {
    if let Some(code) = value.as_i64() {
        return i32::try_from(code).map(Exit::Code).map_err(|e| e.to_string());
    }
    value
        .as_str()
        .and_then(|s| s.strip_prefix("SIG"))
        .and_then(|n| n.parse().ok())
        .map(Exit::Signal)
        .ok_or_else(|| format!("`{value}` is neither an exit code nor SIGn"))
}

/// Milliseconds between two lines of a capture that does not say when they came.
pub const LINE_PACE_MS: u64 = 200;

/// A timeline for bytes without one: whole lines, one after another.
pub fn line_by_line(stdout: &[u8]) -> Vec<Tick> {
    let lines = stdout.split_inclusive(|&byte| byte == b'\n');
    let tick =
        |line: &[u8]| Tick { after_ms: LINE_PACE_MS, kind: TickKind::Out(line.len() as u64) };
    lines.map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeline_survives_a_round_trip() {
        let text = "[0,\"o\",12]\n[40,\"e\",3]\n[1,\"i\",1]\n[1,\"i\",2,12]\n[0,\"m\",\"a \\\"mark\\\"\"]\n\
                    [9,\"x\",143]\n[0,\"x\",\"SIG9\"]\n";
        assert_eq!(render_timeline(&parse_timeline(text).unwrap()), text);
    }

    #[test]
    fn a_bad_timeline_names_its_line() {
        let long = format!("[0,\"o\",1]\n[{LONGEST_MS},\"e\",1]\n[1,\"x\",0]\n");
        for (text, at, part) in [
            ("[0,\"o\",1]\n[0,\"z\",1]\n", 2, "`z` is not one of o, e, i, m, x"),
            ("[0,\"m\",1]\n", 1, "`1` is not the name of a marker"),
            ("[0,\"o\",5]\n[0,\"i\",1,6]\n", 2, "offset 6 is past the 5 bytes"),
            ("[0,\"o\",5,1]\n", 1, "only an `i` has an offset, and this is an `o`"),
            // The sum wrapped once, and the cassette counted as whole.
            ("[0,\"o\",18446744073709551615]\n[0,\"o\",13]\n", 2, "more than 2^64 bytes"),
            ("[18446744073709551615,\"o\",1]\n", 1, "which are 30 days"),
            (&long, 3, "which are 30 days"),
        ] {
            let (line, what) = parse_timeline(text).unwrap_err();
            assert!(line == at && what.contains(part), "{text:?}: line {line}: {what}");
        }
    }
}
