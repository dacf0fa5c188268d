//! Faults of the chat's server that no call meets: checks that are never made.

use clitape_judge::FindingKind;
use clitape_recording::scenario::{Fault, FaultKind};
use clitape_recording::trace::Lane;

use crate::replay::Replay;

/// The fewest plans of a sweep that have to meet every kind of fault that the scenario names; fewer leave it to
/// chance.
const FEWEST_PLANS: u64 = 16;

/// The faults of `faults` that a call of the chat met. If a call has two of them, the first one counts.
pub(super) fn met<'f>(replay: &Replay, faults: &'f [Fault]) -> Vec<&'f Fault> {
    // Typing signals have no text, and the harness's own entry `final` has none either.
    let calls = replay.lane(Lane::Telegram).filter(|entry| entry.field("text").is_some());
    let answers = (1..).zip(calls).map(|(number, entry)| (number, entry.text("answer")));
    answers
        .filter_map(|(number, answer)| {
            let fault = faults.iter().find(|fault| fault.call == number)?;
            (fault.answer() == answer).then_some(fault)
        })
        .collect()
}

/// A sentence for each fault of `[chat] faults` that none of `replays` met.
pub(super) fn of_chat<'r>(
    faults: &[Fault],
    replays: impl IntoIterator<Item = &'r Replay>,
) -> Vec<(FindingKind, String)> {
    let mut left: Vec<&Fault> = faults.iter().collect();
    for replay in replays {
        let met = met(replay, faults);
        left.retain(|fault| !met.iter().any(|met| std::ptr::eq(*met, *fault)));
    }
    let sentence = |fault: &Fault| {
        let why = "no chat makes a call that can get it, so that it checks nothing";
        let what = format!("`[chat] faults` has `{fault}`, and {why}");
        (FindingKind::FaultNeverMet, format!("{what}; name an earlier call, or remove the fault"))
    };
    left.into_iter().map(sentence).collect()
}

/// A sentence for each kind of `[sweep] faults` that is not among those that the plans `met`.
pub(super) fn of_sweep(
    kinds: &[FaultKind],
    plans: u64,
    met: &[FaultKind],
) -> Vec<(FindingKind, String)> {
    if plans < FEWEST_PLANS {
        return Vec::new();
    }
    let sentence = |kind: &FaultKind| {
        let what = format!("`[sweep] faults` has `{}`", kind.as_str());
        let why = format!("no call gets it in any of {plans} plans, so that it checks nothing");
        (FindingKind::FaultNeverMet, format!("{what}, and {why}; remove it"))
    };
    kinds.iter().filter(|kind| !met.contains(kind)).map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Setup};

    use super::super::sweep::tests::RUN;
    use super::*;
    use crate::replay::{Plan, replay};

    #[test]
    fn a_fault_at_a_call_that_never_comes_is_a_finding() {
        let chat = Some(Chat::of(ChatMode::Partial));
        let setup = Setup { run: RunSpec::default(), channel: chat, acp: None };
        let said = |faults: &[&str]| -> Vec<String> {
            let faults: Vec<Fault> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
            let plan = Plan::canonical(RUN.as_bytes(), 2_000).with_faults(faults.iter().copied());
            let replay = replay(RUN.as_bytes(), &plan, setup);
            let said = of_chat(&faults, [&replay]).into_iter();
            said.map(|(kind, what)| format!("{kind}: {}", what.split(';').next().unwrap()))
                .collect()
        };
        let never = |fault: &str| {
            format!(
                "CK001 fault-never-met: `[chat] faults` has `{fault}`, and no chat makes a call that can get \
                 it, so that it checks nothing"
            )
        };
        assert_eq!(said(&["1:slow:5ms"]), [""; 0]);
        assert_eq!(said(&["1:slow:5ms", "99:hang"]), [never("99:hang")]);
        // The server answers so to an edit alone, and the first call sends a message.
        assert_eq!(said(&["1:not-modified"]), [never("1:not-modified")]);
        // If a call has two faults, the first one counts.
        assert_eq!(said(&["1:slow:5ms", "1:hang"]), [never("1:hang")]);
    }

    #[test]
    fn a_kind_that_no_plan_meets_is_a_finding() {
        let kinds = [FaultKind::Hang, FaultKind::NotModified];
        assert_eq!(of_sweep(&kinds, 64, &kinds), []);
        assert_eq!(of_sweep(&kinds, 2, &[]), [], "two plans leave it to chance");
        let said = of_sweep(&kinds, 64, &[FaultKind::Hang]);
        let [(FindingKind::FaultNeverMet, sentence)] = &said[..] else { panic!("{said:?}") };
        assert!(
            sentence.starts_with("`[sweep] faults` has `not-modified`, and no call"),
            "{sentence}"
        );
    }
}
