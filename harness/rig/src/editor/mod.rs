//! An editor for an agent of the Agent Client Protocol: a client on the agent's stdin and stdout.
//!
//! An [`Editor`] talks to one agent, in as many sessions as the caller opens. Each update becomes an entry of the lane
//! `acp`, in the form that a replay of a cassette gives it: the update's `sessionUpdate` is the kind;
//! `request_permission` and `elicitation/create` are questions of the agent, and `response` is the answer to a prompt.
//! The acts of the person are entries too: `(user)`, `(answer)` and `(cancel)`. If the official crate's types refuse a
//! message, its entry has the reason in `refused`. [`run`] plays some prompts to an agent, as `clitape editor` does.

mod connection;
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

use crate::limits::{KeptBytes, RigLimits};
pub use connection::EditorError;
use connection::{AgentConnection, AgentMessage, Incoming, inbox};
pub use session::{OpenQuestion, PermissionChoice, Session};

/// The time between two looks at the agent's messages.
const LOOK: Duration = Duration::from_millis(20);
/// The time that an agent has to end once its stdin is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// The time that is spent on the last lines of stderr of an agent that has ended.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);
/// The number of these lines.
const LAST_WORDS: usize = 8;
/// The time without a read of stdin after which an agent that is late counts as one that does not read.
const DEAF: Duration = Duration::from_secs(1);

/// A client that talks to one agent.
pub struct Editor {
    connection: AgentConnection,
    /// The channel of the answer to `initialize`, until that is read.
    greeting: Mutex<Option<(Sender<Incoming>, Receiver<Incoming>)>>,
    /// The reason why the official types refuse the agent's answer to `initialize`; the first session reports it.
    refused: Mutex<Option<String>>,
    /// The most entries of a session; more are an error.
    messages: usize,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor").finish_non_exhaustive()
    }
}

impl Editor {
    /// Starts an editor on the pipes of an agent and sends `initialize`. The memory of its messages counts in the
    /// account of the run.
    ///
    /// # Errors
    ///
    /// [`EditorError::Closed`] if the agent does not read, [`EditorError::Start`] if no thread can be started for a
    /// pipe.
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

    /// Waits at most `within` for the answer to `initialize`, and returns whether it is there.
    ///
    /// # Errors
    ///
    /// [`EditorError`] if the agent refuses or ends, or if the caller stops.
    pub fn is_greeted(
        &self,
        within: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<bool, EditorError> {
        const METHOD: &str = "initialize";
        // A poisoned lock is safe: taking a value can't panic.
        let mut greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, receiver)) = greeting.as_ref() else { return Ok(true) };
        let Some(result) = self.answer(METHOD, receiver, within, is_stopped)? else {
            return Ok(false);
        };
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
            session::refusal(METHOD, &result);
        *greeting = None;
        Ok(true)
    }

    /// Opens a session in a folder, and waits at most `within` for it.
    ///
    /// # Errors
    ///
    /// [`EditorError`] if the agent refuses, ends, does not read or is late, or if the caller stops.
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
        // A poisoned lock is safe: taking a value can't panic. The first session reports the refusal.
        if let Some(refused) = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            session.enter("initialize", json!({}), Some(refused));
        }
        Ok(session)
    }

    /// Closes the agent's stdin, which asks it to end.
    pub fn close(&self) {
        self.connection.close();
    }

    /// Returns the reason why the editor has stopped reading, such as a limit of output that the agent reached.
    pub fn overflow(&self) -> Option<String> {
        self.connection.failure().map(|failure| failure.to_string())
    }

    /// Returns the bytes on the agent's stdin, if the agent has read none of them for a second.
    pub fn unread(&self) -> Option<Unread> {
        self.connection.unread().filter(|unread| unread.stuck >= DEAF)
    }

    /// Returns the error for an agent that did not answer in time.
    fn late(&self, method: &str, within: Duration) -> EditorError {
        match self.unread() {
            Some(Unread { bytes, stuck }) => EditorError::Unread { bytes, for_s: stuck.as_secs() },
            None => EditorError::Late { method: method.to_owned(), within_s: within.as_secs() },
        }
    }

    /// Returns the error for an agent whose output ended before it answered.
    fn ended(&self, method: &str) -> EditorError {
        match self.connection.failure() {
            Some(failure) => failure.into(),
            None => EditorError::Ended { method: method.to_owned(), last_words: String::new() },
        }
    }

    /// Waits for the answer to the only request of an inbox; `None` if it is late.
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

/// The settings of [`run`].
#[derive(Debug, Clone)]
pub struct EditorSettings {
    /// The agent: a program and its arguments.
    pub command: Vec<OsString>,
    /// All variables of the agent's environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder of the session, as an absolute path.
    pub folder: PathBuf,
    /// The prompts, each sent when the one before it is answered.
    pub prompts: Vec<String>,
    /// The answers to the agent's questions; the last one serves all further questions.
    pub choices: Vec<PermissionChoice>,
    /// The time that the whole run may take.
    pub within: Duration,
    /// The limits on what the agent sends and uses.
    pub limits: RigLimits,
}

/// Runs an agent through the prompts and calls `on_entry` with each entry as it comes. At the end, the agent's whole
/// process group is ended. Setting `stop` ends the run early.
///
/// # Errors
///
/// [`EditorError`] if the agent does not start, ends early, is late, refuses, does not read or sends too much;
/// [`EditorError::Stopped`] once `stop` is set.
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

/// Greets the agent, opens a session and sends the prompts one after another.
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
            // Looks at the agent's output and memory, and returns an error once one is over its limit.
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

/// Adds the last lines of the agent's stderr to an error that says that it ended.
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
        // The message names the time of the whole run, because that is what the caller set.
        EditorError::Late { method, .. } => {
            EditorError::Late { method, within_s: settings.within.as_secs() }
        }
        error => error,
    }
}
