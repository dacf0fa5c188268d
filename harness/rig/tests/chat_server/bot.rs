//! Tests of the Bot API: answers as Telegram gives them.

use std::io::Write as _;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_gateway::telegram::{
    BotApi as _, BotApiError, BotCall, BotMethod, BotToken, HttpApi, HttpSettings,
};
use clitape_recording::chat::{CALL_HTML, ChatView};
use clitape_recording::trace::Entry;
use clitape_rig::chat_server::{Faults, PressTarget};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use crate::client::{call, request, result, started};

#[test]
fn refusals_have_the_words_of_telegram() {
    let server = started(|_| {});
    let sent = result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "one" }));
    let id = sent["message_id"].as_i64().unwrap();
    let long = "x".repeat(4_097);
    let wide = "😀".repeat(4_097);
    for (method, body, expect) in [
        ("sendMessage", json!({ "chat_id": 7, "text": long }), "message is too long"),
        ("sendMessage", json!({ "chat_id": 7, "text": wide }), "message is too long"),
        ("sendMessage", json!({ "chat_id": 7, "text": " \n" }), "message text is empty"),
        ("sendMessage", json!({ "chat_id": 7 }), "message text is empty"),
        ("sendMessage", json!({ "text": "x" }), "chat_id is empty"),
        ("sendMessage", json!({ "chat_id": 8, "text": "x" }), "chat not found"),
        (
            "sendMessage",
            json!({ "chat_id": 7, "text": "a <b>c", "parse_mode": "HTML" }),
            "can't parse entities: Can't find end tag corresponding to start tag \"b\"",
        ),
        (
            "sendMessage",
            json!({ "chat_id": 7, "text": "é <br>", "parse_mode": "html" }),
            "can't parse entities: Unsupported start tag \"br\" at byte offset 3",
        ),
        (
            "sendMessage",
            json!({ "chat_id": 7, "text": "a.", "parse_mode": "MarkdownV2" }),
            "can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'",
        ),
        (
            "sendMessage",
            json!({ "chat_id": 7, "text": "a", "parse_mode": "x" }),
            "unsupported parse_mode",
        ),
        (
            "sendMessage",
            json!({ "chat_id": 7, "text": "a", "reply_parameters": { "message_id": 99 } }),
            "message to be replied not found",
        ),
        (
            "sendMessage",
            json!({ "chat_id": 7, "text": "a", "message_thread_id": 5 }),
            "message thread not found",
        ),
        (
            "sendMessage",
            json!({ "chat_id": 7, "text": "a", "reply_markup": { "inline_keyboard":
                [[{ "text": "b", "callback_data": "x".repeat(65) }]] } }),
            "BUTTON_DATA_INVALID",
        ),
        (
            "editMessageText",
            json!({ "chat_id": 7, "message_id": id, "text": "one" }),
            "message is not modified: specified new message content and reply markup are exactly \
             the same as a current content and reply markup of the message",
        ),
        (
            "editMessageText",
            json!({ "chat_id": 7, "message_id": 99, "text": "x" }),
            "message to edit not found",
        ),
        (
            "editMessageText",
            json!({ "chat_id": 7, "message_id": 1, "text": "x" }),
            "message can't be edited",
        ),
        (
            "editMessageText",
            json!({ "chat_id": 7, "text": "x" }),
            "message identifier is not specified",
        ),
        ("deleteMessage", json!({ "chat_id": 7, "message_id": 99 }), "message to delete not found"),
        (
            "sendChatAction",
            json!({ "chat_id": 7, "action": "think" }),
            "wrong parameter action in request",
        ),
        (
            "setMessageReaction",
            json!({ "chat_id": 7, "message_id": 1, "reaction": [{ "type": "emoji", "emoji": "🧪" }] }),
            "REACTION_INVALID",
        ),
        (
            "answerCallbackQuery",
            json!({ "callback_query_id": "9" }),
            "query is too old and response timeout expired or query ID is invalid",
        ),
        ("getFile", json!({ "file_id": "x" }), "invalid file_id"),
        (
            "setWebhook",
            json!({ "url": "https://example.org/x" }),
            "bad webhook: the chat server posts to http://127.0.0.1 alone",
        ),
    ] {
        let answer = call(&server, method, &body);
        let expect = json!({ "ok": false, "error_code": 400, "description": format!("Bad Request: {expect}") });
        assert_eq!((answer.status, answer.json()), (400, expect), "{method} {body}");
    }
    let chat = server.entries(7);
    let refused = chat.iter().filter(|entry| entry.data.contains_key("refused")).count();
    assert!(refused >= 15, "{refused} refusals are entries");
    assert_eq!(ChatView::after(&chat).final_text(), ["one"]);
}

