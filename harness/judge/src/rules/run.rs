//! The rules of a run: its lines, its calls, its bus, the callbacks and listeners of its channels, and its end. A run
//! that broke off violates the same rules for a chat and for an editor. The watchdog gives up an agent that prints
//! nothing for too long.

use std::collections::{BTreeSet, HashMap};

use clitape_recording::chat::PRESS;
use clitape_recording::scenario::RunSpec;
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::{Broken, Case, by, by_turn, is_run_end, whole};
use crate::observation::{ARGUMENTS_REFUSED, MARK, ObservedEnding};
use crate::rules::questions;
use crate::words::{seconds, told};

/// Checks that every line of stdout was read and is counted.
///
/// The lines are counted in the bytes of stdout, so that a parser that skips a line is found even if its own counts
/// omit the line too. A replay parses without limits, so that a line of any length counts as one.
pub(crate) fn line_lost(case: Case<'_>) -> Option<Broken<'_>> {
    let stats = &case.own?.stats;
    let came = case.own?.counted.lines();
    if stats.lines != came {
        let lines = plural(came, "line");
        return whole(format!("stdout brought {lines}, and the parser counts {}", stats.lines));
    }
    let told = stats.blank + stats.records + stats.unknown + stats.unusable;
    if told == stats.lines {
        return None;
    }
    whole(format!("{} came in, {told} are accounted for", plural(stats.lines, "line")))
}

/// Checks that every call starts once and ends once, in this order (U1, U3).
pub(crate) fn tool_unbalanced(case: Case<'_>) -> Option<Broken<'_>> {
    let mut open: HashMap<&str, bool> = HashMap::new();
    for entry in case.lane(Lane::Lifecycle) {
        let id = entry.text("id");
        let wrong = match entry.kind.as_ref() {
            "tool_start" if open.insert(id, true) == Some(true) => {
                "starts again before it has ended"
            }
            "tool_result" if open.insert(id, false) != Some(true) => "ends without having started",
            _ => continue,
        };
        return by(entry, format!("call {id} {wrong}"));
    }
    let id = open.into_iter().filter(|(_, open)| *open).map(|(id, _)| id).min()?;
    whole(format!("call {id} never ends"))
}

/// Checks that each run counts `seq` from 1 without gaps, begins with `start`, and ends with one `end` or `error` (B1,
/// B3).
pub(crate) fn bus_broken(case: Case<'_>) -> Option<Broken<'_>> {
    let runs = by_turn(case, Lane::Bus);
    if runs.is_empty() {
        return whole("the first event of the bus is not the run's start".into());
    }
    runs.values().find_map(|events| run_broken(events))
}

fn run_broken<'r>(events: &[&'r Entry]) -> Option<Broken<'r>> {
    for (expect, entry) in (1..).zip(events) {
        let seq = entry.field("seq").and_then(Value::as_u64);
        if seq != Some(expect) {
            return by(entry, format!("event {expect} of the bus has seq {seq:?}"));
        }
    }
    let is_start = |entry: &&&Entry| entry.kind == "lifecycle" && entry.text("phase") == "start";
    if events.first().filter(is_start).is_none() {
        return whole("the first event of the bus is not the run's start".into());
    }
    let ends = events.iter().filter(|entry| is_run_end(entry)).count();
    if ends == 1 && events.last().is_some_and(|last| is_run_end(last)) {
        return None;
    }
    whole(format!("the bus tells {} of the run, where one must come last", plural(ends, "end")))
}

/// Checks that no callback of clitape's channels fails, besides one that never settles, which is given up alone (G2).
pub(crate) fn callback_failed(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.run.stuck_callback.is_some() {
        let channel = case.own?.reports.first()?.channels.first()?;
        let failures = channel.callback_failures;
        let is_given_up = failures == 1 && channel.gave_up;
        if is_given_up {
            return None;
        }
        return whole(format!("one callback never settles; {failures} were given up or failed"));
    }
    let own = case.own?;
    let channels = || own.reports.iter().flat_map(|report| &report.channels);
    let why = channels().find_map(|channel| channel.first_failure.clone());
    let gave_up = || channels().any(|channel| channel.gave_up);
    let late = || gave_up().then(|| "the final message did not settle in time".to_owned());
    why.or_else(late).and_then(whole)
}

