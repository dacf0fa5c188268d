//! The run of one scenario with one CLI version, with its checks and their results, for a proof.

use clitape_judge::{CheckResult, Finding, FindingKind, Golden, RULES, Rule, RuleScope, View};
use clitape_recording::cassette::{CassetteError, Manifest};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Chat, Proof, Scenario, Workspace};
use clitape_recording::secrets::{Hit, scan_loaded};
use clitape_recording::text::plural;

use super::case_run::CaseRun;
use super::result::CheckRun;
use crate::check::{Check, ScenarioChecks};

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

    /// Returns the invariants, each with the finding that breaks it.
    pub(crate) fn invariants(&self) -> Vec<(&'static Rule, Option<&Finding>)> {
        let broken = |kind| self.findings().find(|finding| finding.id == kind);
        let own = RULES.iter().filter(|rule| rule.needs.scope != RuleScope::Others);
        own.map(|rule| (rule, broken(rule.kind))).collect()
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
