use std::sync::Arc;

use clitape_gateway::sanitise::Masked;
use clitape_gateway::{ChannelReport, Delivery, RunReport};
use clitape_recording::scenario::{self, Chat, ChatMode, RunSpec, Setup};
use clitape_recording::trace::{Entry, Lane};
use clitape_stream::Stats;

use crate::FindingKind;
use crate::diff::entry_line::entry;
use crate::observation::{OwnReports, ReplayCounts};
use crate::rules::*;

mod channels;
mod live;

const BUS: &str = r#"0 bus lifecycle {"seq":1,"phase":"start"}"#;
const BUS_END: &str = r#"9 bus lifecycle {"seq":2,"phase":"end"}"#;
const FINAL: &str = r#"9 telegram final {}"#;

/// Judges a replay of these entries, written `at lane kind data`, and expects these violations.
fn check(entries: &[&str], stats: Stats, expect: &[(FindingKind, &str)]) {
    check_run(entries, stats, RunSpec::default(), Vec::new(), expect);
}

/// Works as [`check`] for a run with the settings `run` and the reports of its channels.
pub(super) fn check_run(
    entries: &[&str],
    stats: Stats,
    run: RunSpec,
    channels: Vec<ChannelReport>,
    expect: &[(FindingKind, &str)],
) {
    let entries: Vec<Entry> = entries.iter().map(|line| entry(line)).collect();
    let report = RunReport { channels, listener_panics: 0, masked: Masked::default() };
    let setup = Setup { run, channel: Some(Chat::of(ChatMode::Partial)), acp: None };
    let counted = ReplayCounts { line_feeds: stats.lines, ..ReplayCounts::default() };
    let own = OwnReports {
        stats,
        counted,
        reports: vec![report],
        is_faithful: true,
        latency_ms: 80,
        transcripts: Vec::new(),
    };
    let seen = Observation::new(setup, entries, Arc::default());
    let broken = judge(&Observation { own: Some(own), ..seen });
    let broken: Vec<_> =
        broken.into_iter().map(|violation| (violation.kind, violation.sentence)).collect();
    let expect: Vec<_> = expect.iter().map(|(kind, what)| (*kind, (*what).to_owned())).collect();
    assert_eq!(broken, expect);
}

/// Works as [`check`] around entries of one lane; the bus and the final are in order.
fn check_lane(entries: &[&str], expect: &[(FindingKind, &str)]) {
    let all: Vec<&str> = [&[BUS], entries, &[BUS_END, FINAL]].concat();
    check(&all, Stats::default(), expect);
}

#[test]
fn st001_every_line_is_accounted_for() {
    let stats = |lines| {
        let mut stats = Stats::default();
        (stats.lines, stats.blank, stats.records) = (lines, 1, 2);
        (stats.unknown, stats.unusable) = (3, 4);
        stats
    };
    check(&[BUS, BUS_END, FINAL], stats(10), &[]);
    let lost = (FindingKind::LineLost, "11 lines came in, 10 are accounted for");
    check(&[BUS, BUS_END, FINAL], stats(11), &[lost]);
}

