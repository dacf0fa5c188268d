//! U2: the fields that are emitted for a tool's input under every cut of its text, and the cost.

pub(crate) mod random;

use serde_json::{Map, json};

use super::*;

/// The emitted parts of a text that came in pieces.
struct InputRun {
    emitted: Map<String, Value>,
    updates: usize,
    /// Bytes that were parsed: the whole text once, and an open value each time that it was due.
    parsed: usize,
}

/// The beginnings of `text` in pieces of these sizes, each extended to the next character.
fn beginnings(text: &str, mut sizes: impl FnMut() -> usize) -> Vec<&str> {
    let mut list = vec![""];
    let mut end = 0;
    while end < text.len() {
        end = text.len().min(end.saturating_add(sizes().max(1)));
        while !text.is_char_boundary(end) {
            end += 1;
        }
        list.push(&text[..end]);
    }
    list
}

fn run(text: &str, sizes: impl FnMut() -> usize) -> InputRun {
    let mut partial = PartialInput::default();
    let mut run = InputRun { emitted: Map::new(), updates: 0, parsed: text.len() };
    // Changes each time that the open value is parsed.
    let due = |partial: &PartialInput| {
        let member = partial.member.as_ref()?;
        (member.next_size > FIRST).then_some((member.key.start, member.next_size))
    };
    for text in beginnings(text, sizes) {
        let before = due(&partial);
        let update = partial.update(text);
        if due(&partial).is_some_and(|after| before != Some(after)) {
            run.parsed += partial.scanner.open().map_or(0, |range| range.len());
        }
        let Some(update) = update else { continue };
        assert!(!update.is_empty(), "an empty update of {text:?}");
        run.updates += 1;
        for (key, value) in update.to_map() {
            let earlier = run.emitted.insert(key, value.clone());
            assert_ne!(earlier.as_ref(), Some(&value), "emitted twice of {text:?}");
        }
    }
    run
}

/// Returns whether `late` equals `early` or continues it.
fn grows(early: &Value, late: &Value) -> bool {
    match (early, late) {
        (Value::String(early), Value::String(late)) => late.starts_with(early.as_str()),
        (Value::Array(early), Value::Array(late)) => {
            early.iter().enumerate().all(|(at, item)| late.get(at).is_some_and(|l| grows(item, l)))
        }
        (Value::Object(early), Value::Object(late)) => {
            early.iter().all(|(key, item)| late.get(key).is_some_and(|late| grows(item, late)))
        }
        _ => early == late,
    }
}

/// In one piece, `text` gives `whole`; in single bytes, `bytewise`; in other pieces, anything on
/// the way to one of the two.
fn check_pieces(text: &str, whole: &str, bytewise: &str) {
    let emitted = |size| Value::Object(run(text, || size).emitted);
    assert_eq!(emitted(usize::MAX).to_string(), whole, "{text:?} in one piece");
    assert_eq!(emitted(1).to_string(), bytewise, "{text:?} byte by byte");
    let ends = [whole, bytewise].map(|json| serde_json::from_str(json).unwrap());
    for size in 2..text.len() {
        let emitted = emitted(size);
        let on_the_way = ends.iter().any(|end| grows(&emitted, end));
        assert!(on_the_way, "{text:?} in pieces of {size} emits {emitted}");
    }
}

/// `text` gives `expect` however it is cut.
fn check(text: &str, expect: &str) {
    check_pieces(text, expect, expect);
}

#[test]
pub(crate) fn u2_only_an_object_has_fields() {
    for text in [
        "",
        " \n\t\r",
        "\u{a0}",
        "{",
        "{}",
        " {} ",
        "[",
        "[{\"a\":1}]",
        "\"a\"",
        "12",
        "true",
        "null",
        "}",
        "]",
        ",",
        "{]",
        "{,",
        "{:",
        "{{",
        "{}}",
        "{} {\"a\":1}",
        "{'a':1,",
        "{a:1,",
        "not json",
        "// c\n{\"a\":1,",
        "```json\n{\"a\":1,",
        "\u{feff}{\"a\":1}",
        "[}{\"a\":1}",
    ] {
        check(text, "{}");
    }
}

