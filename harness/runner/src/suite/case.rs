//! The run of one scenario with one CLI version, with its checks and their results, for a proof: one run of the CLI, or several that
//! continue its session.

use std::sync::Arc;

use clitape_judge::{CheckResult, Finding, FindingKind, Golden, RULES, Rule, RuleScope, View};
use clitape_recording::cassette::{Cassette, CassetteError, Exit, Manifest, RecordCounts, Resume};
use clitape_recording::chat::WRITES;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{AcpClient, Chat, Proof, Scenario, Setup, Workspace};
use clitape_recording::secrets::{Hit, scan_loaded};
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};

use super::result::CheckRun;
use crate::check::{Check, Recording, ScenarioChecks};
use crate::replay::{Capture, Cut, Plan, Replay, ReplayRequest, replay, stdin_lines};

/// A scenario with one CLI version, run and judged.
#[derive(Debug, Clone)]
pub struct ProofCase {
    /// The scenario's name.
    pub name: String,
    /// The title, one line for people.
    pub title: String,
    /// The sentence about what it shows.
    pub about: String,
    /// The issues that it guards.
    pub tracks: Vec<String>,
    /// The words of a person about it.
    pub proof: Proof,
    /// The manifest of the cassette.
    pub manifest: Manifest,
    /// The chat that is shown: the scenario's first, or one in mode `partial`.
    pub chat: Chat,
    /// The runs of the CLI, at least one.
    pub runs: Vec<CaseRun>,
    /// The goldens, each with its finding.
    pub goldens: Vec<ComparedGolden>,
    /// The number of seeded plans that were replayed, in every channel.
    pub plans: u64,
    /// The checks that are shown, with all findings.
    pub checks: Vec<CheckRun>,
    /// The secrets in the recording that it does not allow.
    pub secrets: Vec<Hit>,
}

/// A golden that was compared.
#[derive(Debug, Clone)]
pub struct ComparedGolden {
    /// The view that it shows, such as `telegram-partial`.
    pub view: String,
    /// The path of its file, from the root of the project.
    pub path: String,
    /// Its text; `None` where the file is missing or can't be read.
    pub text: Option<String>,
    /// The finding, if it differs.
    pub finding: Option<Finding>,
}

impl ProofCase {
    /// Gathers the runs of one CLI version's recording, and the results of its checks.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when the cassette is not there or damaged, or a file can't be read.
    pub(super) fn gather(
        checks: &ScenarioChecks,
        version: &CliVersion,
        judged: &[(&Check, &CheckResult)],
    ) -> Result<Self, CassetteError> {
        let (workspace, scenario) = (checks.workspace(), checks.scenario());
        let recording = checks.recording(version)?;
        let chat = scenario.first_chat();
        let (mut goldens, mut runs, mut plans) = (Vec::new(), Vec::new(), 0);
        for (check, result) in judged.iter().filter(|(check, _)| is_shown(check, version)) {
            match check {
                Check::Golden { view, .. } => {
                    goldens.push(compared(workspace, scenario, version, *view, &result.findings));
                }
                Check::Plans { .. } => plans = result.plans,
                Check::Variants { view } => {
                    named(workspace, scenario, *view, &result.findings, &mut goldens);
                }
                Check::Recorded { .. } | Check::Complete => {}
            }
            runs.push(CheckRun::new(check, Ok((*result).clone())));
        }
        Ok(Self {
            name: scenario.name.to_string(),
            title: scenario.title.clone(),
            about: scenario.about.clone(),
            tracks: scenario.tracks.iter().map(ToString::to_string).collect(),
            proof: scenario.proof.clone(),
            secrets: scan_loaded(&recording.cassette)?,
            manifest: recording.cassette.manifest.clone(),
            chat,
            runs: CaseRun::all(&recording, chat),
            goldens,
            plans,
            checks: runs,
        })
    }

    /// Returns the CLI's version.
    pub fn version(&self) -> &str {
        &self.manifest.cli.version
    }

