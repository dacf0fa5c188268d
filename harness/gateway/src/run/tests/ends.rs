//! Before the bus publishes a run's end everything is delivered; then the bus has no listener,
//! however the run ended (G7).

use super::*;

/// A run that `end` ends some way; no listener of it is left, and the bus had one end.
async fn check<F: Future<Output = ()>>(end: impl FnOnce(Run) -> F, expect: &[&str]) {
    let (log, bus) = (RecorderLog::default(), Bus::new("r1"));
    let (told, subscription) = listen(&bus);
    let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(10));
    let mut run = Run::start(bus.clone(), RunSettings::default(), [channel]);
    run.on_event(&text("a", None));
    run.on_event(&text("b", None));
    end(run).await;
    sleep(Duration::from_secs(1)).await;
    drop(subscription);
    assert_eq!(bus.listeners(), 0);
    assert_eq!(*lock(&log), expect);
    let told = lock(&told);
    let ends = told.iter().filter(|line| line.contains("End") || line.contains("Error")).count();
    assert_eq!((ends, told.len()), (1, 4), "{told:?}");
}

const ALL: [&str; 5] = ["0 text a", "10 text a.", "10 text ab", "20 text ab.", "20 finish ab"];

#[tokio::test(start_paused = true)]
pub(crate) async fn g7_no_listener_is_left_after_success() {
    let end = |mut run: Run| async {
        run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Ok, "ab"))));
        run.finish().await;
    };
    check(end, &ALL).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g7_no_listener_is_left_after_an_error() {
    let end = |mut run: Run| async {
        run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Error, "ab"))));
        run.finish().await;
    };
    let finish = "20 finish ab\n\n⚠️ The run failed: It broke. See the agent's log for details, \
                  then send the message again.";
    check(end, &[&ALL[..4], &[finish]].concat()).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g7_no_listener_is_left_after_an_abort() {
    let dropped = |run| async {
        sleep(Duration::from_millis(5)).await;
        drop(run);
    };
    check(dropped, &ALL[..1]).await;
    let aborted = |run: Run| async {
        let task = tokio::spawn(run.finish());
        sleep(Duration::from_millis(15)).await;
        task.abort();
    };
    check(aborted, &ALL[..3]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g7_no_listener_is_left_after_a_panic() {
    let end = |run: Run| async {
        let task = tokio::spawn(async move {
            let _run = run;
            sleep(Duration::from_millis(5)).await;
            panic!("the gateway broke");
        });
        assert!(task.await.is_err_and(|error| error.is_panic()));
    };
    check(end, &ALL[..1]).await;
}
