//! B2 on random input: the secrets of the table's examples with other letters and digits, planted
//! in texts and JSON and cut anywhere.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::cases::{RuleCases, examples};
use super::*;
use crate::display;

/// Characters of a secret in a row of which one may see no more than the mask's own first six.
const SEEN: usize = 7;

/// A text with a secret in it.
#[derive(Debug, Clone)]
struct Planted {
    rule: String,
    flags: Flags,
    text: String,
    /// The part that must not be seen.
    secret: String,
}

/// The flags of a rule for texts that were cut and for texts that still grow.
#[derive(Debug, Clone, Copy)]
struct Flags {
    /// Set if the rule needs the whole secret or the text behind it, so that it may miss a text that was
    /// cut. In open text it is held back all the same, unless the rule is `complete_only`.
    late: bool,
    /// Set if the beginning of the secret is shown before it is held back.
    prefix_first: bool,
    /// Set if text that still grows is never held back.
    complete_only: bool,
}

impl Flags {
    fn of(rule: &RuleCases) -> Self {
        let RuleCases { late, prefix_first, complete_only, .. } = *rule;
        Self { late: late || complete_only, prefix_first, complete_only }
    }

    /// Returns whether a text may have shown more before than it does later: where the two conflict,
    /// secrecy wins.
    fn may_shrink(self) -> bool {
        self.prefix_first || self.complete_only
    }
}

impl Planted {
    fn wrapped(self, before: &str, behind: &str) -> Self {
        Self { text: format!("{before}{}{behind}", self.text), ..self }
    }

    /// The first run of the secret that can be seen in `shown`.
    fn seen_in(&self, shown: &str) -> Option<String> {
        let chars: Vec<char> = self.secret.chars().collect();
        chars.windows(SEEN).map(String::from_iter).find(|run| shown.contains(run.as_str()))
    }

    fn check(&self, way: &str, shown: &str) -> Result<(), TestCaseError> {
        let seen = self.seen_in(shown);
        prop_assert!(
            seen.is_none(),
            "{} by {way}: {seen:?} of {} in {shown}",
            self.rule,
            self.text
        );
        Ok(())
    }

    /// The text up to each of its characters.
    fn beginnings(&self) -> impl Iterator<Item = &str> {
        let ends = self.text.char_indices().map(|(at, _)| at).skip(1);
        ends.chain([self.text.len()]).map(|end| &self.text[..end])
    }
}

/// `secret` with each letter and digit replaced by one of its kind.
fn vary(secret: &str, mut dice: u64) -> String {
    let mut roll = |first: char, count: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let step = u8::try_from((dice >> 33) % count).unwrap();
        char::from(first as u8 + step)
    };
    // The digits of a hexadecimal number stay such digits.
    let letters = if secret.contains(|c: char| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit()) {
        26
    } else {
        6
    };
    let vary = |c: char| match c {
        'a'..='z' => roll('a', letters),
        'A'..='Z' => roll('A', 26),
        '0'..='9' => roll('0', 10),
        other => other,
    };
    secret.chars().map(vary).collect()
}

/// A rule and its flags; and what stands before, in and behind a secret.
type Sample = ((String, Flags), String, String, String);

/// A hit of any rule, its secret varied, in the middle of other text.
fn planted_secret() -> impl Strategy<Value = Planted> {
    let hits: Vec<Sample> = examples()
        .iter()
        // Bulk is not secret.
        .filter(|rule| rule.id != "data-url")
        .flat_map(|rule| {
            rule.hit.iter().map(|hit| ((rule.id.clone(), Flags::of(rule)), hit.parts()))
        })
        .map(|(id, (before, secret, behind))| (id, before.into(), secret.into(), behind.into()))
        .collect();
    let before = prop::sample::select(vec![
        "",
        "\n",
        "  ",
        "see below, 5 of 6:\n",
        "ключ 🔑\n",
        "\"",
        "(",
        "`",
        "'",
        "a: ",
        "[",
        "x=",
        "x = '",
        "echo \"",
        ": ",
    ]);
    let behind = prop::sample::select(vec![
        "",
        "\n",
        "\nand on 1:2",
        "\n\"x\": 'y'\n",
        "\n🔑",
        "\"",
        ")",
        "`",
        "'",
        " and",
        ", b",
        ".",
        "]",
        ";",
        "; ls",
    ]);
    (prop::sample::select(hits), any::<u64>(), before, behind).prop_map(
        |(((rule, flags), before, secret, behind), dice, outer_before, outer_behind)| {
            let secret = vary(&secret, dice);
            let text = format!("{before}{secret}{behind}");
            Planted { rule, flags, text, secret }.wrapped(outer_before, outer_behind)
        },
    )
}

