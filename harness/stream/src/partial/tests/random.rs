//! U2 on random input: any object, cut anywhere, whole or garbled.

use proptest::prelude::*;

use super::*;

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof!["[a-z \\n\"\\\\{}\\[\\]:,]{0,40}", "\\PC{0,20}", any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-20_i64..20).prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map("[a-c\"\\\\é]{0,3}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A random object as JSON text, plain, spread over lines, or in ASCII.
fn any_text() -> impl Strategy<Value = String> {
    let members = prop::collection::hash_map("[a-d\"\\\\\\n😀]{0,4}", any_value(), 0..6);
    (members, 0..3).prop_map(|(members, style)| {
        let object = Value::Object(members.into_iter().collect());
        match style {
            0 => object.to_string(),
            1 => format!("\n{object:#}\n"),
            _ => object.to_string().chars().fold(String::new(), |mut text, char| {
                if char.is_ascii() {
                    text.push(char);
                } else {
                    let units = char.encode_utf16(&mut [0; 2]).to_vec();
                    text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
                }
                text
            }),
        }
    })
}

fn cycle(sizes: Vec<usize>) -> impl FnMut() -> usize {
    let mut sizes = sizes.into_iter().cycle();
    move || sizes.next().unwrap_or(1)
}

// A case that fails also belongs in the tables.

#[test]
pub(crate) fn u2_updates_only_grow_and_end_as_the_strict_parse() {
    proptest!(|(
        text in any_text(),
        sizes in prop::collection::vec(1_usize..40, 1..20),
    )| {
        let strict: Value = serde_json::from_str(&text).unwrap();
        let mut partial = PartialInput::default();
        let mut merged = Map::new();
        for text in beginnings(&text, cycle(sizes)) {
            for (key, value) in partial.update(text).unwrap_or_default().to_map() {
                prop_assert!(grows(&value, &strict[&key]), "{value} of {text}");
                if let Some(earlier) = merged.insert(key, value.clone()) {
                    prop_assert!(earlier != value && grows(&earlier, &value), "{value} of {text}");
                }
            }
        }
        prop_assert_eq!(Value::Object(merged), strict);
    });
}

#[test]
pub(crate) fn u2_no_cut_hides_a_field_of_garbled_text() {
    proptest!(|(
        text in any_text(),
        garble in "[\\PC\\x00{}\\[\\]:,\"\\\\0-9 -]{1,3}",
        at in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(1_usize..40, 1..20),
    )| {
        let mut garbled: Vec<char> = text.chars().collect();
        let at = at.index(garbled.len());
        garbled.splice(at..at, garble.chars());
        let garbled = String::from_iter(garbled);
        let whole = run(&garbled, || usize::MAX).emitted;
        let emitted = run(&garbled, cycle(sizes)).emitted;
        prop_assert!(whole.keys().all(|key| emitted.contains_key(key)), "of {garbled}");
        if let Ok(strict) = serde_json::from_str::<Value>(&garbled) {
            prop_assert_eq!(&Value::Object(whole), &strict);
            prop_assert_eq!(&Value::Object(emitted), &strict);
        }
    });
}
