//! Judges a value where a secret is expected: a placeholder, a type, a name, the words of a page or the
//! place in which the secret is kept are none. Words and names are separated from strings that a
//! program made, or a person who knows what a password is.
//!
//! A member of a JSON object is secret by its own name, by what the object says of itself, or because
//! the object is secret as a whole.

use std::sync::LazyLock;

use regex::Regex;

use super::table::{NameKind, TABLE};

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
fn is_reference(value: &str) -> bool {
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

/// The shortest value of a weak name.
const SHORTEST: usize = 6;
/// A shorter word is too short for a secret that a program makes; a longer run of letters is more than a word.
const LONGEST_WORD: usize = 16;
/// Words that a seed phrase has at least.
const SEED_PHRASE: usize = 12;

/// A character that JSON escapes.
#[allow(clippy::expect_used, reason = "a test uses it")]
static ESCAPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\u[0-9a-fA-F]{4}").expect("the built-in pattern is valid"));

/// Returns whether a text has only words, one of them from the lists of words that are not secret.
fn is_words(text: &str) -> bool {
    let (words, text) = (&TABLE.words, ESCAPE.replace_all(text.trim(), " "));
    let runs = || text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    let is_code = |run: &str| words.code.contains(&run.to_lowercase());
    if runs().all(is_repeated) {
        return true;
    }
    if runs().any(|run| is_made(run) && !is_code(run)) {
        return false;
    }
    if words.scripts.iter().any(|word| text.contains(&**word)) {
        return true;
    }
    let is_prose = text.contains(' ');
    // Seed phrases have words of any page in them.
    if is_prose && runs().count() >= SEED_PHRASE && !text.contains(char::is_uppercase) {
        return false;
    }
    if is_foreign_prose(&text) {
        return true;
    }
    let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
    let is_label = |part: &str| words.labels.contains(&part.to_lowercase());
    let is_x = |run: &str| is_repeated(run) && run.starts_with(['x', 'X']);
    let labels = |run: &str| match is_label(run) || is_x(run) {
        true => letters(run),
        false => parts(run).into_iter().filter(|part| is_label(part)).map(letters).sum(),
    };
    let known = |run: &str| if is_code(run) { letters(run) } else { labels(run) };
    let [labels, known, all] =
        [runs().map(labels).sum::<usize>(), runs().map(known).sum(), letters(&text)];
    let has_short_numbers =
        runs().all(|run| run.len() <= 4 || !run.bytes().all(|b| b.is_ascii_digit()));
    has_short_numbers && (labels > 0 && (is_prose || known * 3 >= all) || known == all && all > 0)
}

/// Returns whether a text has letters beyond ASCII and no digit, in several words or without any letter of ASCII: a
/// label of a page, in whatever language. Passwords that people choose are seldom such sentences.
fn is_foreign_prose(text: &str) -> bool {
    let has = |of: fn(char) -> bool| text.chars().any(of);
    has(|c| !c.is_ascii() && c.is_alphabetic())
        && !has(|c| c.is_ascii_digit())
        && (text.contains(' ') || !has(|c| c.is_ascii_alphanumeric()))
}

/// The words of a name such as `accessToken`.
fn parts(run: &str) -> Vec<&str> {
    let (mut parts, mut from, mut was_lower) = (Vec::new(), 0, false);
    for (at, c) in run.char_indices() {
        if was_lower && c.is_uppercase() {
            parts.push(&run[from..at]);
            from = at;
        }
        was_lower = c.is_lowercase();
    }
    parts.push(&run[from..]);
    parts
}

/// `xxxx`.
fn is_repeated(run: &str) -> bool {
    let first = run.chars().next();
    run.len() >= 3
        && run.chars().all(|c| Some(c) == first)
        && first.is_some_and(|c| c.is_alphabetic() || c == '0')
}

/// Returns whether a run of letters and digits looks random: neither a word nor a name.
fn is_made(run: &str) -> bool {
    let count = |of: fn(char) -> bool| run.chars().filter(|c| of(*c)).count();
    let (digits, upper, lower) =
        (count(|c| c.is_ascii_digit()), count(char::is_uppercase), count(char::is_lowercase));
    let cases = || run.chars().zip(run.chars().skip(1));
    let changes = || cases().filter(|(a, b)| a.is_uppercase() != b.is_uppercase()).count();
    let is_mixed_case = run.len() >= 10
        && upper * 10 >= run.len() * 3
        && lower * 10 >= run.len() * 3
        // `HTTPServer` has one.
        && changes() >= 3;
    let has_both = digits > 0 && digits < run.len() && run.len() >= SHORTEST;
    // `NUMERICIDENTIFIER` is a name of a program.
    let is_run = || run.is_ascii() && run.len() >= LONGEST_WORD && upper < run.len();
    let is_long = || is_run() && (parts(run).len() < 2 || !is_name(run));
    !is_repeated(run) && !is_numbered(run) && (has_both || is_mixed_case || is_long())
}

/// Returns whether a run is a word of programs with a number, such as `value1`, or a type, such as `Ed25519PrivateKey`.
fn is_numbered(run: &str) -> bool {
    let words = &TABLE.words;
    let stem = run.trim_end_matches(|c: char| c.is_ascii_digit());
    // `corev1`, `metav1`.
    let is_version = stem.len() <= 5
        && run.len() == stem.len() + 1
        && stem.ends_with('v')
        && stem.bytes().all(|b| b.is_ascii_lowercase());
    let is_label = |part: &str| {
        part.chars().skip(1).all(char::is_lowercase) && words.labels.contains(&part.to_lowercase())
    };
    let is_type = parts(run).len() > 1 && parts(run).last().is_some_and(|last| is_label(last));
    is_type
        || is_version
        || run.len() <= stem.len() + 2 && words.code.contains(&stem.to_lowercase())
}

fn has_made_part(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|run| run.len() >= 8 && is_made(run) && !is_name(run))
}

