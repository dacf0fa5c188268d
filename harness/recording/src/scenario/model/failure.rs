//! Failures before a scripted message is there: HTTP errors, `error` events, lost
//! connections, in the words of the Messages API.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::Deserialize;

use crate::scenario::bounds;

/// `[[turn.failure]]`: the failure that a request gets instead of the message; it has one of `status`,
/// `error_after` and `drop_after`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "FailureFile")]
pub struct ModelFailure {
    /// The kind of failure.
    pub kind: ModelFailureKind,
    /// `times`: the number of requests in a row that get it; 1 by default.
    pub(super) times: NonZeroUsize,
}

/// The ways to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFailureKind {
    /// `status`: an HTTP error and no message.
    Http {
        /// The status code, 400 to 599.
        status: u16,
        /// `type` and `message`, the body.
        error: ModelApiError,
        /// `headers`, such as `retry-after`, by their names in lower case.
        headers: BTreeMap<String, String>,
    },
    /// `error_after`: the stream goes as far as this and then has an `error` event.
    Event {
        /// How far.
        after: Spot,
        /// `type` and `message` of the event.
        error: ModelApiError,
    },
    /// `drop_after`: the stream goes as far as this and then the connection is lost.
    Drop {
        /// How far.
        after: Spot,
    },
}

/// A place in the stream of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    /// `block`: the turn's block, from 1.
    pub block: NonZeroUsize,
    /// `deltas`: the scripted deltas of the block that still come, its `content_block_stop` not;
    /// the whole block comes when absent.
    pub deltas: Option<usize>,
}

/// An error in the shape of the Messages API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelApiError {
    /// `type`.
    pub kind: ErrorType,
    /// `message`: the text for the client.
    pub message: String,
}

/// The `type` of a [`ModelApiError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    /// The request makes no sense.
    InvalidRequestError,
    /// The key is not known.
    AuthenticationError,
    /// The account has no credit.
    BillingError,
    /// The key may not do this.
    PermissionError,
    /// There is no such model or path.
    NotFoundError,
    /// The request has too many bytes.
    RequestTooLarge,
    /// Too many requests or tokens.
    RateLimitError,
    /// Something broke on the other side.
    ApiError,
    /// The answer took too long.
    TimeoutError,
    /// There is too much to do at the moment.
    OverloadedError,
}

impl ErrorType {
    /// The word on the wire, and the status code that goes with it.
    fn wire(self) -> (&'static str, u16) {
        match self {
            Self::InvalidRequestError => ("invalid_request_error", 400),
            Self::AuthenticationError => ("authentication_error", 401),
            Self::BillingError => ("billing_error", 402),
            Self::PermissionError => ("permission_error", 403),
            Self::NotFoundError => ("not_found_error", 404),
            Self::RequestTooLarge => ("request_too_large", 413),
            Self::RateLimitError => ("rate_limit_error", 429),
            Self::ApiError => ("api_error", 500),
            Self::TimeoutError => ("timeout_error", 504),
            Self::OverloadedError => ("overloaded_error", 529),
        }
    }

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        self.wire().0
    }

    /// The HTTP status code that the API sends with it.
    pub fn status(self) -> u16 {
        self.wire().1
    }
}

/// The failure as it is written, before its keys are checked against each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureFile {
    status: Option<u16>,
    error_after: Option<Spot>,
    drop_after: Option<Spot>,
    #[serde(rename = "type")]
    kind: Option<ErrorType>,
    message: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default = "default_times")]
    times: NonZeroUsize,
}

impl TryFrom<FailureFile> for ModelFailure {
    type Error = String;

    fn try_from(file: FailureFile) -> Result<Self, String> {
        if file.status.is_none() && !file.headers.is_empty() {
            return Err("`headers` belong to a failure with `status`".into());
        }
        let error = match (file.kind, file.message) {
            (Some(kind), Some(message)) => Some(ModelApiError { kind, message }),
            (None, None) => None,
            _ => return Err("an error has both `type` and `message`; write the other one".into()),
        };
        let kind = match (file.status, file.error_after, file.drop_after) {
            (Some(status), None, None) => {
                let error = error.ok_or("a failure with `status` has `type` and `message` too")?;
                check_http(status, &file.headers)?;
                ModelFailureKind::Http { status, error, headers: file.headers }
            }
            (None, Some(after), None) => {
                let error =
                    error.ok_or("a failure with `error_after` has `type` and `message` too")?;
                ModelFailureKind::Event { after, error }
            }
            (None, None, Some(after)) => match error {
                None => ModelFailureKind::Drop { after },
                Some(_) => {
                    return Err("a lost connection says nothing; take `type` and `message` away, \
                                or write `error_after`"
                        .into());
                }
            },
            _ => {
                return Err("a failure has one of `status`, `error_after` and `drop_after`".into());
            }
        };
        bounds::within("times", u64::try_from(file.times.get()).unwrap_or(u64::MAX))?;
        Ok(Self { kind, times: file.times })
    }
}

fn check_http(status: u16, headers: &BTreeMap<String, String>) -> Result<(), String> {
    if !(400..600).contains(&status) {
        return Err(format!("`status = {status}` is no failure; write one from 400 to 599"));
    }
    check_headers(headers)
}

/// Refuses names and values that no header of HTTP can have.
pub(super) fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), String> {
    let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let value = |c: char| c.is_ascii_graphic() || c == ' ';
    match headers
        .iter()
        .find(|(n, v)| n.is_empty() || !n.chars().all(name) || !v.chars().all(value))
    {
        None => Ok(()),
        Some((n, v)) => Err(format!(
            "`{n}: {v}` is no header; a name has lower-case letters, digits and `-`, a value \
             plain ASCII"
        )),
    }
}

impl ModelFailureKind {
    /// Where it breaks the stream off, if it lets one begin.
    pub fn after(&self) -> Option<Spot> {
        match self {
            Self::Http { .. } => None,
            Self::Event { after, .. } | Self::Drop { after } => Some(*after),
        }
    }
}

pub(super) fn default_times() -> NonZeroUsize {
    NonZeroUsize::MIN
}
