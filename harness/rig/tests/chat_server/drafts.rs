//! Tests of drafts and rich messages: what a person sees of them, and the button that stops a draft.

use clitape_recording::chat::{ChatHistory, ChatView};
use clitape_rig::chat_server::{ChatServer, PersonScript};
use serde_json::{Value, json};

use crate::client::{call, request, result, started};

/// Returns the drafts that the view of a chat has.
fn seen(server: &ChatServer) -> Vec<String> {
    let view = ChatView::after(&server.entries(7));
    let drafts = view.drafts().map(|(_, draft)| format!("{}: {}", draft.id, draft.text.text));
    drafts.collect()
}

/// Returns the drafts that the page shows.
fn shown(server: &ChatServer) -> Vec<String> {
    let screen = request(&server.url(), "GET", "/person/chat?chat=7", &[], b"").unwrap().json();
    let drafts = screen["drafts"].as_array().unwrap().iter();
    drafts
        .map(|draft| format!("{} {}", draft["text"].as_str().unwrap(), draft["can_stop"]))
        .collect()
}

#[test]
fn a_draft_is_seen_until_a_message_comes() {
    let server = started(|_| {});
    for (body, page, view) in [
        (json!({ "draft_id": 5, "text": "" }), "Thinking… false", "5: Thinking…"),
        (json!({ "draft_id": 5 }), "Thinking… false", "5: Thinking…"),
        (json!({ "draft_id": 5, "text": "Look" }), "Look false", "5: Look"),
        (
            json!({ "draft_id": 5, "text": "<b>Look</b>ing", "parse_mode": "HTML", "can_stop": true }),
            "Looking true",
            "5: <b>Look</b>ing",
        ),
        (json!({ "draft_id": 6, "text": "Other" }), "Other false", "6: Other"),
    ] {
        let mut body = body;
        body["chat_id"] = 7.into();
        assert_eq!(result(&server, "sendMessageDraft", &body), true);
        assert_eq!((shown(&server), seen(&server)), (vec![page.to_owned()], vec![view.to_owned()]));
    }
    assert!(ChatView::after(&server.entries(7)).final_text().is_empty());
    let sent = result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "Done" }));
    // A draft takes no number of a message.
    assert_eq!(sent["message_id"], 2);
    assert!(shown(&server).is_empty() && seen(&server).is_empty());
    let history = ChatHistory::of(&server.entries(7));
    let texts: Vec<&str> = history.ever_seen().map(|text| text.plain_text()).collect();
    assert_eq!(texts, ["Done", "Thinking…", "Thinking…", "Look", "Looking", "Other"]);
}

#[test]
fn a_draft_is_refused_in_the_words_of_telegram() {
    let server = started(|_| {});
    server.say(-9, "hi").unwrap();
    let long = "x".repeat(4_097);
    let rich = json!({ "markdown": "a" });
    for (method, body, expect) in [
        ("sendMessageDraft", json!({ "chat_id": 7, "text": "a" }), "RANDOM_ID_INVALID"),
        (
            "sendMessageDraft",
            json!({ "chat_id": 7, "draft_id": 0, "text": "a" }),
            "RANDOM_ID_INVALID",
        ),
        (
            "sendMessageDraft",
            json!({ "chat_id": 7, "draft_id": "x", "text": "a" }),
            "RANDOM_ID_INVALID",
        ),
        (
            "sendMessageDraft",
            json!({ "chat_id": -9, "draft_id": 1, "text": "a" }),
            "TEXTDRAFT_PEER_INVALID",
        ),
        (
            "sendRichMessageDraft",
            json!({ "chat_id": -9, "draft_id": 1, "rich_message": rich }),
            "TEXTDRAFT_PEER_INVALID",
        ),
        (
            "sendMessageDraft",
            json!({ "chat_id": 7, "draft_id": 1, "text": long }),
            "message is too long",
        ),
        (
            "sendMessageDraft",
            json!({ "chat_id": 7, "draft_id": 1, "text": "a", "message_thread_id": 9 }),
            "message thread not found",
        ),
        (
            "sendRichMessageDraft",
            json!({ "chat_id": 7, "draft_id": 1 }),
            "rich message must be non-empty",
        ),
        (
            "sendRichMessageDraft",
            json!({ "chat_id": 7, "draft_id": 1, "rich_message": { "markdown": "" } }),
            "RICH_MESSAGE_MARKDOWN_INVALID",
        ),
        (
            "sendRichMessage",
            json!({ "chat_id": 7, "rich_message": { "markdown": "a", "html": "a" } }),
            "exactly one of the fields html, markdown, or blocks must be used",
        ),
        (
            "sendRichMessage",
            json!({ "chat_id": 7, "rich_message": { "html": 5 } }),
            "can't parse InputRichMessage: field \"html\" has a wrong type",
        ),
    ] {
        let answer = call(&server, method, &body).json();
        assert_eq!(answer["description"], format!("Bad Request: {expect}"), "{method} {body}");
    }
    assert!(seen(&server).is_empty());
}

