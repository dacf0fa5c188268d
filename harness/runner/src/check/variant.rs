//! Variants: what timing may make of a chat, each outcome with a name of its own.
//!
//! Where a scenario names variants for a chat, every seeded replay has to give, times aside, what the
//! golden or a variant says, and so has every pinned plan without a fault of the agent's side; every variant has to be
//! what some replay gives. When entries come is
//! left to the golden, which is held against one replay only; a variant's golden has 0 for all times.

use std::io;
use std::path::PathBuf;

use clitape_judge::{CheckResult, Finding, FindingKind, Golden, Times, TraceDiff, View, context};
use clitape_recording::cassette::CassetteError;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Scenario, Variant};
use clitape_recording::text::plural;
use clitape_recording::trace::Entry;
use similar::TextDiff;

use super::recording::{Recording, Recordings, setup};
use super::sweep::smallest;
use crate::replay::{Capture, Plan, Replay, ReplayRequest, replay};

/// The views of a scenario that have variants.
pub(super) fn views(scenario: &Scenario) -> Vec<View> {
    let mut views = View::of(scenario);
    views.retain(|view| of(scenario, *view).next().is_some());
    views
}

/// The variants of a view.
fn of(scenario: &Scenario, view: View) -> impl Iterator<Item = &Variant> {
    let view = view.to_string();
    scenario.variants.iter().filter(move |variant| variant.view == view)
}

/// Holds the replays of a view against its variants; with `update`, outcomes without a name become
/// pending goldens of variants that have none, or whose golden no replay gives.
pub(super) fn variants(
    recordings: &Recordings,
    view: View,
    update: bool,
) -> Result<CheckResult, CassetteError> {
    let outcomes = Outcomes::gather(recordings, view)?;
    let proposals = outcomes.proposals();
    if update {
        for (unnamed, variant) in &proposals {
            if let Some(variant) = variant {
                Golden::propose_variant(
                    &recordings.scenario,
                    variant,
                    &timeless(&unnamed.entries),
                )?;
            }
        }
    }
    let first = proposals.first();
    let unnamed = first.map(|(unnamed, variant)| outcomes.unnamed(unnamed, *variant));
    let mut findings: Vec<Finding> = unnamed.transpose()?.into_iter().collect();
    findings.extend(outcomes.named.iter().filter_map(|named| outcomes.unseen(named)));
    let goldens = outcomes.named.iter().filter(|named| named.entries().is_some()).count() as u64;
    let plans = outcomes.plans;
    Ok(CheckResult { findings, goldens, plans, replayed: plans, notes: Vec::new() })
}

/// Returns the goldens of variants that no replay gave; empty for a scenario without a recording.
///
/// # Errors
///
/// [`CassetteError`] when a cassette is damaged or a file can't be read.
pub(super) fn never_seen(recordings: &Recordings) -> Result<Vec<PathBuf>, CassetteError> {
    let mut paths = Vec::new();
    if recordings.versions().next().is_none() {
        return Ok(paths);
    }
    for view in views(&recordings.scenario) {
        let unseen = Outcomes::gather(recordings, view)?.named.into_iter();
        paths.extend(unseen.filter_map(|named| match named.golden {
            Ok(Golden { path, text: Some(_), .. }) if !named.seen => Some(path),
            _ => None,
        }));
    }
    Ok(paths)
}

/// Returns the trace without typing signals, which no golden has.
pub(super) fn without_typing(trace: &[Entry]) -> Vec<Entry> {
    trace.iter().filter(|entry| !entry.is_typing()).cloned().collect()
}

/// Returns the entries of a view's lane that belong to an outcome.
fn shown(replay: &Replay, view: View) -> impl Iterator<Item = &Entry> {
    replay.lane(view.lane()).filter(|entry| !entry.is_typing())
}

/// A variant and its golden.
struct Named<'a> {
    variant: &'a Variant,
    /// Its golden, or why it can't be read.
    golden: Result<Golden, String>,
    /// Set if a replay gave it.
    seen: bool,
}

