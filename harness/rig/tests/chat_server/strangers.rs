//! Tests of the defence against strangers: requests from other sites' pages, and connections that stay silent.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use clitape_rig::chat_server::ChatServer;
use serde_json::json;

use crate::client::{request, result, started};

/// The headers of a request, and the words of its refusal; `None` if it is answered.
type Kind<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);

/// Sends a request with these headers only, and returns the status and the body of the answer.
fn raw(server: &ChatServer, line: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(server.url().strip_prefix("http://").unwrap()).unwrap();
    let mut text = format!("{line}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("content-length: {}\r\n\r\n{body}", body.len());
    socket.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

#[test]
fn pages_of_other_sites_are_refused_on_every_path() {
    let server = started(|settings| settings.limits.log = 1_000);
    let url = server.url();
    let host = url.strip_prefix("http://").unwrap();
    let port = host.rsplit(':').next().unwrap();
    let (localhost, v6) = (format!("localhost:{port}"), format!("[::1]:{port}"));
    let evil = format!("evil.example:{port}");
    let own = format!("http://{localhost}");
    let (is_page, is_foreign) = (Some("comes from a web page of"), Some("is for the host"));
    let kinds: &[Kind<'_>] = &[
        (&[("host", host)], None),
        (&[("host", &localhost)], None),
        (&[("host", &v6)], None),
        (&[("host", "127.0.0.1")], None),
        // The server's own page, an address that a person typed, and the fetch of Node.
        (&[("host", &localhost), ("origin", &own), ("sec-fetch-site", "same-origin")], None),
        (&[("host", host), ("sec-fetch-site", "none")], None),
        (&[("host", host), ("sec-fetch-mode", "cors")], None),
        // DNS rebinding.
        (&[("host", "evil.example")], is_foreign),
        (&[("host", &evil)], is_foreign),
        (&[("host", host), ("host", "evil.example")], is_foreign),
        (&[("host", "")], is_foreign),
        (&[], Some("names no host")),
        // Forms, scripts and frames of pages.
        (&[("host", host), ("origin", "https://attacker.example")], is_page),
        (&[("host", host), ("origin", "http://localhost:3000")], is_page),
        (&[("host", host), ("origin", "null")], is_page),
        (&[("host", host), ("origin", &evil)], is_page),
        (&[("host", "evil.example"), ("origin", "http://evil.example")], is_foreign),
        // Links, images and requests in the mode `no-cors`, which have no origin.
        (&[("host", host), ("sec-fetch-site", "cross-site")], Some("from another web page")),
        (&[("host", host), ("sec-fetch-site", "same-site")], Some("from another web page")),
    ];
    let bot = format!("/bot{}", server.token());
    let file = upload(&server);
    let paths = [
        ("GET", format!("{bot}/getMe"), ""),
        ("GET", format!("{bot}/getUpdates"), ""),
        ("GET", format!("{bot}/sendMessage?chat_id=7&text=FORGED"), ""),
        ("POST", format!("{bot}/setWebhook"), "url=http://127.0.0.1:9/x"),
        ("POST", format!("{bot}/deleteWebhook"), "drop_pending_updates=true"),
        ("OPTIONS", format!("{bot}/getMe"), ""),
        ("GET", file, ""),
        ("GET", "/".to_owned(), ""),
        ("GET", "/page.js".to_owned(), ""),
        ("GET", "/person/state".to_owned(), ""),
        ("GET", "/person/chat?chat=7".to_owned(), ""),
        ("POST", "/person/say".to_owned(), r#"{"chat":7,"text":"FORGED"}"#),
        ("GET", "/nothing".to_owned(), ""),
    ];
    for (method, path, body) in &paths {
        for (headers, refused) in kinds {
            let line = format!("{method} {path} HTTP/1.1");
            let kind = ("content-type", "application/x-www-form-urlencoded");
            let (status, answer) = raw(&server, &line, &[headers, &[kind][..]].concat(), body);
            assert_eq!(status == 403, refused.is_some(), "{line} {headers:?}: {answer}");
            assert!(answer.contains(refused.unwrap_or_default()), "{line} {headers:?}: {answer}");
        }
    }
    let old = |headers: &[(&str, &str)]| {
        raw(&server, &format!("GET {bot}/getMe HTTP/1.0"), headers, "").0
    };
    assert_eq!((old(&[("host", host)]), old(&[])), (200, 403));
    let absolute = format!("GET http://evil.example{bot}/getMe HTTP/1.1");
    assert_eq!(raw(&server, &absolute, &[("host", host)], "").0, 403);
    // Refused requests had no effect, and strangers can't fill the log.
    let forged = |entry: &clitape_recording::trace::Entry| entry.text("text") == "FORGED";
    let answered = kinds.iter().filter(|(_, refused)| refused.is_none()).count();
    assert_eq!(server.entries(7).into_iter().filter(forged).count(), answered);
    let log = server.log(0);
    let refused = log.iter().filter(|line| line.starts_with("the request ")).count();
    assert!((50..=100).contains(&refused), "{refused} lines: {log:#?}");
    assert!(log.iter().any(|line| line.ends_with("further ones are not listed")), "{log:#?}");
}

/// Sends a file and returns its path.
fn upload(server: &ChatServer) -> String {
    let body = "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n\
                --x\r\nContent-Disposition: form-data; name=\"document\"; filename=\"a.txt\"\r\n\r\n\
                one\r\n--x--\r\n";
    let path = format!("/bot{}/sendDocument", server.token());
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let sent = request(&server.url(), "POST", &path, &kind, body.as_bytes()).unwrap();
    let file = sent.json()["result"]["document"]["file_id"].as_str().unwrap().to_owned();
    format!("/file/bot{}/documents/{file}", server.token())
}

#[test]
fn each_start_has_a_token_of_its_own() {
    let (one, two) = (started(|_| {}), started(|_| {}));
    assert_ne!(one.token(), two.token());
    let path = format!("/bot{}/getMe", one.token());
    assert_eq!(request(&two.url(), "GET", &path, &[], b"").unwrap().status, 401);
    // The path is masked if the bot repeats it, so that two runs show the same.
    let text = format!("GET {}{path} failed", one.url());
    result(&one, "sendMessage", &json!({ "chat_id": 7, "text": text }));
    let entry = one.entries(7).pop().unwrap();
    assert!(entry.text("text").contains("/bot4242:***/getMe"), "{entry:?}");
    let chosen = started(|settings| settings.token = Some("1:chosen".to_owned()));
    assert_eq!(chosen.token(), "1:chosen");
}

#[test]
fn a_server_without_a_page_serves_the_bot_alone() {
    let server = started(|settings| settings.serves_person = false);
    for path in ["/", "/page.js", "/person/state", "/person/chat?chat=7"] {
        assert_eq!(request(&server.url(), "GET", path, &[], b"").unwrap().status, 404, "{path}");
    }
    let body = br#"{"chat":7,"text":"x"}"#;
    let json = [("content-type", "application/json")];
    assert_eq!(request(&server.url(), "POST", "/person/say", &json, body).unwrap().status, 404);
    result(&server, "getMe", &json!({}));
}

/// Opens connections that stay silent.
fn silent(server: &ChatServer, count: usize) -> Vec<TcpStream> {
    let url = server.url();
    let address = url.strip_prefix("http://").unwrap();
    (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
}

/// Sends a request on an open connection and reads as much of the answer as comes.
fn on(socket: &mut TcpStream, server: &ChatServer, method: &str) -> String {
    let (url, token) = (server.url(), server.token());
    let host = url.strip_prefix("http://").unwrap();
    let line = format!("GET /bot{token}/{method} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    // The server may have closed the connection.
    let _ = socket.write_all(line.as_bytes());
    let mut answer = String::new();
    while !answer.contains("\"ok\":") {
        let mut bytes = [0; 4_096];
        let read = socket.read(&mut bytes).unwrap_or(0);
        if read == 0 {
            return answer;
        }
        answer += &String::from_utf8_lossy(&bytes[..read]);
    }
    answer
}

/// Opens a connection on which the bot has made a call. On a slow machine the first ones may be closed before their
/// call.
fn of_bot(server: &ChatServer) -> TcpStream {
    let calls = |mut socket: TcpStream| {
        on(&mut socket, server, "getMe").contains("\"ok\":true").then_some(socket)
    };
    (0..100).flat_map(|_| silent(server, 1)).find_map(calls).unwrap()
}

#[test]
fn silent_connections_make_room_and_a_bot_keeps_its_own() {
    let server = started(|settings| settings.limits.connections = 8);
    let [mut idle, mut polling] = [(); 2].map(|()| of_bot(&server));
    let poll = std::thread::scope(|scope| {
        let poll = scope.spawn(|| on(&mut polling, &server, "getUpdates?timeout=20&offset=2"));
        while !server.polled() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let held = silent(&server, 40);
        for _ in 0..5 {
            result(&server, "getMe", &json!({}));
        }
        server.say(7, "still there?").unwrap();
        drop(held);
        poll.join().unwrap()
    });
    assert!(poll.contains("still there?"), "{poll}");
    assert!(on(&mut idle, &server, "getMe").contains("\"ok\":true"));
}

#[test]
fn a_connection_without_a_request_ends_soon_and_one_of_a_bot_stays_open() {
    let server = started(|settings| settings.limits.head_time = Duration::from_millis(300));
    let mut bot = of_bot(&server);
    let begin = Instant::now();
    for (mut socket, part) in silent(&server, 2).into_iter().zip(["", "GET / HTTP/1.1\r\nhost: "]) {
        // The server may have closed the connection.
        let _ = socket.write_all(part.as_bytes());
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The connection is reset or ends.
        assert_eq!(socket.read(&mut [0; 9]).unwrap_or(0), 0);
    }
    assert!(begin.elapsed() < Duration::from_secs(60), "they stay open");
    assert!(on(&mut bot, &server, "getMe").contains("\"ok\":true"));
}

#[test]
fn a_connection_that_is_idle_for_long_ends() {
    let server = started(|settings| settings.limits.idle_time = Duration::from_millis(300));
    let mut bot = of_bot(&server);
    bot.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(bot.read(&mut [0; 9]).unwrap_or(0), 0);
}
