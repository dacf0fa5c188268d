//! X1: what the lines of a transcript are taken for.

use super::*;

fn check(text: &[u8], expect: &Value) {
    let verdict = resumability(&transcript::read(text).unwrap());
    let mut lines = serde_json::to_value(&verdict.lines).unwrap();
    let is_zero = |value: &Value| *value == json!(0) || *value == json!({});
    lines.as_object_mut().unwrap().retain(|_, value| !is_zero(value));
    assert_eq!(&lines, expect, "{}", String::from_utf8_lossy(text));
}

#[test]
pub(crate) fn x1_every_line_is_counted_as_what_it_is() {
    check(b"", &json!({}));
    check(b"\n \r\n", &json!({"whole": 2}));
    check(b"no JSON\n[1]\n\"x\"\n{\"a\":1} {}\n", &json!({"whole": 4, "unusable": 4}));
    let other = r#"{"type":"queue-operation"}
{"type":"attachment","uuid":"a","parentUuid":null}
{"type":"queue-operation"}
{}
{"type":"user","message":{"role":"assistant"}}
"#;
    let types = json!({"": 1, "attachment": 1, "queue-operation": 2, "user": 1});
    check(other.as_bytes(), &json!({"whole": 5, "other": types}));
    let mut sidechain = said("", "", "m", None, text("x"));
    sidechain["isSidechain"] = true.into();
    let text = format!("{}\r\n{sidechain}\n", prompt("", "", "hi"));
    check(text.as_bytes(), &json!({"whole": 2, "conversation": 1, "sidechain": 1}));
}

#[test]
fn x1_a_last_line_counts_once_it_is_whole() {
    let line = prompt("", "", "hi").to_string();
    check(line.as_bytes(), &json!({"whole": 1, "conversation": 1}));
    let half = &line[..line.len() - 1];
    check(half.as_bytes(), &json!({"unfinished_bytes": half.len()}));
}

#[test]
fn x1_what_serde_refuses_of_json_is_read() {
    let lone = r#"{"type":"user","message":{"role":"user","content":"\ud83d"}}"#;
    check(format!("{lone}\n").as_bytes(), &json!({"whole": 1, "conversation": 1}));
    let deep = format!(
        r#"{{"type":"user","message":{{"role":"user","content":{}{}}}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    check(format!("{deep}\n").as_bytes(), &json!({"whole": 1, "conversation": 1}));
    let bytes = b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"\xff\"}}\n";
    check(bytes, &json!({"whole": 1, "conversation": 1}));
}

/// However long a session is, what is kept of its texts is not.
#[test]
fn x1_memory_does_not_grow_with_what_was_said() {
    let long = "word ".repeat(20_000);
    let lines: Vec<Value> = (0..100).map(|_| prompt("", "", &long)).collect();
    let transcript = parse(&lines);
    let kept: usize = transcript
        .nodes
        .iter()
        .filter_map(|node| node.content.as_ref())
        .flat_map(|said| said.texts.iter().map(String::len))
        .sum();
    assert!((900_000..=1 << 20).contains(&kept), "{kept}");
}