#[test]
fn gw001_calls_start_once_and_end_once() {
    let (start, end) =
        (r#"1 lifecycle tool_start {"id":"t"}"#, r#"2 lifecycle tool_result {"id":"t"}"#);
    check_lane(&[start, end, start, end], &[]);
    let broken = |what| [(FindingKind::ToolUnbalanced, what)];
    check_lane(&[start], &broken("call t never ends"));
    check_lane(&[end], &broken("call t ends without having started"));
    check_lane(&[start, start, end], &broken("call t starts again before it has ended"));
    check_lane(&[start, end, end], &broken("call t ends without having started"));
}

#[test]
fn gw002_the_bus_has_no_gap_and_one_end() {
    let broken = |what| [(FindingKind::BusBroken, what)];
    check(
        &[BUS, r#"1 bus text {"seq":3}"#, BUS_END, FINAL],
        Stats::default(),
        &broken("event 2 of the bus has seq Some(3)"),
    );
    check(
        &[r#"0 bus text {"seq":1}"#, BUS_END, FINAL],
        Stats::default(),
        &broken("the first event of the bus is not the run's start"),
    );
    check(
        &[BUS, FINAL],
        Stats::default(),
        &broken("the bus tells 0 ends of the run, where one must come last"),
    );
    check(
        &[BUS, BUS_END, r#"9 bus text {"seq":3}"#, FINAL],
        Stats::default(),
        &broken("the bus tells 1 end of the run, where one must come last"),
    );
}

#[test]
fn gw003_no_edit_after_the_final() {
    let send = r#"1 telegram sendMessage {"message_id":1,"text":"a"}"#;
    let last = r#"2 telegram editMessageText {"message_id":1,"text":"b","final":true}"#;
    let late = r#"9000 telegram editMessageText {"message_id":1,"text":"a"}"#;
    check_lane(&[send, last], &[]);
    check_lane(
        &[send, last, late],
        &[(FindingKind::EditAfterFinal, "after the final text came editMessageText #1 \"a\"")],
    );
}

#[test]
fn gw004_one_final() {
    check(
        &[BUS, BUS_END],
        Stats::default(),
        &[(FindingKind::FinalNotOnce, "0 finals reached the chat, 1 should have")],
    );
    check(
        &[BUS, BUS_END, FINAL, FINAL],
        Stats::default(),
        &[(FindingKind::FinalNotOnce, "2 finals reached the chat, 1 should have")],
    );
    let outcome = |text: &str| format!(r#"8 lifecycle outcome {{"status":"ok","text":"{text}"}}"#);
    // No event has the text of the outcome.
    let other = (FindingKind::EndedByOther, "turn 1 ends with the text of another one");
    let (none, one) =
        ("0 finals reached the chat, 1 should have", "1 final reached the chat, 0 should have");
    for (text, is_silent) in [
        ("NO_REPLY", true),
        ("\\nHEARTBEAT_OK\\nNO_REPLY\\n", true),
        ("It says NO_REPLY", false),
        ("Done.\\n\\nNO_REPLY", false),
    ] {
        let told = [BUS, &outcome(text), BUS_END, FINAL];
        let (one, none) = ((FindingKind::FinalNotOnce, one), (FindingKind::FinalNotOnce, none));
        let (with, without) = if is_silent {
            (vec![one, other], vec![other])
        } else {
            (vec![other], vec![none, other])
        };
        check(&told, Stats::default(), &with);
        check(&told[..3], Stats::default(), &without);
    }
    let send = |text: &str| {
        format!(r#"1 telegram sendMessage {{"message_id":1,"text":"{text}","parse_mode":"HTML"}}"#)
    };
    let broken =
        "the agent has nothing to say, and the chat got sendMessage #1 \"Done.\\n\\nNO_REPLY\"";
    check_lane(&[&send("Done.\\n\\nNO_REPLY")], &[(FindingKind::FinalNotOnce, broken)]);
    check_lane(&[&send("It says NO_REPLY")], &[]);
}

#[test]
fn gw005_the_draft_is_one_message() {
    let one = r#"1 telegram sendMessage {"message_id":1,"text":"a"}"#;
    let two = r#"5000 telegram sendMessage {"message_id":2,"text":"b"}"#;
    let page = r#"5000 telegram sendMessage {"message_id":2,"text":"b","final":true}"#;
    check_lane(&[one, page], &[]);
    check_lane(
        &[one, two],
        &[(FindingKind::SecondMessage, "a second message was sent: sendMessage #2 \"b\"")],
    );
}

#[test]
fn gw004_the_final_arrives_unless_its_answer_was_lost() {
    let failed = r#"9 telegram final {"delivery":"failed","reason":"it broke"}"#;
    let broken = [(FindingKind::FinalNotOnce, "the final text did not arrive: it broke")];
    check(&[BUS, BUS_END, failed], Stats::default(), &broken);
    let lost = r#"8 telegram sendMessage {"message_id":1,"text":"a","final":true,"answer":"hang"}"#;
    check(&[BUS, lost, BUS_END, failed], Stats::default(), &[]);
}

#[test]
fn gw005_a_draft_whose_answer_is_lost_may_be_followed_by_one() {
    let draft = |at, answer: &str| {
        format!(r#"{at} telegram sendMessage {{"message_id":1,"text":"a"{answer}}}"#)
    };
    let lost = |at| draft(at, r#","answer":"lost-reply""#);
    let refused = draft(1, r#","answer":"server-error","shown":false"#);
    check_lane(&[&refused, &draft(2000, "")], &[]);
    check_lane(&[&lost(1), &lost(2000)], &[]);
    let broken = [(FindingKind::SecondMessage, "a second message was sent: sendMessage #1 \"a\"")];
    check_lane(&[&lost(1), &lost(2000), &draft(4000, "")], &broken);
    check_lane(&[&lost(1), &draft(2000, ""), &draft(4000, "")], &broken);
}

#[test]
fn gw010_a_server_that_asks_to_wait_is_not_called() {
    let limited = r#"1 telegram editMessageText {"message_id":1,"text":"a","answer":"rate-limit:2s","shown":false}"#;
    let next = |at| format!(r#"{at} telegram editMessageText {{"message_id":1,"text":"b"}}"#);
    check_lane(&[limited, &next(2081)], &[]);
    let signal = |at| format!(r#"{at} telegram sendChatAction {{"action":"typing"}}"#);
    check_lane(&[limited, &signal(50), &next(2081)], &[]);
    let broken = "editMessageText #1 \"b\" came 1999 ms after it was asked to wait 2 s";
    check_lane(&[limited, &next(2080)], &[(FindingKind::CalledTooEarly, broken)]);
    let broken = "sendChatAction typing came 19 ms after it was asked to wait 2 s";
    check_lane(&[limited, &signal(100), &next(3000)], &[(FindingKind::CalledTooEarly, broken)]);
}

#[test]
fn gw006_the_throttle_holds() {
    let call = |at| format!(r#"{at} telegram editMessageText {{"message_id":1,"text":"a"}}"#);
    check_lane(&[&call(1), &call(1001)], &[]);
    let asked =
        r#"9 telegram sendMessage {"text":"?","buttons":[["Allow"]],"answer":"server-error"}"#;
    check_lane(&[&call(1), asked, &call(1001)], &[]);
    // The message of a question that is closed has no buttons.
    let closed = r#"900 telegram sendMessage {"text":"?","question":"q","answer":"server-error"}"#;
    check_lane(&[&call(1), closed, &call(1001)], &[]);
    check_lane(
        &[&call(1), &call(1000)],
        &[(FindingKind::TooFast, "editMessageText #1 \"a\" came 999 ms after the call before it")],
    );
}

#[test]
fn gw007_nothing_is_told_once_a_message_was_sent() {
    let start = r#"1 bus tool {"seq":2,"phase":"start","id":"t1","name":"mcp__a__message","args":{"action":"send"}}"#;
    let sent = r#"2 bus tool {"seq":3,"phase":"result","id":"t1","is_error":false}"#;
    let failed = r#"2 bus tool {"seq":3,"phase":"result","id":"t1","is_error":true}"#;
    let (done, late) = (
        r#"3 telegram sendMessage {"message_id":1,"text":"sent"}"#,
        r#"1003 telegram editMessageText {"message_id":1,"text":"and on"}"#,
    );
    let end = r#"9 bus lifecycle {"seq":4,"phase":"end"}"#;
    let by_tool =
        RunSpec { delivery: scenario::DeliverySpec::MessageToolOnly, ..RunSpec::default() };
    let check = |result, after: &[&str], run, expect: &[(FindingKind, &str)]| {
        let entries = [&[BUS, start, result], after, &[end, FINAL]].concat();
        check_run(&entries, Stats::default(), run, Vec::new(), expect);
    };
    let broken = "after the agent had sent its message came editMessageText #1 \"and on\"";
    check(sent, &[done, late], by_tool, &[(FindingKind::ToldAfterSend, broken)]);
    check(sent, &[done], by_tool, &[]);
    check(failed, &[done, late], by_tool, &[]);
    check(sent, &[done, late], RunSpec::default(), &[]);
}

#[test]
fn gw008_nothing_of_a_silent_run_is_told() {
    let call = r#"1 telegram sendMessage {"message_id":1,"text":"a"}"#;
    let silent = RunSpec { silent: true, ..RunSpec::default() };
    let check = |entries: &[&str], expect: &[(FindingKind, &str)]| {
        check_run(entries, Stats::default(), silent, Vec::new(), expect);
    };
    check(&[BUS, BUS_END], &[]);
    let broken = "the run is silent, and the chat got sendMessage #1 \"a\"";
    check(&[BUS, call, BUS_END], &[(FindingKind::SilentRunTold, broken)]);
}

#[test]
fn gw009_no_callback_fails() {
    let report = |first_failure: Option<&str>, gave_up| ChannelReport {
        callback_failures: u64::from(first_failure.is_some()),
        first_failure: first_failure.map(str::to_owned),
        gave_up,
        final_delivered: Delivery::Nobody,
    };
    for (report, expect) in [
        (report(None, false), None),
        (report(Some("it broke"), false), Some("it broke")),
        (report(None, true), Some("the final message did not settle in time")),
    ] {
        let expect: Vec<_> =
            expect.map(|what| (FindingKind::CallbackFailed, what)).into_iter().collect();
        let entries = [BUS, BUS_END, FINAL];
        check_run(&entries, Stats::default(), RunSpec::default(), vec![report], &expect);
    }
}

#[test]
fn gw009_a_callback_that_never_settles_is_given_up_alone() {
    let stuck = RunSpec { stuck_callback: Some(3), ..RunSpec::default() };
    let report = |callback_failures, gave_up| ChannelReport {
        callback_failures,
        first_failure: None,
        gave_up,
        final_delivered: Delivery::Nobody,
    };
    for (failures, gave_up, is_well) in [(1, true, true), (0, false, false), (2, true, false)] {
        let sentence = format!("one callback never settles; {failures} were given up or failed");
        let broken = [(FindingKind::CallbackFailed, sentence.as_str())];
        let expect = if is_well { &[][..] } else { &broken[..] };
        let entries = [BUS, BUS_END, FINAL];
        check_run(&entries, Stats::default(), stuck, vec![report(failures, gave_up)], expect);
    }
}
