//! The server's HTTP: the Bot API, the files, a person's acts, and the page; and the guard in front of all paths.
//!
//! The server listens on this machine only, and the guard refuses requests that a web page of another site makes a
//! browser send. A browser on this machine reaches the server, and may show a page of any site. The browser's own
//! headers give such a request away: `Origin`, or `Sec-Fetch-Site` if it sends no `Origin`. A site whose name leads to
//! 127.0.0.1 (DNS rebinding) gives itself away by its name in `Host`. The guard covers every path, so that a new one
//! needs no check.
//!
//! The name of the Bot API is accepted on connections with TLS only, whose certificate no browser trusts.

use std::io::Read;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get, post};
use clitape_gateway::ByteSize;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt as _;

use super::call::{Reply, answer, answered, counted, make, not_found};
use super::connections::Connection;
use super::page;
use super::settings::BOT_API;
use super::state::Shared;
use super::wire::{ApiError, Params, WORD, cut};
use crate::limits::Held;

/// The least bytes of memory that a call counts for while it is under way.
const CALL: usize = 1 << 10;
/// The bytes of a compressed body that are unpacked at a time.
const PART: usize = 16 << 10;
/// The first bytes of gzip data.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Returns the routes of a server.
pub(super) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    if shared.read(|state| state.settings.serves_person) {
        router = router
            .route("/", get(page::page))
            .route("/page.css", get(page::style))
            .route("/page.js", get(page::script))
            .route("/person/state", get(page::state))
            .route("/person/chat", get(page::chat))
            .route("/person/say", post(page::say))
            .route("/person/press", post(page::press))
            .route("/person/stop", post(page::stop));
    }
    router
        .route("/{bot}/{method}", any(bot_call))
        .route("/file/{bot}/documents/{id}", get(file))
        .fallback(nowhere)
        .layer(from_fn_with_state(shared.clone(), guard))
        .with_state(shared.clone())
}

/// Answers a request for a path that the server does not have.
async fn nowhere(State(shared): State<Arc<Shared>>, uri: Uri) -> Response {
    let path = cut(uri.path(), WORD);
    shared.change(|state| state.note_refusal(&format!("{path}: Not Found")));
    not_found()
}

/// Checks the token in a path such as `bot4242:TEST`, and marks the connection as the bot's. Returns the refusal of a
/// wrong token.
fn refused_token(
    shared: &Shared,
    bot: &str,
    connection: Option<&Arc<Connection>>,
) -> Option<ApiError> {
    let Some(token) = bot.strip_prefix("bot") else { return Some(ApiError::new(404, "Not Found")) };
    if shared.read(|state| state.token.as_str() != token) {
        return Some(ApiError::new(401, "Unauthorized"));
    }
    if let Some(connection) = connection {
        connection.mark_as_bot();
    }
    None
}

/// Answers a call of the Bot API.
async fn bot_call(
    State(shared): State<Arc<Shared>>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    if let Some(error) = refused_token(&shared, &bot, connection.as_ref()) {
        shared.change(|state| {
            state.note_refusal(&format!("{}: {}", cut(&method, WORD), error.description));
        });
        return answered(Reply::of(&Err(error)));
    }
    let mut held = shared.held();
    let reply = match read(&shared, request, &mut held).await {
        Ok(params) => make(shared.clone(), method, params, held).await,
        Err(error) => {
            let name = cut(&method, WORD);
            shared.change(|state| state.note(&format!("{name}: {}", error.description)));
            Reply::of(&Err(error))
        }
    };
    match (reply, connection) {
        (Reply::Answer(status, kind, body), _) => {
            let mut held = shared.held();
            match held.try_keep(body.len()) {
                Ok(()) => counted(status, kind, body, held),
                Err(full) => answered(Reply::of(&Err(full.into()))),
            }
        }
        (Reply::Cut, Some(connection)) => {
            connection.cut();
            std::future::pending().await
        }
        (Reply::Cut, None) => answered(Reply::Cut),
    }
}

/// Reads the parameters of a call, and counts them in `held`.
async fn read(shared: &Shared, request: Request, held: &mut Held) -> Result<Params, ApiError> {
    let (head, mut body) = request.into_parts();
    let most = shared.read(|state| state.settings.limits.request);
    let mut bytes = Vec::new();
    held.try_keep(CALL)?;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ApiError::bad("the request broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        held.try_keep(data.len())?;
        bytes.extend_from_slice(&data);
        if most.is_below(bytes.len()) {
            return Err(too_large(most));
        }
    }
    let bytes = decompressed(&head.headers, bytes, most, held)?;
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let query = head.uri.query().unwrap_or_default();
    Params::read(query, kind.unwrap_or_default(), &bytes, held)
}

/// Returns the error for a request that is longer than the limit.
fn too_large(most: ByteSize) -> ApiError {
    let words = format!("it is longer than {most}; raise the limit with `--max-request`");
    ApiError::new(413, format!("Request Entity Too Large: {words}"))
}

