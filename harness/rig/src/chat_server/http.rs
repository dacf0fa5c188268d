//! The server's HTTP: the Bot API, the files, a person's acts, and the page.
//!
//! It listens on this machine alone. A page of another site in the same browser can't use it: the paths that
//! are not the bot's take requests for a loopback host alone, and a person's acts as JSON alone.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use super::answer::ApiError;
use super::call::{Reply, make};
use super::params::Params;
use super::response::answer;
use super::shared::Shared;
use super::{page, posted};

/// The most bytes of a request; a file that a bot sends may be as long.
const MAX_BODY: usize = 20 << 20;
/// The most connections at a time.
const MAX_CONNECTIONS: usize = 512;
/// How long the head of a request may take, the wait for it on an open connection included.
const HEAD_TIME: Duration = Duration::from_secs(300);

/// What ends the connection of a request.
type Cut = Arc<Notify>;

/// Accepts connections until the server stops.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let router = Router::new()
        .route("/", get(page::page))
        .route("/page.css", get(page::style))
        .route("/page.js", get(page::script))
        .route("/person/state", get(page::state))
        .route("/person/chat", get(posted::chat))
        .route("/person/say", post(posted::say))
        .route("/person/press", post(posted::press))
        .route("/{bot}/{method}", any(bot_call))
        .route("/file/{bot}/documents/{id}", get(file))
        .fallback(not_found)
        .with_state(shared.clone());
    let mut closed = shared.closings();
    let open = Arc::new(tokio::sync::Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closed.changed() => {
                // The server restarts: what comes now is reset.
                let until = *closed.borrow_and_update();
                refuse_until(&listener, until).await;
                continue;
            }
        };
        match accepted {
            Ok((socket, from)) if from.ip().is_loopback() => {
                let Ok(permit) = open.clone().try_acquire_owned() else {
                    shared.change(|state| {
                        state
                            .note(format!("more than {MAX_CONNECTIONS} connections; one is reset"));
                    });
                    continue;
                };
                let (router, closed) = (router.clone(), shared.closings());
                tokio::spawn(async move {
                    serve(socket, router, closed).await;
                    drop(permit);
                });
            }
            Ok(_) => {}
            // Too many open files, most likely: some will be closed.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Resets connections until a moment.
async fn refuse_until(listener: &TcpListener, until: Instant) {
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(until) => return,
            accepted = listener.accept() => {
                if let Ok((socket, _)) = accepted {
                    reset(socket);
                }
            }
        }
    }
}

/// Ends a connection without an answer.
fn reset(socket: TcpStream) {
    // Without the option the connection ends as well, with a plain end of the stream.
    let _ = socket.set_zero_linger();
    drop(socket);
}

/// Serves a connection until one of its requests cuts it, or the server closes all.
async fn serve(socket: TcpStream, router: Router, mut closed: watch::Receiver<Instant>) {
    // Without the option answers may come later, but they come.
    let _ = socket.set_nodelay(true);
    let (router, cut) = (TowerToHyperService::new(router), Cut::default());
    let mark = cut.clone();
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(mark.clone());
        router.call(request)
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        // A bot that hangs up is no failure.
        _ = &mut connection => return,
        () = cut.notified() => {}
        _ = closed.changed() => {}
    }
    reset(connection.into_parts().io.into_inner());
}

/// Answers a request to a path that is not there, as Telegram does.
async fn not_found() -> Response {
    let error = Reply::of(&Err(ApiError::new(404, "Not Found")));
    reply(error).unwrap_or_default()
}

/// Makes the response of a reply; none when the connection is to be cut.
fn reply(reply: Reply) -> Option<Response> {
    match reply {
        Reply::Answer(status, kind, body) => Some(answer(status, kind, body)),
        Reply::Cut => None,
    }
}

/// Checks the token in a path such as `bot4242:TEST`.
fn refused_token(shared: &Shared, bot: &str) -> Option<ApiError> {
    let token = bot.strip_prefix("bot");
    match token {
        None => Some(ApiError::new(404, "Not Found")),
        Some(token) => {
            let is_known = shared.read(|state| state.settings.token == token);
            (!is_known).then(|| ApiError::new(401, "Unauthorized"))
        }
    }
}

/// A call of the Bot API.
async fn bot_call(
    State(shared): State<Arc<Shared>>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    let cut = request.extensions().get::<Cut>().cloned();
    let made = bot_reply(shared, &bot, method, request).await;
    match (reply(made), cut) {
        (Some(response), _) => response,
        (None, Some(cut)) => {
            cut.notify_one();
            std::future::pending().await
        }
        (None, None) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Reads a call of the Bot API and makes it.
async fn bot_reply(shared: Arc<Shared>, bot: &str, method: String, request: Request) -> Reply {
    if let Some(error) = refused_token(&shared, bot) {
        shared.change(|state| state.note(format!("{method}: {}", error.description)));
        return Reply::of(&Err(error));
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        shared.change(|state| {
            let most = MAX_BODY >> 20;
            state.note(format!("{method}: the request broke off or is longer than {most} MiB"));
        });
        return Reply::of(&Err(ApiError::new(413, "Request Entity Too Large")));
    };
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match Params::read(head.uri.query().unwrap_or_default(), kind.unwrap_or_default(), &body) {
        Ok(params) => make(shared, method, params).await,
        Err(error) => {
            shared.change(|state| state.note(format!("{method}: {}", error.description)));
            Reply::of(&Err(error))
        }
    }
}

/// A file that the bot sent.
async fn file(
    State(shared): State<Arc<Shared>>,
    Path((bot, id)): Path<(String, String)>,
) -> Response {
    let found = shared.read(|state| state.files.get(&id).map(|file| file.bytes.clone()));
    match (refused_token(&shared, &bot), found) {
        (Some(error), _) => reply(Reply::of(&Err(error))).unwrap_or_default(),
        (None, Some(bytes)) => answer(200, "application/octet-stream", bytes),
        (None, None) => not_found().await,
    }
}
