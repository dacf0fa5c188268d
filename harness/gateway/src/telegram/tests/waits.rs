//! Servers that ask to wait for ever, or without end.

use serde_json::json;

use super::*;
use crate::question::Closing;

fn wait(seconds: u64) -> FakeReply {
    Fails(BotApiError::RetryAfter { seconds })
}

/// The calls, and why the final message did not arrive.
async fn check(script: Vec<FakeReply>, steps: &[ChannelStep], calls: &[&str], reason: &str) {
    let (log, delivery) = run(DraftMode::Partial, script, steps).await;
    assert_eq!(log, calls);
    let Some(Delivery::Failed { reason: found }) = delivery else { panic!("{delivery:?}") };
    assert!(found.starts_with(reason), "{found}");
    assert!(found.contains("300 s in all (`--api-wait`) at most, and was not sent"), "{found}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn an_endless_wait_causes_no_panic_and_is_reported() {
    for seconds in [300, 1 << 63, u64::MAX] {
        let asked = format!("Telegram asks to wait {seconds} s; the final message waits 10 times");
        check(vec![wait(seconds)], &[End(0, "x")], &["0 send final x"], &asked).await;
        // The draft is asked to wait: no call comes before that, not even the final message.
        let drafts = [Text(0, A), Text(2_000, B), End(90_000, C)];
        let calls = [&format!("0 send {A}")[..]];
        let (log, delivery) = run(DraftMode::Partial, vec![wait(seconds)], &drafts).await;
        match seconds {
            // Of 300 s 210 are left, which the final message waits for.
            300 => assert_eq!(log[1..], [format!("300000 send final {C}")]),
            _ => {
                let longer =
                    "Telegram asks to wait longer than a final message does; the final message";
                check(vec![wait(seconds)], &drafts, &calls, longer).await;
                assert!(matches!(delivery, Some(Delivery::Failed { .. })));
            }
        }
    }
    // Text that is shown already needs no call.
    let steps = [Text(0, A), Text(1_200, B), End(4_000, A)];
    let (_, delivery) = run(DraftMode::Partial, vec![After(0), wait(u64::MAX)], &steps).await;
    assert_eq!(delivery, Some(Delivery::AlreadyShown { message_id: 100 }));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_asks_to_wait_is_called_eleven_times() {
    for (seconds, last) in [(0, 181_000), (5, 189_000), (29, 295_000)] {
        let script = (0..99).map(|_| wait(seconds)).collect();
        let (log, delivery) = run(DraftMode::Partial, script, &[End(0, "x")]).await;
        assert_eq!(log.len(), 11, "{log:?}");
        assert_eq!(log[10], format!("{last} send final x"), "{seconds}");
        let Some(Delivery::Failed { reason }) = delivery else { panic!("{delivery:?}") };
        assert!(reason.starts_with(&format!("Telegram asks to wait {seconds} s;")), "{reason}");
    }
    // A draft for which it always asks to wait becomes rarer.
    let script = (0..99).map(|_| wait(0)).collect();
    let (log, _) = run(DraftMode::Partial, script, &[Text(0, A), Text(1, B), End(95_000, C)]).await;
    let drafts = log.iter().take_while(|call| !call.contains("final")).count();
    assert_eq!(drafts, 8, "{log:?}");
}

/// A question of a run that ends at once; the seconds of the calls, that of the final message the last.
#[tokio::test(start_paused = true)]
async fn a_question_is_given_up_when_the_run_is_over() {
    for (script, expect) in [
        (vec![wait(0); 10], vec![0, 1, 3, 7, 15, 31, 61, 91, 121, 151, 181, 181]),
        (vec![wait(0); 11], vec![0, 1, 3, 7, 15, 31, 61, 91, 121, 151, 181, 182]),
        (vec![wait(299)], vec![0, 299, 299]),
        (vec![wait(300)], vec![0]),
    ] {
        let fake = Arc::new(FakeBotApi::new(script));
        let mut telegram = Telegram::new(TelegramSettings::default(), fake.clone());
        telegram.question(&questions::touch("q1")).await.expect("it is shown later");
        telegram.finish(&RunEnding { answer: "x".to_owned(), notice: None }).await;
        let at = |line: &String| line.split(' ').next()?.parse::<u64>().ok();
        // It was never seen, so that its end is an error.
        let closed = questions::closed("q1", Closing::Settled, None, 1);
        let is_given_up = expect.ends_with(&[182]) || expect == [0];
        assert_eq!(telegram.question_closed(&closed).await.is_err(), is_given_up);
        let log = fake.log();
        let seconds = log.iter().map(|line| at(line).expect("a call has a time") / 1_000);
        assert_eq!(seconds.collect::<Vec<_>>(), expect, "{log:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn v6_an_answer_that_never_comes_is_reported() {
    let (_, delivery) = run(DraftMode::Partial, vec![Never], &[End(0, "x")]).await;
    let Some(Delivery::Failed { reason }) = delivery else { panic!("{delivery:?}") };
    let expect = "none came in 15 s, the most that `--api-timeout` allows";
    assert!(reason.contains(expect), "{reason}");
}

/// The notices of a run that ends without a message, before its draft is sent, and what the person reads.
#[tokio::test(start_paused = true)]
async fn a_compaction_is_told_however_soon_the_run_is_over() {
    let failed = json!({ "compact_result": "failed", "compact_error": "No." });
    for (notices, expect) in [
        (vec![json!({ "status": "compacting" })], None),
        (
            vec![json!({ "status": "compacting" }), failed.clone()],
            Some("⚠️ Compacting failed: No."),
        ),
        (vec![failed, json!({ "status": "compacting" })], None),
    ] {
        let fake = Arc::new(FakeBotApi::new(vec![]));
        let mut telegram = Telegram::new(TelegramSettings::default(), fake.clone());
        for detail in &notices {
            let detail = detail.as_object().expect("a notice has fields");
            let notice = Notice::new("system", Some("status"), detail);
            telegram.notice(&notice).await.expect("a notice is taken");
        }
        telegram.leave().await.expect("the calls succeed");
        let last = fake.log().last().cloned();
        assert_eq!(last.is_some(), expect.is_some(), "{last:?}");
        assert!(last.unwrap_or_default().ends_with(expect.unwrap_or_default()));
    }
}

#[tokio::test(start_paused = true)]
async fn v6_a_draft_that_is_left_and_can_t_be_shown_is_reported() {
    let refused = || Fails(BotApiError::Other("no".to_owned()));
    for (script, expect) in [(vec![], true), (vec![After(0), refused(), refused()], false)] {
        let mut telegram =
            Telegram::new(TelegramSettings::default(), Arc::new(FakeBotApi::new(script)));
        telegram.tool(&tool("Read")).await.expect("a tool is taken");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(telegram.leave().await.is_ok(), expect);
    }
}
