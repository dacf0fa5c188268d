//! Tests that each rule finds a planted run and accepts a correct one, and that no rule finds a fault in clitape's own
//! ACP bridge.

use clitape_judge::observation::{Observation, ObservedEnding, SubjectTraits};
use clitape_judge::{FindingKind as K, Violation, judge};
use clitape_recording::cassette::Cassette;
use clitape_recording::facts::Facts;
use clitape_recording::scenario::{AcpClient, DeliverySpec, Setup, Workspace};
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::replay::{Capture, Plan, replay, stdin_lines};
use serde_json::{Value, json};

use super::{facts_of, root};

fn entry(kind: &str, data: Value) -> Entry {
    let Value::Object(data) = data else { panic!("{data} is no object") };
    Entry::new(0, Lane::Acp, kind.to_owned(), data)
}

fn judged(cassette: &Cassette, entries: Vec<Entry>, ending: ObservedEnding) -> Vec<Violation> {
    let seen = Observation::of_editor(facts_of(cassette), entries);
    // As for each agent of clitape.toml.
    let traits = SubjectTraits { asks_questions: true, ..SubjectTraits::default() };
    judge(&Observation { ending, traits, ..seen })
}

/// Returns the entries of a correct agent for a cassette: those of clitape's own bridge, with the acts of the person.
fn right(name: &str, cassette: &Cassette) -> Option<Vec<Entry>> {
    let scenario = Workspace::at(&root()).load(name.split_once('/')?.0).unwrap();
    if scenario.run.silent || scenario.run.delivery != DeliverySpec::Automatic {
        return None;
    }
    let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
    let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
    let acp = Some(AcpClient { terminal: false });
    let setup = Setup { run: scenario.run, channel: None, acp };
    let entries = replay(capture, &Plan::canonical(capture, 200), setup).into_entries();
    let own = entries.into_iter().filter(|entry| entry.lane == Lane::Acp);
    Some([entry("(user)", json!({ "prompt": 1 }))].into_iter().chain(own).collect())
}

/// Makes a change to the correct run of a cassette, and expects the violations.
#[track_caller]
fn check(name: &str, change: impl FnOnce(&mut Vec<Entry>), expect: &[K]) -> Vec<Violation> {
    let cassette = Cassette::load(&root().join("cassettes").join(name)).unwrap();
    let mut entries = right(name, &cassette).unwrap();
    change(&mut entries);
    let found = judged(&cassette, entries, ObservedEnding::Over);
    let kinds: Vec<K> = found.iter().map(|violation| violation.kind).collect();
    assert_eq!(kinds, expect, "{found:#?}");
    found
}

const TOOLS: &str = "three-tools/2.1.329";

fn is_chunk(entry: &Entry) -> bool {
    entry.kind == "agent_message_chunk"
}

fn chunk(text: &str) -> Entry {
    entry("agent_message_chunk", json!({ "content": { "type": "text", "text": text } }))
}

const ANSWER: &str =
    "They do not agree: the server listens on port 8080, the client asks for port 8081.";

/// Returns the index of the response to the prompt.
fn response(entries: &[Entry]) -> usize {
    entries.iter().rposition(|entry| entry.kind == "response").unwrap()
}

#[test]
fn no_rule_convicts_our_own_bridge() {
    let workspace = Workspace::at(&root());
    let mut convicted = Vec::new();
    for name in workspace.recorded_names().unwrap() {
        for version in workspace.recorded(&name).unwrap() {
            let cassette = Cassette::find(&workspace, &name, &version).unwrap();
            let name = format!("{name}/{version}");
            // The replay lacks the acts of a person, so only runs of one turn without questions are complete.
            let turns = Facts::of(&cassette).turn_facts();
            let is_plain = turns.len() == 1 && turns[0].questions.is_empty();
            let Some(entries) = right(&name, &cassette).filter(|_| is_plain) else { continue };
            for found in judged(&cassette, entries, ObservedEnding::Over) {
                convicted.push(format!("{name}: {}: {}", found.kind, found.sentence));
            }
        }
    }
    assert!(convicted.is_empty(), "{} convictions:\n{}", convicted.len(), convicted.join("\n"));
}

