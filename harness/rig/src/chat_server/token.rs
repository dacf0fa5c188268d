//! The bot's token: random at each start, so that no page and no other program knows it, and masked in all output.

use std::borrow::Cow;
use std::io;

use clitape_gateway::secret::SecretMask;
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde_json::Value;

use super::settings::BOT_ID;

/// The characters of a token behind its colon.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The number of characters behind the colon of Telegram's tokens.
const SECRET: usize = 35;

/// A bot's token.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token {
    text: String,
    /// The mask of the random part; `None` for a token that the caller chose, which is the same in each run.
    mask: Option<SecretMask>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Token {
    /// Returns the token that the caller chose.
    ///
    /// # Errors
    ///
    /// An error if it can't be part of a path.
    pub(super) fn chosen(text: &str) -> io::Result<Self> {
        let is_token_char = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
        if !text.contains(':') || !text.chars().all(is_token_char) {
            let words = "the token is not of the form 4242:ABC, with letters, digits, - and _";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        Ok(Self { text: text.to_owned(), mask: None })
    }

    /// Returns a random token, which no other program can guess.
    ///
    /// # Errors
    ///
    /// An error if the operating system has no random bytes.
    pub(super) fn random() -> io::Result<Self> {
        let mut random = [0; SECRET];
        SysRng.try_fill_bytes(&mut random).map_err(|error| {
            io::Error::other(format!("the system has no random bytes for the token: {error}"))
        })?;
        let secret = random.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
        let secret = String::from_iter(secret);
        Ok(Self { text: format!("{BOT_ID}:{secret}"), mask: Some(SecretMask::new(&secret)) })
    }

    /// Returns the token as the bot has it.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns a text in which the random part of the token is masked, in any encoding.
    pub(super) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.mask.as_ref().map_or(text.into(), |mask| mask.masked(text))
    }

    /// Masks the random part of the token in the texts and the names of a value.
    pub(super) fn mask(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.masked(text) {
                    *text = masked;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask(value)),
            Value::Object(map) => {
                map.values_mut().for_each(|value| self.mask(value));
                let has_token = |name: &String| matches!(self.masked(name), Cow::Owned(_));
                if map.keys().any(has_token) {
                    let members = std::mem::take(map).into_iter();
                    *map = members.map(|(key, value)| (self.masked(&key).into(), value)).collect();
                }
            }
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
    fn a_random_token_is_masked_in_every_encoding() {
        let token = Token::random().unwrap();
        let (_, secret) = token.as_str().split_once(':').unwrap();
        let each = |encode: fn(u8) -> String| secret.bytes().map(encode).collect::<String>();
        for form in [
            secret.to_owned(),
            secret.to_ascii_uppercase(),
            each(|byte| format!("%{byte:02x}")),
            each(|byte| format!("\\u{byte:04X}")),
            each(|byte| format!("\\x{byte:02x}")),
            each(|byte| format!("{byte:02X}")),
        ] {
            let text = format!("before {form} after");
            assert_eq!(token.masked(&text), "before *** after", "{form}");
            let mut value = json!({ text.as_str(): { "a": [text] } });
            token.mask(&mut value);
            let masked = "before *** after";
            assert_eq!(value, json!({ masked: { "a": [masked] } }), "{form}");
        }
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
