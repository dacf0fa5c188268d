//! Tests that the answer is sent as a new message once.

use super::*;

#[test]
fn sb004_the_answer_is_sent_once() {
    // The draft is #7; a final message is deleted and sent again.
    let again =
        [send(9_000, 8, ANSWER), delete(10_000, 8), send(11_000, 9, ANSWER), delete(12_000, 7)];
    let found = check(&good_but(1, &again), &[K::AnswerTwice]);
    assert!(found[0].sentence.contains("as #8 at 9.0 s and as #9 at 11.0 s"), "{found:?}");
    let both =
        [send(9_000, 8, ANSWER), send(9_400, 9, ANSWER), delete(9_500, 7), delete(12_000, 9)];
    check(&good_but(1, &both), &[K::AnswerTwice]);
    // A draft that began with the whole answer is deleted in favour of a final message with a notification.
    let parts = [send(1_000, 2, "Let me look at both files."), send(2_000, 3, TOOLS)];
    let draft = [send(8_000, 4, ANSWER), delete(9_000, 4), send(9_300, 5, ANSWER)];
    check(&[&parts[..], &draft].concat(), &[]);
}
