//! Further runs in a cassette: those in which the CLI resumed the session of an earlier run, in
//! the same HOME and project.
//!
//! Their files are beside those of the first run, with the number of the run in the name:
//! `stdout.2.jsonl`, `timeline.2.jsonl`, `transcript.2.jsonl` …, and `history.2.jsonl`: the messages of
//! the first request, which show how the CLI continued the conversation.

use serde::{Deserialize, Serialize};

use super::format::{Exit, RecordCounts, Tick};

/// A further run in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherRun {
    /// Its entry in `cassette.toml`; `counts` are filled in on writing.
    pub facts: RunFacts,
    /// The bytes of its stdout.
    pub stdout: Vec<u8>,
    /// When they came.
    pub timeline: Vec<Tick>,
    /// The bytes of its stderr; no file when empty.
    pub stderr: Vec<u8>,
    /// The conversation in its session's transcript after it; no file when empty.
    pub transcript: Vec<u8>,
    /// The messages it first sent to the model; no file when empty.
    pub history: Vec<u8>,
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

/// The session that a further run resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// That of the run before, by its id.
    Id,
    /// The last one in the project.
    Continue,
    /// A copy of that of the run before, under a new id.
    Fork,
    /// One that never was.
    UnknownId,
}
