//! An editor for an agent of the Agent Client Protocol: a client on the agent's stdin and stdout.
//!
//! An [`Editor`] talks to one agent, in as many sessions as the caller opens. Each update is an entry of the lane
//! `acp`, as a replay of a cassette has it: the update's `sessionUpdate` is the kind; `request_permission` and
//! `elicitation/create` are questions of the agent, and `response` is the answer to a prompt. What the person does is
//! an entry too: `(user)`, `(answer)` and `(cancel)`. A message that the official crate's types refuse has the reason
//! in `refused`. [`run`] plays some prompts to an agent, as `clitape editor` does.

mod connection;
mod error;
mod form;
mod official;
mod session;

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clitape_process::host::HostPaths;
use clitape_process::{
    OutputReader, Overflow, ProcessError, Program, ProgramStart, Scratch, StdinPipe, Unread,
};
use clitape_recording::trace::Entry;
use serde_json::{Value, json};

use crate::kept::KeptBytes;
use crate::limits::RigLimits;
use connection::{AgentConnection, AgentMessage, Incoming, inbox};
pub use error::EditorError;
pub use session::{OpenQuestion, PermissionChoice, Session};

/// The time between two looks at what an agent sent.
const LOOK: Duration = Duration::from_millis(20);
/// How long an agent may take to end once its stdin is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last words of an agent that has ended may take.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);
/// The lines of its last words.
const LAST_WORDS: usize = 8;
/// How long an agent that is given up must have read nothing, so that this is why.
const DEAF: Duration = Duration::from_secs(1);

/// An editor, and the agent to which it talks.
pub struct Editor {
    connection: AgentConnection,
    /// The answer to `initialize`, until it is read.
    greeting: Mutex<Option<(Sender<Incoming>, Receiver<Incoming>)>>,
    /// Why the official types refuse the agent's answer to `initialize`.
    refused: Mutex<Option<String>>,
    /// The most entries of a session.
    messages: usize,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor").finish_non_exhaustive()
    }
}

