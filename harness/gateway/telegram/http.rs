//! The Bot API over HTTP (feature `telegram-http`).
//!
//! Parameters and results are the types of `frankenstein`, which are those of the Bot API one to
//! one: a call that can be written down here is one that Telegram knows. Of the two crates that
//! could serve, it follows the Bot API within weeks (0.52: Bot API 10.3); `teloxide-core` 0.13 is
//! at 9.1, holds an answer of 5xx back for ten seconds, and is 164 crates. The requests are made
//! with `reqwest`, as frankenstein's own client makes them, and not by that client: it does not
//! tell the HTTP status of an answer that is no JSON, which says whether a call may be made again,
//! its `Debug` prints the bot's token, and it panics where TLS can't be set up.
//!
//! | what comes back | what it is |
//! |---|---|
//! | `ok`, with the message | [`Sent`] |
//! | 429 | [`ApiError::RetryAfter`], `parameters.retry_after` or 5 s |
//! | 400 `message is not modified` | [`ApiError::NotModified`] |
//! | 500, 502, 503, JSON or a proxy's page | [`ApiError::Network`]: it says that nothing was done |
//! | no connection, no name, no TLS | [`ApiError::Network`]: nothing went out |
//! | anything else of 5xx, no answer in time, an answer that breaks off or can't be read | [`ApiError::Lost`] |
//! | any other status | [`ApiError::Other`] |

use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use frankenstein::ParseMode;
use frankenstein::methods::{EditMessageTextParams, SendChatActionParams, SendMessageParams};
use frankenstein::response::MethodResponse;
use frankenstein::types::{ChatAction, ChatId, MessageId};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use serde_json::Value;

use super::api::{Answer, ApiError, BotApi, Call, Method, Sent, Signal};

/// The address of Telegram's own Bot API server.
pub const TELEGRAM_SERVER: &str = "https://api.telegram.org";
/// Seconds to wait after a 429 that names none.
const WAIT: u64 = 5;
/// Characters of the server's own words that are passed on.
const WORDS_LIMIT: usize = 200;

/// A bot's token. Nothing prints it: `Debug` shows `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token as Telegram gave it, `123456:ABC…`.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Which bot writes to which chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Address of the Bot API server: [`TELEGRAM_SERVER`], or one of your own. It is `https`,
    /// unless it is this machine.
    pub server: String,
    /// The bot's token.
    pub token: Token,
    /// The chat's number, or `@name` of a public one.
    pub chat: String,
    /// How long one call may take; over 15 s counts as 15 s.
    pub timeout: Duration,
}

/// Why there is no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpSetupError {
    /// The address is none.
    #[error("{0} is no address of a Bot API server; name one like {TELEGRAM_SERVER}")]
    Address(String),
    /// The token would cross a network in the clear.
    #[error("{0} is not this machine, and without TLS all can read the token; use https")]
    InTheClear(String),
    /// The token is none.
    #[error("the bot's token is not of the form 123456:ABC; copy it from @BotFather again")]
    Token,
    /// TLS or the client can't be set up.
    #[error("no HTTP client can be made: {0}; check the machine's TLS certificates")]
    Client(String),
}

/// A client of the Bot API for one chat. `Debug` does not show the token.
#[derive(Debug, Clone)]
pub struct HttpApi {
    client: Client,
    /// The server's address, without a slash at its end.
    server: String,
    token: Token,
    chat: ChatId,
}

