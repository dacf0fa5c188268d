//! Tests of the memory for a bot's bytes: they are cut in notes, counted where they are stored, and refused at the
//! limit.

use std::sync::Arc;

use clitape_gateway::ByteSize;
use clitape_rig::chat_server::{ChatServer, ChatServerSettings, PaceLimits, PressTarget};
use clitape_rig::limits::KeptBytes;
use serde_json::{Value, json};

use crate::client::{Answer, call, request, result};

/// Starts a server with chat 7, and returns it with its account.
fn counted(
    limit: ByteSize,
    change: impl FnOnce(&mut ChatServerSettings),
) -> (ChatServer, Arc<KeptBytes>) {
    let account = Arc::new(KeptBytes::within(limit));
    let mut settings = ChatServerSettings {
        latency: std::time::Duration::ZERO,
        pace: PaceLimits::None,
        chats: vec![7],
        ..ChatServerSettings::default()
    };
    change(&mut settings);
    (ChatServer::start(settings, account.clone()).unwrap(), account)
}

/// Returns the bytes that are kept once all answers are written.
fn settled(account: &KeptBytes) -> u64 {
    let mut last = u64::MAX;
    for _ in 0..500 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let bytes = account.bytes();
        if bytes == last {
            return bytes;
        }
        last = bytes;
    }
    last
}

#[test]
fn what_is_refused_takes_little_memory() {
    let (server, account) = counted(ByteSize::mib(256), |_| {});
    let long = "x".repeat(2 << 20);
    let bot = format!("/bot{}", server.token());
    let name = "m".repeat(60_000);
    for (method, params) in [
        ("sendChatAction", json!({ "action": long })),
        ("sendMessage", json!({ "text": "x", "parse_mode": long })),
        ("sendMessage", json!({ "text": format!("<{long}>"), "parse_mode": "HTML" })),
        ("sendMessage", json!({ "text": long })),
        (
            "setMessageReaction",
            json!({ "message_id": 1, "reaction": [{ "emoji": long }, { "emoji": long }] }),
        ),
        (
            "editMessageText",
            json!({ "message_id": 9, "text": "a", "reply_markup": {
            "inline_keyboard": [[{ "text": long, "callback_data": "x" }]] } }),
        ),
        ("sendMessage", json!({ "chat_id": long, "text": "x" })),
        ("setWebhook", json!({ "url": format!("http://127.0.0.1/{long}") })),
        ("getFile", json!({ "file_id": long })),
        ("logOut", json!({ "scope": { long.as_str(): 1 }, "allowed_updates": [long] })),
        (&name, json!({})),
    ] {
        let mut body = json!({ "chat_id": 7 });
        body.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        call(&server, method, &body);
    }
    for (path, status) in
        [(format!("{bot}x/{name}"), 401), (format!("/botx/{name}"), 401), (format!("/{name}"), 404)]
    {
        assert_eq!(request(&server.url(), "GET", &path, &[], b"").unwrap().status, status);
    }
    let bytes = settled(&account);
    assert!(bytes < 400_000, "{bytes} bytes are kept");
    for lines in [server.log(0), server.entries(7).iter().map(|entry| entry.to_line()).collect()] {
        assert!(lines.iter().all(|line| line.len() < 70_000), "a line is long");
    }
    for path in ["/", "/person/state", "/person/chat?chat=7"] {
        let page = request(&server.url(), "GET", path, &[], b"").unwrap().body;
        assert!(page.len() < 100_000, "{path}: {} bytes", page.len());
    }
    assert_eq!(account.overflow(), None);
    drop(server);
    assert_eq!(account.bytes(), 0);
}

#[test]
fn what_is_removed_makes_room() {
    let (server, account) = counted(ByteSize::mib(256), |_| {});
    let before = settled(&account);
    let buttons = |size: usize| json!({ "inline_keyboard": [[{ "text": "Go", "callback_data": "g", "more": "x".repeat(size) }]] });
    let sent = result(
        &server,
        "sendMessage",
        &json!({ "chat_id": 7, "text": "?", "reply_markup": buttons(1 << 20) }),
    );
    let id = sent["message_id"].clone();
    server.press(7, PressTarget::Last, "Go").unwrap();
    let check = |least: u64, what: &str| {
        let bytes = settled(&account) - before;
        let room = least << 20..(least << 20) + 100_000;
        assert!(room.contains(&bytes), "{what}: {bytes} bytes are kept");
    };
    check(2, "the message and the update with it");
    let acknowledge = json!({ "offset": 100 });
    result(&server, "getUpdates", &acknowledge);
    check(1, "the update is acknowledged");
    let edit =
        json!({ "chat_id": 7, "message_id": id, "text": "?", "reply_markup": buttons(3 << 20) });
    result(&server, "editMessageText", &edit);
    check(3, "the message is edited");
    result(&server, "deleteMessage", &json!({ "chat_id": 7, "message_id": id }));
    check(0, "the message is deleted");
    let commands = json!([{ "command": "a", "description": "b", "more": "x".repeat(1 << 20) }]);
    result(&server, "setMyCommands", &json!({ "commands": commands }));
    check(1, "commands are set");
    result(&server, "setMyCommands", &json!({ "commands": [] }));
    check(0, "other commands are set");
}

