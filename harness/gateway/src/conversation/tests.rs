//! Whole conversations: what each turn shows, and what waits for what.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clitape_stream::{Decision, Failure, FailureKind, Json, Outcome, RunStatus};
use serde_json::{Map, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::bus::{BusData, Phase, lock};
use crate::callbacks::Callbacks;
use crate::channel::{Delivery, done};
use crate::run::tests::text;
use crate::watchdog::Watchdog;

type Log = Arc<Mutex<Vec<String>>>;

/// A conversation whose turns write down what their bus and their channel hear; a final message takes
/// `ms`.
fn conversation(log: &Log, settings: RunSettings, ms: u64) -> Conversation {
    let log = log.clone();
    let began = Instant::now();
    Conversation::new(settings, move |turn| {
        let note = {
            let log = log.clone();
            move |what: String| {
                let at = began.elapsed().as_millis();
                lock(&log).push(format!("{at} {turn} {what}"));
            }
        };
        let bus = Bus::new(format!("run-{turn}"));
        let on_bus = note.clone();
        std::mem::forget(bus.subscribe(move |event| match &event.data {
            BusData::Lifecycle(Phase::Start) => on_bus("bus start".to_owned()),
            BusData::Lifecycle(_) => on_bus("bus end".to_owned()),
            _ => on_bus(format!("bus {}", event.stream())),
        }));
        let [of_text, of_question, of_closed, of_heard, of_finish] = [(); 5].map(|()| note.clone());
        let channel = Callbacks::new()
            .on_text(move |text| {
                of_text(format!("text {text}"));
                done()
            })
            .on_question(move |question| {
                of_question(format!("asks {}", question.title));
                done()
            })
            .on_question_closed(move |closed| {
                of_closed(format!("closed {} after {:?}", closed.closing.as_str(), closed.after));
                done()
            })
            .on_heard(move |text| {
                of_heard(format!("heard {text}"));
                done()
            })
            .on_finish(move |ending| {
                of_finish(format!("finish {ending}"));
                let of_finish = of_finish.clone();
                Box::pin(async move {
                    sleep(Duration::from_millis(ms)).await;
                    of_finish("finished".to_owned());
                    Delivery::Sent { message_ids: vec![1] }
                })
            });
        Turn { bus, channels: vec![Box::new(channel)], delivered: Box::new(|_| ()) }
    })
}

fn outcome(text: &str) -> Event<'static> {
    Event::Outcome(Cow::Owned(Outcome::new(RunStatus::Ok, text)))
}

fn notified(text: &str) -> Event<'static> {
    let mut outcome = Outcome::new(RunStatus::Ok, text);
    outcome.origin = Some("task-notification".to_owned());
    Event::Outcome(Cow::Owned(outcome))
}

fn question(parent: Option<&'static str>) -> Event<'static> {
    Event::Question {
        id: "q1".into(),
        name: "Bash".into(),
        call: Some("t1".into()),
        input: (&json!({"command": "ls"})).into(),
        suggestions: Json::NULL,
        detail: Cow::Owned(Map::new()),
        parent: parent.map(Into::into),
    }
}

fn answered(decision: Decision) -> Event<'static> {
    Event::Answered { id: "q1".into(), decision, message: None, input: Json::NULL }
}

