//! The pipes to an agent: reads one message of JSON-RPC a line, and hands each to the session that it is for.
//!
//! A message counts in the account of the run from before it is parsed until its last reader drops it. The errors are
//! those of a run of an editor, in words that say what to do.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clitape_process::threads::{NoMoreThreads, start};
use clitape_process::{Meter, Overflow, ProcessError, StdinPipe, Unread};
use clitape_recording::limits::OutputLimits;
use serde_json::{Map, Value, json};

use crate::limits::{Full, Held, KeptBytes, parsed_bytes};

/// The characters that are kept of a line that can't be read as a message.
const SHOWN: usize = 200;
/// The bytes that a message counts for, beside its contents.
const MESSAGE: usize = 512;

/// A message of the agent for one session or several, which share it.
#[derive(Debug, Clone)]
pub(super) struct Incoming(Arc<Counted<AgentMessage>>);

/// A value with its part of the account of memory.
#[derive(Debug)]
struct Counted<T> {
    what: T,
    _held: Held,
}

impl AsRef<[u8]> for Counted<String> {
    fn as_ref(&self) -> &[u8] {
        self.what.as_bytes()
    }
}

/// A message of an agent.
#[derive(Debug, Clone)]
pub(super) enum AgentMessage {
    /// A notification, or a request, which has an id.
    Call(AgentCall),
    /// The answer to the editor's request of this number: the result, or the error.
    Answer(u64, Result<Value, Value>),
    /// A line that can't be read as a message, or an answer without a request, in words.
    Wrong(String),
    /// The end of the agent's output.
    End,
}

/// A notification or a request.
#[derive(Debug, Clone)]
pub(super) struct AgentCall {
    /// The name of the method.
    pub(super) method: String,
    /// The id, if it is a request.
    pub(super) id: Option<Value>,
    /// The parameters; null if it has none.
    pub(super) params: Value,
    /// True if it names a session that the editor has not opened.
    pub(super) is_stray: bool,
    /// The reason why an editor that uses the official crate can't read the line.
    pub(super) unreadable: Option<String>,
}

impl Incoming {
    /// Returns the message; copies it if another reader has it too.
    pub(super) fn take(self) -> AgentMessage {
        match Arc::try_unwrap(self.0) {
            Ok(own) => own.what,
            Err(shared) => shared.what.clone(),
        }
    }
}

/// The receivers of messages: the sessions, and the requests that wait for an answer.
struct Routes {
    /// The sessions by id; `None` for a closed one.
    sessions: HashMap<String, Option<Sender<Incoming>>>,
    pending: HashMap<u64, Pending>,
    next_id: u64,
    is_over: bool,
    failure: Option<ReadFailure>,
    /// The account of the sessions' ids.
    held: Held,
}

/// A request of the editor that the agent has not answered yet.
struct Pending {
    inbox: Sender<Incoming>,
    /// True for a request within a session, which gets the messages for all sessions anyway.
    is_in_session: bool,
}

/// The reasons why the editor has stopped reading an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadFailure {
    /// The agent printed more than a limit of its output allows.
    #[error("{}", .0.with_option())]
    Output(Overflow),
    /// The account of the run is full.
    #[error(transparent)]
    Full(#[from] Full),
    /// The reading thread panicked.
    #[error(
        "a message at which clitape panicked, which is a bug of clitape: please report it with the lines above"
    )]
    Panic,
}

impl From<ReadFailure> for EditorError {
    fn from(failure: ReadFailure) -> Self {
        match failure {
            ReadFailure::Full(full) => full.into(),
            failure => Self::Flood(failure.to_string()),
        }
    }
}

/// The pipes to an agent, and the thread that reads its stdout.
pub(super) struct AgentConnection {
    stdin: Mutex<StdinPipe>,
    routes: Arc<Mutex<Routes>>,
    kept: Arc<KeptBytes>,
}

