//! The Bot API over HTTP (feature `telegram-http`).
//!
//! A call has the few parameters that a chat needs, as the Bot API (10.3) names them. The requests are made with `reqwest`: a
//! client of the whole Bot API keeps the HTTP status of an answer that isn't JSON to itself, and that says whether a call may be
//! made again.
//!
//! | answer | result |
//! |---|---|
//! | `ok`, with the message | [`SentMessage`] |
//! | `ok: false`, whatever the status | as its `error_code` and `description` say |
//! | 429 | [`BotApiError::RetryAfter`], `parameters.retry_after` or 5 s |
//! | 400 `message is not modified` | [`BotApiError::NotModified`] |
//! | 400 `can't parse entities` | [`BotApiError::Markup`] |
//! | 500, 502, 503, JSON or a proxy's page | [`BotApiError::Network`]: the call had no effect |
//! | no connection, no name, no TLS | [`BotApiError::Network`]: the call did not go out |
//! | anything else of 5xx, no answer in time, an answer that breaks off or can't be read | [`BotApiError::Lost`] |
//! | an answer over [`HttpSettings::max_answer`], with its status | as above; the words name the limit |
//! | any other status | [`BotApiError::Other`] |
//!
//! An answer is read piece by piece and never past the limit. The server's words are passed on
//! without the token, in whatever encoding they contain it.
//!
//! A call goes to `ADDRESS/botTOKEN/METHOD`. The address is checked before the token is added to it: with a query or a
//! fragment in the address the token would become a part of it, would be logged, and the call would be another one.

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::{Client, Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api::{
    BotApi, BotApiError, BotCall, BotMethod, Button, CallFuture, FILE_NAME, SentMessage,
    SignalFuture,
};
use super::caller::late;
use crate::limits::ByteSize;
use crate::secret::{builder, masked, root_cause};

#[cfg(feature = "fuzzing")]
pub mod fuzzing;

/// Seconds to wait after a 429 that names none.
const WAIT: u64 = 5;
/// The markup that a text is in.
const PARSE_MODE: &str = "HTML";
/// The topic General of a forum, which the Bot API does not take as the topic of a message.
const GENERAL: i64 = 1;
/// The kind of a body that is JSON.
const JSON: &str = "application/json";
/// Characters of the server's own words that are passed on.
const WORDS_LIMIT: usize = 200;

/// A bot's token. It is never printed: `Debug` shows `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct BotToken(String);

impl BotToken {
    /// The token as Telegram gave it, `123456:ABC…`.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }
}

impl fmt::Debug for BotToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The bot, its server, and the chat to which it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Address of the Bot API server: [`TELEGRAM_SERVER`], or one of your own. It is `https`,
    /// unless it is this machine.
    pub server: String,
    /// The bot's token.
    pub token: BotToken,
    /// The chat's number, or `@name` of a public one.
    pub chat: String,
    /// The topic of the chat to which it writes, as `message_thread_id` of the person's message names it; `None`
    /// for a chat without topics.
    pub topic: Option<i64>,
    /// The longest time of one call, its answer included ([`crate::limits::BOT_API_CALL`]).
    pub timeout: Duration,
    /// Bytes of an answer ([`crate::limits::BOT_API_ANSWER`]); a longer one is not read.
    pub max_answer: ByteSize,
}

/// An error of the client's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpSetupError {
    /// The address can't be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The token is none.
    #[error("the bot's token is not of the form 123456:ABC; copy it from @BotFather again")]
    Token,
    /// Certificates can't be checked.
    #[error(
        "the clock of this machine is before 1970, so that no certificate can be checked; set the clock"
    )]
    Clock,
    /// TLS or the client can't be set up.
    #[error("no HTTP client can be made: {0}; check the machine's TLS certificates")]
    Client(String),
}

/// Returns whether certificates can be checked at this time: `rustls` panics before 1970.
fn has_tls_at(now: SystemTime) -> bool {
    now >= UNIX_EPOCH
}

/// A client of the Bot API for one chat. `Debug` does not show the token.
#[derive(Debug, Clone)]
pub struct HttpApi {
    client: Client,
    /// The server's address, without a slash at its end.
    server: String,
    token: BotToken,
    chat: ChatId,
    topic: Option<i64>,
    timeout: Duration,
    max_answer: ByteSize,
}

