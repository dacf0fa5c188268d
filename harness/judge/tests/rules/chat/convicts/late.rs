//! Tests that the answer does not wait for the end of the process.

use super::*;

/// Judges a chat of `three-tools`, whose result came at 9 s, and whose `claude` ended at `exited_ms`.
fn check_end(lines: &[Entry], exited_ms: Option<u64>, expect: &[K]) {
    let cassette = Cassette::load(&root().join("cassettes/three-tools/2.1.329")).unwrap();
    let turns = vec![PlayedTurn { began_ms: 0, ended_ms: Some(9_000) }];
    let seen = Observation::of_chat(facts_of(&cassette), lines.to_vec());
    let found = judge(&Observation { turns, exited_ms, ..seen });
    let kinds: Vec<K> = found.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, expect, "{found:#?}");
}

#[test]
fn sb051_the_answer_comes_soon_after_the_result() {
    let begun = [send(1_000, 7, TOOLS)];
    let at = |at| [&begun[..], &[edit(at, 7, ANSWER)]].concat();
    check_end(&at(9_400), Some(19_000), &[]);
    check_end(&at(19_200), Some(19_000), &[K::AnswerLate]);
    // Most processes end at once, and the end of some is unknown.
    check_end(&at(19_200), Some(9_100), &[]);
    check_end(&at(19_200), None, &[]);
    let text = serde_json::json!({ "draft_id": 1, "text": ANSWER });
    let draft = [call(9_300, "sendMessageDraft", text)];
    check_end(&[&draft[..], &at(19_200)].concat(), Some(19_000), &[]);
}
