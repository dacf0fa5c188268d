//! Keeps the token of an HTTP client from other servers and from messages: the base of every client of this crate, and a
//! mask of a secret in the words of another program, in whatever encoding they contain it.

use std::borrow::Cow;
use std::error::Error as _;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// The text that replaces the secret.
const MASK: &str = "***";
/// Bytes that a part of a secret must have to be masked alone: a shorter one is a common word.
const SHORTEST: usize = 8;

/// Returns `words` without `secret`, as [`SecretMask`] leaves it out.
pub(crate) fn masked(words: &str, secret: &str) -> String {
    SecretMask::new(secret).masked(words).into_owned()
}

/// Masks a secret, be it as it is, percent-encoded, escaped for HTML or JSON, in hexadecimal or in base64, letters of
/// either case being the same. The part after its first `:` is a secret of its own.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretMask {
    /// The secret in every encoding, in small letters.
    forms: Vec<String>,
}

impl SecretMask {
    /// Makes the mask of a secret.
    pub fn new(secret: &str) -> Self {
        let part = secret.split_once(':').map(|(_, part)| part);
        let part = part.filter(|part| part.len() >= SHORTEST);
        let secrets = std::iter::once(secret).chain(part).filter(|secret| !secret.is_empty());
        Self { forms: secrets.flat_map(forms).map(|form| form.to_ascii_lowercase()).collect() }
    }

    /// Returns `words` without the secret.
    pub fn masked<'w>(&self, words: &'w str) -> Cow<'w, str> {
        // ASCII only, so that places are the same in both.
        let lower = words.to_ascii_lowercase();
        if !self.forms.iter().any(|form| lower.contains(form)) {
            return words.into();
        }
        self.forms.iter().fold(words.to_owned(), |masked, form| replaced(&masked, form)).into()
    }
}

/// Hides the secret.
impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// The secret in every encoding.
fn forms(secret: &str) -> Vec<String> {
    let each = |encode: &dyn Fn(u8) -> String| secret.bytes().map(encode).collect::<String>();
    let odd = |encode: &dyn Fn(u8) -> String| {
        each(&|byte| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => encode(byte),
        })
    };
    // Encoders differ in which marks they leave alone.
    let colon = |to: &str| secret.replace(':', to);
    let mut forms = vec![
        secret.to_owned(),
        colon("%3A"),
        odd(&|byte| format!("%{byte:02X}")),
        each(&|byte| format!("%{byte:02X}")),
        colon("&#58;"),
        colon("&#x3a;"),
        colon("&colon;"),
        colon("\\u003a"),
        each(&|byte| format!("\\u{byte:04x}")),
        each(&|byte| format!("\\x{byte:02x}")),
        each(&|byte| format!("{byte:02x}")),
    ];
    if secret.len() >= SHORTEST {
        forms.extend(base64_forms(secret));
    }
    forms
}

/// The secret in base64 wherever it begins in the bytes that are encoded: the characters that
/// depend on it alone.
fn base64_forms(secret: &str) -> impl Iterator<Item = String> {
    let engines = [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD];
    let places = (0..3).flat_map(move |before| engines.map(|engine| (before, engine)));
    places.map(move |(before, engine)| {
        let bytes = [&vec![0; before][..], secret.as_bytes()].concat();
        let text = engine.encode(&bytes);
        let from = (before * 8).div_ceil(6);
        text[from..bytes.len() * 8 / 6].to_owned()
    })
}

/// Returns `text` with the mask in place of `form`, which is in small letters.
fn replaced(text: &str, form: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut masked, mut from) = (String::new(), 0);
    for (at, _) in lower.match_indices(form) {
        masked.push_str(&text[from..at]);
        masked.push_str(MASK);
        from = at + form.len();
    }
    masked + &text[from..]
}

/// Returns the builder of a client that follows no redirect, because a redirect would carry the
/// token to another server.
pub(crate) fn builder() -> ClientBuilder {
    // The error only says that the process has chosen its cryptography already; that choice counts.
    let _ = rustls::crypto::ring::default_provider().install_default();
    ClientBuilder::new().redirect(Policy::none())
}

/// Returns the innermost cause of `error`, as the system words it. The outer causes repeat the
/// address, which may contain a token.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = "the request failed".to_owned();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const TOKEN: &str = "123456:AbC-secret_token";

    #[track_caller]
    fn check(words: &str, expect: &str) {
        assert_eq!(masked(words, TOKEN), expect);
    }

    #[test]
    fn a_token_is_masked_in_every_encoding() {
        check("no bot123456:AbC-secret_token here", "no bot*** here");
        check("AbC-secret_token", "***");
        check("ABC-SECRET_TOKEN", "***");
        check("/bot123456%3AAbC-secret_token/", "/bot***/");
        check("/bot123456%3aAbC%2Dsecret%5Ftoken/", "/bot***/");
        check("123456&#58;AbC-secret_token", "***");
        check("123456\\u003aAbC-secret_token", "***");
        let all = |f: fn(u8) -> String| TOKEN.bytes().map(f).collect::<String>();
        for form in [
            all(|byte| format!("{byte:02x}")),
            all(|byte| format!("{byte:02X}")),
            all(|byte| format!("%{byte:02x}")),
            all(|byte| format!("\\x{byte:02X}")),
        ] {
            check(&form, "***");
        }
        for before in ["", "a", "bot", "/bot", "Authorization: Bearer "] {
            let encoded = STANDARD.encode(format!("{before}{TOKEN} and more"));
            let shown = masked(&encoded, TOKEN);
            assert!(shown.contains(MASK), "{before}: {shown}");
            // The bytes around it are left.
            assert!(shown.len() <= encoded.len() - TOKEN.len(), "{before}: {shown}");
        }
    }

    #[test]
    fn other_words_stay() {
        for words in ["", "Bad Request: chat not found", "123456", "é token: ABC"] {
            check(words, words);
        }
        assert_eq!(masked("a word", ""), "a word");
    }

    #[test]
    fn the_innermost_cause_is_what_is_said() {
        let client = builder().build().expect("there is a client");
        for (url, expect) in
            [("http://", "empty host"), ("api/bot1:AbC", "relative URL without a base")]
        {
            let error = client.get(url).build().expect_err("it is no URL");
            assert_eq!(root_cause(&error), expect, "{url}");
        }
    }
}