impl HttpApi {
    /// Makes a client for `settings`, without a call.
    ///
    /// # Errors
    ///
    /// The address or the token has not the form of one, or TLS can't be set up.
    pub fn new(settings: HttpSettings) -> Result<Self, HttpSetupError> {
        let HttpSettings { server, token, chat, topic, timeout, max_answer } = settings;
        let (server, is_here) = server_address(&server)?;
        let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
        if !token.0.contains(':') || !token.0.chars().all(is_of_token) {
            return Err(HttpSetupError::Token);
        }
        if server.starts_with("https:") && !has_tls_at(SystemTime::now()) {
            return Err(HttpSetupError::Clock);
        }
        let builder = builder().timeout(timeout);
        let builder = if is_here { builder.no_proxy() } else { builder };
        let client = builder
            .build()
            .map_err(|error| HttpSetupError::Client(root_cause(&error.without_url())))?;
        let chat = chat.parse().map_or(ChatId::Name(chat), ChatId::Number);
        Ok(Self { client, server, token, chat, topic, timeout, max_answer })
    }

    /// The body of `call`, and what kind it is: JSON, or a form where it brings a file.
    fn body(&self, call: &BotCall) -> Result<(String, String), BotApiError> {
        let message_id = match call.method {
            BotMethod::SendMessage => None,
            BotMethod::EditMessageText => {
                Some(call.message_id.ok_or_else(|| refused("an edit names no message"))?)
            }
            BotMethod::SendDocument => return Ok(self.form(call)),
        };
        let is_new = message_id.is_none();
        let body = json(&TextParams {
            chat_id: &self.chat,
            message_id,
            message_thread_id: self.message_topic().filter(|_| is_new),
            reply_parameters: reply(call).filter(|_| is_new),
            text: &call.text,
            parse_mode: PARSE_MODE,
            reply_markup: keyboard(&call.buttons),
        });
        Ok((JSON.to_owned(), body))
    }

    /// The topic of a new message: one in General names none.
    fn message_topic(&self) -> Option<i64> {
        self.topic.filter(|topic| *topic != GENERAL)
    }

