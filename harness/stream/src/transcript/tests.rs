//! Tests of the texts and of their parts.

use super::*;

#[test]
pub(crate) fn t1_line_ends_on_both_sides_make_up_the_blank_line() {
    for (text, piece, expect) in [
        ("one", "two", "one\n\n"),
        ("one\n", "two", "one\n\n"),
        ("one\n", "\ntwo", "one\n"),
        ("one", "\n\ntwo", "one"),
        ("one\n\n\n", "two", "one\n\n\n"),
        ("", "two", ""),
    ] {
        let mut buffer = TranscriptBuffer::default();
        let pieces = [(0, text), (1, piece)].into_iter().filter(|(_, text)| !text.is_empty());
        for (block, text) in pieces {
            buffer.add(BlockId { message: 0, block }, PartJoin::BlankLine, text, lead_of(text));
        }
        assert_eq!(buffer.text(), format!("{expect}{piece}"));
    }
}

/// Adds parts of the form `(message, block, text)`, each after a blank line, then retracts
/// some.
fn check(
    parts: &[(usize, u64, &str)],
    retracted: &[usize],
    expect: (&str, u64),
    marks: [usize; 2],
) {
    let mut buffer = TranscriptBuffer::default();
    for (message, block, text) in parts {
        buffer.add(
            BlockId { message: *message, block: *block },
            PartJoin::BlankLine,
            text,
            lead_of(text),
        );
    }
    let mut moved = [1, parts.len()];
    let was_any = buffer.retract(&|by| retracted.contains(&by.message), &mut moved);
    assert_eq!(was_any, !retracted.is_empty());
    assert_eq!((buffer.text(), buffer.length()), expect, "{parts:?} less {retracted:?}");
    assert_eq!(moved, marks, "{parts:?} less {retracted:?}");
}

#[test]
pub(crate) fn a_retracted_part_leaves_no_gap() {
    let parts = [(0, 0, "añ\n"), (1, 0, "b"), (1, 2, "c"), (2, 0, "d")];
    check(&parts, &[], ("añ\n\nb\n\nc\n\nd", 11), [1, 4]);
    check(&parts, &[0], ("b\n\nc\n\nd", 7), [0, 3]);
    check(&parts, &[1], ("añ\n\nd", 5), [1, 2]);
    check(&parts, &[2], ("añ\n\nb\n\nc", 8), [1, 3]);
    check(&parts, &[0, 1, 2], ("", 0), [0, 0]);
}

#[test]
fn the_last_message_and_what_came_since_a_part() {
    let mut buffer = TranscriptBuffer::default();
    assert_eq!((buffer.since(0), buffer.last_message_text()), ("", ""));
    for (message, block, join, text, whole) in [
        (0, 0, PartJoin::Append, "a", "a"),
        (1, 0, PartJoin::BlankLine, "b", "a\n\nb"),
        (1, 1, PartJoin::Append, "c", "a\n\nbc"),
        (1, 1, PartJoin::BlankLine, "d", "a\n\nbc\n\nd"),
    ] {
        let from = buffer.add(BlockId { message, block }, join, text, lead_of(text));
        assert_eq!((buffer.text(), buffer.length()), (whole, whole.len() as u64));
        assert!(buffer.text()[from..].ends_with(text));
    }
    assert_eq!((buffer.part_count(), buffer.since(2)), (4, "c\n\nd"));
    assert_eq!(buffer.last_message_text(), "bc\n\nd");
}

/// The place of all messages.
const PLACE: MessagePlace<'static> = MessagePlace { id: "m", parent: None };

/// A transcript of pieces of the answer and of the reasoning, each with its message and block; a call comes where a
/// piece says so.
fn transcript(pieces: &[(TextKind, usize, u64, &str)]) -> RunTranscript {
    let (mut counts, mut sink) = (Default::default(), |_: Event<'_>| {});
    let mut emitter = Emitter::line(&mut counts, &mut sink);
    let mut transcript = RunTranscript::default();
    for (kind, message, block, text) in pieces {
        let by = BlockId { message: *message, block: *block };
        match *text {
            CALL => transcript.split(),
            text => transcript.emit(*kind, by, PLACE, text, &mut emitter),
        }
    }
    transcript
}

const CALL: &str = "(call)";
const A: TextKind = TextKind::Answer;
const R: TextKind = TextKind::Reasoning;

#[test]
fn runs_that_lose_all_their_text_are_gone() {
    let pieces = [
        (R, 0, 0, "why"),
        (A, 0, 1, "one"),
        (A, 0, 2, CALL),
        (A, 1, 0, "two"),
        (A, 1, 1, CALL),
        (R, 2, 0, "so"),
        (A, 2, 1, "three"),
    ];
    let check = |retracted: &[usize], was_any: bool, runs: &[(usize, usize)], unused: &str| {
        let mut transcript = transcript(&pieces);
        assert_eq!(transcript.retract(&|by| retracted.contains(&by.message)), was_any);
        let found: Vec<_> = transcript.runs.iter().map(|run| (run.start, run.unsplit)).collect();
        assert_eq!((&*found, transcript.unused()), (runs, unused), "less {retracted:?}");
        assert_eq!(transcript.is_used_up(), runs.is_empty());
    };
    check(&[], false, &[(0, 0), (1, 0), (2, 0)], "one\n\ntwo\n\nthree");
    check(&[0], true, &[(0, 0), (1, 0)], "two\n\nthree");
    check(&[1], true, &[(0, 0), (1, 0)], "one\n\nthree");
    check(&[2], true, &[(0, 0), (1, 0)], "one\n\ntwo");
    check(&[0, 1, 2], true, &[], "");
    // Reasoning alone is retracted, and an answer alone.
    let mut both = transcript(&[(R, 0, 0, "why"), (A, 1, 0, "one")]);
    assert!(both.retract(&|by| by.message == 0) && both.retract(&|by| by.message == 1));
    assert!(both.is_used_up());
}

#[test]
fn pieces_say_where_a_call_splits_the_answer() {
    let check = |pieces: &[(TextKind, usize, u64, &str)], first: usize, expect: &[(&str, bool)]| {
        let found = transcript(pieces).pieces_from(first);
        let found: Vec<_> =
            found.iter().map(|piece| (piece.text.as_str(), piece.is_split)).collect();
        assert_eq!(found, expect, "{pieces:?} from {first}");
    };
    let split = [
        (R, 0, 0, "why"),
        (A, 0, 1, "one"),
        (A, 0, 2, CALL),
        (R, 1, 0, "so"),
        (A, 1, 1, "two"),
        (A, 1, 2, "three"),
        (A, 2, 0, "four"),
    ];
    let all = [("why", false), ("one", false), ("so", false), ("two", true), ("three", false)];
    let last = [("four", false)];
    check(&split, 0, &[&all[..], &last].concat());
    check(&split, 1, &[&all[2..], &last].concat());
    check(&split, 2, &last);
    check(&split, 3, &[]);
    // The pieces of a message are in the order of its blocks.
    check(
        &[(A, 0, 1, "b"), (R, 0, 0, "a"), (R, 0, 2, "c")],
        0,
        &[("a", false), ("b", false), ("c", false)],
    );
}
