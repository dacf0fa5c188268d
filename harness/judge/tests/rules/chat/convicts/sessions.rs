//! Tests that a chat stays one conversation.

use clitape_judge::observation::{SessionOrigin, TurnSession};
use clitape_recording::facts::LazyFacts;

use super::*;

const KINDS: [K; 2] = [K::OldSession, K::SessionForgotten];

/// Judges the chat of `resume-twice`, whose three turns began at 1, 11 and 21 s, by the rules of sessions.
fn check(sessions: &[TurnSession], between: &[Entry], resumes: bool, expect: &[(K, &str)]) {
    let cassette = Cassette::load(&root().join("cassettes/resume-twice/2.1.332")).unwrap();
    let times = [1_000, 11_000, 21_000];
    let turn = |began_ms| PlayedTurn { began_ms, ended_ms: Some(began_ms + 2_000) };
    let said =
        |at: u64| call(at - 500, "(user)", serde_json::json!({ "text": "Go on. [[clitape:a]]" }));
    let mut entries: Vec<Entry> =
        times.map(said).into_iter().chain(between.iter().cloned()).collect();
    entries.sort_by_key(|entry| entry.at);
    let seen = Observation::of_chat(Arc::new(LazyFacts::of_runs(&cassette)), entries);
    let found = judge(&Observation {
        turns: times.map(turn).to_vec(),
        sessions: sessions.to_vec(),
        traits: SubjectTraits { resumes_sessions: resumes, ..SubjectTraits::default() },
        ..seen
    });
    let found: Vec<&Violation> = found.iter().filter(|found| KINDS.contains(&found.kind)).collect();
    let kinds: Vec<K> = found.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, expect.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), "{sessions:?}");
    for (found, (_, part)) in found.iter().zip(expect) {
        assert!(found.sentence.contains(part) && found.entry.is_some(), "{found:?}");
    }
}

#[test]
fn sb047_sb050_a_message_goes_on_with_the_newest_session_of_its_chat() {
    use SessionOrigin::*;
    let turn = |id: &str, from: SessionOrigin| TurnSession { id: id.to_owned(), from };
    let resumed = |id: &str| Resumed { id: id.to_owned(), of_other: None };
    let first = turn("a", New);
    for from in [Process, resumed("a"), Folder, Prompt] {
        check(&[first.clone(), turn("a", from)], &[], true, &[]);
    }
    let forgotten =
        [(K::SessionForgotten, "Turn 2: for this message `claude` was started without `--resume`")];
    let anew = [first.clone(), turn("b", New), turn("b", Process)];
    check(&anew, &[], true, &forgotten);
    check(&anew, &[], false, &[]);
    // What the person asks of the gateway itself may end the conversation.
    let stop = |kind: &'static str| call(5_000, kind, serde_json::json!({ "text": "/stop" }));
    check(&anew, &[stop("(user)")], true, &[]);
    check(&anew, &[stop("(stop)")], true, &[]);
    let old = [first, turn("b", resumed("a")), turn("c", resumed("a"))];
    let newest = "Turn 3: `claude` resumes session a, and the newest session of this chat is b";
    check(&old, &[], true, &[(K::OldSession, newest)]);
    let other = Resumed { id: "x".to_owned(), of_other: Some("plain-text/2.1.332".to_owned()) };
    let whose =
        "resumes session x, and that is the session of another chat, that of plain-text/2.1.332";
    check(&[turn("x", other)], &[], true, &[(K::OldSession, whose)]);
    // The session of an earlier recording in the same chat.
    check(&[turn("x", resumed("x"))], &[], true, &[]);
}
