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
            buffer.add(BlockId { message: 0, block }, PartJoin::BlankLine, (text, lead_of(text)));
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
            (text, lead_of(text)),
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
        let from = buffer.add(BlockId { message, block }, join, (text, lead_of(text)));
        assert_eq!((buffer.text(), buffer.length()), (whole, whole.len() as u64));
        assert!(buffer.text()[from..].ends_with(text));
    }
    assert_eq!((buffer.part_count(), buffer.since(2)), (4, "c\n\nd"));
    assert_eq!(buffer.last_message_text(), "bc\n\nd");
}
