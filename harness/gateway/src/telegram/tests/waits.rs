//! Servers that ask to wait for ever, or without end.

use super::*;

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
pub(crate) async fn issue_13_finding_15_an_endless_wait_causes_no_panic_and_is_reported() {
    for seconds in [300, 1 << 63, u64::MAX] {
        let asked = format!("Telegram asks to wait {seconds} s; the final message waits 10 times");
        check(vec![wait(seconds)], &[End(0, "x")], &["0 send final x"], &asked).await;
        // The draft is asked: nobody calls again before, the final message neither.
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
    // What is shown already needs no call.
    let steps = [Text(0, A), Text(1_200, B), End(4_000, A)];
    let (_, delivery) = run(DraftMode::Partial, vec![After(0), wait(u64::MAX)], &steps).await;
    assert_eq!(delivery, Some(Delivery::AlreadyShown { message_id: 100 }));
}

#[tokio::test(start_paused = true)]
async fn issue_13_finding_34_a_server_that_always_asks_to_wait_is_called_eleven_times() {
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