#[test]
fn limits_count_code_points_of_what_a_person_reads() {
    let server = started(|_| {});
    let sent = result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "one" }));
    let family = "👩\u{200d}👩\u{200d}👧";
    let check = |method: &str, name: &str, text: String, mode: &str, is_allowed: bool| {
        let mut body = json!({ "chat_id": 7, "message_id": sent["message_id"], name: text, "parse_mode": mode });
        body["document"] = "http://127.0.0.1/x.txt".into();
        let answer = call(&server, method, &body);
        assert_eq!(answer.status == 200, is_allowed, "{method} {}: {}", text.len(), answer.body);
        assert!(is_allowed || answer.body.contains("is too long"), "{}", answer.body);
    };
    for method in ["sendMessage", "editMessageText", "sendMessageDraft"] {
        let check = |text: String, mode: &str, is_allowed: bool| {
            let body = json!({ "chat_id": 7, "message_id": sent["message_id"], "draft_id": 1, "text": text,
                "parse_mode": mode });
            let answer = call(&server, method, &body);
            assert_eq!(answer.status == 200, is_allowed, "{method}: {}", answer.body);
            assert!(is_allowed || answer.body.contains("message is too long"), "{}", answer.body);
        };
        check("😀".repeat(4_096), "", true);
        check("😀".repeat(4_097), "", false);
        check(family.repeat(819), "", true);
        check(family.repeat(820), "", false);
        // Tags and entities are read before the length is checked, and blanks at the end are removed.
        check(format!("<b>{}</b>  ", "&#x1F600;".repeat(4_096)), "HTML", true);
        check(format!("{}\\.", "😀".repeat(4_095)), "MarkdownV2", true);
        check(format!("{}\\.", "😀".repeat(4_096)), "MarkdownV2", false);
    }
    check("sendDocument", "caption", "😀".repeat(1_024), "", true);
    check("sendDocument", "caption", "😀".repeat(1_025), "", false);
    // The offsets of entities stay in UTF-16 units.
    let html = json!({ "chat_id": 7, "text": "😀<b>b😀</b>", "parse_mode": "HTML" });
    let bold = &result(&server, "sendMessage", &html)["entities"];
    assert_eq!(*bold, json!([{ "type": "bold", "offset": 2, "length": 3 }]));
}

/// A function that compresses a body.
type Compress = fn(&[u8]) -> Vec<u8>;

/// Compresses as `Content-Encoding: gzip`.
fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// Compresses as `Content-Encoding: deflate`.
fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_body_may_be_compressed() {
    let server = started(|settings| settings.limits.request = ByteSize::kib(8));
    let path = format!("/bot{}/sendMessage", server.token());
    let multipart = "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n\
                     --x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nd\r\n--x--\r\n";
    let long = json!({ "chat_id": 7, "text": "a", "more": "x".repeat(20_000) }).to_string();
    let json = r#"{"chat_id":7,"text":"a"}"#;
    let as_it_is: Compress = <[u8]>::to_vec;
    let half: Compress = |body| gzip(body)[..20].to_vec();
    let twice: Compress = |body| [gzip(&body[..5]), gzip(&body[5..])].concat();
    for (encoding, compress, kind, body, status, words) in [
        ("gzip", gzip as Compress, "application/json", json, 200, ""),
        ("GZIP", gzip, "application/json", json, 200, ""),
        ("gzip", twice, "application/json", json, 200, ""),
        ("gzip", gzip, "application/x-www-form-urlencoded", "chat_id=7&text=b", 200, ""),
        ("gzip", gzip, "multipart/form-data; boundary=x", multipart, 200, ""),
        ("deflate", zlib, "application/json", json, 200, ""),
        ("deflate", gzip, "application/json", json, 200, ""),
        ("identity", as_it_is, "application/json", json, 200, ""),
        ("gzip", as_it_is, "application/json", json, 400, "is not what its Content-Encoding says"),
        ("gzip", half, "application/json", json, 400, "is not what its Content-Encoding says"),
        ("br", as_it_is, "application/json", json, 415, "the Content-Encoding `br` is unknown"),
        // The limit counts the body before compression.
        (
            "gzip",
            gzip,
            "application/json",
            long.as_str(),
            413,
            "raise the limit with `--max-request`",
        ),
        (
            "deflate",
            zlib,
            "application/json",
            long.as_str(),
            413,
            "raise the limit with `--max-request`",
        ),
    ] {
        let headers = [("content-type", kind), ("content-encoding", encoding)];
        let bytes = compress(body.as_bytes());
        let answer = request(&server.url(), "POST", &path, &headers, &bytes).unwrap();
        let what = format!("{encoding} {kind}: {}", answer.body);
        assert!(answer.status == status && answer.body.contains(words), "{what}");
    }
}

