//! The rules that one replay breaks, each with its time and with the input up to then; and the faults of the chat's
//! server that no call meets, because they are checks that are never made.

use clitape_judge::observation::Observation;
use clitape_judge::{ContextMoment, FindingKind, RULES, Violation, context, judge, moment};
use clitape_recording::scenario::{Fault, FaultKind};
use clitape_recording::trace::{Entry, Lane};

use crate::replay::Replay;

/// A rule that a replay breaks.
#[derive(Debug)]
pub(super) struct BrokenRule {
    pub(super) kind: FindingKind,
    /// When, and how.
    pub(super) sentence: String,
    /// The input beside the output, up to then.
    pub(super) context: Vec<ContextMoment>,
}

impl BrokenRule {
    /// Returns whether it is a rule of the lane `session`.
    pub(super) fn is_of_session(&self) -> bool {
        let mut of_sessions = RULES.iter().filter(|rule| rule.needs.lane == Some(Lane::Session));
        of_sessions.any(|rule| rule.kind == self.kind)
    }
}

/// Returns the rules that a replay breaks.
pub(super) fn broken(replay: &Observation) -> Vec<BrokenRule> {
    let place = |Violation { kind, sentence, entry, .. }: Violation| {
        let Some(index) = entry else {
            return BrokenRule { kind, sentence, context: Vec::new() };
        };
        let Entry { lane, at, .. } = replay.entries[index];
        let sentence = format!("{}: {sentence}", moment(&replay.entries, index));
        BrokenRule { kind, sentence, context: context(&replay.entries, lane, Some(at)) }
    };
    judge(replay).into_iter().map(place).collect()
}

/// The fewest plans of a sweep that have to meet every kind of fault that the scenario names; fewer leave it to
/// chance.
const FEWEST_PLANS: u64 = 16;

/// The faults of `faults` that a call of the chat met. If a call has two of them, the first one counts.
pub(super) fn met_faults<'f>(replay: &Replay, faults: &'f [Fault]) -> Vec<&'f Fault> {
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
pub(super) fn unmet_in_chat<'r>(
    faults: &[Fault],
    replays: impl IntoIterator<Item = &'r Replay>,
) -> Vec<(FindingKind, String)> {
    let mut left: Vec<&Fault> = faults.iter().collect();
    for replay in replays {
        let met = met_faults(replay, faults);
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
pub(super) fn unmet_in_sweep(
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
    use std::sync::Arc;

    use clitape_gateway::RunReport;
    use clitape_gateway::sanitise::Masked;
    use clitape_judge::observation::OwnReports;
    use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Setup};

    use super::super::sweep::tests::RUN;
    use super::*;
    use crate::replay::{Plan, replay};

    /// An entry as a line of JSON has it.
    fn line(line: &str) -> Entry {
        let (at, rest) = line.split_once(' ').unwrap();
        let (lane, rest) = rest.split_once(' ').unwrap();
        let (kind, data) = rest.split_once(' ').unwrap();
        let entry = format!(r#"{{"at":{at},"lane":"{lane}","kind":"{kind}","data":{data}}}"#);
        serde_json::from_str(&entry).unwrap()
    }

    #[test]
    fn a_broken_rule_says_when_and_what_was_seen() {
        let entries: Vec<Entry> = [
            r#"0 bus lifecycle {"seq":1,"phase":"start"}"#,
            r#"7 lifecycle text {"delta":"a"}"#,
            r#"8 telegram final {}"#,
            r#"8 telegram sendMessage {"message_id":1,"text":"a","final":true}"#,
            r#"1240 telegram editMessageText {"message_id":1,"text":"b"}"#,
            r#"1240 bus lifecycle {"seq":2,"phase":"end"}"#,
        ]
        .into_iter()
        .map(line)
        .collect();
        let report = RunReport { channels: vec![], listener_panics: 0, masked: Masked::default() };
        let setup = Setup {
            run: RunSpec::default(),
            channel: Some(Chat::of(ChatMode::Partial)),
            acp: None,
        };
        let own = Some(OwnReports { reports: vec![report], ..OwnReports::default() });
        let seen = Observation { own, ..Observation::new(setup, entries, Arc::default()) };
        let broken = broken(&seen);
        let [BrokenRule { kind, sentence, context }] = &broken[..] else { panic!("{broken:?}") };
        assert_eq!(*kind, FindingKind::EditAfterFinal);
        assert_eq!(
            sentence,
            "turn 1, +1,240 ms: after the final text came editMessageText #1 \"b\""
        );
        let seen: Vec<_> = context.iter().map(|moment| (moment.at, moment.output.len())).collect();
        assert_eq!(seen, [(7, 0), (8, 2), (1240, 1)]);
    }

    #[test]
    fn a_fault_at_a_call_that_never_comes_is_a_finding() {
        let chat = Some(Chat::of(ChatMode::Partial));
        let setup = Setup { run: RunSpec::default(), channel: chat, acp: None };
        let said = |faults: &[&str]| -> Vec<String> {
            let faults: Vec<Fault> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
            let plan = Plan::canonical(RUN.as_bytes(), 2_000).with_faults(faults.iter().copied());
            let replay = replay(RUN.as_bytes(), &plan, setup);
            let said = unmet_in_chat(&faults, [&replay]).into_iter();
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
        assert_eq!(unmet_in_sweep(&kinds, 64, &kinds), []);
        assert_eq!(unmet_in_sweep(&kinds, 2, &[]), [], "two plans leave it to chance");
        let said = unmet_in_sweep(&kinds, 64, &[FaultKind::Hang]);
        let [(FindingKind::FaultNeverMet, sentence)] = &said[..] else { panic!("{said:?}") };
        assert!(
            sentence.starts_with("`[sweep] faults` has `not-modified`, and no call"),
            "{sentence}"
        );
    }
}