impl Named<'_> {
    /// Returns the entries of the variant's golden, if it exists and can be read.
    fn entries(&self) -> Option<&[Entry]> {
        let Golden { text, entries, .. } = self.golden.as_ref().ok()?;
        text.as_ref().map(|_| entries.as_slice())
    }
}

/// An outcome without a name, and where it was seen first.
struct Unnamed {
    entries: Vec<Entry>,
    version: CliVersion,
    /// The name of the plan: `seed 7`.
    name: String,
    plan: Plan,
    /// The entries of the version's golden.
    usual: Vec<Entry>,
}

/// The outcomes of a view that need no variant: that of the golden, and that of the canonical replay.
struct UsualOutcomes {
    golden: Vec<Entry>,
    canonical: Vec<Entry>,
}

impl UsualOutcomes {
    fn of(recording: &Recording, view: View) -> Result<Self, CassetteError> {
        let scenario = &recording.scenario;
        let canonical = recording.replays(&[setup(scenario, view)]);
        // Where the canonical replay is not what the golden says, the golden's own check reports it.
        let canonical = canonical.iter().flat_map(|replay| shown(replay, view));
        let canonical: Vec<Entry> = canonical.cloned().collect();
        let golden = match readable(Golden::find(scenario, view, recording.version()))? {
            Ok(Golden { text: Some(_), entries, .. }) => entries,
            _ => canonical.clone(),
        };
        Ok(Self { golden, canonical })
    }

    /// Returns whether a replay gives one of them.
    fn have(&self, replay: &Replay, view: View) -> bool {
        [&self.golden, &self.canonical].iter().any(|usual| same_lines(usual, shown(replay, view)))
    }
}

/// Returns the variants of a view with their goldens.
fn named(scenario: &Scenario, view: View) -> io::Result<Vec<Named<'_>>> {
    let named = of(scenario, view).map(|variant| {
        let golden = readable(Golden::of_variant(scenario, variant))?;
        Ok(Named { variant, golden, seen: false })
    });
    named.collect()
}

/// Returns the plans whose outcomes need names: those of the seeds, and the pinned ones without a fault of the agent's side.
fn plans(recording: &Recording) -> impl Iterator<Item = (String, Plan)> {
    let seeds = recording.scenario.sweep.seeds();
    let seeded = seeds.each().map(|seed| (format!("seed {seed}"), plan(recording, seed)));
    let pinned = recording.pinned_plans().0.into_iter();
    seeded.chain(pinned.filter(|(_, plan)| plan.agent.is_empty()))
}

/// Returns the first plan whose outcome has no name in a view that has variants, and the view; of `given` alone, if that is
/// set.
///
/// # Errors
///
/// [`CassetteError`] when a file can't be read.
pub(super) fn nameless(
    recording: &Recording,
    given: Option<&Plan>,
) -> Result<Option<(Plan, View)>, CassetteError> {
    let scenario = &recording.scenario;
    for view in views(scenario) {
        let (usual, named) = (UsualOutcomes::of(recording, view)?, named(scenario, view)?);
        let is_nameless = |plan: &Plan| {
            let replay = replay(recording.capture(), plan, setup(scenario, view));
            let has_name = |one: &Named<'_>| {
                one.entries().is_some_and(|entries| same_lines(entries, shown(&replay, view)))
            };
            !usual.have(&replay, view) && !named.iter().any(has_name)
        };
        let found = match given {
            Some(plan) => Some(plan.clone()).filter(is_nameless),
            None => plans(recording).map(|(_, plan)| plan).find(is_nameless),
        };
        if let Some(plan) = found {
            return Ok(Some((plan, view)));
        }
    }
    Ok(None)
}

/// Returns the finding that a plan of a capture gives another outcome of a view than the capture's canonical replay;
/// `None` if it does not.
pub(super) fn other_outcome(
    scenario: &Scenario,
    view: View,
    capture: Capture<'_>,
    plan: &Plan,
) -> Option<Finding> {
    let (setup, canonical) =
        (setup(scenario, view), Plan::canonical(capture, scenario.run.pace_ms));
    let (usual, other) = (replay(capture, &canonical, setup), replay(capture, plan, setup));
    let diff = TraceDiff::new(shown(&usual, view), shown(&other, view), Times::Ignored);
    let sentence = diff.first()?.sentence;
    let sentence =
        format!("the plan gives another chat than whole lines at the usual pace: {sentence}");
    Some(Finding::new(FindingKind::OutcomeUnnamed, &view.to_string(), sentence, plan.to_line()))
}

