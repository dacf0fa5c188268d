//! A person sees all of a question before there is a button: in the message itself, on pages ahead
//! of it, or in a file.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::questions::{closed, question, seconds};
use super::*;
use crate::profile::{DISCORD, Profile, SLACK, TELEGRAM, length};
use crate::question::{Answer, Closing, Press, PressedButton};

/// A chat of `profile` on a server that answers as `script` says, in which a call of the tool `name` is asked about.
async fn asked(
    profile: &'static Profile,
    script: Vec<FakeReply>,
    name: &str,
    input: &Value,
) -> (Arc<FakeBotApi>, Telegram) {
    let fake = Arc::new(FakeBotApi::new(script));
    let settings = TelegramSettings { profile, ..TelegramSettings::default() };
    let mut telegram = Telegram::new(settings, fake.clone());
    let question = question("q1", name, input, &Value::Null, json!({}));
    telegram.question(&question).await.expect("it is taken");
    seconds(30).await;
    (fake, telegram)
}

/// The letters and signs of a text, without its blanks.
fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The letters and signs of a message, without the markup.
fn read(profile: &Profile, written: &str) -> String {
    let mut text = written.replace('\u{200b}', "");
    if *profile == TELEGRAM {
        for tag in ["pre", "b", "i", "code"] {
            text = text.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), "");
        }
    }
    if *profile == DISCORD {
        text = text.replace('\\', "");
    } else {
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
    solid(&text.replace("```", ""))
}

/// Asks about `input`, of which the person must see each of `shown` before there is a button, in as many messages as
/// `messages` says. None of them is longer than the chat takes, also when the question waits and when it is closed.
async fn check(
    profile: &'static Profile,
    name: &str,
    input: &Value,
    shown: &[&str],
    messages: RangeInclusive<usize>,
) {
    let (fake, mut telegram) = asked(profile, Vec::new(), name, input).await;
    let calls = fake.calls();
    let [after, denied_in] = [Duration::MAX; 2];
    let waits = QuestionWaits { id: "q1".to_owned(), after, denied_in };
    telegram.question_waits(&waits).await.expect("it is taken");
    seconds(1).await;
    let closing = Closing::Denied { message: "<No.> ".repeat(60) };
    telegram.question_closed(&closed("q1", closing, None, 30)).await.expect("it is taken");
    seconds(1).await;
    let what = format!("{}, {name}, {} bytes", profile.name, input.to_string().len());
    assert!(messages.contains(&calls.len()), "{what}: {} messages", calls.len());
    let has_buttons: Vec<bool> = fake.calls().iter().map(|call| !call.buttons.is_empty()).collect();
    let expect = [&vec![false; calls.len() - 1][..], &[true, true, false]].concat();
    assert_eq!(has_buttons, expect, "{what}");
    for call in fake.calls() {
        let units = length(&call.text);
        assert!(units <= profile.limit, "{what}: {units} units");
    }
    let mut seen = String::new();
    for call in &calls {
        let (_, text) = call.text.split_once('\n').unwrap_or_default();
        seen.push_str(&read(profile, text));
        seen.push_str(&solid(call.file.as_deref().unwrap_or_default()));
    }
    for text in shown {
        let start: String = text.chars().take(60).collect();
        assert!(seen.contains(&solid(text)), "{what}: the person does not see {start:?}");
    }
}