#[test]
fn message_ids_are_unique_for_the_bot_and_people_count_in_each_chat() {
    let server = started(|_| {});
    for chat in [8, -9, 8] {
        server.say(chat, "hi").unwrap();
    }
    let to = |chat: i64, text: &str| json!({ "chat_id": chat, "text": text });
    let own = result(&server, "sendMessage", &to(8, "one"))["message_id"].clone();
    let other = result(&server, "sendMessage", &to(-9, "two"))["message_id"].clone();
    assert_eq!((&own, &other), (&json!(5), &json!(6)));
    // A bot that drops an update whose message it has seen must get all of these.
    let updates = result(&server, "getUpdates", &json!({}));
    let id = |update: &Value| update["message"]["message_id"].as_i64().unwrap();
    let ids: Vec<i64> = updates.as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids, [1, 2, 3, 4]);

    // A message of another chat does not exist here.
    for (method, words) in [
        ("editMessageText", "message to edit not found"),
        ("deleteMessage", "message to delete not found"),
    ] {
        let mut body = to(8, "x");
        body["message_id"] = other.clone();
        assert!(call(&server, method, &body).body.contains(words), "{method}");
    }
    let delete = json!({ "chat_id": 8, "message_ids": [own, other] });
    result(&server, "deleteMessages", &delete);
    let mut answer = to(8, "three");
    answer["reply_parameters"] = json!({ "message_id": 2 });
    answer["reply_markup"] =
        json!({ "inline_keyboard": [[{ "text": "Go", "callback_data": "g" }]] });
    result(&server, "sendMessage", &answer);
    server.press(8, PressTarget::Message(4), "Go").unwrap();
    assert!(server.press(8, PressTarget::Message(7), "Go").is_err());

    // Entries have the numbers within a chat, which are the same in each run.
    let entries = server.entries(8);
    let of = |entry: &Entry| {
        let number = |name: &str| {
            entry.field(name).map_or_else(String::new, |value| format!(" {name}={value}"))
        };
        let names = ["message_id", "user_message_id", "message_ids", "reply_to"];
        format!("{}{}", entry.kind, names.map(number).concat())
    };
    assert_eq!(
        entries.iter().map(of).collect::<Vec<_>>(),
        [
            "(user) user_message_id=1",
            "(user) user_message_id=2",
            "sendMessage message_id=3",
            "editMessageText",
            "deleteMessage",
            "deleteMessages message_ids=[3]",
            "sendMessage message_id=4 reply_to=1",
            "(press) message_id=4",
        ]
    );
    let last = request(&server.url(), "GET", "/person/chat?chat=8", &[], b"").unwrap().json();
    let last = &last["messages"][2];
    assert_eq!((&last["message_id"], &last["number"]), (&json!(7), &json!(4)));
}

#[test]
fn an_entry_has_what_a_person_reads() {
    let server = started(|_| {});
    for (mode, text, expect) in [
        ("HTML", "I&#x27;ll <b>do</b>", Some("I'll <b>do</b>")),
        ("HTML", "I'll <b>do</b>", None),
        ("MarkdownV2", r"*a*\.", Some("<b>a</b>.")),
        ("", "a &lt; b", Some("a &amp;lt; b")),
        ("", "plain", None),
    ] {
        let body = json!({ "chat_id": 7, "text": text, "parse_mode": mode });
        result(&server, "sendMessage", &body);
        let entries = server.entries(7);
        let entry = entries.last().unwrap();
        assert_eq!(entry.text("text"), text);
        assert_eq!(entry.field(CALL_HTML).and_then(Value::as_str), expect, "{mode} {text}");
        let view = ChatView::after(&entries);
        assert_eq!(view.final_text().last().copied(), Some(expect.unwrap_or(text)));
    }
}

