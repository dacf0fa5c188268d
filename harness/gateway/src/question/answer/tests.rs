//! Answers that fit, and answers that do not.

use std::time::Duration;

use clitape_stream::{Decision, Json, Outcome, RunStatus};
use serde_json::{Map, Value, json};
use tokio::time::advance;

use super::super::answer::Chosen;
use super::*;

mod press;

/// Reads the questions of a line that the CLI printed, as the captures have it.
pub(crate) fn asked(id: &str, name: &str, input: &Value, suggestions: &Value) -> Event<'static> {
    Event::Question {
        id: id.to_owned().into(),
        name: name.to_owned().into(),
        call: Some(format!("call-{id}").into()),
        input: input.into(),
        suggestions: suggestions.into(),
        detail: std::borrow::Cow::Owned(Map::new()),
        parent: None,
    }
}

fn table(events: &[Event<'_>]) -> OpenQuestions {
    let mut questions = OpenQuestions::new(QuestionTimes::default());
    events.iter().for_each(|event| questions.on_event(event));
    questions
}

fn touch() -> Event<'static> {
    let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"});
    let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    asked("q1", "Bash", &json!({"command": "touch made"}), &json!([rule, mode]))
}

fn colours() -> Event<'static> {
    let option = |label: &str| json!({"label": label, "description": "d"});
    let choice = |question: &str, multi: bool| {
        json!({"question": question, "header": "h", "options": [option("Red"), option("Blue")],
            "multiSelect": multi})
    };
    let input = json!({"questions": [choice("Which colour?", false), choice("Which two?", true)]});
    asked("q2", "AskUserQuestion", &input, &Value::Null)
}

/// The response in the line that answers `question`.
fn check(question: &Event<'_>, answer: &Answer, expect: &Value) {
    let mut questions = table(std::slice::from_ref(question));
    let id = questions.ids().next().map(str::to_owned).expect("it is open");
    let line = questions.answer(&id, answer).expect("it is taken");
    assert!(line.as_bytes().ends_with(b"}\n"));
    let line: Value = serde_json::from_str(&line.to_string()).expect("it is JSON");
    let response = json!({"subtype": "success", "request_id": id, "response": expect});
    assert_eq!(line, json!({"type": "control_response", "response": response}));
}

