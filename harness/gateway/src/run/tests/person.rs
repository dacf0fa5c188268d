//! Words for the host never reach a channel, whatever the deltas are (G3, V11).

use super::*;
use crate::person_text::WRITTEN_CALL;

/// What a channel hears of a run with `deltas`, joined by `|`, that ends well.
async fn check(deltas: &[&str], expect: &[&str], delivered: Delivery) {
    let (log, bus) = (RecorderLog::default(), Bus::new("r1"));
    let (heard, _subscription) = listen(&bus);
    let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(0));
    let mut run = Run::start(bus, RunSettings::default(), [channel]);
    for delta in deltas {
        run.on_event(&text(delta, None));
    }
    let answer = deltas.concat();
    run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Ok, &answer))));
    let report = run.finish().await;
    let is_start = |line: &&String| !line.ends_with('.') || line.contains("finish");
    let log: Vec<String> = lock(&log).iter().filter(is_start).cloned().collect();
    assert_eq!(log, expect, "{deltas:?}");
    assert_eq!(report.channels[0].final_delivered, delivered, "{deltas:?}");
    // The bus has the answer as it came.
    let end = format!("{} {:?}", deltas.len() + 2, Phase::End { text: answer });
    assert_eq!(lock(&heard).last(), Some(&end));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g3_a_turn_of_a_word_for_silence_reaches_no_callback() {
    let word = "NO_REPLY";
    for at in 0..=word.len() {
        check(&[&word[..at], &word[at..]], &["0 leave"], Delivery::Nobody).await;
    }
    let characters: Vec<&str> = (0..word.len()).map(|at| &word[at..=at]).collect();
    check(&characters, &["0 leave"], Delivery::Nobody).await;
    let heard = ["0 text Hi!\n\n", "0 finish Hi!"];
    check(&["Hi!\n\n", "HEARTBEAT", "_OK\n"], &heard, sent()).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v11_a_run_tells_of_a_call_that_is_written_as_text() {
    let call = "<invoke name=\"Bash\">\n<parameter name=\"command\">ls</parameter>\n</invoke>";
    let notice = format!("0 finish {WRITTEN_CALL}");
    check(&[&call[..20], &call[20..]], &[&notice], sent()).await;
    let below = format!("0 finish I'll look.\n\n{WRITTEN_CALL}");
    check(&["I'll look.\n", call], &["0 text I'll look.\n", &below], sent()).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g3_a_run_that_fails_or_breaks_off_is_told() {
    for (end, expect) in [
        (Some(RunStatus::Error), "⚠️ The run failed: It broke. See the agent's log for details"),
        (None, "⚠️ The run ended before it gave an answer: The run was stopped before it ended"),
    ] {
        let log = RecorderLog::default();
        let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(0));
        let mut run = Run::start(Bus::new("r1"), RunSettings::default(), [channel]);
        run.on_event(&text("NO_REPLY", None));
        if let Some(status) = end {
            run.on_event(&Event::Outcome(Cow::Owned(outcome(status, "NO_REPLY"))));
        }
        run.finish().await;
        let log = lock(&log).clone();
        assert!(log.len() == 1 && log[0].starts_with(&format!("0 finish {expect}")), "{log:?}");
    }
}
