//! Finds the secrets of a text and writes it without them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use clitape_stream::plant::{Plant, planted};
use regex::Regex;

use super::masked::Masked;
use super::table::{MaskMethod, TABLE};

/// Secrets of fewer characters are masked whole.
const SHORT: usize = 18;
/// The mask of a secret that is hidden as a whole.
pub(super) const NOTHING: &str = "***";
/// The mask of the lines of a key.
const LINES: &str = "…redacted…";
/// Masking may bring a name and a masked value together that a rule takes anew. That settles at
/// once or twice; the limit is there so that a rule can't make it go on for ever.
const PASSES: usize = 8;

/// A secret in a text, and the rule that found it.
struct SecretSpan {
    bytes: Range<usize>,
    id: &'static str,
    how: MaskMethod,
}

/// A secret that [`find`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMatch {
    /// Where it is in the text, in bytes.
    pub bytes: Range<usize>,
    /// The id of the rule that found it.
    pub rule: &'static str,
}

/// Finds the secrets in `text` that [`redact`] would mask, in order; bulk such as the data of an image
/// is none. What is masked already and `$VAR` references are not found.
///
/// Secrets that reach to the end of a text are found only where their shape alone says so: follow the
/// text with a line break when it is whole.
pub fn find(text: &str) -> Vec<SecretMatch> {
    let spans = spans(text).into_iter().filter(|span| span.how != MaskMethod::Size);
    spans.map(|span| SecretMatch { bytes: span.bytes, rule: span.id }).collect()
}

/// The ids of the rules by which [`find`] finds secrets.
pub fn rule_ids() -> impl Iterator<Item = &'static str> {
    TABLE.rules.iter().filter(|rule| rule.how != MaskMethod::Size).map(|rule| rule.id.as_str())
}

/// How many bytes at the start of `secret` only say what kind of secret it is, such as `ghp_`.
pub fn prefix_length(secret: &str) -> usize {
    let prefixes = TABLE.prefixes.iter();
    prefixes
        .filter(|prefix| secret.starts_with(prefix.as_str()))
        .map(String::len)
        .max()
        .unwrap_or(0)
}

/// Whether `value`, which is under a secret name, is a secret itself: it is not empty, not masked, and
/// does not only say where the secret is kept.
pub fn is_secret_value(value: &str) -> bool {
    !value.is_empty() && !is_masked(value, MaskMethod::Ends) && !is_reference(value)
}

/// Masks the secrets in `text` and counts them in `masked` ([B2](crate::rules::B2)). What is masked
/// already stays as it is, so that a text may pass more than once. `$VAR` references stay.
pub fn redact<'t>(text: &'t str, masked: &mut Masked) -> Cow<'t, str> {
    let mut out = Cow::Borrowed(text);
    for _ in 0..PASSES {
        let spans = spans(&out);
        if spans.is_empty() {
            break;
        }
        out = Cow::Owned(write(&out, &spans, out.len(), masked));
    }
    out
}

/// Masks the secrets in `text` ([B2](crate::rules::B2)), see [`redact`].
pub fn redact_text(text: &str) -> Cow<'_, str> {
    redact(text, &mut Masked::default())
}

/// What may be shown of a `text` that still grows at its end ([B2](crate::rules::B2)): its secrets
/// are masked, and all that could still become part of one is held back. That is a word that may be
/// the beginning of a token, a value behind a secret name, flag or header, a key that is not
/// closed. A secret that only what follows it gives away, such as a password in `echo … | sudo -S`,
/// is shown until that follows: to hold it back would hold back nearly all text.
///
/// What is shown of a longer text begins with what was shown of a shorter one. Only where the two
/// conflict, in texts in which one secret contains another, secrecy wins.
pub fn redact_open(text: &str) -> Cow<'_, str> {
    open(text, &mut Masked::default())
}

/// [`redact_open`], counting.
pub(super) fn open<'t>(text: &'t str, masked: &mut Masked) -> Cow<'t, str> {
    let table = &*TABLE;
    let retained = table.open_set.matches(text).into_iter().filter_map(|index| {
        let found = table.open[index].regex().captures(text)?;
        found.iter().skip(1).flatten().next().map(|begun| begun.start())
    });
    let mut end = retained.min().unwrap_or(text.len());
    let mut spans = spans(text);
    // A secret that is whole but reaches into what is held back waits with it.
    while let Some(last) = spans.pop_if(|span| span.bytes.end > end) {
        end = end.min(last.bytes.start);
    }
    if spans.is_empty() {
        Cow::Borrowed(&text[..end])
    } else {
        Cow::Owned(write(text, &spans, end, masked))
    }
}

