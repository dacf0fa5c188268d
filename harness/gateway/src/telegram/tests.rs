//! The channel against a scripted Telegram, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::*;
use crate::channel::Delivery;
use fake::FakeReply::{After, Fails, Never};
use fake::{FakeBotApi, FakeReply};

pub(crate) mod fake;
pub(crate) mod questions;
pub(crate) mod waits;
pub(crate) mod whole_questions;

/// An event, and its millisecond.
enum ChannelStep {
    /// The answer so far.
    Text(u64, &'static str),
    /// A tool call begins.
    Tool(u64, &'static str),
    /// The run ends with this answer.
    End(u64, &'static str),
}
use ChannelStep::{End, Text, Tool as Start};

const A: &str = "short text that is now over thirty chars";
const B: &str = "short text that is now over thirty chars b";
const C: &str = "short text that is now over thirty chars b c";

/// The start of a call.
fn tool(title: &str) -> Tool {
    Tool::Start {
        id: title.to_owned(),
        name: title.to_owned(),
        title: title.to_owned(),
        args: serde_json::Value::Null.into(),
        truncated: None,
        parent: None,
    }
}

async fn run(
    mode: DraftMode,
    script: Vec<FakeReply>,
    steps: &[ChannelStep],
) -> (Vec<String>, Option<Delivery>) {
    let fake = Arc::new(FakeBotApi::new(script));
    let settings = TelegramSettings { mode, ..TelegramSettings::default() };
    let mut telegram = Telegram::new(settings, fake.clone());
    let started = Instant::now();
    let mut delivery = None;
    for step in steps {
        let (Text(at, _) | Start(at, _) | End(at, _)) = step;
        sleep_until(started + Duration::from_millis(*at)).await;
        match step {
            Text(_, text) => telegram.text(text).await.expect("text is taken"),
            Start(_, title) => {
                telegram.tool(&tool(title)).await.expect("a tool is taken");
            }
            End(_, answer) => {
                let ending = RunEnding { answer: (*answer).to_owned(), notice: None };
                delivery = Some(telegram.finish(&ending).await);
            }
        }
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    (fake.log(), delivery)
}

/// Partial mode: the calls, `@a`, `@b`, `@c` standing for the texts.
async fn check(script: Vec<FakeReply>, steps: &[ChannelStep], expect: &[&str]) -> Option<Delivery> {
    let (log, delivery) = run(DraftMode::Partial, script, steps).await;
    let fill = |line: &&str| line.replace("@a", A).replace("@b", B).replace("@c", C);
    let expect: Vec<String> = expect.iter().map(fill).collect();
    assert_eq!(log, expect);
    delivery
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v1_modes() {
    let steps = [Start(0, "Read"), Text(1_500, A), End(3_000, C)];
    for (mode, expect) in [
        (DraftMode::Off, vec![format!("3000 send final {C}")]),
        (
            DraftMode::Progress,
            vec!["0 send Read <i>running…</i>".to_owned(), format!("3000 edit 100 final {C}")],
        ),
        (
            DraftMode::Partial,
            vec![
                "0 send Read <i>running…</i>".to_owned(),
                format!("1500 edit 100 Read <i>running…</i>\n\n{A}"),
                format!("3000 edit 100 final {C}"),
            ],
        ),
    ] {
        assert_eq!(run(mode, vec![], &steps).await.0, expect, "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v9_a_running_call_shows_its_time_without_an_event() {
    let fake = Arc::new(FakeBotApi::new(vec![]));
    let settings = TelegramSettings { reasoning: true, ..TelegramSettings::default() };
    let mut telegram = Telegram::new(settings, fake.clone());
    telegram.thinking("Let me look.").await.expect("reasoning is taken");
    telegram.tool(&tool("Bash")).await.expect("a tool is taken");
    tokio::time::sleep(Duration::from_secs(45)).await;
    let ending = RunEnding { answer: "Done.".to_owned(), notice: None };
    telegram.finish(&ending).await;
    tokio::time::sleep(Duration::from_secs(45)).await;
    let draft = "<i>Let me look.</i>\n\n[00:00:00] Bash";
    let expect = [
        format!("0 send {draft} <i>running…</i>"),
        format!("20000 edit 100 {draft} <i>20s — 00:00:20</i>"),
        format!("40000 edit 100 {draft} <i>40s — 00:00:40</i>"),
        "45000 edit 100 final Done.".to_owned(),
    ];
    assert_eq!(fake.log(), expect);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v4_first_at_once_then_once_a_window_by_itself() {
    let steps = [
        Text(0, "short"),
        Text(100, "short text"),
        Text(200, A),
        Text(300, "short text that is now over thirty chars x"),
        Text(900, "short text that is now over thirty chars xy"),
        Text(1_600, "short text that is now over thirty chars xy   "),
        End(3_000, "short text that is now over thirty chars xyz"),
    ];
    let xy = "1200 edit 100 short text that is now over thirty chars xy";
    let xyz = "3000 edit 100 final short text that is now over thirty chars xyz";
    check(vec![], &steps, &["200 send @a", xy, xyz]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v4_the_window_counts_after_a_slow_request() {
    let steps = [Text(0, A), Text(100, B), Text(800, C), End(5_000, C)];
    check(vec![After(700)], &steps, &["0 send @a", "1000 edit 100 @c"]).await;
    check(vec![After(1_700)], &steps, &["0 send @a", "1700 edit 100 @c"]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v5_a_long_answer_goes_on_in_the_next_message() {
    let long: &str = "word ".repeat(1_000).leak();
    let (log, delivery) = run(DraftMode::Partial, vec![], &[Text(0, A), End(10, long)]).await;
    let pages: Vec<&str> = log.iter().map(|line| &line[..17.min(line.len())]).collect();
    assert_eq!(pages[1..], ["10 edit 100 final", "10 send final wor"]);
    assert!(log[1..].iter().all(|line| line.ends_with("word")));
    let sent = vec![100, 101];
    assert_eq!(delivery, Some(Delivery::Sent { message_ids: sent }));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v6_429_waits_and_then_sends_the_newest_by_itself() {
    let wait = || Fails(BotApiError::RetryAfter { seconds: 3 });
    let steps = [Text(0, A), Text(1_200, B), Text(2_500, C), End(9_000, "done")];
    check(
        vec![After(0), wait()],
        &steps,
        &["0 send @a", "1200 edit 100 @b", "4200 edit 100 @c", "9000 edit 100 final done"],
    )
    .await;
    // The final message waits as long as Telegram asked, and as it asks again.
    let steps = [Text(0, A), Text(1_200, B), End(2_000, C)];
    check(
        vec![After(0), wait(), wait()],
        &steps,
        &["0 send @a", "1200 edit 100 @b", "4200 edit 100 final @c", "7200 edit 100 final @c"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v6_not_modified_is_success() {
    let steps = [Text(0, A), Text(1_200, B), Text(2_500, C), End(4_000, C)];
    let delivery = check(
        vec![After(0), Fails(BotApiError::NotModified)],
        &steps,
        &["0 send @a", "1200 edit 100 @b", "2500 edit 100 @c"],
    )
    .await;
    assert_eq!(delivery, Some(Delivery::AlreadyShown { message_id: 100 }));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v6_network_errors_back_off_and_recover() {
    let lost = || Fails(BotApiError::Network("reset".to_owned()));
    let steps = [Text(0, A), Text(4_000, B), End(20_000, C)];
    check(
        vec![lost(), lost(), lost(), lost()],
        &steps,
        &[
            "0 send @a",
            "1000 send @a",
            "2000 send @a",
            "3000 send @a",
            "5000 send @b",
            "20000 edit 100 final @c",
        ],
    )
    .await;
    let delivery = check(
        vec![After(0), lost(), lost(), lost(), lost(), lost()],
        &[Text(0, A), End(500, B)],
        &[
            "0 send @a",
            "500 edit 100 final @b",
            "750 edit 100 final @b",
            "1250 edit 100 final @b",
            "2250 edit 100 final @b",
            "4250 edit 100 final @b",
        ],
    )
    .await;
    let reason = "Telegram was not reached: reset; check the network".to_owned();
    assert_eq!(delivery, Some(Delivery::Failed { reason }));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v3_a_lost_answer_opens_one_more_draft_and_no_third() {
    let lost = || Fails(BotApiError::Lost("closed".to_owned()));
    let steps = [Text(0, A), Text(4_000, B), Text(6_000, C), End(20_000, C)];
    check(
        vec![lost()],
        &steps,
        &["0 send @a", "1000 send @a", "4000 edit 100 @b", "6000 edit 100 @c"],
    )
    .await;
    check(vec![lost(), lost()], &steps, &["0 send @a", "1000 send @a", "20000 send final @c"])
        .await;
    // The answer to an edit may be lost as often as it likes.
    check(
        vec![After(0), lost(), lost(), lost()],
        &steps,
        &[
            "0 send @a",
            "4000 edit 100 @b",
            "5000 edit 100 @b",
            "6000 edit 100 @c",
            "7000 edit 100 @c",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v7_a_new_message_whose_answer_is_lost_is_not_sent_again() {
    let lost = || Fails(BotApiError::Lost("closed".to_owned()));
    let delivery = check(vec![lost()], &[End(0, A)], &["0 send final @a"]).await;
    let reason = "Telegram's answer was lost: closed; look into the chat before you send it again";
    assert_eq!(delivery, Some(Delivery::Failed { reason: reason.to_owned() }));
    // The pages after it still come.
    let long = "word ".repeat(1_500).leak();
    let (log, delivery) = run(DraftMode::Off, vec![lost()], &[End(0, long)]).await;
    assert_eq!(log.len(), 2);
    assert_eq!(delivery, Some(Delivery::Failed { reason: reason.to_owned() }));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v6_other_errors_end_the_draft() {
    let refused = || Fails(BotApiError::Other("no rights".to_owned()));
    let steps = [Text(0, A), Text(1_200, B), Text(2_500, C), End(4_000, C)];
    check(
        vec![After(0), refused()],
        &steps,
        &["0 send @a", "1200 edit 100 @b", "4000 send final @c"],
    )
    .await;
    // The same when it is the final message that can't be put in place.
    check(
        vec![After(0), refused()],
        &[Text(0, A), End(1_200, B)],
        &["0 send @a", "1200 edit 100 final @b", "1200 send final @b"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v6_a_text_whose_markup_is_refused_comes_without_it() {
    let refused = || Fails(BotApiError::Markup("Bad Request: can't parse entities".to_owned()));
    let text = "Run **a < b** in `c`.";
    let (marked, plain) = ("Run <b>a &lt; b</b> in <code>c</code>.", "Run a &lt; b in c.");
    let [first, second] = [marked, plain].map(|text| format!("0 send final {text}"));
    check(vec![refused()], &[End(0, text)], &[&first, &second]).await;
    // A text that has no markup, or is refused again, is refused for good.
    for (script, text, calls) in
        [(vec![refused(), refused()], text, 2), (vec![refused()], "plain", 1)]
    {
        let (log, delivery) = run(DraftMode::Off, script, &[End(0, text)]).await;
        assert_eq!(log.len(), calls, "{log:?}");
        assert!(matches!(delivery, Some(Delivery::Failed { .. })), "{delivery:?}");
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v7_no_late_edit_overwrites_the_final_message() {
    // The slow edit is waited for; the text that came meanwhile is never sent.
    let steps = [Text(0, A), Text(1_000, B), Text(1_500, C), End(1_600, "The end.")];
    let expect = ["0 send @a", "1000 edit 100 @b", "4000 edit 100 final The end."];
    check(vec![After(0), After(3_000)], &steps, &expect).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v7_a_call_that_never_settles_does_not_delay_the_final_message() {
    let steps = [Text(0, A), Text(1_000, B), End(1_600, C)];
    let expect = ["0 send @a", "1000 edit 100 @b", "16000 edit 100 final @c"];
    check(vec![After(0), Never], &steps, &expect).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v7_nothing_is_sent_twice() {
    let delivery = check(vec![], &[Text(0, A), End(10, A)], &["0 send @a"]).await;
    assert_eq!(delivery, Some(Delivery::AlreadyShown { message_id: 100 }));
    let delivery = check(vec![], &[Text(0, "short"), End(10, A)], &["10 send final @a"]).await;
    let message_ids = vec![100];
    assert_eq!(delivery, Some(Delivery::Sent { message_ids }));
}

/// Typing goes on at 0 and the run ends at `end`: the times of the typing signs, and the calls.
async fn typing(script: Vec<FakeReply>, end: u64) -> (Vec<u128>, Vec<String>) {
    let fake = Arc::new(FakeBotApi::new(script));
    let mut telegram = Telegram::new(TelegramSettings::default(), fake.clone());
    let started = Instant::now();
    telegram.typing(true);
    telegram.text(A).await.expect("text is taken");
    sleep_until(started + Duration::from_millis(end)).await;
    let ending = RunEnding { answer: C.to_owned(), notice: None };
    telegram.finish(&ending).await;
    telegram.typing(false);
    tokio::time::sleep(Duration::from_secs(60)).await;
    (fake.signals(), fake.log())
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g6_the_sign_is_renewed_and_never_comes_after_the_final_message() {
    let calls = |last: u64| vec![format!("0 send {A}"), format!("{last} edit 100 final {C}")];
    assert_eq!(typing(vec![], 12_000).await, (vec![0, 5_000, 10_000], calls(12_000)));
    // A signal under way is waited for.
    assert_eq!(typing(vec![], 10_100).await, (vec![0, 5_000, 10_000], calls(10_300)));
    // A server that asked to wait is not called.
    let wait = Fails(BotApiError::RetryAfter { seconds: 8 });
    let (signals, calls) = typing(vec![wait], 12_000).await;
    assert_eq!(signals, [0, 10_000]);
    assert_eq!(calls[1], format!("8000 send {A}"));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g6_the_sign_ends_with_its_channel() {
    let fake = Arc::new(FakeBotApi::new(vec![]));
    let mut telegram = Telegram::new(TelegramSettings::default(), fake.clone());
    telegram.typing(true);
    tokio::time::sleep(Duration::from_millis(6_000)).await;
    drop(telegram);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(fake.signals(), [0, 5_000]);
}
