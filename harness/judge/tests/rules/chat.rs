//! Tests that each rule finds an observation that breaks it and accepts one that does not, and that no rule finds a
//! fault in clitape's own gateway, for any cassette and any cuts of its bytes.

use std::sync::Arc;

use clitape_judge::neighbours::RunWords;
use clitape_judge::observation::{
    FurtherAct, Interlude, InterludeKind, Observation, ObservedEnding, PlayedTurn, RestartMoment,
    SubjectEvent, SubjectTraits,
};
use clitape_judge::{Violation, finally_read, judge, says_the_same};
use clitape_recording::cassette::Cassette;
use clitape_recording::facts::Facts;
use clitape_recording::scenario::{Chat, ChatMode, DeliverySpec, RunSpec, Setup, Workspace};
use clitape_recording::trace::{Entry, Lane};
use clitape_rig::chat_server::drawn;
use clitape_runner::replay::{Capture, Plan, replay, stdin_lines};

use super::{facts_of, root};

mod convicts;

/// The prefix of captures written by hand in which many turns have the same short answer, so that rules can't assign it
/// to a turn.
const REPEATED: &str = "odd-";

/// The cassettes of every version, with the names of their scenarios.
fn cassettes() -> Vec<(String, Cassette)> {
    let workspace = Workspace::at(&root());
    let mut all = Vec::new();
    let names = workspace.recorded_names().unwrap().into_iter();
    for name in names.filter(|name| !name.as_str().starts_with(REPEATED)) {
        for version in workspace.recorded(&name).unwrap() {
            all.push((name.to_string(), Cassette::find(&workspace, &name, &version).unwrap()));
        }
    }
    all
}

/// Replays a cassette through clitape's own gateway, as observations. Silent runs, and runs whose message a tool sends,
/// are left out, because a cassette does not contain these settings for another gateway. The entries come with the times
/// of the turns, if each result of the cassette is the end of one.
fn own_gateway(
    name: &str,
    cassette: &Cassette,
    mode: ChatMode,
    seeds: u64,
) -> Vec<(Vec<Entry>, Vec<PlayedTurn>)> {
    let scenario = Workspace::at(&root()).load(name).unwrap();
    let is_own = scenario.run.silent || scenario.run.delivery != DeliverySpec::Automatic;
    if is_own || scenario.run.stuck_callback.is_some() {
        return Vec::new();
    }
    let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
    let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
    // Another gateway does not get the limit of a run either.
    let run = RunSpec { limit_s: RunSpec::default().limit_s, ..scenario.run };
    let setup = Setup { run, channel: Some(Chat::of(mode)), acp: None };
    let plans = [Plan::canonical(capture, 200), Plan::recorded(&cassette.timeline)];
    let random = (0..seeds).map(|seed| Plan::seeded(capture, seed));
    let results = facts_of(cassette).turns.len();
    let run = |plan: Plan| {
        let entries = replay(capture, &plan, setup).into_entries();
        let (chat, others): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.lane == Lane::Telegram);
        let mut turns: Vec<PlayedTurn> = Vec::new();
        for entry in others.iter().filter(|it| it.lane == Lane::Bus && it.kind == "lifecycle") {
            match (entry.text("phase"), turns.last_mut()) {
                ("start", _) => turns.push(PlayedTurn { began_ms: entry.at, ended_ms: None }),
                (_, Some(turn)) => turn.ended_ms = Some(entry.at),
                (_, None) => {}
            }
        }
        let are_known = turns.len() == results;
        (chat, if are_known { turns } else { Vec::new() })
    };
    plans.into_iter().chain(random).map(run).collect()
}

#[test]
fn no_rule_convicts_our_own_gateway() {
    let mut convicted = Vec::new();
    for (name, cassette) in cassettes() {
        let facts = facts_of(&cassette);
        for mode in [ChatMode::Partial, ChatMode::Progress] {
            for (number, (entries, turns)) in
                own_gateway(&name, &cassette, mode, 2).into_iter().enumerate()
            {
                // A random plan may answer a question before it is shown.
                let asks_questions = number < 2;
                let traits =
                    SubjectTraits { asks_questions, one_message: true, ..SubjectTraits::default() };
                let observation =
                    Observation { traits, turns, ..Observation::of_chat(facts.clone(), entries) };
                for Violation { kind, sentence, .. } in judge(&observation) {
                    let version = cassette.version();
                    convicted.push(format!("{name}/{version} {mode} {number}: {kind}: {sentence}"));
                }
            }
        }
    }
    assert!(convicted.is_empty(), "{} convictions:\n{}", convicted.len(), convicted.join("\n"));
}

