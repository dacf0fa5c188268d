//! Tests the rule of shown inputs with replays of clitape's own gateway, and with entries that a worse gateway would
//! give.

use clitape_recording::scenario::{AcpClient, ChatProfile};
use serde_json::json;

use super::*;

/// Replays a session in which the CLI asks whether the tool `name` may run with `input`.
fn asked(profile: ChatProfile, name: &str, input: &Value, of_request: &Value) -> Replay {
    let call = json!({"type": "tool_use", "id": "t", "name": name, "input": input});
    let lines = [
        json!({"type": "assistant", "message": {"id": "m", "content": [call]}}),
        json!({"type": "control_request", "request_id": "q", "request": {"subtype": "can_use_tool",
            "tool_name": name, "tool_use_id": "t", "input": of_request}}),
        json!({"type": "control_cancel_request", "request_id": "q"}),
        json!({"type": "result", "subtype": "success", "result": "Done."}),
    ];
    let stdout: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let chat = Chat { profile, ..Chat::of(ChatMode::Partial) };
    let acp = Some(AcpClient { terminal: true });
    let setup = Setup { run: RunSpec::default(), channel: Some(chat), acp };
    // Each line has the time that all messages of a question need.
    replay(stdout.as_bytes(), &Plan::canonical(stdout.as_bytes(), 3_000), setup)
}

/// Returns the findings of the rule after `change` was made to the entries.
fn found(replay: &mut Replay, change: impl FnOnce(&mut Vec<Entry>)) -> Vec<String> {
    let mut entries: Vec<Entry> = replay.entries.iter().cloned().collect();
    change(&mut entries);
    replay.entries = entries.into();
    let own = judge(replay).into_iter().filter(|one| one.kind == FindingKind::InputUnshown);
    own.map(|one| one.sentence).collect()
}

/// Returns whether an entry of the chat asks a question.
fn asks(entry: &Entry) -> bool {
    entry.lane == Lane::Telegram && entry.field("question").is_some()
}

/// Replaces a text in the strings of an entry.
fn replace(entry: &mut Entry, from: &str, to: &str) {
    let data = Value::Object(entry.data_mut().clone()).to_string();
    assert!(data.contains(from), "{from} is not in {data}");
    *entry.data_mut() = serde_json::from_str(&data.replace(from, to)).unwrap();
}

/// The sizes at which a command is in one message, on pages and in a file.
const SIZES: [usize; 3] = [10, 200, 5_000];

#[test]
fn qu007_all_of_a_command_is_shown_before_its_buttons() {
    for profile in [ChatProfile::Telegram, ChatProfile::Discord, ChatProfile::Slack] {
        for size in SIZES {
            let steps: String = (0..size).map(|n| format!("echo step{n} <&>\n")).collect();
            let script = steps.replace("echo step7 ", "cat june-notes ") + "rm -rf last";
            let input = json!({ "command": script, "timeout": 5 });
            let replayed = || asked(profile, "Bash", &input, &input);
            assert_eq!(found(&mut replayed(), |_| {}), [""; 0], "{profile} {size}");
            let check = |what: &str, change: &dyn Fn(&mut Vec<Entry>)| {
                let found = found(&mut replayed(), change);
                let [sentence] = &found[..] else { panic!("{profile} {size} {what}: {found:?}") };
                let words = format!("the person is asked about Bash, and is not shown “{what}");
                assert!(sentence.contains(&words), "{profile} {size}: {sentence}");
            };
            let without = |text: &'static str| {
                move |entries: &mut Vec<Entry>| {
                    let shows = |entry: &&mut Entry| {
                        asks(entry)
                            && entry.data.values().any(|value| value.to_string().contains(text))
                    };
                    entries.iter_mut().filter(shows).for_each(|entry| replace(entry, text, ""));
                }
            };
            check("rm -rf last", &without("rm -rf last"));
            check("cat june-notes", &without("cat june-notes"));
            check("echo step0", &|entries| {
                let last = entries
                    .iter()
                    .rposition(|entry| asks(entry) && entry.field("buttons").is_some());
                let first = entries.iter().position(asks).unwrap();
                // The buttons come first, without the words.
                let mut early = entries[last.unwrap()].clone();
                early.data_mut().insert("text".to_owned(), "May Bash run?".into());
                entries.insert(first, early);
            });
        }
    }
}

