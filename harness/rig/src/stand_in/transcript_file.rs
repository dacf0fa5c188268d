//! Writes the session's transcript: chooses the lines of a cassette that are due, turn by turn.

use std::io;
use std::path::{Path, PathBuf};

use clitape_recording::wire::UserMessage;

use super::bind::LiveIds;
use super::running::PlayedCassette;
use super::transcript::{append, lines, made, place, turn_end};

/// The transcript of the session, and how far it is written.
#[derive(Debug)]
pub(super) struct KeptTranscript {
    /// The path of the file; `None` if no transcript is written.
    path: Option<PathBuf>,
    /// The bytes of the present cassette's transcript that are written.
    written: usize,
    /// The number of lines in the file when the process began.
    pub(super) lines_before: u64,
}

impl KeptTranscript {
    /// Opens the transcript of a session in the present folder.
    pub(super) fn of(config_dir: Option<&Path>, session_id: &str) -> Self {
        let cwd = std::env::current_dir().unwrap_or_default();
        let path = config_dir.and_then(|folder| place(folder, &cwd, session_id));
        let lines_before = path.as_deref().map_or(0, lines);
        Self { path, written: 0, lines_before }
    }

    /// Begins another cassette.
    pub(super) fn begin(&mut self) {
        self.written = 0;
    }

    /// Appends the lines of a prompt of the host's own and of its answer.
    pub(super) fn keep_own(
        &self,
        stdout: &str,
        message: &UserMessage,
        session_id: &str,
    ) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let cwd = std::env::current_dir().unwrap_or_default();
        append(path, &made(stdout.as_bytes(), Some(message), session_id, &cwd), &LiveIds::new(1))
    }

    /// Appends the lines of a turn; at the end of a cassette, all lines that are left.
    pub(super) fn keep(
        &mut self,
        running: &PlayedCassette,
        session_id: &str,
        is_end: bool,
    ) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let transcript = &running.cassette.transcript;
        if transcript.is_empty() {
            // A run that was ended early has no transcript in its recording either.
            if is_end || running.cassette.stdout.is_empty() {
                return Ok(());
            }
            let cwd = std::env::current_dir().unwrap_or_default();
            let made = made(&running.cassette.stdout, running.message(), session_id, &cwd);
            return append(path, &made, &running.ids);
        }
        let read = if is_end { usize::MAX } else { running.messages_read() };
        let end = turn_end(transcript, self.written, &running.dialogue, read);
        append(path, &transcript[self.written..end], &running.ids)?;
        self.written = end;
        Ok(())
    }
}
