//! The bot's token: random for each start, so that no page and no other program knows it, and never shown.

use std::borrow::Cow;
use std::io;

use rand::TryRng as _;
use rand::rngs::SysRng;
use serde_json::Value;

use super::settings::BOT_ID;

/// The characters of a token after its colon.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The characters after the colon in a token of Telegram.
const SECRET: usize = 35;
/// The text that takes the place of a random token's secret, so that two runs print the same.
const MASK: &str = "***";

/// A bot's token.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token {
    text: String,
    /// The part that is random; none of a token that the caller chose, which is the same in each run.
    secret: Option<String>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

impl Token {
    /// Takes the token that the caller chose.
    ///
    /// # Errors
    ///
    /// It can't be part of a path.
    pub(super) fn chosen(text: &str) -> io::Result<Self> {
        let is_token_char = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
        if !text.contains(':') || !text.chars().all(is_token_char) {
            let words = "the token is not of the form 4242:ABC, with letters, digits, - and _";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        Ok(Self { text: text.to_owned(), secret: None })
    }

    /// Makes a token that no other program can guess.
    ///
    /// # Errors
    ///
    /// The operating system has no random bytes.
    pub(super) fn random() -> io::Result<Self> {
        let mut random = [0; SECRET];
        SysRng.try_fill_bytes(&mut random).map_err(|error| {
            io::Error::other(format!("the system has no random bytes for the token: {error}"))
        })?;
        let secret = random.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
        let secret = String::from_iter(secret);
        Ok(Self { text: format!("{BOT_ID}:{secret}"), secret: Some(secret) })
    }

    /// Returns the token as the bot has it.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns a text without the random part of the token.
    pub(super) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.secret.as_deref().filter(|secret| text.contains(secret)) {
            Some(secret) => text.replace(secret, MASK).into(),
            None => text.into(),
        }
    }

    /// Masks the random part of the token in the texts of a value.
    pub(super) fn mask(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.masked(text) {
                    *text = masked;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.mask(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_random_token_differs_each_time_and_is_masked() {
        let [one, two] = [(); 2].map(|()| Token::random().unwrap());
        assert_ne!(one, two);
        assert!(
            Token::chosen(one.as_str()).is_ok() && one.as_str().len() == "4242:".len() + SECRET
        );
        let text = |token: &Token| format!("GET /bot{}/getMe failed", token.as_str());
        assert_eq!(one.masked(&text(&one)), "GET /bot4242:***/getMe failed");
        assert_eq!(one.masked(&text(&two)), text(&two));
        let mut value = json!({ "a": [text(&one)], "b": 7 });
        one.mask(&mut value);
        assert_eq!(value, json!({ "a": ["GET /bot4242:***/getMe failed"], "b": 7 }));
        assert_eq!(format!("{one:?}"), "***");
    }

    #[test]
    fn a_chosen_token_is_shown_as_it_is() {
        let chosen = Token::chosen("1:a").unwrap();
        assert_eq!(chosen.masked("a banana of 1:a"), "a banana of 1:a");
        for text in ["a", "1:a/b", "1:é", ""] {
            assert!(Token::chosen(text).unwrap_err().to_string().contains("4242:ABC"), "{text}");
        }
    }
}
