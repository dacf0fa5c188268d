//! The turns that are collected from a stream, by tables of its frames.

use serde_json::json;

use super::*;

/// A frame as `name data`.
fn frame(line: &str) -> SseFrame {
    let (name, data) = line.split_once(' ').unwrap();
    SseFrame { id: None, name: name.into(), data: data.into() }
}

/// Collects one turn; expects how it stands and what was collected.
#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]
fn check(lines: &[&str], progress: TurnProgress, expect: Value) {
    let mut collector = Collector::new();
    let last = lines.iter().map(|line| collector.on(&frame(line))).last();
    assert_eq!(last, Some(progress));
    assert_eq!(serde_json::to_value(collector.collected()).unwrap(), expect);
}

/// A search that found these texts, by id.
fn search(id: &str, found: &[(u32, &str)]) -> String {
    let snippets: Vec<_> = found.iter().map(|(id, text)| json!({"id": id, "text": text})).collect();
    let ids: Vec<_> = found.iter().map(|(id, _)| id).collect();
    let summary = json!({ "event_ids": ids, "snippets": snippets });
    let name = "search_memory";
    format!("tool_use {}", json!({"toolCallId": id, "name": name, "result_summary": summary}))
}

const BASH: &str = r#"tool_use {"toolCallId":"a","name":"bash","input":{"q":1},"isError":false}"#;

fn bash() -> Value {
    json!({"name": "bash", "input": {"q": 1}, "toolCallId": "a"})
}

