//! The rule of the watchdog: an agent that prints nothing for longer than it may is given up.

use std::collections::BTreeSet;

use clitape_recording::scenario::RunSpec;
use clitape_recording::trace::{Entry, Lane};

use crate::case::Case;

use super::violation::{Broken, by, by_turn};

/// Milliseconds for which an agent may be silent while a tool runs.
const TOOL_MS: u64 = 900_000;

/// G8: a run does not outlast a silence that is longer than its limit allows.
///
/// The silence is that between two pieces of stdout. One in which a question waits for a person, in which the host writes
/// a message, or at whose beginning no run was under way, does not count.
pub(crate) fn silence_endured(case: Case<'_>) -> Option<Broken<'_>> {
    let limit = silence_ms(case.setup.run);
    let pieces: Vec<&Entry> = case.lane(Lane::Read).filter(|entry| entry.kind == "chunk").collect();
    let runs = by_turn(case, Lane::Bus);
    let written = case.lane(Lane::Lifecycle).filter(|entry| is_message(entry));
    let written: BTreeSet<u64> = written.map(|entry| entry.at).collect();
    pieces.windows(2).find_map(|pair| {
        let (from, until) = (pair[0].at, pair[1].at);
        if until - from <= limit || written.range(from..=until).next().is_some() {
            return None;
        }
        runs.values().find_map(|bus| {
            let is_under_way = bus.first()?.at <= from && bus.last()?.at >= until;
            if !is_under_way {
                return None;
            }
            let mut seen = bus.iter().filter(|event| event.at <= until);
            let is_asked = seen.any(|event| event.field("asked").is_some());
            let tools = bus.iter().filter(|event| event.kind == "tool" && event.at <= from);
            let count = |phase| tools.clone().filter(|event| event.text("phase") == phase).count();
            let runs_tool = count("start") > count("result");
            let allowed = if runs_tool { limit.max(TOOL_MS) } else { limit };
            if is_asked || until - from <= allowed {
                return None;
            }
            let [silence, allowed] = [until - from, allowed].map(|ms| ms / 1_000);
            let what = format!("the agent was silent for {silence} s, which may be {allowed} s");
            by(pair[1], format!("{what}, and the run went on"))
        })
    })
}

/// Whether the host wrote a message to the agent.
fn is_message(entry: &Entry) -> bool {
    entry.kind == "host_message" && entry.text("type") == "user"
}

/// The milliseconds for which an agent may be silent while no tool runs: 0.8 of the run's limit in 180 to 600 s, for a
/// resumed session 0.3 of it in 60 to 180 s, and a second under the limit.
fn silence_ms(run: RunSpec) -> u64 {
    let limit = run.limit_s * 1_000;
    let share = match run.resume {
        false => (limit / 10 * 8).clamp(180_000, 600_000),
        true => (limit / 10 * 3).clamp(60_000, 180_000),
    };
    share.min(limit.saturating_sub(1_000)).max(1_000)
}

#[cfg(test)]
mod tests {
    use clitape_stream::Stats;

    use crate::FindingKind;

    use super::*;
    use crate::rules::tests::check_run;

    const START: &str = r#"0 bus lifecycle {"seq":1,"phase":"start"}"#;
    const FINAL: &str = r#"9 telegram final {}"#;

    #[test]
    fn wd001_a_run_does_not_outlast_a_long_silence() {
        let run = RunSpec { limit_s: 3, ..RunSpec::default() };
        let check = |from: u64, until: u64, between: &[&str], expect: Option<&str>| {
            let piece = |at: u64| format!(r#"{at} read chunk {{"bytes":1}}"#);
            let on_bus = between.iter().filter(|entry| entry.contains(" bus ")).count();
            let seq = on_bus + 2;
            let end = format!(r#"{until} bus lifecycle {{"seq":{seq},"phase":"end"}}"#);
            let (first, last) = (piece(from), piece(until));
            let entries = [&[START, &first], between, &[&last, &end, FINAL]].concat();
            let expect: Vec<_> =
                expect.map(|what| (FindingKind::SilenceEndured, what)).into_iter().collect();
            check_run(&entries, Stats::default(), run, Vec::new(), &expect);
        };
        let broken = "the agent was silent for 2 s, which may be 2 s, and the run went on";
        check(5, 2_005, &[], None);
        check(5, 2_006, &[], Some(broken));
        let start = r#"5 bus tool {"seq":2,"phase":"start","id":"t"}"#;
        let result = r#"5 bus tool {"seq":3,"phase":"result","id":"t"}"#;
        check(5, 9_000, &[start], None);
        check(5, 2_006, &[start, result], Some(broken));
        let asked = r#"5 bus question {"seq":2,"asked":{"id":"q"}}"#;
        let closed = r#"8000 bus question {"seq":3,"closed":{"id":"q","how":"denied"}}"#;
        check(5, 9_000, &[asked, closed], None);
        let message = r#"2000 lifecycle host_message {"id":"m","type":"user","text":"Go on."}"#;
        check(5, 9_000, &[message], None);
    }

    #[test]
    fn wd001_the_limit_is_a_share_of_that_of_the_run() {
        let check = |limit_s, resume, expect| {
            let run = RunSpec { limit_s, resume, ..RunSpec::default() };
            assert_eq!(silence_ms(run), expect, "{limit_s} {resume}");
        };
        check(600, false, 480_000);
        check(200, false, 180_000);
        check(172_800, false, 600_000);
        check(3, false, 2_000);
        check(300, true, 90_000);
        check(100, true, 60_000);
    }
}
