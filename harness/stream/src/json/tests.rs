use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;

/// The reader accepts what `serde_json` accepts, with the same text.
fn check(json: &str) -> Result<(), TestCaseError> {
    let expect = serde_json::from_str::<&RawValue>(json).ok().map(RawValue::get);
    prop_assert_eq!(whole(json).ok().map(RawJson::get), expect, "of {:?}", json);
    prop_assert_eq!(walked(json).ok(), expect, "walked, of {:?}", json);
    let found = fields(json, &NAMES).ok().map(|found| found.map(|raw| raw.map(RawJson::get)));
    prop_assert_eq!(found, by_serde(json), "fields of {:?}", json);
    let list = serde_json::from_str::<Vec<&RawValue>>(json).ok();
    let list = list.map(|list| list.into_iter().map(RawValue::get).collect::<Vec<_>>());
    let found = elements(json).map(|list| list.into_iter().map(RawJson::get).collect());
    prop_assert_eq!(found, list, "elements of {:?}", json);
    Ok(())
}

const NAMES: [&str; 3] = ["a", "text", "\u{e9}\n"];

/// The fields of an object, sliced by `serde_json`.
fn by_serde(json: &str) -> Option<[Option<&str>; 3]> {
    struct MemberPairs<'a>(Vec<(&'a RawValue, &'a RawValue)>);
    impl<'de: 'a, 'a> serde::Deserialize<'de> for MemberPairs<'a> {
        fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
            struct AllMembers<'a>(std::marker::PhantomData<&'a ()>);
            impl<'de: 'a, 'a> serde::de::Visitor<'de> for AllMembers<'a> {
                type Value = MemberPairs<'a>;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<MemberPairs<'a>, A::Error> {
                    let mut all = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        all.push(member);
                    }
                    Ok(MemberPairs(all))
                }
            }
            reader.deserialize_map(AllMembers(std::marker::PhantomData))
        }
    }
    let MemberPairs(all) = serde_json::from_str(json).ok()?;
    Some(NAMES.map(|name| {
        let last = all.iter().rfind(|(key, _)| unescape(quoted(key.get())) == name)?;
        Some(last.1.get()).filter(|raw| *raw != "null")
    }))
}

/// Reads the text level by level through the callbacks, 20 levels deep.
fn walked(json: &str) -> JsonResult<&str> {
    fn level<'a>(scan: &mut JsonCursor<'a>, depth: usize) -> JsonResult<RawJson<'a>> {
        match scan.ahead() {
            _ if depth == 20 => scan.value(),
            b'{' => scan.object(&mut |_, scan| level(scan, depth + 1).map(drop)),
            _ => scan.array(&mut |scan| level(scan, depth + 1).map(drop)),
        }
    }
    let mut scan = JsonCursor::new(json);
    let raw = level(&mut scan, 0)?;
    scan.end()?;
    Ok(raw.get())
}

#[test]
pub(crate) fn odd_and_malformed_texts_are_accepted_as_by_serde_json() {
    let long = "x".repeat(200);
    let texts = [
        "",
        " ",
        "nul",
        "null",
        "nulll",
        "true ",
        "\ttrue\r\n",
        "truefalse",
        "false",
        "fals",
        "False",
        "0",
        "-0",
        "-",
        "00",
        "01",
        "1.",
        ".5",
        "1.5",
        "1.e1",
        "1e",
        "1e+",
        "1E-05",
        "1e999",
        "+1",
        "- 1",
        "123456789012345678901234567890",
        "0x10",
        "1_0",
        "NaN",
        "Infinity",
        "\u{feff}1",
        "1\0",
        "\u{a0}1",
        r#""""#,
        r#"""#,
        r#"""""#,
        "\"a\tb\"",
        "\"\u{7f}\"",
        "\"a\nb\"",
        "\"\0\"",
        "\"é😀\"",
        "\u{c}1",
        r#""\"\\\/\b\f\n\r\t""#,
        r#""\a""#,
        r#""\""#,
        r#""\\""#,
        r#""\\\""#,
        r#""\u""#,
        r#""\u12""#,
        r#""\u12g4""#,
        r#""\uD83D""#,
        r#""\ud83d\ude00""#,
        r#""\udc00\ud800""#,
        r#""\u+123""#,
        "'a'",
        "[]",
        "[ ]",
        "[",
        "]",
        "[,]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,,2]",
        "[1}",
        "[[]",
        "[[]]]",
        "[1 , 2 ]",
        "{}",
        "{ }",
        "{",
        "}",
        "{,}",
        "{]",
        "[}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{"a":1]"#,
        r#"{"a" : 1 , "text":null}"#,
        r#"{"a":1 "text":2}"#,
        r#"{a:1}"#,
        r#"{1:2}"#,
        r#"{"a",1}"#,
        r#"{"a"::1}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":null}"#,
        r#"{"\u00e9\n":[{}]}"#,
        "{\"é\n\":1}",
        r#"{"\ud800":{"a":[1,{"a":2}]},"a":{"text":"}"}}"#,
        r#"[{"a":[]},{"a":{}}]"#,
        r#"{"":""}"#,
        r#"{"a":"x"},"#,
        r#"{"a":"x"} {}"#,
        "/*c*/1",
        "1//c",
        r#"{"a":tru}"#,
        r#"{"a":"x}"#,
        r#"{"text":"#,
    ]; // each also behind and before a long string, which moves it over the blocks
    for text in texts {
        check(text).unwrap();
        for at in (0..140).step_by(3) {
            let long = &long[..at];
            check(&format!("[\"{long}\",{text}")).unwrap();
            check(&format!("[\"{long}\",{text}]")).unwrap();
            check(&format!("{{\"{long}\":\"{long}\",\"a\":{text}}}")).unwrap();
            check(&format!("{text}{}", " ".repeat(at))).unwrap();
        }
    }
}

