//! Tests of failures: faults, limits, latency, restarts and bounds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clitape_recording::chat::ChatView;
use clitape_rig::chat_server::{ChatServer, ChatServerSettings, Faults, PaceLimits, PressTarget};
use serde_json::json;

use crate::client::{call, request, result, started, try_call};

/// Starts a server on which the calls of a chat fail as the words say.
fn faulty(words: &str) -> ChatServer {
    let faults = words.split(',').map(|word| word.parse().unwrap()).collect();
    started(|settings| settings.faults = Faults::Listed(faults))
}

#[test]
fn each_fault_has_its_answer_and_its_effect() {
    for (fault, status, is_done) in [
        ("2:rate-limit:30s", Some(429), false),
        ("2:server-error", Some(500), false),
        ("2:bad-gateway", Some(502), false),
        ("2:not-modified", Some(400), true),
        ("2:slow:200ms", Some(200), true),
        ("2:lost-reply", None, true),
        ("editMessageText:1:lost-reply", None, true),
        ("2:reset", None, false),
        ("2:restart", None, false),
    ] {
        let server = faulty(fault);
        result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "one" }));
        let begun = Instant::now();
        let edit = json!({ "chat_id": 7, "message_id": 2, "text": "two" });
        let answer = try_call(&server, "editMessageText", &edit);
        let found = answer.as_ref().ok().map(|answer| answer.status);
        assert_eq!(found, status, "{fault}");
        let is_slow = begun.elapsed() >= Duration::from_millis(190);
        assert_eq!(is_slow, fault.contains("slow"), "{fault}: {:?}", begun.elapsed());
        let entries = server.entries(7);
        let seen = ChatView::after(&entries);
        assert_eq!(seen.final_text(), [if is_done { "two" } else { "one" }], "{fault}");
        let entry = entries.last().unwrap();
        assert_eq!(
            entry.data["answer"],
            fault.trim_start_matches("editMessageText:")[2..],
            "{fault}"
        );
        assert_eq!(entry.data.get("shown"), (!is_done).then_some(&json!(false)), "{fault}");
        if fault.contains("rate-limit") {
            let body = answer.unwrap().json();
            let expect = json!({ "ok": false, "error_code": 429, "description":
                "Too Many Requests: retry after 30", "parameters": { "retry_after": 30 } });
            assert_eq!(body, expect);
            // The wait goes on, so the next call is refused as well.
            assert_eq!(call(&server, "editMessageText", &edit).status, 429);
            result(&server, "sendChatAction", &json!({ "chat_id": 7, "action": "typing" }));
        }
    }
}

/// Lets the bot answer the person's press until it is accepted, and returns the statuses of the answers.
fn answers_to_a_press(server: &ChatServer) -> Vec<Option<u16>> {
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Go", "callback_data": "g" }]] });
    result(server, "sendMessage", &json!({ "chat_id": 7, "text": "?", "reply_markup": keyboard }));
    server.press(7, PressTarget::Last, "Go").unwrap();
    let updates = result(server, "getUpdates", &json!({ "offset": -1 }));
    let id = &updates[0]["callback_query"]["id"];
    let answer = json!({ "callback_query_id": id, "text": "ok" });
    let status =
        || try_call(server, "answerCallbackQuery", &answer).ok().map(|answer| answer.status);
    [(); 3].iter().map(|()| status()).collect()
}

#[test]
fn an_answer_to_a_press_fails_by_its_number_and_may_be_tried_again() {
    for (fault, expect) in [
        ("answerCallbackQuery:1:server-error", [Some(500), Some(200), Some(400)]),
        ("answerCallbackQuery:1:rate-limit:5s", [Some(429), Some(200), Some(400)]),
        ("answerCallbackQuery:2:reset", [Some(200), None, Some(400)]),
        ("answerCallbackQuery:1:lost-reply", [None, Some(400), Some(400)]),
        // Only calls that change messages have a number among all calls.
        ("3:server-error", [Some(200), Some(400), Some(400)]),
    ] {
        let server = faulty(fault);
        assert_eq!(answers_to_a_press(&server), expect, "{fault}");
        let refused = server.entries(7).into_iter().filter(|entry| entry.is_refused());
        let words: Vec<String> = refused.map(|entry| entry.text("refused").to_owned()).collect();
        assert!(words.iter().all(|words| !words.is_empty()), "{fault}: {words:?}");
        // A 429 on another method does not hold messages back.
        result(&server, "editMessageText", &json!({ "chat_id": 7, "message_id": 2, "text": "x" }));
    }
}

#[test]
fn a_press_is_too_old_after_its_time() {
    let server = started(|settings| settings.press_time = Duration::ZERO);
    // The server's latency is longer than the time of a press.
    assert_eq!(answers_to_a_press(&server), [Some(400); 3]);
    let last = server.entries(7).pop().unwrap();
    let words = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    assert_eq!((last.kind.as_ref(), last.text("refused")), ("answerCallbackQuery", words));
    assert_eq!(last.data["shown"], json!(false));
}

#[test]
fn signals_fail_by_their_numbers() {
    for (fault, method, params) in [
        ("sendChatAction:1:server-error", "sendChatAction", json!({ "action": "typing" })),
        (
            "sendMessageDraft:1:server-error",
            "sendMessageDraft",
            json!({ "draft_id": 1, "text": "a" }),
        ),
        ("pinChatMessage:1:server-error", "pinChatMessage", json!({ "message_id": 1 })),
    ] {
        let server = faulty(fault);
        let mut body = params;
        body["chat_id"] = 7.into();
        let statuses = [(); 2].map(|()| call(&server, method, &body).status);
        assert_eq!(statuses, [500, 200], "{fault}");
    }
}

