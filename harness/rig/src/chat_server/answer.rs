//! What the Bot API answers to a call: a result, or an error with Telegram's code and words.

use serde_json::{Value, json};

use super::words::{LINE, cut};

/// An error of the Bot API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    /// The HTTP status, and `error_code` of the answer.
    pub(super) code: u16,
    /// The words that the answer has.
    pub(super) description: String,
    /// The seconds that a 429 asks to wait.
    pub(super) retry_after: Option<u64>,
}

impl ApiError {
    /// Makes the error of this code, whose description is `words`.
    pub(super) fn new(code: u16, words: impl AsRef<str>) -> Self {
        // The words may quote what the bot sent.
        Self { code, description: cut(words.as_ref(), LINE).to_owned(), retry_after: None }
    }

    /// Makes a 400; its description begins with `Bad Request: `.
    pub(super) fn bad(words: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", words.as_ref()))
    }

    /// Makes a 429 that asks to wait.
    pub(super) fn too_many(seconds: u64) -> Self {
        let words = format!("Too Many Requests: retry after {seconds}");
        Self { retry_after: Some(seconds), ..Self::new(429, words) }
    }

    /// Makes the error that an edit without a change gets.
    pub(super) fn not_modified() -> Self {
        Self::bad(
            "message is not modified: specified new message content and reply markup are exactly \
             the same as a current content and reply markup of the message",
        )
    }

    /// Returns whether this is the error of an edit without a change.
    pub(super) fn is_not_modified(&self) -> bool {
        self.description.contains("message is not modified")
    }

    /// Returns the body of the answer.
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
