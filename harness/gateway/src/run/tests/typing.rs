//! The typing signal begins with the first tool or half a second after the run, and ends with the run, whatever
//! happens (G6).

use super::*;

const READ: &str = "typing";

/// A run with a tool in it, ended by `end`; the typing callbacks of the channel, with times.
async fn check<F: Future<Output = ()>>(
    how: fn(usize) -> CallbackBehaviour,
    end: impl FnOnce(Run) -> F,
    expect: &[&str],
) {
    let log = RecorderLog::default();
    let channel = Recorder::channel(&log, how);
    let mut run = Run::start(Bus::new("r1"), RunSettings::default(), [channel]);
    play(&mut run);
    sleep(Duration::from_millis(50)).await;
    end(run).await;
    // A dropped channel is gone when its task has run.
    sleep(Duration::from_millis(1)).await;
    let log = lock(&log);
    let heard: Vec<_> = log.iter().filter(|line| line.contains(READ)).collect();
    assert_eq!(heard, expect);
}

async fn finish(run: Run) {
    run.finish().await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g6_typing_begins_in_the_turn_of_the_first_tool() {
    // The text before it takes 60 ms, and so does each of the five callbacks.
    check(|_| CallbackBehaviour::Takes(60), finish, &["60 typing", "300 typing ends"]).await;
}

/// A run that ends after `ms` milliseconds, and whose only event comes at 100 ms.
async fn check_wait(ms: u64, is_asked: bool, event: Option<Event<'static>>, expect: &[&str]) {
    let log = RecorderLog::default();
    let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(0));
    let settings = RunSettings::default();
    let mut run = Run::start_after(Bus::new("r1"), settings, [channel], None, is_asked);
    sleep(Duration::from_millis(100)).await;
    event.iter().for_each(|event| run.on_event(event));
    sleep(Duration::from_millis(ms - 100)).await;
    run.finish().await;
    let log = lock(&log);
    let heard: Vec<_> = log.iter().filter(|line| line.contains("typing")).collect();
    assert_eq!(heard, expect, "{ms} {is_asked} {event:?}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g6_typing_begins_half_a_second_after_the_run() {
    let compacted = || {
        Some(Event::Notice {
            kind: "system".into(),
            subtype: Some("compact_boundary".into()),
            detail: Cow::Owned(serde_json::Map::new()),
        })
    };
    let said = |parent| Some(text("a", parent));
    for (ms, is_asked, event, expect) in [
        (499, true, None, &[][..]),
        (499, true, said(None), &[]),
        (501, true, None, &["500 typing", "501 typing ends"]),
        (501, true, said(None), &["500 typing", "501 typing ends"]),
        // What comes behind a turn is no sign that the agent works on.
        (9_000, false, None, &[]),
        (9_000, false, compacted(), &[]),
        (599, false, said(None), &[]),
        (601, false, said(None), &["600 typing", "601 typing ends"]),
        (601, false, said(Some("t0")), &["600 typing", "601 typing ends"]),
        (9_000, true, question(), &[]),
    ] {
        check_wait(ms, is_asked, event, expect).await;
    }
}

/// A question about a call.
fn question() -> Option<Event<'static>> {
    Some(Event::Question {
        id: "q1".into(),
        name: "Bash".into(),
        call: Some("t1".into()),
        input: Json::NULL,
        suggestions: Json::NULL,
        detail: Cow::Owned(serde_json::Map::new()),
        parent: None,
    })
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g6_typing_ends_when_the_run_fails_or_breaks() {
    let fail = |mut run: Run| async {
        run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Error, ""))));
        run.finish().await;
    };
    check(|_| CallbackBehaviour::Takes(0), fail, &["0 typing", "50 typing ends"]).await;
    check(|_| CallbackBehaviour::Panics, finish, &["0 typing", "50 typing ends"]).await;
    check(|_| CallbackBehaviour::Never, finish, &["15050 typing", "15050 typing ends"]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g6_typing_ends_when_the_run_is_dropped() {
    let dropped = |run| async { drop(run) };
    check(|_| CallbackBehaviour::Takes(0), dropped, &["0 typing", "50 typing ends"]).await;
    check(
        |n| if n == 2 { CallbackBehaviour::Never } else { CallbackBehaviour::Takes(0) },
        dropped,
        &["0 typing", "50 typing ends"],
    )
    .await;
    let aborted = |run: Run| async {
        let task = tokio::spawn(run.finish());
        sleep(Duration::from_millis(5)).await;
        task.abort();
    };
    check(
        |n| CallbackBehaviour::Takes(if n < 3 { 0 } else { 60 }),
        aborted,
        &["0 typing", "55 typing ends"],
    )
    .await;
}

/// A channel whose final message panics.
struct Broken(RecorderLog);

impl Channel for Broken {
    fn text<'a>(&'a mut self, _: &'a str) -> Callback<'a> {
        crate::done()
    }

    fn thinking<'a>(&'a mut self, _: &'a str) -> Callback<'a> {
        crate::done()
    }

    fn tool<'a>(&'a mut self, _: &'a Tool) -> Callback<'a> {
        crate::done()
    }

    fn typing(&mut self, on: bool) {
        lock(&self.0).push(format!("typing {on}"));
        panic!("typing");
    }

    fn finish<'a>(&'a mut self, _: &'a RunEnding) -> FinishFuture<'a> {
        panic!("finish");
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g6_typing_ends_when_the_final_message_panics() {
    let log = RecorderLog::default();
    let channel: Box<dyn Channel> = Box::new(Broken(log.clone()));
    let mut run = Run::start(Bus::new("r1"), RunSettings::default(), [channel]);
    play(&mut run);
    let report = run.finish().await;
    assert_eq!(*lock(&log), ["typing true", "typing false"]);
    assert_eq!(report.channels[0].callback_failures, 2);
    let reason = "the channel panicked: finish; report it".to_owned();
    assert_eq!(report.channels[0].final_delivered, Delivery::Failed { reason });
}
