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
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clitape_gateway::ByteSize;
use clitape_runner::host::HostPaths;
use clitape_runner::limits::{OutputLimits, SUBJECT_MEMORY};
use clitape_runner::record::{Program, ProgramStart, Scratch, StdoutUse};
use clitape_runner::replay::Entry;
use serde_json::{Value, json};

use connection::{Connection, Incoming, inbox};
pub use error::EditorError;
pub use session::{OpenQuestion, PermissionChoice, Session};

/// What an agent may print on stderr.
const STDERR: OutputLimits =
    OutputLimits { bytes: ByteSize::mib(64), line: ByteSize::mib(16), lines: 1_000_000 };
/// The time between two looks at what an agent sent.
const LOOK: Duration = Duration::from_millis(20);
/// How long an agent may take to end once its stdin is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last words of an agent that has ended may take.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);
/// The lines of its last words.
const LAST_WORDS: usize = 8;

/// An editor, and the agent to which it talks.
pub struct Editor {
    connection: Connection,
    /// The answer to `initialize`, until it is read.
    greeting: Mutex<Option<(Sender<Incoming>, Receiver<Incoming>)>>,
    /// Why the official types refuse the agent's answer to `initialize`.
    refused: Mutex<Option<String>>,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor").finish_non_exhaustive()
    }
}

impl Editor {
    /// An editor on the pipes of an agent, to which it says hello.
    ///
    /// # Errors
    ///
    /// [`EditorError::Closed`] when the agent reads nothing.
    pub fn new(
        stdin: Box<dyn Write + Send>,
        stdout: impl Read + Send + 'static,
    ) -> Result<Self, EditorError> {
        let connection = Connection::new(stdin, stdout);
        let hello = json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false,
                "elicitation": { "form": {} },
            },
            "clientInfo": { "name": "clitape", "version": env!("CARGO_PKG_VERSION") },
        });
        let (sender, receiver) = inbox();
        connection.ask("initialize", &hello, &sender).map_err(|_| EditorError::Closed)?;
        let greeting = Mutex::new(Some((sender, receiver)));
        Ok(Self { connection, greeting, refused: Mutex::default() })
    }

    /// Whether the agent has answered the hello; waits for it at most `within`.
    ///
    /// # Errors
    ///
    /// [`EditorError::Refused`] or [`EditorError::Ended`] when it will not.
    pub fn is_greeted(&self, within: Duration) -> Result<bool, EditorError> {
        const METHOD: &str = "initialize";
        // Taking a value does not panic.
        let mut greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, receiver)) = greeting.as_ref() else { return Ok(true) };
        let Some(result) = answer(METHOD, receiver, within)? else { return Ok(false) };
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
            official::refusal(METHOD, &result);
        *greeting = None;
        Ok(true)
    }

    /// Opens a session in a folder, which takes at most `within`.
    ///
    /// # Errors
    ///
    /// [`EditorError`] when the agent refuses, ends or is late.
    pub fn open(&self, folder: &Path, within: Duration) -> Result<Session<'_>, EditorError> {
        const METHOD: &str = "session/new";
        let begin = Instant::now();
        let (sender, receiver) = inbox();
        let params = json!({ "cwd": folder, "mcpServers": [] });
        let asked = self.connection.ask(METHOD, &params, &sender);
        asked.map_err(|_| EditorError::Closed)?;
        let result = answer(METHOD, &receiver, within)?.ok_or_else(|| late(METHOD, within))?;
        let mut session = Session::new(&self.connection, (sender, receiver), begin, &result);
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

    /// The limit that the agent's output reached, in words.
    pub fn overflow(&self) -> Option<String> {
        self.connection.overflow()
    }
}

fn late(method: &str, within: Duration) -> EditorError {
    EditorError::Late { method: method.to_owned(), within_s: within.as_secs() }
}

/// Waits for the answer to the only request of an inbox. `None` if it does not come in time.
fn answer(
    method: &str,
    inbox: &Receiver<Incoming>,
    within: Duration,
) -> Result<Option<Value>, EditorError> {
    let end = Instant::now() + within;
    loop {
        match inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Incoming::Answer(_, Ok(result))) => return Ok(Some(result)),
            Ok(Incoming::Answer(_, Err(error))) => {
                let words = error["message"].as_str().unwrap_or_default().to_owned();
                return Err(EditorError::Refused { method: method.to_owned(), words });
            }
            Ok(Incoming::Wrong(words)) => return Err(EditorError::Line(words)),
            Ok(Incoming::Call { .. }) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Ok(Incoming::End) | Err(RecvTimeoutError::Disconnected) => {
                let (method, last_words) = (method.to_owned(), String::new());
                return Err(EditorError::Ended { method, last_words });
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
}

/// Runs an agent through the prompts; `on_entry` gets each entry as it comes. The agent is ended with its group.
///
/// # Errors
///
/// [`EditorError`] when the agent does not start, ends early, is late, or refuses.
pub fn run(
    settings: &EditorSettings,
    host: &HostPaths,
    on_entry: &mut dyn FnMut(&Entry),
) -> Result<(), EditorError> {
    let scratch = Scratch::for_program(host)?;
    let mut program = Program::start(ProgramStart {
        command: &settings.command,
        environment: &settings.environment,
        folder: &settings.folder,
        scratch: &scratch,
        with_stdin: true,
        stdout: StdoutUse::Taken,
        output: STDERR,
        memory: SUBJECT_MEMORY,
    })?;
    let pipes = program.take_stdin().zip(program.take_stdout());
    let (stdin, stdout) = pipes.ok_or(EditorError::Closed)?;
    let editor = Editor::new(stdin, stdout)?;
    let end = Instant::now() + settings.within;
    let left = || end.saturating_duration_since(Instant::now());
    let played = if editor.is_greeted(left())? {
        let session = editor.open(&settings.folder, left());
        session.and_then(|mut session| play(&mut session, settings, end, on_entry))
    } else {
        Err(late("initialize", settings.within))
    };
    let played = played.map_err(|error| with_last_words(error, settings, &program));
    editor.close();
    program.wait(GRACE)?;
    program.ask_to_end(GRACE)?;
    played
}

/// Plays the prompts one after another.
fn play(
    session: &mut Session<'_>,
    settings: &EditorSettings,
    end: Instant,
    on_entry: &mut dyn FnMut(&Entry),
) -> Result<(), EditorError> {
    const METHOD: &str = "session/prompt";
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
            if session.is_over() && session.unanswered() > 0 {
                let (method, last_words) = (METHOD.to_owned(), String::new());
                return Err(EditorError::Ended { method, last_words });
            }
            if Instant::now() > end {
                return Err(late(METHOD, settings.within));
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
        EditorError::Late { method, .. } => late(&method, settings.within),
        error => error,
    }
}
