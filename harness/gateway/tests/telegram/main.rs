//! Whole runs in a Telegram chat, over real HTTP, with every way a call can fail.
//!
//! Time is real here, so nothing is said of it: only what was called in which order, and what a
//! person sees in the end.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a server that can't work fails the test")]

mod hostile;
mod html;
mod server;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use clitape_gateway::limits::BOT_API_ANSWER;
use clitape_gateway::telegram::{
    BotApi, BotApiError, BotCall, BotMethod, BotToken, DraftMode, HttpApi, HttpSettings, Telegram,
    TelegramSettings,
};
use clitape_gateway::{Bus, Channel, Delivery, Run, RunReport, RunSettings};
use clitape_stream::{Event, Json, Outcome, RunStatus, ToolArguments, ToolKind};
use serde_json::json;
use server::ServerReply::{After, Closed, Hangs, Lost, Page, Refuse, RetryAfter};
use server::{CHAT, FakeBotServer, History, ServerReply, TOKEN};
use tokio::task::JoinSet;
use tokio::time::sleep;

const ANSWER: &str = "There are **16 entries** in <Documents>,\nand one is named `a&b`.";
const SEEN: &str = "There are 16 entries in <Documents>,\nand one is named a&b.";

fn client(address: &str) -> HttpApi {
    HttpApi::new(HttpSettings {
        server: address.to_owned(),
        token: BotToken::new(TOKEN),
        chat: CHAT.to_string(),
        topic: None,
        timeout: Duration::from_millis(400),
        max_answer: BOT_API_ANSWER,
    })
    .unwrap()
}

fn text(delta: &str) -> Event<'_> {
    Event::Text {
        message_id: "m".into(),
        delta: delta.into(),
        length: 0,
        text: "",
        message_text: "",
        parent: None,
    }
}

/// A run that says `answer`, after two calls of a tool.
async fn play(mode: DraftMode, address: &str, answer: &str) -> RunReport {
    let throttle = Duration::from_millis(250);
    let settings = TelegramSettings { mode, throttle, ..TelegramSettings::default() };
    let channel = Telegram::new(settings, Arc::new(client(address)));
    let mut run =
        Run::start(Bus::new("r1"), RunSettings::default(), [Box::new(channel) as Box<dyn Channel>]);
    for id in ["t1", "t2"] {
        run.on_event(&Event::ToolStart {
            id: id.into(),
            name: "Read".into(),
            kind: ToolKind::ToolUse,
            args: ToolArguments::Complete((&json!({"file_path": format!("/etc/{id}")})).into()),
            parent: None,
        });
        sleep(Duration::from_millis(300)).await;
        run.on_event(&Event::ToolResult {
            id: id.into(),
            name: "Read".into(),
            is_error: false,
            result: Json::NULL,
            incomplete: None,
            parent: None,
        });
    }
    let half = answer.len() / 2;
    let half = (half..).find(|at| answer.is_char_boundary(*at)).unwrap();
    for delta in [&answer[..half], &answer[half..]] {
        run.on_event(&text(delta));
        sleep(Duration::from_millis(300)).await;
    }
    run.on_event(&Event::Outcome(Cow::Owned(Outcome::new(RunStatus::Ok, answer))));
    run.finish().await
}

/// Plays a run, and checks that a person sees the answer once, in the newest message, and `strays`
/// messages that nobody can edit above it.
async fn check(
    mode: DraftMode,
    script: &[ServerReply],
    strays: usize,
) -> (FakeBotServer, RunReport) {
    check_on(FakeBotServer::start(script).await, mode, script, strays).await
}

