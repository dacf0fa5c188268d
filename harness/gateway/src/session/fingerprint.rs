//! Which settings changed when a live session is started anew ([X6](crate::rules::X6)), by name and
//! never by value: values are commands, environments and tokens.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::sanitise::redact_text;

/// The most names that are listed; of further ones only the number.
const TOLD: usize = 20;
/// Characters of a name.
const LONGEST: usize = 80;

/// The difference between two fingerprints ([X6](crate::rules::X6)). Its text is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// They are equal.
    Same,
    /// In the values of these keys, nested ones with dots: `env.PATH`.
    Keys(BTreeSet<String>),
    /// One of them can't be read.
    Unparsable(FingerprintSide),
}

/// Which of two fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FingerprintSide {
    /// That of the session that ran.
    Before,
    /// That of the session to be started.
    After,
    /// Both.
    Both,
}

/// Compares two fingerprints, each the JSON text of one object ([X6](crate::rules::X6)). A key that
/// is on one side only differs. Lists count as one value.
#[must_use]
pub fn difference(before: &str, after: &str) -> Difference {
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    match (object(before), object(after)) {
        (Some(before), Some(after)) => {
            let mut keys = BTreeSet::new();
            compare("", &before, &after, &mut keys);
            if keys.is_empty() { Difference::Same } else { Difference::Keys(keys) }
        }
        (None, Some(_)) => Difference::Unparsable(FingerprintSide::Before),
        (Some(_), None) => Difference::Unparsable(FingerprintSide::After),
        (None, None) => Difference::Unparsable(FingerprintSide::Both),
    }
}

fn compare(
    path: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    keys: &mut BTreeSet<String>,
) {
    for key in before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))) {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", name(key));
        match (before.get(key), after.get(key)) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                compare(&path, before, after, keys);
            }
            (before, after) if before == after => {}
            _ => {
                keys.insert(path);
            }
        }
    }
}

/// A key that can be printed: without secrets, quoted unless it is a plain word, and not too long.
fn name(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let redacted = redact_text(key);
    let mut short: String = redacted.chars().take(LONGEST).collect();
    if short.len() < redacted.len() {
        short.push('…');
    }
    if !key.is_empty() && key.chars().all(is_plain) { short } else { format!("{short:?}") }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str("The fingerprint is the same; nothing to restart."),
            Self::Unparsable(side) => {
                let which = match side {
                    FingerprintSide::Before => "The old fingerprint is",
                    FingerprintSide::After => "The new fingerprint is",
                    FingerprintSide::Both => "Both fingerprints are",
                };
                write!(f, "{which} no JSON object, so nobody can tell what changed.")
            }
            Self::Keys(keys) => {
                let told: Vec<&str> = keys.iter().take(TOLD).map(String::as_str).collect();
                f.write_str("The session is restarted, for these settings changed: ")?;
                f.write_str(&told.join(", "))?;
                match keys.len() - told.len() {
                    0 => f.write_str("."),
                    more => write!(f, " and {more} more."),
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(before: &str, after: &str, expect: &str) {
        assert_eq!(difference(before, after).to_string(), expect, "{before} {after}");
    }

    fn changed(names: &str) -> String {
        format!("The session is restarted, for these settings changed: {names}.")
    }

    #[test]
    pub(crate) fn x6_the_names_of_changed_settings_are_listed() {
        let same = "The fingerprint is the same; nothing to restart.";
        check(r#"{"a":1,"b":{"c":[1]}}"#, r#"{"b":{"c":[1]},"a":1}"#, same);
        check(r#"{"model":"x"}"#, r#"{"model":"y"}"#, &changed("model"));
        check(r#"{"a":1}"#, r#"{"b":1}"#, &changed("a, b"));
        check(
            r#"{"env":{"PATH":"/a","HOME":"/"},"args":["-p","x"]}"#,
            r#"{"env":{"PATH":"/b","HOME":"/"},"args":["-p","y"]}"#,
            &changed("args, env.PATH"),
        );
        check(r#"{"env":{"A":1}}"#, r#"{"env":null}"#, &changed("env"));
        check(r#"{"a.b":1,"":2}"#, r#"{"a.b":2,"":1}"#, &changed(r#""", "a.b""#));
        check(
            "{\"\u{1b}[2J\\n\":1}".replace('\u{1b}', "\\u001b").as_str(),
            "{}",
            &changed(r#""\u{1b}[2J\n""#),
        );
    }

    #[test]
    pub(crate) fn x6_a_fingerprint_that_cannot_be_read_says_so() {
        let tail = "no JSON object, so nobody can tell what changed.";
        check("sk-secret", "{}", &format!("The old fingerprint is {tail}"));
        check("{}", "[1]", &format!("The new fingerprint is {tail}"));
        check("", "{", &format!("Both fingerprints are {tail}"));
    }

    #[test]
    pub(crate) fn x6_names_are_few_short_and_without_secrets() {
        let many: Map<String, Value> = (0..25).map(|n| (format!("k{n:02}"), Value::Null)).collect();
        let told = difference(&Value::Object(many).to_string(), "{}").to_string();
        assert!(told.ends_with("k18, k19 and 5 more."), "{told}");
        let key = format!("sk-ant-api03-{}", "Ab1".repeat(30));
        let told =
            difference(&serde_json::json!({ key.as_str(): 1 }).to_string(), "{}").to_string();
        assert!(!told.contains("Ab1Ab1Ab1"), "{told}");
        let long = serde_json::json!({ "long ".repeat(100).as_str(): 1 });
        let told = difference(&long.to_string(), "{}").to_string();
        assert!(told.chars().count() < 200, "{told}");
    }

    /// Settings whose keys and values have no letter in common.
    fn settings() -> impl Strategy<Value = Value> {
        let value = "[A-Z0-9=/]{6,20}";
        let leaf = prop_oneof![
            value.prop_map(Value::from),
            prop::collection::vec(value, 0..3).prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
        })
    }

    fn values<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(items) => items.iter().for_each(|item| values(item, found)),
            Value::Object(object) => object.values().for_each(|value| values(value, found)),
            _ => {}
        }
    }

    #[test]
    pub(crate) fn x6_no_value_is_ever_shown() {
        proptest!(ProptestConfig::with_cases(500), |(
            before in settings(),
            after in settings(),
            cut in 0..40_usize,
        )| {
            let [before_text, after_text] = [before.to_string(), after.to_string()];
            let cut = before_text.get(..cut).unwrap_or(&before_text);
            let mut secrets = Vec::new();
            values(&before, &mut secrets);
            values(&after, &mut secrets);
            for told in [difference(&before_text, &after_text), difference(cut, &after_text)] {
                for secret in &secrets {
                    prop_assert!(!told.to_string().contains(secret), "{told}");
                    prop_assert!(!format!("{told:?}").contains(secret), "{told:?}");
                }
            }
            let is_same = difference(&before_text, &after_text) == Difference::Same;
            prop_assert_eq!(is_same, before == after && before.is_object());
        });
    }
}