#[test]
pub(crate) fn u2_an_open_key_is_not_emitted() {
    for text in [
        r#"{""#,
        r#"{"a"#,
        r#"{"a""#,
        r#"{"a" "#,
        r#"{"a":"#,
        r#"{"a" : "#,
        r#"{"":"#,
        r#"{"k\"e"#,
        r#"{"k\"e":"#,
        r#"{"k\"#,
        r#"{"\u00"#,
        r#"{"\ud83d"#,
    ] {
        check(text, "{}");
        check(&text.replacen('{', r#"{"n":1, "#, 1), r#"{"n":1}"#);
    }
    check(r#"{"a\"\\\u0062\ud83d\ude00é":1,"#, r#"{"a\"\\b😀é":1}"#);
    check(r#"{"":{"":1},"#, r#"{"":{"":1}}"#);
    check(r#"{"\ud83d":1,"#, "{\"\u{fffd}\":1}");
}

#[test]
pub(crate) fn u2_an_open_string_is_emitted_as_far_as_it_goes() {
    check(r#"{"a":""#, "{}");
    check(r#"{"a":"h"#, r#"{"a":"h"}"#);
    check_pieces(r#"{"a":"hello"#, r#"{"a":"hello"}"#, r#"{"a":"h"}"#);
    check_pieces(r#"{"a":"hello  "#, r#"{"a":"hello  "}"#, r#"{"a":"h"}"#);
    check_pieces(r#"{"a":"}],:{["#, r#"{"a":"}],:{["}"#, r#"{"a":"}"}"#);
    check_pieces(r#"{"a":"aé😀"#, r#"{"a":"aé😀"}"#, r#"{"a":"a"}"#);
    let seventeen = r#"{"a":"0123456789abcdefg"#;
    check(seventeen, r#"{"a":"0123456789abcdefg"}"#);
    check_pieces(
        &format!("{seventeen}h"),
        r#"{"a":"0123456789abcdefgh"}"#,
        r#"{"a":"0123456789abcdefg"}"#,
    );
    check(r#"{"a":"hello""#, r#"{"a":"hello"}"#);
    check(r#"{"a":"","b":""}"#, r#"{"a":"","b":""}"#);
    check(r#"{"q":"say \"hi\"","r":"\\","#, r#"{"q":"say \"hi\"","r":"\\"}"#);
    check(r#"{"a":"x" , "b":"y"#, r#"{"a":"x","b":"y"}"#);
}

#[test]
pub(crate) fn u2_a_cut_escape_waits_until_it_is_whole() {
    for cut in [r"\", r"\u", r"\u1", r"\u12", r"\u123", r"\ud83d", r"\ud83d\", r"\ud83d\ude"] {
        check(&format!(r#"{{"a":"x{cut}"#), r#"{"a":"x"}"#);
        check(&format!(r#"{{"a":["{cut}"#), r#"{"a":[""]}"#);
    }
    for (whole, text) in
        [(r"\n", "\\n"), (r"\u1234", "ሴ"), (r"\ud83d\ude00", "😀"), (r"\\", "\\\\")]
    {
        let open = format!(r#"{{"a":"x{whole}"#);
        check_pieces(&open, &format!(r#"{{"a":"x{text}"}}"#), r#"{"a":"x"}"#);
        check(&format!("{open}\""), &format!(r#"{{"a":"x{text}"}}"#));
    }
}

#[test]
pub(crate) fn u2_a_number_or_literal_is_emitted_when_it_is_complete() {
    for (token, emitted) in [
        ("1", "1"),
        ("-12", "-12"),
        ("0", "0"),
        ("-0", "-0.0"),
        ("1.50", "1.5"),
        ("1e5", "100000.0"),
        ("true", "true"),
        ("false", "false"),
        ("null", "null"),
        ("12345678901234567890", "12345678901234567890"),
        ("1e999", "\"1e999\""),
    ] {
        for at in 1..=token.len() {
            check(&format!(r#"{{"n":{}"#, &token[..at]), "{}");
            check(&format!(r#"{{"n":[{}"#, &token[..at]), "{}");
            check(&format!(r#"{{"n":{{"m":{}"#, &token[..at]), r#"{"n":{}}"#);
        }
        for end in [" ", "\n", ",", "}"] {
            check(&format!(r#"{{"n":{token}{end}"#), &format!(r#"{{"n":{emitted}}}"#));
        }
    }
    for token in ["01", "1.", "-", "1e+", "tru", "TRUE", "NaN", "Infinity", "undefined", "+1"] {
        check(&format!(r#"{{"n":{token},"m":2}}"#), r#"{"m":2}"#);
    }
}

#[test]
pub(crate) fn u2_arrays_and_objects_are_emitted_as_far_as_they_go() {
    check(r#"{"a":["#, "{}");
    check(r#"{"a":[1"#, "{}");
    check(r#"{"a":[1,"#, r#"{"a":[1]}"#);
    check_pieces(r#"{"a":["x","#, r#"{"a":["x"]}"#, r#"{"a":[""]}"#);
    check_pieces(r#"{"a":[1,"y"#, r#"{"a":[1,"y"]}"#, r#"{"a":[1]}"#);
    check_pieces(r#"{"a":[[2,3"#, r#"{"a":[[2]]}"#, r#"{"a":[[]]}"#);
    check_pieces(r#"{"a":[ 1 ,"#, r#"{"a":[1]}"#, r#"{"a":[]}"#);
    check_pieces(r#"{"a":{"b":"x","c"#, r#"{"a":{"b":"x"}}"#, r#"{"a":{}}"#);
    check(r#"{"a":{"b":[1,{"c":null}]}"#, r#"{"a":{"b":[1,{"c":null}]}}"#);
    check(r#"{"a":[],"b":{},"#, r#"{"a":[],"b":{}}"#);
    check_pieces(
        r#"{"todos":[{"content":"a","done":true},{"content":"b","do"#,
        r#"{"todos":[{"content":"a","done":true},{"content":"b"}]}"#,
        r#"{"todos":[{"content":"a","done":true},{}]}"#,
    );
}

#[test]
pub(crate) fn u2_deep_nesting_waits_for_its_end() {
    for (open, within, close) in [("[", "[]", "]"), (r#"{"k":"#, "{}", "}")] {
        for (levels, emitted) in [(MAX_DEPTH, 1), (MAX_DEPTH + 1, 0), (50_000, 0)] {
            let (open, close) = (open.repeat(levels - 1), close.repeat(levels - 1));
            let text = format!(r#"{{"a":{open}{within}{close}"#);
            let count_of = |text| run(text, || usize::MAX).emitted.len();
            assert_eq!(count_of(&text[..text.len() - 1]), emitted, "{levels} of {within}, open");
            assert_eq!(count_of(&text), 1, "{levels} of {within}");
        }
    }
}

#[test]
pub(crate) fn u2_what_is_malformed_keeps_the_last_good() {
    let (x, none) = (r#"{"a":"x"}"#, "{}");
    for bad in ["\n", "\t", "\u{0}", r"\q", r"\u12g4"] {
        check_pieces(&format!(r#"{{"a":"x{bad} more, and some more"#), none, x);
    }
    for bad in ["\n", r"\q"] {
        check_pieces(&format!(r#"{{"a":"x{bad}","b":1}}"#), r#"{"b":1}"#, r#"{"a":"x","b":1}"#);
    }
    check_pieces(r#"{"a":"x\ud83dy"#, "{\"a\":\"x\u{fffd}y\"}", x);
    check(r#"{"\q":"x","b":[],"#, r#"{"b":[]}"#);
    check_pieces(r#"{"a":[1,,2],"b":1}"#, r#"{"b":1}"#, r#"{"a":[1],"b":1}"#);
    check(r#"{"a":"x","b":[,1],"c":{,},"d":2}"#, r#"{"a":"x","d":2}"#);
    check(r#"{"n":1},"z":1,"#, r#"{"n":1}"#);
    for broken in [
        "}",
        "]",
        " x",
        "}x",
        "}{",
        "\"b\":2,",
        ":",
        ",,",
        ",}",
        ",]",
        ",1",
        ",b",
        ",\"b\" 1",
        ",\"b\"::",
        ",\"b\":,",
        ",\"b\":}",
        ",\"b\":]",
        ",\"b\":1]",
        ",\"b\":1\"",
        ",\"b\":1:",
        ",\"b\":1[",
        ",\"b\":1{",
        ",\"b\":[}",
        ",\"b\":{]",
        ",\"b\":[},",
        ",\"b\":{],",
        ",\"b\":,,",
        ",\"b\":},",
    ] {
        check(&format!(r#"{{"a":"x"{broken}"z":1,"y":"w"}}"#), x);
    }
}

#[test]
pub(crate) fn u2_an_emitted_value_is_not_retracted_before_its_end() {
    let mut partial = PartialInput::default();
    let mut text = String::new();
    let mut step = |piece: &str, expect: Value| {
        text.push_str(piece);
        let emitted =
            partial.update(&text).map_or(Value::Null, |emitted| Value::Object(emitted.to_map()));
        assert_eq!(emitted, expect, "after {piece:?}");
    };
    step(r#"{"a":"long","#, json!({"a": "long"}));
    step(r#""a":"lo"#, Value::Null);
    step(r#"nger","#, json!({"a": "longer"}));
    step(r#""a":0,"a":"longer","#, Value::Null);
    step(r#""a":"longer still"#, Value::Null);
    step(r#"","#, json!({"a": "longer still"}));
    step(r#""b":1,"b":2,"b":"t"#, json!({"b": 2}));
    step(r#"hree","#, json!({"b": "three"}));
    for (at, long, short) in [("c", json!("long"), r#""s""#), ("d", json!([1, 2]), "[1]")] {
        step(&format!(r#""{at}":{{"x":{long},"y":1,"#), json!({at: {"x": long, "y": 1}}));
        step(&format!(r#""x":{short}, "z":"0123456789"#), Value::Null);
        step(&format!(r#"","x":{long},"a":"0123456789abcdef"#), Value::Null);
        let end = json!({at: {"x": long, "y": 1, "z": "0123456789", "a": "0123456789abcdef"}});
        step(r#""},"#, end);
    }
    step(r#""e":[12345678901234567890,"#, Value::Null);
    step(r#"1]"#, json!({"e": [12_345_678_901_234_567_890_u64, 1]}));
    step(r#","f":["x","#, json!({"f": ["x"]}));
    step(r#"-0,"0123456789abcdef","#, Value::Null);
    step(r#"1]"#, json!({"f": ["x", -0.0, "0123456789abcdef", 1]}));
    step(r#","g":["x",-0.5,"#, json!({"g": ["x", -0.5]}));
    step(
        r#""\ud83d", "0123456789abcdef"]"#,
        json!({"g": ["x", -0.5, "\u{fffd}", "0123456789abcdef"]}),
    );
    step(r#","h":[1,true,"#, json!({"h": [1, true]}));
    step(r#""0123456789abcdef","#, json!({"h": [1, true, "0123456789abcdef"]}));
    step(r#"2]"#, json!({"h": [1, true, "0123456789abcdef", 2]}));
    step(r#"} "#, Value::Null);
    step(r#"x"#, Value::Null);
}

/// Parses at most `factor` bytes for each byte of the text, in at most `updates` updates.
fn check_cost(text: &str, delta: usize, factor: usize, updates: usize) {
    let run = run(text, || delta);
    assert_eq!(Value::Object(run.emitted), serde_json::from_str::<Value>(text).unwrap());
    let (parsed, length) = (run.parsed, text.len());
    assert!(parsed <= factor * length, "{parsed} bytes parsed for {length}");
    assert!(run.updates <= updates, "{} updates", run.updates);
}

/// The input of a `Write` with about `bytes` bytes of JSON.
fn write_of(bytes: usize) -> String {
    let line = "    println!(\"{}\", größe); // 😀\n";
    let content = line.repeat(bytes / (json!(line).to_string().len() - 2));
    json!({"file_path": "/src/main.rs", "content": content}).to_string()
}

#[test]
pub(crate) fn u2_the_cost_is_linear_in_the_text() {
    check_cost(&write_of(512 << 10), 64, 8, 60);
    check_cost(&write_of(32 << 10), 12, 8, 60);
    let fields = (0..10_000).map(|at| (format!("key{at}"), json!({"at": at})));
    check_cost(&Value::Object(fields.collect()).to_string(), 12, 3, 20_000);
    let items: Vec<_> = (0..10_000).map(|at| json!({"at": at, "done": false})).collect();
    check_cost(&json!({"items": items}).to_string(), 12, 8, 60);
    check_cost(&json!({"blank": [" ".repeat(100_000)]}).to_string(), 1, 8, 60);
    check_cost(&format!("{{\"blank\":[{}]}}", " ".repeat(100_000)), 1, 8, 2);
}

#[test]
fn u2_a_key_that_comes_again_is_new_only_if_its_value_is() {
    let text = |pieces: &[&str]| {
        let (mut input, mut all, mut updates) = (PartialInput::default(), String::new(), vec![]);
        for piece in pieces {
            all.push_str(piece);
            updates.push(input.update(&all).map(|new| Value::Object(new.to_map()).to_string()));
        }
        updates
    };
    for (first, again, expect) in [
        (r#"{"k":"abc"#, r#"","k":"abc","#, None),
        (r#"{"k":"abc"#, r#"","k":"\u0061bc","#, None),
        (r#"{"k":"abc"#, r#"","k":"abd","#, Some(r#"{"k":"abd"}"#)),
        (r#"{"k":"abc"#, r#"","k":5,"#, Some(r#"{"k":5}"#)),
        (r#"{"k":[1,[2]"#, r#"],"k":[1, [2]],"#, None),
        (r#"{"k":"abc"#, r#"","k":"abc","m":"abc","#, Some(r#"{"m":"abc"}"#)),
        (r#"{"k":"abc"#, r#"","k":"abd","m":"abc","#, Some(r#"{"k":"abd","m":"abc"}"#)),
        (r#"{"k":[1,[2]"#, r#"],"k":[1,[3]],"#, Some(r#"{"k":[1,[3]]}"#)),
    ] {
        assert!(text(&[first])[0].is_some(), "{first} is emitted while it is open");
        assert_eq!(text(&[first, again])[1].as_deref(), expect, "{first}{again}");
    }
}

#[test]
fn u2_what_was_emitted_equals_a_value_or_not() {
    let text = r#""abc""#;
    let check = |emitted: &Emitted, json: &str, expect: bool| {
        assert_eq!(emitted.equals(text, json), expect, "{emitted:?} {json}");
    };
    for emitted in [Emitted::Whole(0..5), Emitted::Beginning(1..4)] {
        check(&emitted, r#""abc""#, true);
        check(&emitted, r#""\u0061bc""#, true);
        check(&emitted, r#""ab""#, false);
        check(&emitted, "5", false);
    }
    check(&Emitted::Beginning(1..3), r#""ab""#, true);
    check(&Emitted::Beginning(1..3), r#""abc""#, false);
    let list = Emitted::SoFar(json!([1, ["x"]]));
    check(&list, r#"[1, ["x"]]"#, true);
    check(&list, r#"[1, ["\u0078"]]"#, true);
    check(&list, r#"[1, ["y"]]"#, false);
}
