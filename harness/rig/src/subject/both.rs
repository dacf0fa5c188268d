//! Plays two gateways, such as two versions of one, on the same cassettes, and compares their chats.

use std::collections::BTreeMap;

use clitape_recording::names::CliVersion;
use clitape_recording::trace::Entry;
use clitape_runner::compare::{
    CompareSelection, CompareSubject, Comparison, SideDescription, gather,
};
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{SuiteOptions, TrialEvent};

use super::error::SubjectError;
use super::golden::timeless;
use super::prepare::RigHost;
use super::spec::{Conditions, NamedGateway};
use super::suite::{SubjectOptions, test};

/// Plays both gateways, one after the other, and compares their chats. `None` if no cassette fits both.
///
/// # Errors
///
/// [`SubjectError`] if a gateway can't be started, if a cassette can't be read, or if the caller stops it.
pub fn compare_gateways(
    gateways: [NamedGateway<'_>; 2],
    selection: &Selection,
    rig: RigHost<'_>,
    tell: &mut dyn FnMut(TrialEvent<'_>),
) -> Result<Option<Comparison>, SubjectError> {
    let conditions = &Conditions::default();
    let force = selection.scenarios.iter().all(|one| one.is_named);
    let options = SubjectOptions { suite: SuiteOptions::new(selection), force, conditions };
    let mut played = Vec::new();
    for gateway in gateways {
        let suite = test(gateway, options, rig, tell, &mut |_| {})?;
        if suite.run.is_stopped {
            return Err(SubjectError::Stopped);
        }
        played.push(suite);
    }
    let sides = gateways.iter().zip(&played).map(|(gateway, suite)| {
        let chats = suite.played.iter().map(|(job, seen)| (job.name(), timeless(&seen.entries)));
        let chats: BTreeMap<String, Vec<Entry>> = chats.collect();
        let shown = gateway.shown();
        let about = SideDescription {
            name: format!("subject:{shown}"),
            facts: vec![
                ("gateway", format!("{shown}, real, in real time")),
                ("command", gateway.spec.command.join(" ")),
            ],
            command: format!("{} rig {shown}", rig.workspace.program()),
            note: String::new(),
        };
        (CompareSubject::seen(about, chats.clone()), chats)
    });
    let (sides, chats): (Vec<CompareSubject>, Vec<BTreeMap<String, Vec<Entry>>>) = sides.unzip();
    let Ok(sides) = <[CompareSubject; 2]>::try_from(sides) else { return Ok(None) };
    let mut selection = CompareSelection {
        scenarios: Vec::new(),
        unasked: Vec::new(),
        other_versions: Vec::new(),
        unrecorded: Vec::new(),
    };
    for (job, _) in played.swap_remove(0).played {
        let version: CliVersion = job.version().clone();
        match chats.iter().all(|chats| chats.contains_key(&job.name())) {
            true => selection.scenarios.push((job.scenario, vec![[version.clone(), version]])),
            false => selection.unrecorded.push(job.scenario.name),
        }
    }
    if selection.scenarios.is_empty() {
        return Ok(None);
    }
    Ok(Some(gather(rig.workspace, &selection, &sides, rig.stop, |_| {})?))
}
