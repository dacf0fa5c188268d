//! Lines, encodings, and unusable bytes: every line is reported.

use super::*;

fn check_bytes(bytes: &[u8], expect: &[&str]) -> Stats {
    let (seen, stats) = run_all(bytes);
    assert_eq!(seen, expect, "of {:?}", String::from_utf8_lossy(bytes));
    stats
}

#[test]
pub(crate) fn every_line_is_accounted_for() {
    let lines = [
        "",
        " \r",
        "Banner: {not json}",
        "[1,2]",
        "{\"type\":\"keep_alive\"} {}",
        &result("x"),
        r#"{"type":"stream_event"}"#,
        r#"{"type":"holo","x":1}"#,
        r#"{"no":"type"}"#,
        &format!("[{},{}]", r#"{"type":"keep_alive"}"#, result("y")),
        &snapshot("a", r#"{"type":"holo"}"#),
        &event(r#"{"type":"holo"}"#),
        &block(0, r#"{"type":"holo"}"#),
        &delta(0, "text_delta", "text", "of an unknown block"),
        &delta(1, "holo_delta", "text", "x"),
        &event(r#"{"type":"content_block_stop","index":"0"}"#),
        &event(r#"{"type":"ping"}"#),
        r#"{"type":"assistant","message":{"id":"z"}}"#,
        r#"{"type":"user","message":{"content":[{"type":"holo"},{"type":"text"}]}}"#,
        r#"{"type":"user","message":5}"#,
        r#"{"type":"user","isReplay":true,"message":{"content":"prompt"}}"#,
        r#"{"type":"system","subtype":"holo"}"#,
        r#"{"type":"res"#,
    ];
    let stats = check_bytes(
        lines.join("\n").as_bytes(),
        &[
            "diagnostic not-json 3",
            "diagnostic not-json 4",
            "diagnostic not-json 5",
            r#"ok "x""#,
            "diagnostic bad-record 7",
            r#"unknown holo {"type":"holo","x":1}"#,
            r#"unknown  {"no":"type"}"#,
            "record keep_alive/-",
            r#"ok "y" turn 2"#,
            r#"unknown assistant/holo {"type":"holo"}"#,
            r#"unknown stream_event/holo {"type":"holo"}"#,
            r#"unknown content_block_start/holo {"type":"holo"}"#,
            r#"unknown content_block_delta/text_delta {"type":"text_delta","text":"of an unknown block"}"#,
            r#"unknown content_block_delta/holo_delta {"type":"holo_delta","text":"x"}"#,
            "diagnostic bad-record 16",
            "diagnostic bad-record 18",
            r#"unknown user/holo {"type":"holo"}"#,
            "diagnostic bad-record 20",
            r#"heard - "prompt""#,
            r#"unknown system {"type":"system","subtype":"holo"}"#,
            "diagnostic cut-line 23",
            r#"incomplete "" no_result turn 3"#,
        ],
    );
    let counts = (stats.lines, stats.blank, stats.records, stats.unknown, stats.unusable);
    assert_eq!(counts, (23, 2, 4, 9, 8));
    assert_eq!(stats.by_kind.values().sum::<u64>(), 18);
    assert_eq!(stats.by_kind["result/success"], 2);
    let starts: Vec<_> = stats.by_kind.iter().filter(|(kind, _)| kind.contains("/c")).collect();
    let count = |(kind, count): (&Cow<'_, str>, &u64)| format!("{kind} {count}");
    let starts: Vec<_> = starts.into_iter().map(count).collect();
    assert_eq!(
        starts,
        [
            "stream_event/content_block_delta 2",
            "stream_event/content_block_start 1",
            "stream_event/content_block_stop 1"
        ]
    );
    assert!(stats.by_kind.values().all(|count| *count > 0));
}

#[test]
pub(crate) fn crlf_marks_and_a_last_line_without_lf() {
    let records = [message("a"), text(0, "hi"), result("hi")].join("\r\n");
    let expect = [r#"text a "hi""#, r#"ok "hi""#];
    check_bytes(records.as_bytes(), &expect);
    check_bytes(format!("\u{feff}{records}\r\n").as_bytes(), &expect);
}

#[test]
pub(crate) fn line_separators_inside_a_string_end_no_line() {
    check_bytes(
        text(0, "a\u{2028}b\u{85}c").as_bytes(),
        &["text  \"a\\u{2028}b\\u{85}c\"", "incomplete \"a\\u{2028}b\\u{85}c\" no_result"],
    );
}

#[test]
pub(crate) fn invalid_utf8_is_replaced_and_reported() {
    let bytes = [text(0, "a").as_bytes(), b"\n", &text(0, "?").into_bytes()].concat();
    let at = bytes.iter().rposition(|b| *b == b'?').unwrap();
    let bytes = [&bytes[..at], b"\xff\xc3", &bytes[at + 1..]].concat();
    check_bytes(
        &bytes,
        &[
            r#"text  "a""#,
            "diagnostic invalid-utf8 2",
            "text  \"\u{fffd}\u{fffd}\"",
            "incomplete \"a\u{fffd}\u{fffd}\" no_result",
        ],
    );
}

#[test]
pub(crate) fn pairs_split_over_deltas_are_joined() {
    check(
        &[
            message("a"),
            text(0, r"smile \ud83d"),
            text(0, r"\ude00 end"),
            text(0, r" lone \udc00"),
            snapshot("a", &text_block(r"smile \ud83d\ude00 end lone \udc00")),
            text(0, r"\ud83d"),
            stop(0),
            over(),
            result(r"smile 😀 end lone \udc00\ud83d"),
        ],
        &[
            r#"text a "smile ""#,
            r#"text a "😀 end""#,
            "text a \" lone \u{fffd}\"",
            "text a \"\u{fffd}\"",
            "ok \"smile 😀 end lone \u{fffd}\u{fffd}\"",
        ],
    );
    check(
        &[message("a"), text(0, r"x\ud83d"), snapshot("a", &text_block(r"x\ud83d")), stop(0)],
        &[r#"text a "x""#, "text a \"\u{fffd}\"", "incomplete \"x\u{fffd}\" no_result"],
    );
}

#[test]
pub(crate) fn type_may_be_any_key_and_keys_may_repeat() {
    check(
        &[r#"{"result":"no","session_id":null,"type":"keep_alive","result":"yes","type":"result"}"#.into()],
        &[r#"ok "yes""#],
    );
}

#[test]
pub(crate) fn long_lines_and_many_deltas() {
    let long = "x".repeat(300_000);
    let mut records = vec![message("a")];
    records.extend((0..20_000).map(|_| text(0, "word ")));
    records.extend([stop(0), over(), tool_result("t", &long), snapshot("b", &call("t", "{}"))]);
    let bytes = records.join("\n");
    let mut parser = Parser::new();
    let (mut deltas, mut whole, mut content) = (0, 0, 0);
    let mut sink = |event: Event<'_>| match event {
        Event::Text { text, .. } => (deltas, whole) = (deltas + 1, text.len()),
        Event::ToolResult { result, .. } => content = result.value().as_str().map_or(0, str::len),
        _ => {}
    };
    bytes.as_bytes().chunks(7).for_each(|piece| parser.feed_with(piece, &mut sink));
    parser.finish_with(&mut sink);
    assert_eq!((deltas, whole, content), (20_000, 100_000, 300_000));
}