impl AgentConnection {
    /// Starts a thread that reads the agent's stdout within these limits.
    pub(super) fn new(
        stdin: StdinPipe,
        stdout: impl Read + Send + 'static,
        limits: OutputLimits,
        kept: Arc<KeptBytes>,
    ) -> Result<Self, NoMoreThreads> {
        let routes = Arc::new(Mutex::new(Routes {
            sessions: HashMap::new(),
            pending: HashMap::new(),
            next_id: 0,
            is_over: false,
            failure: None,
            held: Held::of(&kept),
        }));
        let reader = AgentReader { routes: routes.clone(), kept: kept.clone() };
        start("stdout", move || reader.read(stdout, limits))?;
        Ok(Self { stdin: Mutex::new(stdin), routes, kept })
    }

    /// Sends a request and returns its number. The sender gets the answer, and the messages of the session that it
    /// opens.
    pub(super) fn ask(
        &self,
        method: &str,
        params: &Value,
        inbox: &Sender<Incoming>,
    ) -> Result<u64, EditorError> {
        let id = {
            let mut routes = lock(&self.routes);
            let id = routes.next_id;
            routes.next_id += 1;
            if routes.is_over {
                let failure = routes.failure.clone();
                return Err(failure.map_or(EditorError::Closed, EditorError::from));
            }
            let is_in_session =
                params["sessionId"].as_str().is_some_and(|id| routes.sessions.contains_key(id));
            routes.pending.insert(id, Pending { inbox: inbox.clone(), is_in_session });
            id
        };
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let sent = self.send(&request);
        if sent.is_err() {
            lock(&self.routes).pending.remove(&id);
        }
        sent.map(|()| id)
    }

    /// Sends a message, which counts in the account of the run until the agent reads it.
    pub(super) fn send(&self, message: &Value) -> Result<(), EditorError> {
        let line = format!("{message}\n");
        let mut held = Held::of(&self.kept);
        held.try_keep(line.len())?;
        // A poisoned lock is safe: writing to the queue can't panic.
        let stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        stdin.write(Counted { what: line, _held: held }).map_err(|_| EditorError::Closed)
    }

    /// Closes the agent's stdin, which asks it to end.
    pub(super) fn close(&self) {
        // A poisoned lock is safe: closing the queue can't panic.
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).close();
    }

    /// Returns the bytes that the agent has not read of its stdin.
    pub(super) fn unread(&self) -> Option<Unread> {
        // A poisoned lock is safe: looking at the queue can't panic.
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).unread()
    }

    /// Returns the reason why the editor has stopped reading, `None` while it reads.
    pub(super) fn failure(&self) -> Option<ReadFailure> {
        let failure = lock(&self.routes).failure.clone();
        failure.or_else(|| self.kept.overflow().map(ReadFailure::Full))
    }

    /// Returns the account of the run.
    pub(super) fn kept(&self) -> &Arc<KeptBytes> {
        &self.kept
    }

    /// Forgets a session that is dropped; later messages for it are ignored.
    pub(super) fn forget(&self, session: &str) {
        lock(&self.routes).sessions.insert(session.to_owned(), None);
    }
}

/// Returns a channel for the messages of a session.
pub(super) fn inbox() -> (Sender<Incoming>, Receiver<Incoming>) {
    channel()
}

fn lock(routes: &Mutex<Routes>) -> MutexGuard<'_, Routes> {
    // A poisoned lock is safe: a panic of the reader leaves routes that are made of whole messages.
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reading side of a connection, for its thread. Dropping it ends all sessions, after a panic too.
struct AgentReader {
    routes: Arc<Mutex<Routes>>,
    kept: Arc<KeptBytes>,
}

