//! The pipes to an agent: messages of JSON-RPC, one a line, and the way of each to the session that it is for.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

/// The most bytes of a line.
const MAX_LINE: u64 = 32 << 20;
/// The most bytes that an agent may write.
const MAX_BYTES: u64 = 512 << 20;
/// The characters of a line that is no message which are kept.
const SHOWN: usize = 200;

/// What came of the agent for one session.
#[derive(Debug, Clone)]
pub(super) enum Incoming {
    /// A notification, or a request, which has an id.
    Call {
        /// The method.
        method: String,
        /// The id of a request.
        id: Option<Value>,
        /// The parameters.
        params: Value,
        /// Whether it names a session that the editor has not opened.
        is_stray: bool,
        /// Why an editor that uses the official crate can't read the line.
        unreadable: Option<String>,
    },
    /// The answer to the editor's request of this number: the result, or the error.
    Answer(u64, Result<Value, Value>),
    /// A line that is no message.
    Wrong(String),
    /// The end of the agent's output.
    End,
}

/// Where messages go.
#[derive(Default)]
struct Routes {
    /// The sessions by id; a closed one has no reader.
    sessions: HashMap<String, Option<Sender<Incoming>>>,
    pending: HashMap<u64, Pending>,
    next_id: u64,
    is_over: bool,
    overflow: Option<String>,
}

/// A request of the editor whose answer is still to come.
struct Pending {
    inbox: Sender<Incoming>,
    /// Whether it is made in a session, which reads what is for all sessions anyway.
    is_in_session: bool,
}

/// The pipes to an agent.
pub(super) struct Connection {
    stdin: Mutex<Option<Box<dyn Write + Send>>>,
    routes: Arc<Mutex<Routes>>,
}

impl Connection {
    /// Reads the agent's stdout on a thread of its own.
    pub(super) fn new(stdin: Box<dyn Write + Send>, stdout: impl Read + Send + 'static) -> Self {
        let routes = Arc::new(Mutex::new(Routes::default()));
        let own = routes.clone();
        std::thread::spawn(move || read(stdout, &own));
        Self { stdin: Mutex::new(Some(stdin)), routes }
    }

    /// Makes a request; its answer, and what comes for the session that it opens, goes to the sender. Returns the
    /// request's number.
    pub(super) fn ask(
        &self,
        method: &str,
        params: &Value,
        inbox: &Sender<Incoming>,
    ) -> io::Result<u64> {
        let id = {
            let mut routes = lock(&self.routes);
            let id = routes.next_id;
            routes.next_id += 1;
            if routes.is_over {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let is_in_session =
                params["sessionId"].as_str().is_some_and(|id| routes.sessions.contains_key(id));
            routes.pending.insert(id, Pending { inbox: inbox.clone(), is_in_session });
            id
        };
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request)?;
        Ok(id)
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &Value) -> io::Result<()> {
        // Writing does not panic.
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(format!("{message}\n").as_bytes())?;
        stdin.flush()
    }

    /// Closes the agent's stdin, which asks it to end.
    pub(super) fn close(&self) {
        // As above.
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The limit that the agent's output reached, in words.
    pub(super) fn overflow(&self) -> Option<String> {
        lock(&self.routes).overflow.clone()
    }

    /// Forgets a session, whose messages nobody reads any more.
    pub(super) fn forget(&self, session: &str) {
        lock(&self.routes).sessions.insert(session.to_owned(), None);
    }
}

/// A channel for the messages of a session.
pub(super) fn inbox() -> (Sender<Incoming>, Receiver<Incoming>) {
    channel()
}

fn lock(routes: &Mutex<Routes>) -> MutexGuard<'_, Routes> {
    // Taking and putting values does not panic.
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the agent's lines until its output ends or is too long.
fn read(stdout: impl Read, routes: &Mutex<Routes>) {
    let mut reader = BufReader::new(stdout);
    let mut total = 0;
    loop {
        let mut bytes = Vec::new();
        let length = match reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(length) => length as u64,
        };
        total += length;
        let is_long = length == MAX_LINE && bytes.last() != Some(&b'\n');
        if is_long || total > MAX_BYTES {
            let what = match is_long {
                true => format!("a line of more than {} MiB", MAX_LINE >> 20),
                false => format!("more than {} MiB", MAX_BYTES >> 20),
            };
            lock(routes).overflow = Some(what);
            break;
        }
        if !bytes.trim_ascii().is_empty() {
            lock(routes).route(&bytes);
        }
    }
    let mut routes = lock(routes);
    routes.is_over = true;
    routes.tell_all(&Incoming::End);
}

/// The message of a line, and why the official crate's reader of JSON refuses the line. Half of a character, such as
/// `\ud83d`, is valid JSON, and no text that Rust can keep: it becomes U+FFFD here.
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

/// A text of JSON with U+FFFD in the place of each escaped half of a character.
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
            // A backslash and what it escapes, which may be of several bytes where the text is no JSON.
            None => 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&json[at..at + length]);
        rest = at + length;
    }
    out + &json[rest..]
}

impl Routes {
    /// Hands a line to the session that it is for. A reader that is gone needs no message.
    fn route(&mut self, line: &[u8]) {
        let (parsed, unreadable) = parsed(line);
        let Some(mut message) = parsed else {
            let text = String::from_utf8_lossy(line);
            let shown = text.trim_end().chars().take(SHOWN).collect();
            return self.tell_all(&Incoming::Wrong(shown));
        };
        let id = message.remove("id");
        if let Some(Value::String(method)) = message.remove("method") {
            let params = message.remove("params").unwrap_or_default();
            let session = params["sessionId"].as_str();
            let own = session.and_then(|session| self.sessions.get(session));
            let is_stray = session.is_some() && own.is_none();
            let own = own.cloned();
            let call = Incoming::Call { method, id, params, is_stray, unreadable };
            return match own {
                Some(Some(own)) => drop(own.send(call)),
                // The session is closed.
                Some(None) => {}
                None => self.tell_all(&call),
            };
        }
        let number = id.as_ref().and_then(Value::as_u64);
        let pending = number.and_then(|id| Some((id, self.pending.remove(&id)?)));
        let Some((id, Pending { inbox: asker, .. })) = pending else {
            let words = format!("an answer to a request `{}` that the editor did not make", {
                id.unwrap_or_default()
            });
            return self.tell_all(&Incoming::Wrong(words));
        };
        let answer = match message.remove("error") {
            Some(error) => Err(error),
            None => Ok(message.remove("result").unwrap_or_default()),
        };
        // What comes next may be for the session that this answer opens.
        if let Some(session) = answer.as_ref().ok().and_then(|result| result["sessionId"].as_str())
        {
            self.sessions.insert(session.to_owned(), Some(asker.clone()));
        }
        drop(asker.send(Incoming::Answer(id, answer)));
    }

    /// Hands a message to each session, and to each request that waits outside of one.
    fn tell_all(&self, message: &Incoming) {
        let is_for_requests = matches!(message, Incoming::End | Incoming::Wrong(_));
        let waiting = self.pending.values().filter(|one| is_for_requests && !one.is_in_session);
        let waiting = waiting.map(|one| &one.inbox);
        for inbox in self.sessions.values().flatten().chain(waiting) {
            drop(inbox.send(message.clone()));
        }
    }
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
