//! A silent agent is given up, and each channel reports it (G8).

use super::*;

/// Events, each after a number of seconds.
type StallScript<'a> = &'a [(u64, Happens<'a>)];

#[allow(clippy::large_enum_variant, reason = "a test has few of them")]
enum Happens<'a> {
    Event(Event<'a>),
    /// Bytes that make no event.
    Bytes,
}

use Happens::{Bytes, Event as On};

fn start() -> Event<'static> {
    Event::ToolStart {
        id: "t1".into(),
        name: "Bash".into(),
        kind: ToolKind::ToolUse,
        args: ToolArguments::Truncated("{".into()),
        parent: None,
    }
}

fn result() -> Event<'static> {
    let (name, result, incomplete) = ("Bash".into(), Json::NULL, None);
    Event::ToolResult { id: "t1".into(), name, is_error: false, result, incomplete, parent: None }
}

/// Plays `script`, and silence after it; the second at which the run is given up, and its final
/// message.
async fn play(
    watchdog: Watchdog,
    script: StallScript<'_>,
    after: Option<Outcome>,
) -> (u64, String) {
    let log = RecorderLog::default();
    let channel = Recorder::channel(&log, |_| CallbackBehaviour::Takes(0));
    let settings = RunSettings { watchdog: Some(watchdog), ..RunSettings::default() };
    let mut run = Run::start(Bus::new("r1"), settings, [channel]);
    let began = Instant::now();
    let mut script = script.iter();
    let mut next = script.next();
    loop {
        let at = next.map_or(Duration::MAX / 4, |(second, _)| Duration::from_secs(*second));
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(began + at), if next.is_some() => {
                match next.map(|(_, happens)| happens) {
                    Some(On(event)) => run.on_event(event),
                    Some(Bytes) => run.on_bytes(),
                    None => {}
                }
                next = script.next();
            }
            () = run.stalled() => break,
        }
    }
    let seconds = began.elapsed().as_secs();
    if let Some(outcome) = after {
        run.on_event(&Event::Outcome(Cow::Owned(outcome)));
    }
    run.finish().await;
    let log = lock(&log);
    let last = log.iter().rev().find_map(|line| line.split_once("finish "));
    (seconds, last.map(|(_, words)| words.to_owned()).unwrap_or_default())
}

fn fresh() -> Watchdog {
    Watchdog::fresh(Duration::from_secs(600))
}

async fn check(watchdog: Watchdog, script: StallScript<'_>, expect: u64) {
    assert_eq!(play(watchdog, script, None).await.0, expect);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g8_silence_is_counted_from_the_last_bytes() {
    check(fresh(), &[], 480).await;
    check(Watchdog::resumed(Duration::from_secs(600)), &[], 180).await;
    check(fresh(), &[(100, On(text("a", None)))], 580).await;
    check(fresh(), &[(100, Bytes), (500, Bytes)], 980).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g8_a_tool_at_work_may_be_silent_for_900_s() {
    check(fresh(), &[(10, On(start()))], 910).await;
    check(fresh(), &[(10, On(start())), (800, On(result()))], 1_280).await;
    check(fresh(), &[(10, On(start())), (800, Bytes)], 1_700).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g8_the_final_message_says_that_the_agent_was_given_up() {
    let words = "⚠️ The answer is incomplete: The agent printed nothing for 480 s and was given \
                 up; send the message again, or raise the run's limit if it needs longer.";
    let script = [(0, On(text("so far", None)))];
    let (_, told) = play(fresh(), &script, None).await;
    assert_eq!(told, format!("so far\n\n{words}"));
    // The parser reports the answer so far when the bytes end.
    let cut = outcome(RunStatus::Incomplete, "so far");
    let (_, told) = play(fresh(), &script, Some(cut)).await;
    assert_eq!(told, format!("so far\n\n{words}"));
}

#[tokio::test(start_paused = true)]
async fn g8_a_result_that_came_before_the_silence_counts() {
    let script = [(0, On(text("all", None)))];
    let (_, told) = play(fresh(), &script, Some(outcome(RunStatus::Ok, "all"))).await;
    assert_eq!(told, "all");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn g8_the_bus_has_the_stall_and_the_open_calls() {
    let bus = Bus::new("r1");
    let (told, _subscription) = listen(&bus);
    let settings = RunSettings { watchdog: Some(fresh()), ..RunSettings::default() };
    let mut run = Run::start(bus.clone(), settings, None);
    run.on_event(&start());
    run.stalled().await;
    run.on_event(&result());
    run.finish().await;
    let told = lock(&told);
    assert_eq!(told[..3], ["1 Start", "2 tool", "3 tool"]);
    assert!(
        told[3]
            .starts_with("4 Error { kind: Stalled, message: \"The agent printed nothing for 900 s"),
        "{told:?}"
    );
}
