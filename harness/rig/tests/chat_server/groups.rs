//! Tests of groups and persons: named persons, groups in which a person writes, and the topics of a forum.

use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_gateway::telegram::{BotApi, BotCall, BotMethod, BotToken, HttpApi, HttpSettings};
use clitape_rig::chat_server::ChatServer;
use serde_json::{Value, json};

use crate::client::{call, result, started};

const GROUP: i64 = -1_000_007_000_002;

/// Returns the messages that the bot gets.
fn messages(server: &ChatServer) -> Vec<Value> {
    let updates = result(server, "getUpdates", &json!({}));
    updates.as_array().unwrap().iter().map(|update| update["message"].clone()).collect()
}

#[test]
fn each_person_has_names_of_their_own() {
    let server = started(|_| {});
    server.say(8, "hi").unwrap();
    server.open_group(GROUP, 9, false).unwrap();
    server.say(GROUP, "hi").unwrap();
    server.say(-5, "hi").unwrap();
    let messages = messages(&server);
    for (message, (id, username)) in
        messages.iter().zip([(7, "person7"), (8, "person8"), (9, "person9"), (1_001, "person1001")])
    {
        assert_eq!(
            (&message["from"]["id"], &message["from"]["username"]),
            (&json!(id), &json!(username))
        );
        assert_eq!(message["from"]["first_name"], format!("Person {id}"));
    }
    assert_eq!(messages[1]["chat"]["username"], "person8");
    assert_eq!(
        (&messages[2]["chat"]["id"], &messages[2]["chat"]["type"]),
        (&json!(GROUP), &json!("supergroup"))
    );
    assert_eq!(messages[2]["chat"]["is_forum"], Value::Null);
}

#[test]
fn a_person_makes_topics_and_writes_in_them() {
    let server = started(|_| {});
    server.open_group(GROUP, 9, true).unwrap();
    let topic = server.make_topic(GROUP, "first").unwrap();
    server.say_in_topic(GROUP, topic, "hi").unwrap();
    let messages = messages(&server);
    let [_, made, said] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(made["forum_topic_created"]["name"], "first");
    assert_eq!((&made["message_id"], &made["message_thread_id"]), (&json!(topic), &json!(topic)));
    assert_eq!(
        (&said["message_thread_id"], &said["is_topic_message"]),
        (&json!(topic), &json!(true))
    );
    assert_eq!(said["reply_to_message"]["message_id"], topic);
    assert_eq!((&said["chat"]["is_forum"], &said["text"]), (&json!(true), &json!("hi")));
    assert!(server.make_topic(5, "no such chat").is_err());
    // The message that announces a topic is not an act in the chat.
    assert_eq!(server.entries(GROUP).len(), 1);
}

