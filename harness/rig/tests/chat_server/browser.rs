//! Tests of the page in a real browser. The page is saved as files, because the runner's browser reaches no network.
//! Without Chromium the test prints a note and ends; it fails instead if `CLITAPE_REQUIRE` names `chromium`.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_rig::chat_server::ChatServer;
use clitape_runner::report::proof::{Browser, Chromium};
use serde_json::{Value, json};

use crate::client::{request, result, started};

/// The time that the test may use a page; only a page that hangs takes all of it.
const LIMIT: Duration = Duration::from_secs(300);
/// The sizes of a window on a desk and on a phone.
const SIZES: [(u64, u64); 2] = [(1_200, 900), (390, 844)];
/// A bot's text that tries to break out of its place in the page.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)><script>alert(2)</script>'\"";

static NEVER: AtomicBool = AtomicBool::new(false);

/// Runs the body of a function in the page.
fn run(browser: &mut Browser<'_>, script: &str) -> Value {
    let call = json!({ "expression": format!("(() => {{ {script} }})()"), "returnByValue": true });
    let mut answer = browser.ask("Runtime.evaluate", &call).unwrap();
    assert!(answer.get("exceptionDetails").is_none(), "{script}: {answer}");
    answer["result"]["value"].take()
}

/// Saves the page of a server with its style and its script.
fn save(server: &ChatServer, folder: &std::path::Path) -> PathBuf {
    for (path, name) in [("/", "page.html"), ("/page.css", "page.css"), ("/page.js", "page.js")] {
        let file = request(&server.url(), "GET", path, &[], b"").unwrap();
        assert_eq!(file.status, 200, "{path}");
        fs::write(folder.join(name), file.body.replace("\"/page.", "\"page.")).unwrap();
    }
    folder.join("page.html")
}

#[test]
fn the_page_shows_a_chat_and_what_a_bot_writes_stays_text() {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = set("CLITAPE_CHROMIUM").map(PathBuf::from);
    let Ok(chromium) = Chromium::find(named, &set("PATH").unwrap_or_default()) else {
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        assert!(!required.contains("chromium"), "Chromium is not installed");
        println!("Chromium is not installed: the page is not tested");
        return;
    };
    let server = started(|_| {});
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Allow", "callback_data": "a" },
        { "text": HOSTILE, "callback_data": "b" }]] });
    let sent = json!({ "chat_id": 7, "text": format!("{HOSTILE} {}", "wide".repeat(60)),
        "reply_markup": keyboard });
    result(&server, "sendMessage", &sent);
    let marked = json!({ "chat_id": 7, "text": "<b>bold</b> <code>code</code>", "parse_mode": "HTML",
        "reply_parameters": { "message_id": 1 } });
    result(&server, "sendMessage", &marked);

    let folder = tempfile::tempdir().unwrap();
    let page = save(&server, folder.path());
    let mut browser = chromium.start(&std::env::temp_dir(), LIMIT, &NEVER).unwrap();
    for (scheme, paper) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 29)")] {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.ask("Emulation.setEmulatedMedia", &media).unwrap();
        for (width, height) in SIZES {
            browser.resize(width, height, width < 500).unwrap();
            browser.open(&page).unwrap();
            for (script, expect) in [
                (
                    "const root = document.documentElement; return root.scrollWidth - root.clientWidth",
                    json!(0),
                ),
                ("return getComputedStyle(document.body).backgroundColor", json!(paper)),
                ("return document.querySelectorAll('.bubble').length", json!(3)),
                ("return document.querySelectorAll('main img, main script').length", json!(0)),
                ("return document.querySelector('.bold').textContent", json!("bold")),
                ("return document.querySelector('.quote').textContent", json!("hello")),
                ("return document.querySelectorAll('.row button')[1].textContent", json!(HOSTILE)),
                ("return document.querySelectorAll('#calls li').length", json!(3)),
            ] {
                assert_eq!(run(&mut browser, script), expect, "{scheme} at {width} px: {script}");
            }
            let text = run(&mut browser, "return document.querySelector('.bot .text').textContent");
            assert!(text.as_str().unwrap().starts_with(HOSTILE), "{text}");
        }
    }
}
