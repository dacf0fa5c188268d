use clap::ValueEnum as _;
use clitape_gateway::sanitise::Masked;
use clitape_gateway::{ChannelReport, Delivery, RunReport};
use clitape_stream::Stats;

use super::*;
use crate::replay::Setup;
use crate::scenario::{self, Chat, ChatMode, RunSpec};

const BUS: &str = r#"0 bus lifecycle {"seq":1,"phase":"start"}"#;
const BUS_END: &str = r#"9 bus lifecycle {"seq":2,"phase":"end"}"#;
const FINAL: &str = r#"9 telegram final {}"#;

/// A replay with these entries, written `at lane kind data`, and what it breaks.
fn check(entries: &[&str], stats: Stats, expect: &[(FindingKind, &str)]) {
    check_run(entries, stats, RunSpec::default(), Vec::new(), expect);
}

/// As [`check`], of a run that is run as `run` says, with the reports of its channels.
fn check_run(
    entries: &[&str],
    stats: Stats,
    run: RunSpec,
    channels: Vec<ChannelReport>,
    expect: &[(FindingKind, &str)],
) {
    let entries = entries
        .iter()
        .map(|line| {
            let mut parts = line.splitn(4, ' ');
            let mut part = || parts.next().unwrap();
            Entry {
                at: part().parse().unwrap(),
                lane: Lane::from_str(part(), false).unwrap(),
                kind: part().to_owned().into(),
                data: serde_json::from_str(part()).unwrap(),
            }
        })
        .collect();
    let report = RunReport { channels, listener_panics: 0, masked: Masked::default() };
    let setup = Setup { run, channel: Some(Chat::of(ChatMode::Partial)), acp: None };
    let broken =
        broken(&Replay { setup, entries, stats, is_faithful: true, reports: vec![report] });
    // When it was stands before; `a_broken_rule_says_when` holds that.
    let what =
        |sentence: &str| sentence.split_once(" ms: ").map_or(sentence, |(_, what)| what).to_owned();
    let broken: Vec<_> =
        broken.iter().map(|broken| (broken.kind, what(&broken.sentence))).collect();
    let expect: Vec<_> = expect.iter().map(|(kind, what)| (*kind, (*what).to_owned())).collect();
    assert_eq!(broken, expect);
}

/// As [`check`], around entries of one lane; the bus and the final are in order.
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

#[test]
fn a_broken_rule_says_when_and_what_was_seen() {
    let entries: Vec<Entry> = [
        r#"{"at":0,"lane":"bus","kind":"lifecycle","data":{"seq":1,"phase":"start"}}"#,
        r#"{"at":7,"lane":"lifecycle","kind":"text","data":{"delta":"a"}}"#,
        r#"{"at":8,"lane":"telegram","kind":"final","data":{}}"#,
        r#"{"at":8,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"a","final":true}}"#,
        r#"{"at":1240,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"b"}}"#,
        r#"{"at":1240,"lane":"bus","kind":"lifecycle","data":{"seq":2,"phase":"end"}}"#,
    ]
    .iter()
    .map(|line| serde_json::from_str(line).unwrap())
    .collect();
    let report = RunReport { channels: vec![], listener_panics: 0, masked: Masked::default() };
    let setup =
        Setup { run: RunSpec::default(), channel: Some(Chat::of(ChatMode::Partial)), acp: None };
    let replay = Replay {
        setup,
        entries,
        stats: Stats::default(),
        is_faithful: true,
        reports: vec![report],
    };
    let broken = broken(&replay);
    let [BrokenInvariant { kind, sentence, context }] = &broken[..] else { panic!("{broken:?}") };
    assert_eq!(*kind, FindingKind::EditAfterFinal);
    assert_eq!(sentence, "turn 1, +1,240 ms: after the final text came editMessageText #1 \"b\"");
    let seen: Vec<_> = context.iter().map(|moment| (moment.at, moment.output.len())).collect();
    assert_eq!(seen, [(7, 0), (8, 2), (1240, 1)]);
}