#[test]
fn tokens_and_methods_that_are_not_known() {
    let server = started(|_| {});
    for (path, status, expect) in [
        ("/bot1:wrong/getMe".to_owned(), 401, "Unauthorized"),
        (format!("/bot{}/sendGift", server.token()), 404, "Not Found"),
        ("/x".to_owned(), 404, "Not Found"),
    ] {
        let answer = request(&server.url(), "GET", &path, &[], b"").unwrap();
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.json()["description"], expect, "{path}");
    }
    assert!(server.bot_entries().iter().any(|entry| entry.kind == "sendGift"));
    let log = server.log(0).join("\n");
    assert!(log.contains("sendGift: the chat server does not know this method"), "{log}");
    call(&server, "sendDice", &json!({ "chat_id": 7 }));
    call(&server, "sendDice", &json!({ "chat_id": 7 }));
    let unknown: Vec<(String, u64)> = server.unknown_methods().into_iter().collect();
    assert_eq!(unknown, [("sendDice".to_owned(), 2), ("sendGift".to_owned(), 1)]);
    let entries = server.entries(7);
    assert_eq!(entries.last().unwrap().headline(), "sendDice {} → refused: Not Found");
    let me = result(&server, "GETME", &json!({}));
    assert_eq!((&me["is_bot"], &me["username"]), (&json!(true), &json!("clitape_test_bot")));
}

#[test]
fn what_a_bot_calls_at_its_start_is_answered() {
    let server = started(|_| {});
    let commands = json!([{ "command": "stop", "description": "Stop" }]);
    let scope = json!({ "type": "all_private_chats" });
    for (method, body, expect) in [
        ("deleteWebhook", json!({ "drop_pending_updates": false }), json!(true)),
        (
            "getWebhookInfo",
            json!({}),
            json!({ "url": "", "has_custom_certificate": false, "pending_update_count": 1 }),
        ),
        ("setMyCommands", json!({ "commands": commands, "scope": scope }), json!(true)),
        ("getMyCommands", json!({ "scope": scope }), commands),
        ("getMyCommands", json!({}), json!([])),
        ("deleteMyCommands", json!({ "scope": scope }), json!(true)),
        ("getMyCommands", json!({ "scope": scope }), json!([])),
        ("setChatMenuButton", json!({}), json!(true)),
        ("getChatMenuButton", json!({}), json!({ "type": "commands" })),
        ("setMyDescription", json!({ "description": "x" }), json!(true)),
    ] {
        assert_eq!(result(&server, method, &body), expect, "{method} {body}");
    }
    let member = result(&server, "getChatMember", &json!({ "chat_id": 7, "user_id": 7 }));
    assert_eq!(member["status"], "member");
    assert_eq!(result(&server, "getChat", &json!({ "chat_id": "7" }))["type"], "private");
    let wrong = json!({ "commands": [{ "command": "Not One", "description": "x" }] });
    let refused = call(&server, "setMyCommands", &wrong).json();
    assert_eq!(refused["description"], "Bad Request: BOT_COMMAND_INVALID");
}

