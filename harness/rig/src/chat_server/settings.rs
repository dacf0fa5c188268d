//! The settings of a chat server, with the bot's token and the script of a person's acts.
//!
//! The token is random at each start, so that no page and no other program knows it, and it is masked in all output. A
//! script is a TOML file of `[[step]]`:
//!
//! ```toml
//! [[step]]
//! say = "Delete the log files"
//!
//! [[step]]
//! when = { shows = "Allow" }
//! after_ms = 500
//! press = "Allow"
//! ```
//!
//! `stop = true` presses the Stop button of the bot's draft.

use std::borrow::Cow;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clitape_gateway::secret::SecretMask;
use clitape_recording::toml_text::{TomlMistake, parse_toml};
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::Deserialize;
use serde_json::Value;

use super::faults::{Faults, PaceLimits};
use crate::limits::ChatServerLimits;

/// The host of the Bot API, for which a server answers on connections with TLS.
pub const BOT_API: &str = "api.telegram.org";

/// The id of the bot's user.
pub(super) const BOT_ID: i64 = 4_242;

/// The settings of a chat server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatServerSettings {
    /// The address to listen on, which must be of this machine alone; port 0 takes a free port.
    pub address: SocketAddr,
    /// The bot's token; a random one if `None`, so that no other program knows it.
    pub token: Option<String>,
    /// The bot's name in mentions, without `@`.
    pub bot_username: String,
    /// The time between the arrival of a call and its effect.
    pub latency: Duration,
    /// The limits on how often the bot may write.
    pub pace: PaceLimits,
    /// The calls that fail.
    pub faults: Faults,
    /// The chats that exist from the start; others begin with the person's first message.
    pub chats: Vec<i64>,
    /// True if private chats have topics.
    pub private_topics: bool,
    /// The time in which the bot may answer a press. The Bot API names none; an app asks for the answer for 60 s
    /// (<https://github.com/zhukov/webogram/issues/1129>), and a later one reaches nobody.
    pub press_time: Duration,
    /// The acts of a person, played once the bot is ready.
    pub script: Option<PersonScript>,
    /// True to serve the page and the paths under `/person/`, with which a person reads and writes by HTTP. They need
    /// no token, so that every program on this machine can use them.
    pub serves_person: bool,
    /// The limits on the data that the server accepts and keeps.
    pub limits: ChatServerLimits,
}

impl Default for ChatServerSettings {
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            token: None,
            bot_username: "clitape_test_bot".to_owned(),
            latency: Duration::from_millis(40),
            pace: PaceLimits::default(),
            faults: Faults::None,
            chats: Vec::new(),
            private_topics: false,
            press_time: Duration::from_secs(60),
            script: None,
            serves_person: true,
            limits: ChatServerLimits::DEFAULT,
        }
    }
}

/// The characters of a token behind its colon.
const TOKEN_CHARS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The number of characters behind the colon of Telegram's tokens.
const SECRET_CHARS: usize = 35;

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
        let mut random = [0; SECRET_CHARS];
        SysRng.try_fill_bytes(&mut random).map_err(|error| {
            io::Error::other(format!("the system has no random bytes for the token: {error}"))
        })?;
        let secret =
            random.map(|byte| char::from(TOKEN_CHARS[usize::from(byte) % TOKEN_CHARS.len()]));
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

/// The chat of a step that does not name one.
pub const SCRIPT_CHAT: i64 = 1_000;
/// The most steps of a script.
pub const MOST_STEPS: usize = 10_000;
/// The seconds that a step waits for its condition by default.
const STEP_WAIT_S: u64 = 60;

/// A script: the acts of a person, step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonScript {
    /// The steps, in order.
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<ScriptStep>,
}

/// A step: an act, and the condition for which it waits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptStep {
    /// The number of the chat; 1000 by default.
    #[serde(default = "script_chat")]
    pub(super) chat: i64,
    /// The number of the topic of a group.
    pub(super) topic: Option<i64>,
    /// The text that the person writes.
    pub(super) say: Option<String>,
    /// The label of the button that the person presses.
    pub(super) press: Option<String>,
    /// True to press the Stop button of the bot's draft.
    #[serde(default)]
    stop: bool,
    /// The milliseconds after the condition; 0 by default.
    #[serde(default)]
    pub(super) after_ms: u64,
    /// The condition for which the step waits; without it, the step before.
    pub(super) when: Option<StepCondition>,
}

fn script_chat() -> i64 {
    SCRIPT_CHAT
}

/// The condition for which a step waits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepCondition {
    /// The text to wait for, in a message of the bot or on one of its buttons.
    pub(super) shows: String,
    /// The seconds until it must come; 60 by default.
    within_s: Option<u64>,
}

impl StepCondition {
    /// Returns the time that the step waits for its condition.
    pub(super) fn within(&self) -> Duration {
        Duration::from_secs(self.within_s.unwrap_or(STEP_WAIT_S))
    }
}

/// An error in a script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is not TOML, or has unknown keys.
    #[error(transparent)]
    Toml(#[from] TomlMistake),
    /// The step with this number has several acts or none.
    #[error(
        "step {0} of the script needs one of `say`, `press` and `stop = true`, and not several"
    )]
    Act(usize),
    /// It has this many steps, which is too many.
    #[error("the script has {0} steps; {MOST_STEPS} are allowed")]
    Long(usize),
}

impl PersonScript {
    /// Reads a script from its text.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] says what is wrong with the script.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        let script: Self = parse_toml(text)?;
        if script.steps.len() > MOST_STEPS {
            return Err(ScriptError::Long(script.steps.len()));
        }
        let is_wrong = |step: &ScriptStep| {
            let acts = [step.say.is_some(), step.press.is_some(), step.stop];
            acts.into_iter().filter(|act| *act).count() != 1
        };
        match script.steps.iter().position(is_wrong) {
            Some(index) => Err(ScriptError::Act(index + 1)),
            None => Ok(script),
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
            Token::chosen(one.as_str()).is_ok()
                && one.as_str().len() == "4242:".len() + SECRET_CHARS
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

    #[test]
    fn a_script_is_read() {
        let text = "[[step]]\nsay = \"a\"\n[[step]]\npress = \"Allow\"\nafter_ms = 5\n\
                    when = { shows = \"Allow\", within_s = 3 }\n";
        let script = PersonScript::read(text).unwrap();
        assert_eq!(script.steps.len(), 2);
        assert_eq!(script.steps[1].when.as_ref().unwrap().within_s, Some(3));
    }

    #[test]
    fn what_is_wrong_with_a_script_is_said() {
        for (text, expect) in [
            (
                "[[step]]\nafter_ms = 1",
                "step 1 of the script needs one of `say`, `press` and `stop",
            ),
            ("[[step]]\nsay = \"a\"\npress = \"b\"", "not several"),
            ("[[step]]\nsay = \"a\"\nstop = true", "not several"),
            (
                "[[step]]\nsay = \"a\"\n[[step]]\nsays = \"a\"",
                "line 4: unknown field `says`, expected one of `chat`, `topic`, `say`, `press`, `stop`, `after_ms`, `when`; \
                 did you mean `say`?",
            ),
            (
                "[[step]]\nafter_ms = 'x'",
                "line 2: invalid type: string \"x\", expected a whole number",
            ),
            ("[[step]", "line 1: "),
        ] {
            let error = PersonScript::read(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        }
    }
}