/// The secrets of `text` in order; those that touch each other's text are one.
fn spans(text: &str) -> Vec<SecretSpan> {
    let table = &*TABLE;
    let mut found = Vec::new();
    // Most texts have no secret, which takes less time to tell than which rules have found one.
    if planted(Plant::NothingMasked) || !table.set.is_match(text) {
        return found;
    }
    for index in table.set.matches(text) {
        let rule = &table.rules[index];
        for captures in rule.closed.regex().captures_iter(text) {
            let whole = captures.get_match();
            let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole);
            if !secret.is_empty() && !is_reference(secret.as_str()) {
                found.push(SecretSpan { bytes: secret.range(), id: &rule.id, how: rule.how });
            }
        }
    }
    found.sort_by_key(|span| (span.bytes.start, std::cmp::Reverse(span.bytes.end)));
    let mut spans: Vec<SecretSpan> = Vec::with_capacity(found.len());
    for span in found {
        match spans.last_mut().filter(|last| span.bytes.start < last.bytes.end) {
            Some(last) => last.bytes.end = last.bytes.end.max(span.bytes.end),
            None => spans.push(span),
        }
    }
    spans.retain(|span| !is_masked(&text[span.bytes.clone()], span.how));
    spans
}

/// `text` up to the byte `end`, with a mask in the place of each of `spans`.
fn write(text: &str, spans: &[SecretSpan], end: usize, masked: &mut Masked) -> String {
    let mut out = String::with_capacity(end);
    let mut at = 0;
    for span in spans {
        let secret = &text[span.bytes.clone()];
        out.push_str(&text[at..span.bytes.start]);
        match span.how {
            MaskMethod::Ends => out.push_str(&mask(secret)),
            MaskMethod::Pem => out.push_str(&hide_lines(secret)),
            MaskMethod::Size => out.push_str(&format!("({} bytes)", super::decoded_size(secret))),
        }
        masked.add(span.id);
        at = span.bytes.end;
    }
    out.push_str(&text[at..end]);
    out
}

/// What is shown of a secret: `***`, or the first six and the last four characters of a long one.
pub fn mask(secret: &str) -> String {
    let count = secret.chars().count();
    if is_masked(secret, MaskMethod::Ends) {
        secret.to_owned()
    } else if count < SHORT {
        NOTHING.to_owned()
    } else {
        let head: String = secret.chars().take(6).collect();
        let tail: String = secret.chars().skip(count - 4).collect();
        format!("{head}…{tail}")
    }
}

/// Returns the mask between the first and the last line of a key; JSON escapes its newlines.
fn hide_lines(body: &str) -> String {
    let newline = match body {
        body if body.contains('\n') => "\n",
        body if body.contains("\\n") => "\\n",
        _ => "",
    };
    format!("{newline}{LINES}{newline}")
}

/// Whether `text` is a mask already.
pub(super) fn is_masked(text: &str, how: MaskMethod) -> bool {
    match how {
        MaskMethod::Ends => {
            text == NOTHING || (text.chars().count() == 11 && text.chars().nth(6) == Some('…'))
        }
        MaskMethod::Pem => text == hide_lines(text),
        MaskMethod::Size => false,
    }
}

/// Whether `value` only names where a secret is kept: `$TOKEN`, `${TOKEN:-}`, `$(pass show x)`.
pub(super) fn is_reference(value: &str) -> bool {
    #[allow(clippy::expect_used, reason = "a test uses the pattern")]
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\A\$(?:[A-Za-z_][A-Za-z0-9_]*\z|\{[^}]*\}\z|\()")
            .expect("the built-in pattern is valid; a test uses it")
    });
    REFERENCE.is_match(value)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn b2_a_prefix_says_what_kind_of_secret_it_is() {
        for (secret, length) in [("ghp_madeUp", 4), ("madeUp", 0), ("", 0)] {
            assert_eq!(prefix_length(secret), length, "{secret}");
        }
    }

    #[test]
    pub(crate) fn b2_references() {
        for value in ["$TOKEN", "$token", "${TOKEN}", "${TOKEN:-x}", "$(pass show x)", "$(cat"] {
            assert!(is_reference(value), "{value}");
        }
        for value in ["TOKEN", "$1cret!", "$A:b", "${A}b", "$", ""] {
            assert!(!is_reference(value), "{value}");
        }
    }
}
