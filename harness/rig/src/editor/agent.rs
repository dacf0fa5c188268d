//! The agent's process: messages of JSON-RPC on its stdin and stdout, one a line.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::error::EditorError;

/// The most bytes of a line.
const MAX_LINE: u64 = 32 << 20;
/// The lines that wait to be read.
const WAITING: usize = 1_024;
/// How long an agent may take to end once its stdin is closed.
const GRACE: Duration = Duration::from_secs(2);

/// The bytes of its stderr that are kept.
const LAST_WORDS: usize = 2_048;
/// How long the last words of an agent that has ended may take.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);

/// What came of the agent.
pub(super) enum AgentMessage {
    /// A message.
    Value(Value),
    /// A line that is none, and why.
    Wrong(String),
    /// The end of its output.
    End,
    /// Nothing in time.
    Late,
}

/// A running agent. Dropping it ends it with its group.
pub(super) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Result<String, String>>,
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl Agent {
    /// Starts an agent in a group of its own.
    pub(super) fn start(command: &[OsString], folder: &Path) -> Result<Self, EditorError> {
        let (program, arguments) = command
            .split_first()
            .map_or((&[][..], &[][..]), |(program, rest)| (std::slice::from_ref(program), rest));
        let program = program.first().cloned().unwrap_or_default();
        let failed =
            |source| EditorError::Start { program: program.to_string_lossy().into_owned(), source };
        let mut child = Command::new(&program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (sender, lines) = sync_channel(WAITING);
        let stdin = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || read(stdout, &sender));
        }
        let stderr = Arc::new(Mutex::new(Vec::new()));
        if let Some(pipe) = child.stderr.take() {
            let kept = stderr.clone();
            std::thread::spawn(move || keep_end(pipe, &kept));
        }
        Ok(Self { child, stdin, lines, stderr })
    }

    /// Returns a colon and the end of what the agent printed on stderr, or an empty text.
    pub(super) fn last_words(&self) -> String {
        std::thread::sleep(LAST_WORDS_TIME);
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        match String::from_utf8_lossy(&kept).trim() {
            "" => String::new(),
            words => format!(": {words}"),
        }
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Value) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{message}")?;
        stdin.flush()
    }

    /// Returns the next message.
    pub(super) fn next(&mut self, within: Duration) -> AgentMessage {
        match self.lines.recv_timeout(within) {
            Ok(Ok(line)) => match serde_json::from_str(&line) {
                Ok(value @ Value::Object(_)) => AgentMessage::Value(value),
                _ => AgentMessage::Wrong(line.chars().take(200).collect()),
            },
            Ok(Err(words)) => AgentMessage::Wrong(words),
            Err(RecvTimeoutError::Disconnected) => AgentMessage::End,
            Err(RecvTimeoutError::Timeout) => AgentMessage::Late,
        }
    }
}

/// Reads the agent's lines until its output ends or nobody reads them.
fn read(stdout: ChildStdout, sender: &SyncSender<Result<String, String>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut bytes = Vec::new();
        let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
        let line = match read {
            Ok(0) | Err(_) => return,
            Ok(read) if read as u64 == MAX_LINE && bytes.last() != Some(&b'\n') => {
                Err(format!("it is longer than {} MiB", MAX_LINE >> 20))
            }
            Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let is_blank = line.as_ref().is_ok_and(|line| line.trim().is_empty());
        if !is_blank && sender.send(line).is_err() {
            return;
        }
    }
}

/// Keeps the end of what an agent prints on stderr.
fn keep_end(mut stderr: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4_096];
    while let Ok(read @ 1..) = stderr.read(&mut bytes) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&bytes[..read]);
        let excess = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..excess);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let end = Instant::now() + GRACE;
        // The end of its output is the sign that it ends. It is not waited for before its group is ended, so that
        // the group's number is still its own.
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || matches!(self.next(left), AgentMessage::End) {
                break;
            }
        }
        // What the agent left behind in its group ends too; there may be nothing left.
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