impl AgentReader {
    /// Reads the agent's lines until its output ends or reaches a limit.
    fn read(&self, stdout: impl Read, limits: OutputLimits) {
        let mut reader = BufReader::new(stdout);
        let mut meter = Meter::new(limits);
        loop {
            let mut line = Vec::new();
            match reader.by_ref().take(limits.line.get() + 1).read_until(b'\n', &mut line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let metered = meter.take(&line).map_err(ReadFailure::Output);
            let read = metered.and_then(|()| self.take(&line).map_err(ReadFailure::Full));
            if let Err(failure) = read {
                lock(&self.routes).failure = Some(failure);
                return;
            }
        }
    }

    /// Counts a line in the account and hands it to its session.
    fn take(&self, line: &[u8]) -> Result<(), Full> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let mut held = Held::of(&self.kept);
        // Counted twice, because the check against the official types makes a copy.
        held.try_keep(MESSAGE + 2 * parsed_bytes(line))?;
        lock(&self.routes).route(line, held)
    }
}

impl Drop for AgentReader {
    fn drop(&mut self) {
        let mut routes = lock(&self.routes);
        if std::thread::panicking() {
            routes.failure = Some(ReadFailure::Panic);
        }
        routes.is_over = true;
        let end = Counted { what: AgentMessage::End, _held: Held::of(&self.kept) };
        routes.tell_all(&Incoming(Arc::new(end)));
    }
}

/// Returns the message of a line, and the reason why the official crate's reader of JSON refuses the line. A lone half
/// of a surrogate pair, such as `\ud83d`, is valid JSON that a Rust string can't have: it becomes U+FFFD.
fn parsed(line: &[u8]) -> (Option<Map<String, Value>>, Option<String>) {
    let error = match serde_json::from_slice(line) {
        Ok(Value::Object(message)) => return (Some(message), None),
        Ok(_) => return (None, None),
        Err(error) => error,
    };
    let whole = String::from_utf8_lossy(line);
    match serde_json::from_str(&without_halves(&whole)) {
        Ok(Value::Object(message)) => (Some(message), Some(error.to_string())),
        _ => (None, None),
    }
}

/// Returns a JSON text in which each escaped half of a character is U+FFFD.
fn without_halves(json: &str) -> String {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut rest = 0;
    while let Some(at) = json[rest..].find('\\').map(|at| rest + at) {
        out.push_str(&json[rest..at]);
        let is_pair = || matches!(unit(at + 6), Some(0xdc00..=0xdfff));
        let length = match unit(at) {
            Some(0xd800..=0xdbff) if is_pair() => 12,
            Some(0xd800..=0xdfff) => {
                out.push(char::REPLACEMENT_CHARACTER);
                rest = at + 6;
                continue;
            }
            Some(_) => 6,
            // The backslash and the character after it, which may take several bytes where the text is no JSON.
            None => 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&json[at..at + length]);
        rest = at + length;
    }
    out + &json[rest..]
}

impl Routes {
    /// Hands a line to the session that it is for. A message for a dropped receiver is ignored.
    fn route(&mut self, line: &[u8], held: Held) -> Result<(), Full> {
        let incoming = |what| Incoming(Arc::new(Counted { what, _held: held }));
        let (parsed, unreadable) = parsed(line);
        let Some(mut message) = parsed else {
            let text = String::from_utf8_lossy(line);
            let shown = text.trim_end().chars().take(SHOWN).collect();
            self.tell_all(&incoming(AgentMessage::Wrong(shown)));
            return Ok(());
        };
        let id = message.remove("id");
        if let Some(Value::String(method)) = message.remove("method") {
            let params = message.remove("params").unwrap_or_default();
            let session = params["sessionId"].as_str();
            let own = session.and_then(|session| self.sessions.get(session));
            let is_stray = session.is_some() && own.is_none();
            let own = own.cloned();
            let call = incoming(AgentMessage::Call(AgentCall {
                method,
                id,
                params,
                is_stray,
                unreadable,
            }));
            match own {
                Some(Some(own)) => drop(own.send(call)),
                // The session is closed.
                Some(None) => {}
                None => self.tell_all(&call),
            }
            return Ok(());
        }
        let number = id.as_ref().and_then(Value::as_u64);
        let pending = number.and_then(|id| Some((id, self.pending.remove(&id)?)));
        let Some((id, Pending { inbox: asker, .. })) = pending else {
            let id = id.unwrap_or_default().to_string();
            let id: String = id.chars().take(SHOWN).collect();
            let words = format!("an answer to a request `{id}` that the editor did not make");
            self.tell_all(&incoming(AgentMessage::Wrong(words)));
            return Ok(());
        };
        let answer = match message.remove("error") {
            Some(error) => Err(error),
            None => Ok(message.remove("result").unwrap_or_default()),
        };
        // Opens the session before the next line is read, which may be for it already.
        if let Some(session) = answer.as_ref().ok().and_then(|result| result["sessionId"].as_str())
        {
            self.held.try_keep(MESSAGE + session.len())?;
            self.sessions.insert(session.to_owned(), Some(asker.clone()));
        }
        drop(asker.send(incoming(AgentMessage::Answer(id, answer))));
        Ok(())
    }

