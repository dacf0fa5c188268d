//! A client is asked about a call, as the protocol says.

use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
};
use clitape_stream::ToolKind;
use serde_json::Map;

use super::*;
use crate::question::{Chosen, Closing, QuestionClosed};

/// The messages on the wire in a few words: updates as `show` has them, `ask <call> <options>`,
/// `cancel <request>`.
fn wire(converter: &mut AcpConverter, data: BusData) -> Vec<String> {
    let updates = convert(converter, [data]);
    let mut lines = show_all(&updates);
    for request in converter.requests() {
        let message = converter.request(&request);
        assert_eq!(message["jsonrpc"], "2.0");
        let params = message["params"].clone();
        lines.push(match &request {
            ClientRequest::Permission(request) => {
                assert_eq!(message["method"], "session/request_permission");
                assert_eq!(message["id"], json!(request.id));
                // The client's own types read it.
                let parsed: RequestPermissionRequest = serde_json::from_value(params).unwrap();
                assert_eq!(&*parsed.session_id.0, "s1");
                let options = parsed.options.iter().map(|option| {
                    let kind = match option.kind {
                        PermissionOptionKind::AllowOnce => "once",
                        PermissionOptionKind::AllowAlways => "always",
                        PermissionOptionKind::RejectOnce => "no",
                        _ => "other",
                    };
                    format!("{kind}={}", option.name)
                });
                let title = parsed.tool_call.fields.title.unwrap();
                let options: Vec<String> = options.collect();
                let call = &parsed.tool_call.tool_call_id.0;
                format!("ask {} {call} {title:?} {}", request.id, options.join("|"))
            }
            ClientRequest::Cancel { id } => {
                assert_eq!(message["method"], "$/cancel_request");
                let _: CancelRequestNotification = serde_json::from_value(params).unwrap();
                format!("cancel {id}")
            }
        });
    }
    lines
}

fn asked(name: &str, input: Value, call: Option<&str>) -> BusData {
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    asked_with(name, &input, &mode, call)
}

fn asked_with(name: &str, input: &Value, suggestions: &Value, call: Option<&str>) -> BusData {
    let event = Event::Question {
        id: "q1".into(),
        name: name.to_owned().into(),
        call: call.map(|call| call.to_owned().into()),
        input: input.into(),
        suggestions: suggestions.into(),
        detail: std::borrow::Cow::Owned(Map::new()),
        parent: None,
    };
    let masked = &mut crate::sanitise::Masked::default();
    BusData::Question(Question::of(&event, None, masked).unwrap())
}

fn closed(closing: Closing) -> BusData {
    let after = Duration::from_secs(1);
    BusData::QuestionClosed(QuestionClosed { id: "q1".into(), closing, by: None, after })
}

fn started(name: &str, input: Value) -> BusData {
    let event = Event::ToolStart {
        id: "t1".into(),
        name: name.to_owned().into(),
        kind: ToolKind::ToolUse,
        args: clitape_stream::ToolArguments::Complete((&input).into()),
        parent: None,
    };
    let bus = Bus::new("r1");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let _subscription = bus.subscribe(move |event| lock(&log).push(event.data.clone()));
    Publisher::new(bus).publish(&event);
    lock(&seen).remove(0)
}

fn ended() -> BusData {
    BusData::Tool(Tool::Result {
        id: "t1".into(),
        name: "Bash".into(),
        is_error: false,
        result: json!("ok"),
        incomplete: None,
        parent: None,
    })
}

/// The client's answer, as its own types write it.
pub(super) fn selected(option_id: &str) -> PermissionOutcome {
    let outcome = SelectedPermissionOutcome::new(option_id.to_owned());
    let outcome = RequestPermissionOutcome::Selected(outcome);
    PermissionOutcome::of(&json!(RequestPermissionResponse::new(outcome))).unwrap()
}

pub(super) fn cancelled() -> PermissionOutcome {
    let outcome = RequestPermissionOutcome::Cancelled;
    PermissionOutcome::of(&json!(RequestPermissionResponse::new(outcome))).unwrap()
}

const CALL: &str =
    r#"call t1 title="Execute command" execute pending ["ls"] rawInput={"command":"ls"}"#;
const ASK: &str = r#"ask permission-1 t1 "Execute command" once=Allow|always=Accept all edits in this session|no=Deny"#;

fn bash() -> Value {
    json!({"command": "ls"})
}

fn yes() -> Closing {
    Closing::Allowed { answers: Vec::new() }
}

#[test]
pub(crate) fn q6_a_call_is_announced_then_asked_about_and_then_in_progress() {
    for (option, answer) in [
        ("q:q1:a", Answer::allow()),
        ("q:q1:s0", Answer::allow_with(0)),
        ("q:q1:d", Answer::deny("")),
    ] {
        let mut converter = AcpConverter::new(settings(false));
        assert_eq!(wire(&mut converter, started("Bash", bash())), [CALL]);
        assert_eq!(wire(&mut converter, asked("Bash", bash(), Some("t1"))), [ASK]);
        let given = converter.answered("permission-1", &selected(option));
        assert_eq!(given, Some(("q1".to_owned(), answer)));
        assert_eq!(converter.answered("permission-1", &selected(option)), None, "it came twice");
        let is_no = option.ends_with('d');
        let closing = if is_no { Closing::Denied { message: String::new() } } else { yes() };
        let expect = if is_no { vec![] } else { vec!["more t1 in_progress"] };
        assert_eq!(wire(&mut converter, closed(closing)), expect);
        let last = wire(&mut converter, ended());
        assert!(last[0].starts_with("more t1 completed"), "{last:?}");
    }
}

