//! Tests of albums: each part with its caption, uploads, and the refusals of Telegram.

use clitape_recording::chat::ChatView;
use clitape_rig::chat_server::Faults;
use serde_json::{Value, json};

use crate::client::{call, request, result, started};

const URL: &str = "http://127.0.0.1/a.png";

/// Makes a part of an album.
fn part(kind: &str, media: &str, caption: &str) -> Value {
    json!({ "type": kind, "media": media, "caption": caption })
}

#[test]
fn each_part_of_an_album_is_a_message_with_its_caption() {
    let server = started(|_| {});
    let mut marked = part("photo", URL, "*one*");
    marked["parse_mode"] = "MarkdownV2".into();
    let media =
        json!([marked, part("video", "http://127.0.0.1/b.mp4", ""), part("photo", URL, "<3")]);
    let sent = result(
        &server,
        "sendMediaGroup",
        &json!({ "chat_id": 7, "media": media.to_string(),
        "reply_parameters": { "message_id": 1 } }),
    );
    let of = |message: &Value| {
        let kinds = ["photo", "video"].into_iter().find(|kind| message.get(*kind).is_some());
        let caption = message["caption"].as_str().unwrap_or("-");
        format!(
            "{} {} {caption} {}",
            message["message_id"],
            kinds.unwrap(),
            message["media_group_id"]
        )
    };
    let sent: Vec<String> = sent.as_array().unwrap().iter().map(of).collect();
    assert_eq!(sent, ["2 photo one \"2\"", "3 video - \"2\"", "4 photo <3 \"2\""]);
    // The call is one entry, of which a person sees three messages.
    let entries = server.entries(7);
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1].text("text"), "*one*\n\n<3");
    let view = ChatView::after(&entries);
    let seen = view.numbered().map(|(id, message)| {
        let file = message.file.as_ref().map_or("-", |file| &file.name);
        format!("{id} {file} {}", message.text)
    });
    let expect = ["2 a.png <b>one</b>", "3 b.mp4 ", "4 a.png &lt;3"];
    assert_eq!(seen.collect::<Vec<_>>(), expect);
    let edit = json!({ "chat_id": 7, "message_id": 3, "caption": "two" });
    result(&server, "editMessageCaption", &edit);
    result(&server, "deleteMessage", &json!({ "chat_id": 7, "message_id": 4 }));
    let view = ChatView::after(&server.entries(7));
    assert_eq!(view.final_text(), ["<b>one</b>", "two"]);
    let screen = request(&server.url(), "GET", "/person/chat?chat=7", &[], b"").unwrap().json();
    assert_eq!(
        (&screen["messages"][1]["album"], &screen["messages"][1]["file"]),
        (&json!(2), &json!("photo"))
    );
}

#[test]
fn the_files_of_an_album_may_be_uploaded() {
    let server = started(|_| {});
    let media = json!([part("document", "attach://f0", "a"), part("document", "attach://f1", "b")]);
    let field = |name: &str, value: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file =
        |name: &str| field(name, name).replace("\"\r\n\r\n", "\"; filename=\"n.txt\"\r\n\r\n");
    let body = [field("chat_id", "7"), field("media", &media.to_string()), file("f0"), file("f1")];
    let body = format!("{}--x--\r\n", body.concat());
    let path = format!("/bot{}/sendMediaGroup", server.token());
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let sent = request(&server.url(), "POST", &path, &kind, body.as_bytes()).unwrap().json();
    for (place, expect) in [(0, "f0"), (1, "f1")] {
        let document = &sent["result"][place]["document"];
        assert_eq!(document["file_name"], "n.txt", "{sent}");
        let file = result(&server, "getFile", &json!({ "file_id": document["file_id"] }));
        let path = format!("/file/bot{}/{}", server.token(), file["file_path"].as_str().unwrap());
        assert_eq!(request(&server.url(), "GET", &path, &[], b"").unwrap().body, expect);
    }
    // The judge reads what a person who opens them does.
    let view = ChatView::after(&server.entries(7));
    let texts = view.messages().map(|message| message.file.as_ref()?.text.as_deref());
    assert_eq!(texts.collect::<Vec<_>>(), [Some("f0"), Some("f1")]);
}

#[test]
fn an_album_is_refused_in_the_words_of_telegram() {
    let server = started(|_| {});
    let photo = || part("photo", URL, "");
    let check = |media: Value, expect: &str| {
        let answer =
            call(&server, "sendMediaGroup", &json!({ "chat_id": 7, "media": media })).json();
        assert_eq!(answer["description"], format!("Bad Request: {expect}"), "{answer}");
    };
    check(Value::Null, "parameter \"media\" is required");
    check(json!("{"), "can't parse media JSON object");
    check(json!({}), "expected an Array of InputMedia");
    check(json!([]), "there are no messages to send");
    check(vec![photo(); 11].into(), "too many messages to send as an album");
    check(json!([1]), "can't parse InputMedia: expected an Object");
    check(json!([{ "media": URL }]), "can't parse InputMedia: can't find field \"type\"");
    check(json!([photo(), { "type": "photo" }]), "can't parse InputMedia: media not found");
    check(json!([part("photo", "attach://x", "")]), "can't parse InputMedia: media not found");
    check(json!([part("photo", "x", "")]), "wrong file identifier/HTTP URL specified");
    check(
        json!([part("animation", URL, "")]),
        "can't parse InputMedia: type \"animation\" can't be used in sendMediaGroup",
    );
    check(
        json!([part("sticker", URL, "")]),
        "can't parse InputMedia: type \"sticker\" is unsupported",
    );
    check(json!([photo(), part("audio", URL, "")]), "audio can't be mixed with other media types");
    check(
        json!([part("document", URL, ""), photo()]),
        "document can't be mixed with other media types",
    );
    check(json!([photo(), part("photo", URL, &"x".repeat(1_025))]), "message caption is too long");
    assert!(ChatView::after(&server.entries(7)).final_text().is_empty());
    // TDLib sends a single part without a group.
    let one = result(&server, "sendMediaGroup", &json!({ "chat_id": 7, "media": [photo()] }));
    assert_eq!((one.as_array().unwrap().len(), &one[0]["media_group_id"]), (1, &Value::Null));
}

#[test]
fn an_album_whose_reply_is_lost_is_seen() {
    let fault = "sendMediaGroup:1:lost-reply".parse().unwrap();
    let server = started(|settings| settings.faults = Faults::Listed(vec![fault]));
    let media = json!([part("photo", URL, "a"), part("photo", URL, "b")]);
    let body = json!({ "chat_id": 7, "media": media });
    assert!(crate::client::try_call(&server, "sendMediaGroup", &body).is_err());
    let view = ChatView::after(&server.entries(7));
    let seen: Vec<&str> = view.messages().map(|message| &*message.text).collect();
    assert_eq!(seen, ["a", "b"]);
    assert!(view.messages().all(|message| message.is_out_of_reach));
}
