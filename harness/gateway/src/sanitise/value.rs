//! Judges what stands where a secret is expected: a placeholder, a type, a name, the words of a
//! page or the place in which the secret is kept are none.

use std::sync::LazyLock;

use regex::Regex;

use super::patterns::NameKind;
use super::table::TABLE;
use super::words::{LONGEST_WORD, SHORTEST, has_made_part, is_short_words, is_words, looks_made};

/// A value and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueInText<'t> {
    pub(super) text: &'t str,
    /// The kind of the place; `None` for a text whose own form shows that it is a secret.
    pub(super) kind: Option<NameKind>,
    /// The character before it, which may be a quote.
    pub(super) before: Option<char>,
    /// The character behind it; `None` where the text ends, so that the value may have been cut.
    pub(super) after: Option<char>,
}

impl<'t> ValueInText<'t> {
    /// A value of JSON under a name of this kind.
    pub(super) fn of_json(text: &'t str, kind: NameKind) -> Self {
        Self { text, kind: Some(kind), before: Some('"'), after: Some('"') }
    }

    /// Returns whether the value is a secret.
    pub(super) fn is_secret(self) -> bool {
        match self.kind {
            Some(NameKind::Pairs) => pairs(self.text)
                .any(|text| Self { text, kind: Some(NameKind::Made), ..self }.is_secret()),
            // A token shows by its own form.
            None => !is_words(self.text),
            Some(NameKind::Weak) if is_number(self.text) && self.after.is_some() => {
                self.text.len() >= LONGEST_WORD
            }
            Some(_) if is_number(self.text) => self.text.len() >= 4,
            _ if self.after.is_some() && self.text.chars().nth(1).is_none() => false,
            _ if self.is_ordinary() => false,
            Some(NameKind::Chosen) => true,
            // A longer text may have said more.
            _ if self.after.is_none() => true,
            Some(NameKind::Weak) => looks_made(self.text) && self.text.len() >= SHORTEST,
            Some(_) => !is_short_words(self.text),
        }
    }

    fn is_quoted(self) -> bool {
        self.before.is_some_and(|c| "\"'`".contains(c))
    }

    /// The value without a last word that may have been cut: the beginning of a word may be a label.
    fn whole_words(self) -> &'t str {
        let first = self.text.rsplit_once(' ').filter(|_| self.after.is_none());
        first.map_or(self.text, |(first, _)| first)
    }

    /// Returns whether the value is empty, only stands for a secret or says where it is kept.
    fn is_ordinary(self) -> bool {
        let text = self.text.trim();
        if is_reference(text) || is_place(text) || MEASURE.is_match(text) {
            return true;
        }
        let is_code = !self.is_quoted() && CODE.is_match(text) && !looks_made(text);
        // An argument of a call: `login(password=value, …)`.
        let is_argument = !self.is_quoted()
            && self.after.is_some_and(|c| ",)([{<".contains(c))
            && IDENTIFIER.is_match(text)
            && !looks_made(text);
        let is_cut = text.ends_with("...") || text.ends_with('…') || text.starts_with('…');
        is_code
            || is_argument
            || is_cut && !looks_made(text)
            || OPERATOR.is_match(text)
            || is_filled_in(text)
            || is_words(self.whole_words())
    }
}

/// Compiles one of the patterns below.
#[allow(clippy::expect_used, reason = "a test uses every pattern")]
fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the built-in pattern is valid; a test uses it")
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The values of `a=b; c=d`, those of attributes such as `Path` left out.
fn pairs(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split([';', ' ']).map(|part| part.trim_matches(['"', '\'', '`', '\\', ',']));
    let parts = parts
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or(("", part)));
    parts
        .filter(|(name, _)| !TABLE.words.is_attribute(name))
        .map(|(_, value)| value.trim_matches(['"', '\'']))
}

