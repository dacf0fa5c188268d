//! Fakes that replace secrets: they have the same shape and length, and are recognisable as fakes.
//!
//! A fake keeps the part that shows the kind of the secret (`ghp_`) and every character that is neither a letter nor a
//! digit. The rest becomes `redacted0001redacted0001…`, where the number counts the secrets of a recording in the order
//! in which they appear. None of the secret's own characters are used, so the secret cannot be computed from it, and
//! recording again gives the same fake.

use std::collections::HashMap;

use clitape_gateway::sanitise::prefix_length;

/// The word in a fake; the digits of the number follow.
const WORD: &str = "redacted";
/// The word in a fake of hexadecimal digits.
const HEX_WORD: &str = "facade";
/// The word in a fake of digits.
const DIGITS: &str = "9000";
/// The digits of the number.
const NUMBER: usize = 4;
/// The length from which a number of hexadecimal digits alone is taken for a secret of that kind.
const HEX: usize = 16;

/// The fakes of a recording, one for each secret.
#[derive(Debug, Default)]
pub(super) struct Fakes {
    known: HashMap<String, FakeSecret>,
    /// The secrets in the order in which they were found.
    order: Vec<String>,
}

/// The fake of a secret.
#[derive(Debug, Clone)]
pub(super) struct FakeSecret {
    /// A text with as many characters as the secret.
    pub(super) text: String,
    /// The rule that found the secret first.
    pub(super) rule: &'static str,
}

impl Fakes {
    /// Returns the fake of `secret`, the same one each time.
    pub(super) fn of(&mut self, secret: &str, rule: &'static str) -> FakeSecret {
        if let Some(known) = self.known.get(secret) {
            return known.clone();
        }
        let fake = FakeSecret { text: fake(secret, self.order.len() + 1), rule };
        self.order.push(secret.to_owned());
        self.known.insert(secret.to_owned(), fake.clone());
        fake
    }

    /// Returns the secrets so far, each with its fake.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &FakeSecret)> {
        self.order.iter().filter_map(|secret| Some((&**secret, self.known.get(secret)?)))
    }
}

/// Makes the fake of `secret` with a number.
fn fake(secret: &str, number: usize) -> String {
    let kept = prefix_length(secret);
    let kept = if secret[kept..].contains(char::is_alphanumeric) { kept } else { 0 };
    let (prefix, body) = secret.split_at(kept);
    let has = |of: fn(char) -> bool| body.contains(of);
    let is_hex = body.len() >= HEX && body.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let number = number % 10_usize.pow(4);
    let pattern = if !has(char::is_alphabetic) && has(char::is_numeric) {
        format!("{DIGITS}{number:0NUMBER$}")
    } else if is_hex {
        format!("{HEX_WORD}{number:0NUMBER$}")
    } else if has(|c| c.is_uppercase()) && !has(|c| c.is_lowercase()) {
        format!("{}{number:0NUMBER$}", WORD.to_ascii_uppercase())
    } else {
        format!("{WORD}{number:0NUMBER$}")
    };
    let mut next = pattern.chars().cycle();
    // A secret of punctuation alone is replaced as a whole.
    let goes = |c: char| c.is_alphanumeric() || !has(char::is_alphanumeric);
    let body = body.chars().map(|c| if goes(c) { next.next().unwrap_or(c) } else { c });
    prefix.chars().chain(body).collect()
}

/// Returns whether `text` is a fake, or part of one: its runs of letters and digits are stretches of a fake's pattern,
/// and contain a word of it.
///
/// If a fake has markup around it, or is itself masked, a few other letters are part of the match. They are no secret
/// as long as they are fewer than the shortest secret has.
pub(super) fn is_fake(text: &str) -> bool {
    // The text was cut to less than the length of a secret.
    if text.contains('…') && text.chars().filter(|c| c.is_alphanumeric()).count() < SHORTEST {
        return true;
    }
    [prefix_length(text), 0].into_iter().any(|kept| {
        let text = without_tags(&text[kept..]);
        let runs = text.split(|c: char| !c.is_alphanumeric());
        let (fake, other): (Vec<&str>, Vec<&str>) =
            runs.filter(|run| !run.is_empty()).partition(|run| is_stretch(run));
        let letters = |run: &&str| run.bytes().filter(u8::is_ascii_alphabetic).count();
        let is_number = |run: &&str| run.starts_with(&DIGITS[..DIGITS.len().min(run.len())]);
        let shown: usize = fake.iter().map(letters).sum();
        let others: usize = other.iter().map(|run| run.len()).sum();
        match if shown >= 2 && text.contains('…') { WORD.len() } else { shown } {
            0 | 1 => others == 0 && fake.iter().any(is_number),
            2 | 3 => others == 0,
            4..8 => others < SHORTEST,
            // The match is a whole word, or a masked one: the characters behind it may be the surrounding text, unless
            // they are joined to it as parts of a secret are.
            _ => !other.iter().any(|run| is_secret_like(run)) && !is_continued(&text),
        }
    })
}

