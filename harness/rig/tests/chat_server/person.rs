//! Tests of a person's acts by HTTP and by a script, of webhooks, and of the page.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use clitape_rig::chat_server::{PersonScript, PersonText};
use serde_json::{Value, json};

use crate::client::{request, result, started};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn a_person_acts_by_http() {
    let server = started(|_| {});
    let act = |path: &str, headers: &[(&str, &str)], body: &str| {
        let answer = request(&server.url(), "POST", path, headers, body.as_bytes()).unwrap();
        (answer.status, answer.body)
    };
    let said = act("/person/say", &[JSON], r#"{"chat":9,"text":"hi"}"#);
    assert_eq!(said, (200, r#"{"message_id":2}"#.to_owned()));
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Go", "callback_data": "g" }]] });
    let sent = json!({ "chat_id": 9, "text": "?", "reply_markup": keyboard });
    result(&server, "sendMessage", &sent);
    let press = r#"{"chat":9,"message_id":"last","label":"Go"}"#;
    assert_eq!(act("/person/press", &[JSON], press).0, 200);
    for (path, headers, body, status) in [
        ("/person/press", &[JSON][..], r#"{"chat":9,"message_id":3,"label":"No"}"#, 409),
        ("/person/press", &[JSON], r#"{"chat":9,"message_id":2,"label":"Go"}"#, 409),
        ("/person/press", &[JSON], r#"{"chat":7,"message_id":3,"label":"Go"}"#, 409),
        ("/person/press", &[JSON], r#"{"chat":8,"message_id":3,"label":"Go"}"#, 409),
        ("/person/press", &[JSON], r#"{"chat":9,"message_id":3,"label":"Go"}"#, 200),
        ("/person/press", &[JSON], r#"{"chat":9,"message_id":"x","label":"Go"}"#, 400),
        ("/person/say", &[JSON], r#"{"chat":9,"text":""}"#, 409),
        ("/person/say", &[JSON], r#"{"chat":9}"#, 400),
        ("/person/say", &[], r#"{"chat":9,"text":"x"}"#, 415),
        ("/person/say", &[JSON, ("host", "evil.example")], r#"{"chat":9,"text":"x"}"#, 403),
    ] {
        assert_eq!(act(path, headers, body).0, status, "{path} {headers:?} {body}");
    }
    let screen = request(&server.url(), "GET", "/person/chat?chat=9", &[], b"").unwrap().json();
    assert_eq!(screen["messages"][1]["buttons"], json!([["Go"]]));
    for (path, status) in [("/person/chat?chat=1", 404), ("/person/chat", 400)] {
        assert_eq!(request(&server.url(), "GET", path, &[], b"").unwrap().status, status);
    }
}

#[test]
fn a_person_sends_an_album_a_reply_and_an_edit() {
    let server = started(|_| {});
    let updates = || result(&server, "getUpdates", &json!({ "offset": 0 }));
    let album = PersonText { photos: 2, ..PersonText::of("Compare them.", None) };
    let first = server.write(9, album).unwrap();
    let sent = result(&server, "sendMessage", &json!({ "chat_id": 9, "text": "They differ." }));
    let reply = PersonText { reply_to: Some(3), ..PersonText::of("How?", None) };
    server.write(9, reply).unwrap();
    server.edit(9, 1, "Compare them, please.").unwrap();
    let updates = updates();
    // The first update is of the chat with which each server begins.
    let [one, other, reply, edit] = [1, 2, 3, 4].map(|at| &updates[at]);
    assert_eq!(one["message"]["message_id"], first);
    assert_eq!(one["message"]["caption"], "Compare them.");
    let group = &one["message"]["media_group_id"];
    assert!(group.is_string() && *group == other["message"]["media_group_id"], "{other}");
    assert!(other["message"].get("caption").is_none(), "{other}");
    for photo in [one, other] {
        let id = &photo["message"]["photo"][0]["file_id"];
        let file = result(&server, "getFile", &json!({ "file_id": id }));
        assert_eq!(file["file_size"], photo["message"]["photo"][0]["file_size"], "{file}");
    }
    assert_eq!(reply["message"]["reply_to_message"]["message_id"], sent["message_id"]);
    assert_eq!(edit["edited_message"]["caption"], "Compare them, please.");
    assert!(edit["edited_message"]["edit_date"].is_u64(), "{edit}");
    let kinds: Vec<String> = server.entries(9).iter().map(|entry| entry.kind.to_string()).collect();
    assert_eq!(kinds, ["(user)", "sendMessage", "(user)", "(edit)"]);
    // The bot's message, and one that is not there.
    assert!(server.edit(9, 3, "x").is_err() && server.edit(9, 7, "x").is_err());
    let reply = PersonText { reply_to: Some(7), ..PersonText::of("x", None) };
    assert!(server.write(9, reply).is_err());
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let server = started(|_| {});
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/person/state?since=0", "application/json"),
    ] {
        let answer = request(&server.url(), "GET", path, &[], b"").unwrap();
        assert!(answer.head.contains(kind), "{path}: {}", answer.head);
        assert!(!answer.body.contains("innerHTML") && !answer.body.contains("http://"), "{path}");
    }
    let page = request(&server.url(), "GET", "/", &[], b"").unwrap();
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    let host = ("host", "evil.example");
    for path in ["/", "/person/state"] {
        assert_eq!(request(&server.url(), "GET", path, &[host], b"").unwrap().status, 403);
    }
}

/// Waits until `find` finds something.
fn wait<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_script_waits_for_what_the_chat_shows() {
    let script = "[[step]]\nchat = 5\nsay = \"start\"\n\
                  [[step]]\nchat = 5\nwhen = { shows = \"Allow\" }\nafter_ms = 10\npress = \"Allow\"\n\
                  [[step]]\nchat = 5\nwhen = { shows = \"never\", within_s = 1 }\nsay = \"x\"\n";
    let script = PersonScript::read(script).unwrap();
    let server = started(|settings| settings.script = Some(script));
    result(&server, "getUpdates", &json!({ "timeout": 1 }));
    wait("the message", || server.entries(5).first().cloned());
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Allow", "callback_data": "a" }]] });
    let sent = json!({ "chat_id": 5, "text": "?", "reply_markup": keyboard });
    result(&server, "sendMessage", &sent);
    wait("the press", || server.entries(5).into_iter().find(|entry| entry.kind == "(press)"));
    let ends = "step 3 of the script: chat 5 did not show \"never\" within 1 s";
    wait("the end", || server.log(0).into_iter().find(|line| line.starts_with(ends)));
}

#[test]
fn a_webhook_gets_updates_with_its_secret() {
    let server = started(|_| {});
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let hook = json!({ "url": url, "secret_token": "s3cret", "drop_pending_updates": true });
    result(&server, "setWebhook", &hook);
    assert!(server.polled());
    server.say(7, "by webhook").unwrap();
    // The first answer is an error, so that the update comes again; the second makes a call.
    let reply = json!({ "method": "sendMessage", "chat_id": 7, "text": "from the hook" });
    for (status, body) in [("500 No", Value::Null), ("200 OK", reply)] {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = String::new();
        while !request.contains("by webhook") {
            let mut bytes = [0; 4_096];
            let read = socket.read(&mut bytes).unwrap();
            assert!(read > 0, "{request}");
            request += &String::from_utf8_lossy(&bytes[..read]);
        }
        assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("x-telegram-bot-api-secret-token: s3cret"), "{request}");
        let body = body.to_string();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    }
    let entry =
        wait("the call", || server.entries(7).into_iter().find(|e| e.kind == "sendMessage"));
    assert_eq!(entry.data["text"], "from the hook");
    let info = result(&server, "getWebhookInfo", &json!({}));
    assert_eq!((&info["url"], &info["pending_update_count"]), (&json!(url), &json!(0)));
    result(&server, "deleteWebhook", &json!({}));
    assert_eq!(result(&server, "getUpdates", &json!({})), json!([]));
}