    /// The multipart form of a call that brings a file, which is its last part.
    fn form(&self, call: &BotCall) -> (String, String) {
        let file = call.file.as_deref().unwrap_or_default();
        let boundary = (0..)
            .map(|number: u64| format!("clitape-{number}"))
            .find(|boundary| [file, &call.text].iter().all(|text| !text.contains(boundary)))
            .unwrap_or_default();
        let chat = match &self.chat {
            ChatId::Number(chat) => chat.to_string(),
            ChatId::Name(chat) => chat.clone(),
        };
        let named = format!(
            "document\"; filename=\"{FILE_NAME}\"\r\nContent-Type: text/plain; charset=utf-8"
        );
        let topic = self.message_topic().map(|topic| topic.to_string());
        let reply = reply(call).map(|reply| json(&reply));
        let parts = [
            ("chat_id\"", Some(chat.as_str())),
            ("message_thread_id\"", topic.as_deref()),
            ("reply_parameters\"", reply.as_deref()),
            ("caption\"", Some(&call.text)),
            ("parse_mode\"", Some(PARSE_MODE)),
            (&named, Some(file)),
        ];
        let part = |(head, text): (&str, Option<&str>)| {
            let text = text?;
            Some(format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{head}\r\n\r\n{text}\r\n"
            ))
        };
        let body: String = parts.into_iter().filter_map(part).collect();
        (format!("multipart/form-data; boundary={boundary}"), format!("{body}--{boundary}--\r\n"))
    }

    async fn make(&self, call: &BotCall) -> Result<SentMessage, BotApiError> {
        let (kind, body) = self.body(call)?;
        let answer = self.post(call.method.as_str(), &kind, body).await?;
        sent(&answer)
    }

    /// Sends the sign that the agent is at work.
    async fn signal(&self) -> Result<(), BotApiError> {
        let body = json(&ActionParams {
            chat_id: &self.chat,
            message_thread_id: self.topic,
            action: "typing",
        });
        self.post("sendChatAction", JSON, body).await.map(|_| ())
    }

    /// Posts `body` to `method`, and returns the answer if the call went well.
    async fn post(&self, method: &str, kind: &str, body: String) -> Result<String, BotApiError> {
        let url = format!("{}/bot{}/{method}", self.server, self.token.0);
        let request = self.client.post(url).header("Content-Type", kind);
        let response = request.body(body).send().await.map_err(|error| {
            // Without a connection the request did not go out.
            let lost = if error.is_connect() { BotApiError::Network } else { BotApiError::Lost };
            lost(self.why(error))
        })?;
        self.answered(response).await
    }

    /// Returns the answer if the call went well.
    async fn answered(&self, response: Response) -> Result<String, BotApiError> {
        let status = response.status();
        match self.read(response).await {
            Ok(answer) if status.is_success() && !is_refusal(&answer) => Ok(answer),
            Ok(answer) => Err(self.refusal(status, &answer)),
            Err(AnswerFailure::Broken(why)) if status.is_success() => {
                Err(BotApiError::Lost(self.words(&why)))
            }
            Err(AnswerFailure::Broken(_)) => Err(self.refusal(status, "")),
            Err(AnswerFailure::TooLong) => Err(self.overlong(status)),
        }
    }

    /// Returns the error that the answer `body` to a call that failed reports.
    fn refusal(&self, status: StatusCode, body: &str) -> BotApiError {
        // An answer other than JSON, such as a page of a proxy, has no fields; its status counts.
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let code = body["error_code"].as_u64().unwrap_or_else(|| status.as_u16().into());
        let words = body["description"].as_str().map(|words| self.words(words));
        let words = words.unwrap_or_else(|| format!("HTTP {}", status.as_u16()));
        failure(code, words, seconds(&body["parameters"]["retry_after"]))
    }

    /// Returns the error for an answer that is longer than any of the Bot API: its status counts.
    fn overlong(&self, status: StatusCode) -> BotApiError {
        let status = status.as_u16();
        let words = format!(
            "the answer (HTTP {status}) is longer than {}, the most that `--api-max-answer` allows",
            self.max_answer
        );
        match failure(status.into(), words.clone(), None) {
            BotApiError::Other(_) if (200..300).contains(&status) => BotApiError::Lost(words),
            failure => failure,
        }
    }

    /// Reads the whole answer and keeps no more of it than the limit.
    async fn read(&self, mut response: Response) -> Result<String, AnswerFailure> {
        let mut bytes = Vec::new();
        while let Some(piece) =
            response.chunk().await.map_err(|error| AnswerFailure::Broken(self.why(error)))?
        {
            if self.max_answer.is_below(bytes.len() + piece.len()) {
                return Err(AnswerFailure::TooLong);
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The reason why the answer is missing, in words that may be shown.
    fn why(&self, error: reqwest::Error) -> String {
        if error.is_timeout() {
            return late(self.timeout);
        }
        self.words(&root_cause(&error.without_url()))
    }

    /// `words` that may be shown: short, and without the token.
    fn words(&self, words: &str) -> String {
        masked(words, &self.token.0).chars().take(WORDS_LIMIT).collect()
    }
}

impl BotApi for HttpApi {
    fn call(&self, call: BotCall) -> CallFuture<'_> {
        Box::pin(async move { self.make(&call).await })
    }

    fn typing(&self) -> SignalFuture<'_> {
        Box::pin(self.signal())
    }
}

/// The reason why an answer was not read to its end.
enum AnswerFailure {
    /// It broke off, or took too long.
    Broken(String),
    /// It is longer than [`HttpSettings::max_answer`].
    TooLong,
}

/// The chat of a call.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum ChatId {
    Number(i64),
    Name(String),
}

/// The parameters of `sendMessage`, and of `editMessageText` with a message's number.
#[derive(Serialize)]
struct TextParams<'a> {
    chat_id: &'a ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_parameters: Option<ReplyParameters>,
    text: &'a str,
    parse_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_markup: Option<InlineKeyboard<'a>>,
}

/// The message to which a new one replies.
#[derive(Serialize)]
struct ReplyParameters {
    message_id: i64,
    /// The person may have deleted it meanwhile.
    allow_sending_without_reply: bool,
}

/// The parameters of `sendChatAction`.
#[derive(Serialize)]
struct ActionParams<'a> {
    chat_id: &'a ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<i64>,
    action: &'static str,
}

/// The buttons below a message, row by row.
#[derive(Serialize)]
struct InlineKeyboard<'a> {
    inline_keyboard: Vec<Vec<InlineButton<'a>>>,
}

#[derive(Serialize)]
struct InlineButton<'a> {
    text: &'a str,
    callback_data: &'a str,
}

/// The answer to a call that went well.
#[derive(Deserialize)]
struct SendResponse {
    result: AnswerMessage,
}

#[derive(Deserialize)]
struct AnswerMessage {
    message_id: i64,
}

