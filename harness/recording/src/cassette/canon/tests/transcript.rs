use crate::cassette::canon::*;

#[test]
fn a_transcript_keeps_the_conversation_only() {
    for (line, expect) in [
        (r#"{"type":"user","message":{"content":"hi"}}"#, None),
        (
            r#"{"a":1,"type":"assistant","gitBranch":"main","x":{"tools":[1]}}"#,
            Some(r#"{"a":1,"type":"assistant","gitBranch":"","x":{"tools":[1]}}"#),
        ),
        (
            r#"{"type":"summary","systemPrompt":["p"],"tools":{"a":1},"shell":null}"#,
            Some(r#"{"type":"summary","systemPrompt":[],"tools":{},"shell":null}"#),
        ),
        (r#"{"type":"system","subtype":"compact_boundary"}"#, None),
        (r#"{"type":"system","subtype":"turn_duration"}"#, Some("")),
        (r#"{"type":"attachment","attachment":{"type":"user"}}"#, Some("")),
        (r#"{"type":"x","subtype":"compact_boundary"}"#, Some("")),
        (r#"{"type":"queue-operation"}"#, Some("")),
        (r#"{"type":"api-request-shape"}"#, Some("")),
        ("user", Some("")),
    ] {
        let kept = conversation_lines(format!("{line}\n").as_bytes());
        let kept = String::from_utf8_lossy(&kept).into_owned();
        assert_eq!(kept.trim_end_matches('\n'), expect.unwrap_or(line));
    }
}
