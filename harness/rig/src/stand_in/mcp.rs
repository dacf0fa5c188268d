//! Asks a tool of an MCP server for permissions, as `--permission-prompt-tool mcp__SERVER__TOOL` wants it. It starts
//! the server of that name in `--mcp-config`, or connects to it, and calls the tool with the question that the CLI
//! would put to the host.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use clitape_gateway::sse::{SseDecoder, TooLong};
use clitape_process::threads::{NoMoreThreads, start};
use clitape_recording::files;
use clitape_recording::wire::{ControlResponse, PermissionQuestion};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1 as client;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::InvalidUri;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

/// The version of the protocol that the CLI uses.
const PROTOCOL: &str = "2025-11-25";
/// The most bytes of a server's message.
const LONGEST_MESSAGE: u64 = 32 << 20;
/// The header with the session of a connection.
const SESSION: &str = "mcp-session-id";
/// The code of JSON-RPC for a method that a side does not have.
const NO_METHOD: i64 = -32601;

/// A reason why a server gives no result.
#[derive(Debug, thiserror::Error)]
enum McpError {
    #[error("the stand-in speaks only with MCP servers that have a `command` or a `url`")]
    NoWay,
    #[error("the stand-in speaks only with MCP servers of this machine, and not with {0}")]
    OtherMachine(String),
    #[error("the server ended before it answered `{0}`")]
    Ended(String),
    #[error("the server answered `{method}` with the error {error}")]
    Failed { method: String, error: Value },
    #[error("the server answered {uri} with {status}")]
    Status { uri: Uri, status: StatusCode },
    #[error("{0}")]
    Body(Box<dyn Error + Send + Sync>),
    #[error(transparent)]
    Stream(#[from] TooLong),
    #[error(transparent)]
    Url(#[from] InvalidUri),
    #[error(transparent)]
    Request(#[from] hyper::http::Error),
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A value of `--mcp-config`, parsed.
#[derive(Deserialize)]
struct McpConfig {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Server>,
}

/// A server of `--mcp-config`.
#[derive(Deserialize, Clone)]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// A question of the CLI for the tool.
#[derive(Debug)]
pub(super) struct Ask {
    /// The id of the request in the recording.
    pub(super) request_id: String,
    /// The question with the live ids.
    pub(super) question: PermissionQuestion,
}

/// A line in place of the host's answer, or the reason why none comes.
pub(super) type Answered = Result<Vec<u8>, String>;

/// A tool, called on a separate thread, one question after another.
#[derive(Debug)]
pub(super) struct PermissionTool {
    asks: Sender<Ask>,
}

impl PermissionTool {
    /// Looks the server up in the values of `--mcp-config` and starts the thread, which calls `answered` with each
    /// answer.
    pub(super) fn start(
        configs: &[String],
        server: &str,
        tool: &str,
        answered: impl FnMut(Answered) + Send + 'static,
    ) -> Result<Self, String> {
        let found = configs.iter().find_map(|config| read(config).remove(server));
        let Some(found) = found else {
            return Err(format!(
                "--permission-prompt-tool names the MCP server `{server}`, which is in no --mcp-config"
            ));
        };
        let (asks, questions) = channel();
        let (name, tool) = (format!("mcp__{server}__{tool}"), tool.to_owned());
        let worker = move || serve(&found, &name, &tool, &questions, answered);
        start("mcp", worker).map_err(|NoMoreThreads { .. }| {
            "the system lets no thread start that asks the MCP server".to_owned()
        })?;
        Ok(Self { asks })
    }

    /// Passes a question to the thread.
    pub(super) fn ask(&self, ask: Ask) {
        // A thread that has ended has reported the reason.
        let _ = self.asks.send(ask);
    }
}

/// Returns the servers of a configuration, given as JSON or as the path of a JSON file; none if it can't be read.
fn read(config: &str) -> BTreeMap<String, Server> {
    let text = match config.trim_start().starts_with('{') {
        true => Some(config.as_bytes().to_vec()),
        false => files::read(Path::new(config)).ok(),
    };
    let config = text.and_then(|text| serde_json::from_slice::<McpConfig>(&text).ok());
    config.map(|config| config.servers).unwrap_or_default()
}

/// Answers questions until the sender is dropped.
fn serve(
    server: &Server,
    name: &str,
    tool: &str,
    questions: &Receiver<Ask>,
    mut answered: impl FnMut(Answered),
) {
    let mut connection = None;
    while let Ok(ask) = questions.recv() {
        let answer = answer(&mut connection, server, tool, &ask);
        let line = answer.map(|answer| {
            ControlResponse::success(&ask.request_id, &answer).to_string().into_bytes()
        });
        let has_failed = line.is_err();
        answered(line.map_err(|why| format!("the permission tool {name} gave no answer: {why}")));
        if has_failed {
            return;
        }
    }
}

/// Calls the tool once; starts the server before the first question.
fn answer(
    connection: &mut Option<McpConnection>,
    server: &Server,
    tool: &str,
    ask: &Ask,
) -> Result<Value, String> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(McpConnection::start(server).map_err(|why| why.to_string())?),
    };
    let PermissionQuestion { tool_name, tool_use_id, input, .. } = &ask.question;
    let result = connection.call(
        "tools/call",
        &json!({
            "name": tool,
            "arguments": {"tool_name": tool_name, "input": input, "tool_use_id": tool_use_id},
            "_meta": {"claudecode/toolUseId": tool_use_id},
        }),
    );
    let result = result.map_err(|why| why.to_string())?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    match answer["behavior"].as_str() {
        Some("allow" | "deny") if result["isError"] != true => Ok(answer),
        _ => Err(format!(
            "its text must be JSON with `behavior`, `allow` or `deny`, and is {}",
            if text.is_empty() { "empty" } else { text }
        )),
    }
}

/// A connection to a server that speaks JSON-RPC.
struct McpConnection {
    wire: Wire,
    next_id: u64,
}

/// The transport of a connection.
enum Wire {
    /// A program that the stand-in started, with one message a line on its stdin and stdout.
    Pipes(Pipes),
    /// A server of this machine, by the protocol's "streamable HTTP".
    Http(Box<Http>),
}

impl McpConnection {
    fn start(server: &Server) -> Result<Self, McpError> {
        let wire = match (&server.command, &server.url) {
            (Some(command), _) => Wire::Pipes(Pipes::start(command, server)?),
            (None, Some(url)) => Wire::Http(Box::new(Http::to(url, server)?)),
            (None, None) => return Err(McpError::NoWay),
        };
        let mut connection = Self { wire, next_id: 0 };
        let client = json!({"name": "claude-code", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client});
        connection.call("initialize", &hello)?;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        match &mut connection.wire {
            Wire::Pipes(pipes) => pipes.write(&ready)?,
            Wire::Http(http) => drop(http.post(&ready, |_| None)?),
        }
        Ok(connection)
    }

    /// Calls a method and waits for its result.
    fn call(&mut self, method: &str, params: &Value) -> Result<Value, McpError> {
        let id = self.next_id;
        self.next_id += 1;
        let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let is_answer = |message: &Value| message["method"].is_null() && message["id"] == json!(id);
        let answer = match &mut self.wire {
            Wire::Pipes(pipes) => pipes.call(&call, is_answer)?,
            Wire::Http(http) => {
                http.post(&call, |message| is_answer(&message).then_some(message))?
            }
        };
        let Some(mut answer) = answer else {
            return Err(McpError::Ended(method.to_owned()));
        };
        match answer.get_mut("error") {
            Some(error) => Err(McpError::Failed { method: method.to_owned(), error: error.take() }),
            None => Ok(answer["result"].take()),
        }
    }
}

/// The pipes to a server that the stand-in started.
struct Pipes {
    stdin: ChildStdin,
    stdout: BufReader<io::Take<ChildStdout>>,
    /// Kept for its life time: the server ends when its stdin is closed.
    _child: Child,
}

impl Pipes {
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn start(command: &str, server: &Server) -> io::Result<Self> {
        let mut command = Command::new(command);
        command.args(&server.args).envs(&server.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.expect("both were asked for");
        let stdout = BufReader::new(io::Read::take(stdout, LONGEST_MESSAGE));
        Ok(Self { stdin, stdout, _child: child })
    }

    fn write(&mut self, message: &Value) -> io::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes())?;
        self.stdin.flush()
    }

    /// Writes a call and reads its answer; `None` if the server ends. Requests of the server in the meantime are
    /// answered.
    fn call(
        &mut self,
        call: &Value,
        is_answer: impl Fn(&Value) -> bool,
    ) -> io::Result<Option<Value>> {
        self.write(call)?;
        let mut line = String::new();
        loop {
            line.clear();
            self.stdout.get_mut().set_limit(LONGEST_MESSAGE);
            if self.stdout.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            // A server may print lines that are not messages.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if is_answer(&message) {
                return Ok(Some(message));
            }
            if let (Some(method), Some(asked)) = (message["method"].as_str(), message.get("id")) {
                let reply = match method {
                    "ping" => json!({"jsonrpc": "2.0", "id": asked, "result": {}}),
                    _ => {
                        let error = json!({"code": NO_METHOD, "message": "not found"});
                        json!({"jsonrpc": "2.0", "id": asked, "error": error})
                    }
                };
                self.write(&reply)?;
            }
        }
    }
}