#[test]
fn qu007_nothing_hides_text_or_changes_its_order() {
    let filler = "echo a line of a script that needs pages or a file\n";
    for profile in [ChatProfile::Telegram, ChatProfile::Discord, ChatProfile::Slack] {
        for size in SIZES {
            let script = format!("{}ls \u{202e};rm x \u{e0041}", filler.repeat(size));
            let input = json!({ "command": script });
            let replayed = || asked(profile, "Bash", &input, &input);
            assert_eq!(found(&mut replayed(), |_| {}), [""; 0], "{profile} {size}");
            let raw = |entries: &mut Vec<Entry>| {
                let shows = |entry: &&mut Entry| {
                    asks(entry) && entry.data.values().any(|it| it.to_string().contains("⟨U+202E⟩"))
                };
                let all = entries.iter_mut().filter(shows);
                all.for_each(|entry| replace(entry, "⟨U+202E⟩", "\u{202e}"));
            };
            let found = found(&mut replayed(), raw);
            let [sentence] = &found[..] else { panic!("{profile} {size}: {found:?}") };
            assert!(sentence.contains("and U+202E in it, which hides text"), "{sentence}");
        }
    }
}

#[test]
fn qu007_a_request_to_a_client_has_the_whole_input() {
    let long = json!({ "command": format!("{}rm -rf last", "echo step\n".repeat(2_000)) });
    let short = json!({ "command": "ls" });
    for (name, of_call, of_request) in
        [("Bash", &long, &long), ("Bash", &short, &long), ("ExitPlanMode", &long, &json!({}))]
    {
        let replayed = || asked(ChatProfile::Telegram, name, of_call, of_request);
        assert_eq!(found(&mut replayed(), |_| {}), [""; 0], "{name}");
        for (lane, kind) in
            [(Lane::Acp, "request_permission"), (Lane::Sse, "question"), (Lane::Bus, "question")]
        {
            let is_it = |entry: &&mut Entry| entry.lane == lane && entry.kind == kind;
            let cut = |entries: &mut Vec<Entry>| {
                replace(entries.iter_mut().find(is_it).unwrap(), "rm -rf last", "");
            };
            let what = format!("the input of {name} that is asked about is not whole here");
            let found = found(&mut replayed(), cut);
            assert!(found.len() == 1 && found[0].contains(&what), "{name} {lane:?}: {found:?}");
        }
    }
}

#[test]
fn qu007_plans_and_choices_are_shown_whole() {
    let option = |label: &str, words: &str| json!({ "label": label, "description": words });
    let choice = |question: &str, labels: [&str; 2]| {
        json!({ "question": question, "header": "h",
            "options": labels.map(|label| option(label, "as it was meant")) })
    };
    let choices = json!({ "questions": [choice("Which colour?", ["Red", "Blue"]),
        choice("Which side?", ["Left", "Right"])] });
    let plan = json!({ "plan": "# Plan\n\n1. **Look** at it\n2. Remove [it](https://x.example)" });
    for (name, input, text, missing) in [
        ("AskUserQuestion", &choices, "Which side?", "Which side?"),
        ("AskUserQuestion", &choices, "meant", "it was meant"),
        ("ExitPlanMode", &plan, "Remove", "Remove it"),
    ] {
        let replayed = || asked(ChatProfile::Telegram, name, input, input);
        assert_eq!(found(&mut replayed(), |_| {}), [""; 0], "{name}");
        let shows = |entry: &&mut Entry| asks(entry) && entry.text("text").contains(text);
        let without = |entries: &mut Vec<Entry>| {
            entries.iter_mut().filter(shows).for_each(|entry| replace(entry, text, ""));
        };
        let found = found(&mut replayed(), without);
        assert!(found.len() == 1 && found[0].contains(missing), "{name} {text}: {found:?}");
    }
}