    /// Hands a message to each session, and, if it ends or breaks the stream, to each request that waits outside of
    /// one.
    fn tell_all(&self, message: &Incoming) {
        let is_for_requests = matches!(message.0.what, AgentMessage::End | AgentMessage::Wrong(_));
        let waiting = self.pending.values().filter(|one| is_for_requests && !one.is_in_session);
        let waiting = waiting.map(|one| &one.inbox);
        for inbox in self.sessions.values().flatten().chain(waiting) {
            drop(inbox.send(message.clone()));
        }
    }
}

/// An error of a run of an editor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditorError {
    /// The agent could not be started; the message names it.
    #[error(transparent)]
    Start(#[from] ProcessError),
    /// The agent has closed its stdin or its stdout.
    #[error("the agent reads no more messages")]
    Closed,
    /// The agent does not read its stdin.
    #[error(
        "the agent has not read its stdin for {for_s} s, where {bytes} bytes wait; it has to read while it works and \
         while it writes"
    )]
    Unread {
        /// The bytes that wait for it.
        bytes: u64,
        /// The seconds since it last read.
        for_s: u64,
    },
    /// The agent ended before it answered a request.
    #[error("the agent ended before it answered `{method}`{last_words}")]
    Ended {
        /// The method of the request.
        method: String,
        /// A colon and the last lines of its stderr, or an empty text.
        last_words: String,
    },
    /// The agent did not answer a request in time.
    #[error("the agent did not answer `{method}` within {within_s} s")]
    Late {
        /// The method of the request.
        method: String,
        /// The seconds that it had.
        within_s: u64,
    },
    /// The agent answered a request with an error.
    #[error("the agent answered `{method}` with an error: {words}")]
    Refused {
        /// The method of the request.
        method: String,
        /// The message of the error.
        words: String,
    },
    /// A line of the agent that is not a message of JSON-RPC; with its beginning.
    #[error("a line of the agent is no message of JSON-RPC: {0}")]
    Line(String),
    /// The agent reached a limit; with the words that name it.
    #[error("the agent sent {0}")]
    Flood(String),
    /// The messages from the agent and for it would take more memory than the account of the run has.
    #[error("what the agent sent, or does not read, is too much: {0}")]
    Kept(#[from] Full),
    /// The caller stopped the run.
    #[error("stopped before all was answered")]
    Stopped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_reported() {
        for (line, expect, is_readable) in [
            (r#"{"a":"x\ud83dy"}"#, "x\u{fffd}y", false),
            (r#"{"a":"\ude00\n\u00e9\\ud83d"}"#, "\u{fffd}\n\u{e9}\\ud83d", false),
            (r#"{"a":"\ud83d\ude00"}"#, "\u{1f600}", true),
        ] {
            let (message, unreadable) = parsed(line.as_bytes());
            assert_eq!(message.unwrap()["a"], expect, "{line}");
            assert_eq!(unreadable.is_none(), is_readable, "{line}: {unreadable:?}");
        }
        for line in ["hello", "[1]", "{", r#"{"a":"\"#, r#"{"a":"\ud8é"#] {
            assert_eq!(parsed(line.as_bytes()), (None, None), "{line}");
        }
    }
}
