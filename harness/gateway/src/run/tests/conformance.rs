//! The three cases that were put to OpenClaw's own bridges, with the times it took, and what this
//! bridge does with them. There the tool callbacks passed the slow text (6.1), or overlapped it
//! (9.6); here one starts when the one before has settled (G1).

use super::*;
use crate::Callbacks;

/// Text takes 60 ms and its first callback fails; tools take 10 ms.
fn slow(log: &RecorderLog) -> Box<dyn Channel> {
    let began = Instant::now();
    let note = {
        let log = log.clone();
        move |what: &str| lock(&log).push(format!("{} {what}", began.elapsed().as_millis()))
    };
    let tool = {
        let note = note.clone();
        move |what: String| -> Callback<'static> {
            let note = note.clone();
            Box::pin(async move {
                note(&what);
                sleep(Duration::from_millis(10)).await;
                note("done");
                Ok(())
            })
        }
    };
    let result = tool.clone();
    let mut calls = 0;
    let channel = Callbacks::new()
        .on_text(move |text| {
            calls += 1;
            let (note, throws) = (note.clone(), calls == 1);
            Box::pin(async move {
                note(text);
                sleep(Duration::from_millis(60)).await;
                note(if throws { "throws" } else { "done" });
                if throws { Err(CallbackError::new("thrown")) } else { Ok(()) }
            })
        })
        .on_tool(move |call| tool(format!("start {}", call.id())))
        .on_tool_result(move |call| result(format!("result {}", call.id())));
    Box::new(channel)
}

fn start(id: &'static str, name: &'static str) -> Event<'static> {
    let args = json!({"x": 1});
    Event::ToolStart {
        id: id.into(),
        name: name.into(),
        kind: ToolKind::ToolUse,
        args: ToolArguments::Complete((&args).into()),
        parent: None,
    }
}

/// Plays the events of the cases, another run's among them, and stops at 100 ms.
async fn check(silent: bool, expect: &[&str], failures: &[u64]) {
    let (log, bus, other) = (RecorderLog::default(), Bus::new("r1"), Bus::new("other"));
    let settings = RunSettings { silent, ..RunSettings::default() };
    let mut run = Run::start(bus.clone(), settings, [slow(&log)]);
    let mut other = Run::start(other, RunSettings::default(), None);
    let began = Instant::now();
    let until = |ms| tokio::time::sleep_until(began + Duration::from_millis(ms));
    run.on_event(&text("a", None));
    until(5).await;
    run.on_event(&text("", None));
    until(10).await;
    run.on_event(&text("b", None));
    until(12).await;
    run.on_event(&start("t1", "Read"));
    until(14).await;
    run.on_event(&read_result());
    until(16).await;
    other.on_event(&start("t2", "X"));
    until(18).await;
    run.on_event(&start("t3", "Y"));
    until(20).await;
    run.on_event(&text("c", None));
    until(100).await;
    let late = tokio::spawn({
        let bus = bus.clone();
        async move {
            sleep(Duration::from_millis(100)).await;
            let (message_id, delta) = ("m".to_owned(), "late".to_owned());
            bus.publish(BusData::Assistant { message_id, delta, length: 4, parent: None });
        }
    });
    let report = run.finish().await;
    late.await.unwrap();
    other.finish().await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*lock(&log), expect);
    let told: Vec<u64> = report.channels.iter().map(|c| c.callback_failures).collect();
    assert_eq!(told, failures);
    assert_eq!(bus.listeners(), 0);
}

const IN_ORDER: [&str; 12] = [
    "0 a",
    "60 throws",
    "60 ab",
    "120 done",
    "120 start t1",
    "130 done",
    "130 result t1",
    "140 done",
    "140 start t3",
    "150 done",
    "150 abc",
    "210 done",
];

#[tokio::test(start_paused = true)]
pub(crate) async fn g1_bridge_case_1_slow_and_throwing_callbacks() {
    check(false, &IN_ORDER, &[1]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g1_bridge_case_2_order_across_bridges() {
    // OpenClaw starts callbacks in order only where it is asked to, and then they overlap.
    check(false, &IN_ORDER, &[1]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g3_bridge_case_3_silent() {
    check(true, &[], &[]).await;
}