/// A value with `text` at its end, under ordinary names.
fn nest(text: &str, shape: u8) -> Value {
    match shape % 6 {
        0 => json!(text),
        1 => json!({"timeout": 5, "command": text}),
        2 => json!(["plain", ["b"], {"a": [{"b": text}]}]),
        3 => json!({"n": null, "content": [{"type": "text", "text": text}]}),
        4 => json!({"edits": [{"old_string": "x", "new_string": text}]}),
        _ => json!({"raw": json!({"inner": text}).to_string()}),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join("\0"),
        Value::Object(object) => object.values().map(shown).collect::<Vec<_>>().join("\0"),
        other => other.to_string(),
    }
}

#[test]
pub(crate) fn b2_no_planted_secret_survives() {
    proptest!(ProptestConfig::with_cases(300), |(planted in planted_secret(), shape in any::<u8>())| {
        planted.check("redact_text", &redact_text(&planted.text))?;
        let value = nest(&planted.text, shape);
        planted.check("sanitise_args", &shown(&sanitise_args(&value)))?;
        planted.check("sanitise_result", &shown(&sanitise_result(&value)))?;
        let fields = json!({"a": value, "b": value});
        let open = sanitise_open_args(fields.as_object().unwrap(), Some("b"));
        planted.check("sanitise_open_args", &shown(&Value::Object(open)))?;
    });
}

#[test]
pub(crate) fn b2_no_planted_secret_survives_a_cut() {
    proptest!(ProptestConfig::with_cases(300), |(planted in planted_secret(), shape in any::<u8>())| {
        for text in planted.beginnings() {
            let is_whole = text.len() == planted.text.len();
            if is_whole || !planted.flags.complete_only {
                planted.check("redact_open", &redact_open(text))?;
                let fields = json!({"a": nest(text, shape % 5)});
                let open = sanitise_open_args(fields.as_object().unwrap(), Some("a"));
                planted.check("sanitise_open_args", &shown(&Value::Object(open)))?;
            }
            if is_whole || !planted.flags.late {
                planted.check("redact_text", &redact_text(text))?;
                planted.check("sanitise_args", &shown(&sanitise_args(&nest(text, shape % 5))))?;
            }
        }
    });
}

/// A secret can't be put together from one update after another.
#[test]
pub(crate) fn b2_open_text_only_grows() {
    proptest!(ProptestConfig::with_cases(300), |(planted in planted_secret())| {
        let mut before = String::new();
        for text in planted.beginnings() {
            let shown = redact_open(text);
            prop_assert!(planted.flags.may_shrink() || shown.starts_with(&before), "{before:?} became {shown:?} at {text:?}");
            before = shown.into_owned();
        }
        let whole = redact_text(&planted.text);
        prop_assert!(planted.flags.may_shrink() || whole.starts_with(&before), "{before:?} became {whole:?}");
    });
}

#[test]
pub(crate) fn b2_sanitising_twice_is_sanitising_once() {
    proptest!(ProptestConfig::with_cases(300), |(
        first in planted_secret(), second in planted_secret(), shape in any::<u8>(),
        noise in "[a-c=:\"'\\\\ \\-{}*…$&?/@\n]{0,40}", pad in 7_900_usize..8_020,
    )| {
        let long = format!("{}{}", "é ".repeat(pad / 2), second.text);
        for text in [format!("{}{noise}{}", first.text, second.text), noise, long] {
            let once = sanitise_args(&nest(&text, shape));
            prop_assert_eq!(&sanitise_args(&once), &once);
        }
    });
}

#[test]
pub(crate) fn b2_tool_lines_contain_no_planted_secret() {
    proptest!(ProptestConfig::with_cases(300), |(planted in planted_secret())| {
        for name in ["Bash", "Read", "Write", "Grep", "WebFetch", "Task", "mcp__server__tool", "Any"] {
            for key in ["command", "file_path", "url", "description", "pattern", "query", "name"] {
                planted.check(name, &display::title(name, &json!({key: planted.text})))?;
                planted.check(name, &display::title(name, &json!({key: [planted.text]})))?;
            }
        }
    });
}
