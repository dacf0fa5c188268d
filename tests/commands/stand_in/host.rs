//! A small host, which drives the built stand-in as a gateway would drive the CLI.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{clitape, root};

/// The arguments of a live host.
pub(crate) const LIVE: [&str; 9] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
];
/// The arguments of a live host, without the side that is asked for permissions.
pub(crate) const LINES: &[&str] = LIVE.split_at(LIVE.len() - 2).0;
/// The arguments of a one-shot host behind its prompt.
pub(crate) const ONE_SHOT: [&str; 4] =
    ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];

/// A host and the process that it started.
pub(crate) struct Host {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Receiver<Vec<u8>>,
    pub(crate) stderr: thread::JoinHandle<String>,
    /// The bytes read so far.
    pub(crate) read: Vec<u8>,
    pub(crate) home: TempDir,
}

/// The end of a process: its status and its output.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) home: TempDir,
}

impl Host {
    /// Returns the program with these variables and arguments, and its new home folder.
    pub(crate) fn command(variables: &[(&str, &str)], args: &[&str]) -> (Command, TempDir) {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        fs::create_dir(&project).unwrap();
        let mut command = clitape();
        command.arg("stand-in").args(args).current_dir(&project);
        command.env("HOME", home.path()).env_remove("CLAUDE_CONFIG_DIR");
        command.env("CLITAPE_ROOT", root()).env("CLITAPE_PLAY", "instant");
        command.env("CLITAPE_LOG", home.path().join("log.jsonl"));
        command.envs(variables.iter().copied());
        (command, home)
    }

    /// Starts the program with these variables and arguments, and with a new home folder.
    pub(crate) fn start(variables: &[(&str, &str)], args: &[&str]) -> Self {
        let (mut command, home) = Self::command(variables, args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, receiver) = channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match stdout.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) if sender.send(line).is_err() => break,
                    Ok(_) => {}
                }
            }
        });
        let mut pipe = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            pipe.read_to_string(&mut text).unwrap();
            text
        });
        let stdin = child.stdin.take();
        Self { child, stdin, stdout: receiver, stderr, read: Vec::new(), home }
    }

    /// Starts a live host of a cassette, which has not written yet.
    pub(crate) fn live(cassette: &str, more: &[&str]) -> Self {
        Self::start(&[("CLITAPE_CASSETTE", cassette)], &[&LIVE[..], more].concat())
    }

    /// Writes bytes, as far as the process reads them.
    pub(crate) fn write_until_closed(&mut self, bytes: &[u8]) {
        // A process that refuses them may end before the last one.
        let _ = self.stdin.as_mut().unwrap().write_all(bytes);
    }

    pub(crate) fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        // A write to a process that has ended fails, and the test sees its end.
        let _ = stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush());
    }

    /// Writes a message with a uuid.
    pub(crate) fn say(&mut self, text: &str, uuid: Option<&str>) {
        let mut line = json!({"type": "user", "message": {"role": "user", "content": text}});
        if let Some(uuid) = uuid {
            line["uuid"] = uuid.into();
        }
        self.write(&line.to_string());
    }

    pub(crate) fn request(&mut self, id: &str, request: &Value) {
        self.write(
            &json!({"type": "control_request", "request_id": id, "request": request}).to_string(),
        );
    }

    pub(crate) fn answer(&mut self, question: &Value, response: &Value) {
        let response = json!({"subtype": "success", "request_id": question["request_id"], "response": response});
        self.write(&json!({"type": "control_response", "response": response}).to_string());
    }

    /// Reads up to the first record that `is_it` accepts, and returns it.
    #[track_caller]
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(60) {
            match self.stdout.recv_timeout(Duration::from_secs(60)) {
                Ok(line) => {
                    self.read.extend_from_slice(&line);
                    let value: Value = serde_json::from_slice(&line).unwrap();
                    if is_it(&value) {
                        return value;
                    }
                }
                Err(_) => break,
            }
        }
        panic!(
            "the record did not come; the process printed\n{}",
            String::from_utf8_lossy(&self.read)
        );
    }

    pub(crate) fn result(&mut self) -> Value {
        self.until(|value| value["type"] == "result")
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn close(mut self) -> Ended {
        self.stdin = None;
        self.end()
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        while let Ok(line) = self.stdout.recv() {
            self.read.extend_from_slice(&line);
        }
        let status = self.child.wait().unwrap();
        let stderr = self.stderr.join().unwrap();
        Ended { status, stdout: self.read, stderr, home: self.home }
    }
}

impl Ended {
    pub(crate) fn records(&self) -> Vec<Value> {
        let lines = self.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    pub(crate) fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home.path().join("log.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the paths of the session's transcripts.
    pub(crate) fn transcripts(&self) -> Vec<PathBuf> {
        let projects = self.home.path().join(".claude/projects");
        let Ok(folders) = fs::read_dir(projects) else { return Vec::new() };
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}
