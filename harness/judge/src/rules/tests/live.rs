//! Tests the rules of questions and turns: each finds a replay that breaks it.

use crate::rules::tests::*;

/// The entries of a call of Bash that waits for question `q`, and of its result; `extra` comes between.
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
const DECIDED: &str = r#"6 telegram editMessageText {"message_id":7,"text":"Yes","question":"q"}"#;

/// Checks the bus and the chat of a run with a question.
fn check_question(middle: &[&str], ends: u64, expect: &[(FindingKind, &str)]) {
    let end = format!(r#"9 bus lifecycle {{"seq":{ends},"phase":"end"}}"#);
    check(&[&[BUS], middle, &[&end, FINAL]].concat(), Stats::default(), expect);
}

#[test]
fn qu001_an_editor_is_not_told_that_the_call_is_in_progress() {
    let known = r#"1 acp tool_call {"toolCallId":"t","status":"pending"}"#;
    let update = r#"4 acp tool_call_update {"toolCallId":"t","status":"in_progress"}"#;
    let after = update.replacen('4', "6", 1);
    check_question(&[known, ASKED, BUTTONS, CLOSED, DECIDED, &after], 4, &[]);
    let what = "call t is in progress for the editor before its question is closed";
    let broken = [(FindingKind::ToolBeforeYes, what)];
    check_question(&[known, ASKED, BUTTONS, update, CLOSED, DECIDED], 4, &broken);
}

#[test]
fn qu002_every_question_leaves_the_chat() {
    check_question(&[ASKED, BUTTONS, CLOSED, DECIDED], 4, &[]);
    let open = "question q about Bash is never closed";
    check_question(&[ASKED, BUTTONS, DECIDED], 3, &[(FindingKind::QuestionLeft, open)]);
    let lifecycle = [
        r#"1 lifecycle question {"id":"q","name":"Bash","call":"t"}"#,
        r#"5000 lifecycle question_withdrawn {"id":"q"}"#,
    ];
    check_question(&[&lifecycle[..], &[ASKED, BUTTONS, CLOSED, DECIDED]].concat(), 4, &[]);
    let hidden =
        "the CLI asks about Bash and waits 4999 ms for the answer, but the chat never asks";
    let left = [(FindingKind::QuestionLeft, hidden)];
    check_question(&[&lifecycle[..], &[ASKED, CLOSED]].concat(), 4, &left);
    let left = r#"the buttons of sendMessage #7 "May I?" [["Yes","No"]] stay in the chat"#;
    check_question(&[ASKED, BUTTONS, CLOSED], 4, &[(FindingKind::QuestionLeft, left)]);
}

#[test]
fn qu003_a_question_is_closed_once() {
    let again = r#"7 bus question {"seq":4,"closed":{"id":"q","how":"denied"}}"#;
    let broken = [(FindingKind::AnsweredTwice, "question q is closed a second time")];
    check_question(&[ASKED, BUTTONS, CLOSED, DECIDED, again], 5, &broken);
    // A question that is moved to the next turn is closed there, once.
    let moved = CLOSED.replace("allowed", "moved");
    let withdrawn = again.replace("denied", "withdrawn");
    check_question(&[ASKED, BUTTONS, &moved, DECIDED, &withdrawn], 5, &[]);
    let third = withdrawn.replace(r#""seq":4"#, r#""seq":5"#);
    check_question(&[ASKED, BUTTONS, &moved, DECIDED, &withdrawn, &third], 6, &broken);
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

/// Checks two turns with an answer each; the first begins with other entries.
fn check_turns_first(first: &[&str], outcomes: [&str; 2], expect: &[(FindingKind, &str)]) {
    check_all_turns(first, &[], outcomes, expect);
}

/// Checks two turns with an answer each; `more` breaks a rule between them.
fn check_turns(more: &[&str], outcomes: [&str; 2], expect: &[(FindingKind, &str)]) {
    check_all_turns(&[], more, outcomes, expect);
}

fn check_all_turns(
    first: &[&str],
    more: &[&str],
    outcomes: [&str; 2],
    expect: &[(FindingKind, &str)],
) {
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
    let entries =
        first.iter().copied().chain(entries.iter().map(String::as_str)).chain(more.iter().copied());
    check(&entries.collect::<Vec<_>>(), Stats::default(), expect);
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
    // The first part of the next turn is retracted before the outcome.
    let early = r#"1 lifecycle text {"message_id":"m2","delta":"b","length":2}"#;
    let back = r#"1 lifecycle retract {"message_id":"m2","length":0}"#;
    check_turns_first(&[early, back], [ONE, TWO], &[]);
    let what = "turn 1 has text of message m2, which began in another turn";
    check_turns_first(&[early], [ONE, TWO], &broken(what));
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
    let late = "the bus has said that turn 2 is over, and then came editMessageText #1 final \"b\"";
    let expect = [(FindingKind::EndedEarly, late), (FindingKind::EditAfterTurn, what)];
    check_turns(&[edit], [ONE, TWO], &expect);
}

#[test]
fn tn004_a_tool_that_runs_is_seen() {
    let start = r#"10000 bus tool {"seq":2,"phase":"start","id":"t","name":"Bash"}"#;
    let end = r#"30000 bus lifecycle {"seq":3,"phase":"end"}"#;
    let typing = |at| format!(r#"{at} telegram sendChatAction {{"action":"typing"}}"#);
    let check = |first: u64, at: u64, expect: &[(FindingKind, &str)]| {
        let last = r#"30000 telegram final {"delivery":"sent"}"#;
        let entries = [BUS, &typing(first), start, &typing(at), end, last];
        check(&entries, Stats::default(), expect);
    };
    check(500, 20_000, &[]);
    let what = "Bash ran for 10 s and the chat showed nothing";
    check(500, 20_001, &[(FindingKind::SilentStart, what)]);
    let what = "turn 1 began, and a second later the chat showed nothing";
    check(1_000, 20_000, &[]);
    check(1_001, 20_000, &[(FindingKind::SilentStart, what)]);
}
