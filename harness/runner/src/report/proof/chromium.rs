//! Drives Chromium without a window over a pipe, in its DevTools protocol, and makes `page.png`: the whole page in the
//! light colour scheme. Chromium loads only the page that it opens, and dropping a [`Browser`] ends all its processes
//! and removes its files.

use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clitape_process::host::which;
use clitape_process::threads::{NoMoreThreads, start};
use clitape_process::{Guard, ProcessError, Running, Scratch, command, launch};
use fs_err as fs;
use nix::unistd::Uid;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Value, json};

/// The names under which Chromium is installed.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// The longest time of a picture.
const LIMIT: Duration = Duration::from_secs(60);
/// The width of the page on a picture, in pixels.
const WIDTH: u64 = 1100;
/// The greatest height of a picture, in pixels; Chromium draws no taller one in one piece.
const TALLEST: u64 = 16_000;
/// The longest time for Chromium to end.
const GRACE: Duration = Duration::from_secs(3);
/// The interval at which a wait checks whether it has to end.
const LOOK: Duration = Duration::from_millis(20);
/// The start of the name of its folder.
const HOME: &str = "clitape-chromium-";
/// The shell command that gives the program its pipe, which it takes as files 3 and 4.
const START: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>\"$CLITAPE_STDERR\"";
/// The switches: no window, no profile of the user, and no lookup of names.
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

/// The reason why the picture of the page is missing.
#[derive(Debug, thiserror::Error)]
pub enum PhotoError {
    /// Chromium is not installed.
    #[error(
        "there is no Chromium on PATH (looked for {}); install it, or name it with \
         CLITAPE_CHROMIUM", NAMES.join(", ")
    )]
    NotInstalled,
    /// The file system or the operating system returned an error.
    #[error("{0}; is it Chromium that CLITAPE_CHROMIUM or PATH names?")]
    Io(#[from] std::io::Error),
    /// Chromium can't be started.
    #[error(transparent)]
    Process(ProcessError),
    /// The system lets no process or thread start.
    #[error(transparent)]
    Threads(#[from] NoMoreThreads),
    /// The caller asked to stop.
    #[error("stopped; there is no page.png")]
    Stopped,
    /// Chromium ended, or did not answer for too long.
    #[error("Chromium {what}; run `{program} --headless --dump-dom about:blank` to see why{said}")]
    Silent {
        /// The words for which of the two it was.
        what: &'static str,
        /// The program.
        program: PathBuf,
        /// The end of its stderr.
        said: String,
    },
    /// Chromium refused a command.
    #[error("Chromium can't do {method}: {what}; update it, or name another with CLITAPE_CHROMIUM")]
    Refused {
        /// The command.
        method: &'static str,
        /// The error that it answered.
        what: String,
    },
}

impl From<ProcessError> for PhotoError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::NoMoreThreads(error) => error.into(),
            ProcessError::Io(error) => error.into(),
            error => Self::Process(error),
        }
    }
}

/// A Chromium that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chromium {
    program: PathBuf,
}

impl Chromium {
    /// Returns the named program, or the Chromium in the folders of `path`.
    ///
    /// # Errors
    ///
    /// [`PhotoError::NotInstalled`] when `named` is `None` and the folders have none.
    pub fn find(named: Option<PathBuf>, path: &OsStr) -> Result<Self, PhotoError> {
        let found = || NAMES.iter().find_map(|name| which(path, name));
        let program = named.or_else(found).ok_or(PhotoError::NotInstalled)?;
        Ok(Self { program })
    }

    /// Starts Chromium with one empty page and a profile in a new folder of `temporary`. Every wait ends after `limit`,
    /// and once `stop` is set.
    ///
    /// # Errors
    ///
    /// [`PhotoError`] when it can't be started or does not answer.
    pub fn start<'s>(
        &self,
        temporary: &Path,
        limit: Duration,
        stop: &'s AtomicBool,
    ) -> Result<Browser<'s>, PhotoError> {
        let home = Scratch::new(&fs::canonicalize(temporary)?, HOME)?;
        let stderr = home.path().join("stderr.txt");
        let mut shell = command("sh");
        shell
            .args(["-c", START])
            .arg(&self.program)
            .args(SWITCHES)
            // Chromium has no sandbox for root.
            .args(Uid::effective().is_root().then_some("--no-sandbox"))
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .arg("about:blank")
            .env("HOME", home.path())
            .env("CLITAPE_STDERR", &stderr);
        let lock = home.lock();
        let guard = Guard { lock: Some(&lock), ..Guard::default() };
        let mut child = launch(shell, true, guard)?;
        // The pipe has the messages of the shell; Chromium's own go to the file.
        if let Some(mut pipe) = child.stderr.take() {
            start("output", move || pipe.read_to_end(&mut Vec::new()))?;
        }
        let (tell, told) = channel();
        if let Some(pipe) = child.stdout.take() {
            let read = move || {
                for message in BufReader::new(pipe).split(0).map_while(Result::ok) {
                    let message = serde_json::from_slice::<Value>(&message);
                    if tell.send(message.unwrap_or_default()).is_err() {
                        break;
                    }
                }
            };
            start("output", read)?;
        }
        let mut browser = Browser {
            pipe: child.stdin.take(),
            child,
            told,
            events: Vec::new(),
            asked: 0,
            session: None,
            until: Instant::now() + limit,
            program: self.program.clone(),
            stderr,
            stop,
            _home: home,
        };
        let blank = json!({ "url": "about:blank" });
        let target = browser.ask("Target.createTarget", &blank)?["targetId"].take();
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = browser.ask("Target.attachToTarget", &attach)?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.ask("Page.enable", &json!({}))?;
        browser.ask("Page.setLifecycleEventsEnabled", &json!({ "enabled": true }))?;
        Ok(browser)
    }
}

