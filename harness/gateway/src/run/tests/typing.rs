//! The typing signal begins with the first tool and ends with the run, whatever happens (G6).

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