/// A script of so many characters, whose last line is what matters.
fn script(characters: usize) -> String {
    let end = "\nrm -rf / && echo <done>";
    let lines = (1..=characters / 16).map(|number| format!("printf '%s & %s' step {number}\n"));
    let mut script: String = lines.collect();
    script.truncate(characters.saturating_sub(end.len()));
    script + end
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_the_whole_command_is_shown_whatever_its_length() {
    let sizes = (100..2_200).step_by(40).chain((3_700..4_200).step_by(10));
    for size in sizes.chain([9_000, 20_000, 70_000]) {
        let command = script(size);
        let line = command.replace('\n', "; ");
        for profile in [&TELEGRAM, &DISCORD, &SLACK] {
            for command in [&command, &line] {
                check(profile, "Bash", &json!({ "command": command }), &[command], 1..=5).await;
            }
        }
    }
    // The lengths at which there is one message more.
    let lengths = [(2_900, 1), (3_300, 2), (6_500, 3), (10_000, 4), (13_500, 5), (20_000, 2)];
    for (size, messages) in lengths {
        let command = script(size);
        let input = json!({ "command": command });
        check(&TELEGRAM, "Bash", &input, &[&command], messages..=messages).await;
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_all_that_is_asked_is_shown_whatever_the_tool() {
    let long = |word: &str| format!("{}last-{word}", format!("{word} ").repeat(1_500));
    let [new, plan, asked, option] = ["new", "plan", "asked", "option"].map(long);
    let odd = "_*~`@<&>[]#|\\ ".repeat(700);
    let choice = json!({ "questions": [{ "question": asked, "header": "x".repeat(90),
        "options": [{ "label": "Yes", "description": option }] }] });
    let secret = format!("{} --token ghp_{} tail", "a ".repeat(5_000), "Ab1".repeat(12));
    for (name, input, shown) in [
        ("Write", json!({"file_path": "/a/b", "content": new}), vec!["file_path: /a/b", &new]),
        ("Edit", json!({"old_string": new, "new_string": plan}), vec![&new, &plan]),
        (
            "Bash",
            json!({"command": "ls", "timeout": 5, "sandbox": false}),
            vec!["timeout: 5", "sandbox: false"],
        ),
        ("mcp__a__b", json!({"command": "ls", "host": new}), vec!["host: new", &new]),
        ("mcp__a__b", json!({"description": new, "list": [{"deep": plan}]}), vec![&new, &plan]),
        ("mcp__a__b", json!([new]), vec![&new]),
        ("ExitPlanMode", json!({"plan": plan, "allowed": [new]}), vec![&plan, &new]),
        ("AskUserQuestion", choice.clone(), vec![&"x".repeat(90), &asked, "Yes", &option]),
        ("Bash", json!({"command": secret}), vec!["--token ghp_Ab…1Ab1 tail"]),
        ("Bash", json!({"command": odd}), vec![]),
    ] {
        for profile in [&TELEGRAM, &DISCORD, &SLACK] {
            check(profile, name, &input, &shown, 1..=5).await;
        }
    }
}

/// Asks about a command of `size` characters on a server that answers as `script` says, answers the question after 30 s,
/// and compares the first words of each call.
async fn check_calls(size: usize, replies: Vec<FakeReply>, expect: &[&str]) {
    let input = json!({ "command": script(size) });
    let (fake, mut telegram) = asked(&TELEGRAM, replies, "Bash", &input).await;
    let closing = Closing::Denied { message: "No.".to_owned() };
    let _ = telegram.question_closed(&closed("q1", closing, None, 30)).await;
    telegram.finish(&RunEnding { answer: "The end.".to_owned(), notice: None }).await;
    let log = fake.log();
    assert_eq!(log.len(), expect.len(), "{log:#?}");
    for (call, words) in log.iter().zip(expect) {
        let parts: Vec<&str> = words.split(" … ").collect();
        let is_it = parts.iter().all(|part| call.contains(part));
        assert!(is_it && call.starts_with(parts[0]), "{words}\n{call}");
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_the_buttons_come_after_all_pages_or_not_at_all() {
    let [one, two] = [1, 2].map(|n| format!("<b>📄 What is asked below, part {n} of 2</b>\n<pre>"));
    let asks = "<b>🔐 The agent asks for your permission</b>\n🛠️ Bash: ";
    let above = "All of it is in the 2 messages above.";
    let denied = "<b>⛔ Denied after 30 s</b>: No.\n🛠️ Bash: ";
    let end = "send final The end.";
    let [shown, hidden] =
        ["[✅ Allow|⛔ Deny]", "could not be sent: Telegram refused the call: no"];
    let sent = |at: &str, what: &str| format!("{at} send {what}");
    let question = |at: &str| format!("{at} send {asks} … {above} … {shown}");
    let decided = |id: i64| format!("30000 edit {id} {denied}");
    let last = format!("30000 {end}");
    let lost = || Fails(BotApiError::Lost("no answer".into()));
    let refused = || Fails(BotApiError::Other("no".into()));
    let network = Fails(BotApiError::Network("down".into()));
    for (replies, expect) in [
        (
            vec![After(80); 3],
            vec![sent("0", &one), sent("80", &two), question("160"), decided(102), last.clone()],
        ),
        (
            vec![network, After(0), Fails(BotApiError::RetryAfter { seconds: 3 })],
            vec![
                sent("0", &one),
                sent("250", &one),
                sent("250", &two),
                sent("3250", &two),
                question("3250"),
                decided(102),
                last.clone(),
            ],
        ),
        (
            vec![lost(), After(0), lost()],
            vec![
                sent("0", &one),
                sent("250", &one),
                sent("250", &two),
                sent("500", &two),
                question("500"),
                decided(102),
                last.clone(),
            ],
        ),
        // A subject that can't be shown has no button.
        (
            vec![After(0), refused()],
            vec![
                sent("0", &one),
                sent("0", &two),
                format!("0 send {asks} … {hidden}"),
                decided(101),
                last.clone(),
            ],
        ),
        (
            vec![After(0), lost(), lost()],
            vec![
                sent("0", &one),
                sent("0", &two),
                sent("250", &two),
                format!("750 send {asks} … could not be sent: Telegram's answer was lost"),
                decided(101),
                last.clone(),
            ],
        ),
    ] {
        let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
        check_calls(6_000, replies, &expect).await;
    }
    let file = "0 file <b>📄 What is asked below</b>";
    let excerpts = format!(
        "0 send {asks} … in the file above: 30000 characters. It begins:</i>\n<pre>printf … and ends:</i>\n<pre> … rm -rf / &amp;&amp; echo &lt;done&gt;</pre> … {shown}"
    );
    check_calls(30_000, vec![], &[file, &excerpts, &decided(101), &last]).await;
    let hidden = format!("0 send {asks} … {hidden}");
    check_calls(30_000, vec![refused()], &[file, &hidden, &decided(100), &last]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_nobody_says_yes_to_what_was_not_shown() {
    let input = json!({ "command": script(6_000) });
    let allow = Press::new("q1", PressedButton::Allow);
    let refused = vec![After(0), Fails(BotApiError::Other("no".into()))];
    for (replies, expect) in [
        (Vec::new(), Pressing::Answer { question: "q1".to_owned(), answer: Answer::allow() }),
        (vec![After(0), Never, Never], Pressing::Unknown),
        (refused, Pressing::Unknown),
    ] {
        let (_fake, telegram) = asked(&TELEGRAM, replies, "Bash", &input).await;
        assert_eq!(telegram.keyboard().press(&allow), expect);
        // A reply to a page is a no.
        let no = Pressing::Answer { question: "q1".to_owned(), answer: Answer::deny("Not so.") };
        assert_eq!(telegram.keyboard().reply(100, "Not so."), no);
    }
}
