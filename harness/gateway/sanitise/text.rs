//! Runs the table of rules over a text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Match, Regex, RegexSet};

use super::names::is_reference;
use super::rules::RULES;

/// Characters of a text that stay.
const TEXT_LIMIT: usize = 8_000;
/// Characters of a text that the rules look at: more than stay, so that a secret at the cut is
/// seen whole, and few enough that a huge result costs little.
const SCAN_LIMIT: usize = 8 * TEXT_LIMIT;
/// Secrets of fewer characters are masked whole.
const SHORT: usize = 18;

static SET: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(RULES.iter().map(|rule| rule.pattern)).ok());
static REGEXES: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| RULES.iter().map(|rule| Regex::new(rule.pattern).ok()).collect());
static DATA_URL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(data:[\w.+-]+/[\w.+-]+;base64,)([A-Za-z0-9+/=]{64,})").ok());

/// Masks the secrets in `text` (B2). What is masked already stays as it is, so that a text may
/// pass more than once. `$VAR` references stay.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    let Some(set) = &*SET else {
        return Cow::Owned(mask(""));
    };
    for index in set.matches(text) {
        if let (Some(rule), Some(regex)) = (RULES.get(index), &REGEXES[index]) {
            let replaced = regex.replace_all(&out, |found: &Captures<'_>| {
                if (rule.when)(found) { hide(rule.id, found) } else { found[0].to_owned() }
            });
            if let Cow::Owned(replaced) = replaced {
                out = Cow::Owned(replaced);
            }
        }
    }
    out
}

/// The match with its secret masked.
fn hide(id: &str, found: &Captures<'_>) -> String {
    let whole = found.get_match();
    let secret = ["s", "s1", "s2"].into_iter().find_map(|group| found.name(group)).unwrap_or(whole);
    let masked: Cow<'_, str> = match id {
        "pem" => hide_pem(secret),
        _ if is_reference(secret.as_str()) => Cow::Borrowed(secret.as_str()),
        _ => Cow::Owned(mask(secret.as_str())),
    };
    let text = whole.as_str();
    let (start, end) = (secret.start() - whole.start(), secret.end() - whole.start());
    format!("{}{masked}{}", &text[..start], &text[end..])
}

/// The lines between the first and the last line of a key block; JSON escapes its newlines.
fn hide_pem(body: Match<'_>) -> Cow<'static, str> {
    Cow::Borrowed(match body.as_str() {
        text if text.contains('\n') => "\n…redacted…\n",
        text if text.contains("\\n") => "\\n…redacted…\\n",
        _ => "…redacted…",
    })
}

/// `***`, or the first six and the last four characters of a long secret.
pub(super) fn mask(secret: &str) -> String {
    let count = secret.chars().count();
    if is_masked(secret) {
        secret.to_owned()
    } else if count < SHORT {
        "***".to_owned()
    } else {
        let head: String = secret.chars().take(6).collect();
        let tail: String = secret.chars().skip(count - 4).collect();
        format!("{head}…{tail}")
    }
}

fn is_masked(text: &str) -> bool {
    text == "***" || (text.chars().count() == 11 && text.chars().nth(6) == Some('…'))
}

/// `text` redacted, its data URLs replaced by their sizes, and cut to the limit with a mark.
pub(super) fn cut(text: &str) -> String {
    let scanned = match text.char_indices().nth(SCAN_LIMIT) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    let redacted = redact_text(scanned);
    let mut out = match &*DATA_URL {
        Some(regex) => regex
            .replace_all(&redacted, |found: &Captures<'_>| {
                format!("{}({} bytes)", &found[1], super::decoded_size(&found[2]))
            })
            .into_owned(),
        None => redacted.into_owned(),
    };
    let is_scanned_whole = scanned.len() == text.len();
    match out.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => out.truncate(end),
        None if is_scanned_whole => return out,
        None => {}
    }
    out.push_str("\n…(truncated)…");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b2_every_rule_compiles() {
        assert!(SET.is_some() && DATA_URL.is_some());
        for (rule, regex) in RULES.iter().zip(REGEXES.iter()) {
            assert!(regex.is_some(), "{} does not compile", rule.id);
        }
    }
}
