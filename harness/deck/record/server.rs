//! The scripted model behind a Messages API on loopback, in real time, on a thread of its own.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::answer::{INPUT_TOKENS, Writer};
use super::paced::Paced;
use super::request::Asked;
use super::sandbox::Folders;
use super::script::{Attempts, choose, complaint};
use crate::scenario::{FailureKind, Model};

/// A running server; stopped when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the server answers from.
struct Desk {
    script: Model,
    folders: Folders,
    attempts: Mutex<Attempts>,
    /// Told what was asked, when nobody scripted an answer.
    unscripted: Box<dyn Fn(String) + Send + Sync>,
}

const JSON: &str = "application/json";
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl Server {
    /// Starts to serve `script`; `unscripted` is told of every request that has no answer in it.
    pub(crate) fn start(
        script: Model,
        folders: Folders,
        unscripted: impl Fn(String) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let attempts = Mutex::default();
        let unscripted = Box::new(unscripted);
        let desk = Arc::new(Desk { script, folders, attempts, unscripted });
        let (stop, stopped) = oneshot::channel();
        let thread =
            std::thread::Builder::new().name("scripted-model".into()).spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = accept(listener, desk) => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&desk)));
        } else {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn serve(stream: TcpStream, desk: Arc<Desk>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(answer(&desk, request).await) }
    });
    // A client that goes away in the middle is the CLI's affair.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(desk: &Desk, request: Request<Incoming>) -> Response<Paced> {
    let (head, body) = request.into_parts();
    if head.method == Method::HEAD {
        return Response::new(Paced::at_once(""));
    }
    let body = body.collect().await.map(|body| body.to_bytes());
    let asked = match body {
        Ok(body) => Asked::parse(&body),
        Err(error) => Err(error.to_string()),
    };
    match (head.method.as_str(), head.uri.path()) {
        ("POST", "/v1/messages/count_tokens") => {
            let count = json!({ "input_tokens": INPUT_TOKENS });
            typed(JSON, Paced::at_once(count.to_string()))
        }
        ("POST", "/v1/messages") => match asked {
            Ok(asked) => message(desk, &head, &asked),
            Err(error) => unscripted(desk, format!("{}, unreadable: {error}", line(&head))),
        },
        _ => unscripted(desk, line(&head)),
    }
}

fn message(desk: &Desk, head: &Parts, asked: &Asked) -> Response<Paced> {
    let answer = {
        let mut attempts = desk.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        choose(&desk.script, asked, &mut attempts)
    };
    let Some(answer) = answer else {
        let path = head.uri.to_string();
        return unscripted(desk, complaint(&desk.script, head.method.as_str(), &path, asked));
    };
    let writer = Writer {
        script: &desk.script,
        folders: &desk.folders,
        answer: &answer,
        model: &asked.model,
    };
    let mut response = match answer.failure {
        Some(FailureKind::Http { status, error, headers }) => {
            let mut response = failed(*status, writer.error(error));
            for (name, value) in headers {
                let name = HeaderName::try_from(name.as_str());
                if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value.as_str())) {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
        _ if asked.stream => typed("text/event-stream; charset=utf-8", Paced::new(writer.stream())),
        Some(FailureKind::Event { error, .. }) => failed(error.kind.status(), writer.error(error)),
        Some(FailureKind::Drop { .. }) => typed(JSON, Paced::new(writer.lost())),
        None => typed(JSON, Paced::at_once(writer.whole())),
    };
    if let Ok(id) = HeaderValue::try_from(writer.request_id()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// An HTTP error with this body.
fn failed(status: u16, body: Bytes) -> Response<Paced> {
    let mut response = typed(JSON, Paced::at_once(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn line(head: &Parts) -> String {
    format!("{} {}", head.method, head.uri)
}

fn unscripted(desk: &Desk, what: String) -> Response<Paced> {
    let error = json!({
        "type": "error",
        "error": {"type": "api_error", "message": format!("nobody scripted {what}")},
    });
    (desk.unscripted)(what);
    let mut response = failed(500, error.to_string().into());
    let headers = response.headers_mut();
    headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    response
}

fn typed(kind: &'static str, body: Paced) -> Response<Paced> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests;
