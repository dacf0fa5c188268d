//! The responses that several paths of the server give.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::answer::ApiError;
use super::call::Reply;
use crate::kept::Held;

/// The bytes of a body that are handed to a connection at a time.
const FRAME: usize = 64 << 10;

/// Builds a response from a status, a type of content and a body.
pub(super) fn answer(status: u16, kind: &'static str, body: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, body.into()).into_response()
}

/// Builds the response of a reply that is an answer.
pub(super) fn answered(reply: Reply) -> Response {
    match reply {
        Reply::Answer(status, kind, body) => answer(status, kind, body),
        Reply::Cut => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Builds Telegram's response for a path or file that does not exist.
pub(super) fn not_found() -> Response {
    answered(Reply::of(&Err(ApiError::new(404, "Not Found"))))
}

/// Builds a response whose body counts in the account until the connection has taken it, because a client may never
/// read it.
pub(super) fn counted(
    status: u16,
    kind: &'static str,
    body: impl Into<Bytes>,
    held: Held,
) -> Response {
    answer(status, kind, Body::new(CountedBody { rest: body.into(), _held: held }))
}

/// A body that counts in an account.
struct CountedBody {
    rest: Bytes,
    _held: Held,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.rest.len().min(FRAME);
        // A copy, so that a slow connection keeps one frame and not the whole body.
        let frame = Bytes::copy_from_slice(&self.rest.split_to(size));
        Poll::Ready((size > 0).then_some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