#[test]
fn a_person_stops_a_draft() {
    for (keeps, after) in [(false, &[][..]), (true, &["a false"])] {
        let server = started(|_| {});
        let draft = |text: &str| {
            let body = json!({ "chat_id": 7, "draft_id": 5, "text": text, "can_stop": true,
                "keep_on_stop": keeps });
            result(&server, "sendMessageDraft", &body)
        };
        let no_draft = server.stop_draft(7, None).unwrap_err().to_string();
        assert!(no_draft.contains("shows no draft with a Stop button"), "{no_draft}");
        draft("a");
        let stop = || {
            let json = [("content-type", "application/json")];
            request(&server.url(), "POST", "/person/stop", &json, br#"{"chat":7}"#).unwrap().status
        };
        assert_eq!([stop(), stop()], [200, 409]);
        assert_eq!(shown(&server), after);
        assert_eq!(seen(&server).len(), after.len());
        let updates = result(&server, "getUpdates", &json!({ "offset": -1 }));
        let stopped = &updates[0]["stopped_message_generation"];
        assert_eq!((&stopped["draft_id"], &stopped["chat"]["id"]), (&json!(5), &json!(7)));
        // The app shows no further text of a draft that was stopped.
        assert_eq!(draft("ab"), true);
        assert_eq!(shown(&server), after);
        let entry = server.entries(7).pop().unwrap();
        assert_eq!((entry.text("text"), entry.is_shown()), ("ab", false));
        result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "a" }));
        draft("b");
        assert_eq!(shown(&server), ["b true"]);
    }
}

#[test]
fn a_draft_has_its_topic() {
    let server = started(|settings| settings.private_topics = true);
    let topic = server.make_topic(7, "first").unwrap();
    let draft = |topic: Option<i64>, text: &str| {
        let body = json!({ "chat_id": 7, "draft_id": 5, "text": text, "can_stop": true,
            "message_thread_id": topic });
        result(&server, "sendMessageDraft", &body)
    };
    draft(None, "a");
    draft(Some(topic), "b");
    assert_eq!(shown(&server), ["a true", "b true"]);
    server.stop_draft(7, Some(topic)).unwrap();
    assert_eq!(shown(&server), ["a true"]);
    let updates = result(&server, "getUpdates", &json!({ "offset": -1 }));
    assert_eq!(updates[0]["stopped_message_generation"]["message_thread_id"], topic);
}

#[test]
fn a_script_stops_a_draft() {
    let script = "[[step]]\nchat = 7\nwhen = { shows = \"Look\" }\nstop = true\n";
    let script = PersonScript::read(script).unwrap();
    let server = started(|settings| settings.script = Some(script));
    let body = json!({ "chat_id": 7, "draft_id": 5, "text": "Look", "can_stop": true });
    result(&server, "sendMessageDraft", &body);
    let first = result(&server, "getUpdates", &json!({ "timeout": 5 }));
    let next = json!({ "timeout": 20, "offset": first[0]["update_id"].as_i64().unwrap() + 1 });
    let updates = result(&server, "getUpdates", &next);
    assert_eq!(updates[0]["stopped_message_generation"]["draft_id"], 5, "{updates}");
}

#[test]
fn a_rich_message_is_seen_as_its_words() {
    let server = started(|_| {});
    let markdown = "# Plan\n\n- [x] *one*\n\n| a | b |\n|---|---|\n| 1 | 2 |";
    let draft = json!({ "chat_id": 7, "draft_id": 5, "rich_message": { "markdown": "# Pl" } });
    result(&server, "sendRichMessageDraft", &draft);
    assert_eq!(seen(&server), ["5: <b>Pl</b>"]);
    let sent = result(
        &server,
        "sendRichMessage",
        &json!({ "chat_id": 7,
        "rich_message": { "markdown": markdown, "is_rtl": true } }),
    );
    assert!(seen(&server).is_empty());
    let blocks = sent["rich_message"]["blocks"].as_array().unwrap();
    let kinds: Vec<&Value> = blocks.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["heading", "list", "table"]);
    assert_eq!((&sent["rich_message"]["is_rtl"], &sent["text"]), (&json!(true), &Value::Null));
    let text = "<b>Plan</b>\n\n☑ <i>one</i>\n\n<b>a</b> | <b>b</b>\n1 | 2";
    assert_eq!(ChatView::after(&server.entries(7)).final_text(), [text]);

    // A message of text becomes a rich one and the other way round.
    let id = &sent["message_id"];
    let html = json!({ "html": "<h2>New</h2><tg-button-row><tg-button type=\"callback_data\" \
        data=\"d\">Go</tg-button></tg-button-row>" });
    let edit = |body: Value| {
        let mut body = body;
        (body["chat_id"], body["message_id"]) = (7.into(), id.clone());
        call(&server, "editMessageText", &body).json()
    };
    let edited = edit(json!({ "rich_message": html }));
    assert_eq!(edited["result"]["rich_message"]["blocks"][0]["size"], 2, "{edited}");
    let same = edit(json!({ "rich_message": html }));
    assert!(same["description"].as_str().unwrap().contains("message is not modified"), "{same}");
    let view = ChatView::after(&server.entries(7));
    assert_eq!(view.messages().next().unwrap().buttons, [["Go"]]);
    server.press(7, clitape_rig::chat_server::PressTarget::Last, "Go").unwrap();
    let updates = result(&server, "getUpdates", &json!({ "offset": -1 }));
    assert_eq!(updates[0]["callback_query"]["data"], "d");
    let plain = edit(json!({ "text": "plain" }));
    assert_eq!(
        (&plain["result"]["text"], &plain["result"]["rich_message"]),
        (&json!("plain"), &Value::Null)
    );
}