/// Checks that no listener of the bus panics (G2). The bus continues without the listener, so its part of an event is
/// missing, perhaps in a channel without a golden.
pub(crate) fn listener_panicked(case: Case<'_>) -> Option<Broken<'_>> {
    let mut turns = (1..).zip(&case.own?.reports);
    let (turn, report) = turns.find(|(_, report)| report.listener_panics > 0)?;
    let times = plural(report.listener_panics, "time");
    whole(format!("a listener of the bus of turn {turn} panicked {times}"))
}

/// Checks that no listener of the gateway is left on a bus when the runs are over (G7).
pub(crate) fn listener_left(case: Case<'_>) -> Option<Broken<'_>> {
    let left = case.own?.counted.listeners_left;
    let listeners = plural(left, "listener");
    let sentence = format!("the runs are over, and the bus still has {listeners} of the gateway");
    (left > 0).then_some(sentence).and_then(whole)
}

/// Checks that the subject does not end by itself.
pub(crate) fn died(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Died { how, last_words } = case.ending else { return None };
    let subject = case.subject();
    whole(format!("the {subject} ended during the run ({how}); {}", told(last_words)))
}

/// Checks that the subject starts `claude`, keeps talking to it, and answers.
pub(crate) fn hung(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Hung { waited_s, waited_for, last_words } = case.ending else {
        return None;
    };
    let subject = case.subject();
    let last = case.entries.last().map_or_else(
        || "it had sent nothing".to_owned(),
        |last| format!("the last entry, at {}, was {}", seconds(last.at), last.kind),
    );
    let words = told(last_words);
    whole(format!("the {subject} hung: for {waited_s} s, {waited_for}; {last}; {words}"))
}

/// Checks that the subject writes only lines that `claude` reads.
pub(crate) fn refused(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Refused(sentence) = case.ending else { return None };
    let subject = case.subject();
    if case.setup.channel.is_some() && case.ending.ignored_stop().is_some() {
        return None;
    }
    if let Some((line, time)) = case.ending.waited_for() {
        // That a chat never asked a question is a finding of its own.
        let is_told = case.setup.channel.is_none() || questions::question_untold(case).is_none();
        let what =
            format!("claude waited {time} for {line}, and the {subject} wrote no line to it");
        return is_told.then(|| whole(what))?;
    }
    let has_pressed = || case.entries.iter().any(|entry| entry.kind == PRESS);
    if case.setup.channel.is_some() && case.ending.denies_instead() && !has_pressed() {
        let is_told = questions::question_untold(case).is_none();
        let what = "said no by itself where the recorded person had said yes";
        return is_told.then(|| whole(format!("the {subject} {what}: {sentence}")))?;
    }
    match sentence.strip_prefix(ARGUMENTS_REFUSED) {
        Some(words) => whole(format!(
            "claude refused the arguments that the {subject} started it with, and said: {words}"
        )),
        None => whole(format!("claude got from the {subject} what it does not read: {sentence}")),
    }
}

/// Checks that `claude` is interrupted, or ended, once the person asks for it.
pub(crate) fn stop_ignored(case: Case<'_>) -> Option<Broken<'_>> {
    let went_on = case.interlude.and_then(|interlude| interlude.went_on.clone());
    let time = || Some(format!("claude got no interrupt in {}", case.ending.ignored_stop()?));
    let went_on = went_on.or_else(time)?;
    let asked = case.entries.iter().rfind(|entry| is_stop(entry))?;
    let at = seconds(asked.at);
    by(asked, format!("the person asked to stop at {at}, and {went_on}"))
}

/// Returns whether an entry is the person's request to stop, which is no prompt of a recording.
pub(crate) fn is_stop(entry: &Entry) -> bool {
    entry.kind == "(user)" && !entry.text("text").contains(MARK)
}

/// Checks that the subject stays within the limits of a run.
pub(crate) fn flooded(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Flooded(what) = case.ending else { return None };
    let subject = case.subject();
    whole(format!("the {subject} was stopped because it did too much: {what}"))
}

/// The time for which an agent may be silent while a tool runs, in ms.
const TOOL_MS: u64 = 900_000;

/// Checks that a run does not outlast a silence that is longer than its limit (G8).
///
/// The silence is that between two pieces of stdout. It does not count if a question waits for a person, if the host
/// writes a message, or if no run was in progress at its beginning.
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

/// Returns whether an entry is a message of the host to the agent.
fn is_message(entry: &Entry) -> bool {
    entry.kind == "host_message" && entry.text("type") == "user"
}

/// Returns the time for which an agent may be silent while no tool runs, in ms: 0.8 of the run's limit in 180 to 600 s,
/// for a resumed session 0.3 of it in 60 to 180 s, and a second under the limit.
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