impl HttpApi {
    /// A client for `settings`. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The address or the token has not the form of one, or TLS can't be set up.
    pub fn new(settings: HttpSettings) -> Result<Self, HttpSetupError> {
        let HttpSettings { server, token, chat, timeout } = settings;
        let url = Url::parse(&server).map_err(|_| HttpSetupError::Address(server.clone()))?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let is_here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        match url.scheme() {
            "https" => {}
            "http" if is_here => {}
            "http" => return Err(HttpSetupError::InTheClear(server)),
            _ => return Err(HttpSetupError::Address(server)),
        }
        let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
        if !token.0.contains(':') || !token.0.chars().all(is_of_token) {
            return Err(HttpSetupError::Token);
        }
        // The process's own choice of cryptography stands, if it made one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect would carry the token to who knows where.
        let builder = Client::builder().redirect(Policy::none()).timeout(timeout);
        let builder = if is_here { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| HttpSetupError::Client(root(&error)))?;
        let chat = chat.parse().map_or(ChatId::String(chat), ChatId::Integer);
        Ok(Self { client, server: server.trim_end_matches('/').to_owned(), token, chat })
    }

    /// The JSON of `call`.
    fn body(&self, call: &Call) -> Result<String, ApiError> {
        let chat_id = self.chat.clone();
        let (text, parse_mode) = (call.text.clone(), ParseMode::Html);
        let body = match call.method {
            Method::SendMessage => {
                let params = SendMessageParams::builder().chat_id(chat_id).text(text);
                serde_json::to_string(&params.parse_mode(parse_mode).build())
            }
            Method::EditMessageText => {
                let id = call.message_id.and_then(|id| i32::try_from(id).ok());
                let id = id.ok_or_else(|| refused("an edit names no message"))?;
                let params = EditMessageTextParams::builder().chat_id(chat_id).message_id(id);
                serde_json::to_string(&params.text(text).parse_mode(parse_mode).build())
            }
        };
        body.map_err(|error| refused(&error.to_string()))
    }

    async fn make(&self, call: &Call) -> Result<Sent, ApiError> {
        let answer = self.post(call.method.as_str(), self.body(call)?).await?;
        let answer: Result<MethodResponse<MessageId>, _> = serde_json::from_str(&answer);
        let answer = answer.map_err(|_| ApiError::Lost("it can't be read".to_owned()))?;
        Ok(Sent { message_id: answer.result.message_id.into() })
    }

    /// Says that the agent is at work; the answer says nothing but that.
    async fn signal(&self) -> Result<(), ApiError> {
        let params = SendChatActionParams::builder().chat_id(self.chat.clone());
        let body = serde_json::to_string(&params.action(ChatAction::Typing).build());
        let body = body.map_err(|error| refused(&error.to_string()))?;
        self.post("sendChatAction", body).await.map(|_| ())
    }

    /// Posts `body` to `method`; what came back when it went well.
    async fn post(&self, method: &str, body: String) -> Result<String, ApiError> {
        let url = format!("{}/bot{}/{method}", self.server, self.token.0);
        let request = self.client.post(url).header("Content-Type", "application/json");
        let response = request.body(body).send().await.map_err(|error| {
            // Without a connection nothing went out.
            let lost = if error.is_connect() { ApiError::Network } else { ApiError::Lost };
            lost(self.words(&root(&error)))
        })?;
        let status = response.status();
        let answer = response.text().await.map_err(|error| self.unread(status, &error))?;
        if status.is_success() { Ok(answer) } else { Err(self.refusal(status, &answer)) }
    }

    /// What the answer `body` to a call that failed says.
    fn refusal(&self, status: StatusCode, body: &str) -> ApiError {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let code = body["error_code"].as_u64().unwrap_or_else(|| status.as_u16().into());
        let words = body["description"].as_str().map(|words| self.words(words));
        let words = words.unwrap_or_else(|| format!("HTTP {}", status.as_u16()));
        match code {
            429 => {
                let seconds = body["parameters"]["retry_after"].as_u64();
                ApiError::RetryAfter { seconds: seconds.unwrap_or(WAIT) }
            }
            400 if words.contains("message is not modified") => ApiError::NotModified,
            500 | 502 | 503 => ApiError::Network(words),
            501 | 504..=599 => ApiError::Lost(words),
            _ => ApiError::Other(words),
        }
    }

