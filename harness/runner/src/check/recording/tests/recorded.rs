use std::path::Path;
use std::sync::Arc;

use clitape_recording::scenario::Workspace;

use crate::check::recording::*;

fn recording(name: &str) -> Recording {
    let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    let scenario = Arc::new(workspace.load(name).unwrap());
    let first = workspace.usual_version(&scenario).unwrap().unwrap();
    Recording::load(&workspace, &scenario, &first).unwrap()
}

/// Checks the first cassette of a scenario after `change`, and expects these sentences.
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
        sentence
            .ends_with("and all at 0 ms: no program starts, prints and ends within a millisecond"),
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
            broken_as_recorded(&recording, replay).map(|broken| broken.kind).collect()
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
