//! Questions in a chat: their messages, their buttons, and faults of a server.

use std::borrow::Cow;

use clitape_stream::Event;
use serde_json::{Map, Value, json};

use super::*;
use crate::question::{Answer, Chosen, Closing, Press, PressedButton};
use crate::sanitise::Masked;

/// A question as the publisher makes it.
pub(super) fn question(
    id: &str,
    name: &str,
    input: &Value,
    suggestions: &Value,
    detail: Value,
) -> Question {
    let Value::Object(detail) = detail else { panic!("{detail}") };
    let event = Event::Question {
        id: id.to_owned().into(),
        name: name.to_owned().into(),
        call: Some("touch made".into()),
        input: input.into(),
        suggestions: suggestions.into(),
        detail: Cow::Owned(detail),
        parent: None,
    };
    Question::of(&event, None, &mut Masked::default()).expect("it is a question")
}

pub(super) fn touch(id: &str) -> Question {
    let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    let input = json!({"command": "make <all>"});
    question(id, "Bash", &input, &json!([mode]), json!({"blocked_path": "/a"}))
}

fn colours(id: &str) -> Question {
    let option = |label: &str| json!({"label": label, "description": "d"});
    let choice = |question: &str, multi: bool| {
        json!({"question": question, "header": "Colour", "options": [option("Red"), option("Blue")],
            "multiSelect": multi})
    };
    let input = json!({"questions": [choice("Which?", false), choice("Which two?", true)]});
    question(id, "AskUserQuestion", &input, &Value::Null, json!({}))
}

pub(super) fn closed(id: &str, closing: Closing, by: Option<&str>, seconds: u64) -> QuestionClosed {
    let (id, by) = (id.to_owned(), by.map(str::to_owned));
    QuestionClosed { id, closing, by, after: Duration::from_secs(seconds) }
}

fn allowed() -> Closing {
    Closing::Allowed { answers: Vec::new() }
}

const ASKS: &str = "<b>🔐 The agent asks for your permission</b>\n🛠️ Bash: make &lt;all&gt;\n<pre>make &lt;all&gt;</pre>\nIt needs \
                    access to /a\n\n<i>Reply to say no and what to do instead.</i> \
                    [✅ Allow|⛔ Deny] [✅ Accept all edits in this session]";

/// A chat on a server that answers as `script` says.
fn chat(script: Vec<FakeReply>) -> (Arc<FakeBotApi>, Telegram) {
    let fake = Arc::new(FakeBotApi::new(script));
    let telegram = Telegram::new(TelegramSettings::default(), fake.clone());
    (fake, telegram)
}