#[test]
fn the_words_of_the_model_come_once_and_whole() {
    check(TOOLS, |_| {}, &[]);
    check(
        TOOLS,
        |entries| entries.retain(|entry| !is_chunk(entry)),
        &[K::AnswerMissing, K::TextUntold],
    );
    let cut = |entries: &mut Vec<Entry>| {
        let last = entries.iter().rposition(is_chunk).unwrap();
        entries.remove(last);
    };
    check(TOOLS, cut, &[K::AnswerNotWhole]);
    let again = |entries: &mut Vec<Entry>| {
        let at = response(entries);
        entries.insert(at, chunk(ANSWER));
    };
    check(TOOLS, again, &[K::AnswerTwice]);
    let only_answer = |entries: &mut Vec<Entry>| {
        entries.retain(|entry| !is_chunk(entry));
        let at = response(entries);
        entries.insert(at, chunk(ANSWER));
    };
    check(TOOLS, only_answer, &[K::TextUntold]);
}

#[test]
fn each_call_is_told_once_with_its_input_and_ends() {
    let call = |entry: &Entry| entry.text("toolCallId") == "toolu_clitape_main_1_2";
    check(TOOLS, |entries| entries.retain(|entry| !call(entry)), &[K::CallUntold]);
    let open = |entries: &mut Vec<Entry>| {
        entries.retain(|entry| !call(entry) || entry.text("status") != "completed");
    };
    check(TOOLS, open, &[K::CallLeftOpen]);
    let failed = |entries: &mut Vec<Entry>| {
        let last = entries.iter().rposition(call).unwrap();
        entries[last].data_mut().insert("status".into(), "failed".into());
    };
    check(TOOLS, failed, &[K::OutcomeWrong]);
    let twice = |entries: &mut Vec<Entry>| {
        let first = entries.iter().position(call).unwrap();
        entries.insert(first, entries[first].clone());
    };
    check(TOOLS, twice, &[K::CallNotOnce]);
    let empty = |entries: &mut Vec<Entry>| {
        for entry in entries.iter_mut().filter(|entry| call(entry)) {
            entry.data_mut().retain(|key, _| ["toolCallId", "status"].contains(&key.as_str()));
            entry.data_mut().insert("rawInput".into(), json!({}));
        }
    };
    let found = check(TOOLS, empty, &[K::InputUntold]);
    assert!(found[0].sentence.contains("the last `rawInput` is “{}”"), "{found:?}");
}

#[test]
fn an_input_may_come_masked() {
    const FORMS: &str = "tool-forms/2.1.332";
    let check_raw = |number: &str, raw: Value, expect: &[K]| {
        let id = format!("toolu_clitape_main_19_{number}");
        let change = |entries: &mut Vec<Entry>| {
            for entry in entries.iter_mut().filter(|entry| entry.text("toolCallId") == id) {
                entry.data_mut().retain(|key, _| ["toolCallId", "status"].contains(&key.as_str()));
                entry.data_mut().insert("rawInput".into(), raw.clone());
            }
        };
        check(FORMS, change, expect);
    };
    let untold = &[K::InputUntold];
    let secret = "made-up-Xw8vT3q";
    let words = |token: &str, login: &str, user: &str| {
        json!({
            "args": ["--token", token, "-u", "a:b"],
            "command": ["curl", "-u", login, "https://x.example"],
            "user": ["-u", user],
        })
    };
    let own = [words("[redacted]", "…", "me:plain"), words("***", "me:***", "me:plain")];
    for raw in own.into_iter().chain([words("", &format!("me:{secret}"), "me:plain")]) {
        check_raw("9", raw, &[]);
    }
    check_raw("9", words("***", "me:***", "me:other"), untold);
    check_raw("9", json!({}), untold);
    check_raw("9", json!({ "args": [], "command": [], "user": [] }), untold);
    check_raw("9", Value::Null, untold);
    let keys = |key: &str, inner: Value| json!({ "api_key": key, "clientSecret": "***", "password": "x", "secret": inner, "token": "" });
    check_raw("10", keys("$API_KEY", json!({ "a": "x", "b": [true, "${B}"] })), &[]);
    check_raw("10", keys("$API_KEY", json!({ "a": "x", "b": [false, "${B}"] })), untold);
    check_raw("10", keys("$API_KEY", json!({ "a": "x" })), untold);
    check_raw("10", keys("$API_KEY", json!("***")), untold);
    check_raw("10", keys("", json!({ "a": "x", "b": [true, "${B}"] })), untold);
    let media = |shot: Value, plain: Value| {
        json!({
            "both": { "base64": "no!", "data": "QUJD" },
            "empty": { "blob": "", "media_type": "x" },
            "file": { "base64": "…" },
            "image": { "type": "base64" },
            "other": { "data": "no base64!", "mimeType": "image/png" },
            "plain": plain,
            "shot": shot,
        })
    };
    let plain = json!({ "data": "QUJDRA==" });
    check_raw("11", media(json!({ "mimeType": "image/png", "size": 4 }), plain.clone()), &[]);
    check_raw("11", media(json!({ "mimeType": "image/gif" }), plain.clone()), untold);
    check_raw("11", media(json!({}), plain), untold);
    let more = json!({ "data": "QUJDRA==", "size": 4 });
    check_raw("11", media(json!({ "mimeType": "image/png" }), more), untold);
}

