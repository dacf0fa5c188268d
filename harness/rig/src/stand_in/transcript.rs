//! The session's transcript, at the place where the CLI would write it, because gateways look there before they resume
//! a session. The lines of a cassette are written when they are due, turn by turn.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clitape_gateway::session::slug;
use clitape_recording::wire::{UserMessage, WireLine};
use fs_err::OpenOptions;
use serde_json::{Value, json};

use super::adapt::{LiveIds, fresh_uuid};
use super::dialogue::Dialogue;
use super::running::PlayedCassette;

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
        let path = config_dir.and_then(|folder| transcript_path(folder, &cwd, session_id));
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

/// Returns the path of a session's transcript; `cwd` is the working folder of the session.
pub(super) fn transcript_path(config_dir: &Path, cwd: &Path, session_id: &str) -> Option<PathBuf> {
    // An id with a slash would lead into another folder.
    if session_id.is_empty() || session_id.contains(['/', '\\']) {
        return None;
    }
    let cwd = fs::canonicalize(cwd).ok()?;
    let folder = config_dir.join("projects").join(slug(&cwd.to_string_lossy()));
    Some(folder.join(format!("{session_id}.jsonl")))
}

/// Returns the number of lines of a transcript; 0 if the file does not exist.
fn lines(path: &Path) -> u64 {
    let text = fs::read(path).unwrap_or_default();
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Returns the end of a turn in a recorded transcript: the lines from `from` up to the prompt of the first message that
/// the CLI has not read.
fn turn_end(transcript: &[u8], from: usize, dialogue: &Dialogue, read: usize) -> usize {
    let unread: Vec<(Option<&str>, &str)> = dialogue.messages().skip(read).collect();
    let mut at = from;
    for line in transcript[from..].split_inclusive(|&byte| byte == b'\n') {
        if at > from
            && !unread.is_empty()
            && let Some(WireLine::Message(message)) = WireLine::read(line)
        {
            let text = message.text();
            let is_unread = |(uuid, own): &(Option<&str>, &str)| {
                uuid.is_some() && message.uuid.as_deref() == *uuid
                    || !own.is_empty() && text == *own
            };
            if unread.iter().any(is_unread) {
                return at;
            }
        }
        at += line.len();
    }
    at
}

/// Makes the lines of a turn without a recorded transcript: the message, and the last message of the model.
fn made(stdout: &[u8], message: Option<&UserMessage>, host_session: &str, cwd: &Path) -> Vec<u8> {
    let (user, answer) = (fresh_uuid(), fresh_uuid());
    let own = message.map_or_else(|| UserMessage::prompt(""), Clone::clone).message.value();
    let common = |kind: &str, parent: Value, uuid: &str, message: Value| {
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "type": kind, "message": message, "uuid": uuid,
            "timestamp": "2026-01-01T00:00:00.000Z", "userType": "external", "cwd": cwd.to_string_lossy(),
            "sessionId": host_session,
        });
        format!("{line}\n")
    };
    let mut text = common("user", Value::Null, &user, own);
    let last = stdout
        .split(|&byte| byte == b'\n')
        .rfind(|line| WireLine::read(line).is_some_and(|line| line.kind() == "assistant"));
    let value: Option<Value> = last.and_then(|line| serde_json::from_slice(line).ok());
    if let Some(mut value) = value {
        text.push_str(&common("assistant", Value::from(user), &answer, value["message"].take()));
    }
    text.into_bytes()
}

/// Appends lines to a transcript, with the ids of the session.
fn append(path: &Path, lines: &[u8], ids: &LiveIds) -> std::io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    let mut lines = ids.bind_text(lines);
    let before = fs::read(path).unwrap_or_default();
    if let Some(parent) = last_uuid(&before) {
        chain(&mut lines, &parent);
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(&lines)
}

/// Returns the uuid of the last record that has one.
fn last_uuid(transcript: &[u8]) -> Option<String> {
    transcript.rsplit(|&byte| byte == b'\n').find_map(|line| {
        let value: Value = serde_json::from_slice(line).ok()?;
        value["uuid"].as_str().map(str::to_owned)
    })
}

/// Makes `parent` the parent of the first record that has none.
fn chain(lines: &mut Vec<u8>, parent: &str) {
    const ROOT: &[u8] = br#""parentUuid":null"#;
    if let Some(at) = lines.windows(ROOT.len()).position(|part| part == ROOT) {
        let child = format!(r#""parentUuid":{}"#, Value::from(parent));
        lines.splice(at..at + ROOT.len(), child.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_below_those_that_are_there() {
        let dir = std::env::temp_dir().join(format!("clitape-transcript-{}", std::process::id()));
        let path = dir.join("projects/-x/s.jsonl");
        let ids = LiveIds::new(1);
        append(
            &path,
            b"{\"parentUuid\":null,\"uuid\":\"a\"}\n{\"parentUuid\":\"a\",\"uuid\":\"b\"}\n",
            &ids,
        )
        .unwrap();
        append(&path, b"{\"parentUuid\":null,\"uuid\":\"c\"}\n", &ids).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().last(), Some("{\"parentUuid\":\"b\",\"uuid\":\"c\"}"));
        assert_eq!(lines(&path), 3);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_last_answer_is_kept_whatever_the_order_of_its_keys() {
        let stdout = b"{\"type\":\"assistant\",\"message\":{\"content\":\"one\"}}\n\
                       {\"message\":{\"content\":\"two\"},\"type\":\"assistant\"}\n{\"type\":\"result\"}\n";
        let lines = made(stdout, None, "s", Path::new("/"));
        let last: Value =
            serde_json::from_slice(lines.split(|&byte| byte == b'\n').nth(1).unwrap()).unwrap();
        assert_eq!(last["message"]["content"], "two");
    }

    #[test]
    fn a_transcript_is_cut_before_the_prompt_of_the_next_turn() {
        let one = "{\"type\":\"user\",\"message\":{\"content\":\"one\"},\"uuid\":\"1\"}\n{\"type\":\"assistant\"}\n";
        let two = "{\"type\":\"user\",\"message\":{\"content\":\"two\"},\"uuid\":\"2\"}\n";
        let stdin = b"{\"type\":\"user\",\"message\":{\"content\":\"one\"},\"uuid\":\"1\"}\n{\"type\":\"user\",\"message\":{\"content\":\"two\"},\"uuid\":\"2\"}\n";
        let timeline =
            clitape_recording::cassette::parse_timeline("[0,\"i\",1]\n[0,\"i\",2]\n").unwrap();
        let dialogue = Dialogue::of(b"", stdin, &timeline);
        let text = format!("{one}{two}");
        assert_eq!(turn_end(text.as_bytes(), 0, &dialogue, 1), one.len());
        assert_eq!(turn_end(text.as_bytes(), one.len(), &dialogue, 2), text.len());
    }
}
