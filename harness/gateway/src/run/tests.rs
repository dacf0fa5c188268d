//! Whole runs: channels that are slow, fail, panic or never settle, and the events of the bus.

pub(crate) mod conformance;
pub(crate) mod delivery;
pub(crate) mod ends;
pub(crate) mod person;
mod recorder;
pub(crate) mod several;
pub(crate) mod stalled;
pub(crate) mod stalls;
pub(crate) mod typing;

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clitape_stream::{Failure, FailureKind, Json, RunStatus, ToolArguments, ToolKind};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::*;
use crate::bus::{BusEvent, Tool, lock};
use crate::channel::{Callback, CallbackError, Delivery, FinishFuture};
use crate::ending::RunEnding;
use crate::telegram::tests::fake::FakeBotApi;
use crate::telegram::{Telegram, TelegramSettings};
use recorder::{CallbackBehaviour, Recorder, RecorderLog};

pub(crate) fn text<'a>(delta: &'a str, parent: Option<&'a str>) -> Event<'a> {
    Event::Text {
        message_id: "m".into(),
        delta: delta.into(),
        length: delta.chars().count() as u64,
        text: delta,
        message_text: delta,
        parent: parent.map(Into::into),
    }
}

/// The result of a call of Read.
fn read_result() -> Event<'static> {
    Event::ToolResult {
        id: "t1".into(),
        name: "Read".into(),
        is_error: false,
        result: Json::NULL,
        incomplete: None,
        parent: None,
    }
}

fn outcome(status: RunStatus, text: &str) -> Outcome {
    let mut outcome = Outcome::new(status, text);
    outcome.error =
        (status != RunStatus::Ok).then(|| Failure::new(FailureKind::Execution, "It broke"));
    outcome
}

/// Five events, one of each kind that reaches a channel and one that does not.
fn play(run: &mut Run) {
    let args = json!({"file_path": "/etc/hosts"});
    run.on_event(&text("a", None));
    run.on_event(&text("child", Some("t0")));
    run.on_event(&Event::ToolStart {
        id: "t1".into(),
        name: "Read".into(),
        kind: ToolKind::ToolUse,
        args: ToolArguments::Complete((&args).into()),
        parent: None,
    });
    run.on_event(&Event::Thinking {
        message_id: "m".into(),
        block: 0,
        delta: "hm".into(),
        length: 2,
        text: "hm",
        block_text: "hm",
        parent: None,
    });
    run.on_event(&read_result());
    run.on_event(&text("b", None));
}

fn listen(bus: &Bus) -> (RecorderLog, crate::bus::Subscription) {
    let log = RecorderLog::default();
    let seen = log.clone();
    let subscription = bus.subscribe(move |event: &BusEvent| {
        lock(&seen).push(match &event.data {
            BusData::Lifecycle(phase) => format!("{} {phase:?}", event.seq),
            _ => format!("{} {}", event.seq, event.stream()),
        });
    });
    (log, subscription)
}

async fn check(how: fn(usize) -> CallbackBehaviour, silent: bool, expect: &[&str]) -> RunReport {
    let (log, bus) = (RecorderLog::default(), Bus::new("r1"));
    let channel = Recorder::channel(&log, how);
    let settings = RunSettings { silent, ..RunSettings::default() };
    let mut run = Run::start(bus.clone(), settings, [channel]);
    play(&mut run);
    run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Ok, "ab"))));
    run.on_event(&text("late", None));
    let report = run.finish().await;
    assert_eq!(*lock(&log), expect);
    assert_eq!(bus.listeners(), 0);
    report
}