#[test]
fn an_error_names_the_place_and_what_json_allows_there() {
    for (json, expect) in [
        ("", "a value at byte 0"),
        ("[1,]", "a value at byte 3"),
        ("{\"a\":tru}", "a value at byte 5"),
        ("{\"a\":1,}", "a key in quotes at byte 7"),
        ("{1:2}", "a key in quotes at byte 1"),
        ("{\"a\" 1}", "a colon at byte 5"),
        ("[1 2]", "a comma or a closing bracket at byte 3"),
        ("[[1}]", "a comma or a closing bracket at byte 3"),
        ("\"a\\q\"", "a valid escape at byte 2"),
        ("\"a\nb\"", "an escape instead of a raw control character at byte 2"),
        ("\"abc", "a closing quote at byte 4"),
        ("{} x", "the end of the text at byte 3"),
    ] {
        let error = whole(json).unwrap_err().to_string();
        assert_eq!(error, format!("The text is not one JSON value: expected {expect}"), "{json}");
    }
    assert_eq!(fields("[1]", &["a"]), Err(Malformed::at(0, Expected::Object)));
}

#[test]
pub(crate) fn a_million_nested_arrays_are_one_value() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let mut deep = open.repeat(1_000_000) + "0";
        assert!(whole(&deep).is_err());
        deep += &close.repeat(1_000_000);
        assert_eq!(whole(&deep).map(RawJson::get), Ok(&*deep));
        assert!(whole(&deep[..deep.len() - 1]).is_err());
        deep.pop();
        deep.push(if close.ends_with(']') { '}' } else { ']' });
        assert!(whole(&deep).is_err());
    }
}

#[test]
fn every_kind_of_level_is_closed_by_its_own_bracket() {
    for depth in [62, 63, 64, 65, 127, 128, 129, 200] {
        for mark in 0..depth {
            let object = |level: usize| level.is_multiple_of(3) || level == mark;
            let mut json = String::new();
            (0..depth).for_each(|level| json += if object(level) { "{\"a\":" } else { "[" });
            json += "1";
            (0..depth).rev().for_each(|level| json += if object(level) { "}" } else { "]" });
            check(&json).unwrap();
            let wrong = json.len() - 1 - mark;
            let bracket = if object(mark) { "]" } else { "}" };
            json.replace_range(wrong..=wrong, bracket);
            assert!(whole(&json).is_err(), "{json}");
        }
    }
}

#[test]
pub(crate) fn fields_take_the_last_of_equal_keys_and_read_escaped_ones() {
    let json = r#"{"a":1,"\u0062":[{}],"c":null,"a":2,"\ud800":0}"#;
    let found = fields(json, &["a", "b", "c", "d"]).unwrap();
    let printed = found.map(|f| f.map_or("-", RawJson::get));
    assert_eq!(printed, ["2", "[{}]", "-", "-"]);
    assert!(fields("[1]", &["a"]).is_err() && fields("{} x", &["a"]).is_err());
}

