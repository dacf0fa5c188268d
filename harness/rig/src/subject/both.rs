//! Plays two gateways, such as two versions of one, on the same cassettes, and compares their chats.

use std::collections::BTreeMap;
use std::io;

use clitape_recording::names::CliVersion;
use clitape_recording::trace::Entry;
use clitape_runner::compare::{
    CompareSelection, CompareSubject, Comparing, Comparison, SideDescription, gather,
};
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{SuiteOptions, TrialEvent, run};

use super::error::SubjectError;
use super::golden::timeless;
use super::prepare::RigHost;
use super::spec::{Conditions, NamedGateway};
use super::suite::GatewaySubject;

/// Plays both gateways, one after the other, and compares their chats. `None` if no cassette fits both.
///
/// # Errors
///
/// [`SubjectError`] if a gateway can't be started, if a cassette can't be read, or if the caller stops it.
pub fn compare_gateways(
    gateways: [NamedGateway<'_>; 2],
    selection: &Selection,
    rig: RigHost<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<Option<Comparison>, SubjectError> {
    let conditions = &Conditions::default();
    let is_named = selection.scenarios.iter().all(|one| one.is_named);
    let mut played = Vec::new();
    for gateway in gateways {
        let mut subject = GatewaySubject::new(gateway, conditions, rig);
        if is_named {
            subject = subject.with_all_scenarios();
        }
        if run(&mut subject, SuiteOptions::new(selection), report)?.is_stopped {
            return Err(SubjectError::Stopped);
        }
        played.push(subject.played);
    }
    let sides = gateways.iter().zip(&played).map(|(gateway, played)| {
        let chats = played.iter().map(|(job, seen)| (job.name(), timeless(&seen.entries)));
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
    for (job, _) in played.swap_remove(0) {
        let version: CliVersion = job.version().clone();
        match chats.iter().all(|chats| chats.contains_key(&job.name())) {
            true => selection.scenarios.push((job.scenario, vec![[version.clone(), version]])),
            false => selection.unrecorded.push(job.scenario.name),
        }
    }
    if selection.scenarios.is_empty() {
        return Ok(None);
    }
    let how = Comparing { jobs: None, stop: rig.stop };
    Ok(Some(gather(rig.workspace, &selection, &sides, how, report)?))
}
