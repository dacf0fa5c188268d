//! Tests that a person sees the whole subject of a question before they press, in any form.

use clitape_recording::text::asked::AskedText;
use serde_json::{Value, json};

use super::*;

const LONG: &str = "permission-long/2.1.332";
const SAYS: &str = "I'll write the table and tidy up.";
const ENDS: &str = "The table is there, and the old logs are gone.";

/// The command of `permission-long`.
fn command() -> String {
    let cassette = Cassette::load(&root().join("cassettes").join(LONG)).unwrap();
    match &Facts::of(&cassette).turn_facts()[0].questions[0].texts[..] {
        [AskedText::Plain(command)] => command.clone(),
        texts => panic!("{texts:?}"),
    }
}

/// Makes a new message with the buttons of a question.
fn asks(at: u64, id: i64, text: &str) -> Entry {
    let buttons = json!([["Allow", "Deny"]]);
    call(at, "sendMessage", json!({ "message_id": id, "text": text, "buttons": buttons }))
}

/// Makes a run in which the person is asked with these calls, the last of which has the buttons, and allows the call.
fn run(asking: &[Entry]) -> Vec<Entry> {
    let id = asking.last().unwrap().data["message_id"].clone();
    let press = call(8_000, "(press)", json!({ "message_id": id, "label": "Allow" }));
    let begins = [
        call(0, "(user)", json!({ "text": "Write the table, then tidy up." })),
        send(100, 1, &format!("{SAYS}\n\n🛠️ Bash: cat")),
    ];
    let ends = [
        press,
        edit(8_100, id.as_i64().unwrap(), "Allowed"),
        edit(9_000, 1, &format!("{SAYS}\n\n{ENDS}")),
    ];
    [&begins[..], asking, &ends].concat()
}

fn check_asked(asking: &[Entry], expect: &[K]) -> Vec<Violation> {
    check_of(LONG, &run(asking), expect)
}

#[test]
fn sb034_a_command_is_shown_whole_in_any_form() {
    let command = command();
    let json = json!({ "command": command, "description": "Write the table" });
    let escaped = command.replace('&', "&amp;").replace('<', "&lt;");
    let html =
        json!({ "message_id": 2, "text": format!("<pre>{escaped}</pre>"), "parse_mode": "HTML" });
    let wrapped = command.replace(' ', "\n  ");
    let pages: Vec<Entry> = (0..)
        .zip(command.as_bytes().chunks(3_000))
        .map(|(page, bytes)| {
            let text = format!("({}/3) {}", page + 1, String::from_utf8_lossy(bytes));
            send(1_000 + page as u64, 2 + page, &text)
        })
        .collect();
    let file =
        call(1_000, "sendDocument", json!({ "message_id": 2, "text": "", "file": "command.sh" }));
    for shown in [
        vec![send(1_000, 2, &command)],
        vec![send(1_000, 2, &json.to_string())],
        vec![send(1_000, 2, &format!("{json:#}"))],
        vec![call(1_000, "sendMessage", html)],
        vec![send(1_000, 2, &wrapped)],
        vec![file],
        pages,
        // A draft that showed it is enough.
        vec![edit(1_000, 1, &format!("{SAYS}\n\n{command}")), edit(3_000, 1, SAYS)],
    ] {
        check_asked(&[shown, vec![asks(4_000, 9, "May Bash run?")]].concat(), &[]);
    }
    check_asked(&[asks(4_000, 9, &format!("🔐 May Bash run?\n\n{command}"))], &[]);
}

#[test]
fn sb034_no_part_of_a_command_is_left_out() {
    let command = command();
    let convicted = [K::QuestionUnshown];
    let start: String = command.chars().take(3_500).collect();
    let end = &command[command.len() - 500..];
    for (shown, missing) in [
        ("Write the table".to_owned(), "table.txt"),
        (format!("{start}…"), "A \"line\""),
        (format!("{start}\n…\n{end}"), "A \"line\""),
        (command.lines().next().unwrap().to_owned(), "00001"),
        (command.replace("rm -rf", ""), "rm -rf"),
        (command.replace("wc -l", "wc"), "wc -l"),
    ] {
        let found = check_asked(&[asks(4_000, 9, &format!("May Bash run? {shown}"))], &convicted);
        assert!(found[0].sentence.contains(missing), "{missing}: {found:?}");
        assert!(found[0].sentence.contains("the person pressed “Allow” at 8.0 s"), "{found:?}");
    }
    // A text after the press comes too late.
    let mut entries = run(&[asks(4_000, 9, "May Bash run?")]);
    entries.push(send(8_050, 10, &command));
    entries.sort_by_key(|entry| entry.at);
    check_of(LONG, &entries, &convicted);
    // A gateway without a press is not judged by this rule.
    let without: Vec<Entry> =
        run(&[asks(4_000, 9, "?")]).into_iter().filter(|entry| entry.kind != "(press)").collect();
    check_of(LONG, &without, &[]);
}

#[test]
fn sb034_our_own_gateway_shows_all_that_is_pressed() {
    let mut pressed = 0;
    for name in
        ["permission-long", "permission-allow", "plan-approved", "ask-user", "secrets-asked"]
    {
        let cassette = Cassette::load(&root().join(format!("cassettes/{name}/2.1.332"))).unwrap();
        for (mut entries, _) in own_gateway(name, &cassette, ChatMode::Partial, 0) {
            let asks = |entry: &Entry| entry.data.contains_key("buttons");
            let Some(asked) = entries.iter().rposition(asks) else { panic!("{name}: no question") };
            let id = entries[asked].data["message_id"].clone();
            let press = call(1, "(press)", json!({ "message_id": id, "label": "Allow" }));
            entries.insert(asked + 1, press);
            let unshown = |entry: &mut Entry| {
                entry.data_mut().insert("text".to_owned(), Value::from("May it run?"));
            };
            let judged = |entries: Vec<Entry>| {
                let found = judge(&Observation::of_chat(facts_of(&cassette), entries));
                found.into_iter().filter(|found| found.kind == K::QuestionUnshown).count()
            };
            assert_eq!(judged(entries.clone()), 0, "{name}");
            let is_shown = |entry: &&mut Entry| entry.data.contains_key("text");
            entries.iter_mut().filter(is_shown).for_each(unshown);
            assert_eq!(judged(entries), 1, "{name}");
            pressed += 1;
        }
    }
    assert_eq!(pressed, 10);
}

#[test]
fn sb053_the_chat_says_what_was_pressed() {
    let check = |told: &str, expect: &[K]| {
        let command = command();
        let asking = [asks(1_000, 2, &command)];
        let mut lines = run(&asking);
        let outcome = lines.iter().position(|entry| entry.text("text") == "Allowed").unwrap();
        lines[outcome] = edit(8_100, 2, told);
        check_of(LONG, &lines, expect)
    };
    let said = check("❌ Denied", &[K::AnswerToldWrong]);
    assert!(said[0].sentence.contains("pressed “Allow” at 8.0 s"), "{said:?}");
    for told in ["✅ Approved by you", "Done", "Denied? No, allowed."] {
        check(told, &[]);
    }
}
