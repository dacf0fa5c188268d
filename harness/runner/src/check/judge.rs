//! Judges scenarios: which checks there are, and what each of them finds.
//!
//! A scenario is judged check by check, so that `clitape test` can run them all and a test runner
//! can run each in a process of its own.

use std::fmt;
use std::io;

use super::context::context;
use super::divergence::Divergence;
use super::final_text::wrong_final_text;
use super::finding::{CheckResult, Finding, FindingKind};
use super::golden::{Golden, View};
use super::invariant::{self, BrokenInvariant};
use super::secrets;
use super::setup::{
    canonical_replay, canonical_replay_of_further_run, command, command_under, setup, setups,
};
use super::sweep::PlanSweep;
use super::trace_diff::{Times, TraceDiff};
use super::variant;
use crate::cassette::{Cassette, CassetteError};
use crate::names::CliVersion;
use crate::replay::{Replay, Setup};
use crate::scenario::{Scenario, Workspace};
use crate::text::shell_quote;

/// One check of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A view of a cassette is what its golden says.
    Golden {
        /// The cassette.
        version: CliVersion,
        /// The view.
        view: View,
    },
    /// The seeded plans of a cassette give the trace of the uncut replay.
    Plans {
        /// The cassette.
        version: CliVersion,
    },
    /// Every outcome of a chat with variants has a name, and every variant is an outcome.
    Variants {
        /// The chat's view.
        view: View,
    },
    /// Every version the scenario names is recorded, no golden is orphaned, and no cassette and no golden
    /// holds a secret that its cassette does not allow.
    Complete,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Golden { version, view } => write!(f, "{version}::{view}"),
            Self::Plans { version } => write!(f, "{version}::plans"),
            Self::Variants { view } => write!(f, "{view}::variants"),
            Self::Complete => f.write_str("complete"),
        }
    }
}

/// The checks of a scenario, its first version before the others.
///
/// # Errors
///
/// When the cassettes' folder can't be read.
pub fn checks(workspace: &Workspace, scenario: &Scenario) -> io::Result<Vec<Check>> {
    let mut checks = Vec::new();
    let mut versions = workspace.recorded(&scenario.name)?;
    let order = &scenario.record.versions;
    versions.sort_by_key(|version| {
        order.iter().position(|named| named == version).unwrap_or(order.len())
    });
    for version in &versions {
        for view in View::of(scenario) {
            checks.push(Check::Golden { version: version.clone(), view });
        }
        checks.push(Check::Plans { version: version.clone() });
    }
    // Without a recording, nothing can be said of variants.
    if !versions.is_empty() {
        checks.extend(variant::views(scenario).into_iter().map(|view| Check::Variants { view }));
    }
    checks.push(Check::Complete);
    Ok(checks)
}

/// Runs one check; with `update`, what differs is written as a pending golden.
///
/// # Errors
///
/// [`CassetteError`] when a cassette is damaged or a file can't be read or written.
pub fn judge(
    workspace: &Workspace,
    scenario: &Scenario,
    check: &Check,
    update: bool,
) -> Result<CheckResult, CassetteError> {
    match check {
        Check::Golden { version, view } => golden(workspace, scenario, version, *view, update),
        Check::Plans { version } => plans(workspace, scenario, version),
        Check::Variants { view } => variant::variants(workspace, scenario, *view, update),
        Check::Complete => complete(workspace, scenario),
    }
}