/// Plays `events`, `gap` ms apart, and checks what channels and buses hear, times and turns included.
async fn check(events: &[Event<'static>], gap: u64, ms: u64, expect: &[&str]) -> Vec<RunReport> {
    let log = Log::default();
    let mut conversation = conversation(&log, RunSettings::default(), ms);
    for event in events {
        conversation.on_event(event);
        if gap > 0 {
            sleep(Duration::from_millis(gap)).await;
        }
    }
    let reports = conversation.finish().await;
    let log: Vec<String> =
        lock(&log).iter().filter(|line| !line.contains("bus assistant")).cloned().collect();
    assert_eq!(log, expect, "{log:#?}");
    reports
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q7_each_turn_is_a_run_of_its_own() {
    let session = Event::Session { session_id: "s".into(), model: None, cli_version: None };
    let events = [session, text("a", None), outcome("a"), text("b", None), outcome("b")];
    let reports = check(
        &events,
        10,
        0,
        &[
            "0 1 bus start",
            "10 1 text a",
            "20 1 finish a",
            "20 1 finished",
            "20 1 bus end",
            "30 2 bus start",
            "30 2 text b",
            "40 2 finish b",
            "40 2 finished",
            "40 2 bus end",
        ],
    )
    .await;
    assert_eq!(reports.len(), 2);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q8_channels_wait_for_the_turn_before_and_buses_do_not() {
    check(
        &[text("a", None), outcome("a"), text("b", None), outcome("b"), text("d", None)],
        0,
        100,
        &[
            "0 1 bus start",
            "0 2 bus start",
            "0 3 bus start",
            "0 1 text a",
            "0 1 finish a",
            "100 1 finished",
            "100 1 bus end",
            "100 2 text b",
            "100 2 finish b",
            "200 2 finished",
            "200 2 bus end",
            "200 3 text d",
            "200 3 finish d\n\n⚠️ The answer is incomplete: The run was stopped before it ended; send \
             the message again.",
            "300 3 finished",
            "300 3 bus end",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q7_what_comes_between_two_turns_begins_none() {
    let control = |id: &'static str| Event::Control {
        id: id.into(),
        subtype: None,
        error: None,
        detail: Cow::Owned(Map::new()),
    };
    let record = Event::Record { kind: "keep_alive".into(), subtype: None, raw: "{}".into() };
    let notice = Event::Notice {
        kind: "system".into(),
        subtype: Some("hook_started".into()),
        detail: Cow::Owned(Map::new()),
    };
    let between = [control("r1"), record, notice, answered(Decision::Allow)];
    let events = [&[outcome("a")], &between[..]].concat();
    let expect = ["0 1 bus start", "0 1 finish a", "0 1 finished", "0 1 bus end"];
    assert_eq!(check(&events, 0, 0, &expect).await.len(), 1);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q10_a_turn_that_answers_nobody_and_says_nothing_has_no_message() {
    let expect = [
        "0 1 bus start",
        "0 2 bus start",
        "0 3 bus start",
        "0 1 finish a",
        "0 1 finished",
        "0 1 bus end",
        "0 2 bus end",
        "0 3 finish done",
        "0 3 finished",
        "0 3 bus end",
    ];
    let reports = check(&[outcome("a"), notified(""), notified("done")], 0, 0, &expect).await;
    let delivered: Vec<_> =
        reports.iter().map(|report| report.channels[0].final_delivered.clone()).collect();
    let sent = Delivery::Sent { message_ids: vec![1] };
    assert_eq!(delivered, [sent.clone(), Delivery::Nobody, sent]);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q7_a_subagent_that_runs_on_after_the_last_turn_ends_without_a_word() {
    let expect = [
        "0 1 bus start",
        "10 1 finish a",
        "10 1 finished",
        "10 1 bus end",
        "10 2 bus start",
        "10 2 bus end",
    ];
    // The callbacks of the first run come with the first pause.
    let expect: Vec<&str> = expect.to_vec();
    let log = Log::default();
    let mut conversation = conversation(&log, RunSettings::default(), 0);
    sleep(Duration::from_millis(10)).await;
    conversation.on_event(&outcome("a"));
    sleep(Duration::ZERO).await;
    tokio::task::yield_now().await;
    conversation.on_event(&text("child", Some("t0")));
    let reports = conversation.finish().await;
    let log: Vec<String> =
        lock(&log).iter().filter(|line| !line.contains("bus assistant")).cloned().collect();
    assert_eq!(log, expect, "{log:#?}");
    assert_eq!(reports[1].channels[0].final_delivered, Delivery::Nobody);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q1_a_question_is_closed_once_whatever_comes() {
    let result = Event::ToolResult {
        id: "t1".into(),
        name: "Bash".into(),
        is_error: false,
        result: Json::NULL,
        incomplete: None,
        parent: None,
    };
    let withdrawn = Event::QuestionWithdrawn { id: "q1".into() };
    let mut failed = Outcome::new(RunStatus::Error, "");
    failed.error = Some(Failure::new(FailureKind::Execution, "It broke"));
    let failed = Event::Outcome(Cow::Owned(failed));
    for (how, closing) in [
        (answered(Decision::Allow), "allowed"),
        (answered(Decision::Deny), "denied"),
        (answered(Decision::DenyAndInterrupt), "stopped"),
        (withdrawn, "withdrawn"),
        (result, "settled"),
        (failed, "stopped"),
    ] {
        let log = Log::default();
        let mut conversation = conversation(&log, RunSettings::default(), 0);
        // Asked twice, closed by whatever comes first.
        for event in [question(None), question(None)] {
            conversation.on_event(&event);
        }
        sleep(Duration::from_millis(12_000)).await;
        for event in [how, answered(Decision::Allow), outcome("a")] {
            conversation.on_event(&event);
        }
        conversation.finish().await;
        let log = lock(&log);
        let of_channel = |what: &str| -> Vec<&str> {
            let lines = log.iter().filter_map(|line| line.split_once(" 1 "));
            lines.filter(|(_, line)| line.starts_with(what)).map(|(_, line)| line).collect()
        };
        assert_eq!(of_channel("asks"), ["asks 🛠️ Bash: list files"], "{closing}");
        assert_eq!(of_channel("closed"), [format!("closed {closing} after 12s")], "{closing}");
        assert_eq!(of_channel("bus question").len(), 2, "{closing}");
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q5_a_question_that_nobody_answers_is_denied() {
    let log = Log::default();
    let mut conversation = conversation(&log, RunSettings::default(), 0);
    let began = Instant::now();
    conversation.on_event(&question(None));
    let Waited::Denied(line) = conversation.waited().await else { panic!("it is denied") };
    let line = line.to_string();
    assert_eq!(began.elapsed().as_secs(), 600);
    assert!(line.contains(r#""request_id":"q1","response":{"behavior":"deny""#), "{line}");
    let late = conversation.answer("q1", &Answer::allow(), Some("Ann"));
    assert!(late.is_err_and(|error| error.to_string().contains("too late")));
    conversation.on_event(&outcome("a"));
    conversation.finish().await;
    let log = lock(&log);
    let asked: Vec<&String> = log.iter().filter(|line| line.contains("question")).collect();
    assert_eq!(asked, ["0 1 bus question", "60000 1 bus question", "600000 1 bus question"]);
    assert!(log.iter().any(|line| line == "600000 1 closed expired after 600s"), "{log:#?}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q4_an_answer_reaches_the_channels_at_once_and_counts_once() {
    let log = Log::default();
    let mut conversation = conversation(&log, RunSettings::default(), 0);
    conversation.on_event(&question(None));
    sleep(Duration::from_secs(3)).await;
    let line = conversation.answer("q1", &Answer::deny("no"), Some("Ann"));
    assert!(line.is_ok_and(|line| line.to_string().contains(r#""message":"no""#)));
    // The same answer, read from the host's own lines, is not a second one.
    for event in [answered(Decision::Deny), outcome("a")] {
        conversation.on_event(&event);
    }
    conversation.finish().await;
    let log = lock(&log);
    let closed: Vec<&String> = log.iter().filter(|line| line.contains("closed")).collect();
    assert_eq!(closed, ["3000 1 closed denied after 3s"]);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q1_a_question_of_a_subagent_goes_on_in_the_next_turn() {
    let log = Log::default();
    let mut conversation = conversation(&log, RunSettings::default(), 0);
    conversation.on_event(&question(Some("t0")));
    conversation.on_event(&outcome("a"));
    sleep(Duration::from_secs(5)).await;
    conversation.answer("q1", &Answer::allow(), None).expect("it is open");
    let reports = conversation.finish().await;
    let log: Vec<String> =
        lock(&log).iter().filter(|line| !line.contains("bus")).cloned().collect();
    let expect = [
        "0 1 asks 🛠️ Bash: list files",
        "0 1 closed moved after 0ns",
        "0 1 finish a",
        "0 1 finished",
        "0 2 asks 🛠️ Bash: list files",
        "5000 2 closed allowed after 5s",
    ];
    assert_eq!(log, expect);
    assert_eq!(reports[1].channels[0].final_delivered, Delivery::Nobody);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g8_a_message_between_two_turns_that_nobody_takes_up_is_a_stall() {
    let watchdog = Some(Watchdog::fresh(Duration::from_secs(600)));
    let settings = RunSettings { watchdog, ..RunSettings::default() };
    let log = Log::default();
    let mut conversation = conversation(&log, settings, 0);
    conversation.on_event(&outcome("a"));
    let hour = Duration::from_secs(3_600);
    let silent = tokio::time::timeout(hour, conversation.stalled()).await;
    assert!(silent.is_err(), "nobody waits");
    let message = Event::HostMessage { id: None, kind: "user".into(), text: Some("go on".into()) };
    conversation.on_event(&message);
    conversation.stalled().await;
    conversation.finish().await;
    let log = lock(&log);
    let last = log.iter().rev().nth(2).expect("the run ends");
    assert!(
        last.starts_with("4080000 2 finish ⚠️ The run ended before it gave an answer"),
        "{log:#?}"
    );
    assert!(last.contains("The agent printed nothing for 480 s"), "{log:#?}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q9_a_folded_message_is_heard() {
    let heard = |folded| Event::Heard { id: None, text: "by the way".into(), folded };
    check(
        &[heard(false), heard(true), outcome("a")],
        0,
        0,
        &[
            "0 1 bus start",
            "0 1 bus heard",
            "0 1 heard by the way",
            "0 1 finish a",
            "0 1 finished",
            "0 1 bus end",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q5_silence_does_not_count_while_a_question_is_open() {
    let watchdog = Some(Watchdog::fresh(Duration::from_secs(600)));
    let settings = RunSettings { watchdog, ..RunSettings::default() };
    let log = Log::default();
    let mut conversation = conversation(&log, settings, 0);
    let began = Instant::now();
    conversation.on_event(&question(None));
    // It is not denied either, so that the run ends in the end: 600 s and then 480 s.
    conversation.stalled().await;
    assert_eq!(began.elapsed().as_secs(), 1_080);
    conversation.finish().await;
    let log = lock(&log);
    assert!(log.iter().any(|line| line.contains("closed stopped")), "{log:#?}");
    assert!(log.iter().any(|line| line.contains("The agent printed nothing")), "{log:#?}");
}