#[test]
fn parameters_come_in_every_form() {
    let server = started(|_| {});
    let path = format!("/bot{}/sendMessage", server.token());
    let multipart = "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n\
                     --x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nd\r\n--x--\r\n";
    for (method, query, kind, body) in [
        ("GET", "?chat_id=7&text=a", "", ""),
        ("POST", "?chat_id=7&text=b", "", ""),
        ("POST", "", "application/x-www-form-urlencoded", "chat_id=7&text=c"),
        ("POST", "", "multipart/form-data; boundary=x", multipart),
        ("POST", "", "application/json", r#"{"chat_id":"7","text":"e"}"#),
    ] {
        let path = format!("{path}{query}");
        let answer =
            request(&server.url(), method, &path, &[("content-type", kind)], body.as_bytes());
        assert_eq!(answer.unwrap().status, 200, "{method} {kind}");
    }
    let entries = server.entries(7);
    assert_eq!(ChatView::after(&entries).final_text(), ["a", "b", "c", "d", "e"]);
}

#[test]
fn updates_are_handed_out_until_they_are_acknowledged() {
    let server = started(|_| {});
    assert!(!server.polled());
    let first = result(&server, "getUpdates", &json!({ "timeout": 5 }));
    assert!(server.polled());
    let update = &first[0];
    assert_eq!(update["message"]["text"], "hello");
    assert_eq!(update["message"]["chat"]["id"], 7);
    assert_eq!(first, result(&server, "getUpdates", &json!({})));
    let offset = update["update_id"].as_i64().unwrap() + 1;
    assert_eq!(result(&server, "getUpdates", &json!({ "offset": offset })), json!([]));

    // A waiting poll gets a message at once, and a second poll ends it.
    let waiting = |timeout: i64| {
        let (url, path) = (server.url(), format!("/bot{}/getUpdates", server.token()));
        std::thread::spawn(move || {
            let path = format!("{path}?timeout={timeout}&offset={offset}");
            request(&url, "GET", &path, &[], b"").unwrap()
        })
    };
    let one = waiting(20);
    std::thread::sleep(Duration::from_millis(200));
    let two = waiting(20);
    let ended = one.join().unwrap();
    assert_eq!(ended.status, 409);
    assert!(ended.body.contains("terminated by other getUpdates request"), "{}", ended.body);
    server.say(-1_005, "@clitape_test_bot /stop now").unwrap();
    let update = two.join().unwrap().json()["result"][0].clone();
    let message = &update["message"];
    assert_eq!(message["chat"]["type"], "supergroup");
    let kinds: Vec<&Value> =
        message["entities"].as_array().unwrap().iter().map(|e| &e["type"]).collect();
    assert_eq!(kinds, ["mention", "bot_command"]);
}

#[test]
fn messages_are_seen_edited_and_deleted() {
    let server = started(|_| {});
    let send = |body: Value| result(&server, "sendMessage", &body)["message_id"].clone();
    let one = send(json!({ "chat_id": 7, "text": "<b>a</b>", "parse_mode": "HTML",
        "reply_parameters": { "message_id": 1 } }));
    let two = send(json!({ "chat_id": 7, "text": "b" }));
    let three = send(json!({ "chat_id": 7, "text": "c" }));
    result(&server, "editMessageText", &json!({ "chat_id": 7, "message_id": one, "text": "a2" }));
    result(&server, "deleteMessage", &json!({ "chat_id": 7, "message_id": two }));
    result(&server, "deleteMessages", &json!({ "chat_id": 7, "message_ids": [three, 99] }));
    result(&server, "sendChatAction", &json!({ "chat_id": 7, "action": "typing" }));
    let reaction = json!([{ "type": "emoji", "emoji": "❤️" }]);
    let reacted = json!({ "chat_id": 7, "message_id": 1, "reaction": reaction });
    result(&server, "setMessageReaction", &reacted);
    let entries = server.entries(7);
    assert_eq!(ChatView::after(&entries).final_text(), ["a2"]);
    let kinds: Vec<&str> = entries.iter().map(|entry| &*entry.kind).collect();
    let expect = [
        "(user)",
        "sendMessage",
        "sendMessage",
        "sendMessage",
        "editMessageText",
        "deleteMessage",
        "deleteMessages",
        "sendChatAction",
        "setMessageReaction",
    ];
    assert_eq!(kinds, expect);
    assert_eq!((entries[0].at, &entries[1].data["reply_to"]), (0, &json!(1)));
    assert!(entries[1..].iter().all(|entry| entry.data["took_ms"].as_u64().unwrap() >= 5));
    let last = server.last_call(7).unwrap();
    assert_eq!((last.kind.as_str(), last.under_way), ("setMessageReaction", 0));
}

#[test]
fn a_topic_is_echoed() {
    let server = started(|_| {});
    server.say_in_topic(-9, 4, "in a topic").unwrap();
    let sent = json!({ "chat_id": -9, "message_thread_id": 4, "text": "x" });
    let message = result(&server, "sendMessage", &sent);
    assert_eq!(
        (&message["message_thread_id"], &message["is_topic_message"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(message["chat"]["is_forum"], true);
}

#[test]
fn a_button_is_pressed_and_answered() {
    let server = started(|_| {});
    let buttons = json!({ "inline_keyboard": [[{ "text": "Allow", "callback_data": "yes" },
        { "text": "Docs", "url": "https://example.org" }]] });
    let body = json!({ "chat_id": 7, "text": "May I?", "reply_markup": buttons.to_string() });
    result(&server, "sendMessage", &body);
    for (label, expect) in [
        ("Deny", "the message has no button `Deny`; it has Allow, Docs"),
        ("Docs", "the button `Docs` sends nothing to the bot; it opens a link"),
    ] {
        let error = server.press(7, PressTarget::Last, label).unwrap_err().to_string();
        assert_eq!(error, expect);
    }
    server.press(7, PressTarget::Last, "Allow").unwrap();
    let updates = result(&server, "getUpdates", &json!({ "offset": -1 }));
    let query = &updates[0]["callback_query"];
    assert_eq!((&query["data"], &query["message"]["text"]), (&json!("yes"), &json!("May I?")));
    let answer = json!({ "callback_query_id": query["id"], "text": "ok" });
    result(&server, "answerCallbackQuery", &answer);
    assert_eq!(call(&server, "answerCallbackQuery", &answer).status, 400);
    // An edit without `reply_markup` removes the buttons.
    let edit = json!({ "chat_id": 7, "message_id": 2, "text": "Allowed" });
    result(&server, "editMessageText", &edit);
    assert!(server.press(7, PressTarget::Last, "Allow").is_err());
    let entries = server.entries(7);
    let press = entries.iter().find(|entry| entry.kind == "(press)").unwrap();
    assert_eq!(press.data["label"], "Allow");
    assert_eq!(entries[1].data["buttons"], json!([["Allow", "Docs"]]));
}

#[test]
fn buttons_are_edited_alone() {
    let server = started(|_| {});
    let buttons =
        |label: &str| json!({ "inline_keyboard": [[{ "text": label, "callback_data": "x" }]] });
    let none = json!({ "inline_keyboard": [] });
    let sent = json!({ "chat_id": 7, "text": "May I?", "reply_markup": buttons("Allow") });
    let id = result(&server, "sendMessage", &sent)["message_id"].clone();
    for (markup, status) in
        [(buttons("Allow"), 400), (buttons("Yes"), 200), (none.clone(), 200), (none, 400)]
    {
        let edit = json!({ "chat_id": 7, "message_id": id, "reply_markup": markup });
        let answer = call(&server, "editMessageReplyMarkup", &edit);
        assert_eq!(answer.status, status, "{markup}: {}", answer.body);
    }
    assert_eq!(ChatView::after(&server.entries(7)).final_text(), ["May I?"]);
}

#[test]
fn a_file_is_sent_and_read_again() {
    let server = started(|_| {});
    let body = "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n\
                --x\r\nContent-Disposition: form-data; name=\"document\"; filename=\"a.txt\"\r\n\r\n\
                one\r\n--x--\r\n";
    let path = format!("/bot{}/sendDocument", server.token());
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let sent = request(&server.url(), "POST", &path, &kind, body.as_bytes()).unwrap().json();
    let document = &sent["result"]["document"];
    assert_eq!(document["file_name"], "a.txt", "{sent}");
    let file = result(&server, "getFile", &json!({ "file_id": document["file_id"] }));
    let path = format!("/file/bot{}/{}", server.token(), file["file_path"].as_str().unwrap());
    assert_eq!(request(&server.url(), "GET", &path, &[], b"").unwrap().body, "one");
}

#[test]
fn the_gateway_s_own_client_talks_to_it() {
    let fault = "4:rate-limit:30s".parse().unwrap();
    let server = started(|settings| settings.faults = Faults::Listed(vec![fault]));
    let settings = HttpSettings {
        server: server.url(),
        token: BotToken::new(server.token()),
        chat: "7".to_owned(),
        topic: None,
        timeout: Duration::from_secs(5),
        max_answer: ByteSize::mib(1),
    };
    let api = HttpApi::new(settings).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = |method, message_id, text: &str| BotCall {
        method,
        message_id,
        text: text.to_owned(),
        file: (method == BotMethod::SendDocument).then(|| "rm -rf /\r\n".to_owned()),
        reply_to: None,
        is_final: false,
        question: None,
        buttons: Vec::new(),
    };
    runtime.block_on(async {
        api.typing().await.unwrap();
        let file = api.call(call(BotMethod::SendDocument, None, "<i>q</i>")).await.unwrap();
        assert_eq!(file.message_id, 2, "the person wrote the first");
        let sent = api.call(call(BotMethod::SendMessage, None, "<b>a</b>")).await.unwrap();
        let id = Some(sent.message_id);
        let same = api.call(call(BotMethod::EditMessageText, id, "<b>a</b>")).await;
        assert_eq!(same, Err(BotApiError::NotModified));
        let limited = api.call(call(BotMethod::EditMessageText, id, "b")).await;
        assert_eq!(limited, Err(BotApiError::RetryAfter { seconds: 30 }));
    });
    let entries = server.entries(7);
    assert_eq!(entries.last().unwrap().data["answer"], "rate-limit:30s");
    assert_eq!(ChatView::after(&entries).final_text(), ["<i>q</i>", "<b>a</b>"]);
    assert_eq!(entries[2].text("file"), "question.txt");
}
