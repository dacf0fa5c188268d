//! Converts a recording to its canonical form, a take.

use std::collections::BTreeMap;

use clitape_recording::cassette::canon::{
    MachineFacts, MachineFolder, Substitutions, canonical, conversation_lines,
};
use clitape_recording::cassette::{
    Cli, FORMAT, FurtherRun, Manifest, Origin, RecordCounts, RunFacts, Take, Tick,
};
use clitape_recording::cassette::{sha256, timeline};
use clitape_recording::clock;
use clitape_recording::names::{CassetteFile, CassettePart};
use clitape_recording::scenario::{Scenario, SessionStep};

use super::run::{RawRecording, RawRun};

/// Converts `recording` to its canonical form. A value that several runs contain gets one placeholder.
pub(crate) fn into_take(recording: &RawRecording, scenario: &Scenario) -> Take {
    let mut canonicalizer =
        Canonicalizer { substitutions: None, facts: facts(recording), counts: [].into() };
    let first = canonicalizer.convert(&recording.first);
    let further = recording.further.iter().zip(&scenario.record.then);
    let further =
        further.map(|(run, step)| canonicalizer.convert(run).into_further(run, step)).collect();
    let manifest = Manifest {
        format: FORMAT,
        scenario: scenario.name.clone(),
        origin: Origin::Recorded,
        allowed_secrets: Vec::new(),
        cli: Cli {
            version: recording.version.clone(),
            sha256: Some(recording.cli_sha256.clone()),
            argv: first.argv,
            platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
            date: clock::today(),
            confined: recording.confined,
        },
        exit: Some(recording.first.exit),
        counts: RecordCounts::default(),
        made_from: BTreeMap::new(),
        canonical: canonicalizer.counts,
        redacted: BTreeMap::new(),
        sha256: (1..)
            .zip(std::iter::once(&recording.first).chain(&recording.further))
            .map(|(number, run)| {
                (CassetteFile::new(CassettePart::RawStdout, number), sha256(&run.stdout))
            })
            .collect(),
        runs: Vec::new(),
    };
    let CanonicalRun { stdout, timeline, stderr, stdin, transcript, .. } = first;
    Take { manifest, timeline, stdout, stderr, stdin, transcript, further }
}

/// The canonical form of one run.
struct CanonicalRun {
    argv: Vec<String>,
    timeline: Vec<Tick>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    stdin: Vec<u8>,
    transcript: Vec<u8>,
    history: Vec<u8>,
}

impl CanonicalRun {
    fn into_further(self, run: &RawRun, step: &SessionStep) -> FurtherRun {
        let Self { argv, timeline, stdout, stderr, transcript, history, .. } = self;
        let (resume, exit, counts) = (step.resume, run.exit, RecordCounts::default());
        let facts = RunFacts { resume, argv, exit, counts };
        FurtherRun { facts, stdout, timeline, stderr, transcript, history }
    }
}

/// Converts one run after the other to its canonical form.
struct Canonicalizer {
    facts: MachineFacts,
    substitutions: Option<Substitutions>,
    /// The number of replacements in all runs, by rule.
    counts: BTreeMap<String, u64>,
}

impl Canonicalizer {
    fn convert(&mut self, run: &RawRun) -> CanonicalRun {
        let (stdout, mut substitutions) = match self.substitutions.take() {
            None => canonical(&run.stdout, &self.facts),
            Some(mut known) => (known.apply_lines(&run.stdout), known),
        };
        let stdin = substitutions.apply_lines(&run.stdin);
        let transcript = substitutions.apply_lines(&conversation_lines(&run.transcript));
        let stderr = substitutions.apply_lines(&run.stderr);
        let history = substitutions.apply_lines(&run.history);
        for part in [&stdout, &transcript, &stdin, &stderr, &history] {
            for (rule, n) in &part.counts {
                *self.counts.entry(rule.clone()).or_default() += n;
            }
        }
        let events = run.events.iter().cloned();
        let timeline = timeline(events, |raw| stdout.map_offset(raw), |raw| stderr.map_offset(raw));
        let argv = run.argv.iter().map(|arg| substitutions.apply_text(arg)).collect();
        self.substitutions = Some(substitutions);
        CanonicalRun {
            argv,
            timeline,
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            stdin: stdin.bytes,
            transcript: transcript.bytes,
            history: history.bytes,
        }
    }
}

fn facts(recording: &RawRecording) -> MachineFacts {
    let folders = &recording.folders;
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::effective());
    MachineFacts {
        paths: vec![
            (folders.project.clone(), MachineFolder::Project),
            (folders.home.clone(), MachineFolder::Home),
            (folders.tmp.clone(), MachineFolder::Tmp),
        ],
        host: nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()),
        user: user.ok().flatten().map(|user| user.name),
        address: Some(recording.address.clone()),
        cli_version: Some(recording.version.to_string()),
    }
}
