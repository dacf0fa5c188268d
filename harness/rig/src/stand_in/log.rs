//! The log of the stand-in: one JSON object a line, with the time, the process and the event.
//!
//! The log is also read, to find the cassette that began a session, because a gateway that continues a session may pass
//! a message without a marker.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;

use clitape_judge::observation::STAND_IN;
use clitape_recording::files;
use fs_err::OpenOptions;
use serde::Deserialize;
use serde_json::{Value, json};

use super::adapt::HostFacts;
use crate::clock::now_ms;

/// The most bytes of a host's line that go into the log.
const LONGEST_LINE: usize = 64 * 1024;

/// The log; without a file it discards its lines.
#[derive(Debug)]
pub(super) struct Log {
    file: Option<File>,
}

impl Log {
    /// Opens the log for appending. An error goes to stderr and is otherwise ignored.
    pub(super) fn open(path: Option<&Path>) -> Self {
        let file = path.and_then(|path| {
            let open = OpenOptions::new().create(true).append(true).open(path);
            open.inspect_err(|error| tell(&error.to_string())).ok()
        });
        Self { file: file.map(|file| file.into_parts().0) }
    }

    fn write(&mut self, event: &str, fields: &Value) {
        let Some(file) = &mut self.file else { return };
        let mut line = json!({
            "at": now_ms(),
            "pid": std::process::id(),
            "event": event,
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            line[name] = value.clone();
        }
        // One write for each line keeps lines of several processes apart. A failure is ignored, because the log must
        // not change the behaviour towards the host.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }

    /// Writes a start, with its arguments and the kind of run that they ask for.
    pub(super) fn start(&mut self, args: &[String], form: &str, version: Option<&str>) {
        if self.file.is_none() {
            return;
        }
        // Names without values, because a host passes secrets to the CLI in its environment.
        let mut names: Vec<String> =
            std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        names.sort();
        let cwd = std::env::current_dir().ok();
        let cwd = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
        self.write(
            "start",
            &json!({"argv": args, "form": form, "env": names, "cwd": cwd, "version": version}),
        );
    }

    pub(super) fn stdin(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST_LINE)]);
        self.write("stdin", &json!({"line": text.trim_end()}));
    }

    pub(super) fn stdin_closed(&mut self) {
        self.write("stdin", &json!({"line": null}));
    }

    /// Writes the start of a turn; another process has printed the first `left_out` bytes of its cassette.
    pub(super) fn turn(&mut self, cassette: &str, turn: u64, host: &HostFacts, left_out: u64) {
        let mut turn = json!({"cassette": cassette, "turn": turn, "session_id": host.session_id});
        if let Some(folder) = &host.folder {
            turn["folder"] = folder.as_str().into();
        }
        if left_out > 0 {
            turn["left_out"] = left_out.into();
        }
        self.write("turn", &turn);
    }

    /// Writes the number of bytes that were printed in place of the cassette's bytes `offset..to`.
    pub(super) fn print(&mut self, bytes: usize, offset: u64, to: u64) {
        self.write("print", &json!({"bytes": bytes, "offset": offset, "to": to}));
    }

    pub(super) fn wait(&mut self, what: &str) {
        self.write("wait", &json!({"for": what}));
    }

    pub(super) fn note(&mut self, what: &str) {
        self.write("note", &json!({"what": what}));
    }

    pub(super) fn turn_end(&mut self, cassette: &str, turn: u64) {
        self.write("turn_end", &json!({"cassette": cassette, "turn": turn}));
    }

    pub(super) fn refused(&mut self, sentence: &str) {
        self.write("refused", &json!({"sentence": sentence}));
    }

    pub(super) fn signal(&mut self, signal: &str) {
        self.write("signal", &json!({"signal": signal}));
    }

    pub(super) fn exit(&mut self, code: u8) {
        self.write("exit", &json!({"code": code}));
    }

    pub(super) fn exit_by_signal(&mut self, signal: i32) {
        self.write("exit", &json!({"signal": signal}));
    }
}

/// Prints a sentence of the stand-in on stderr.
pub(super) fn tell(sentence: &str) {
    // A host that closed stderr still gets the exit code and the log.
    let _ = writeln!(io::stderr(), "{STAND_IN}{sentence}");
}

/// The part of a session that is played so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlayedSession {
    /// The cassette that was played last, `NAME/VERSION`.
    pub(super) cassette: String,
    /// The number of its turns that have begun.
    pub(super) turns: usize,
}

/// A line of the log about a turn.
#[derive(Deserialize)]
struct TurnLine {
    event: String,
    cassette: String,
    session_id: String,
}

/// Looks a session up in the log, into which all processes of a run write; `None` if the log does not have it.
pub(super) fn played_session(log: &Path, session_id: &str) -> Option<PlayedSession> {
    let mut lines = BufReader::new(files::open(log).ok()?);
    let (mut found, mut line): (Option<PlayedSession>, _) = (None, Vec::new());
    while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        let turn = serde_json::from_slice::<TurnLine>(&line).ok();
        line.clear();
        let Some(turn) = turn.filter(|turn| turn.event == "turn" && turn.session_id == session_id)
        else {
            continue;
        };
        match &mut found {
            Some(played) if played.cassette == turn.cassette => played.turns += 1,
            _ => found = Some(PlayedSession { cassette: turn.cassette, turns: 1 }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cassette_of_a_session_is_found_among_others() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let turn = |session: &str, cassette: &str| {
            format!(
                "{{\"event\":\"turn\",\"cassette\":\"{cassette}\",\"session_id\":\"{session}\"}}\n"
            )
        };
        let text = [
            "{\"event\":\"start\"}\nno json\n".to_owned(),
            turn("s", "a/1.0.0"),
            turn("other", "b/1.0.0"),
            turn("s", "a/1.0.0"),
            turn("next", "a/1.0.0"),
            turn("next", "c/1.0.0"),
        ];
        std::fs::write(&log, text.concat()).unwrap();
        for (session, expect) in
            [("s", Some(("a/1.0.0", 2))), ("next", Some(("c/1.0.0", 1))), ("none", None)]
        {
            let found = played_session(&log, session);
            let found = found.as_ref().map(|played| (played.cassette.as_str(), played.turns));
            assert_eq!(found, expect, "{session}");
        }
        assert_eq!(played_session(&folder.path().join("missing"), "s"), None);
    }
}