async fn check_on(
    server: FakeBotServer,
    mode: DraftMode,
    script: &[ServerReply],
    strays: usize,
) -> (FakeBotServer, RunReport) {
    let report = play(mode, &server.address, ANSWER).await;
    let calls = server.calls();
    let context = format!("{mode:?} {script:?} {calls:#?}");
    assert_eq!(server.faults(), [""; 0], "{context}");
    let messages = server.messages();
    let newest: Vec<&str> = messages.iter().map(newest).collect();
    assert_eq!(newest.len(), strays + 1, "{context}");
    assert_eq!(newest[strays], SEEN, "{context}");
    assert!(!newest[..strays].contains(&SEEN), "{context}");
    // G6: the agent is said to be at work, unless Telegram asked to wait at once.
    let signals = server.signals();
    assert!(signals > 0, "{context}");
    // Nothing comes after the final message.
    sleep(Duration::from_millis(400)).await;
    assert_eq!((server.calls(), server.signals()), (calls, signals), "{context}");
    (server, report)
}

fn newest(history: &History) -> &str {
    history.last().unwrap()
}

#[tokio::test]
async fn v3_one_message_grows_and_becomes_the_answer() {
    for mode in [DraftMode::Partial, DraftMode::Block, DraftMode::Progress] {
        let (server, report) = check(mode, &[], 0).await;
        let history = &server.messages()[0];
        assert_eq!(history[0], "📖 Read: from /etc/t1 running…");
        assert!(history.len() > 2, "{history:?}");
        assert_eq!(report.channels[0].final_delivered, Delivery::Sent { message_ids: vec![100] });
    }
    let (server, _) = check(DraftMode::Off, &[], 0).await;
    assert_eq!(server.calls(), [format!("sendMessage {SEEN}")]);
}

#[tokio::test]
async fn v6_every_fault_of_the_draft_ends_in_one_answer() {
    // Each at the call that opens the draft, and at an edit. Only where a new message may be there
    // without that anybody knows its number, or where Telegram refuses the draft for more than its markup, one is left over.
    let cases = [
        (After(700), 0, 0),
        (RetryAfter(1), 0, 0),
        (Refuse(400, "Bad Request: message is not modified: x"), 0, 0),
        (Refuse(400, "Bad Request: can't parse entities"), 0, 0),
        (Refuse(400, "Bad Request: message can't be edited"), 0, 1),
        (Refuse(403, "Forbidden: bot was blocked by the user"), 0, 1),
        (Refuse(500, "Internal Server Error"), 0, 0),
        (Page(502), 0, 0),
        (Closed, 0, 0),
        (Lost, 1, 0),
        (Hangs, 1, 0),
    ];
    let mut runs = JoinSet::new();
    for (fault, opening, edit) in cases {
        runs.spawn(async move { check(DraftMode::Partial, &[fault], opening).await });
        for mode in [DraftMode::Partial, DraftMode::Progress] {
            runs.spawn(async move { check(mode, &[After(0), fault], edit).await });
        }
    }
    runs.join_all().await;
}

#[tokio::test]
async fn v3_lost_answers_leave_two_messages_behind_at_most() {
    let (server, _) = check(DraftMode::Partial, &[Lost, Lost, Lost, Lost], 2).await;
    // The final message's answer was lost too, and it was not sent twice.
    assert_eq!(server.calls().len(), 3);
}

#[tokio::test]
async fn v7_a_final_message_whose_answer_is_lost_is_there_once() {
    // An edit is made again: Telegram says that nothing changes.
    let mut runs = JoinSet::new();
    for fault in [Lost, Hangs, Closed, Page(504), Refuse(500, "Internal Server Error")] {
        runs.spawn(async move {
            let server = FakeBotServer::start(&[]).await;
            server.surprise(SEEN, fault);
            let (server, report) = check_on(server, DraftMode::Progress, &[fault], 0).await;
            let sent = Delivery::Sent { message_ids: vec![100] };
            assert_eq!(report.channels[0].final_delivered, sent, "{fault:?}");
            let again = format!("editMessageText {SEEN}");
            assert!(server.calls().ends_with(&[again.clone(), again]), "{:?}", server.calls());
        });
    }
    // A new message is not; the report says that it is in doubt.
    for fault in [Lost, Hangs] {
        runs.spawn(async move {
            let (server, report) = check(DraftMode::Off, &[fault], 0).await;
            assert_eq!(server.calls().len(), 1);
            let Delivery::Failed { reason } = &report.channels[0].final_delivered else {
                panic!("{fault:?} is no success");
            };
            assert!(reason.contains("look into the chat before you send it again"), "{reason}");
        });
    }
    runs.join_all().await;
    // Where Telegram says that nothing was done, it is sent until it is.
    check(DraftMode::Off, &[Page(502), RetryAfter(1), Refuse(500, "Internal Server Error")], 0)
        .await;
}