#[test]
fn s2_text_calls_and_context() {
    check(
        &[
            r#"connected {}"#,
            r#"output {"type":"delta","content":"par"}"#,
            r#"output {"content":"tial"}"#,
            r#"output {"type":"audio","content":"?"}"#,
            BASH,
            r#"status {"content":"?"}"#,
            r#"agent-error {"error":"?"}"#,
            r#"complete {}"#,
        ],
        TurnProgress::Complete,
        json!({"output": "partial", "metadata": {"toolCalls": [bash()]}}),
    );
    check(
        &[
            r#"output {"type":"delta","content":"one"}"#,
            r#"output {"type":"replace","content":"two"}"#,
            r#"output {"type":"delta","content":"!"}"#,
        ],
        TurnProgress::Open,
        json!({"output": "two!", "metadata": {}}),
    );
    check(
        &[r#"output {"type":"delta","content":"on the way"}"#, r#"complete {"text":"final"}"#],
        TurnProgress::Complete,
        json!({"output": "final", "metadata": {}}),
    );
}

#[test]
pub(crate) fn s2_found_texts_are_collected_once_and_all_turns_count() {
    let mut collector = Collector::new();
    collector.on(&frame(r#"output {"content":"first"}"#));
    collector.on(&frame(&search("a", &[(1, "one"), (2, "two")])));
    collector.on(&frame(&search("b", &[(2, "two"), (3, "three"), (4, "")])));
    assert_eq!(collector.on(&frame("complete {}")), TurnProgress::Complete);
    collector.begin(None);
    collector.on(&frame(r#"output {"content":"second"}"#));
    // The same id in a later turn is another call.
    collector.on(&frame(&search("a", &[(1, "one"), (2, "two")])));
    collector.on(&frame("complete {}"));
    let Collected { output, error, metadata } = collector.collected();
    assert_eq!((output.as_str(), error), ("second", None));
    assert_eq!(metadata.retrieved_context.as_deref(), Some("one\n\ntwo\n\nthree"));
    let ids: Vec<_> = metadata.tool_calls.iter().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("a"), Some("b"), Some("a")]);
}

#[test]
pub(crate) fn s2_an_error_keeps_what_was_collected() {
    let collected =
        |error: &str| json!({"output": "par", "error": error, "metadata": {"toolCalls": [bash()]}});
    for (error, expect) in [
        (r#"{"error":"boom"}"#, "boom"),
        (r#"{"error":{"message":"boom","code":1}}"#, "boom"),
        (r#"{"error":{"code":1}}"#, r#"{"code":1}"#),
        (r#"{}"#, "the gateway told no reason; see its log"),
    ] {
        let lines = [r#"output {"content":"par"}"#, BASH, &format!("error {error}")];
        check(&lines, TurnProgress::Failed, collected(expect));
    }
    let mut collector = Collector::new();
    collector.on(&frame(BASH));
    collector.fail("too late");
    let expect = json!({"output": "", "error": "too late", "metadata": {"toolCalls": [bash()]}});
    assert_eq!(serde_json::to_value(collector.collected()).unwrap(), expect);
}

#[test]
fn s2_lost_events_are_reported_and_the_rest_is_kept() {
    check(
        &[r#"gap {"missed":3}"#, r#"output {"content":"rest"}"#, "complete {}"],
        TurnProgress::Failed,
        json!({
            "output": "rest",
            "error": "events were lost: the stream had gone on too far; collect from its start",
            "metadata": {},
        }),
    );
}

#[test]
pub(crate) fn s2_what_comes_twice_counts_once() {
    let mut collector = Collector::new();
    let numbered = |id: &str, line: &str| SseFrame { id: Some(id.into()), ..frame(line) };
    for _ in 0..2 {
        collector.on(&numbered("1", r#"output {"content":"x"}"#));
        collector.on(&numbered("2", BASH));
        // Some servers give all events of a message one id.
        collector.on(&numbered("2", r#"output {"content":"y"}"#));
        // Without ids of frames the call's own counts; another call may bear it.
        collector.on(&frame(BASH));
        collector.on(&frame(&BASH.replace("{\"q\":1}", "2")));
    }
    let collected = collector.collected();
    assert_eq!(collected.output, "xy");
    let inputs: Vec<_> =
        collected.metadata.tool_calls.iter().map(|call| call.input.get()).collect();
    assert_eq!(inputs, [r#"{"q":1}"#, "2"]);
}

#[test]
fn s2_only_the_turn_s_own_events_count() {
    let mut collector = Collector::new();
    collector.begin(Some("m2".into()));
    for (line, expect) in [
        (r#"output {"content":"old","messageId":"m1"}"#, TurnProgress::Open),
        (r#"complete {"messageId":"m1"}"#, TurnProgress::Open),
        (r#"complete {}"#, TurnProgress::Open),
        (r#"output {"content":"ok","messageId":"m2"}"#, TurnProgress::Open),
        (r#"complete {"messageId":"m2"}"#, TurnProgress::Complete),
    ] {
        assert_eq!(collector.on(&frame(line)), expect, "{line}");
    }
    assert_eq!(collector.collected().output, "ok");
}

#[test]
fn s2_what_is_malformed_is_left_out() {
    check(
        &[
            r#"tool_use {"name":"","input":1}"#,
            r#"tool_use {"input":1}"#,
            r#"tool_use {broken"#,
            r#"output ["content"]"#,
            concat!(
                r#"tool_use {"name":"x","toolCallId":5,"isError":"yes","result_summary":{"#,
                r#""event_ids":["1",2,null],"snippets":[{"id":"5","text":"a"},{"id":6,"text":"ok"},"#,
                r#"{"id":7}],"error":"E","more":1}}"#
            ),
            r#"tool_use {"name":"y","isError":true,"result_summary":{"event_ids":[]}}"#,
        ],
        TurnProgress::Open,
        json!({"output": "", "metadata": {"toolCalls": [
            {"name": "x", "input": null, "result_summary":
                {"event_ids": [2], "snippets": [{"id": 6, "text": "ok"}], "error": "E"}},
            {"name": "y", "input": null, "isError": true},
        ]}}),
    );
}

#[test]
fn what_is_kept_has_a_limit() {
    let limits = RetainedLimits { bytes: ByteSize::bytes(64), calls: 2 };
    let frame = |name: &str, data: String| SseFrame { id: None, name: name.into(), data };
    let output = |n: usize| frame("output", format!(r#"{{"content":"{}"}}"#, "x".repeat(n)));
    let replace = |n: usize| {
        frame("output", format!(r#"{{"type":"replace","content":"{}"}}"#, "x".repeat(n)))
    };
    let complete = |n: usize| frame("complete", format!(r#"{{"text":"{}"}}"#, "x".repeat(n)));
    let call = |n: usize| frame("tool_use", format!(r#"{{"name":"{}"}}"#, "x".repeat(n)));
    let longer =
        Some("the answer and the calls are more than 64B; raise the limit with `--max-output`");
    let more = Some("the stream has more than 2 calls; raise the limit with `--max-calls`");
    for (frames, expect, kept) in [
        (vec![output(60), output(4)], None, 64),
        (vec![output(60), output(5)], longer, 60),
        (vec![output(60), replace(64), output(1)], longer, 64),
        (vec![output(60), replace(65)], longer, 60),
        (vec![output(1), complete(65)], longer, 1),
        (vec![call(20), output(33)], None, 33),
        (vec![call(20), output(34)], longer, 0),
        (vec![output(33), call(21)], longer, 33),
        (vec![call(1), call(1), call(1)], more, 0),
    ] {
        let mut collector = Collector::within(limits);
        let progress: Vec<TurnProgress> = frames.iter().map(|frame| collector.on(frame)).collect();
        let collected = collector.collected();
        assert_eq!(progress.contains(&TurnProgress::Failed), expect.is_some(), "{frames:?}");
        let error = collected.error.unwrap_or_default();
        assert!(error.starts_with(expect.unwrap_or_default()), "{error}");
        assert_eq!(collected.output.len(), kept, "{frames:?}");
        assert!(collected.metadata.tool_calls.len() <= 2);
    }
}