#[allow(clippy::expect_used, reason = "texts and numbers have a form in JSON")]
fn json(params: &impl Serialize) -> String {
    serde_json::to_string(params).expect("the parameters of a call are texts and numbers")
}

fn reply(call: &BotCall) -> Option<ReplyParameters> {
    let to = |message_id| ReplyParameters { message_id, allow_sending_without_reply: true };
    call.reply_to.map(to)
}

/// The buttons below a message; none where there are none.
fn keyboard(rows: &[Vec<Button>]) -> Option<InlineKeyboard<'_>> {
    let inline_keyboard = rows.iter().map(|row| {
        row.iter()
            .map(|button| InlineButton { text: &button.text, callback_data: &button.data })
            .collect()
    });
    let inline_keyboard = inline_keyboard.collect();
    (!rows.is_empty()).then_some(InlineKeyboard { inline_keyboard })
}

/// The message in the answer to a call that went well.
fn sent(answer: &str) -> Result<SentMessage, BotApiError> {
    let answer: SendResponse = serde_json::from_str(answer)
        .map_err(|_| BotApiError::Lost("it can't be read".to_owned()))?;
    Ok(SentMessage { message_id: answer.result.message_id })
}

/// Returns whether an answer says that the call failed.
fn is_refusal(answer: &str) -> bool {
    #[derive(Deserialize)]
    struct ResponseHead {
        ok: bool,
    }
    serde_json::from_str::<ResponseHead>(answer).is_ok_and(|head| !head.ok)
}

/// A number of seconds, however large; one that is none counts as absent.
fn seconds(value: &Value) -> Option<u64> {
    // The cast keeps to the range of the type.
    let rounded = || value.as_f64().filter(|n| *n >= 0.0).map(|n| n.ceil() as u64);
    value.as_u64().or_else(rounded)
}

/// Returns the error of the Bot API with this code.
fn failure(code: u64, words: String, retry_after: Option<u64>) -> BotApiError {
    match code {
        429 => BotApiError::RetryAfter { seconds: retry_after.unwrap_or(WAIT) },
        400 if words.contains("message is not modified") => BotApiError::NotModified,
        400 if words.contains("can't parse entities") => BotApiError::Markup(words),
        500 | 502 | 503 => BotApiError::Network(words),
        501 | 504..=599 => BotApiError::Lost(words),
        _ => BotApiError::Other(words),
    }
}

fn refused(why: &str) -> BotApiError {
    BotApiError::Other(why.to_owned())
}

/// The address of Telegram's own Bot API server.
pub const TELEGRAM_SERVER: &str = "https://api.telegram.org";

/// An error of the address of a Bot API server. None of its sentences repeats a part of the address
/// that may contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is not a URL with a host.
    #[error(
        "the address of the Bot API server is no URL with a host; name one like {TELEGRAM_SERVER}"
    )]
    NoUrl,
    /// It is of another scheme than HTTP.
    #[error(
        "the address of the Bot API server is of `{0}`; it must begin with https://, or with \
         http:// if it is on this machine"
    )]
    Scheme(String),
    /// It has something that must not be there.
    #[error(
        "the address of the Bot API server {server} has {part}; take it away, a path is the most \
         it may have"
    )]
    Part {
        /// Scheme and host.
        server: String,
        /// The part that must go.
        part: &'static str,
    },
    /// The token would cross a network unencrypted.
    #[error("{0} is not this machine, and without TLS all can read the token; use https")]
    InTheClear(String),
}

/// Returns the address without a slash at its end, and `true` if it is of this machine.
fn server_address(address: &str) -> Result<(String, bool), AddressError> {
    let url = Url::parse(address).map_err(|_| AddressError::NoUrl)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme(url.scheme().to_owned()));
    }
    let host = url.host_str().ok_or(AddressError::NoUrl)?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let server = format!("{}://{host}{port}", url.scheme());
    let parts = [
        ("a user's name or password", !url.username().is_empty() || url.password().is_some()),
        ("a query (`?…`)", url.query().is_some()),
        ("a fragment (`#…`)", url.fragment().is_some()),
    ];
    if let Some((part, _)) = parts.into_iter().find(|(_, is_there)| *is_there) {
        return Err(AddressError::Part { server, part });
    }
    let bare = host.trim_matches(['[', ']']);
    let is_here = bare == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    if url.scheme() == "http" && !is_here {
        return Err(AddressError::InTheClear(server));
    }
    Ok((url.as_str().trim_end_matches('/').to_owned(), is_here))
}

#[cfg(test)]
mod tests;
