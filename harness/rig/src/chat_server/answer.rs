//! The Bot API's answer to a call: a result, or an error with Telegram's code and words.

use serde_json::{Value, json};

use super::words::{LINE, cut};

/// An error of the Bot API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    /// The HTTP status, which is also the answer's `error_code`.
    pub(super) code: u16,
    /// The `description` of the answer.
    pub(super) description: String,
    /// The seconds that a 429 asks the bot to wait.
    pub(super) retry_after: Option<u64>,
}

impl ApiError {
    /// Creates an error with this code, whose description is `words`.
    pub(super) fn new(code: u16, words: impl AsRef<str>) -> Self {
        // Cut, because the words may quote text that the bot sent.
        Self { code, description: cut(words.as_ref(), LINE).to_owned(), retry_after: None }
    }

    /// Creates a 400; its description begins with `Bad Request: `.
    pub(super) fn bad(words: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", words.as_ref()))
    }

    /// Creates a 429 that asks the bot to wait.
    pub(super) fn too_many(seconds: u64) -> Self {
        let words = format!("Too Many Requests: retry after {seconds}");
        Self { retry_after: Some(seconds), ..Self::new(429, words) }
    }

    /// Creates the error for an edit that changes nothing.
    pub(super) fn not_modified() -> Self {
        Self::bad(
            "message is not modified: specified new message content and reply markup are exactly \
             the same as a current content and reply markup of the message",
        )
    }

    /// Returns whether this is the error for an edit that changes nothing.
    pub(super) fn is_not_modified(&self) -> bool {
        self.description.contains("message is not modified")
    }

    /// Returns the JSON body of the answer.
    fn body(&self) -> Value {
        let mut body =
            json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(seconds) = self.retry_after {
            body["parameters"] = json!({ "retry_after": seconds });
        }
        body
    }
}

/// The result of a call.
pub(super) type ApiResult = Result<Value, ApiError>;

/// Returns the HTTP status and the body of an answer.
pub(super) fn wire(result: &ApiResult) -> (u16, String) {
    match result {
        Ok(value) => (200, json!({ "ok": true, "result": value }).to_string()),
        Err(error) => (error.code, error.body().to_string()),
    }
}
