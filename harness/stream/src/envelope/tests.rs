use super::*;

const RECORD: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"a"}},"uuid":"0-1","parent_tool_use_id":null,"session_id":"s","ms":0}"#;

/// The conversation that the envelope gives for a record.
fn event(envelopes: &mut EnvelopeCache, record: &str) -> Option<usize> {
    envelopes.event(record, &mut ApiEvent::default())
}

/// Compares the result of the envelope of `RECORD` for another record: its piece, or `event`.
fn check(record: &str, expect: Option<&str>) {
    let mut envelopes = EnvelopeCache::default();
    envelopes.learn(RECORD, &RecordHead::read(RECORD).unwrap(), 3);
    let piece = envelopes.piece(record).map(|(conversation, piece)| {
        assert_eq!((conversation, piece.index, piece.target), (3, 2, DeltaTarget::Text));
        let EscapedText { text, plain } = piece.text;
        if plain { text.to_owned() } else { json::unescape(text).into_owned() }
    });
    let event = event(&mut envelopes, record).map(|conversation| {
        assert_eq!(conversation, 3);
        "event".to_owned()
    });
    assert!(piece.is_none() || event.is_some(), "{record}");
    let read = piece.or(event);
    assert_eq!(read.as_deref(), expect, "{record}");
    assert!(expect.is_none() || RecordHead::read(record).is_some(), "{record}");
}

#[test]
fn fields_that_are_not_read_may_differ() {
    check(RECORD, Some("a"));
    for piece in ["", "more", r"\n\ud83d", r#"\"}},\"uuid\":\""#, "😀", r"\\\\", r"é\tß\/"] {
        let unescaped = json::unescape(piece);
        check(&RECORD.replace(r#""a""#, &format!("\"{piece}\"")), Some(&unescaped));
    }
    for (from, to) in [
        ("0-1", "a-f"),
        ("0-1", ""),
        ("0-1", "\\n1"),
        ("\"0-1\"", "null"),
        ("\"ms\":0", "\"ms\":{\"a\":[1,2]}"),
    ] {
        check(&RECORD.replace(from, to), Some("a"));
    }
}

#[test]
fn any_event_fits_a_known_envelope() {
    for (from, to) in [
        ("\"index\":2", "\"index\": 2"),
        ("\"index\":2", "\"index\":2e0"),
        ("\"index\":2", "\"index\":null"),
        ("\"a\"", "\"a\",\"x\":\"b\""),
        ("content_block_delta", "message_stop"),
        ("text_delta", "signature_delta"),
    ] {
        check(&RECORD.replace(from, to), Some("event"));
    }
}

#[test]
fn any_other_difference_leaves_the_fast_path() {
    for (from, to) in [
        ("\"parent_tool_use_id\":null", "\"parent_tool_use_id\":\"p\""),
        ("\"session_id\":\"s\"", "\"session_id\":\"t\""),
        ("\"ms\":0", "\"ms\":0,\"more\":1"),
        ("\"ms\":0", "\"abandoned_blocks\":{}"),
        ("\"ms\":0", "\"ms\":"),
        ("\"ms\":0", "\"ms\":01"),
        ("\"index\":2", "\"index\":02"),
        ("0-1", "\"-1"),
        ("0-1", "\u{1}"),
        ("\"a\"", "\"a\\\""),
        ("\"a\"", "\"\u{1}\""),
        ("\"a\"", "\"\\x\""),
        ("\"a\"", "\"\\u12\""),
        ("content_block_delta", "message_start"),
        ("{\"type\"", "{ \"type\""),
    ] {
        let record = RECORD.replacen(from, to, 1);
        assert_ne!(record, RECORD);
        check(&record, None);
    }
    check(&format!("{RECORD}}}"), None);
    check(&RECORD[..RECORD.len() - 1], None);
}

#[test]
fn a_uuid_that_is_not_a_string_may_differ_too() {
    for (uuid, other, expect) in [
        ("123", "456", Some(3)),
        ("123", "\"x\"", Some(3)),
        ("123", "1x3", None),
        ("null", "nuLl", None),
        (r#""a\n""#, r#""b\n""#, Some(3)),
        (r#""a\n""#, r#""bcn""#, Some(3)),
        (r#""a\n""#, r#""a"n""#, None),
    ] {
        let (record, other) = (RECORD.replace("\"0-1\"", uuid), RECORD.replace("\"0-1\"", other));
        let mut envelopes = EnvelopeCache::default();
        envelopes.learn(&record, &RecordHead::read(&record).unwrap(), 3);
        assert_eq!(event(&mut envelopes, &other), expect, "{other} after {record}");
    }
}

#[test]
fn records_without_a_common_form_are_not_learnt() {
    for (from, to) in [
        ("{\"type\"", "{ \"type\""),
        ("\"ms\":0", "\"event\":{\"type\":\"ping\"}"),
        ("\"ms\":0", "\"abandoned_blocks\":{}"),
    ] {
        let record = RECORD.replacen(from, to, 1);
        let mut envelopes = EnvelopeCache::default();
        envelopes.learn(&record, &RecordHead::read(&record).unwrap(), 0);
        assert!(event(&mut envelopes, &record).is_none(), "{record}");
    }
    let mut envelopes = EnvelopeCache::default();
    envelopes.learn(RECORD, &RecordHead::read(RECORD).unwrap(), 0);
    envelopes.forget();
    assert!(event(&mut envelopes, RECORD).is_none());
}