/// Returns whether a run is a name of a program, such as `getUserByName` or `id_ed25519`.
fn is_name(run: &str) -> bool {
    let letters = run.trim_end_matches(|c: char| c.is_ascii_digit());
    let upper = letters.chars().filter(|c| c.is_uppercase()).count();
    letters.bytes().all(|b| b.is_ascii_alphabetic())
        && upper * 10 < letters.len() * 3
        && letters.len() >= parts(letters).len() * 4
        && parts(letters).iter().all(|part| part.len() < LONGEST_WORD)
}

/// Returns whether a value looks made by a program, or by a person who knows what a password is.
fn looks_made(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_mixed = |run: &&str| run.contains(is_digit) && run.contains(char::is_alphabetic);
    let is_odd = text.contains(|c| "!#$^&*?=@+~%".contains(c)) && is_mixed(&text);
    let runs = || {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|run| !TABLE.words.code.contains(&run.to_lowercase()))
    };
    is_odd || runs().any(is_made) || runs().filter(is_mixed).count() >= 2
}

/// Words and names of programs.
fn is_short_words(text: &str) -> bool {
    let is_word = |run: &str| {
        let is_short = run.len() <= 2 || run.len() <= 4 && run.bytes().all(|b| b.is_ascii_digit());
        (is_short || run.chars().all(char::is_alphabetic) || is_numbered(run)) && !is_made(run)
    };
    !looks_made(text)
        && text.chars().any(char::is_alphabetic)
        && text.chars().all(|c| !c.is_ascii() || c.is_alphanumeric() || "._-:/ ".contains(c))
        && text.split(|c: char| !c.is_alphanumeric()).all(is_word)
}

/// The facts that the members of an object state of each other.
#[derive(Debug, Clone, Copy, Default)]
pub struct ObjectSays<'m> {
    /// The names that members have as their values: `{"name": "API_KEY", "value": …}`.
    named: [Option<&'m str>; 2],
    /// A Secret of Kubernetes, whose data is secret whatever it is called.
    is_kubernetes_secret: bool,
    /// A JSON Web Key.
    is_web_key: bool,
}

impl<'m> ObjectSays<'m> {
    /// Reads the names of an object's members, with the values that are texts.
    pub fn of(members: impl Iterator<Item = (&'m str, Option<&'m str>)>) -> Self {
        let mut says = Self::default();
        for (name, value) in members {
            match (name, value) {
                ("kind", Some("Secret")) => says.is_kubernetes_secret = true,
                ("kty", Some(_)) => says.is_web_key = true,
                ("name" | "Name", _) => says.named[0] = value,
                ("key" | "Key", _) => says.named[1] = value,
                _ => {}
            }
        }
        says
    }

    /// The kind of secret that the value of the member `name` is, in an object that is a secret of
    /// the kind `whole`.
    #[must_use]
    pub fn kind(&self, name: &str, whole: Option<NameKind>) -> Option<NameKind> {
        let whole = whole.filter(|_| !TABLE.words.is_attribute(name));
        let by_others = match name {
            "value" | "Value" => self.named.into_iter().flatten().find_map(secret_name),
            "data" | "stringData" if self.is_kubernetes_secret => Some(NameKind::Chosen),
            "d" | "k" | "p" | "q" | "dp" | "dq" | "qi" if self.is_web_key => Some(NameKind::Made),
            _ => None,
        };
        let own = secret_name(name).or(by_others);
        match (whole, own) {
            (Some(NameKind::Weak) | None, Some(own)) => Some(own),
            (whole, _) => whole,
        }
    }
}

/// The kind of `name`, where a value under it may be a secret: `api_key`, `X-Auth-Token`,
/// `clientSecret`, `STRIPE_KEY`.
#[must_use]
pub fn secret_name(name: &str) -> Option<NameKind> {
    TABLE.kind(name)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn members_are_secret_by_what_their_object_says() {
        let check = |members: &[(&str, Option<&str>)],
                     whole: Option<NameKind>,
                     name: &str,
                     expect: Option<NameKind>| {
            let says = ObjectSays::of(members.iter().copied());
            assert_eq!(says.kind(name, whole), expect, "{members:?} {name}");
        };
        let (chosen, made, weak) =
            (Some(NameKind::Chosen), Some(NameKind::Made), Some(NameKind::Weak));
        let pair = [("name", Some("API_KEY")), ("value", None)];
        check(&pair, None, "value", made);
        check(&pair, None, "name", None);
        check(&[("key", Some("user_id"))], None, "value", None);
        check(&[("kind", Some("Secret"))], None, "data", chosen);
        check(&[("kind", Some("ConfigMap"))], None, "data", None);
        check(&[("kty", Some("EC"))], None, "d", made);
        check(&[("kty", Some("EC"))], None, "x", None);
        check(&[], chosen, "user", chosen);
        check(&[], chosen, "type", None);
        check(&[], chosen, "token", chosen);
        check(&[], weak, "token", made);
        check(&[], None, "STRIPE_KEY", weak);
        check(&[], None, "PRIMARY_KEY", None);
    }
}
