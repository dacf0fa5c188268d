//! Limits: what exceeds one is reported and counted, and everything before it is read.

use super::*;
use crate::ParserLimits;

/// Compares the events of `bytes` under `limits`, in pieces of every size, and the number of bytes
/// that were not read.
fn check_limits(bytes: &[u8], limits: ParserLimits, expect: &[&str], unread: u64) {
    for size in [usize::MAX, 1, 2, 3, 7, 50] {
        let mut parser = Parser::with_limits(limits);
        let mut seen = Vec::new();
        for piece in bytes.chunks(size) {
            parser.feed_with(piece, &mut |event| seen.push(show(&event)));
        }
        let stats = parser.finish_with(&mut |event| seen.push(show(&event)));
        assert_eq!(seen, expect, "in pieces of {size}");
        assert_eq!((stats.bytes, stats.unread), (bytes.len() as u64, unread), "of {size}");
        let Stats { lines, blank, records, unknown, unusable, .. } = stats;
        assert_eq!(lines, blank + records + unknown + unusable);
    }
}

const BYTES: &[u8] =
    b"{\"type\":\"keep_alive\"}\n\n{\"type\":\"holo\"}\n{\"type\":\"result\",\"result\":\"x\"}\n";

#[test]
pub(crate) fn r150310_there_is_no_limit_unless_one_is_set() {
    let seen = ["record keep_alive/-", r#"unknown holo {"type":"holo"}"#, r#"ok "x""#];
    check_limits(BYTES, ParserLimits::default(), &seen, 0);
}

#[test]
pub(crate) fn a_line_that_is_too_long_is_skipped() {
    check_limits(
        BYTES,
        ParserLimits { line: 20, ..ParserLimits::default() },
        &[
            "diagnostic line-too-long 1",
            r#"unknown holo {"type":"holo"}"#,
            "diagnostic line-too-long 4",
            r#"incomplete "" no_result"#,
        ],
        21 + 30,
    );
}

#[test]
pub(crate) fn lines_past_the_limit_of_records_are_not_read() {
    check_limits(
        BYTES,
        ParserLimits { records: 1, ..ParserLimits::default() },
        &["record keep_alive/-", "diagnostic too-many-records 2", r#"incomplete "" limit"#],
        16 + 31,
    );
}

#[test]
pub(crate) fn bytes_past_the_limit_are_not_read() {
    check_limits(
        BYTES,
        ParserLimits { bytes: 30, ..ParserLimits::default() },
        &[
            "record keep_alive/-",
            "diagnostic cut-line 3",
            "diagnostic too-many-bytes 3",
            r#"incomplete "" limit"#,
        ],
        BYTES.len() as u64 - 30,
    );
    // A run that just fits the limit is not cut.
    let all = ["record keep_alive/-", r#"unknown holo {"type":"holo"}"#, r#"ok "x""#];
    let just = ParserLimits { bytes: BYTES.len() as u64, records: 3, line: 30 };
    check_limits(BYTES, just, &all, 0);
}

#[test]
pub(crate) fn replaced_bytes_are_counted() {
    let (_, stats) = run(b"{\"type\":\"\xff\xfe ok \xe2\x82\"}\n{\"a\":\"\xff\"}", || usize::MAX);
    assert_eq!((stats.replaced, stats.diagnostics), (4, 2));
    assert_eq!(stats.unknown_kinds["\u{fffd}\u{fffd} ok \u{fffd}"], 1);
}

#[test]
fn stats_are_available_at_any_time() {
    let mut parser = Parser::new();
    parser.feed_with(&BYTES[..30], &mut |_| {});
    let Stats { bytes, lines, blank, records, by_kind, .. } = parser.stats();
    assert_eq!((bytes, lines, blank, records, by_kind["keep_alive"]), (30, 2, 1, 1, 1));
}
