//! Serves the scripted model as a Messages API on loopback, in real time, on its own thread.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread::JoinHandle;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::ProcessError;
use clitape_process::threads::start;
use clitape_recording::clock;
use clitape_recording::scenario::{Model, ModelConversation, ModelFailureKind};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};

use super::answer::{INPUT_TOKENS, ResponseStep, Writer};
use super::attended::Alarm;
use super::script::{Attempts, ModelRequest, RunStage, choose, complaint};
use super::workspace::Folders;

/// A running server. Dropping it stops the server.
pub(crate) struct ModelServer {
    pub(crate) address: SocketAddr,
    /// Takes further sockets that wait for connections, such as one in the separate network of a confined CLI.
    pub(crate) listeners: UnboundedSender<std::net::TcpListener>,
    state: Arc<ModelState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The script and the progress of the server.
struct ModelState {
    script: Model,
    folders: Folders,
    /// The most bytes of a request.
    max_request: ByteSize,
    attempts: Mutex<Attempts>,
    run: Mutex<CurrentRun>,
}

/// The run of the scenario that sends requests at present.
#[derive(Default)]
struct CurrentRun {
    stage: RunStage,
    /// The body of its first request that belongs to the main conversation.
    first: Option<Bytes>,
    /// The callback for events that end the run.
    alarm: Option<Box<dyn Fn(Alarm) + Send>>,
}

const JSON: &str = "application/json";
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl ModelServer {
    /// Starts a server for `script`. A request may have at most `max_request` bytes.
    pub(crate) fn start(
        script: Model,
        folders: Folders,
        max_request: ByteSize,
    ) -> Result<Self, ProcessError> {
        clock::check()?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (listeners, further) = mpsc::unbounded_channel();
        // The receiver is still here, so that this can't fail.
        let _ = listeners.send(listener);
        let (attempts, run) = (Mutex::default(), Mutex::default());
        let state = Arc::new(ModelState { script, folders, max_request, attempts, run });
        let for_thread = Arc::clone(&state);
        let (stop, stopped) = oneshot::channel();
        let thread = start("scripted-model", move || {
            let _guard = PanicAlarm(Arc::clone(&for_thread));
            runtime.block_on(async {
                tokio::select! {
                    () = accept_all(further, for_thread) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, listeners, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Begins a run of the scenario: later requests belong to it. `alarm` is called for every request without an answer
    /// in the script, and when the server panics.
    pub(crate) fn begin(&self, stage: RunStage, alarm: impl Fn(Alarm) + Send + 'static) {
        let alarm = Some(Box::new(alarm) as Box<_>);
        *self.state.run() = CurrentRun { stage, first: None, alarm };
    }

    /// Returns the turns of the script that no request has asked for, each as a person finds it in model.toml.
    pub(crate) fn unasked(&self) -> Vec<String> {
        let attempts = self.state.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = self.state.script.all_turns().flat_map(|(name, turns)| {
            (1..=turns.len()).map(move |number| (name.to_owned(), number))
        });
        let unasked = turns.filter(|turn| !attempts.contains_key(turn));
        unasked.map(|(name, number)| format!("[[turn]] {number} of `{name}`")).collect()
    }

    /// Returns the body of the first request of the run for the main conversation; empty if there was none.
    pub(crate) fn first_request(&self) -> Bytes {
        self.state.run().first.clone().unwrap_or_default()
    }
}

impl ModelState {
    fn run(&self) -> MutexGuard<'_, CurrentRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alarm(&self, alarm: Alarm) {
        if let Some(report) = &self.run().alarm {
            report(alarm);
        }
    }
}

/// Raises an alarm when its thread panics; otherwise the CLI would wait for an answer until its own limit.
struct PanicAlarm(Arc<ModelState>);

impl Drop for PanicAlarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.alarm(Alarm::ModelPanicked);
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked, which the panic hook has printed.
            let _ = thread.join();
        }
    }
}

async fn accept_all(
    mut listeners: UnboundedReceiver<std::net::TcpListener>,
    state: Arc<ModelState>,
) {
    let mut accepting = JoinSet::new();
    loop {
        tokio::select! {
            Some(listener) = listeners.recv() => {
                // A socket that can't be used takes no connections; the CLI then reports that.
                if listener.set_nonblocking(true).is_ok()
                    && let Ok(listener) = TcpListener::from_std(listener)
                {
                    accepting.spawn(accept(listener, Arc::clone(&state)));
                }
            }
            // The runtime would keep a panic to its task; here it ends the thread, which raises the alarm.
            Some(Err(ended)) = accepting.join_next() => {
                if let Ok(panic) = ended.try_into_panic() {
                    std::panic::resume_unwind(panic);
                }
            }
            else => return,
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<ModelState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&state)))),
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            // The runtime keeps a panic to its connection.
            Some(ended) = connections.join_next() => {
                if ended.is_err_and(|error| error.is_panic()) {
                    state.alarm(Alarm::ModelPanicked);
                }
            }
        }
    }
}

