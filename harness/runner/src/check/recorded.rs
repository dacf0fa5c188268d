//! A recording as it was made: what its manifest says of it, and its replay with the recorded cuts and times.
//!
//! Goldens and plans replay the bytes at other times than those of the recording, and read nothing of the manifest.
//! This check is the one that reads both, so that neither can say anything it likes.

use clitape_judge::FindingKind;
use clitape_recording::cassette::{Cassette, Exit, Origin, Tick, TickKind};
use clitape_recording::scenario::Scenario;
use clitape_recording::text::plural;

use super::broken::BrokenRule;
use super::recording::Recording;
use crate::replay::Replay;

/// One run of a cassette, as its manifest, its scenario and its timeline say that it was.
struct RunRecord<'a> {
    /// Its number, from 1.
    number: usize,
    /// How it ended, as the manifest says; none for a capture that does not say it.
    exit: Option<Exit>,
    /// How it has to end, as the scenario says; none for a run that the scenario does not have.
    expected: Option<Exit>,
    timeline: &'a [Tick],
}

impl<'a> RunRecord<'a> {
    fn all(scenario: &Scenario, cassette: &'a Cassette) -> Vec<Self> {
        let version = cassette.version();
        let first = Self {
            number: 1,
            exit: cassette.manifest.exit,
            expected: Some(scenario.record.exit.of(version)),
            timeline: &cassette.timeline,
        };
        let further = (2..).zip(&cassette.further).map(|(number, run)| Self {
            number,
            exit: Some(run.facts.exit),
            expected: scenario.record.then.get(number - 2).map(|step| step.exit.of(version)),
            timeline: &run.timeline,
        });
        std::iter::once(first).chain(further).collect()
    }

    /// What does not fit together, in a sentence.
    fn complaint(&self, origin: Origin) -> Option<(FindingKind, String)> {
        let Self { number, exit, expected, timeline } = self;
        let differs = |sentence| Some((FindingKind::ManifestDiffers, sentence));
        let Some(expected) = expected else {
            return differs(format!("the cassette has a run {number}, and the scenario has none"));
        };
        if let Some(exit) = exit.filter(|exit| exit != expected) {
            let (ended, ends) = (ended(exit), ended(*expected));
            let says = format!("cassette.toml says that run {number} ended {ended}");
            return differs(format!("{says}, and the scenario says that it ends {ends}"));
        }
        let ends = timeline.iter().rev().find_map(|tick| match tick.kind {
            TickKind::Exit(exit) => Some(exit),
            _ => None,
        });
        let is_recorded = origin == Origin::Recorded;
        if (ends.is_some() || is_recorded) && ends != *exit {
            let [says, timeline] = [*exit, ends].map(|exit| match exit {
                Some(exit) => format!("ended {}", ended(exit)),
                None => "has no end".to_owned(),
            });
            let manifest = format!("cassette.toml says that run {number} {says}");
            return differs(format!("{manifest}, and its timeline says that it {timeline}"));
        }
        let took: u64 = timeline.iter().map(|tick| tick.after_ms).sum();
        let reads = timeline.iter().filter(|tick| matches!(tick.kind, TickKind::Out(_))).count();
        if is_recorded && took == 0 && reads > 1 {
            let reads = plural(reads, "read");
            let what = format!("the timeline of run {number} has {reads}, and all at 0 ms");
            let why = "no program starts, prints and ends within a millisecond";
            return Some((FindingKind::TimesImplausible, format!("{what}: {why}")));
        }
        None
    }
}

/// How a program ended, after the word `ended`.
fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("with code {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
    }
}

/// What the manifest of a cassette says that its scenario or its timelines do not, run by run.
pub(super) fn manifest_complaints(
    scenario: &Scenario,
    cassette: &Cassette,
) -> Vec<(FindingKind, String)> {
    let origin = cassette.manifest.origin;
    let mut complaints: Vec<_> =
        RunRecord::all(scenario, cassette).iter().filter_map(|run| run.complaint(origin)).collect();
    let (steps, runs) = (scenario.record.then.len() + 1, cassette.further.len() + 1);
    if runs < steps {
        let sentence = format!("the scenario has {steps} runs, and the cassette {runs}");
        complaints.push((FindingKind::ManifestDiffers, sentence));
    }
    complaints
}