#[test]
pub(crate) fn q6_a_question_that_is_over_is_cancelled_with_the_client() {
    for closing in [Closing::Withdrawn, Closing::Expired, Closing::Stopped, Closing::Settled] {
        let mut converter = AcpConverter::new(settings(false));
        wire(&mut converter, started("Bash", bash()));
        wire(&mut converter, asked("Bash", bash(), Some("t1")));
        assert_eq!(wire(&mut converter, closed(closing)), ["cancel permission-1"]);
        assert_eq!(converter.answered("permission-1", &selected("q:q1:a")), None);
    }
    // The client cancels the turn: it must answer `cancelled`, and the turn is stopped.
    let mut converter = AcpConverter::new(settings(false));
    wire(&mut converter, started("Bash", bash()));
    wire(&mut converter, asked("Bash", bash(), Some("t1")));
    converter.cancel();
    let answer = converter.answered("permission-1", &cancelled()).map(|(_, answer)| answer);
    let message = "The person cancelled the turn.".to_owned();
    assert_eq!(answer, Some(Answer::Stop { message }));
    assert_eq!(wire(&mut converter, closed(Closing::Stopped)), [""; 0]);
}

#[test]
pub(crate) fn q6_a_call_that_was_never_announced_is_announced_for_the_question() {
    let mut converter = AcpConverter::new(settings(false));
    let lines = wire(&mut converter, asked("Bash", bash(), None));
    assert_eq!(lines, [CALL.replace("t1", "q1"), ASK.replace("t1", "q1")]);
    assert_eq!(
        wire(&mut converter, closed(Closing::Withdrawn)),
        ["more q1 failed", "cancel permission-1"]
    );
}

#[test]
pub(crate) fn q6_a_client_is_asked_about_all_of_the_input() {
    let long = format!("{}\nrm -rf /", "echo step\n".repeat(2_000));
    let content = |text: &str| json!({"file_path": "/a", "content": text});
    let secret = |secret: &str| json!({"command": format!("{long} --token {secret}")});
    for (name, of_call, asked_about, expect) in [
        ("Bash", json!({"command": long}), json!({"command": long}), json!({"command": long})),
        ("Bash", json!({"command": "ls"}), json!({"command": long}), json!({"command": long})),
        ("Bash", json!({"command": "ls"}), json!({}), json!({"command": "ls"})),
        ("Write", content(&long), content(&long), content(&long)),
        ("mcp__a__b", json!({"text": long}), json!({"text": long}), json!({"text": long})),
        ("Bash", json!({}), secret("made-up-Xw8vT3q"), secret("***")),
    ] {
        for terminal in [false, true] {
            let mut converter = AcpConverter::new(settings(terminal));
            convert(&mut converter, [started(name, of_call.clone())]);
            convert(&mut converter, [asked(name, asked_about.clone(), Some("t1"))]);
            let [ClientRequest::Permission(request)] = &converter.requests()[..] else {
                panic!("one request")
            };
            let call = serde_json::to_value(&request.tool_call).unwrap();
            assert_eq!(call["rawInput"], expect, "{name}");
            let has_text = name != "mcp__a__b" && !(terminal && name == "Bash");
            let content = call["content"].to_string();
            assert!(!has_text || !content.contains("truncated"), "{content}");
        }
    }
}

#[test]
pub(crate) fn q6_a_client_sees_what_an_option_has_no_room_for() {
    let rule = |content: &str| json!({"toolName": "Bash", "ruleContent": content});
    let rules =
        json!([{"type": "addRules", "behavior": "allow", "rules": [rule("ls"), rule("rm")]}]);
    let preview = json!({"label": "Yes", "description": "d", "preview": "+--+"});
    let choice = json!({"questions": [{"question": "Which?", "options": [preview]}]});
    for (name, input, expect) in [
        ("Bash", bash(), "Always allow `ls` and 1 more:\n```\nBash(ls)\nBash(rm)\n```"),
        ("AskUserQuestion", choice, "- **Yes**: d\n\n```\n+--+\n```\n"),
    ] {
        let mut converter = AcpConverter::new(settings(false));
        convert(&mut converter, [started(name, input.clone())]);
        convert(&mut converter, [asked_with(name, &input, &rules, Some("t1"))]);
        let [ClientRequest::Permission(request)] = &converter.requests()[..] else {
            panic!("one request")
        };
        let content = serde_json::to_value(&request.tool_call.content).unwrap();
        let last = content.as_array().unwrap().last().unwrap();
        assert_eq!(last["content"]["text"], expect);
    }
}

#[test]
pub(crate) fn q6_choices_are_requests_with_their_options() {
    let option = |label: &str| json!({"label": label, "description": "d"});
    let choice = |question: &str| {
        json!({"question": question, "header": "h", "multiSelect": false,
        "options": [option("Red"), option("Blue")]})
    };
    let input = json!({"questions": [choice("One?"), choice("Two?")]});
    let mut converter = AcpConverter::new(settings(false));
    wire(&mut converter, started("AskUserQuestion", input.clone()));
    assert_eq!(
        wire(&mut converter, asked("AskUserQuestion", input, Some("t1"))),
        [
            r#"ask permission-1 t1 "One?" once=Red|once=Blue|no=Deny"#,
            r#"ask permission-2 t1 "Two?" once=Red|once=Blue|no=Deny"#,
        ]
    );
    assert_eq!(converter.answered("permission-2", &selected("q:q1:o1.0")), None);
    let chosen = vec![Chosen::Options(vec![1]), Chosen::Options(vec![0])];
    assert_eq!(
        converter.answered("permission-1", &selected("q:q1:o0.1")),
        Some(("q1".to_owned(), Answer::Choose(chosen)))
    );
}