/// Telegram asks its method for drafts to wait by itself, and that for messages by itself.
#[test]
fn a_wait_holds_for_drafts_or_for_messages() {
    let draft = json!({ "chat_id": 7, "draft_id": 1, "text": "a" });
    let message = json!({ "chat_id": 7, "text": "a" });
    for (fault, expect) in [
        ("sendMessageDraft:1:rate-limit:30s", [429, 429, 200]),
        ("sendMessage:1:rate-limit:30s", [200, 200, 429]),
    ] {
        let server = faulty(fault);
        let calls =
            [("sendMessageDraft", &draft), ("sendMessageDraft", &draft), ("sendMessage", &message)];
        let statuses = calls.map(|(method, body)| call(&server, method, body).status);
        assert_eq!(statuses, expect, "{fault}");
    }
}

#[test]
fn a_call_that_hangs_is_done_and_under_way() {
    let server = faulty("1:hang");
    let (url, token) = (server.url(), server.token());
    std::thread::spawn(move || {
        let path = format!("/bot{token}/sendMessage?chat_id=7&text=x");
        let _ = request(&url, "GET", &path, &[], b"");
    });
    let end = Instant::now() + Duration::from_secs(20);
    while ChatView::after(&server.entries(7)).final_text().is_empty()
        && server.entries(7).len() < 2
        && Instant::now() < end
    {
        std::thread::sleep(Duration::from_millis(10));
    }
    let entries = server.entries(7);
    assert_eq!(entries[1].data["answer"], "hang");
    assert!(!entries[1].data.contains_key("took_ms"));
    assert_eq!(server.last_call(7).unwrap().under_way, 1);
}

#[test]
fn calls_that_overlap_are_seen_to_overlap() {
    let server = started(|settings| settings.latency = Duration::from_millis(300));
    let calls: Vec<_> = ["a", "b"]
        .map(|text| {
            let (url, token) = (server.url(), server.token());
            std::thread::spawn(move || {
                let path = format!("/bot{token}/sendMessage?chat_id=7&text={text}");
                request(&url, "GET", &path, &[], b"").unwrap().status
            })
        })
        .into_iter()
        .collect();
    std::thread::sleep(Duration::from_millis(100));
    assert!(server.entries(7).len() == 1, "nothing has taken effect yet");
    for call in calls {
        assert_eq!(call.join().unwrap(), 200);
    }
    let entries = server.entries(7);
    let (one, two) = (&entries[1], &entries[2]);
    assert!(one.data["took_ms"].as_u64().unwrap() >= 300);
    assert!(two.at < one.at + 300, "{} and {}", one.at, two.at);
}

#[test]
fn a_chat_gets_one_message_a_second() {
    let server = started(|settings| settings.pace = PaceLimits::Strict);
    let send = || call(&server, "sendMessage", &json!({ "chat_id": 7, "text": "x" }));
    assert_eq!(send().status, 200);
    let refused = send().json();
    assert_eq!(refused["parameters"]["retry_after"], 1, "{refused}");
    std::thread::sleep(Duration::from_millis(1_050));
    assert_eq!(send().status, 200);
    let entries = server.entries(7);
    assert_eq!(entries[2].data["answer"], "rate-limit:1s");
}

#[test]
fn a_chat_may_have_faults_of_its_own() {
    let server = started(|_| {});
    let reset = Faults::Listed(vec!["1:server-error".parse().unwrap()]);
    server.set_faults(8, reset).unwrap();
    for (chat, status) in [(7, 200), (8, 500), (8, 200)] {
        let answer = call(&server, "sendMessage", &json!({ "chat_id": chat, "text": "x" }));
        assert_eq!(answer.status, status, "{chat}");
    }
}

#[test]
fn a_restart_keeps_messages_and_updates() {
    let server = started(|_| {});
    result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "x" }));
    let (url, token) = (server.url(), server.token());
    let poll = std::thread::spawn(move || {
        request(&url, "GET", &format!("/bot{token}/getUpdates?timeout=20&offset=2"), &[], b"")
    });
    while !server.polled() {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.restart(Duration::from_millis(300));
    assert!(poll.join().unwrap().is_err(), "the poll breaks off");
    assert!(try_call(&server, "getMe", &json!({})).is_err(), "the server is away");
    std::thread::sleep(Duration::from_millis(600));
    server.say(7, "back?").unwrap();
    let updates = result(&server, "getUpdates", &json!({ "offset": 2 }));
    assert_eq!(updates[0]["message"]["text"], "back?");
    result(&server, "editMessageText", &json!({ "chat_id": 7, "message_id": 2, "text": "y" }));
}

#[test]
fn only_this_machine_and_only_so_much() {
    for (address, token, expect) in [
        ("0.0.0.0:0", "1:a", "listens on this machine alone"),
        ("127.0.0.1:0", "a", "not of the form 4242:ABC"),
        ("127.0.0.1:0", "1:a/b", "not of the form 4242:ABC"),
    ] {
        let settings = ChatServerSettings {
            address: address.parse().unwrap(),
            token: Some(token.to_owned()),
            ..ChatServerSettings::default()
        };
        let error = ChatServer::start(settings, Arc::default()).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }
    let server = started(|_| {});
    let path = format!("/bot{}/sendMessage", server.token());
    let body = vec![b'x'; (20 << 20) + 1];
    let answer = request(&server.url(), "POST", &path, &[], &body);
    // The server answers before it has read the whole body, so that the connection may break first.
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status == 413));
    let error = (1..=1_000).find_map(|chat| server.say(chat * 10, "x").err()).unwrap();
    assert!(error.to_string().contains("1000 chats at most"), "{error}");
}