/// The outcomes of the replays of a view.
struct Outcomes<'a> {
    recordings: &'a Recordings,
    view: View,
    named: Vec<Named<'a>>,
    /// Each outcome once.
    unnamed: Vec<Unnamed>,
    /// Plans replayed.
    plans: u64,
    /// Plans that gave an outcome without a name.
    nameless: u64,
}

impl<'a> Outcomes<'a> {
    /// Replays every plan of every recorded version.
    fn gather(recordings: &'a Recordings, view: View) -> Result<Self, CassetteError> {
        let (named, unnamed) = (named(&recordings.scenario, view)?, Vec::new());
        let mut outcomes = Self { recordings, view, named, unnamed, plans: 0, nameless: 0 };
        for version in recordings.versions() {
            outcomes.replay(version)?;
        }
        Ok(outcomes)
    }

    fn replay(&mut self, version: &CliVersion) -> Result<(), CassetteError> {
        let (scenario, view) = (&self.recordings.scenario, self.view);
        let recording = self.recordings.get(version)?;
        let setup = setup(scenario, view);
        let usual = UsualOutcomes::of(&recording, view)?;
        for (name, plan) in plans(&recording) {
            self.plans += 1;
            let replay = replay(recording.capture(), &plan, setup);
            if usual.have(&replay, view) {
                continue;
            }
            let is = |entries: &[Entry]| same_lines(entries, shown(&replay, view));
            if let Some(named) = self.named.iter_mut().find(|named| named.entries().is_some_and(is))
            {
                named.seen = true;
                continue;
            }
            self.nameless += 1;
            if !self.unnamed.iter().any(|unnamed| is(&unnamed.entries)) {
                let entries = shown(&replay, view).cloned().collect();
                let (version, usual) = (version.clone(), usual.golden.clone());
                self.unnamed.push(Unnamed { entries, version, name, plan, usual });
            }
        }
        Ok(())
    }

    /// Each outcome without a name, and the variant that it is proposed for: one without a golden, or
    /// the most similar one that no replay gave.
    fn proposals(&self) -> Vec<(&Unnamed, Option<&'a Variant>)> {
        let mut free: Vec<&Named<'_>> = self.named.iter().filter(|named| !named.seen).collect();
        let propose = |unnamed| {
            let unwritten = free.iter().position(|named| named.entries().is_none());
            let at =
                unwritten.or_else(|| nearest(unnamed, free.iter().map(|named| named.entries())));
            (unnamed, at.map(|at| free.remove(at).variant))
        };
        self.unnamed.iter().map(propose).collect()
    }

