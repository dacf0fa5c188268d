//! A recording in memory, and the further runs in it: those in which the CLI resumed the session of an earlier run, in
//! the same HOME and project.
//!
//! Their files are beside those of the first run, with the number of the run in the name:
//! `stdout.2.jsonl`, `timeline.2.jsonl`, `transcript.2.jsonl` …, and `history.2.jsonl`: the messages of
//! the first request, which show how the CLI continued the conversation.

use super::format::{Manifest, RunFacts, Tick};

/// A recording or an import in memory, canonical, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Take {
    /// The manifest, which becomes `cassette.toml`; `counts`, `runs` and `sha256` are filled in on writing.
    pub manifest: Manifest,
    /// The bytes of `stdout.jsonl`.
    pub stdout: Vec<u8>,
    /// The entries of `timeline.jsonl`, sizes in canonical bytes.
    pub timeline: Vec<Tick>,
    /// The bytes of `stderr.txt`; no file when empty.
    pub stderr: Vec<u8>,
    /// The bytes of `stdin.jsonl`; no file when empty.
    pub stdin: Vec<u8>,
    /// The bytes of `transcript.jsonl`; no file when empty.
    pub transcript: Vec<u8>,
    /// The further runs, from the second.
    pub further: Vec<FurtherRun>,
}

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