/// The rules that a replay of the recorded cuts and times breaks, and how it differs from the canonical replay in
/// what a person ends up reading.
///
/// The two are not compared where the gateway has given the agent up in one of them, because the times decide that.
pub(super) fn broken(recording: &Recording, replay: &Replay) -> impl Iterator<Item = BrokenRule> {
    let canonical = recording.fault_free(replay.setup);
    let sentence = (canonical.own().counted.bytes == replay.own().counted.bytes)
        .then(|| clitape_judge::wrong_final_text(&canonical.entries, &replay.entries))
        .flatten()
        .map(|(sentence, _)| sentence);
    let misread = sentence.map(|sentence| BrokenRule {
        kind: FindingKind::RecordedDiverges,
        sentence,
        context: Vec::new(),
    });
    let lines = recording.cassette.manifest.counts.lines;
    let is_whole = replay.own().counted.bytes == recording.cassette.manifest.counts.bytes;
    let lost = (is_whole && replay.own().stats.lines != lines).then(|| BrokenRule {
        kind: FindingKind::LineLost,
        sentence: format!(
            "cassette.toml says that stdout has {}, and the parser counts {}",
            plural(lines, "line"),
            replay.own().stats.lines
        ),
        context: Vec::new(),
    });
    super::broken::broken(replay).into_iter().chain(misread).chain(lost)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use clitape_recording::scenario::Workspace;

    use super::*;

    fn recording(name: &str) -> Recording {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let scenario = Arc::new(workspace.load(name).unwrap());
        let first = workspace.usual_version(&scenario).unwrap().unwrap();
        Recording::load(&workspace, &scenario, &first).unwrap()
    }

    /// What is said of the first cassette of a scenario once `change` was made.
    #[track_caller]
    fn check(name: &str, change: impl Fn(&mut Cassette), expect: &[&str]) {
        let Recording { scenario, mut cassette, .. } = recording(name);
        change(&mut cassette);
        let complaints = manifest_complaints(&scenario, &cassette).into_iter();
        let said: Vec<_> = complaints.map(|(kind, what)| format!("{kind}: {what}")).collect();
        assert_eq!(said, expect);
    }

    #[test]
    fn the_manifest_is_held() {
        check("plain-text", |_| (), &[]);
        check("resume-twice", |_| (), &[]);
        check(
            "plain-text",
            |cassette| cassette.manifest.exit = Some(Exit::Code(1)),
            &[
                "TP003 manifest-differs: cassette.toml says that run 1 ended with code 1, and the scenario \
               says that it ends with code 0",
            ],
        );
        check(
            "plain-text",
            |cassette| cassette.timeline.last_mut().unwrap().kind = TickKind::Exit(Exit::Signal(9)),
            &[
                "TP003 manifest-differs: cassette.toml says that run 1 ended with code 0, and its timeline \
               says that it ended by signal 9",
            ],
        );
        check(
            "plain-text",
            |cassette| drop(cassette.timeline.pop()),
            &[
                "TP003 manifest-differs: cassette.toml says that run 1 ended with code 0, and its timeline \
               says that it has no end",
            ],
        );
        check(
            "resume-twice",
            |cassette| cassette.further[0].facts.exit = Exit::Code(7),
            &[
                "TP003 manifest-differs: cassette.toml says that run 2 ended with code 7, and the scenario \
               says that it ends with code 0",
            ],
        );
        check(
            "resume-twice",
            |cassette| drop(cassette.further.pop()),
            &["TP003 manifest-differs: the scenario has 3 runs, and the cassette 2"],
        );
    }

    #[test]
    fn a_timeline_without_time_is_implausible() {
        let stop = |cassette: &mut Cassette| {
            cassette.timeline.iter_mut().for_each(|tick| tick.after_ms = 0);
        };
        let Recording { scenario, mut cassette, .. } = recording("plain-text");
        stop(&mut cassette);
        let said = manifest_complaints(&scenario, &cassette);
        let [(FindingKind::TimesImplausible, sentence)] = &said[..] else { panic!("{said:?}") };
        assert!(
            sentence.ends_with(
                "and all at 0 ms: no program starts, prints and ends within a millisecond"
            ),
            "{sentence}"
        );
        // A capture that was put together has no times of its own.
        cassette.manifest.origin = Origin::Composed;
        assert_eq!(manifest_complaints(&scenario, &cassette), []);
    }

    #[test]
    fn the_recorded_replay_is_judged() {
        let recording = recording("bash-count");
        for mut replay in recording.as_recorded() {
            let kinds = |replay: &Replay| -> Vec<_> {
                broken(&recording, replay).map(|broken| broken.kind).collect()
            };
            assert_eq!(kinds(&replay), []);
            replay.own_mut().stats.lines -= 1;
            replay.own_mut().stats.records -= 1;
            assert_eq!(kinds(&replay), [FindingKind::LineLost; 2]);
            replay.own_mut().stats.lines += 1;
            replay.own_mut().stats.records += 1;
            for entry in replay.entries.iter_mut().filter(|entry| entry.is_final()) {
                entry.data_mut().insert("text".into(), "Something else.".into());
            }
            if replay.setup.channel.is_some() {
                assert_eq!(kinds(&replay), [FindingKind::RecordedDiverges]);
            }
        }
    }
}
