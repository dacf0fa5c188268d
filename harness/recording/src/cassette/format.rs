//! The cassette's format: the contents of `cassette.toml` and `timeline.jsonl`.
//!
//! A cassette is `cassettes/<scenario>/<cli version>/` with `cassette.toml`, `stdout.jsonl`, `timeline.jsonl` and, if
//! the run had any, `stderr.txt`, `stdin.jsonl` and `transcript.jsonl`. It contains only TOML and JSON: no part of a
//! cassette is ever executed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::names::{CassetteFile, CliVersion, ScenarioName};
use crate::scenario::{Exit, Resume};

/// The format that this version writes; a cassette with a later one is refused.
pub const FORMAT: u32 = 2;

/// The text of `cassette.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The format, [`FORMAT`] in a new cassette.
    pub format: u32,
    /// The scenario it was recorded for.
    pub scenario: ScenarioName,
    /// The origin of the bytes.
    pub origin: Origin,
    /// The rules whose secrets may be in the cassette: those that `--allow-secrets` named and that found one; absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_secrets: Vec<String>,
    /// The CLI that printed the bytes.
    pub cli: Cli,
    /// A digest of each part of the scenario that decides the CLI's output; absent if the cassette was not recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub made_from: BTreeMap<String, String>,
    /// The CLI's exit; absent if an imported capture lacks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The sizes of the first run.
    pub counts: RecordCounts,
    /// The number of replacements made before the files were written, by rule id.
    #[serde(default)]
    pub canonical: BTreeMap<String, u64>,
    /// The number of secrets replaced by fakes with `--redact`, by rule id; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// The SHA-256 of every file beside this one, and of each run's stdout before replacements (`raw-stdout`,
    /// `raw-stdout.2`).
    #[serde(default)]
    pub sha256: BTreeMap<CassetteFile, String>,
    /// The further runs, from the second: `[[run]]`.
    #[serde(default, rename = "run", skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunFacts>,
}

/// The origin of a cassette's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The cassette was recorded from the real CLI by `clitape record`.
    Recorded,
    /// The cassette was made by `clitape import` from a capture of another tool.
    Imported,
    /// The cassette was composed of parts of recordings.
    Composed,
    /// The cassette was recorded, and then edited by hand.
    Edited,
    /// The cassette was written by hand, or edited by hand to records that no CLI prints.
    Synthetic,
}

impl Origin {
    /// Returns the word for it, as `cassette.toml` has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Imported => "imported",
            Self::Composed => "composed",
            Self::Edited => "edited",
            Self::Synthetic => "synthetic",
        }
    }
}

/// The CLI of a cassette.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cli {
    /// The version, as the CLI prints it.
    pub version: CliVersion,
    /// The SHA-256 of the program that ran, with links followed; absent if it is unknown, as for a capture of another
    /// tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The command line, with machine details replaced; empty if it is unknown.
    #[serde(default)]
    pub argv: Vec<String>,
    /// The operating system and the architecture, such as `linux-x86_64`; empty if unknown.
    #[serde(default)]
    pub platform: String,
    /// The day of the recording, `YYYY-MM-DD`.
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

/// The sizes of a run's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordCounts {
    /// The number of bytes of stdout.
    pub bytes: u64,
    /// The number of lines of stdout, including an unterminated last one.
    pub lines: u64,
    /// The number of reads of stdout.
    pub reads: u64,
}

/// A further run: `[[run]]` of `cassette.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFacts {
    /// The session that the run resumed.
    pub resume: Resume,
    /// The command line, with machine details replaced.
    pub argv: Vec<String>,
    /// The exit of the CLI.
    pub exit: Exit,
    /// The sizes of the run.
    pub counts: RecordCounts,
}

/// An entry of `timeline.jsonl`: an event `after_ms` after the entry before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// The milliseconds since the entry before.
    pub after_ms: u64,
    /// The event.
    pub kind: TickKind,
}

/// The event of a [`Tick`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TickKind {
    /// A read of this many bytes of stdout: `"o"`.
    Out(u64),
    /// A read of this many bytes of stderr: `"e"`.
    Err(u64),
    /// A write of a line of `stdin.jsonl`: `"i"`.
    In {
        /// The number of the line, from 1.
        line: u64,
        /// The number of bytes of stdout up to the end of the record that triggered the line or one before it. It is
        /// the same in every recording and never falls; absent in older cassettes.
        offset: Option<u64>,
    },
    /// A marker: `"m"`.
    Marker(String),
    /// The end of the CLI: `"x"`.
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

/// The longest time between the start of a run and its last tick, in milliseconds: 30 days.
const LONGEST_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// Reads a timeline that [`render_timeline`] wrote; the error is the number of the bad line and a description.
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

/// The values of a line; the fourth is optional.
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

/// The milliseconds between two lines of a capture without times.
pub const LINE_PACE_MS: u64 = 200;

/// Makes a timeline for bytes without one: whole lines, one after another.
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
            // The sum wraps around once, which would make the cassette look complete.
            ("[0,\"o\",18446744073709551615]\n[0,\"o\",13]\n", 2, "more than 2^64 bytes"),
            ("[18446744073709551615,\"o\",1]\n", 1, "which are 30 days"),
            (&long, 3, "which are 30 days"),
        ] {
            let (line, what) = parse_timeline(text).unwrap_err();
            assert!(line == at && what.contains(part), "{text:?}: line {line}: {what}");
        }
    }
}