impl Editor {
    /// An editor on the pipes of an agent, to which it says hello. What it keeps counts for the account of its run.
    ///
    /// # Errors
    ///
    /// [`EditorError::Closed`] when the agent reads nothing, [`EditorError::Start`] when there is no thread for what it
    /// writes.
    pub fn new(
        stdin: StdinPipe,
        stdout: impl Read + Send + 'static,
        limits: RigLimits,
        kept: Arc<KeptBytes>,
    ) -> Result<Self, EditorError> {
        let connection = AgentConnection::new(stdin, stdout, limits.subject.output, kept)
            .map_err(ProcessError::from)?;
        let hello = json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false,
                "elicitation": { "form": {} },
            },
            "clientInfo": { "name": "clitape", "version": env!("CARGO_PKG_VERSION") },
        });
        let (sender, receiver) = inbox();
        connection.ask("initialize", &hello, &sender)?;
        let greeting = Mutex::new(Some((sender, receiver)));
        Ok(Self {
            connection,
            greeting,
            refused: Mutex::default(),
            messages: limits.subject.messages,
        })
    }

    /// Whether the agent has answered the hello; waits for it at most `within`.
    ///
    /// # Errors
    ///
    /// [`EditorError`] when it will not, or the caller stops.
    pub fn is_greeted(
        &self,
        within: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<bool, EditorError> {
        const METHOD: &str = "initialize";
        // Taking a value does not panic.
        let mut greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, receiver)) = greeting.as_ref() else { return Ok(true) };
        let Some(result) = self.answer(METHOD, receiver, within, is_stopped)? else {
            return Ok(false);
        };
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
            official::refusal(METHOD, &result);
        *greeting = None;
        Ok(true)
    }

    /// Opens a session in a folder, which takes at most `within`.
    ///
    /// # Errors
    ///
    /// [`EditorError`] when the agent refuses, ends, reads nothing or is late, or the caller stops.
    pub fn open(
        &self,
        folder: &Path,
        within: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Session<'_>, EditorError> {
        const METHOD: &str = "session/new";
        let begin = Instant::now();
        let (sender, receiver) = inbox();
        let params = json!({ "cwd": folder, "mcpServers": [] });
        self.connection.ask(METHOD, &params, &sender)?;
        let result = self.answer(METHOD, &receiver, within, is_stopped)?;
        let result = result.ok_or_else(|| self.late(METHOD, within))?;
        let mut session =
            Session::new(&self.connection, sender, receiver, begin, &result, self.messages);
        // As above. The first session reports it.
        if let Some(refused) = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            session.enter("initialize", json!({}), Some(refused));
        }
        Ok(session)
    }

    /// Closes the agent's stdin, which asks it to end.
    pub fn close(&self) {
        self.connection.close();
    }

    /// Why no more is read of the agent, such as a limit of its output that was reached, in words.
    pub fn overflow(&self) -> Option<String> {
        self.connection.failure().map(|failure| failure.to_string())
    }

    /// What the agent has not read for a while, although it was written to it.
    pub fn unread(&self) -> Option<Unread> {
        self.connection.unread().filter(|unread| unread.stuck >= DEAF)
    }

    /// The error for an agent that did not answer in time.
    fn late(&self, method: &str, within: Duration) -> EditorError {
        match self.unread() {
            Some(Unread { bytes, stuck }) => EditorError::Unread { bytes, for_s: stuck.as_secs() },
            None => EditorError::Late { method: method.to_owned(), within_s: within.as_secs() },
        }
    }

    /// The error for an agent whose output has ended before it answered.
    fn ended(&self, method: &str) -> EditorError {
        match self.connection.failure() {
            Some(failure) => failure.into(),
            None => EditorError::Ended { method: method.to_owned(), last_words: String::new() },
        }
    }

    /// Waits for the answer to the only request of an inbox. `None` if it does not come in time.
    fn answer(
        &self,
        method: &str,
        inbox: &Receiver<Incoming>,
        within: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Value>, EditorError> {
        let end = Instant::now() + within;
        loop {
            if is_stopped() {
                return Err(EditorError::Stopped);
            }
            let left = end.saturating_duration_since(Instant::now());
            match inbox.recv_timeout(left.min(LOOK)).map(Incoming::take) {
                Ok(AgentMessage::Answer(_, Ok(result))) => return Ok(Some(result)),
                Ok(AgentMessage::Answer(_, Err(error))) => {
                    let words = error["message"].as_str().unwrap_or_default().to_owned();
                    return Err(EditorError::Refused { method: method.to_owned(), words });
                }
                Ok(AgentMessage::Wrong(words)) => return Err(EditorError::Line(words)),
                Ok(AgentMessage::End) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.ended(method));
                }
                Ok(AgentMessage::Call(_)) | Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Ok(None);
                }
                Ok(AgentMessage::Call(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// What an editor does.
#[derive(Debug, Clone)]
pub struct EditorSettings {
    /// The agent: a program and its arguments.
    pub command: Vec<OsString>,
    /// All variables of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder of the session, as an absolute path.
    pub folder: PathBuf,
    /// The prompts, each sent when the one before it is answered.
    pub prompts: Vec<String>,
    /// The answers to the agent's questions; the last one serves all further questions.
    pub choices: Vec<PermissionChoice>,
    /// How long the run may take.
    pub within: Duration,
    /// The limits on what the agent sends and uses.
    pub limits: RigLimits,
}

/// Runs an agent through the prompts; `on_entry` gets each entry as it comes. The agent is ended with its group. Setting
/// `stop` ends the run.
///
/// # Errors
///
/// [`EditorError`] when the agent does not start, ends early, is late, refuses, does not read or sends too much, and
/// [`EditorError::Stopped`].
pub fn run(
    settings: &EditorSettings,
    host: &HostPaths,
    stop: &AtomicBool,
    on_entry: &mut dyn FnMut(&Entry),
) -> Result<(), EditorError> {
    let limits = settings.limits;
    let scratch = Scratch::for_program(host).map_err(ProcessError::from)?;
    let mut program = Program::start(ProgramStart {
        command: &settings.command,
        environment: &settings.environment,
        folder: &settings.folder,
        scratch: &scratch,
        with_stdin: true,
        reader: OutputReader::Caller,
        output: limits.subject.output,
        memory: limits.subject.memory,
        isolation: None,
    })?;
    let pipes = program.take_stdin().zip(program.take_stdout());
    let (stdin, stdout) = pipes.ok_or(EditorError::Closed)?;
    let editor = Editor::new(stdin, stdout, limits, Arc::new(KeptBytes::within(limits.kept)))?;
    let end = Instant::now() + settings.within;
    let played = play(&editor, &mut program, settings, end, stop, on_entry);
    let played = played.map_err(|error| with_last_words(error, settings, &program));
    editor.close();
    if !matches!(played, Err(EditorError::Stopped)) {
        program.wait(GRACE, stop)?;
    }
    program.ask_to_end(GRACE, stop)?;
    match stop.load(Ordering::Relaxed) {
        true => Err(EditorError::Stopped),
        false => played,
    }
}

/// Greets the agent, opens a session and plays the prompts one after another.
fn play(
    editor: &Editor,
    program: &mut Program,
    settings: &EditorSettings,
    end: Instant,
    stop: &AtomicBool,
    on_entry: &mut dyn FnMut(&Entry),
) -> Result<(), EditorError> {
    const METHOD: &str = "session/prompt";
    let left = || end.saturating_duration_since(Instant::now());
    let is_stopped = || stop.load(Ordering::Relaxed);
    if !editor.is_greeted(left(), &is_stopped)? {
        return Err(editor.late("initialize", settings.within));
    }
    let mut session = editor.open(&settings.folder, left(), &is_stopped)?;
    let (mut asked, mut told) = (0, 0);
    for prompt in &settings.prompts {
        session.prompt(prompt)?;
        while session.unanswered() > 0 {
            let read = session.read(LOOK);
            session.entries()[told..].iter().for_each(&mut *on_entry);
            told = session.entries().len();
            read?;
            while !session.questions().is_empty() {
                let choice = settings.choices.get(asked).or(settings.choices.last());
                asked += 1;
                session.answer(0, choice.unwrap_or(&PermissionChoice::Cancel))?;
            }
            // Its memory is looked at as well.
            program.poll()?;
            if let Some(what) = program.overflow().map(Overflow::with_option) {
                return Err(EditorError::Flood(format!("or used too much: {what}")));
            }
            if session.is_over() && session.unanswered() > 0 {
                return Err(editor.ended(METHOD));
            }
            if is_stopped() {
                return Err(EditorError::Stopped);
            }
            if Instant::now() > end {
                return Err(editor.late(METHOD, settings.within));
            }
        }
        let response = session.entries().iter().rfind(|entry| entry.kind == "response");
        if let Some(words) = response.and_then(|entry| entry.data.get("error")?.as_str()) {
            let (method, words) = (METHOD.to_owned(), words.to_owned());
            return Err(EditorError::Refused { method, words });
        }
    }
    Ok(())
}

/// The error with what the agent printed last, where it has ended.
fn with_last_words(
    error: EditorError,
    settings: &EditorSettings,
    program: &Program,
) -> EditorError {
    match error {
        EditorError::Ended { method, .. } => {
            std::thread::sleep(LAST_WORDS_TIME);
            let lines = program.last_lines(LAST_WORDS);
            let last_words = match lines.is_empty() {
                true => String::new(),
                false => format!(": {}", lines.join(" / ")),
            };
            EditorError::Ended { method, last_words }
        }
        // The seconds of the whole run, which the caller set.
        EditorError::Late { method, .. } => {
            EditorError::Late { method, within_s: settings.within.as_secs() }
        }
        error => error,
    }
}