    /// The finding of an outcome without a name.
    fn unnamed(
        &self,
        unnamed: &Unnamed,
        variant: Option<&Variant>,
    ) -> Result<Finding, CassetteError> {
        let Self { recordings, view, nameless, plans, .. } = self;
        let Recordings { workspace, scenario, .. } = recordings;
        let Unnamed { entries: outcome, version, name, plan, usual } = unnamed;
        let recording = recordings.get(version)?;
        let capture = recording.capture();
        let setup = setup(scenario, *view);
        let small = smallest(plan.clone(), |plan| {
            same_lines(outcome, replay(capture, plan, setup).lane(view.lane()))
        });
        let replay = replay(capture, &small, setup);
        let variants = self.named.iter().filter_map(|named| {
            Some((format!("variant `{}`", named.variant.name), named.entries()?))
        });
        let named: Vec<(String, &[Entry])> =
            [("the golden".to_owned(), usual.as_slice())].into_iter().chain(variants).collect();
        let at = nearest(unnamed, named.iter().map(|(_, entries)| Some(*entries)));
        let (whose, expected) = &named[at.unwrap_or_default()];
        let todo = match variant {
            Some(Variant { name, .. }) => {
                format!(
                    "`clitape test {} --update` proposes it for variant `{name}`",
                    scenario.name
                )
            }
            None => format!(
                "if timing may give it, name it with a [[variant]] of view = \"{view}\" in {}",
                workspace.shown(&scenario.dir.join("scenario.toml"))
            ),
        };
        let trace = without_typing(&replay.entries);
        let diff = TraceDiff::new(*expected, shown(&replay, *view), Times::Ignored).within(&trace);
        let found = diff.first();
        let sentence = format!(
            "{name} gives what neither the golden nor a variant says; nearest is {whose}: {}; \
             outcomes without a name: {}, from {nameless} of {}; {todo}",
            found.as_ref().map_or("", |found| &found.sentence),
            self.unnamed.len(),
            plural(*plans, "plan"),
        );
        let place = format!("{} {version} {view}", scenario.name);
        let request = ReplayRequest::planned(scenario, version, setup, &small);
        let reproduce = request.lanes([view.lane()]).line(&workspace.program());
        let context = context(&replay.entries, view.lane(), found.and_then(|found| found.at));
        Ok(Finding::new(FindingKind::OutcomeUnnamed, &place, sentence, reproduce)
            .with_difference(diff.change(), diff.lines())
            .with_chat(view.chat().and_then(|chat| diff.chat(chat.profile)))
            .with_context(context))
    }

    /// Returns a finding for a variant whose golden is missing, can't be read, or was never seen.
    fn unseen(&self, named: &Named<'_>) -> Option<Finding> {
        let Recordings { workspace, scenario, .. } = self.recordings;
        let name = &named.variant.name;
        let update = self.recordings.proposal();
        let (kind, sentence, fix) = match &named.golden {
            Err(what) => (FindingKind::GoldenUnreadable, what.clone(), Some(update)),
            Ok(Golden { path, text: None, .. }) => {
                let sentence = format!("variant `{name}` has no {} yet", workspace.shown(path));
                (FindingKind::GoldenMissing, sentence, Some(update))
            }
            Ok(_) if named.seen || !scenario.sweep.has_all_seeds() => return None,
            Ok(_) => {
                let sentence = format!(
                    "none of {} gave variant `{name}`; remove it and its golden, or raise \
                     `plans` under [sweep]",
                    plural(self.plans, "plan")
                );
                (FindingKind::VariantNeverSeen, sentence, None)
            }
        };
        let place = format!("{} {}.{name}", scenario.name, self.view);
        let finding = Finding::new(kind, &place, sentence, self.recordings.test());
        Some(match fix {
            Some(fix) => finding.with_fix(fix),
            None => finding,
        })
    }
}

/// A seeded plan, with the faults that the scenario names.
fn plan(recording: &Recording, seed: u64) -> Plan {
    let plan = Plan::seeded(recording.capture(), seed);
    plan.with_faults(recording.scenario.chat.faults.iter().copied())
}

/// The index of the entries whose text is most like an outcome's; of equally similar ones the first.
fn nearest<'e>(
    unnamed: &Unnamed,
    named: impl Iterator<Item = Option<&'e [Entry]>>,
) -> Option<usize> {
    let outcome = timeless(&unnamed.entries);
    let ratio = |entries| TextDiff::from_words(timeless(entries), &outcome).ratio();
    let ratios = named.enumerate().filter_map(|(at, entries)| Some((at, ratio(entries?))));
    let best = ratios.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(at, _)| at)
}

/// A golden, or why its file can't be read as one.
fn readable(golden: io::Result<Golden>) -> io::Result<Result<Golden, String>> {
    match golden {
        Ok(golden) => Ok(Ok(golden)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

/// Returns whether two lanes have the same entries, times aside.
fn same_lines<'e>(a: &[Entry], b: impl Iterator<Item = &'e Entry>) -> bool {
    Times::Ignored.same_lines(a, b)
}

/// The text of a variant's golden with these entries.
fn timeless(entries: &[Entry]) -> String {
    entries.iter().map(|entry| Times::Ignored.line(entry) + "\n").collect()
}
