//! A page in the Chromium of the runner, with the acts that the tests need.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_runner::report::proof::{Browser, Chromium, PhotoError};
use libtest_mimic::Failed;
use serde_json::{Value, json};

/// The time that a test may use a page; only a page that hangs takes all of it.
const LIMIT: Duration = Duration::from_secs(300);

static NEVER: AtomicBool = AtomicBool::new(false);

/// Finds the Chromium of this machine.
pub(crate) fn chromium() -> Result<Chromium, PhotoError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = set("CLITAPE_CHROMIUM").map(PathBuf::from);
    Chromium::find(named, &set("PATH").unwrap_or_default())
}

/// An open page. Dropping it closes its browser.
pub(crate) struct Page {
    browser: Browser<'static>,
}

impl Page {
    /// Opens a file in a window of this size, in light or dark colours.
    pub(crate) fn open(file: &Path, size: (u64, u64), dark: bool) -> Result<Self, Failed> {
        let mut browser = chromium()?.start(&std::env::temp_dir(), LIMIT, &NEVER)?;
        for log in ["Log.enable", "Network.enable", "Runtime.enable"] {
            browser.ask(log, &json!({}))?;
        }
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.ask("Emulation.setEmulatedMedia", &media)?;
        // The window gets the focus, because keys go to the window that has it.
        browser.ask("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }))?;
        browser.resize(size.0, size.1, size.0 < 500)?;
        browser.open(file)?;
        Ok(Self { browser })
    }

    /// Runs the body of a function in the page.
    pub(crate) fn script(&mut self, script: &str) -> Result<Value, Failed> {
        let call =
            json!({ "expression": format!("(() => {{ {script} }})()"), "returnByValue": true });
        let mut answer = self.browser.ask("Runtime.evaluate", &call)?;
        match answer.get("exceptionDetails") {
            Some(error) => Err(format!("{script}: {error}").into()),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    /// Returns the text of the first element that a selector finds.
    pub(crate) fn text(&mut self, selector: &str) -> Result<String, Failed> {
        let text =
            self.script(&format!("return document.querySelector('{selector}').textContent"))?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Presses the key of this name.
    pub(crate) fn key(&mut self, key: &str) -> Result<(), Failed> {
        for kind in ["keyDown", "keyUp"] {
            self.browser.ask("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key }))?;
        }
        Ok(())
    }

    /// Waits until a script returns true.
    pub(crate) fn wait(&mut self, script: &str) -> Result<(), Failed> {
        while self.script(script)? != true {
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Returns the messages on the console so far, and the addresses that the page requested.
    pub(crate) fn log(&mut self) -> Result<(Vec<String>, Vec<String>), Failed> {
        // This answer comes after all earlier messages, so that they are read too.
        self.script("")?;
        let of = |methods: &[&str]| -> Vec<&Value> {
            let events = self.browser.events().iter();
            events.filter(|event| methods.iter().any(|name| event["method"] == *name)).collect()
        };
        let said = ["Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"];
        let console = of(&said).iter().map(|event| event["params"].to_string()).collect();
        let asked = of(&["Network.requestWillBeSent"]);
        let urls = asked.iter().filter_map(|event| event["params"]["request"]["url"].as_str());
        let outside = urls.filter(|url| !url.starts_with("data:")).map(str::to_owned);
        Ok((console, outside.collect()))
    }

    /// Prints the page, and returns the PDF in base64.
    pub(crate) fn print(&mut self) -> Result<String, Failed> {
        let paper = self.browser.ask("Page.printToPDF", &json!({}))?;
        Ok(paper["data"].as_str().unwrap_or_default().to_owned())
    }

    /// Takes a picture of the page at this width, and returns the PNG.
    pub(crate) fn screenshot(&mut self, width: u64) -> Result<Vec<u8>, Failed> {
        Ok(self.browser.screenshot(width)?.png)
    }
}