fn golden(
    workspace: &Workspace,
    scenario: &Scenario,
    version: &CliVersion,
    view: View,
    update: bool,
) -> Result<CheckResult, CassetteError> {
    let cassette = Cassette::find(workspace, &scenario.name, version)?;
    let mut replay =
        canonical_replay(scenario, &cassette.stdout, setup(scenario, view), &scenario.chat.faults);
    let place = format!("{} {version} {view}", scenario.name);
    let command =
        format!("{} --pace {}", command(scenario, version, replay.setup), scenario.run.pace_ms);
    let mut verdict = CheckResult { goldens: 1, ..CheckResult::default() };
    verdict.findings.extend(broken(&replay, &place, &command));
    if !scenario.chat.faults.is_empty() {
        let fault_free = canonical_replay(scenario, &cassette.stdout, replay.setup, &[]);
        if let Some((sentence, _)) = wrong_final_text(&fault_free.entries, &replay.entries) {
            verdict.findings.push(Finding::new(
                FindingKind::WrongFinalText,
                &place,
                sentence,
                command.clone(),
            ));
        }
    }
    if view == View::Session {
        replay.add_session(&cassette);
        verdict.findings.extend(further(scenario, &cassette, &place));
    }
    let got = view.render(&replay.entries);
    let finding = match Golden::find(scenario, view, version) {
        Ok(Golden { text: Some(expected), entries, .. }) => {
            let diff = TraceDiff::new(&entries, replay.lane(view.lane()), Times::Compared)
                .within(&replay.entries)
                .read_from(&expected, Some(&got));
            let Some(Divergence { at, sentence }) = diff.first() else {
                return Ok(verdict);
            };
            let reproduce = format!("{command} --lane {}", view.lane());
            Finding::new(FindingKind::GoldenDiffers, &place, sentence, reproduce)
                .with_difference(diff.change(), diff.lines())
                .with_context(context(&replay.entries, view.lane(), at))
        }
        Ok(Golden { path, text: None, .. }) => {
            let sentence = format!("there is no {} yet", workspace.shown(&path));
            let reproduce = proposal(scenario);
            Finding::new(FindingKind::GoldenMissing, &place, sentence, reproduce)
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let reproduce = proposal(scenario);
            Finding::new(FindingKind::GoldenUnreadable, &place, error.to_string(), reproduce)
        }
        Err(error) => return Err(error.into()),
    };
    verdict.findings.push(finding);
    if update {
        Golden::propose(scenario, view, version, &got)?;
    }
    Ok(verdict)
}

/// The line that proposes and settles goldens of a scenario.
fn proposal(scenario: &Scenario) -> String {
    format!("clitape test {} --update && clitape review", shell_quote(&scenario.name))
}

/// The rules that a replay breaks, as findings.
fn broken(replay: &Replay, place: &str, command: &str) -> Vec<Finding> {
    let finding = |BrokenInvariant { kind, sentence, context }| {
        Finding::new(kind, place, sentence, command.to_owned()).with_context(context)
    };
    invariant::broken(replay).into_iter().map(finding).collect()
}

/// What the further runs of a cassette break, in the scenario's chat or, without one, in any.
fn further(scenario: &Scenario, cassette: &Cassette, place: &str) -> Vec<Finding> {
    let setup = Setup { run: scenario.run, channel: Some(scenario.first_chat()), acp: None };
    let mut findings = Vec::new();
    for (number, run) in (2..).zip(&cassette.further) {
        let (run, command) =
            canonical_replay_of_further_run(scenario, cassette.version(), (number, run), setup);
        let command = format!("{command} --pace {}", scenario.run.pace_ms);
        findings.extend(broken(&run, &format!("{place}, run {number}"), &command));
    }
    findings
}

fn plans(
    workspace: &Workspace,
    scenario: &Scenario,
    version: &CliVersion,
) -> Result<CheckResult, CassetteError> {
    let cassette = Cassette::find(workspace, &scenario.name, version)?;
    let mut verdict = CheckResult { plans: scenario.sweep.plans, ..CheckResult::default() };
    for setup in setups(scenario) {
        let base = canonical_replay(scenario, &cassette.stdout, setup, &[]);
        let sweep = PlanSweep {
            stdout: &cassette.stdout,
            setup,
            plans: scenario.sweep.plans,
            faults: &scenario.chat.faults,
            drawn: &scenario.sweep.faults,
            base: &base,
            place: format!("{} {version} plans", scenario.name),
            command: &|plan| command_under(plan, scenario, version, setup),
        };
        // What diverges before the channel would be told once a channel.
        if let Some(finding) = sweep.run() {
            verdict.findings.push(finding);
            break;
        }
    }
    Ok(verdict)
}

fn complete(workspace: &Workspace, scenario: &Scenario) -> Result<CheckResult, CassetteError> {
    let name = &scenario.name;
    let recorded = workspace.recorded(name)?;
    let mut verdict = CheckResult::default();
    for version in scenario.record.versions.iter().filter(|v| !recorded.contains(v)) {
        verdict.findings.push(Finding::new(
            FindingKind::NotRecorded,
            &format!("{name} {version}"),
            format!("the scenario names CLI {version}, but there is no cassette of it"),
            format!(
                "clitape record {} --claude {}",
                shell_quote(name),
                shell_quote(&format!("npm:{version}"))
            ),
        ));
    }
    for path in Golden::orphans(scenario, &recorded)? {
        let shown = workspace.shown(&path);
        verdict.findings.push(Finding::new(
            FindingKind::GoldenOrphan,
            name,
            format!("{shown} was compared with nothing"),
            format!("rm {}", shell_quote(&shown)),
        ));
    }
    verdict.findings.extend(secrets::kept(workspace, scenario, &recorded)?);
    Ok(verdict)
}
