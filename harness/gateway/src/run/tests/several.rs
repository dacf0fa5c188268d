//! Several channels on one run: none knows of the others (G1, G2).

use super::*;

async fn check(hows: [fn(usize) -> CallbackBehaviour; 2], expect: [&[&str]; 2]) -> RunReport {
    let logs = [RecorderLog::default(), RecorderLog::default()];
    let channels: Vec<_> =
        logs.iter().zip(hows).map(|(log, how)| Recorder::channel(log, how)).collect();
    let mut run = Run::start(Bus::new("r1"), RunSettings::default(), channels);
    run.on_event(&text("a", None));
    run.on_event(&text("b", None));
    run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Ok, "ab"))));
    let report = run.finish().await;
    for (log, expect) in logs.iter().zip(expect) {
        assert_eq!(*lock(log), expect);
    }
    report
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g1_a_slow_channel_delays_no_other() {
    let slow = ["0 text a", "60 text a.", "60 text ab", "120 text ab.", "120 finish ab"];
    let quick = ["0 text a", "1 text a.", "1 text ab", "2 text ab.", "2 finish ab"];
    let report =
        check([|_| CallbackBehaviour::Takes(60), |_| CallbackBehaviour::Takes(1)], [&slow, &quick])
            .await;
    assert_eq!(report.channels.len(), 2);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g2_failures_are_counted_by_channel() {
    let broken = ["0 text a", "15000 text ab", "15000 finish ab"];
    let well = ["0 text a", "0 text a.", "0 text ab", "0 text ab.", "0 finish ab"];
    let how = |n| if n == 1 { CallbackBehaviour::Never } else { CallbackBehaviour::Panics };
    let report = check([how, |_| CallbackBehaviour::Takes(0)], [&broken, &well]).await;
    let told: Vec<_> = report.channels.iter().map(|c| (c.callback_failures, c.gave_up)).collect();
    assert_eq!(told, [(2, true), (0, false)]);
    assert_eq!(report.channels[0].final_delivered, sent());
}

#[tokio::test(start_paused = true)]
async fn g2_a_listener_that_panics_is_counted() {
    let bus = Bus::new("r1");
    let _broken = bus.subscribe(|_| panic!("oh"));
    let (log, _subscription) = listen(&bus);
    let mut run = Run::start(bus.clone(), RunSettings::default(), None);
    run.on_event(&text("a", None));
    assert_eq!(run.finish().await.listener_panics, 3);
    assert_eq!(lock(&log).len(), 3);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn b3_nothing_comes_after_the_end_when_a_callback_publishes() {
    let (bus, log) = (Bus::new("r1"), RecorderLog::default());
    let (to, seen) = (bus.clone(), log.clone());
    let say = move |what: &str| {
        to.publish(BusData::Assistant {
            message_id: String::new(),
            delta: what.to_owned(),
            length: 0,
            parent: Some("callback".to_owned()),
        });
    };
    let late = say.clone();
    let channel = crate::Callbacks::new().on_finish(move |_| {
        say("in time");
        Box::pin(async { Delivery::Nobody })
    });
    let _subscription = bus.subscribe(move |event| {
        lock(&seen).push(format!("{} {}", event.seq, event.stream()));
        if matches!(event.data, BusData::Lifecycle(Phase::Error { .. })) {
            late("late");
        }
    });
    let channel: Box<dyn Channel> = Box::new(channel);
    Run::start(bus.clone(), RunSettings::default(), [channel]).finish().await;
    assert_eq!(*lock(&log), ["1 lifecycle", "2 assistant", "3 lifecycle"]);
}
