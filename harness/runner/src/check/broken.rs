//! The rules that a replay breaks, each with its time and with what came in up to then.

use clitape_judge::observation::Observation;
use clitape_judge::{ContextMoment, FindingKind, RULES, Violation, context, judge, moment};
use clitape_recording::trace::{Entry, Lane};

/// A rule that a replay breaks.
#[derive(Debug)]
pub(super) struct BrokenRule {
    pub(super) kind: FindingKind,
    /// When, and how.
    pub(super) sentence: String,
    /// What came in beside what was seen, up to then.
    pub(super) context: Vec<ContextMoment>,
}

impl BrokenRule {
    /// Whether it is a rule of the lane `session`.
    pub(super) fn is_of_session(&self) -> bool {
        let mut of_sessions = RULES.iter().filter(|rule| rule.needs.lane == Some(Lane::Session));
        of_sessions.any(|rule| rule.kind == self.kind)
    }
}

/// Returns the rules that a replay breaks.
pub(super) fn broken(replay: &Observation) -> Vec<BrokenRule> {
    let place = |Violation { kind, sentence, entry }: Violation| {
        let Some(index) = entry else {
            return BrokenRule { kind, sentence, context: Vec::new() };
        };
        let Entry { lane, at, .. } = replay.entries[index];
        let sentence = format!("{}: {sentence}", moment(&replay.entries, index));
        BrokenRule { kind, sentence, context: context(&replay.entries, lane, Some(at)) }
    };
    judge(replay).into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clitape_gateway::RunReport;
    use clitape_gateway::sanitise::Masked;
    use clitape_judge::observation::OwnReports;
    use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Setup};

    use super::*;

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
}