#[test]
fn what_is_left_in_two_chats_is_compared_as_a_person_reads_it() {
    let left = |entry: Entry| finally_read(&[entry]).remove(0);
    let html = call(
        1,
        "sendMessage",
        serde_json::json!({ "message_id": 1, "text": "<b>wc</b> &lt; a.txt (3.1 s)", "parse_mode": "HTML" }),
    );
    assert_eq!(left(html.clone()), "wc < a.txt (3.1 s)");
    assert!(says_the_same(&left(html.clone()), &left(send(1, 1, "wc < a.txt (0.2 s)"))));
    assert!(!says_the_same(&left(html), &left(send(1, 1, "wc < b.txt"))));
    // The markup of every mode is applied, and an entity is the character that it represents.
    for (mode, text, expect) in [
        ("HTML", "<i>I&#x27;ll</i> see", "I'll see"),
        ("MarkdownV2", r"*I'll* see\.", "I'll see."),
        ("Markdown", "_see_", "see"),
        ("", "<i>I&#x27;ll</i>", "<i>I&#x27;ll</i>"),
    ] {
        let data = serde_json::json!({ "message_id": 1, "text": text, "parse_mode": mode });
        assert_eq!(left(call(1, "sendMessage", data)), expect, "{mode}");
    }
}

/// The faults of the chat after which clitape's own gateway does the best that is possible.
const FAULTS: [&str; 8] = [
    "1:lost-reply",
    "2:lost-reply",
    "1:rate-limit:30s",
    "2:rate-limit:3s",
    "1:server-error",
    "3:server-error",
    "2:slow:5000ms",
    "1:hang",
];

#[test]
fn no_rule_convicts_our_own_gateway_for_what_the_server_did() {
    let mut convicted = Vec::new();
    for name in ["plain-text", "three-tools", "long-answer", "many-tools"] {
        let cassette = Cassette::load(&root().join(format!("cassettes/{name}/2.1.329"))).unwrap();
        let scenario = Workspace::at(&root()).load(name).unwrap();
        let capture = Capture { stdout: &cassette.stdout, stdin: &[] };
        let channel = Some(Chat::of(ChatMode::Partial));
        let setup = Setup { run: scenario.run, channel, acp: None };
        for fault in FAULTS {
            let faults = vec![fault.parse().unwrap()];
            let plan = Plan { faults, ..Plan::canonical(capture, 200) };
            let entries = replay(capture, &plan, setup).into_entries();
            let is_chat = |entry: &Entry| entry.lane == Lane::Telegram;
            let entries: Vec<Entry> = entries.into_iter().filter(is_chat).collect();
            let traits = SubjectTraits { one_message: true, ..SubjectTraits::default() };
            let seen = Observation::of_chat(facts_of(&cassette), entries);
            let observation = Observation { traits, ..seen };
            for Violation { kind, sentence, .. } in judge(&observation) {
                convicted.push(format!("{name} {fault}: {kind}: {sentence}"));
            }
        }
    }
    assert!(convicted.is_empty(), "{} convictions:\n{}", convicted.len(), convicted.join("\n"));
}

/// Returns one turn that was played from the start to this moment.
fn played(ended_ms: u64) -> Vec<PlayedTurn> {
    vec![PlayedTurn { began_ms: 0, ended_ms: Some(ended_ms) }]
}

/// Makes a new message.
fn send(at: u64, id: i64, text: &str) -> Entry {
    call(at, "sendMessage", serde_json::json!({ "message_id": id, "text": text }))
}

/// Makes an edit of a message.
fn edit(at: u64, id: i64, text: &str) -> Entry {
    call(at, "editMessageText", serde_json::json!({ "message_id": id, "text": text }))
}

fn delete(at: u64, id: i64) -> Entry {
    call(at, "deleteMessage", serde_json::json!({ "message_id": id }))
}

fn typing(at: u64) -> Entry {
    call(at, "sendChatAction", serde_json::json!({ "action": "typing" }))
}

/// Makes an entry of the chat as the chat server writes it: with the HTML that a person reads.
fn call(at: u64, kind: &str, data: serde_json::Value) -> Entry {
    let serde_json::Value::Object(data) = data else { panic!("{data} is no object") };
    let entry = Entry::new(at, Lane::Telegram, kind.to_owned(), data);
    if entry.is_shown() { drawn(&entry) } else { entry }
}
