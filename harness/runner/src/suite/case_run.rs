//! One run of the CLI in a proof. A scenario has one, or several that continue its session.

use std::sync::Arc;

use clitape_recording::cassette::{Cassette, Exit, RecordCounts, Resume};
use clitape_recording::scenario::{AcpClient, Chat, Scenario, Setup};
use clitape_recording::trace::{Entry, Lane};

use crate::check::Recording;
use crate::replay::{Capture, Cut, Plan, Replay, ReplayRequest, replay, stdin_lines};

/// A run of the CLI, replayed as goldens are made: whole lines, one after another.
#[derive(Debug, Clone)]
pub struct CaseRun {
    /// The number of the run, from 1.
    pub number: usize,
    /// The way in which it resumes the session; `None` for a first run.
    pub resume: Option<Resume>,
    /// The command line, with details of the machine replaced; empty if it is unknown.
    pub argv: Vec<String>,
    /// The exit of the CLI; `None` if an imported capture lacks it.
    pub exit: Option<Exit>,
    /// The counts of its records.
    pub counts: RecordCounts,
    /// The stderr of a further run.
    pub stderr: String,
    /// The trace; of the lane `session`, only the entries of this run.
    pub entries: Vec<Entry>,
    /// The lines of stdout; read `n` of the trace brought line `n`.
    pub records: Vec<String>,
    /// The request for the replay that is shown.
    pub request: ReplayRequest,
    /// The replay.
    pub replay: Arc<Replay>,
}

impl CaseRun {
    /// Replays the runs of a cassette, in `chat`.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn all(recording: &Recording, chat: Chat) -> Vec<Self> {
        // The client is that of `clitape replay`, whose command the proof shows.
        let acp = Some(AcpClient { terminal: false });
        let setup = Setup { run: recording.scenario.run, channel: Some(chat), acp };
        let cassette = &recording.cassette;
        let mut first = recording.replays(&[setup]).pop().expect("one setup gives one replay");
        first.add_session(cassette, recording.scenario.session.as_ref());
        let session: Vec<Entry> = first.lane(Lane::Session).cloned().collect();
        let request = recording.request(setup).lanes([Lane::Telegram]);
        let mut runs = vec![Self::first(cassette, request, entries(&first, &session, 1), first)];
        for ((number, replay, request), run) in recording.further(setup).zip(&cassette.further) {
            runs.push(Self {
                number,
                resume: Some(run.facts.resume),
                argv: run.facts.argv.clone(),
                exit: Some(run.facts.exit),
                counts: run.facts.counts,
                stderr: String::from_utf8_lossy(&run.stderr).trim_end().to_owned(),
                records: records(&run.stdout),
                request: request.lanes([Lane::Telegram]),
                entries: entries(&replay, &session, number),
                replay: Arc::new(replay),
            });
        }
        runs
    }

    /// Returns the run of a cassette at a subject, in which `entries` were seen.
    pub fn of_subject(scenario: &Scenario, cassette: &Cassette, entries: Vec<Entry>) -> Self {
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
        let plan = Plan::cut(&cassette.stdout, &cassette.timeline, Cut::None, 1);
        let setup = Setup { run: scenario.run, channel: None, acp: None };
        let input = format!("cassettes/{}/{}", scenario.name, cassette.version());
        Self::first(cassette, ReplayRequest::new(input), entries, replay(capture, &plan, setup))
    }

    fn first(
        cassette: &Cassette,
        request: ReplayRequest,
        entries: Vec<Entry>,
        replay: Replay,
    ) -> Self {
        let manifest = &cassette.manifest;
        Self {
            number: 1,
            resume: None,
            argv: manifest.cli.argv.clone(),
            exit: manifest.exit,
            counts: manifest.counts,
            stderr: String::new(),
            entries,
            records: records(&cassette.stdout),
            request,
            replay: Arc::new(replay),
        }
    }

    /// Returns the command that shows the same replay.
    pub fn command(&self) -> String {
        self.request.line("clitape")
    }

    /// Returns the prompt of the command line.
    pub(crate) fn prompt(&self) -> Option<&str> {
        prompt(&self.argv)
    }

    /// Describes for people how the session is resumed; `None` for a first run.
    pub(crate) fn resumed(&self) -> Option<&'static str> {
        Some(match self.resume? {
            Resume::Id => "goes on with the session, by its id",
            Resume::Continue => "goes on with the last session of the project",
            Resume::Fork => "goes on with a copy of the session, under a new id",
            Resume::UnknownId => "asks for a session that never was",
        })
    }
}

/// Returns the entries that are shown of a replay: the chat and the lanes before it, and those of `session` for this
/// run.
fn entries(replay: &Replay, session: &[Entry], number: usize) -> Vec<Entry> {
    let mut entries = replay.entries.to_vec();
    entries.retain(|entry| !matches!(entry.lane, Lane::Acp | Lane::Sse | Lane::Session));
    let over = entries.last().map_or(0, |entry| entry.at);
    let own = session.iter().filter(|entry| entry.field("run") == Some(&number.into()));
    entries.extend(own.map(|entry| entry.at_time(over)));
    entries
}

/// Returns the argument after `-p`; `None` for a CLI that reads its prompt from stdin.
fn prompt(argv: &[String]) -> Option<&str> {
    let after = argv.iter().skip_while(|arg| *arg != "-p").nth(1)?;
    (!after.starts_with("--")).then_some(after)
}

fn records(stdout: &[u8]) -> Vec<String> {
    let lines = stdout.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| String::from_utf8_lossy(line).trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_is_the_argument_after_p() {
        for (argv, expect) in [
            ("claude -p Hi --output-format stream-json", Some("Hi")),
            ("claude -p --output-format stream-json", None),
            ("claude -p", None),
            ("", None),
        ] {
            let argv: Vec<String> = argv.split(' ').map(str::to_owned).collect();
            assert_eq!(prompt(&argv), expect, "{argv:?}");
        }
    }
}