#[test]
fn a_bot_makes_topics_of_its_own() {
    let server = started(|_| {});
    server.open_group(GROUP, 9, true).unwrap();
    let made = result(&server, "createForumTopic", &json!({ "chat_id": GROUP, "name": "agent" }));
    let topic = made["message_thread_id"].clone();
    assert_eq!(made["name"], "agent");
    let of_topic = |more: Value| {
        let mut body = json!({ "chat_id": GROUP, "message_thread_id": topic });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let sent = result(&server, "sendMessage", &of_topic(json!({ "text": "x" })));
    assert_eq!(sent["message_thread_id"], topic);
    for method in ["editForumTopic", "closeForumTopic", "reopenForumTopic", "deleteForumTopic"] {
        assert_eq!(result(&server, method, &of_topic(json!({ "name": "other" }))), true);
    }
    let none = json!({ "chat_id": GROUP });
    assert_eq!(result(&server, "closeGeneralForumTopic", &none), true);
    let icons = result(&server, "getForumTopicIconStickers", &json!({}));
    let is_icon =
        |icon: &Value| icon["custom_emoji_id"].is_string() && icon["type"] == "custom_emoji";
    assert!(!icons.as_array().unwrap().is_empty() && icons.as_array().unwrap().iter().all(is_icon));
    for (method, body, expect) in [
        ("sendMessage", of_topic(json!({ "text": "x" })), "message thread not found"),
        ("closeForumTopic", of_topic(json!({})), "TOPIC_ID_INVALID"),
        ("closeForumTopic", none, "invalid forum topic identifier specified"),
        ("createForumTopic", json!({ "chat_id": GROUP, "name": " " }), "name must be non-empty"),
        (
            "createForumTopic",
            json!({ "chat_id": GROUP, "name": "x", "icon_color": -5 }),
            "invalid icon color specified",
        ),
        ("createForumTopic", json!({ "chat_id": 7, "name": "x" }), "the chat is not a forum"),
        // General has the number 1, by which no message reaches it.
        (
            "sendMessage",
            json!({ "chat_id": GROUP, "message_thread_id": 1, "text": "x" }),
            "message thread not found",
        ),
    ] {
        let answer = call(&server, method, &body).json();
        assert_eq!(answer["description"], format!("Bad Request: {expect}"), "{method}");
    }
}

#[test]
fn a_topic_keeps_its_name_its_icon_and_whether_it_is_open() {
    let server = started(|_| {});
    server.open_group(GROUP, 9, true).unwrap();
    let topic = server.make_topic(GROUP, "first").unwrap();
    let check = |method: &str, more: Value, expect: &str| {
        let mut body = json!({ "chat_id": GROUP, "message_thread_id": topic });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = call(&server, method, &body).json();
        let words = answer["description"].as_str().unwrap_or("ok");
        assert_eq!(words.trim_start_matches("Bad Request: "), expect, "{method} {body}");
    };
    let same = "TOPIC_NOT_MODIFIED";
    check("editForumTopic", json!({ "name": "second" }), "ok");
    check("editForumTopic", json!({ "name": "second" }), same);
    check("editForumTopic", json!({ "icon_custom_emoji_id": "5312536423851630001" }), "ok");
    check("editForumTopic", json!({ "icon_custom_emoji_id": "5312536423851630001" }), same);
    check("editForumTopic", json!({}), "ok");
    check("reopenForumTopic", json!({}), same);
    check("closeForumTopic", json!({}), "ok");
    let closed = server.say_in_topic(GROUP, topic, "hi").unwrap_err().to_string();
    assert!(closed.contains("the topic is closed"), "{closed}");
    check("closeForumTopic", json!({}), same);
    check("reopenForumTopic", json!({}), "ok");
    server.say_in_topic(GROUP, topic, "hi").unwrap();
    let long = json!({ "chat_id": GROUP, "name": "x".repeat(200) });
    let made = result(&server, "createForumTopic", &long);
    assert_eq!(made["name"].as_str().unwrap().len(), 128);
    // A bot shows that it types in General by its number.
    let types = json!({ "chat_id": GROUP, "message_thread_id": 1, "action": "typing" });
    assert_eq!(result(&server, "sendChatAction", &types), true);
}

#[test]
fn a_private_chat_has_topics_if_the_bot_has_them() {
    let server = started(|settings| settings.private_topics = true);
    let me = result(&server, "getMe", &json!({}));
    assert_eq!(
        (&me["has_topics_enabled"], &me["allows_users_to_create_topics"]),
        (&json!(true), &json!(true))
    );
    let made = result(&server, "createForumTopic", &json!({ "chat_id": 7, "name": "agent" }));
    let topic = made["message_thread_id"].as_i64().unwrap();
    let of_topic = json!({ "chat_id": 7, "message_thread_id": topic, "text": "x" });
    let sent = result(&server, "sendMessage", &of_topic);
    assert_eq!(
        (&sent["message_thread_id"], &sent["is_topic_message"]),
        (&json!(topic), &json!(true))
    );
    server.say_in_topic(7, topic, "hi").unwrap();
    let messages = messages(&server);
    assert_eq!(messages.last().unwrap()["message_thread_id"], topic);
    let unknown = json!({ "chat_id": 7, "message_thread_id": 99, "text": "x" });
    let answer = call(&server, "sendMessage", &unknown).json();
    assert_eq!(answer["description"], "Bad Request: message thread not found");
    let closed = call(&server, "closeForumTopic", &of_topic).json();
    assert_eq!(closed["description"], "Bad Request: the chat is not a supergroup forum");
    assert_eq!(result(&server, "deleteForumTopic", &of_topic), true);
    assert_eq!(call(&server, "sendMessage", &of_topic).status, 400);
}

#[test]
fn a_group_without_topics_ignores_one() {
    let server = started(|_| {});
    server.open_group(GROUP, 9, false).unwrap();
    let body = json!({ "chat_id": GROUP, "message_thread_id": 5, "text": "x" });
    let sent = result(&server, "sendMessage", &body);
    assert_eq!(sent["message_thread_id"], Value::Null);
    assert_eq!(server.entries(GROUP)[0].field("topic"), None);
}

#[test]
fn the_entries_of_a_part_count_from_its_first_message() {
    let server = started(|_| {});
    result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "x" }));
    let known = server.entries(7).len();
    std::thread::sleep(std::time::Duration::from_millis(5));
    server.say(7, "again").unwrap();
    result(&server, "sendMessage", &json!({ "chat_id": 7, "text": "y" }));
    let part = server.entries_after(7, known);
    let kinds: Vec<&str> = part.iter().map(|entry| &*entry.kind).collect();
    assert_eq!((kinds, part[0].at), (vec!["(user)", "sendMessage"], 0));
}

#[test]
fn v12_the_gateway_answers_in_the_topic_in_which_it_was_asked() {
    let server = started(|_| {});
    server.open_group(GROUP, 9, true).unwrap();
    let topic = server.make_topic(GROUP, "first").unwrap();
    let asked = server.say_in_topic(GROUP, topic, "hi").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // General, whose number is 1, can't be named in a message.
    for (topic, expect) in [(topic, json!(topic)), (1, Value::Null)] {
        let settings = HttpSettings {
            server: server.url(),
            token: BotToken::new(server.token()),
            chat: GROUP.to_string(),
            topic: Some(topic),
            timeout: Duration::from_secs(5),
            max_answer: ByteSize::mib(1),
        };
        let api = HttpApi::new(settings).unwrap();
        let call = |method, file: Option<&str>| BotCall {
            method,
            message_id: None,
            text: "a".to_owned(),
            file: file.map(str::to_owned),
            reply_to: Some(asked),
            buttons: Vec::new(),
            question: None,
            is_final: false,
        };
        for call in [call(BotMethod::SendMessage, None), call(BotMethod::SendDocument, Some("b"))] {
            runtime.block_on(async {
                api.typing().await.unwrap();
                api.call(call).await.unwrap();
            });
            let sent = server.entries(GROUP).pop().unwrap();
            assert_eq!(sent.data.get("topic").unwrap_or(&Value::Null), &expect, "{sent:?}");
            // The server has found the message; entries have numbers of their own.
            assert!(sent.data["reply_to"].is_number(), "{sent:?}");
        }
    }
}
