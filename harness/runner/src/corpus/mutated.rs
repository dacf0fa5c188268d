//! The mutated half of a corpus: small damages of the recorded bytes, and what a reader must still get out of them.

use clitape_recording::cassette::{Cassette, sha256};
use clitape_recording::facts::Facts;
use clitape_recording::names::{CliVersion, ScenarioName};
use serde::Serialize;

use super::reading::{CORPUS_FORMAT, CorpusFile, ExpectedReading, LineReading};
use crate::check::is_open;
use crate::replay::{Mutation, MutationKind};

/// The longest stdout that is mutated, because each damage is written with all bytes around it.
const LONGEST: usize = 64 << 10;

/// The mutated outputs of a recording: `mutated.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MutatedReading {
    /// The format of the corpus.
    pub format: u32,
    /// The scenario.
    pub scenario: ScenarioName,
    /// The version of the CLI.
    pub cli_version: CliVersion,
    /// The mutated outputs, each of the first run of the recording.
    pub mutated: Vec<MutatedStdout>,
}

/// A mutated output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MutatedStdout {
    /// The file with the bytes.
    pub stdout: String,
    /// The kind of the damage.
    pub kind: &'static str,
    /// The number of the damaged line of the recorded stdout, from 1.
    pub line: u64,
    /// The number of bytes of the line before the damage; absent if the whole line is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// What must still hold.
    pub must_hold: MustHold,
}

/// What must hold for a reader of mutated bytes, which has to read them to their end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MustHold {
    /// The lines that are one JSON object; a reader gets the records of all of them.
    pub records: u64,
    /// The records of the recording that are lost.
    pub records_lost: u64,
    /// The records that are there in addition.
    pub records_added: u64,
    /// The lines that are neither blank, nor one JSON object, nor a list of objects; a reader passes over them.
    pub unusable: u64,
    /// The records among the additional ones whose kind no version of the CLI prints; a reader counts or passes over
    /// them.
    pub unknown_kinds: u64,
    /// The number of turns with a result.
    pub results: u64,
    /// The text of the last result, without the blanks around it; absent if there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_text: Option<String>,
    /// True if that is the final text of the recording.
    pub same_final_text: bool,
    /// True if the last turn has no result, so that its answer may be cut off.
    pub is_cut_off: bool,
    /// True if all events but those about broken and unknown records are those of the recording.
    pub same_events: bool,
}

impl MutatedReading {
    /// Mutates the first run of a cassette: with `of_each_kind` once for each kind that fits, and else once. Returns
    /// the list, and the files that it names.
    pub(super) fn of(
        cassette: &Cassette,
        reading: &ExpectedReading,
        of_each_kind: bool,
    ) -> (Self, Vec<CorpusFile>) {
        let stdout = &cassette.stdout;
        let name = format!("{}/{}", reading.scenario, reading.cli_version);
        let seed = u64::from_str_radix(&sha256(name.as_bytes())[..16], 16).unwrap_or_default();
        let kinds: Vec<MutationKind> = MutationKind::all().collect();
        let first = usize::try_from(seed % kinds.len() as u64).unwrap_or_default();
        let most = if of_each_kind { kinds.len() } else { 1 };
        let all = kinds.iter().cycle().skip(first).take(kinds.len());
        let fitting = all.filter(|_| stdout.len() <= LONGEST);
        let drawn = fitting.filter_map(|kind| Mutation::draw(*kind, stdout, seed)).take(most);
        let (mut mutated, mut files) = (Vec::new(), Vec::new());
        for mutation in drawn {
            let name = format!("{}.jsonl", mutation.kind.name());
            mutated.push(MutatedStdout {
                stdout: name.clone(),
                kind: mutation.kind.name(),
                line: mutation.line,
                byte: mutation.byte,
                must_hold: MustHold::of(&mutation, reading),
            });
            files.push(CorpusFile { name, bytes: mutation.stdout });
        }
        mutated.sort_by_key(|one| one.kind);
        let (scenario, cli_version) = (reading.scenario.clone(), reading.cli_version.clone());
        (Self { format: CORPUS_FORMAT, scenario, cli_version, mutated }, files)
    }
}

impl MustHold {
    /// Reads what the mutated bytes state, and compares it with the reading of the recording.
    fn of(mutation: &Mutation, reading: &ExpectedReading) -> Self {
        let Mutation { kind, stdout, .. } = mutation;
        let run = &reading.runs[0];
        let lines = LineReading::of(stdout);
        let facts = Facts::read(stdout.into(), usize::MAX);
        let final_text = facts.turns.last().map(|turn| turn.text.clone());
        // Where whole messages contradict their pieces, a second one may differ from the first.
        let is_consistent = !run.event_counts.contains_key("diagnostic");
        Self {
            records: lines.records,
            records_lost: run.lines.records.saturating_sub(lines.records),
            records_added: lines.records.saturating_sub(run.lines.records),
            unusable: lines.unusable,
            unknown_kinds: u64::from(*kind == MutationKind::UnknownKind),
            results: facts.turns.len() as u64,
            same_final_text: final_text == run.final_text,
            final_text,
            // Each sees beginnings of turns that the other one does not.
            is_cut_off: facts.is_cut_off || is_open(stdout),
            same_events: match kind {
                MutationKind::UnknownKind => true,
                MutationKind::Twice => is_consistent,
                MutationKind::Dropped | MutationKind::Cut | MutationKind::LogInside => false,
            },
        }
    }
}