fn check_error(question: &Event<'_>, answer: &Answer, expect: &str) {
    let mut questions = table(std::slice::from_ref(question));
    let id = questions.ids().next().map(str::to_owned).expect("it is open");
    let error = questions.answer(&id, answer).expect_err("it does not fit");
    assert_eq!(error.to_string(), expect);
    assert_eq!(questions.ids().count(), 1, "the question stays open");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q4_an_answer_is_the_line_that_the_cli_takes() {
    let input = json!({"command": "touch made"});
    check(&touch(), &Answer::allow(), &json!({"behavior": "allow", "updatedInput": input}));
    let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    check(
        &touch(),
        &Answer::allow_with(1),
        &json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": [mode]}),
    );
    let other = json!({"command": "true"});
    check(
        &touch(),
        &Answer::Allow { input: Some(other.clone()), suggestions: Vec::new() },
        &json!({"behavior": "allow", "updatedInput": other}),
    );
    check(
        &touch(),
        &Answer::deny(""),
        &json!({"behavior": "deny", "message": "The person said no."}),
    );
    let why = "Use a test folder.";
    check(&touch(), &Answer::deny(why), &json!({"behavior": "deny", "message": why}));
    check(
        &touch(),
        &Answer::Stop { message: why.into() },
        &json!({"behavior": "deny", "message": why, "interrupt": true}),
    );
    let Event::Question { input, .. } = colours() else { panic!("it is a question") };
    let mut input = input.value();
    input["answers"] = json!({"Which colour?": "Blue", "Which two?": "Red, Blue"});
    let chosen = vec![Chosen::Options(vec![1]), Chosen::Options(vec![0, 1])];
    check(
        &colours(),
        &Answer::Choose(chosen),
        &json!({"behavior": "allow", "updatedInput": input}),
    );
    input["answers"] = json!({"Which colour?": "green", "Which two?": "Red"});
    let chosen = vec![Chosen::Text(" green".into()), Chosen::Options(vec![0])];
    check(
        &colours(),
        &Answer::Choose(chosen),
        &json!({"behavior": "allow", "updatedInput": input}),
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q4_an_answer_that_does_not_fit_leaves_the_question_open() {
    let choose = |chosen: Vec<Chosen>| Answer::Choose(chosen);
    check_error(
        &touch(),
        &Answer::allow_with(2),
        "the CLI made 2 suggestions, and number 3 is none of them",
    );
    check_error(
        &touch(),
        &choose(vec![Chosen::Options(vec![0])]),
        "this question is about a permission; answer it with allow or deny",
    );
    let needs = "this question asks to choose; answer each of its 2 parts, or deny it";
    check_error(&colours(), &Answer::allow(), needs);
    check_error(&colours(), &choose(vec![Chosen::Options(vec![0])]), needs);
    for (first, what) in [
        (Chosen::Options(vec![0, 1]), "one option"),
        (Chosen::Options(Vec::new()), "at least one option"),
        (Chosen::Options(vec![2]), "only the options that it lists"),
        (Chosen::Text(" ".into()), "an answer of at least a word"),
    ] {
        let chosen = choose(vec![first, Chosen::Options(vec![0])]);
        check_error(&colours(), &chosen, &format!("part 1 takes {what}; choose again"));
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q4_an_answer_that_is_late_twice_or_wrong_is_refused() {
    let late = |why: &str| {
        format!("the answer to the question `q1` is too late: {why}; send a message instead")
    };
    let result = Event::ToolResult {
        id: "call-q1".into(),
        name: "Bash".into(),
        is_error: false,
        result: Json::NULL,
        incomplete: None,
        parent: None,
    };
    let over = Event::Outcome(std::borrow::Cow::Owned(Outcome::new(RunStatus::Ok, "a")));
    let withdrawn = Event::QuestionWithdrawn { id: "q1".into() };
    for (closing, expect) in [
        (withdrawn, late("the agent took it back")),
        (result, late("the call has its result")),
        (over, late("the turn is over")),
    ] {
        let error = table(&[touch(), closing]).answer("q1", &Answer::allow());
        assert_eq!(error.expect_err("it is late").to_string(), expect);
    }
    let mut questions = table(&[touch(), touch()]);
    questions.answer("q1", &Answer::allow()).expect("the first answer is taken");
    let twice = "the question `q1` has its answer already; only the first one counts";
    for answer in [Answer::allow(), Answer::deny("no")] {
        let error = questions.answer("q1", &answer).expect_err("it is answered");
        assert_eq!(error.to_string(), twice);
    }
    let unknown = "nobody asked the question `q9`; see its id, which may be that of another agent";
    let error = questions.answer("q9", &Answer::allow()).expect_err("there is no such question");
    assert_eq!(error.to_string(), unknown);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn q5_a_question_is_reminded_of_once_and_then_denied() {
    let mut questions = table(&[touch()]);
    assert_eq!(questions.overdue(), None);
    advance(Duration::from_secs(60)).await;
    assert_eq!(questions.overdue(), Some(Overdue::Remind("q1".into())));
    assert_eq!(questions.overdue(), None);
    advance(Duration::from_secs(540)).await;
    assert_eq!(questions.overdue(), Some(Overdue::Deny("q1".into())));
    let line = questions.expire("q1").expect("it is open").to_string();
    assert!(
        line.contains(r#""behavior":"deny","message":"Nobody answered within 600 s"#),
        "{line}"
    );
    let error = questions.answer("q1", &Answer::allow()).expect_err("it has expired");
    assert!(error.to_string().contains("it had waited too long and was denied"), "{error}");
    assert_eq!((questions.overdue(), questions.next_due()), (None, None));
    assert_eq!(questions.pressed(&Press::new("q1", PressedButton::Allow)), None);
    let mut questions = table(&[touch(), colours()]);
    let pressed = Press::new("q2", PressedButton::Deny);
    assert_eq!(questions.pressed(&pressed), Some("q2"));
    let (id, decision, message) = ("q2".into(), Decision::Deny, None);
    questions.on_event(&Event::Answered { id, decision, message, input: (&Value::Null).into() });
    assert_eq!((questions.pressed(&pressed), questions.ids().count()), (None, 1));
    let seconds = Duration::from_secs;
    let times = QuestionTimes { remind: seconds(1), deny: seconds(2) };
    assert_eq!(OpenQuestions::new(times).times(), times);
}
