//! The callbacks of a channel once a message was sent with a tool, and on the follow-up path (G4).

use serde_json::Value;

use super::*;

fn start(id: &str, name: &str, args: &Value) -> Event<'static> {
    Event::ToolStart {
        id: id.to_owned().into(),
        name: name.to_owned().into(),
        kind: ToolKind::ToolUse,
        args: ToolArguments::Complete(args.into()),
        parent: None,
    }
}

fn result(id: &str, is_error: bool, incomplete: Option<clitape_stream::Incomplete>) -> Event<'_> {
    let (name, result) = ("message".into(), Json::NULL);
    Event::ToolResult { id: id.into(), name, is_error, result, incomplete, parent: None }
}

fn thinking(delta: &str) -> Event<'_> {
    let message_id = "m".into();
    let (delta, length) = (delta.into(), 1);
    let (text, block_text, parent) = ("", "", None);
    Event::Thinking { message_id, block: 0, delta, length, text, block_text, parent }
}

/// A run of `events` with an end that is `status`; the callbacks of the channel, and the number of
/// events of the bus.
async fn play(
    settings: RunSettings,
    events: &[Event<'_>],
    status: RunStatus,
) -> (RecorderLog, usize, Delivery) {
    let (log, bus) = (RecorderLog::default(), Bus::new("r1"));
    let (told, _subscription) = listen(&bus);
    let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(0));
    let mut run = Run::start(bus.clone(), settings, [channel]);
    for event in events {
        run.on_event(event);
    }
    run.on_event(&Event::Outcome(Cow::Owned(outcome(status, "final"))));
    let report = run.finish().await;
    let told = lock(&told).len();
    (log, told, report.channels[0].final_delivered.clone())
}

fn message_tool_only() -> RunSettings {
    RunSettings { delivery: DeliveryMode::MessageToolOnly, ..RunSettings::default() }
}

/// Checks the callbacks of the channel, their starts only.
async fn check(settings: RunSettings, events: &[Event<'_>], status: RunStatus, expect: &[&str]) {
    let (log, told, _) = play(settings, events, status).await;
    let heard: Vec<String> = lock(&log)
        .iter()
        .filter(|line| !line.ends_with('.') || line.contains("finish"))
        .map(|line| line.trim_start_matches("0 ").to_owned())
        .collect();
    assert_eq!(heard, expect);
    assert_eq!(told, events.len() + 2, "the bus tells everything");
}

/// A message that is sent, and everything that may come after it.
fn progress_after(name: &str, sent: Event<'static>) -> Vec<Event<'static>> {
    let notice = Event::Notice {
        kind: "system".into(),
        subtype: Some("api_retry".into()),
        detail: Cow::Owned(serde_json::Map::new()),
    };
    vec![
        text("a", None),
        start("t1", name, &json!({"action": "send"})),
        start("t2", "Read", &json!({})),
        sent,
        text("b", None),
        thinking("hm"),
        result("t2", false, None),
        start("t3", "Bash", &json!({})),
        result("t3", false, None),
        notice,
    ]
}

const UNTIL_SENT: [&str; 5] = ["text a", "typing", "start t1", "start t2", "result t1"];
const AFTER: [&str; 7] =
    ["text ab", "thinking hm", "result t2", "start t3", "result t3", RETRY, "finish final"];
const RETRY: &str = "⏳ The API failed; trying again";

#[tokio::test(start_paused = true)]
pub(crate) async fn g4_no_progress_comes_once_a_message_was_sent() {
    let events = progress_after("mcp__openclaw__message", result("t1", false, None));
    let expect = [&UNTIL_SENT[..], &["typing ends", "leave"]].concat();
    check(message_tool_only(), &events, RunStatus::Ok, &expect).await;
    let (_, _, delivery) = play(message_tool_only(), &events, RunStatus::Ok).await;
    assert_eq!(delivery, Delivery::ByTool);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g4_nothing_is_held_back_where_no_message_was_sent() {
    let incomplete = Some(clitape_stream::Incomplete::Incomplete);
    let all = [&UNTIL_SENT[..], &AFTER[..], &["typing ends"]].concat();
    for (settings, name, sent) in [
        (RunSettings::default(), "message", result("t1", false, None)),
        (message_tool_only(), "message", result("t1", true, None)),
        (message_tool_only(), "message", result("t1", false, incomplete)),
        (message_tool_only(), "Write", result("t1", false, None)),
    ] {
        check(settings, &progress_after(name, sent), RunStatus::Ok, &all).await;
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g4_names_can_be_added() {
    let settings = RunSettings {
        message_tools: MessageTools::default().with("telegram_send"),
        ..message_tool_only()
    };
    let events = progress_after("mcp__my__telegram_send", result("t1", false, None));
    let expect = [&UNTIL_SENT[..], &["typing ends", "leave"]].concat();
    check(settings, &events, RunStatus::Ok, &expect).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g4_a_run_that_fails_after_the_message_says_so() {
    let events = progress_after("message", result("t1", false, None));
    let failed = "finish ⚠️ The run failed: It broke. See the agent's log for details, then send \
                  the message again.";
    let expect = [&UNTIL_SENT[..], &["typing ends", failed]].concat();
    check(message_tool_only(), &events, RunStatus::Error, &expect).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g4_the_follow_up_path_bridges_tools_only() {
    let tools = ["typing", "start t1", "start t2", "result t1"];
    let rest = ["result t2", "start t3", "result t3", "finish final", "typing ends"];
    let events = progress_after("message", result("t1", false, None));
    let follow_up = RunSettings { path: RunPath::FollowUp, ..RunSettings::default() };
    let expect = [&tools[..], &rest].concat();
    check(follow_up.clone(), &events, RunStatus::Ok, &expect).await;
    let settings = RunSettings { path: RunPath::FollowUp, ..message_tool_only() };
    let expect = [&tools[..], &["typing ends", "leave"]].concat();
    check(settings, &events, RunStatus::Ok, &expect).await;
}

#[tokio::test(start_paused = true)]
async fn g4_telegram_shows_the_end_of_the_call_that_sent_and_nothing_after_it() {
    let fake = Arc::new(FakeBotApi::new(vec![]));
    let telegram: Box<dyn Channel> =
        Box::new(Telegram::new(TelegramSettings::default(), fake.clone()));
    let mut run = Run::start(Bus::new("r1"), message_tool_only(), [telegram]);
    for event in progress_after("message", result("t1", false, None)) {
        run.on_event(&event);
        sleep(Duration::from_millis(300)).await;
    }
    sleep(Duration::from_secs(5)).await;
    run.on_event(&Event::Outcome(Cow::Owned(outcome(RunStatus::Ok, "final"))));
    run.finish().await;
    let log = fake.log();
    let last = log.last().map(String::as_str).unwrap_or_default();
    assert!(!last.contains("running") && last.contains("Read"), "{log:?}");
    assert!(!log.iter().any(|call| call.contains("ab") || call.contains("Bash")), "{log:?}");
}
