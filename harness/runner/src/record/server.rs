//! The scripted model behind a Messages API on loopback, in real time, on a thread of its own.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use clitape_gateway::ByteSize;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
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
use super::script::{Attempts, RunStage, choose, complaint};
use crate::scenario::{Conversation, Model, ModelFailureKind};

/// A running server; stopped when dropped.
pub(crate) struct ModelServer {
    pub(crate) address: SocketAddr,
    desk: Arc<ModelState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The script from which the server answers.
struct ModelState {
    script: Model,
    folders: Folders,
    /// Bytes of a request.
    max_request: ByteSize,
    attempts: Mutex<Attempts>,
    run: Mutex<CurrentRun>,
}

/// The run of the scenario that asks at the moment.
#[derive(Default)]
struct CurrentRun {
    stage: RunStage,
    /// The body of its first request for a turn of the main conversation.
    first: Option<Bytes>,
    /// Called with a request that has no scripted answer.
    unscripted: Option<Box<dyn Fn(String) + Send>>,
}

const JSON: &str = "application/json";
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl ModelServer {
    /// Starts to serve `script`; a request may have `max_request` bytes.
    pub(crate) fn start(
        script: Model,
        folders: Folders,
        max_request: ByteSize,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (attempts, run) = (Mutex::default(), Mutex::default());
        let desk = Arc::new(ModelState { script, folders, max_request, attempts, run });
        let for_thread = Arc::clone(&desk);
        let (stop, stopped) = oneshot::channel();
        let thread =
            std::thread::Builder::new().name("scripted-model".into()).spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = accept(listener, for_thread) => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self { address, desk, stop: Some(stop), thread: Some(thread) })
    }

    /// From now on the requests are those of this run of the scenario; `unscripted` is called for
    /// every one that has no answer in the script.
    pub(crate) fn begin(&self, stage: RunStage, unscripted: impl Fn(String) + Send + 'static) {
        let unscripted = Some(Box::new(unscripted) as Box<_>);
        *self.desk.run() = CurrentRun { stage, first: None, unscripted };
    }

    /// The first request of the run for its own conversation; empty if there was none.
    pub(crate) fn first_request(&self) -> Bytes {
        self.desk.run().first.clone().unwrap_or_default()
    }
}

impl ModelState {
    fn run(&self) -> MutexGuard<'_, CurrentRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed by the panic hook.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, desk: Arc<ModelState>) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&desk)));
        } else {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn serve(stream: TcpStream, desk: Arc<ModelState>) {
    // Without this option the answers are only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(answer(&desk, request).await) }
    });
    // A connection that the CLI closes early is no error of the server.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(desk: &ModelState, request: Request<Incoming>) -> Response<Paced> {
    let (head, body) = request.into_parts();
    if head.method == Method::HEAD {
        return Response::new(Paced::at_once(""));
    }
    let limit = usize::try_from(desk.max_request.get()).unwrap_or(usize::MAX);
    let body = Limited::new(body, limit).collect().await.map(|body| body.to_bytes());
    let asked = match body {
        Ok(body) => Asked::parse(&body).map(|asked| (asked, body)),
        Err(error) if error.is::<LengthLimitError>() => {
            let most = desk.max_request;
            Err(format!("it is longer than {most}; raise the limit with `--max-request`"))
        }
        Err(error) => Err(error.to_string()),
    };
    match (head.method.as_str(), head.uri.path()) {
        ("POST", "/v1/messages/count_tokens") => {
            let count = json!({ "input_tokens": INPUT_TOKENS });
            typed(JSON, Paced::at_once(count.to_string()))
        }
        ("POST", "/v1/messages") => match asked {
            Ok((asked, body)) => message(desk, &head, &asked, &body),
            Err(error) => unscripted(desk, format!("{}, unreadable: {error}", line(&head))),
        },
        _ => unscripted(desk, line(&head)),
    }
}

fn message(desk: &ModelState, head: &Parts, asked: &Asked, body: &Bytes) -> Response<Paced> {
    let mut run = desk.run();
    let answer = {
        let mut attempts = desk.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        choose(&desk.script, asked, &run.stage, &mut attempts)
    };
    let Some(answer) = answer else {
        let what = complaint(&desk.script, &line(head), asked, &run.stage);
        drop(run);
        return unscripted(desk, what);
    };
    let is_of_another = |one: &Conversation| one.name == answer.conversation;
    if !answer.aside && !desk.script.conversations.iter().any(is_of_another) {
        run.first.get_or_insert_with(|| body.clone());
    }
    drop(run);
    let writer = Writer {
        script: &desk.script,
        folders: &desk.folders,
        answer: &answer,
        model: &asked.model,
    };
    let mut response = match answer.failure {
        Some(ModelFailureKind::Http { status, error, headers }) => {
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
        Some(ModelFailureKind::Event { error, .. }) => {
            failed(error.kind.status(), writer.error(error))
        }
        Some(ModelFailureKind::Drop { .. }) => typed(JSON, Paced::new(writer.lost())),
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

fn unscripted(desk: &ModelState, what: String) -> Response<Paced> {
    let error = json!({
        "type": "error",
        "error": {"type": "api_error", "message": format!("nobody scripted {what}")},
    });
    if let Some(tell) = &desk.run().unscripted {
        tell(what);
    }
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
