//! Plays two gateways, such as two versions of one, on the same cassettes, and compares their chats.

use std::collections::BTreeMap;
use std::io;

use clitape_recording::names::CliVersion;
use clitape_recording::trace::Entry;
use clitape_runner::compare::{
    CompareSelection, CompareSubject, Comparison, SideDescription, gather,
};
use clitape_runner::suite::{ScenarioRun, SuiteOptions, TrialEvent, run};

use super::error::SubjectError;
use super::golden::timeless;
use super::prepare::RigHost;
use super::spec::{Conditions, NamedGateway};
use super::suite::GatewaySubject;

/// Plays both gateways, one after the other, and compares their chats. Returns the comparison, and the result of each
/// cassette as a test run has it; `None` if no cassette fits both.
///
/// # Errors
///
/// [`SubjectError`] if a gateway can't be started, if a cassette can't be read, or if the caller stops it.
pub fn compare_gateways(
    gateways: [NamedGateway<'_>; 2],
    options: SuiteOptions<'_>,
    rig: RigHost<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<Option<(Comparison, Vec<ScenarioRun>)>, SubjectError> {
    let conditions = &Conditions::default();
    let options = SuiteOptions { stop: Some(rig.stop), ..options };
    // The chats are compared when both gateways have played.
    let playing = SuiteOptions { fail_fast: false, ..options };
    let is_named = options.selection.scenarios.iter().all(|one| one.is_named);
    let mut played = Vec::new();
    for gateway in gateways {
        let mut subject = GatewaySubject::new(gateway, conditions, rig);
        if is_named {
            subject = subject.with_all_scenarios();
        }
        if run(&mut subject, playing, report)?.is_stopped {
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
    let mut compared = CompareSelection {
        scenarios: Vec::new(),
        unasked: Vec::new(),
        other_versions: Vec::new(),
        unrecorded: Vec::new(),
    };
    for (job, _) in played.swap_remove(0) {
        let version: CliVersion = job.version().clone();
        match chats.iter().all(|chats| chats.contains_key(&job.name())) {
            true => compared.scenarios.push((job.scenario, vec![[version.clone(), version]])),
            false => compared.unrecorded.push(job.scenario.name),
        }
    }
    if compared.scenarios.is_empty() {
        return Ok(None);
    }
    Ok(Some(gather(rig.workspace, &compared, &sides, options, report)?))
}
