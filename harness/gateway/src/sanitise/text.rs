//! Finds the secrets of a text and writes it without them.

use std::borrow::Cow;
use std::ops::Range;

use regex::Captures;

use super::masked::Masked;
use super::patterns::{NAME, NameKind};
use super::search::SEARCH;
use super::table::{MaskMethod, SecretRule, TABLE};
use super::value::ValueInText;

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

/// Returns the number of bytes at the start of `secret` that only say what kind of secret it is, such
/// as `ghp_`.
pub fn prefix_length(secret: &str) -> usize {
    let prefixes = TABLE.prefixes().iter();
    prefixes
        .filter(|prefix| secret.starts_with(prefix.as_str()))
        .map(String::len)
        .max()
        .unwrap_or(0)
}

/// Returns whether `value`, which is under a secret name of this kind, is a secret itself: it is not
/// empty, not masked, and does not only stand for a secret.
pub fn is_secret_value(value: &str, kind: NameKind) -> bool {
    !value.is_empty()
        && !is_masked(value, MaskMethod::Ends)
        && ValueInText::of_json(value, kind).is_secret()
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

/// Returns the part of a `text` that may be shown while it still grows at its end
/// ([B2](crate::rules::B2)): its secrets are masked, and all that could still become part of one is
/// held back. That is a word that may be the beginning of a token, a value behind a secret name, flag
/// or header, a key that is not closed. A secret that only the text behind it gives away, such as a
/// password in `echo … | sudo -S`, is shown until that follows: to hold it back would hold back nearly
/// all text.
///
/// The shown part of a longer text begins with that of a shorter one. Only where the two conflict, in
/// texts in which one secret contains another, secrecy wins.
pub fn redact_open(text: &str) -> Cow<'_, str> {
    open(text, &mut Masked::default())
}

/// [`redact_open`], counting.
pub(super) fn open<'t>(text: &'t str, masked: &mut Masked) -> Cow<'t, str> {
    let mut end = SEARCH.first_unfinished(text).unwrap_or(text.len());
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
    let mut found = Vec::new();
    let candidates = SEARCH.candidates(text);
    for rule in candidates.iter().flat_map(|candidates| candidates.rules()) {
        let secrets =
            rule.closed.regex().captures_iter(text).filter_map(|found| secret(rule, text, &found));
        found.extend(secrets.map(|bytes| SecretSpan { bytes, id: &rule.id, how: rule.how }));
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

/// Where the secret of a match of `rule` is, if it is one.
fn secret(rule: &SecretRule, text: &str, found: &Captures<'_>) -> Option<Range<usize>> {
    let name = found.name(NAME);
    let groups = found.iter().skip(1).flatten().filter(|group| Some(*group) != name);
    let bytes =
        groups.map(|group| group.range()).next().unwrap_or_else(|| found.get_match().range());
    if bytes.is_empty() || bytes.len() < rule.least {
        return None;
    }
    let kind = match name.map(|name| name.as_str()) {
        Some(name) => {
            let kind = TABLE.kind(name)?;
            let is_weak = rule.judge == Some(NameKind::Weak);
            // `KEY` and `pass` alone are words of any text.
            if is_weak && kind == NameKind::Weak && !name.contains('_') {
                return None;
            }
            Some(match (rule.judge, kind) {
                (Some(NameKind::Weak), _) => NameKind::Weak,
                (Some(NameKind::Chosen), NameKind::Made) => NameKind::Chosen,
                _ => kind,
            })
        }
        None => rule.judge,
    };
    let (before, behind) = (&text[..bytes.start], &text[bytes.end..]);
    let secret = &text[bytes.clone()];
    // A placeholder may have the prefix of a token.
    let kept = if name.is_none() { prefix_length(secret) } else { 0 };
    let value = ValueInText {
        text: &secret[kept..],
        kind,
        before: before.chars().next_back(),
        // A rule that is `late` has seen what follows.
        after: behind.chars().next().or(rule.late.then_some('\n')),
    };
    (rule.how != MaskMethod::Ends || value.is_secret()).then_some(bytes)
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

/// Returns the mask of a secret: `***`, or the first six and the last four characters of a long one.
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

/// Returns whether `text` is a mask already.
pub(super) fn is_masked(text: &str, how: MaskMethod) -> bool {
    match how {
        MaskMethod::Ends => {
            text == NOTHING || (text.chars().count() == 11 && text.chars().nth(6) == Some('…'))
        }
        MaskMethod::Pem => text == hide_lines(text),
        MaskMethod::Size => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b2_a_prefix_says_what_kind_of_secret_it_is() {
        for (secret, length) in [("ghp_madeUp", 4), ("madeUp", 0), ("", 0)] {
            assert_eq!(prefix_length(secret), length, "{secret}");
        }
    }
}
