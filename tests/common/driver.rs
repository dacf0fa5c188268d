//! A browser, as far as the tests drive one: `chromedriver` and the WebDriver protocol, which is JSON
//! over HTTP on 127.0.0.1.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};

/// Tries of [`Browser::wait`], 100 ms apart; only a page that hangs uses them up.
const TRIES: u32 = 600;

/// A browser with one window; it goes away with this.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts one with these switches.
    pub(crate) fn start(flags: &[&str]) -> Result<Self, Failed> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = driver.stdout.take().ok_or("no stdout")?;
        let port = BufReader::new(stdout).lines().map_while(Result::ok).find_map(|line| {
            line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
        });
        let mut browser = Self {
            driver,
            port: port.ok_or("chromedriver did not start")?,
            session: String::new(),
        };
        // Where the tests are run by root, Chromium has no sandbox.
        let mut args = vec!["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"];
        args.extend(flags);
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": args },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let session = browser.ask("POST", "/session", &wanted)?;
        browser.session = session["sessionId"].as_str().ok_or("no session")?.to_owned();
        Ok(browser)
    }

    /// Opens a page.
    pub(crate) fn go(&self, url: &str) -> Result<(), Failed> {
        self.tell("/url", &json!({ "url": url })).map(drop)
    }

    /// Runs a script in the page.
    pub(crate) fn script(&self, script: &str) -> Result<Value, Failed> {
        self.tell("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// What the first element says that a selector finds.
    pub(crate) fn text(&self, selector: &str) -> Result<String, Failed> {
        let text =
            self.script(&format!("return document.querySelector('{selector}').textContent"))?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Presses a key.
    pub(crate) fn key(&self, key: &str) -> Result<(), Failed> {
        let press =
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })];
        let keys = json!({ "actions": [{ "type": "key", "id": "keys", "actions": press }] });
        self.tell("/actions", &keys).map(drop)
    }

    /// Waits until a script returns true.
    pub(crate) fn wait(&self, script: &str) -> Result<(), Failed> {
        for _ in 0..TRIES {
            if self.script(script)? == true {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(format!("it never came to be: {script}").into())
    }

    /// The messages of a log so far.
    pub(crate) fn log(&self, kind: &str) -> Result<Vec<String>, Failed> {
        let lines = self.tell("/se/log", &json!({ "type": kind }))?;
        let lines = lines.as_array().cloned().unwrap_or_default();
        Ok(lines.iter().filter_map(|line| Some(line["message"].as_str()?.to_owned())).collect())
    }

    /// Makes the page as small as on a phone; windows can't be.
    pub(crate) fn phone(&self, width: u32, height: u32) -> Result<(), Failed> {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": params });
        self.tell("/goog/cdp/execute", &command).map(drop)
    }

    /// The page on paper: a PDF in base64.
    pub(crate) fn print(&self) -> Result<String, Failed> {
        let paper = self.tell("/print", &json!({}))?;
        Ok(paper.as_str().unwrap_or_default().to_owned())
    }

    /// A picture of the window: a PNG in base64.
    pub(crate) fn screenshot(&self) -> Result<String, Failed> {
        let picture =
            self.ask("GET", &format!("/session/{}/screenshot", self.session), &Value::Null)?;
        Ok(picture.as_str().unwrap_or_default().to_owned())
    }

    fn tell(&self, what: &str, body: &Value) -> Result<Value, Failed> {
        self.ask("POST", &format!("/session/{}{what}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, Failed> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut text = vec![0; length];
        answer.read_exact(&mut text)?;
        let mut answer: Value = serde_json::from_slice(&text)?;
        let value = answer["value"].take();
        match value.get("error") {
            Some(error) => Err(format!("{path}: {error}: {}", value["message"]).into()),
            None => Ok(value),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.ask("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