/// A value that only names where a secret is kept, as a whole: `$TOKEN`, `${TOKEN:-}`, `$(pass show
/// x)`, `%TOKEN%`.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)\A(?: \$(?: [0-9@*]\z | [A-Za-z_][A-Za-z0-9_]* (?:(?:\[|->|\.)\S*)? \z | \{[^}]*\}\z | \( )
        | \$env:[A-Za-z0-9_]+\z | %[A-Za-z0-9_]+%\z | @[A-Z0-9_]+@\z | %[a-z]\z | \{\}\z | :[a-z_]+\z | \?\z
        | !(?:Ref|Sub|GetAtt|vault\S*)(?-u:\b) | \#\s)",
    )
});
/// A part that a program fills in.
static TEMPLATE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\$\{\{[^}]*(?:\}\}|\z)|\$\{[^}]*(?:\}|\z)|\{\{[^}]*(?:\}\}|\z)|<%[^%]*(?:%>|\z)|#\{[^}]*(?:\}|\z)|\\?\\\([^)]*(?:\)|\z)|%\([a-z_]+\)s|(?:\A|[\s=:/;,(])\$[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_.!:\[\]]*\}|<[^<>\n]{1,60}>|&lt;[^&]{1,60}&gt;",
    )
});
/// The version of a package, a color, a time or another measure.
static MEASURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\A(?:[\^~=<>v ]*[0-9]+(?:\.[0-9]+)+(?:[-+][0-9A-Za-z.]+)?|#[0-9a-fA-F]{3,8}|[0-9.]{1,5} ?(?:%|px|r?em|v[hw]|pt|ms|[smhdw]|[kKMG]i?B?))\z",
    )
});
/// A file, a page or an entry of a store in which a secret is kept.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\A(?:(?:arn|op|env|file|vault|ssm|secretsmanager|keychain|keyring|ref\+[a-z]+|https?):|[a-z]+:/|projects/|\.{0,2}/|~/|@[\w./-]*[./]|#/|[A-Z]:\\)",
    )
});
/// A call, an entry or another expression of a program.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\A[!&*(\[{]*[A-Za-z_$][A-Za-z0-9_$]*(?:[!?]*(?:\.|->|::)[A-Za-z_$][A-Za-z0-9_$]*)*(?:[!?]*[\[({<]|[\])}>;]+\z|::)",
    )
});
/// A name in a program, with those that it is in.
static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\A[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|->|::)[A-Za-z_$][A-Za-z0-9_$]*)*\z")
});
/// The code behind the quote that ends a text.
static OPERATOR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\A[+).,;&|?:]\S*[\s(]|\A(?:[=>+)\],;.:?|&}]+(?:\s|\z)|[=>)\],;]|\s*[+)\]}]\s)")
});

/// Returns whether `value` only names where a secret is kept: `$TOKEN`, `${TOKEN:-}`, `$(pass show
/// x)`.
pub(super) fn is_reference(value: &str) -> bool {
    REFERENCE.is_match(value)
}

/// A path or an address without a part that looks like a secret.
fn is_place(text: &str) -> bool {
    let is_path = text.contains('/') && !text.contains(char::is_whitespace);
    (PLACE.is_match(text) || is_path && text.contains('.')) && !has_made_part(text)
}

/// Returns whether a text has parts that a program fills in, and no secret beside them.
fn is_filled_in(text: &str) -> bool {
    let rest = TEMPLATE.replace_all(text, " ");
    rest != text && !looks_made(&rest)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    pub(crate) fn b2_references() {
        for value in [
            "$TOKEN",
            "$token",
            "${TOKEN}",
            "${TOKEN:-x}",
            "$(pass show x)",
            "$(cat",
            "$_POST['x']",
            "%TOKEN%",
        ] {
            assert!(is_reference(value), "{value}");
        }
        for value in ["TOKEN", "$1cret!", "$A:b", "${A}b", "$", ""] {
            assert!(!is_reference(value), "{value}");
        }
    }

    /// A place for a secret, with what is one there and what is none.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Place {
        about: String,
        kind: NameKind,
        before: Option<char>,
        after: Option<char>,
        secret: Vec<String>,
        ordinary: Vec<String>,
    }

    #[derive(Deserialize)]
    struct Places {
        place: Vec<Place>,
    }

    /// A value that stands for a secret is none, and a real one in the same place is found.
    #[test]
    fn values_that_stand_for_a_secret_are_none() {
        let places: Places = toml::from_str(include_str!("values.toml")).unwrap();
        for Place { about, kind, before, after, secret, ordinary } in &places.place {
            assert!(secret.len() > 1 && ordinary.len() > 1, "{about}: both sides have rows");
            for (values, expect) in [(secret, true), (ordinary, false)] {
                for text in values {
                    let value =
                        ValueInText { text, kind: Some(*kind), before: *before, after: *after };
                    assert_eq!(value.is_secret(), expect, "{about}: {value:?}");
                }
            }
        }
    }
}
