//! The server's HTTP: the Bot API, the files, a person's acts, and the page.
//!
//! It listens on this machine only, and `guard` refuses requests from pages of other sites.

use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{any, get, post};
use clitape_gateway::ByteSize;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt as _;

use super::answer::ApiError;
use super::call::{Reply, make};
use super::connections::Connection;
use super::guard::guard;
use super::params::Params;
use super::response::{answer, answered, counted, not_found};
use super::shared::Shared;
use super::words::{WORD, cut};
use super::{page, posted};
use crate::kept::Held;

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
            .route("/person/chat", get(posted::chat))
            .route("/person/say", post(posted::say))
            .route("/person/press", post(posted::press));
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