/// A running Chromium that shows one page.
pub struct Browser<'s> {
    child: Running,
    pipe: Option<Box<dyn Write + Send>>,
    told: Receiver<Value>,
    events: Vec<Value>,
    /// The number of commands so far.
    asked: u64,
    /// The id of the page's session.
    session: Option<String>,
    until: Instant,
    program: PathBuf,
    stderr: PathBuf,
    stop: &'s AtomicBool,
    _home: Scratch,
}

impl fmt::Debug for Browser<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser").field("program", &self.program).finish_non_exhaustive()
    }
}

impl Browser<'_> {
    /// Opens the page in this file and waits until it is loaded.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask), and when the page does not exist.
    pub fn open(&mut self, page: &Path) -> Result<(), PhotoError> {
        let method = "Page.navigate";
        let opened = self.ask(method, &json!({ "url": file_url(&std::path::absolute(page)?) }))?;
        if let Some(what) = opened["errorText"].as_str() {
            return Err(PhotoError::Refused { method, what: what.to_owned() });
        }
        let is_loaded = |event: &Value| {
            let event = &event["params"];
            event["name"] == "load" && event["loaderId"] == opened["loaderId"]
        };
        while !self.events.iter().any(is_loaded) {
            let event = self.next()?;
            self.events.push(event);
        }
        Ok(())
    }

    /// Gives the page this size in pixels; a `mobile` one is laid out as on a phone.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask).
    pub fn resize(&mut self, width: u64, height: u64, mobile: bool) -> Result<(), PhotoError> {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.ask("Emulation.setDeviceMetricsOverride", &size).map(drop)
    }

    /// Takes a picture of the whole page at this width.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask), and when the answer has no picture.
    pub fn screenshot(&mut self, width: u64) -> Result<Photo, PhotoError> {
        let layout = self.ask("Page.getLayoutMetrics", &json!({}))?;
        let page_height = layout["cssContentSize"]["height"].as_f64().unwrap_or_default().ceil();
        let page_height = page_height as u64;
        let height = page_height.clamp(1, TALLEST);
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let how = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let method = "Page.captureScreenshot";
        let taken = self.ask(method, &how)?;
        let png = taken["data"].as_str().and_then(|data| STANDARD.decode(data).ok());
        let png = png.ok_or(PhotoError::Refused { method, what: "no picture came".to_owned() })?;
        Ok(Photo { png, height, page_height })
    }

    /// Returns the events that Chromium has sent, the oldest first.
    pub fn events(&self) -> &[Value] {
        &self.events
    }

    /// Sends a command of the DevTools protocol for the page, and waits for the answer.
    ///
    /// # Errors
    ///
    /// [`PhotoError`] when Chromium refuses it, has ended, or does not answer in time.
    pub fn ask(&mut self, method: &'static str, params: &Value) -> Result<Value, PhotoError> {
        self.asked += 1;
        let mut message = json!({ "id": self.asked, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        if let Some(pipe) = &mut self.pipe {
            // If Chromium has ended, the missing answer is reported below.
            let _ = pipe.write_all(format!("{message}\0").as_bytes());
        }
        loop {
            let mut answer = self.next()?;
            if answer["id"] != self.asked {
                self.events.push(answer);
            } else if answer["error"].is_null() {
                return Ok(answer["result"].take());
            } else {
                let what = answer["error"]["message"].as_str().unwrap_or("no reason").to_owned();
                return Err(PhotoError::Refused { method, what });
            }
        }
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
        // Chromium ends with all its processes when its pipe is closed.
        self.pipe = None;
        let grace = Instant::now() + GRACE;
        while Instant::now() < grace && matches!(self.child.poll(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
    }
}

/// A picture of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photo {
    /// The bytes of the PNG.
    pub png: Vec<u8>,
    /// The height of the picture, in pixels.
    pub height: u64,
    /// The height of the page, in pixels; more than `height` if its end is left out.
    pub page_height: u64,
}

/// Takes a picture of the page in this file; setting `stop` ends it.
///
/// # Errors
///
/// [`PhotoError`] when Chromium can't be started or does not answer, or `stop` is set. All its processes have ended
/// then.
pub fn photo(
    chromium: &Chromium,
    page: &Path,
    temporary: &Path,
    stop: &AtomicBool,
) -> Result<Photo, PhotoError> {
    let mut browser = chromium.start(temporary, LIMIT, stop)?;
    let light = json!({ "features": [{ "name": "prefers-color-scheme", "value": "light" }] });
    browser.ask("Emulation.setEmulatedMedia", &light)?;
    browser.resize(WIDTH, 1000, false)?;
    browser.open(page)?;
    browser.screenshot(WIDTH)
}

/// The bytes that stay unescaped in the path of an address.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the address of a file.
fn file_url(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_has_an_address() {
        assert_eq!(file_url(Path::new("/a b/%é#.html")), "file:///a%20b/%25%C3%A9%23.html");
    }
}
