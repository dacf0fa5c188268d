//! Tests the reading of steps from TOML.

use serde_json::json;

use super::*;

#[derive(Debug, Deserialize)]
struct File {
    say: Vec<SayStep>,
}

/// Reads the one step of a text; the error is the sentence about it.
fn read(text: &str) -> Result<SayStep, String> {
    let file: Result<File, _> = toml::from_str(&format!("[[say]]\n{text}"));
    file.map(|mut file| file.say.remove(0)).map_err(|error| error.message().to_owned())
}

#[track_caller]
fn check(text: &str, action: SayAction, when: Option<SayTrigger>) {
    assert_eq!(read(text), Ok(SayStep { action, when, delay_ms: 0 }));
}

fn tool(name: &str, number: Option<u64>) -> NamedTool {
    NamedTool { name: name.into(), number }
}

#[test]
fn a_step_has_one_action_and_at_most_one_trigger() {
    let message = |content| SayAction::Message { content, uuid: None };
    check("message = 'hi'", message(json!("hi")), None);
    check(
        "blocks = [{ text = 'hi', type = 'text' }]",
        message(json!([{"type": "text", "text": "hi"}])),
        None,
    );
    check(
        "interrupt = true\nwhen = { result = 2 }",
        SayAction::Interrupt,
        Some(SayTrigger::Result(2)),
    );
    check("close = true\nwhen = { response = 1 }", SayAction::Close, Some(SayTrigger::Response(1)));
    check(
        "raw = 'no json'\nwhen = { text = 'half' }",
        SayAction::Raw("no json".into()),
        Some(SayTrigger::Text("half".into())),
    );
    check(
        "interrupt = true\nwhen = { tool = 'Bash', number = 2 }",
        SayAction::Interrupt,
        Some(SayTrigger::Tool(tool("Bash", Some(2)))),
    );
    let answer = |behavior| SayAnswer { behavior, input: None, message: None, suggestion: None };
    check(
        "answer = { behavior = 'deny-and-interrupt' }\nwhen = { asked = 'Bash' }",
        SayAction::Answer(answer(SayBehavior::DenyAndInterrupt)),
        Some(SayTrigger::Asked(tool("Bash", None))),
    );
    check(
        "choose = { 'Which?' = 'Red', 'And?' = ['A', 'B'] }\nwhen = { asked = 'AskUserQuestion' }",
        SayAction::Choose(BTreeMap::from([
            ("Which?".into(), ChosenLabels::One("Red".into())),
            ("And?".into(), ChosenLabels::Several(vec!["A".into(), "B".into()])),
        ])),
        Some(SayTrigger::Asked(tool("AskUserQuestion", None))),
    );
    let initialize = SayInitialize { hooks: vec!["PreToolUse".into()], append_system_prompt: None };
    check("initialize = { hooks = ['PreToolUse'] }", SayAction::Initialize(initialize), None);
}

#[test]
fn a_step_that_can_not_be_meant_says_what_to_write() {
    for (text, expect) in [
        ("delay_ms = 1", "a step of `[[record.say]]` has none of `message`, `blocks`, "),
        ("message = 'a'\nraw = 'b'", "has both `message` and `raw`; write one of them"),
        ("interrupt = false", "`interrupt = false` does nothing; remove it"),
        ("line = 'x'", "unknown field `line`, expected one of `message`, `blocks`"),
        ("answer = { behavior = 'yes' }", "unknown variant `yes`, expected one of `allow`, `deny`"),
        ("answer = { behavior = 'allow' }", "write `when = { asked = \"TOOL\" }`"),
        (
            "answer = { behavior = 'allow', message = 'x' }\nwhen = { asked = 'Bash' }",
            "`message` is the reason of a no",
        ),
        (
            "answer = { behavior = 'deny', suggestion = 1 }\nwhen = { asked = 'Bash' }",
            "`input` and `suggestion` belong to a yes",
        ),
        ("message = 'a'\nwhen = { result = 1, text = 'b' }", "`when` has both `result` and `text`"),
        ("message = 'a'\nwhen = {}", "`when` has none of `result`, `response`, `asked`"),
        ("message = 'a'\nwhen = { text = '' }", "`text` is empty"),
        ("message = 'a'\nwhen = { result = 1, number = 2 }", "beside `asked` or `tool`"),
        ("raw = \"a\\nb\"", "`raw` is one line"),
        ("close = true\nuuid = true", "only a message has a `uuid`"),
        (
            "choose = { 'Which?' = 1 }\nwhen = { asked = 'AskUserQuestion' }",
            "expected a label, or a list of labels",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(expect), "{text}: {error}");
    }
}

#[test]
fn a_trigger_is_printed_as_it_is_written() {
    for when in [
        "{ result = 2 }",
        "{ response = 1 }",
        "{ asked = \"Bash\" }",
        "{ tool = \"Read\", number = 3 }",
        "{ text = \"half\" }",
    ] {
        let step = read(&format!("interrupt = true\nwhen = {when}")).unwrap();
        assert_eq!(step.when.unwrap().to_string(), when);
    }
}
