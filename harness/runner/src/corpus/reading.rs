//! The expected reading of a recording: what a reader of its bytes must get out of them.
//!
//! The events are those of clitape's own parser. The end of each turn, its text, its calls and its tokens, and the session
//! are the facts that `serde_json` alone reads, so that a mistake of the parser can't be in both.

use std::collections::BTreeMap;

use clitape_recording::capture::{Capture, StdinLine, stdin_lines};
use clitape_recording::cassette::{Cassette, Origin};
use clitape_recording::facts::{
    Facts, RecordedSession, RecordedTurn, RecordedUsage, ToolOutcome, TurnEnding, TurnFacts,
};
use clitape_recording::names::{CassetteFile, CassettePart, CliVersion, ScenarioName};
use clitape_stream::{Event, Parser};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// The format of a corpus.
pub const CORPUS_FORMAT: u32 = 1;

/// The expected reading of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExpectedReading {
    /// The format of the corpus.
    pub format: u32,
    /// The scenario.
    pub scenario: ScenarioName,
    /// The version of the CLI.
    pub cli_version: CliVersion,
    /// The origin of the bytes.
    pub origin: Origin,
    /// The runs of the CLI; each further one resumes the session of an earlier one.
    pub runs: Vec<RunReading>,
}

/// The expected reading of one run of the CLI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunReading {
    /// The file with the bytes that the CLI printed.
    pub stdout: String,
    /// The lines that a host wrote to the CLI; absent if it wrote none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<StdinReading>,
    /// The file with the events, in their order, one a line.
    pub events: String,
    /// The number of events of each kind.
    pub event_counts: BTreeMap<String, u64>,
    /// The lines of stdout.
    pub lines: LineReading,
    /// The session.
    pub session: RecordedSession,
    /// The text of the last result without the blanks around it; absent if there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_text: Option<String>,
    /// The tokens of the last result that counts them; they are the totals of its turn. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<RecordedUsage>,
    /// The turns, in their order.
    pub turns: Vec<TurnReading>,
}

/// The lines of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StdinReading {
    /// The file with the lines that were written.
    pub file: String,
    /// For each line, the number of bytes of stdout that the host had read when it wrote it.
    pub offsets: Vec<u64>,
}

/// The counts of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LineReading {
    /// The lines that are one JSON object.
    pub records: u64,
    /// The lines that are neither blank, nor one JSON object, nor a list of objects.
    pub unusable: u64,
}

/// The expected reading of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnReading {
    /// The end of the turn: `answered`, `silent`, `interrupted`, `failed` or `cut_off`.
    pub ending: &'static str,
    /// The words of the CLI about a failure, or else its name for it; absent if the turn did not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The text of the result; absent if the turn has no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The text of the model in the main conversation, in pieces between which a tool ran or a new message began.
    pub texts: Vec<String>,
    /// The calls of tools in the main conversation.
    pub calls: Vec<CallReading>,
    /// The tokens of the result; absent if it does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<RecordedUsage>,
}

/// The expected reading of a call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallReading {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The outcome: `completed`, `failed` or `none` if the turn ended before it.
    pub outcome: &'static str,
}

/// A file of a recording in the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CorpusFile {
    /// Its name in the folder of the recording.
    pub(super) name: String,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
}

impl ExpectedReading {
    /// Reads a cassette; returns the reading, and the files that it names.
    pub(super) fn of(cassette: &Cassette) -> (Self, Vec<CorpusFile>) {
        let (mut runs, mut files) = (Vec::new(), Vec::new());
        for (number, stdout) in (1..).zip(cassette.outputs()) {
            // Only the first run of a recording has a host.
            let stdin = match number {
                1 => stdin_lines(&cassette.stdin, &cassette.timeline),
                _ => Vec::new(),
            };
            let run = RecordedRun { number, stdout, stdin: &stdin };
            runs.push(run.read(&mut files));
        }
        let reading = Self {
            format: CORPUS_FORMAT,
            scenario: cassette.manifest.scenario.clone(),
            cli_version: cassette.version().clone(),
            origin: cassette.manifest.origin,
            runs,
        };
        (reading, files)
    }
}

/// The beginning of an event as it is written.
const KIND: &str = "{\"kind\":\"";

/// The bytes of a run of the CLI.
struct RecordedRun<'a> {
    /// The number of the run, from 1.
    number: usize,
    stdout: &'a [u8],
    stdin: &'a [StdinLine],
}