#[test]
fn only_blanks_between_tokens_make_no_other_text() {
    for (a, b, same) in [
        ("{\"a\": [1,\n2]}", "{ \"a\":\t[1 ,2]\r}", true),
        (r#"["a b"]"#, r#"["ab"]"#, false),
        (r#"["\" "]"#, r#"["\""]"#, false),
        (r#"["\\" ,"a b"]"#, r#"["\\","a b"]"#, true),
        (r#"["\\" ,"a b"]"#, r#"["\\","ab"]"#, false),
        ("[1]", "[2]", false),
    ] {
        assert_eq!(same_text(a, b), same, "{a} and {b}");
    }
}

#[test]
pub(crate) fn a_pair_split_over_two_pieces_is_one_character() {
    let (mut carry, mut out) = (SurrogateCarry::default(), String::new());
    for piece in [r"a\ud83d", "", r"\ude00b", r"\ud83d", r"c\n\ud83d"] {
        carry.append(piece, &mut out);
    }
    carry.close(&mut out);
    assert_eq!(out, "a😀b\u{fffd}c\n\u{fffd}");
}

fn document() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?[0-9]{1,5}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?",
        string_literal(),
    ];
    leaf.prop_recursive(6, 40, 6, |inner| {
        let member = (string_literal(), blank(), inner.clone());
        let member = member.prop_map(|(key, blank, value)| format!("{key}{blank}:{value}"));
        prop_oneof![
            (prop::collection::vec(inner, 0..6), blank())
                .prop_map(|(list, blank)| format!("[{blank}{}]", list.join(&format!(",{blank}")))),
            (prop::collection::vec(member, 0..6), blank()).prop_map(|(list, blank)| format!(
                "{{{blank}{}}}",
                list.join(&format!("{blank},"))
            )),
        ]
    })
}

fn string_literal() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[a-z .,:é😀]{0,12}",
        2 => "[a-z]{40,90}",
        2 => prop::sample::select(vec!["\\n", "\\\"", "\\\\", "\\u00e9", "\\ud83d", "\\ude00"])
            .prop_map(str::to_owned),
    ];
    let pieces = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    let name = prop::sample::select(vec!["a", "text", "\u{e9}\\n", "\\u0061", "t\\u0065xt"]);
    prop_oneof![pieces, name.prop_map(str::to_owned)].prop_map(|inside| format!("\"{inside}\""))
}

fn blank() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 1 => "[ \t\r\n]{1,70}"]
}

/// Positions in the document, and the change to the character there.
type TextEdits = Vec<(prop::sample::Index, u8, char)>;

fn edit(document: &str, edits: &TextEdits) -> String {
    let mut chars: Vec<char> = document.chars().collect();
    for (at, how, other) in edits {
        if chars.is_empty() {
            break;
        }
        let at = at.index(chars.len());
        match how {
            0 => drop(chars.remove(at)),
            1 => chars.insert(at, chars[at]),
            2 => chars.insert(at, *other),
            3 => chars.truncate(at),
            _ => chars[at] = *other,
        }
    }
    chars.into_iter().collect()
}

#[test]
pub(crate) fn edited_documents_are_accepted_as_by_serde_json() {
    proptest!(ProptestConfig::with_cases(2_000), |(
        document in document(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..6_u8, prop::sample::select("\"\\{}[]:,0-.eEtnu \n\u{1}é".chars().collect::<Vec<_>>())),
            0..4,
        ),
    )| {
        check(&document)?;
        check(&edit(&document, &edits))?;
    });
}

#[test]
fn strings_are_unescaped_as_serde_json_does_however_they_are_cut() {
    proptest!(ProptestConfig::with_cases(2_000), |(
        inside in prop::collection::vec(
            prop::sample::select(vec!["a", "é😀", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d\\ude00", "plain text "]),
            0..20,
        ),
        cut in any::<prop::sample::Index>(),
    )| {
        let literal = format!("\"{}\"", inside.concat());
        let expect: String = serde_json::from_str(&literal).unwrap();
        prop_assert_eq!(unescape(quoted(&literal)), &*expect);
        let (before, after) = inside.split_at(cut.index(inside.len() + 1));
        let (mut carry, mut text) = (SurrogateCarry::default(), String::new());
        carry.append(before.concat().as_str(), &mut text);
        carry.append(after.concat().as_str(), &mut text);
        carry.close(&mut text);
        prop_assert_eq!(text, expect);
    });
}