fn sent() -> Delivery {
    Delivery::Sent { message_ids: vec![1] }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g1_what_is_taken_back_reaches_the_channel_in_its_turn() {
    let (log, bus) = (RecorderLog::default(), Bus::new("r1"));
    let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(10));
    let mut run = Run::start(bus, RunSettings::default(), [channel]);
    run.on_event(&text("half", None));
    let calls = ["t1".to_owned()];
    for parent in [Some("t0".into()), None] {
        run.on_event(&Event::Retract {
            message_id: "m".into(),
            length: 1,
            thinking_length: 0,
            calls: Cow::Borrowed(if parent.is_none() { &calls } else { &[] }),
            text: "h",
            thinking: "",
            parent,
        });
    }
    run.on_event(&text("i", None));
    run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Ok, "hi"))));
    run.finish().await;
    let expect = [
        "0 text half",
        "10 text half.",
        "10 text h",
        "20 text h.",
        "20 dropped t1",
        "30 dropped t1.",
        "30 text hi",
        "40 text hi.",
        "40 finish hi",
    ];
    assert_eq!(*lock(&log), expect);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g1_callbacks_run_in_order_one_at_a_time() {
    let how = |n| CallbackBehaviour::Takes(if n % 2 == 0 { 10 } else { 60 });
    let expect = [
        "0 text a",
        "60 text a.",
        "60 typing",
        "60 start t1",
        "70 start t1.",
        "70 thinking hm",
        "130 thinking hm.",
        "130 result t1",
        "140 result t1.",
        "140 text ab",
        "200 text ab.",
        "200 finish ab",
        "200 typing ends",
    ];
    let report = check(how, false, &expect).await;
    let clean = ChannelReport {
        callback_failures: 0,
        first_failure: None,
        gave_up: false,
        final_delivered: sent(),
    };
    assert_eq!(
        report,
        RunReport { channels: vec![clean], listener_panics: 0, masked: Masked::default() }
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g5_starts_and_updates_go_to_one_callback_and_results_to_another() {
    let log = RecorderLog::default();
    let note = {
        let log = log.clone();
        move |callback: &str, tool: &Tool| {
            let what = match tool {
                Tool::Update { .. } => "update",
                Tool::Start { .. } => "start",
                Tool::Result { .. } => "result",
            };
            lock(&log).push(format!("{callback}: {what} {}", tool.id()));
        }
    };
    let note_result = note.clone();
    let channel = crate::Callbacks::new()
        .on_tool(move |tool| {
            note("tool", tool);
            crate::done()
        })
        .on_tool_result(move |tool| {
            note_result("tool_result", tool);
            crate::done()
        });
    let channel: Box<dyn Channel> = Box::new(channel);
    let mut run = Run::start(Bus::new("r1"), RunSettings::default(), [channel]);
    let mut args = clitape_stream::Fields::new();
    args.push("file_path".to_owned(), (&json!("/etc")).into());
    run.on_event(&Event::ToolInput { id: "t1".into(), name: "Read".into(), args, parent: None });
    play(&mut run);
    run.finish().await;
    assert_eq!(*lock(&log), ["tool: update t1", "tool: start t1", "tool_result: result t1"]);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g2_a_failing_callback_is_counted_and_the_later_ones_come() {
    let how = |n| match n {
        2 => CallbackBehaviour::Fails,
        4 => CallbackBehaviour::Panics,
        _ => CallbackBehaviour::Takes(0),
    };
    let expect = [
        "0 text a",
        "0 text a.",
        "0 typing",
        "0 start t1",
        "0 thinking hm",
        "0 thinking hm.",
        "0 result t1",
        "0 text ab",
        "0 text ab.",
        "0 finish ab",
        "0 typing ends",
    ];
    let report = check(how, false, &expect).await;
    assert_eq!((report.channels[0].callback_failures, report.channels[0].gave_up), (2, false));
    let told = "a channel's callback failed: no; later events still reach it";
    assert_eq!(report.channels[0].first_failure.as_deref(), Some(told));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g2_a_callback_that_never_settles_is_given_up() {
    let how = |n| if n == 2 { CallbackBehaviour::Never } else { CallbackBehaviour::Takes(0) };
    let expect = [
        "0 text a",
        "0 text a.",
        "0 typing",
        "0 start t1",
        "15000 thinking hm",
        "15000 thinking hm.",
        "15000 result t1",
        "15000 result t1.",
        "15000 text ab",
        "15000 text ab.",
        "15000 finish ab",
        "15000 typing ends",
    ];
    let report = check(how, false, &expect).await;
    assert_eq!((report.channels[0].callback_failures, report.channels[0].gave_up), (1, true));
    assert_eq!(report.channels[0].final_delivered, sent());
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g3_a_silent_run_reaches_no_callback() {
    let report = check(|_| CallbackBehaviour::Takes(0), true, &[]).await;
    assert_eq!(report.channels, []);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g3_runs_do_not_mix() {
    let logs = [RecorderLog::default(), RecorderLog::default()];
    let mut runs = [0, 1].map(|n: usize| {
        let channel = Recorder::channel(&logs[n], |_| CallbackBehaviour::Takes(0));
        Run::start(Bus::new(format!("r{n}")), RunSettings::default(), [channel])
    });
    runs[0].on_event(&text("zero", None));
    runs[1].on_event(&text("one", None));
    for run in runs {
        run.finish().await;
    }
    assert_eq!(lock(&logs[0])[0], "0 text zero");
    assert_eq!(lock(&logs[1])[0], "0 text one");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn b3_one_start_and_one_end_whatever_happens() {
    let error = "Error { kind: Execution, message: \"It broke. See the agent's log for details, \
                 then send the message again.\" }";
    let stopped = "Error { kind: Stopped, message: \"The run was stopped before it ended; send \
                   the message again.\" }";
    let cases = [
        (Some(RunStatus::Ok), "End { text: \"ab\" }"),
        (Some(RunStatus::Error), error),
        (Some(RunStatus::Incomplete), error),
        (None, stopped),
    ];
    for (status, end) in cases {
        let bus = Bus::new("r1");
        let (log, _subscription) = listen(&bus);
        let mut run = Run::start(bus.clone(), RunSettings::default(), None);
        play(&mut run);
        if let Some(status) = status {
            run.on_event(&Event::Outcome(Cow::Owned(outcome(status, "ab"))));
        }
        run.finish().await;
        let stream =
            ["2 assistant", "3 assistant", "4 tool", "5 thinking", "6 tool", "7 assistant"];
        let log = lock(&log);
        assert_eq!(log[0], "1 Start");
        assert_eq!(log[1..7], stream);
        assert_eq!(log[7..], [format!("8 {end}")]);
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g7_the_end_is_published_after_the_final_message() {
    let (log, bus) = (RecorderLog::default(), Bus::new("r1"));
    let seen = log.clone();
    let _subscription = bus.subscribe(move |event| {
        if matches!(event.data, BusData::Lifecycle(Phase::End { .. })) {
            lock(&seen).push("end".to_owned());
        }
    });
    let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(100));
    let mut run = Run::start(bus.clone(), RunSettings::default(), [channel]);
    run.on_event(&text("a", None));
    run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Ok, "a"))));
    run.finish().await;
    assert_eq!(*lock(&log), ["0 text a", "100 text a.", "100 finish a", "end"]);
    assert_eq!(bus.listeners(), 1);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g7_a_dropped_run_leaves_nothing_behind() {
    let bus = Bus::new("r1");
    let (log, subscription) = listen(&bus);
    let calls = RecorderLog::default();
    let mut run = Run::start(
        bus.clone(),
        RunSettings::default(),
        [Recorder::channel(&calls, |_| CallbackBehaviour::Takes(100))],
    );
    run.on_event(&text("a", None));
    sleep(Duration::from_millis(10)).await;
    drop(run);
    drop(subscription);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(bus.listeners(), 0);
    assert_eq!(*lock(&calls), ["0 text a"]);
    assert!(lock(&log)[2].starts_with("3 Error { kind: Stopped"));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn v3_a_whole_run_is_one_message() {
    let fake = Arc::new(FakeBotApi::new(vec![]));
    let telegram = Telegram::new(TelegramSettings::default(), fake.clone());
    let bus = Bus::new("r1");
    let mut run = Run::start(bus, RunSettings::default(), [Box::new(telegram) as Box<dyn Channel>]);
    play(&mut run);
    sleep(Duration::from_millis(100)).await;
    run.on_event(&text(" & c", None));
    sleep(Duration::from_secs(2)).await;
    run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Incomplete, "ab & c"))));
    let report = run.finish().await;
    let notice = "⚠️ The answer is incomplete: It broke. See the agent's log for details, then \
                  send the message again.";
    let expect = [
        "0 send a\n\n📖 Read: from /etc/hosts\n\nb".to_owned(),
        "1000 edit 100 a\n\n📖 Read: from /etc/hosts\n\nb &amp; c".to_owned(),
        format!("2100 edit 100 final ab &amp; c\n\n{notice}"),
    ];
    assert_eq!(fake.log(), expect);
    let message_ids = vec![100];
    assert_eq!(report.channels[0].final_delivered, Delivery::Sent { message_ids });
}