/// The entries of a call of Bash that waits for question `q`, and of its result; `extra` is what comes between.
fn asked(extra: &[&str]) -> Vec<String> {
    let mut entries = vec![
        r#"0 lifecycle host_message {"type":"user","text":"go"}"#.to_owned(),
        r#"0 lifecycle tool_start {"id":"t","name":"Bash"}"#.to_owned(),
        r#"1 lifecycle question {"id":"q","name":"Bash","call":"t"}"#.to_owned(),
    ];
    entries.extend(extra.iter().map(|entry| (*entry).to_owned()));
    entries.push(r#"9 lifecycle tool_result {"id":"t","is_error":false}"#.to_owned());
    entries
}

#[test]
fn qu001_no_tool_runs_before_its_yes() {
    let check = |extra: &[&str], expect: &[(FindingKind, &str)]| {
        let entries = asked(extra);
        check_lane(&entries.iter().map(String::as_str).collect::<Vec<_>>(), expect);
    };
    check(&[r#"2 lifecycle answered {"id":"q","decision":"allow"}"#], &[]);
    let broken = |what| [(FindingKind::ToolBeforeYes, what)];
    check(&[], &broken("call t ran before its question was answered"));
    check(
        &[r#"2 lifecycle answered {"id":"q","decision":"deny"}"#],
        &broken("call t ran although the answer was deny"),
    );
    check(
        &[r#"2 lifecycle answered {"id":"other","decision":"allow"}"#],
        &broken("call t ran before its question was answered"),
    );
}

const ASKED: &str = r#"1 bus question {"seq":2,"asked":{"id":"q","name":"Bash","call":"t"}}"#;
const CLOSED: &str = r#"5 bus question {"seq":3,"closed":{"id":"q","how":"allowed"}}"#;
const BUTTONS: &str = r#"2 telegram sendMessage {"message_id":7,"text":"May I?","question":"q","buttons":[["Yes","No"]]}"#;
const DECIDED: &str =
    r#"6 telegram editMessageText {"message_id":7,"text":"Yes","question":"q"}"#;

/// Checks the bus and the chat of a run with a question.
fn check_question(middle: &[&str], ends: u64, expect: &[(FindingKind, &str)]) {
    let end = format!(r#"9 bus lifecycle {{"seq":{ends},"phase":"end"}}"#);
    check(&[&[BUS], middle, &[&end, FINAL]].concat(), Stats::default(), expect);
}

#[test]
fn qu002_every_question_leaves_the_chat() {
    check_question(&[ASKED, BUTTONS, CLOSED, DECIDED], 4, &[]);
    let open = "question q about Bash is never closed";
    check_question(&[ASKED, BUTTONS, DECIDED], 3, &[(FindingKind::QuestionLeft, open)]);
    let left = r#"the buttons of sendMessage #7 "May I?" [["Yes","No"]] stay in the chat"#;
    check_question(&[ASKED, BUTTONS, CLOSED], 4, &[(FindingKind::QuestionLeft, left)]);
}

#[test]
fn qu003_a_question_is_closed_once() {
    let again = r#"7 bus question {"seq":4,"closed":{"id":"q","how":"denied"}}"#;
    let broken = [(FindingKind::AnsweredTwice, "question q is closed a second time")];
    check_question(&[ASKED, BUTTONS, CLOSED, DECIDED, again], 5, &broken);
    let reopened = BUTTONS.replace("2 telegram sendMessage", "7 telegram editMessageText");
    let closed = DECIDED.replace("6 telegram", "8 telegram");
    let what = r#"a closed question is open again: editMessageText #7 "May I?" [["Yes","No"]]"#;
    let broken = [(FindingKind::AnsweredTwice, what)];
    check_question(&[ASKED, BUTTONS, CLOSED, DECIDED, &reopened, &closed], 4, &broken);
}

#[test]
fn qu004_a_question_has_the_asker_of_its_call() {
    let start = r#"0 lifecycle tool_start {"id":"t","name":"Bash","parent":"p"}"#;
    let result = r#"8 lifecycle tool_result {"id":"t","is_error":true,"parent":"p"}"#;
    let right = ASKED.replace(r#""call":"t""#, r#""call":"t","parent":"p""#);
    check_question(&[start, &right, CLOSED, result], 4, &[]);
    let what = "call t belongs to the subagent of p, and its question to the main thread";
    let broken = [(FindingKind::WrongAsker, what)];
    check_question(&[start, ASKED, CLOSED, result], 4, &broken);
}

/// Two turns with an answer each, and what breaks a rule between them.
fn check_turns(more: &[&str], outcomes: [&str; 2], expect: &[(FindingKind, &str)]) {
    let outcome = |at: u64, fields: &str| format!("{at} lifecycle outcome {{{fields}}}");
    let entries = [
        BUS.to_owned(),
        r#"1 lifecycle host_message {"type":"user","id":"u1","text":"one"}"#.to_owned(),
        r#"1 lifecycle text {"message_id":"m1","delta":"a"}"#.to_owned(),
        r#"1 telegram sendMessage {"message_id":1,"text":"a","final":true}"#.to_owned(),
        outcome(2, outcomes[0]),
        r#"2 bus lifecycle {"seq":2,"phase":"end","text":"a"}"#.to_owned(),
        FINAL.to_owned(),
        r#"3 bus lifecycle {"seq":1,"run_id":"run-2","phase":"start"}"#.to_owned(),
        r#"3 lifecycle host_message {"type":"user","id":"u2","text":"two"}"#.to_owned(),
        r#"3 lifecycle text {"message_id":"m2","delta":"b"}"#.to_owned(),
        outcome(4, outcomes[1]),
        r#"4 bus lifecycle {"seq":2,"run_id":"run-2","phase":"end","text":"b"}"#.to_owned(),
        r#"4 telegram final {"delivery":"sent","turn":2}"#.to_owned(),
    ];
    let entries: Vec<&str> = entries.iter().map(String::as_str).chain(more.iter().copied()).collect();
    check(&entries, Stats::default(), expect);
}

const ONE: &str = r#""status":"ok","text":"a","answers":["u1"],"message_ids":["m1"]"#;
const TWO: &str = r#""status":"ok","text":"b","turn":2,"answers":["u2"],"message_ids":["m2"]"#;

#[test]
fn tn001_no_turn_ends_another() {
    check_turns(&[], [ONE, TWO], &[]);
    let broken = |what| [(FindingKind::EndedByOther, what)];
    let skipped = TWO.replace(r#""turn":2"#, r#""turn":3"#);
    check_turns(&[], [ONE, &skipped], &broken("outcome 2 says that it ends turn 3"));
    let foreign = TWO.replace("m2", "m1");
    let what = "turn 2 has text of message m2, which began in another turn";
    check_turns(&[], [ONE, &foreign], &broken(what));
    let mixed = TWO.replace(r#""text":"b""#, r#""text":"a""#);
    check_turns(&[], [ONE, &mixed], &broken("turn 2 ends with the text of another one"));
}

#[test]
fn tn002_every_message_is_answered_once() {
    let broken = |what| [(FindingKind::NotAnsweredOnce, what)];
    let both = TWO.replace(r#"["u2"]"#, r#"["u1","u2"]"#);
    check_turns(&[], [ONE, &both], &broken("message u1 is answered by turns 1 and 2"));
    let none = TWO.replace(r#""answers":["u2"],"#, "");
    check_turns(&[], [ONE, &none], &broken("message u2 is answered by no turn"));
    let cut_off = none.replace(r#""ok""#, r#""incomplete""#);
    check_turns(&[], [ONE, &cut_off], &[]);
}

#[test]
fn tn003_nothing_of_a_finished_turn_is_edited() {
    let edit = r#"3 telegram editMessageText {"message_id":1,"text":"b","turn":2,"final":true}"#;
    let what = r#"turn 1 is over, and editMessageText #1 final "b" edits it"#;
    check_turns(&[edit], [ONE, TWO], &[(FindingKind::EditAfterTurn, what)]);
}

#[test]
fn tn004_a_tool_that_runs_is_seen() {
    let start = r#"1000 bus tool {"seq":2,"phase":"start","id":"t","name":"Bash"}"#;
    let end = r#"30000 bus lifecycle {"seq":3,"phase":"end"}"#;
    let typing = |at| format!(r#"{at} telegram sendChatAction {{"action":"typing"}}"#);
    let check = |at: u64, expect: &[(FindingKind, &str)]| {
        check(&[BUS, start, &typing(at), end, FINAL], Stats::default(), expect);
    };
    check(11_000, &[]);
    let what = "Bash ran for 10 s and the chat showed nothing";
    check(11_001, &[(FindingKind::SilentStart, what)]);
}