/// Returns a body as it was before the bot compressed it, as grammY does on Bun. As with Telegram, both names of an
/// encoding stand for gzip and for zlib, and the first bytes decide. The result counts in `held`.
fn decompressed(
    headers: &HeaderMap,
    body: Vec<u8>,
    most: ByteSize,
    held: &mut Held,
) -> Result<Vec<u8>, ApiError> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    let encoding = encoding.map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
    let mut reader: Box<dyn Read> = match encoding.as_deref() {
        None | Some("" | "identity") => return Ok(body),
        Some("gzip" | "deflate") if body.starts_with(&GZIP) => {
            Box::new(MultiGzDecoder::new(&*body))
        }
        Some("gzip" | "deflate") => Box::new(ZlibDecoder::new(&*body)),
        Some(other) => {
            return Err(ApiError::new(
                415,
                format!(
                    "Unsupported Media Type: the Content-Encoding `{}` is unknown; use gzip, deflate or none",
                    cut(other, WORD)
                ),
            ));
        }
    };
    let (mut whole, mut part) = (Vec::new(), [0; PART]);
    loop {
        let broken = |_| ApiError::bad("the body is not what its Content-Encoding says");
        let size = reader.read(&mut part).map_err(broken)?;
        if size == 0 {
            return Ok(whole);
        }
        held.try_keep(size)?;
        whole.extend_from_slice(&part[..size]);
        if most.is_below(whole.len()) {
            return Err(too_large(most));
        }
    }
}

/// Answers with a file that the bot sent.
async fn file(
    State(shared): State<Arc<Shared>>,
    Path((bot, id)): Path<(String, String)>,
    request: Request,
) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>();
    if let Some(error) = refused_token(&shared, &bot, connection) {
        return answered(Reply::of(&Err(error)));
    }
    match shared.read(|state| state.files.get(&id).map(|file| file.bytes.clone())) {
        Some(bytes) => answer(200, "application/octet-stream", bytes),
        None => not_found(),
    }
}

/// Answers a request that may come from another site's page with 403, and passes on all others.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>();
    let is_tls = connection.is_some_and(|connection| connection.is_tls());
    let Err(words) = check(request.uri(), request.headers(), is_tls) else {
        return next.run(request).await;
    };
    shared.change(|state| state.note_refusal(&words));
    answered(Reply::of(&Err(ApiError::new(403, format!("Forbidden: {words}")))))
}

/// Checks the target and the origin of a request; the error says what to do.
fn check(uri: &Uri, headers: &HeaderMap, is_tls: bool) -> Result<(), String> {
    let texts = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    let hosts: Vec<&str> =
        texts(header::HOST).chain(uri.authority().map(Authority::as_str)).collect();
    if hosts.is_empty() {
        return Err("the request names no host; send the header `Host: 127.0.0.1`".to_owned());
    }
    if let Some(foreign) = hosts.iter().find(|host| !(is_local(host) || is_tls && is_bot_api(host)))
    {
        return Err(format!(
            "the request is for the host `{}`, and the chat server serves this machine alone; use \
             http://127.0.0.1 with its port",
            cut(foreign, WORD)
        ));
    }
    let is_own = |origin: &str| {
        let host = origin.strip_prefix("http://");
        host.is_some_and(|host| hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
    };
    if let Some(foreign) = texts(header::ORIGIN).find(|origin| !is_own(origin)) {
        return Err(format!(
            "the request comes from a web page of `{}`; call the chat server from a program, which sends no `Origin`",
            cut(foreign, WORD)
        ));
    }
    // Browsers send this header with every request to this machine, even with those without an `Origin`, such as links
    // and images. Other programs do not send it.
    let sites = &mut headers.get_all("sec-fetch-site").iter();
    if sites.any(|site| site != "same-origin" && site != "none") {
        return Err("the request comes from another web page; call the chat server from a program, or type its \
                    address in the browser"
            .to_owned());
    }
    Ok(())
}

/// Returns whether a host, with or without a port, is this machine.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let has_user = authority.as_str().contains('@');
    !has_user
        && (name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback()))
}

/// Returns whether a host, with or without a port, is that of the Bot API.
fn is_bot_api(host: &str) -> bool {
    let name = host.strip_suffix(":443").unwrap_or(host);
    name.eq_ignore_ascii_case(BOT_API)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_this_machine_or_foreign() {
        let check = |host: &str, expect: bool| assert_eq!(is_local(host), expect, "{host}");
        for host in [
            "127.0.0.1",
            "127.0.0.1:8081",
            "localhost:1",
            "LocalHost",
            "[::1]:80",
            "[::1]",
            "127.9.9.9:1",
        ] {
            check(host, true);
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8081",
            "127.0.0.1.evil.example:80",
            "127.0.0.1@evil.example",
            "evil@127.0.0.1",
            "localhost.evil.example",
            "0.0.0.0:80",
            "10.0.0.1",
            "[::2]:80",
            "[::ffff:10.0.0.1]",
            "a b",
        ] {
            check(host, false);
        }
    }

    #[test]
    fn the_host_of_the_bot_api_has_one_name() {
        for (host, expect) in [
            ("api.telegram.org", true),
            ("API.Telegram.org:443", true),
            ("api.telegram.org:80", false),
            ("api.telegram.org.evil.example", false),
            ("user@api.telegram.org", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(is_bot_api(host), expect, "{host}");
        }
    }
}