async fn serve(stream: TcpStream, state: Arc<ModelState>) {
    // An error only makes the answers slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(answer(&state, request).await) }
    });
    // An error means that the CLI closed the connection early, which is allowed.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(state: &ModelState, request: Request<Incoming>) -> Response<Paced> {
    let (head, body) = request.into_parts();
    if head.method == Method::HEAD {
        return Response::new(Paced::at_once(""));
    }
    let limit = usize::try_from(state.max_request.get()).unwrap_or(usize::MAX);
    let body = Limited::new(body, limit).collect().await.map(|body| body.to_bytes());
    let asked = match body {
        Ok(body) => ModelRequest::parse(&body).map(|asked| (asked, body)),
        Err(error) if error.is::<LengthLimitError>() => {
            let most = state.max_request;
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
            Ok((asked, body)) => message(state, &head, &asked, &body),
            Err(error) => unscripted(state, format!("{}, unreadable: {error}", line(&head))),
        },
        _ => unscripted(state, line(&head)),
    }
}

fn message(
    state: &ModelState,
    head: &Parts,
    asked: &ModelRequest,
    body: &Bytes,
) -> Response<Paced> {
    let mut run = state.run();
    let answer = {
        let mut attempts = state.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        choose(&state.script, asked, &run.stage, &mut attempts)
    };
    let Some(answer) = answer else {
        let what = complaint(&state.script, &line(head), asked, &run.stage);
        drop(run);
        return unscripted(state, what);
    };
    let is_of_another = |one: &ModelConversation| one.name == answer.conversation;
    if !answer.aside && !state.script.conversations.iter().any(is_of_another) {
        run.first.get_or_insert_with(|| body.clone());
    }
    drop(run);
    let writer = Writer {
        script: &state.script,
        folders: &state.folders,
        answer: &answer,
        model: &asked.model,
    };
    let mut response = match answer.failure {
        Some(ModelFailureKind::Http { status, error, headers }) => {
            let mut response = failed(*status, writer.error(error));
            add_headers(&mut response, headers);
            response
        }
        _ if asked.stream => typed("text/event-stream; charset=utf-8", Paced::new(writer.stream())),
        Some(ModelFailureKind::Event { error, .. }) => {
            failed(error.kind.status(), writer.error(error))
        }
        Some(ModelFailureKind::Drop { .. }) => typed(JSON, Paced::new(writer.lost())),
        None => typed(JSON, Paced::at_once(writer.whole())),
    };
    if answer.failure.is_none() {
        add_headers(&mut response, &answer.turn.headers);
    }
    if let Ok(id) = HeaderValue::try_from(writer.request_id()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Adds the headers of the script, which were checked when it was read.
fn add_headers(response: &mut Response<Paced>, headers: &BTreeMap<String, String>) {
    for (name, value) in headers {
        let name = HeaderName::try_from(name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value.as_str())) {
            response.headers_mut().insert(name, value);
        }
    }
}

/// Returns an HTTP error with this body.
fn failed(status: u16, body: Bytes) -> Response<Paced> {
    let mut response = typed(JSON, Paced::at_once(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn line(head: &Parts) -> String {
    format!("{} {}", head.method, head.uri)
}

fn unscripted(state: &ModelState, what: String) -> Response<Paced> {
    let error = json!({
        "type": "error",
        "error": {"type": "api_error", "message": format!("nobody scripted {what}")},
    });
    state.alarm(Alarm::Unscripted(what));
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

/// A response body that sends its [`ResponseStep`]s one by one, each after a delay, or breaks off. A single step
/// without a delay is sent with its length.
struct Paced {
    steps: VecDeque<ResponseStep>,
    /// The timer for the next step.
    due: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(crate) fn new(steps: Vec<ResponseStep>) -> Self {
        Self { steps: steps.into(), due: None }
    }

    pub(crate) fn at_once(bytes: impl Into<Bytes>) -> Self {
        Self::new(vec![ResponseStep { delay: Duration::ZERO, bytes: Some(bytes.into()) }])
    }
}

impl Body for Paced {
    type Data = Bytes;
    /// Returns the error that makes the server close the connection inside the body.
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(step) = self.steps.front() else {
            return Poll::Ready(None);
        };
        let delay = step.delay;
        if !delay.is_zero() {
            let due = self.due.get_or_insert_with(|| Box::pin(sleep(delay)));
            ready!(due.as_mut().poll(context));
            self.due = None;
        }
        let step = self.steps.pop_front();
        Poll::Ready(step.map(|step| match step.bytes {
            Some(bytes) => Ok(Frame::data(bytes)),
            None => Err(io::ErrorKind::ConnectionAborted.into()),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.steps.front() {
            Some(ResponseStep { delay, bytes: Some(bytes) })
                if self.steps.len() == 1 && delay.is_zero() =>
            {
                SizeHint::with_exact(bytes.len() as u64)
            }
            _ => SizeHint::new(),
        }
    }
}

#[cfg(test)]
mod tests;
