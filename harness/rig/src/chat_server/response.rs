//! Parts of requests and responses that the paths of the server share.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// Answers with a status, a kind of content and a text.
pub(super) fn answer(status: u16, kind: &'static str, body: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, body.into()).into_response()
}

/// Returns whether a request is for this machine, so that no name of another site leads here.
pub(super) fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_socket = host.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    is_socket || ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}