    /// What it means that the body of an answer did not come whole.
    fn unread(&self, status: StatusCode, error: &reqwest::Error) -> ApiError {
        match self.refusal(status, "") {
            _ if status.is_success() => ApiError::Lost(self.words(&root(error))),
            refusal => refusal,
        }
    }

    /// `words` that may be shown: short, and without the token.
    fn words(&self, words: &str) -> String {
        words.replace(&self.token.0, "***").chars().take(WORDS_LIMIT).collect()
    }
}

impl BotApi for HttpApi {
    fn call(&self, call: Call) -> Answer<'_> {
        Box::pin(async move { self.make(&call).await })
    }

    fn typing(&self) -> Signal<'_> {
        Box::pin(self.signal())
    }
}

fn refused(why: &str) -> ApiError {
    ApiError::Other(why.to_owned())
}

/// The first cause of `error`; the ones above it name the address, and with it the token.
fn root(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "none came in time".to_owned();
    }
    let mut cause = error.source();
    let mut words = "the request failed".to_owned();
    while let Some(error) = cause {
        words = error.to_string();
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(server: &str, token: &str) -> HttpSettings {
        HttpSettings {
            server: server.to_owned(),
            token: Token::new(token),
            chat: "42".to_owned(),
            timeout: Duration::from_secs(5),
        }
    }

    #[test]
    fn v6_a_client_needs_an_address_and_a_token() {
        use HttpSetupError as E;
        let cases = [
            ("https://api.telegram.org", "1:A", None),
            ("http://127.0.0.1:80/", "1:A-_b", None),
            ("http://[::1]:80", "1:A", None),
            ("http://localhost", "1:A", None),
            ("http://10.0.0.1", "1:A", Some(E::InTheClear("http://10.0.0.1".to_owned()))),
            ("ftp://localhost", "1:A", Some(E::Address("ftp://localhost".to_owned()))),
            ("api", "1:A", Some(E::Address("api".to_owned()))),
            ("http://localhost", "1A", Some(E::Token)),
            ("http://localhost", "1:A/../b", Some(E::Token)),
        ];
        for (server, token, expect) in cases {
            assert_eq!(HttpApi::new(settings(server, token)).err(), expect, "{server} {token}");
        }
    }

    #[test]
    fn v6_what_an_answer_says() {
        let api = HttpApi::new(settings("http://localhost", "1:AbC")).expect("there is a client");
        let other = |words: &str| ApiError::Other(words.to_owned());
        let cases = [
            (
                429,
                r#"{"error_code":429,"parameters":{"retry_after":7}}"#,
                ApiError::RetryAfter { seconds: 7 },
            ),
            (
                429,
                r#"{"error_code":429,"parameters":{"retry_after":99999}}"#,
                ApiError::RetryAfter { seconds: 99_999 },
            ),
            (429, "<html>", ApiError::RetryAfter { seconds: 5 }),
            (
                400,
                r#"{"error_code":400,"description":"Bad Request: message is not modified: specified"}"#,
                ApiError::NotModified,
            ),
            (
                400,
                r#"{"error_code":400,"description":"Bad Request: chat not found"}"#,
                other("Bad Request: chat not found"),
            ),
            (
                404,
                r#"{"error_code":404,"description":"no bot1:AbC here"}"#,
                other("no bot*** here"),
            ),
            (403, "", other("HTTP 403")),
            (302, "", other("HTTP 302")),
            (502, "<html><h1>Bad Gateway</h1>", ApiError::Network("HTTP 502".to_owned())),
            (
                500,
                r#"{"error_code":500,"description":"Internal Server Error"}"#,
                ApiError::Network("Internal Server Error".to_owned()),
            ),
            (504, "", ApiError::Lost("HTTP 504".to_owned())),
        ];
        for (status, body, expect) in cases {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(api.refusal(status, body), expect, "{status} {body}");
        }
    }
}
