//! Hostile input: text that steers, hides and commands, in a capture, from a program, and from a server.

#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

/// Terminal sequences, C1 controls, characters that hide text or turn it around, commands of GitHub, and markup.
/// clitape itself does not use these colours.
pub(crate) const EVIL: &str = "\u{1b}]52;c;QUFB\u{7}\u{1b}[41mRED\u{1b}[5m\u{1b}[2J\u{9b}41m\u{202e}\u{2066}\u{200b}\
    \u{feff}\u{2028}\r\u{8}\u{85}\u{0}\u{ad}\u{e0041}|::error file=a::x\n::stop-commands::t\n \
    ##[add-mask]y\n```\n\n## INJECTED\n- [x] **E** <img src=x> <!-- @somebody #1 a#2 https://e.org `$(id)`";

/// Returns [`EVIL`] as a part of a file name.
pub(crate) fn evil_name() -> String {
    EVIL.replace(['/', '\0'], "").chars().take(90).collect()
}

/// Returns a capture with [`EVIL`] wherever a record has text.
pub(crate) fn capture() -> String {
    let event = |event: Value| json!({ "type": "stream_event", "event": event });
    let delta =
        |delta: Value| event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
    let input = json!({ EVIL: EVIL, "command": EVIL, "description": EVIL }).to_string();
    let message = json!({ "id": EVIL, "type": "message", "role": "assistant", "model": EVIL,
        "content": [{ "type": "text", "text": EVIL }], "stop_reason": null, "usage": {} });
    let call = |id: &str, name: &str| {
        json!({ "id": format!("{id}m"), "type": "message",
        "role": "assistant", "model": "m", "stop_reason": null, "usage": {},
        "content": [{ "type": "tool_use", "id": id, "name": name,
            "input": { "command": EVIL, "description": EVIL } }] })
    };
    let result = |id: &str| {
        json!({ "type": "user", "message": { "role": "user", "content":
        [{ "type": "tool_result", "tool_use_id": id, "content": EVIL, "is_error": true }] } })
    };
    let text = format!("{EVIL} **{EVIL}** [l](http://x/{EVIL})\n```{EVIL}\n{EVIL}\n```\n");
    let records = [
        json!({ "type": "system", "subtype": "init", "cwd": EVIL, "session_id": EVIL, "tools": [EVIL],
            "model": EVIL, "claude_code_version": "2.1.329" }),
        json!({ "type": EVIL, "subtype": EVIL, "x": EVIL }),
        json!({ "type": "system", "subtype": "api_retry", "attempt": 1, "error": EVIL, EVIL: EVIL }),
        event(json!({ "type": "message_start", "message": message })),
        event(json!({ "type": "content_block_start", "index": 0,
            "content_block": { "type": "text", "text": "" } })),
        delta(json!({ "type": "text_delta", "text": text })),
        json!({ "type": "assistant", "message": message }),
        json!({ "type": "assistant", "message": call("t1", "Bash") }),
        json!({ "type": "assistant", "message": call(EVIL, EVIL) }),
        result("t1"),
        result(EVIL),
        json!({ "type": "assistant", "message": { "id": EVIL, "content": [{ "type": EVIL }] } }),
        json!({ "type": "assistant", "message": { "id": "k", "content":
            [{ "type": "tool_use", "id": "k1", "name": "Bash", "input": input }] } }),
        json!({ "type": "error", "error": { "type": EVIL, "message": EVIL } }),
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": EVIL,
            "session_id": EVIL, "usage": {} }),
    ];
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Writes a program that prints [`EVIL`].
pub(crate) fn program(dir: &Path, name: &str, entry: &str) {
    let file = dir.join(name);
    fs::write(dir.join("evil.txt"), EVIL).unwrap();
    fs::write(dir.join("entry.json"), format!("{entry}\n")).unwrap();
    let text = "#!/bin/sh\nhere=$(dirname \"$0\")\ncase \"$*\" in\n*--version*) echo 2.1.329; exit;;\n\
        *--json*) cat \"$here/entry.json\"; exit;;\nesac\n\
        cat \"$here/evil.txt\" >&2; cat \"$here/evil.txt\"; exit 3\n";
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Starts a server on loopback that gives every request the same answer, and returns its URL.
pub(crate) fn server(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = Vec::new();
            let mut part = [0; 4096];
            while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut part).unwrap_or(0) {
                    0 => break,
                    n => asked.extend_from_slice(&part[..n]),
                }
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

pub(crate) fn answer(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: \
         close\r\n\r\n{body}"
    )
}