/// A server of this machine that is reached by HTTP: each message is a request by itself.
struct Http {
    runtime: Runtime,
    address: SocketAddr,
    uri: Uri,
    headers: BTreeMap<String, String>,
    /// The session id that the server assigned.
    session: Option<HeaderValue>,
}

impl Http {
    fn to(url: &str, server: &Server) -> Result<Self, McpError> {
        let uri: Uri = url.parse()?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let ip = if host == "localhost" { Ok(IpAddr::from([127, 0, 0, 1])) } else { host.parse() };
        let ip = ip.ok().filter(IpAddr::is_loopback);
        let Some(ip) = ip.filter(|_| uri.scheme_str() == Some("http")) else {
            return Err(McpError::OtherMachine(url.to_owned()));
        };
        let address = SocketAddr::new(ip, uri.port_u16().unwrap_or(80));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, address, uri, headers: server.headers.clone(), session: None })
    }

    /// Posts a message and returns the first message of the answer that `take` accepts. The body of the answer is one
    /// JSON message, a stream of events, or empty.
    fn post(
        &mut self,
        message: &Value,
        take: impl Fn(Value) -> Option<Value>,
    ) -> Result<Option<Value>, McpError> {
        let Self { runtime, address, uri, headers, session } = self;
        runtime.block_on(async {
            let socket = TcpStream::connect(*address).await?;
            let (mut sender, connection) = client::handshake(TokioIo::new(socket)).await?;
            // The request on the connection reports its failure.
            tokio::spawn(async move { drop(connection.await) });
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            let mut request = Request::post(path)
                .header(HOST, address.to_string())
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, text/event-stream")
                .header("mcp-protocol-version", PROTOCOL);
            for (name, value) in headers.iter() {
                request = request.header(name, value);
            }
            if let Some(session) = session.as_ref() {
                request = request.header(SESSION, session);
            }
            let request = request.body(Full::new(Bytes::from(message.to_string())))?;
            let response = sender.send_request(request).await?;
            let status = response.status();
            if !status.is_success() {
                return Err(McpError::Status { uri: uri.clone(), status });
            }
            if let Some(given) = response.headers().get(SESSION) {
                *session = Some(given.clone());
            }
            let kind = response.headers().get(CONTENT_TYPE);
            let is_stream =
                kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
            let mut body = Limited::new(response.into_body(), LONGEST_MESSAGE as usize);
            if !is_stream {
                let body = body.collect().await.map_err(McpError::Body)?.to_bytes();
                return Ok(serde_json::from_slice(&body).ok().and_then(take));
            }
            let mut decoder = SseDecoder::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(McpError::Body)?;
                let Some(bytes) = frame.data_ref() else { continue };
                for event in decoder.feed(bytes)? {
                    let message = serde_json::from_str(&event.data).ok();
                    if let Some(taken) = message.and_then(&take) {
                        return Ok(Some(taken));
                    }
                }
            }
            Ok(None)
        })
    }
}