#[tokio::test]
async fn v5_a_long_answer_is_whole_over_valid_messages() {
    let paragraph = "Wörter & <tags> **fett** `code` 👩‍👩‍👧 und mehr. ".repeat(30);
    let code = "let a = b && c; // <x>\n".repeat(120);
    let answer = format!("{paragraph}\n\n```rust\n{code}```\n\n{paragraph}\n\n{paragraph}");
    let server = FakeBotServer::start(&[]).await;
    let report = play(DraftMode::Partial, &server.address, &answer).await;
    assert_eq!(server.faults(), [""; 0]);
    let messages = server.messages();
    assert!(messages.len() >= 3, "{}", messages.len());
    let Delivery::Sent { message_ids } = &report.channels[0].final_delivered else {
        panic!("it was sent");
    };
    assert_eq!(message_ids.len(), messages.len());
    let letters = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let seen: String = messages.iter().map(|history| letters(newest(history))).collect();
    assert_eq!(seen, letters(&answer.replace("```rust", "")));
}

#[tokio::test]
async fn v8_every_mark_of_markdown_is_taken() {
    let answer = "# Head & `code`\n\n1. **bold _both_ ~~all~~**\n   - [x] <b>done</b>\n\n> quote `x` \
                  [link](https://example.com/?a=1&b=\"2\")\n> more\n\n| a | b |\n|---|---|\n| 1 | <2> |\n\n\
                  ```rust\nlet x = &y;\n```\n\n<div>\n\nhttps://example.com/a_b & [file](src/a.rs)";
    let server = FakeBotServer::start(&[]).await;
    let report = play(DraftMode::Partial, &server.address, answer).await;
    assert_eq!(server.faults(), [""; 0]);
    assert_eq!(report.channels[0].final_delivered, Delivery::Sent { message_ids: vec![100] });
    let messages = server.messages();
    let seen = "Head & code\n\n1. bold both all\n  ☑ <b>done</b>\n\nquote x link\nmore\n\n\
                a | b\n--+----\n1 | <2>\n\nlet x = &y;\n\n<div>\n\nhttps://example.com/a_b & file (src/a.rs)";
    assert_eq!(newest(&messages[0]), seen);
}

#[tokio::test]
async fn v6_a_server_that_does_not_listen() {
    let address = {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let call = BotCall {
        method: BotMethod::SendMessage,
        message_id: None,
        text: "x".to_owned(),
        file: None,
        reply_to: None,
        buttons: Vec::new(),
        question: None,
        is_final: true,
    };
    let error = client(&address).call(call).await.unwrap_err();
    assert!(matches!(error, BotApiError::Network(_)), "{error}");
}

#[tokio::test]
async fn v6_no_error_and_no_debug_shows_the_token() {
    let secret = TOKEN.split_once(':').unwrap().1;
    let call = || BotCall {
        method: BotMethod::SendMessage,
        message_id: None,
        text: "x".to_owned(),
        file: None,
        reply_to: None,
        buttons: Vec::new(),
        question: None,
        is_final: true,
    };
    for reply in [Closed, Hangs, Page(502), Refuse(404, TOKEN)] {
        let server = FakeBotServer::start(&[reply]).await;
        let api = client(&server.address);
        let error = api.call(call()).await.unwrap_err();
        for shown in [format!("{api:?}"), format!("{error:?}"), error.to_string()] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