#[test]
fn the_person_answers_before_a_call_runs() {
    const ALLOW: &str = "permission-allow/2.1.332";
    const CALL: &str = "toolu_clitape_main_1_2";
    let asks = || entry("request_permission", json!({ "toolCall": { "toolCallId": CALL } }));
    let answer = || entry("(answer)", json!({ "toolCallId": CALL }));
    // The question, some entries, and the answer, before the call runs.
    let with = |between: Vec<Entry>| {
        move |entries: &mut Vec<Entry>| {
            entries.retain(|entry| entry.kind != "request_permission" && entry.kind != "(answer)");
            let runs = |entry: &Entry| ["in_progress", "completed"].contains(&entry.text("status"));
            let begin = entries.iter().position(runs).unwrap();
            let own = [asks()].into_iter().chain(between).chain([answer()]);
            entries.splice(begin..begin, own);
        }
    };
    check(ALLOW, with(Vec::new()), &[]);
    let update =
        |status: &str| entry("tool_call_update", json!({ "toolCallId": CALL, "status": status }));
    check(ALLOW, with(vec![update("pending")]), &[]);
    check(ALLOW, with(vec![update("in_progress")]), &[K::RanBeforeAnswer]);
    let unasked =
        |entries: &mut Vec<Entry>| entries.retain(|entry| entry.kind != "request_permission");
    check(ALLOW, unasked, &[K::QuestionUntold]);
}

#[test]
fn an_editor_has_all_that_the_person_is_asked_about() {
    const LONG: &str = "permission-long/2.1.332";
    let call = |entry: &Entry| entry.text("toolCallId") == "toolu_clitape_main_1_2";
    let asks = |entry: &Entry| entry.kind == "request_permission";
    // Changes the texts of the request and of all updates of the call before it.
    let with = |from: &'static str, to: &'static str| {
        move |entries: &mut Vec<Entry>| {
            for entry in entries.iter_mut().filter(|entry| call(entry) || asks(entry)) {
                let data = Value::Object(entry.data_mut().clone()).to_string();
                *entry.data_mut() = serde_json::from_str(&data.replace(from, to)).unwrap();
            }
        }
    };
    let answered = |entries: &mut Vec<Entry>| {
        let at = entries.iter().position(asks).unwrap() + 1;
        let data = json!({ "toolCallId": "toolu_clitape_main_1_2" });
        entries.insert(at, entry("(answer)", data));
    };
    check(LONG, answered, &[]);
    for (from, missing) in [("rm -rf ", "rm -rf"), ("00099 A", "00099 A"), ("cat > ", "cat")] {
        let cut = |entries: &mut Vec<Entry>| {
            answered(entries);
            with(from, "")(entries);
        };
        let found = check(LONG, cut, &[K::RequestCut]);
        assert!(found[0].sentence.contains(missing), "{found:?}");
    }
    // The updates of the call may have it, unless that is cut.
    let bare = |entries: &mut Vec<Entry>| {
        answered(entries);
        let request = entries.iter_mut().find(|entry| asks(entry)).unwrap();
        let call = json!({ "toolCallId": "toolu_clitape_main_1_2" });
        request.data_mut().insert("toolCall".to_owned(), call);
    };
    check("permission-allow/2.1.332", bare, &[]);
    check(LONG, bare, &[K::RequestCut]);
}

