//! Chromium without a window, asked over a pipe in its DevTools protocol. It loads nothing but what it
//! is told to, and nothing of it is left when this is dropped.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use fs_err as fs;
use nix::unistd::Uid;
use serde_json::{Value, json};

use crate::record::{Guard, Running, Scratch, command, launch};

/// Names that Chromium is installed under.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to end.
const GRACE: Duration = Duration::from_secs(3);
/// How often a wait looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);
/// What the name of its folder begins with.
const HOME: &str = "clitape-chromium-";
/// Gives the program its pipe, which it takes as files 3 and 4.
const START: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>\"$CLITAPE_STDERR\"";
/// No window, no profile of anybody's, and no name that could be looked up.
const SWITCHES: [&str; 13] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-first-run",
];

/// Why there is no picture of the page.
#[derive(Debug, thiserror::Error)]
pub enum PhotoError {
    /// It is not installed.
    #[error(
        "there is no Chromium on PATH (looked for {}); install it, or name it with \
         CLITAPE_CHROMIUM", NAMES.join(", ")
    )]
    NotInstalled,
    /// The file system or the operating system said no.
    #[error("{0}; is it Chromium that CLITAPE_CHROMIUM or PATH names?")]
    Io(#[from] std::io::Error),
    /// The caller asked to stop.
    #[error("stopped; there is no page.png")]
    Stopped,
    /// It ended, or was silent for too long.
    #[error("Chromium {what}; run `{program} --headless --dump-dom about:blank` to see why{said}")]
    Silent {
        /// Ended, or did not answer.
        what: &'static str,
        /// The program.
        program: PathBuf,
        /// The end of its stderr.
        said: String,
    },
    /// It answered something else than what was asked.
    #[error("Chromium can't do {method}: {what}; update it, or name another with CLITAPE_CHROMIUM")]
    Refused {
        /// What was asked.
        method: &'static str,
        /// What it answered.
        what: String,
    },
}

/// A Chromium that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chromium {
    program: PathBuf,
}

impl Chromium {
    /// The program of this name, or the Chromium on PATH.
    ///
    /// # Errors
    ///
    /// [`PhotoError::NotInstalled`] when none is named and there is none.
    pub fn find(named: Option<PathBuf>) -> Result<Self, PhotoError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = || {
            let all = NAMES
                .iter()
                .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)));
            all.into_iter().find(|program| program.is_file())
        };
        let program = named.or_else(found).ok_or(PhotoError::NotInstalled)?;
        Ok(Self { program })
    }

    /// Starts it, with a profile that nobody had before; setting `stop` ends every wait.
    pub(super) fn start<'a>(&self, stop: &'a AtomicBool) -> Result<Browser<'a>, PhotoError> {
        let home = Scratch::new(&fs::canonicalize(std::env::temp_dir())?, HOME)?;
        let stderr = home.path().join("stderr.txt");
        let mut shell = command("sh");
        shell
            .args(["-c", START])
            .arg(&self.program)
            .args(SWITCHES)
            // For root it has no sandbox.
            .args(Uid::effective().is_root().then_some("--no-sandbox"))
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .arg("about:blank")
            .env("HOME", home.path())
            .env("CLITAPE_STDERR", &stderr);
        let lock = home.lock();
        let mut child = launch(shell, true, Guard { lock: Some(&lock), bounds: None })?;
        // What the shell itself says, before Chromium's own words go to the file.
        if let Some(mut pipe) = child.stderr.take() {
            std::thread::spawn(move || pipe.read_to_end(&mut Vec::new()));
        }
        let (tell, told) = channel();
        if let Some(pipe) = child.stdout.take() {
            std::thread::spawn(move || {
                for message in BufReader::new(pipe).split(0).map_while(Result::ok) {
                    let message = serde_json::from_slice::<Value>(&message);
                    if tell.send(message.unwrap_or_default()).is_err() {
                        break;
                    }
                }
            });
        }
        let (ask, program) = (child.stdin.take(), self.program.clone());
        let until = Instant::now() + LIMIT;
        Ok(Browser {
            child,
            ask,
            told,
            seen: Vec::new(),
            asked: 0,
            until,
            program,
            stderr,
            stop,
            _home: home,
        })
    }
}

/// A running Chromium.
pub(super) struct Browser<'a> {
    child: Running,
    ask: Option<Box<dyn Write + Send>>,
    told: Receiver<Value>,
    /// What it told without being asked.
    seen: Vec<Value>,
    /// How often it was asked.
    asked: u64,
    until: Instant,
    program: PathBuf,
    stderr: PathBuf,
    stop: &'a AtomicBool,
    _home: Scratch,
}

impl Browser<'_> {
    /// Asks for something, of a session or of the browser itself, and waits for the answer.
    pub(super) fn ask(
        &mut self,
        session: Option<&str>,
        method: &'static str,
        params: &Value,
    ) -> Result<Value, PhotoError> {
        self.asked += 1;
        let mut message = json!({ "id": self.asked, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        if let Some(pipe) = &mut self.ask {
            // One that has ended is told of by what does not come.
            let _ = pipe.write_all(format!("{message}\0").as_bytes());
        }
        loop {
            let mut answer = self.next()?;
            if answer["id"] != self.asked {
                self.seen.push(answer);
            } else if answer["error"].is_null() {
                return Ok(answer["result"].take());
            } else {
                let what = answer["error"]["message"].as_str().unwrap_or("no reason").to_owned();
                return Err(PhotoError::Refused { method, what });
            }
        }
    }

    /// Waits until it tells something of which `is` holds.
    pub(super) fn wait(&mut self, is: impl Fn(&Value) -> bool) -> Result<(), PhotoError> {
        while !self.seen.iter().any(&is) {
            let told = self.next()?;
            self.seen.push(told);
        }
        Ok(())
    }

    fn next(&self) -> Result<Value, PhotoError> {
        let what = loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(PhotoError::Stopped);
            }
            match self.told.recv_timeout(LOOK) {
                Ok(told) => return Ok(told),
                Err(RecvTimeoutError::Timeout) if Instant::now() < self.until => {}
                Err(RecvTimeoutError::Timeout) => break "did not answer",
                Err(RecvTimeoutError::Disconnected) => break "ended before it was done",
            }
        };
        let (program, said) = (self.program.clone(), last_line(&self.stderr));
        Err(PhotoError::Silent { what, program, said })
    }
}

fn last_line(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!("\n  stderr: {}", line.trim()))
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        // It ends by itself, and what it started with it, when its pipe does.
        self.ask = None;
        let grace = Instant::now() + GRACE;
        while Instant::now() < grace && matches!(self.child.poll(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
    }
}
