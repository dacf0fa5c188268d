//! Replays whose plan has a stall, or whose agent sends its message with a tool; and what replays share.

use clitape_recording::scenario::{self, Chat, ChatMode};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::*;

mod cuts;

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
const SAID: &str = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"It is so far that I have read half of it."}],"stop_reason":null},"session_id":"s"}"#;
const CALL: &str = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"mcp__chat__message","input":{"action":"send","text":"hi"}}]},"session_id":"s"}"#;
const SENT: &str = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"sent"}]},"session_id":"s"}"#;
const FAILED: &str = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]},"session_id":"s"}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"It is all done, and I have said so.","session_id":"s"}"#;

/// Replays lines, each the given number of ms after the one before.
fn play(lines: &[(u64, &str)], run: scenario::RunSpec) -> Replay {
    let stdout: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    let steps: Vec<String> =
        lines.iter().map(|(after, line)| format!("[{after},{}]", line.len() + 1)).collect();
    let plan = format!(r#"{{"format":1,"seed":1,"steps":[{}]}}"#, steps.join(","));
    let plan = Plan::parse(&plan, stdout.len() as u64).unwrap();
    replay(
        stdout.as_bytes(),
        &plan,
        Setup { run, channel: Some(Chat::of(ChatMode::Partial)), acp: None },
    )
}

fn entries(replay: &Replay, lane: Lane) -> Vec<String> {
    let of_lane = replay.entries.iter().filter(|entry| entry.lane == lane);
    of_lane.map(|entry| entry.to_line()).collect()
}

#[test]
fn g8_a_plan_with_a_stall_ends_the_run_visibly() {
    let lines = [(0, INIT), (0, SAID), (500_000, DONE)];
    let replay = play(&lines, scenario::RunSpec::default());
    let bus = entries(&replay, Lane::Bus);
    let last = bus.last().unwrap();
    assert!(last.starts_with(r#"{"at":480080,"lane":"bus","kind":"lifecycle""#), "{last}");
    assert!(last.contains(r#""kind":"stalled","message":"The agent printed nothing for 480 s"#));
    let told = entries(&replay, Lane::Telegram).join("\n");
    assert!(told.contains("⚠️ The answer is incomplete: The agent printed nothing"), "{told}");
    assert_eq!(entries(&replay, Lane::Read).len(), 2, "what comes too late is not read");
}

#[test]
fn g8_the_limit_and_the_session_say_how_long_silence_may_be() {
    let lines = [(0, INIT), (70_000, DONE)];
    let silent = |limit_s, resume| {
        let replay =
            play(&lines, scenario::RunSpec { limit_s, resume, ..scenario::RunSpec::default() });
        entries(&replay, Lane::Bus).last().unwrap().contains("stalled")
    };
    assert_eq!([silent(60, false), silent(100, true), silent(100, false)], [true, true, false]);
}

#[test]
fn g4_what_an_agent_sends_with_a_tool_is_not_said_twice() {
    let by_tool = scenario::RunSpec {
        delivery: scenario::DeliverySpec::MessageToolOnly,
        ..scenario::RunSpec::default()
    };
    for (run, result, says_it) in [
        (by_tool, SENT, false),
        (by_tool, FAILED, true),
        (scenario::RunSpec::default(), SENT, true),
    ] {
        let lines = [(0, INIT), (0, CALL), (2_000, result), (2_000, DONE)];
        let told = entries(&play(&lines, run), Lane::Telegram).join("\n");
        assert_eq!(told.contains("It is all done"), says_it, "{told}");
        assert_eq!(told.contains(r#""delivery":"by-tool""#), !says_it, "{told}");
        assert!(told.contains("Message"), "{told}");
    }
}

#[test]
fn what_stdout_states_is_read_once_for_the_same_bytes() {
    let run = scenario::RunSpec::default();
    let base = play(&[(0, INIT), (0, SAID), (0, DONE)], run);
    let check = |lines: &[(u64, &str)], is_shared: bool| {
        let mut replay = play(lines, run);
        replay.share_facts(&base.facts);
        assert_eq!(Arc::ptr_eq(&replay.facts, &base.facts), is_shared, "{lines:?}");
        let read = entries(&replay, Lane::Read).len() as u64;
        assert_eq!(replay.facts.objects, read, "{lines:?}");
    };
    check(&[(0, INIT), (9, SAID), (9, DONE)], true);
    check(&[(0, INIT), (0, DONE)], false);
    // The last line is never read, because the run is over by then.
    check(&[(0, INIT), (0, SAID), (500_000, DONE)], false);
}

#[test]
fn what_is_collected_of_a_turn_of_many_calls_comes_in_parts() {
    let long = "word ".repeat(1_000);
    let mut lines = vec![INIT.to_owned()];
    for n in 0..100 {
        lines.push(CALL.replace("t1", &format!("t{n}")).replace(r#""hi""#, &format!("{long:?}")));
        lines.push(SENT.replace("t1", &format!("t{n}")));
    }
    lines.push(DONE.to_owned());
    let lines: Vec<_> = lines.iter().map(|line| (0, line.as_str())).collect();
    let replay = play(&lines, scenario::RunSpec::default());
    let parts = replay.lane(Lane::Sse).filter(|entry| entry.kind == "collected");
    let parts: Vec<&Entry> = parts.collect();
    let outputs: Vec<_> = parts.iter().map(|entry| entry.text("output")).collect();
    assert_eq!(outputs, ["", "It is all done, and I have said so."]);
    let calls = |entry: &&Entry| entry.field("metadata").unwrap()["toolCalls"].clone();
    let [first, last] = [calls(&parts[0]), calls(&parts[1])].map(|calls| match calls {
        Value::Array(calls) => calls,
        other => panic!("{other}"),
    });
    assert!(first.len() > 10 && last.len() > 10, "{} and {}", first.len(), last.len());
    let ids = first.iter().chain(&last).map(|call| call["toolCallId"].as_str().unwrap());
    assert!(ids.eq((0..100).map(|n| format!("t{n}"))), "each call once, in their order");
}
