//! `clitape record --check`: compares a new recording with the cassette and writes no files.

use std::borrow::Cow;

use clitape_recording::cassette::{Cassette, Take, Tick, TickKind};
use clitape_recording::files;
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::secrets::redact;
use clitape_recording::text::plural;
use clitape_runner::check::first_difference;
use clitape_runner::record::Claude;

use crate::exit::ExitStatus;

/// Compares a new recording with the cassette or, if there is none, with a second recording.
pub(super) fn check(
    workspace: &Workspace,
    scenario: &Scenario,
    claude: &Claude,
    take: impl Fn(&Scenario, &Claude) -> anyhow::Result<Take>,
) -> anyhow::Result<(ExitStatus, String)> {
    let mut again = take(scenario, claude)?;
    let dir = workspace.cassette(&scenario.name, &claude.version);
    let mut note = String::new();
    let (before, against) = if files::is_there(&dir) {
        let cassette = Cassette::find(workspace, &scenario.name, &claude.version)?;
        note = other_program(&cassette, claude).unwrap_or_default();
        if !cassette.manifest.redacted.is_empty() {
            redact(&mut again)?;
        }
        (Take::from(cassette), workspace.shown(&dir))
    } else {
        (take(scenario, claude)?, "a second recording".to_owned())
    };
    let (before, again) = (RecordingParts::of(&before), RecordingParts::of(&again));
    let place = format!("{} {}", scenario.name, claude.version);
    if let Some(what) = difference(&before, &again) {
        return Ok((
            ExitStatus::Findings,
            format!("{place}: differs from {against}: {what}{note}"),
        ));
    }
    let bytes = plural(again.bytes(), "byte");
    Ok((ExitStatus::Ok, format!("{place}: identical to {against}, {bytes}{note}")))
}

/// Describes the first difference between two recordings in a sentence; `None` if they are equal.
pub(super) fn difference(
    RecordingParts(before): &RecordingParts<'_>,
    RecordingParts(again): &RecordingParts<'_>,
) -> Option<String> {
    for (before, again) in before.iter().zip(again) {
        // A cassette without offsets is older than that part of the format.
        let is_old = before.kind == PartKind::Offsets && before.bytes.is_empty();
        if let Some(sentence) = first_difference(&before.bytes, &again.bytes).filter(|_| !is_old) {
            return Some(format!("{}{sentence}", before.name));
        }
    }
    let runs = |parts: &[RecordingPart<'_>]| {
        parts.iter().filter(|part| part.kind == PartKind::Stdout).count()
    };
    let (before, again) = (runs(before), runs(again));
    (before != again).then(|| format!("{} where there were {before}", plural(again, "run")))
}

/// Returns a note if the cassette was made by another program of the same version.
fn other_program(cassette: &Cassette, claude: &Claude) -> Option<String> {
    let before = cassette.manifest.cli.sha256.as_ref().filter(|hash| **hash != claude.sha256)?;
    let now = &claude.sha256;
    Some(format!(
        "\n  note: recorded by another program of this version, sha256 {before}; this is {now}"
    ))
}

/// A part of a recording that is the same each time.
struct RecordingPart<'t> {
    kind: PartKind,
    /// The start of the sentence about a difference in it.
    name: String,
    bytes: Cow<'t, [u8]>,
}

/// The kinds of parts that are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// The stdout of a run.
    Stdout,
    /// The lines written to stdin.
    Stdin,
    /// The bytes of stdout before each line of stdin.
    Offsets,
}

/// The parts of a recording that are compared.
pub(super) struct RecordingParts<'t>(Vec<RecordingPart<'t>>);

impl<'t> RecordingParts<'t> {
    /// Returns the parts of a recording in memory.
    pub(super) fn of(take: &'t Take) -> Self {
        let part = |kind, name: &str, bytes| RecordingPart { kind, name: name.to_owned(), bytes };
        let mut all = vec![
            part(PartKind::Stdout, "", Cow::from(&take.stdout)),
            part(PartKind::Stdin, "stdin.jsonl, ", Cow::from(&take.stdin)),
            part(PartKind::Offsets, "offsets of stdin.jsonl, ", Cow::from(offsets(&take.timeline))),
        ];
        for (number, run) in (2..).zip(&take.further) {
            all.push(part(PartKind::Stdout, &format!("run {number}, "), Cow::from(&run.stdout)));
        }
        Self(all)
    }

    /// Returns the number of bytes of stdout, over all runs.
    fn bytes(&self) -> usize {
        let stdout = self.0.iter().filter(|part| part.kind == PartKind::Stdout);
        stdout.map(|part| part.bytes.len()).sum()
    }
}

/// Returns the offset of each line of stdin, one on each line.
fn offsets(timeline: &[Tick]) -> Vec<u8> {
    let lines = timeline.iter().filter_map(|tick| match tick.kind {
        TickKind::In { line, offset: Some(offset) } => {
            Some(format!("line {line} after {offset} bytes of stdout\n"))
        }
        _ => None,
    });
    lines.collect::<String>().into_bytes()
}