/// Returns whether a run of letters and digits can be a secret rather than a word.
fn is_secret_like(run: &str) -> bool {
    let has_digit = run.contains(|c: char| c.is_ascii_digit());
    run.len() >= SHORTEST && has_digit && run.contains(char::is_alphabetic) || run.len() >= 16
}

/// Returns whether a fake's word continues, behind one character that secrets contain, with enough letters of another
/// word for a secret. A word behind a blank counts as the text around the fake, because the length of the secret, which
/// the fake has too, is unknown here.
fn is_continued(text: &str) -> bool {
    let parts: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
    parts.windows(2).any(|pair| {
        let [fake, next] =
            [pair[0], pair[1]].map(|part| part.trim_end_matches(|c: char| !c.is_alphanumeric()));
        let is_joined = pair[0][fake.len()..].contains(['-', '_', '.', '+', '/', '~', '=']);
        let is_word = fake.len() >= WORD.len() && is_stretch(fake);
        is_joined && is_word && next.len() >= SHORTEST && !is_stretch(next)
    })
}

/// Returns `text` without the HTML tags in it, up to a quote, also one that HTML escapes, or to an escape sequence of a
/// terminal.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn without_tags(text: &str) -> String {
    let ends = ["\"", "&quot;", "&#34;", "&#39;", "\u{1b}"];
    let quote = ends.iter().filter_map(|end| text.find(end)).filter(|at| *at > 0).min();
    let mut parts = text[..quote.unwrap_or(text.len())].split('<');
    let first = parts.next().expect("a split text has a first part").to_owned();
    parts.fold(first, |rest, part| {
        rest + " " + part.split_once('>').map_or("", |(_, behind)| behind)
    })
}

/// The letters and digits that the shortest relevant secret has, in bytes.
const SHORTEST: usize = 7;

/// Returns whether a run of letters and digits is a stretch of the pattern of any fake.
fn is_stretch(run: &str) -> bool {
    let run = run.to_ascii_lowercase().into_bytes();
    [WORD, HEX_WORD, DIGITS].iter().any(|word| {
        let word = word.as_bytes();
        let length = word.len() + NUMBER;
        (0..length).any(|from| {
            run.iter().enumerate().all(|(at, byte)| match word.get((at + from) % length) {
                Some(letter) => byte == letter,
                None => {
                    let before = at.checked_sub(length).map(|before| run[before]);
                    byte.is_ascii_digit() && before.is_none_or(|before| before == *byte)
                }
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fake_has_the_shape_of_its_secret() {
        let check = |secret: &str, expect: &str| {
            assert_eq!(fake(secret, 7), expect);
            assert!(is_fake(expect), "{expect}");
            assert!(!is_fake(secret), "{secret}");
        };
        check(
            "ghp_abcDEF0123456789abcdefghijklmnopqrst",
            "ghp_redacted0007redacted0007redacted0007",
        );
        check("AKIAQ3EGRI5PLHG7T2MN", "AKIAREDACTED0007REDA");
        check("hunter2", "redacte");
        check("correct horse-battery", "redacte d0007-redacte");
        check("1234567", "9000000");
        check("-4711", "-9000");
        check("0a1b2c3d4e5f60718293", "facade0007facade0007");
        check("sid=a8sd7f6; th=d9", "red=acted00; 07=re");
        check("пароль-длинный", "redact-ed0007r");
    }

    #[test]
    fn a_short_number_is_no_fake() {
        let shown = [
            "red=acted0001; 1r=ed</i>",
            "Beare…cted0321reda",
            "Be…eda…reda",
            "red=acted</i><b class=",
            "redacted0001redac, correctly",
            "redacted0001redac and something",
            "redacted0001-redacted0001-reda",
        ];
        for text in shown {
            assert!(is_fake(text), "{text}");
        }
        for text in [
            "1234",
            "0001",
            "password",
            "redaction",
            "reader",
            "decade",
            "red-hat9",
            "redacted-hunter2",
            "redacted0001.correcthorse",
            "ghp_redacted0001redacted_battery/x",
        ] {
            assert!(!is_fake(text), "{text}");
        }
    }

    #[test]
    fn the_same_secret_has_the_same_fake() {
        let mut fakes = Fakes::default();
        let first = fakes.of("first-secret-1", "a").text;
        let second = fakes.of("other-secret-2", "b").text;
        assert_ne!(first, second);
        assert_eq!(fakes.of("first-secret-1", "b").text, first);
        assert_eq!(fakes.all().count(), 2);
    }
}