impl RecordedRun<'_> {
    /// Reads the run, and adds its files.
    fn read(&self, files: &mut Vec<CorpusFile>) -> RunReading {
        let Self { number, stdout, stdin } = *self;
        let of_part = |part| CassetteFile::new(part, number).to_string();
        let name = of_part(CassettePart::Stdout);
        let events_name = match number {
            1 => "events.jsonl".to_owned(),
            _ => format!("events.{number}.jsonl"),
        };
        let (events, event_counts) = self.events();
        files.push(CorpusFile { name: name.clone(), bytes: stdout.to_vec() });
        files.push(CorpusFile { name: events_name.clone(), bytes: events });
        let stdin_reading = (!stdin.is_empty()).then(|| {
            let file = of_part(CassettePart::Stdin);
            let bytes = stdin.iter().flat_map(|line| line.line.clone()).collect();
            files.push(CorpusFile { name: file.clone(), bytes });
            StdinReading { file, offsets: stdin.iter().map(|line| line.offset).collect() }
        });
        let facts = Facts::read(Capture { stdout, stdin }, usize::MAX);
        let turns: Vec<TurnReading> = turns(&facts);
        RunReading {
            stdout: name,
            stdin: stdin_reading,
            events: events_name,
            event_counts,
            lines: LineReading::of(stdout),
            session: RecordedSession::read(stdout),
            final_text: turns.iter().rev().find_map(|turn| turn.result.clone()),
            usage: turns.iter().rev().find_map(|turn| turn.usage),
            turns,
        }
    }

    /// Returns the events of both sides in the order in which the host saw them, a line each, and their counts.
    fn events(&self) -> (Vec<u8>, BTreeMap<String, u64>) {
        let (mut lines, mut counts) = (Vec::new(), BTreeMap::new());
        let mut take = |event: Event<'_>| {
            // An event has only string keys and plain values, and is written with its kind first.
            let line = serde_json::to_string(&event).unwrap_or_default();
            let kind = line.strip_prefix(KIND).and_then(|rest| rest.split('"').next());
            *counts.entry(kind.unwrap_or_default().to_owned()).or_default() += 1;
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
        };
        let mut parser = Parser::new();
        let mut read = 0;
        for line in self.stdin {
            let until = usize::try_from(line.offset).unwrap_or(usize::MAX);
            let until = until.clamp(read, self.stdout.len());
            parser.feed_with(&self.stdout[read..until], &mut take);
            parser.feed_stdin_with(&line.line, &mut take);
            read = until;
        }
        parser.feed_with(&self.stdout[read..], &mut take);
        parser.finish_with(&mut take);
        (lines, counts)
    }
}

impl LineReading {
    /// Counts the lines of stdout.
    pub(super) fn of(stdout: &[u8]) -> Self {
        let mut counts = Self::default();
        for line in stdout.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if is_record(line) {
                counts.records += 1;
            } else {
                counts.unusable += u64::from(!line.is_empty() && !is_list(line));
            }
        }
        counts
    }
}

/// Returns whether a line is an object, also if a text in it has half of a character as `\ud83d`, which some libraries
/// refuse.
fn is_record(line: &[u8]) -> bool {
    line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// Returns whether a line is a list of records, as some programs print it.
fn is_list(line: &[u8]) -> bool {
    let list: Result<Vec<Map<String, Value>>, _> = serde_json::from_slice(line);
    list.is_ok_and(|list| !list.is_empty())
}

/// Returns the turns as the facts state them.
fn turns(facts: &Facts) -> Vec<TurnReading> {
    let results = facts.turns.iter().map(Some).chain([None]);
    let turn = |(of, result): (TurnFacts, Option<&RecordedTurn>)| {
        let (ending, failure) = match of.ending {
            TurnEnding::Answered => ("answered", None),
            TurnEnding::Silent => ("silent", None),
            TurnEnding::Interrupted => ("interrupted", None),
            TurnEnding::Failed(words) => ("failed", Some(words)),
            TurnEnding::CutOff => ("cut_off", None),
        };
        let calls = of.tools.into_iter().map(|tool| CallReading {
            id: tool.id,
            name: tool.name,
            outcome: match tool.outcome {
                Some(ToolOutcome::Completed) => "completed",
                Some(ToolOutcome::Failed) => "failed",
                None => "none",
            },
        });
        TurnReading {
            ending,
            failure,
            result: result.map(|result| result.text.clone()),
            texts: of.segments.into_iter().map(|segment| segment.text).collect(),
            calls: calls.collect(),
            usage: result.and_then(|result| result.usage),
        }
    };
    facts.turn_facts().into_iter().zip(results).map(turn).collect()
}