    /// Returns all findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.checks.iter().flat_map(|check| &check.findings)
    }

    /// Returns the invariants that the shown replays could break, and those that are broken, each with its finding.
    pub(crate) fn invariants(&self) -> Vec<(&'static Rule, Option<&Finding>)> {
        let broken = |kind| self.findings().find(|finding| finding.id == kind);
        let is_at_stake = |rule: &Rule| self.runs.iter().any(|run| rule.is_at_stake(&run.replay));
        let own = RULES.iter().filter(|rule| rule.needs.scope != RuleScope::Others);
        let own = own.map(|rule| (rule, broken(rule.kind)));
        own.filter(|(rule, broken)| broken.is_some() || is_at_stake(rule)).collect()
    }

    /// Returns the number of invariants that were at stake, and of those that held, in words.
    pub(crate) fn rules_word(&self) -> String {
        let invariants = self.invariants();
        let held = invariants.iter().filter(|(_, broken)| broken.is_none()).count();
        format!("{} at stake, {held} held", plural(invariants.len(), "rule"))
    }

    /// Returns the finding of a plan whose trace differs from that of the uncut replay.
    pub(crate) fn diverging(&self) -> Option<&Finding> {
        self.findings().find(|finding| finding.id == FindingKind::PlanDiverges)
    }

    /// Returns the result of the sweep in words.
    pub(crate) fn sweep_word(&self) -> String {
        match (self.plans, self.diverging()) {
            (0, _) => "no plan was replayed".to_owned(),
            (plans, None) => format!("{}, {plans} equal", plural(plans, "plan")),
            (plans, Some(_)) => format!("{}, not all equal", plural(plans, "plan")),
        }
    }

    /// Returns the result of the goldens in words.
    pub(crate) fn goldens_word(&self) -> String {
        let held = self.goldens.iter().filter(|golden| golden.finding.is_none()).count();
        format!("{} compared, {held} held", plural(self.goldens.len(), "golden"))
    }
}

/// Returns whether the findings of a check are shown with the recording of `version`.
fn is_shown(check: &Check, version: &CliVersion) -> bool {
    match check {
        Check::Golden { version: own, .. }
        | Check::Plans { version: own }
        | Check::Recorded { version: own } => own == version,
        Check::Variants { .. } => true,
        Check::Complete => false,
    }
}

/// Adds the variants of a view, which apply to every version; an outcome without a name is shown at the view's golden.
fn named(
    workspace: &Workspace,
    scenario: &Scenario,
    view: View,
    found: &[Finding],
    goldens: &mut Vec<ComparedGolden>,
) {
    let unnamed = found.iter().find(|finding| finding.id == FindingKind::OutcomeUnnamed);
    if let Some(golden) = goldens.iter_mut().find(|golden| golden.view == view.to_string()) {
        golden.finding = golden.finding.take().or_else(|| unnamed.cloned());
    }
    let view = view.to_string();
    for variant in scenario.variants.iter().filter(|variant| variant.view == view) {
        let view = format!("{view}.{}", variant.name);
        let place = format!("{} {view}", scenario.name);
        let finding = found.iter().find(|finding| finding.place == place).cloned();
        // An unreadable golden is a finding already.
        let golden = Golden::of_variant(scenario, variant).ok();
        let (path, text) =
            golden.map_or_else(Default::default, |golden| (golden.path, golden.text));
        goldens.push(ComparedGolden { view, path: workspace.shown(&path), text, finding });
    }
}

fn compared(
    workspace: &Workspace,
    scenario: &Scenario,
    version: &CliVersion,
    view: View,
    found: &[Finding],
) -> ComparedGolden {
    let about_golden =
        [FindingKind::GoldenDiffers, FindingKind::GoldenMissing, FindingKind::GoldenUnreadable];
    let finding =
        found.iter().find(|finding| about_golden.iter().any(|kind| finding.id == *kind)).cloned();
    // An unreadable golden is a finding already.
    let golden = Golden::find(scenario, view, version).ok();
    let (path, text) = golden.map_or_else(Default::default, |golden| (golden.path, golden.text));
    ComparedGolden { view: view.to_string(), path: workspace.shown(&path), text, finding }
}

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

    /// Returns the run of a cassette at a subject, in which `seen` came. Line `n` of stdout was printed at `printed[n]`; what
    /// the parser says of it is shown at that time.
    pub fn of_subject(
        scenario: &Scenario,
        cassette: &Cassette,
        printed: &[u64],
        seen: &[Entry],
    ) -> Self {
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
        let plan = Plan::cut(&cassette.stdout, &cassette.timeline, Cut::Line, 1);
        let setup = Setup { run: scenario.run, channel: None, acp: None };
        let input = format!("cassettes/{}/{}", scenario.name, cassette.version());
        let replay = replay(capture, &plan, setup);
        let mut lines = printed.iter();
        let mut at = 0;
        let mut entries = Vec::new();
        for entry in &replay.entries {
            match entry.lane {
                Lane::Read => match lines.next() {
                    Some(printed) => at = *printed,
                    None => break,
                },
                // The acts of the person are among what was seen.
                Lane::Lifecycle if entry.kind != "host_message" => {}
                _ => continue,
            }
            let mut entry = entry.clone();
            entry.at = at;
            entries.push(entry);
        }
        entries.extend(seen.iter().cloned());
        entries.sort_by_key(|entry| entry.at);
        Self::first(cassette, ReplayRequest::new(input), entries, replay)
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

    /// Returns the prompt of the command line, unless the person's message is among the entries.
    pub(crate) fn prompt(&self) -> Option<&str> {
        let is_seen = self.entries.iter().any(|entry| entry.kind == WRITES);
        prompt(&self.argv).filter(|_| !is_seen)
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
