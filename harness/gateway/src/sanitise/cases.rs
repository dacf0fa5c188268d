//! The examples of the table: each rule's own, and those made of the vendors and programs that it
//! lists.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::table::{SOURCES, SecretRule};
use super::*;

/// A part of the table with its examples.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CasesFile {
    #[serde(rename = "names")]
    _names: Option<Value>,
    #[serde(rename = "words")]
    _words: Option<Value>,
    rule: Vec<RuleCases>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleCases {
    pub(super) id: String,
    pub(super) about: String,
    /// Set if the rule misses a secret in a text that was cut before the secret's end.
    #[serde(default)]
    pub(super) late: bool,
    /// Set if text is held back only once the prefix is whole.
    #[serde(default)]
    pub(super) prefix_first: bool,
    /// Set if text that still grows is never held back for it.
    #[serde(default)]
    pub(super) complete_only: bool,
    #[serde(rename = "how")]
    _how: Option<String>,
    #[serde(rename = "judge")]
    _judge: Option<String>,
    #[serde(rename = "least")]
    _least: Option<usize>,
    #[serde(rename = "mark")]
    _mark: Option<String>,
    pattern: String,
    #[serde(default)]
    pub(super) prefixes: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) forms: BTreeMap<String, String>,
    pub(super) hit: Vec<RuleHit>,
    pub(super) miss: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleHit {
    #[serde(rename = "in")]
    pub(super) text: String,
    pub(super) out: String,
}

impl RuleHit {
    /// Returns the text before the secret, the secret, and the text behind it.
    pub(super) fn parts(&self) -> (&str, &str, &str) {
        let (before, rest) = self.text.split_once('⟦').expect("a hit says what its secret is");
        let (secret, behind) = rest.split_once('⟧').expect("the secret ends");
        (before, secret, behind)
    }
}

pub(super) fn examples() -> Vec<RuleCases> {
    SOURCES.iter().flat_map(|part| toml::from_str::<CasesFile>(part).unwrap().rule).collect()
}

fn rule(id: &str) -> &'static SecretRule {
    table::TABLE.rules.iter().find(|rule| rule.id == id).expect("the table has it")
}

pub(super) fn is_found(id: &str, text: &str) -> bool {
    rule(id).closed.regex().is_match(text)
}

/// Each program and vendor that a rule of places lists has a hit.
#[test]
fn each_form_of_a_place_has_a_hit() {
    for rule in examples().iter().filter(|rule| !rule.pattern.contains("({forms})")) {
        let texts: Vec<String> =
            rule.hit.iter().map(|hit| hit.text.replace(['⟦', '⟧'], "")).collect();
        for (of, form) in &rule.forms {
            let form = form.replace("{b}", r"\b").replace("{n}", r"\n");
            let form = Regex::new(&form).unwrap();
            assert!(texts.iter().any(|text| form.is_match(text)), "{}: {of} has no hit", rule.id);
        }
    }
}

/// Tokens of each vendor are found, and neither a part of one nor one that is part of a word.
#[test]
fn tokens_of_each_vendor_are_found() {
    let check = |id: &str, of: &str, token: &str, shortened: &str, begins_word: bool| {
        let text = format!("see {token}, x");
        let found = find(&text);
        let found: Vec<_> = found.iter().map(|found| &text[found.bytes.clone()]).collect();
        assert_eq!(found, [token], "{id}: {of}");
        assert!(is_found(id, &text), "{id}: {of}: {text}");
        let closed = rule(id).closed.regex();
        let shortened = format!("see {shortened} x");
        assert!(closed.find(&shortened).is_none(), "{id}: {of}: {shortened}");
        let inside = format!("see word{token} x");
        let found = closed.find(&inside).is_some_and(|found| found.as_str().contains(token));
        assert!(!(found && begins_word), "{id}: {of}: {inside}");
    };
    let mut runner = TestRunner::deterministic();
    let mut sample = |pattern: &str| {
        let strategy = proptest::string::string_regex(pattern)
            .unwrap_or_else(|error| panic!("{pattern}: {error}"));
        strategy.new_tree(&mut runner).unwrap().current()
    };
    for rule in examples() {
        for (of, prefixes) in &rule.prefixes {
            for prefix in prefixes.split(' ') {
                let body = sample("[A-Za-z0-9]{12}[a-z][0-9][A-Za-z0-9]{10}");
                check(&rule.id, of, &format!("{prefix}{body}"), prefix, true);
            }
        }
        for (of, form) in rule.forms.iter().filter(|_| rule.pattern.contains("({forms})")) {
            let is_bound = format!("{}{form}", rule.pattern).contains("{b}");
            // The samples begin and end at the borders of a word.
            let form = form.replace("{b}", "").replace(r"(?-u:\b)", "");
            for _ in 0..4 {
                // Real ones have few dashes.
                let tokens = std::iter::repeat_with(|| sample(&format!("(?:{form})"))).take(32);
                let tokens = tokens.filter(|token| {
                    !token.starts_with(['-', '+', '/']) && !token.ends_with(['-', '_', '+'])
                });
                let words = |token: &String| {
                    token.chars().filter(char::is_ascii_alphanumeric).count() * 100 / token.len()
                };
                let token = tokens.max_by_key(words).expect("one of many ends in a word");
                let begun: String = token.chars().take(8).collect();
                let begins_word =
                    is_bound && token.starts_with(|c: char| c.is_ascii_alphanumeric());
                check(&rule.id, of, &token, &begun, begins_word);
            }
        }
    }
}
