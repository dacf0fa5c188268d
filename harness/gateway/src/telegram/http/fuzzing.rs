//! The client's reading of an answer, without a connection (feature `fuzzing`), for the fuzz target
//! `bot_api`.

use hyper::Response;

use super::{BotToken, HttpApi, HttpSettings, sent};
use crate::limits::{BOT_API_ANSWER, BOT_API_CALL};
use crate::telegram::http::TELEGRAM_SERVER;
use crate::telegram::{BotApiError, SentMessage};

/// A client that is given answers in place of asking for them.
#[derive(Debug)]
pub struct Answers(HttpApi);

impl Answers {
    /// A client of the bot with this token.
    ///
    /// # Panics
    ///
    /// If the token has not the form of one.
    #[allow(clippy::expect_used, reason = "a fuzz target that can't be set up fails")]
    pub fn new(token: &str) -> Self {
        let settings = HttpSettings {
            server: TELEGRAM_SERVER.to_owned(),
            token: BotToken::new(token),
            chat: "42".to_owned(),
            topic: None,
            timeout: BOT_API_CALL,
            max_answer: BOT_API_ANSWER,
        };
        Self(HttpApi::new(settings).expect("the token has the form of one"))
    }

    /// Returns the result of a call that is answered with this status and body.
    ///
    /// # Errors
    ///
    /// [`BotApiError`], as of the call.
    ///
    /// # Panics
    ///
    /// If the status is not one of 100 to 999.
    #[allow(clippy::expect_used, reason = "a fuzz target that can't be set up fails")]
    pub async fn read(&self, status: u16, body: Vec<u8>) -> Result<SentMessage, BotApiError> {
        let response = Response::builder().status(status).body(body);
        let response = response.expect("the status is one").into();
        self.0.answered(response).await.and_then(|answer| sent(&answer))
    }
}