pub(super) async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// A question that is asked at once and closed after 12 s; `@a` stands for its words.
async fn check(script: Vec<FakeReply>, closing: Closing, expect: &[&str]) {
    let (fake, mut telegram) = chat(script);
    telegram.question(&touch("q1")).await.expect("it is shown later");
    seconds(12).await;
    // A message that was never shown is shown where it is closed.
    let _ = telegram.question_closed(&closed("q1", closing, Some("Ann <b>"), 12)).await;
    let ending = RunEnding { answer: "The end.".to_owned(), notice: None };
    telegram.finish(&ending).await;
    seconds(60).await;
    let expect: Vec<String> = expect.iter().map(|line| line.replace("@a", ASKS)).collect();
    assert_eq!(fake.log(), expect);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_a_question_has_buttons_until_it_is_decided() {
    let title = "🛠️ Bash: make &lt;all&gt;";
    for (closing, verdict) in [
        (allowed(), "<b>✅ Allowed by Ann &lt;b&gt; after 12 s</b>"),
        (
            Closing::Denied { message: "Not here.".into() },
            "<b>⛔ Denied by Ann &lt;b&gt; after 12 s</b>: Not here.",
        ),
        (Closing::Stopped, "<b>⏹️ Stopped by Ann &lt;b&gt; after 12 s</b>"),
        (Closing::Withdrawn, "<b>↩️ Taken back by the agent after 12 s</b>"),
        (Closing::Expired, "<b>⌛ Denied: nobody answered in 12 s</b>"),
        (Closing::Settled, "<b>☑️ Closed after 12 s, without an answer from this chat</b>"),
        (Closing::Moved, "<b>⤵️ Asked again below</b>"),
    ] {
        let edit = format!("12000 edit 100 {verdict}\n{title}");
        check(vec![], closing, &["0 send @a", &edit, "12000 send final The end."]).await;
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_a_question_is_sent_at_once_and_the_draft_says_what_waits() {
    let (fake, mut telegram) = chat(vec![After(80); 9]);
    telegram.tool(&tool("touch made")).await.expect("a tool is taken");
    tokio::time::sleep(Duration::from_millis(10)).await;
    telegram.question(&touch("q1")).await.expect("it is taken");
    seconds(5).await;
    let waits = QuestionWaits {
        id: "q1".into(),
        after: Duration::from_secs(60),
        denied_in: Duration::from_secs(540),
    };
    telegram.question_waits(&waits).await.expect("it is taken");
    seconds(1).await;
    telegram.question_closed(&closed("q1", allowed(), None, 6)).await.expect("it is taken");
    seconds(1).await;
    telegram.finish(&RunEnding { answer: "The end.".to_owned(), notice: None }).await;
    let reminded = ASKS
        .replace("\n\n<i>", "\n\n<i>⏳ It has waited for 60 s and is denied in 9 min.</i>\n\n<i>");
    assert_eq!(
        fake.log(),
        [
            "0 send touch made <i>running…</i>",
            &format!("80 send {ASKS}"),
            "1000 edit 100 touch made <i>⏸️ waits for your answer</i>",
            &format!("5010 edit 101 {reminded}"),
            "6010 edit 101 <b>✅ Allowed after 6 s</b>\n🛠️ Bash: make &lt;all&gt;",
            "6090 edit 100 touch made <i>running…</i>",
            "7010 edit 100 final The end.",
        ]
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q3_a_question_does_not_vanish_whatever_the_server_does() {
    let edit = "<b>✅ Allowed by Ann &lt;b&gt; after 12 s</b>\n🛠️ Bash: make &lt;all&gt;";
    let [at_12, at_12_250, at_15] =
        ["12000", "12250", "15000"].map(|at| format!("{at} edit 100 {edit}"));
    let last = |at: &str| format!("{at} send final The end.");
    let lost = || Fails(BotApiError::Lost("no answer".into()));
    let network = || Fails(BotApiError::Network("down".into()));
    let retry = |seconds| Fails(BotApiError::RetryAfter { seconds });
    let other = || Fails(BotApiError::Other("message to edit not found".into()));
    check(vec![retry(3)], allowed(), &["0 send @a", "3000 send @a", &at_12, &last("12000")]).await;
    check(vec![network()], allowed(), &["0 send @a", "250 send @a", &at_12, &last("12000")]).await;
    // The first message may be there, and can't be edited.
    check(vec![lost()], allowed(), &["0 send @a", "250 send @a", &at_12, &last("12000")]).await;
    check(vec![lost(), lost()], allowed(), &["0 send @a", "250 send @a", &last("12000")]).await;
    let faults = vec![After(0), retry(3)];
    check(faults, allowed(), &["0 send @a", &at_12, &at_15, &last("15000")]).await;
    for fault in [lost(), network()] {
        let faults = vec![After(0), fault];
        check(faults, allowed(), &["0 send @a", &at_12, &at_12_250, &last("12250")]).await;
    }
    // A message that was deleted stays away once the question is closed.
    check(vec![After(0), other()], allowed(), &["0 send @a", &at_12, &last("12000")]).await;
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q3_a_question_that_nobody_saw_leaves_nothing_behind() {
    let slow = || vec![Fails(BotApiError::RetryAfter { seconds: 20 })];
    let last = "20000 send final The end.";
    check(slow(), allowed(), &["0 send @a", last]).await;
    let expired = "20000 send <b>⌛ Denied: nobody answered in 12 s</b>\n🛠️ Bash: make &lt;all&gt;";
    check(slow(), Closing::Expired, &["0 send @a", expired, last]).await;
    let (_, mut telegram) = chat(vec![Fails(BotApiError::Other("chat not found".into()))]);
    telegram.question(&touch("q1")).await.expect("it is shown later");
    seconds(1).await;
    let error = telegram.question_closed(&closed("q1", allowed(), None, 1)).await;
    let error = error.expect_err("nobody saw it").to_string();
    assert!(error.contains("the question `q1` was not shown: Telegram refused"), "{error}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_choices_are_marked_and_chosen() {
    let (fake, mut telegram) = chat(vec![]);
    let keyboard = telegram.keyboard();
    telegram.question(&colours("q2")).await.expect("it is taken");
    seconds(1).await;
    let press = |button| keyboard.press(&Press::new("q2", button));
    let option = |choice, option| PressedButton::Option { choice, option };
    // Done without a choice changes nothing.
    assert_eq!(press(PressedButton::Done { choice: 1 }), Pressing::Shown);
    assert_eq!(press(option(1, 1)), Pressing::Shown);
    seconds(1).await;
    assert_eq!(press(option(1, 0)), Pressing::Shown);
    assert_eq!(press(option(1, 1)), Pressing::Shown);
    assert_eq!(press(PressedButton::Done { choice: 1 }), Pressing::Shown);
    assert_eq!(press(PressedButton::Allow), Pressing::Shown);
    seconds(1).await;
    let answer = Answer::Choose(vec![Chosen::Text("green".into()), Chosen::Options(vec![0])]);
    let expect = Pressing::Answer { question: "q2".into(), answer };
    assert_eq!(keyboard.reply(100, " green "), expect);
    assert_eq!(press(option(0, 0)), Pressing::Unknown);
    let answers = vec![("Which?".into(), "green".into()), ("Which two?".into(), "Red".into())];
    let closing = Closing::Allowed { answers };
    telegram.question_closed(&closed("q2", closing, None, 150)).await.expect("it is taken");
    seconds(1).await;
    let asks = |text: &str, hint: &str| {
        format!("<b>❓ The agent asks: Colour</b>\n{text}\n• Red: d\n• Blue: d\n\n<i>{hint}</i>")
    };
    let one = asks("Which?", "Choose one, or reply with an answer of your own.");
    let hint = "Choose any of them and press Done, or reply with an answer of your own.";
    let two = asks("Which two?", hint);
    let noted = asks("Which two?", "☑️ Noted; the other questions wait for your answer.");
    assert_eq!(
        fake.log(),
        [
            format!("0 send {one} [Red] [Blue]"),
            format!("0 send {two} [☐ Red] [☐ Blue] [✔️ Done]"),
            format!("1000 edit 101 {two} [☐ Red] [☑ Blue] [✔️ Done]"),
            format!("2000 edit 101 {noted}"),
            "3000 edit 100 <b>✅ Answered after 2 min</b>: green\nWhich?".to_owned(),
            "3000 edit 101 <b>✅ Answered after 2 min</b>: Red\nWhich two?".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_presses_and_replies_are_answers() {
    let (_, mut telegram) = chat(vec![]);
    let keyboard = telegram.keyboard();
    let [first, second] = ["q1", "q2"].map(touch);
    telegram.question(&first).await.expect("it is taken");
    telegram.question(&second).await.expect("it is taken");
    seconds(1).await;
    let answer = |id: &str, answer| Pressing::Answer { question: id.to_owned(), answer };
    let press = |id: &str, button| keyboard.press(&Press::new(id, button));
    assert_eq!(press("q1", PressedButton::Allow), answer("q1", Answer::allow()));
    assert_eq!(press("q2", PressedButton::Deny), answer("q2", Answer::deny("")));
    assert_eq!(press("q2", PressedButton::Suggestion(0)), answer("q2", Answer::allow_with(0)));
    assert_eq!(keyboard.reply(101, "Use /b."), answer("q2", Answer::deny("Use /b.")));
    assert_eq!(keyboard.reply(99, "hello"), Pressing::Unknown);
    assert_eq!(press("q3", PressedButton::Allow), Pressing::Unknown);
    telegram.question_closed(&closed("q1", allowed(), None, 1)).await.expect("it is taken");
    assert_eq!(press("q1", PressedButton::Allow), Pressing::Unknown);
    telegram.question(&colours("q4")).await.expect("it is taken");
    let option = |choice, option| PressedButton::Option { choice, option };
    assert_eq!(press("q4", PressedButton::Done { choice: 1 }), Pressing::Shown);
    assert_eq!(press("q4", option(1, 1)), Pressing::Shown);
    assert_eq!(press("q4", PressedButton::Done { choice: 1 }), Pressing::Shown);
    assert_eq!(press("q4", option(1, 0)), Pressing::Unknown);
    let chosen = [1, 1].map(|option| Chosen::Options(vec![option])).into();
    assert_eq!(press("q4", option(0, 1)), answer("q4", Answer::Choose(chosen)));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_a_person_sees_what_the_call_would_do() {
    let (fake, mut telegram) = chat(vec![]);
    let detail = json!({"description": "Clean up"});
    let script =
        json!({"command": "cd /a && rm -rf x\nTOKEN=abcdefgh make", "description": "Clean up"});
    let edit =
        json!({"file_path": "/a/b", "old_string": "x", "new_string": "<y>", "replace_all": true});
    let first = question("q1", "Bash", &script, &Value::Null, detail);
    let second = question("q2", "Edit", &edit, &Value::Null, json!({}));
    let rule = |content: &str| json!({"toolName": "Bash", "ruleContent": content});
    let rules = json!([{"type": "addRules", "behavior": "allow", "destination": "session",
        "rules": [rule("ls"), rule("rm <x>")]}]);
    let third = question("q3", "Bash", &json!({"command": "ls; rm"}), &rules, json!({}));
    let option = json!({"label": "Yes", "description": "d", "preview": "+---+"});
    let choice = json!({"questions": [{"question": "Which?", "options": [option]}]});
    let fourth = question("q4", "AskUserQuestion", &choice, &Value::Null, json!({}));
    for question in [&first, &second, &third, &fourth] {
        telegram.question(question).await.expect("it is taken");
    }
    seconds(1).await;
    let log = fake.log();
    let command = "<pre>cd /a &amp;&amp; rm -rf x\nTOKEN=*** make</pre>\n<i>Clean up</i>";
    assert!(log[0].contains(command), "{log:?}");
    let edit =
        "<pre>file_path: /a/b\nold_string: x\nnew_string: &lt;y&gt;\nreplace_all: true</pre>";
    assert!(log[1].contains(edit), "{log:?}");
    let label = "✅ Always allow `ls` and 1 more in this session";
    let in_full = format!("\n{label}:\n<pre>Bash(ls)\nBash(rm &lt;x&gt;)</pre>\n\n<i>");
    assert!(log[2].contains(&in_full) && log[2].ends_with(&format!("[{label}]")), "{log:?}");
    assert!(log[3].contains("Which?\n• Yes: d\n<pre>+---+</pre>\n\n<i>"), "{log:?}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q2_a_plan_is_shown_as_it_is_meant() {
    let (fake, mut telegram) = chat(vec![]);
    let input = json!({"plan": "# Plan\n\n1. **look**\n2. write", "files": ["a"]});
    let question = question("q1", "ExitPlanMode", &input, &Value::Null, Value::Object(Map::new()));
    telegram.question(&question).await.expect("it is taken");
    seconds(1).await;
    let plan = "<b>Plan</b>\n\n1. <b>look</b>\n2. write";
    let rest = "<pre>files: [\"a\"]</pre>";
    let hint = "<i>Reply to say no and what to do instead.</i> [✅ Allow|⛔ Deny]";
    let heading = "<b>📋 The agent asks you to approve its plan</b>";
    assert_eq!(fake.log(), [format!("0 send {heading}\n\n{plan}\n\n{rest}\n\n{hint}")]);
}