#[test]
fn at_the_limit_calls_are_refused_with_its_option() {
    let (server, account) = counted(ByteSize::mib(4), |_| {});
    let full = |answer: &Value| {
        let words = answer["description"].as_str().unwrap_or_default().to_owned();
        words.contains("the chat server is full: more than 4MiB").then_some(words)
    };
    // Sends a keyboard of a few hundred kilobytes again and again.
    let keyboard = json!({ "inline_keyboard": [[{ "text": "a", "callback_data": "b", "c": "x".repeat(300_000) }]] });
    let body = json!({ "chat_id": 7, "text": "?", "reply_markup": keyboard });
    let refused = (0..30).find_map(|_| full(&call(&server, "sendMessage", &body).json()));
    assert!(refused.unwrap().contains("raise the limit with `--max-kept`"));
    assert!(settled(&account) <= 4 << 20);
    assert!(account.overflow().is_some());
    // A small call is still answered while there is room for it.
    result(&server, "getMe", &json!({}));
    let said = server.say(7, &"x".repeat(2 << 20)).unwrap_err().to_string();
    assert!(said.contains("chat 7 is full") && said.contains("--max-kept"), "{said}");

    // Numbers take fifty times the memory of their text, and must be refused before they are parsed.
    let (server, account) = counted(ByteSize::mib(16), |_| {});
    let numbers = json!({ "chat_id": 7, "action": vec![0; 200_000] });
    let answer = call(&server, "sendChatAction", &numbers);
    assert!(answer.body.contains("more than 16MiB") && answer.status == 400, "{}", answer.body);
    assert!(settled(&account) < 100_000);
}

#[test]
fn the_page_shows_the_newest_messages_of_a_chat_that_is_large() {
    let (server, _) = counted(ByteSize::mib(256), |_| {});
    for number in 0..150 {
        let text = format!("{number} {}", "𝄞".repeat(2_000));
        result(&server, "sendMessage", &json!({ "chat_id": 7, "text": text }));
    }
    let screen = request(&server.url(), "GET", "/person/chat?chat=7", &[], b"").unwrap();
    assert!(screen.body.len() < 400_000, "{} bytes", screen.body.len());
    let messages = screen.json()["messages"].as_array().unwrap().clone();
    assert!(messages.len() > 5 && messages.len() < 150, "{} messages", messages.len());
    assert!(messages.last().unwrap()["text"].as_str().unwrap().starts_with("149 "));
}

/// Makes a call with any body.
fn call_with(server: &ChatServer, method: &str, kind: &str, body: &[u8]) -> Answer {
    let path = format!("/bot{}/{method}", server.token());
    request(&server.url(), "POST", &path, &[("content-type", kind)], body).unwrap()
}

#[test]
fn forms_made_to_take_long_or_much_are_refused_at_once() {
    let (server, account) = counted(ByteSize::mib(256), |_| {});
    let multipart =
        |length: usize| format!("multipart/form-data; boundary={}x", "-".repeat(length));
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let names = (0..2_000_000_usize).flat_map(|number| {
        let digit = |place: u32| digits[number / 36_usize.pow(place) % 36];
        [digit(4), digit(3), digit(2), digit(1), digit(0), b'&']
    });
    let part = "--x\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n\r\n";
    for (kind, body) in [
        (multipart(100_000), vec![b'-'; 20_000_000]),
        (multipart(69), vec![b'-'; 20_000_000]),
        (multipart(0), part.repeat(200_000).into_bytes()),
        ("application/x-www-form-urlencoded".to_owned(), names.collect()),
        ("application/x-www-form-urlencoded".to_owned(), vec![0xff; 20_000_000]),
    ] {
        let shown = &kind[..kind.len().min(60)];
        std::thread::scope(|scope| {
            let refused = scope.spawn(|| call_with(&server, "sendMessage", &kind, &body));
            // The server has one thread, and must still answer another bot.
            result(&server, "getMe", &json!({}));
            let answer = refused.join().unwrap();
            assert_eq!(answer.status, 400, "{shown}: {}", answer.body);
        });
    }
    assert!(settled(&account) < 100_000);
}

#[test]
fn texts_and_lists_made_to_take_long_are_answered() {
    let (server, _) = counted(ByteSize::mib(256), |_| {});
    let texts = [
        "<b>",
        "<",
        "<a href=\"",
        "&",
        "*",
        "_",
        "`",
        "```",
        "[",
        "[a](",
        "]",
        "\\",
        ">",
        "||",
        "*_",
    ];
    for mode in ["HTML", "Markdown", "MarkdownV2"] {
        for part in texts {
            // One length within the limit, and one beyond it.
            for length in [4_000, 1_000_000] {
                let text = part.repeat(length / part.len());
                let body = json!({ "chat_id": 7, "text": text, "parse_mode": mode });
                let status = call(&server, "sendMessage", &body).status;
                assert!([200, 400].contains(&status), "{mode} {part}: {status}");
            }
        }
    }
    let many = |item: Value| vec![item; 20_000];
    for (method, name, list) in [
        ("sendMessage", "entities", many(json!({ "type": "bold", "offset": 0, "length": 1 }))),
        ("setMyCommands", "commands", many(json!({ "command": "a", "description": "b" }))),
        ("sendMediaGroup", "media", many(json!({ "type": "document", "media": "attach://a" }))),
        ("setMessageReaction", "reaction", many(json!({ "type": "emoji", "emoji": "a" }))),
        ("deleteMessages", "message_ids", many(json!(1))),
    ] {
        let body = json!({ "chat_id": 7, "message_id": 1, "text": "a", name: list });
        assert!(call(&server, method, &body).status > 0, "{method}");
    }
    result(&server, "getMe", &json!({}));
}