#[test]
fn a_prompt_is_answered_with_what_happened() {
    let stop = |reason: &'static str| {
        move |entries: &mut Vec<Entry>| {
            let at = response(entries);
            entries[at].data_mut().insert("stopReason".into(), reason.into());
        }
    };
    check(TOOLS, stop("cancelled"), &[K::StopReasonWrong]);
    let error = |entries: &mut Vec<Entry>| {
        let at = response(entries);
        entries[at] = entry("response", json!({ "error": "no" }));
    };
    check(TOOLS, error, &[K::StopReasonWrong]);
    let cancel = |reason: &'static str| {
        move |entries: &mut Vec<Entry>| {
            let at = response(entries);
            entries[at] = entry("response", json!({ "stopReason": reason }));
            entries.insert(at, entry("(cancel)", json!({})));
        }
    };
    const INTERRUPTED: &str = "live-interrupt-text/2.1.332";
    check(INTERRUPTED, cancel("cancelled"), &[]);
    check(INTERRUPTED, cancel("end_turn"), &[K::StopReasonWrong]);
    let silent = |entries: &mut Vec<Entry>| {
        entries.retain(|entry| !is_chunk(entry));
        let at = response(entries);
        entries[at] = entry("response", json!({ "stopReason": "end_turn" }));
    };
    check("api-400/2.1.329", silent, &[K::FailureUntold]);
    let refusal = |entries: &mut Vec<Entry>| {
        let at = response(entries);
        entries[at] = entry("response", json!({ "stopReason": "refusal" }));
    };
    check("api-400/2.1.329", refusal, &[]);
}

#[test]
fn nothing_comes_after_the_end_and_all_is_valid() {
    check(TOOLS, |entries| entries.push(chunk("More.")), &[K::ToldAfterEnd]);
    check(TOOLS, |entries| entries.push(entry("usage_update", json!({}))), &[]);
    let refused = |entries: &mut Vec<Entry>| {
        entries[1].data_mut().insert("refused".into(), "missing field `sessionId`".into());
    };
    let found = check(TOOLS, refused, &[K::MessageInvalid]);
    assert_eq!(found[0].entry, Some(1));
    // Text that is lost with a message is not reported again.
    let lost = |entries: &mut Vec<Entry>| {
        let last = entries.iter().rposition(is_chunk).unwrap();
        entries[last] = entry("agent_message_chunk", json!({ "refused": "half a character" }));
    };
    check(TOOLS, lost, &[K::MessageInvalid]);
}

#[test]
fn the_agent_lives_and_goes_on() {
    let load = |name| Cassette::load(&root().join("cassettes").join(name)).unwrap();
    let cassette = load(TOOLS);
    let died =
        ObservedEnding::Died { how: "ended with code 1".to_owned(), last_words: String::new() };
    for (ending, kind) in [
        (died, K::SubjectDied),
        (
            ObservedEnding::Hung {
                waited_s: 9,
                waited_for: "it waits".to_owned(),
                last_words: String::new(),
            },
            K::SubjectHung,
        ),
        (ObservedEnding::Refused("expected nothing more".to_owned()), K::SubjectRefused),
        (ObservedEnding::Flooded("100 messages".to_owned()), K::SubjectFlooded),
    ] {
        let found = judged(&cassette, Vec::new(), ending);
        let kinds: Vec<K> = found.iter().map(|violation| violation.kind).collect();
        assert_eq!(kinds, [kind], "{found:?}");
    }
    // `claude` asks, and the agent asks nobody.
    let waited = "expected the answer to question q1 (Bash), got no line in 30 s".to_owned();
    let asking = load("permission-allow/2.1.332");
    let found = judged(&asking, Vec::new(), ObservedEnding::Refused(waited));
    assert!(matches!(&found[..], [one] if one.kind == K::SubjectRefused), "{found:?}");
}

#[test]
fn the_last_plan_is_the_newest_list() {
    let todos = "todo-write/2.1.332";
    check(todos, |_| {}, &[]);
    let is_plan = |entry: &Entry| entry.kind == "plan";
    let keep_first = |entries: &mut Vec<Entry>| {
        let first = entries.iter().position(is_plan).unwrap();
        let mut index = 0..;
        entries.retain(|entry| index.next().is_some_and(|at| at <= first) || !is_plan(entry));
    };
    check(todos, keep_first, &[K::PlanNotNewest]);
}
