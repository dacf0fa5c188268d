//! Writes the page of one run at a gateway, which says of each of its parts whether it is recorded or real.

use clitape_judge::Finding;
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::report::{SeenRun, seen_page};
use clitape_runner::suite::CaseRun;
use serde_json::{Map, Value};

use super::conditions::{Conditions, Printing};
use super::drive::{DriveResult, Job};
use super::spec::{Front, NamedGateway};
use crate::chat_server::Faults;

impl DriveResult {
    /// Returns the ending of the run, in words.
    pub fn how(&self) -> String {
        self.ending.to_string()
    }

    /// Returns the parts of the run, each as recorded, real, or played by clitape.
    pub fn legs(
        &self,
        job: &Job,
        gateway: NamedGateway<'_>,
        conditions: &Conditions,
    ) -> [(&'static str, String); 4] {
        let cli = &job.cassette.manifest.cli;
        let (front, played) = match gateway.spec.front {
            Front::Chat => {
                ("chat", "clitape\u{2019}s Bot API server on this machine, no real Telegram")
            }
            Front::Editor => ("editor", "clitape\u{2019}s client of the Agent Client Protocol"),
        };
        let faults = match &conditions.faults {
            Faults::None => String::new(),
            faults => format!("; calls that fail: {faults}"),
        };
        let times = match conditions.printing {
            Printing::Recorded => String::new(),
            Printing::Paced(ms) => format!(", a line each {ms} ms"),
            Printing::Seeded(seed) => format!(", cut and delayed by seed {seed}"),
        };
        [
            ("person", format!("recorded: does what the recorded host of {} did", job.name())),
            (front, format!("played: {played}{faults}")),
            ("gateway", format!("real: {}, `{}`", gateway.shown(), gateway.spec.command.join(" "))),
            (
                "claude",
                format!("recorded: what CLI {} printed on {}{times}", cli.version, cli.date),
            ),
        ]
    }
}

/// Writes the page of a run.
pub fn page_of_run(
    gateway: NamedGateway<'_>,
    conditions: &Conditions,
    job: &Job,
    seen: &DriveResult,
    findings: &[Finding],
) -> String {
    let reads = seen.reads.iter().zip(job.cassette.stdout.split_inclusive(|&byte| byte == b'\n'));
    let read = |(at, line): (&u64, &[u8])| {
        let mut data = Map::new();
        data.insert("bytes".to_owned(), Value::from(line.len()));
        Entry::new(*at, Lane::Read, "chunk", data)
    };
    let mut entries: Vec<Entry> = reads.map(read).chain(seen.entries.iter().cloned()).collect();
    entries.sort_by_key(|entry| entry.at);
    seen_page(SeenRun {
        title: &job.scenario.title,
        name: &job.name(),
        about: &job.scenario.about,
        subject: &gateway.shown(),
        legs: &seen.legs(job, gateway, conditions),
        ending: &seen.how(),
        run: &CaseRun::of_subject(&job.scenario, &job.cassette, entries),
        findings,
    })
}
