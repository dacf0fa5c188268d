//! Asks a tool of an MCP server for a permission, as `--permission-prompt-tool mcp__SERVER__TOOL` wants it: it starts
//! the server of that name in `--mcp-config`, and calls the tool with what the CLI would ask the host.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use clitape_runner::files;
use clitape_runner::threads::{NoMoreThreads, start};
use serde::Deserialize;
use serde_json::{Value, json};

/// The version of the protocol that the CLI speaks.
const PROTOCOL: &str = "2025-11-25";
/// The most bytes of a line of a server.
const LONGEST_LINE: u64 = 32 << 20;
/// The code of JSON-RPC for a method that a side does not have.
const NO_METHOD: i64 = -32601;

/// A value of `--mcp-config`.
#[derive(Deserialize)]
struct Config {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Server>,
}

/// A server of a configuration.
#[derive(Deserialize, Clone)]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// A question of the CLI, as the tool gets it.
#[derive(Debug)]
pub(super) struct Ask {
    /// The id of the request that the recorded CLI wrote to its host.
    pub(super) request_id: String,
    /// The request: `tool_name`, `input` and `tool_use_id` are passed on.
    pub(super) request: Value,
}

/// A line in the place of the host's answer, or why there is none.
pub(super) type Answered = Result<Vec<u8>, String>;

/// A tool that is asked in a thread of its own, one question after the other.
#[derive(Debug)]
pub(super) struct PermissionTool {
    asks: Sender<Ask>,
}

impl PermissionTool {
    /// Looks the server up in the values of `--mcp-config`. `answered` gets each answer.
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

    /// Asks the tool; the answer comes later.
    pub(super) fn ask(&self, ask: Ask) {
        // A worker that is gone has reported why.
        let _ = self.asks.send(ask);
    }
}

/// The servers of a configuration, which is JSON or the path of a file with it; none if it can't be read.
fn read(config: &str) -> BTreeMap<String, Server> {
    let text = match config.trim_start().starts_with('{') {
        true => Some(config.as_bytes().to_vec()),
        false => files::read(Path::new(config)).ok(),
    };
    let config = text.and_then(|text| serde_json::from_slice::<Config>(&text).ok());
    config.map(|config| config.servers).unwrap_or_default()
}

/// Answers the questions until no more can come.
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
        let line = answer.map(|response| {
            let response =
                json!({"subtype": "success", "request_id": ask.request_id, "response": response});
            json!({"type": "control_response", "response": response}).to_string().into_bytes()
        });
        let has_failed = line.is_err();
        answered(line.map_err(|why| format!("the permission tool {name} gave no answer: {why}")));
        if has_failed {
            return;
        }
    }
}

/// Asks the tool once, and starts the server before the first question.
fn answer(
    connection: &mut Option<Connection>,
    server: &Server,
    tool: &str,
    ask: &Ask,
) -> Result<Value, String> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(Connection::start(server).map_err(|why| why.to_string())?),
    };
    let request = &ask.request;
    let id = &request["tool_use_id"];
    let result = connection.call(
        "tools/call",
        &json!({
            "name": tool,
            "arguments": {"tool_name": request["tool_name"], "input": request["input"], "tool_use_id": id},
            "_meta": {"claudecode/toolUseId": id},
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

/// A server that runs, and speaks JSON-RPC in lines on its stdin and stdout.
struct Connection {
    stdin: ChildStdin,
    stdout: BufReader<io::Take<ChildStdout>>,
    next_id: u64,
    /// The server ends when its stdin does.
    _child: Child,
}

impl Connection {
    fn start(server: &Server) -> io::Result<Self> {
        let Some(command) = &server.command else {
            return Err(io::Error::other(
                "the stand-in speaks only with MCP servers that have a `command`",
            ));
        };
        let mut command = Command::new(command);
        command.args(&server.args).envs(&server.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        let stdout = BufReader::new(io::Read::take(stdout, LONGEST_LINE));
        let mut connection = Self { stdin, stdout, next_id: 0, _child: child };
        let client = json!({"name": "claude-code", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client});
        connection.call("initialize", &hello)?;
        connection.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(connection)
    }

    fn write(&mut self, message: &Value) -> io::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes())?;
        self.stdin.flush()
    }

    /// Calls a method, and waits for its result. What the server asks meanwhile is answered.
    fn call(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let mut line = String::new();
        loop {
            line.clear();
            self.stdout.get_mut().set_limit(LONGEST_LINE);
            if self.stdout.read_line(&mut line)? == 0 {
                let what = format!("the server ended before it answered `{method}`");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            // A server may print other lines.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            match (message["method"].as_str(), message.get("id")) {
                (Some(method), Some(asked)) => {
                    let reply = match method {
                        "ping" => json!({"jsonrpc": "2.0", "id": asked, "result": {}}),
                        _ => {
                            let error = json!({"code": NO_METHOD, "message": "not found"});
                            json!({"jsonrpc": "2.0", "id": asked, "error": error})
                        }
                    };
                    self.write(&reply)?;
                }
                (None, Some(answered)) if *answered == json!(id) => {
                    if let Some(error) = message.get("error") {
                        let what = format!("the server answered `{method}` with the error {error}");
                        return Err(io::Error::other(what));
                    }
                    return Ok(message["result"].clone());
                }
                _ => {}
            }
        }
    }
}
