use clitape_recording::cassette::parse_timeline;

use crate::replay::plan::*;

const STDOUT: &[u8] = b"ab\ncd\nef\ngh\n";

/// A message at the start, and an answer after the second line.
fn stdin() -> Vec<StdinLine> {
    let answer = br#"{"type":"control_response","response":{"request_id":"q","response":{"behavior":"allow"}}}"#;
    vec![StdinLine::new(b"{}\n", 0), StdinLine::new(&[answer.as_slice(), b"\n"].concat(), 6)]
}

/// The steps of a replay: `5:ab` for bytes, `5>1` for a line of the host, `5>?` for one with a wrong id.
fn check(plan: &Plan, expect: &str) {
    let stdin = stdin();
    let actions = plan.actions(Capture { stdout: STDOUT, stdin: &stdin });
    let words: Vec<String> = actions
        .into_iter()
        .map(|(ms, action)| match action {
            Action::Print(bytes) => format!("{ms}:{}", String::from_utf8_lossy(bytes).trim_end()),
            Action::Write(line) => {
                let number = stdin.iter().position(|one| one.line == line);
                number.map_or(format!("{ms}>?"), |number| format!("{ms}>{}", number + 1))
            }
        })
        .collect();
    assert_eq!(words.join(" "), expect);
}

#[test]
fn the_host_writes_where_it_wrote() {
    let plan = Plan::canonical(Capture { stdout: STDOUT, stdin: &stdin() }, 200);
    check(&plan, "0>1 0:ab 200:cd 3000>2 200:ef 200:gh");
    let plan = Plan::parse(r#"{"format":1,"steps":[[5,12]]}"#, 12).unwrap();
    check(&plan.with_dialogue(&stdin(), 200), "0>1 5:ab\ncd 3000>2 0:ef\ngh");
    let timeline = "[0,\"i\",1]\n[9,\"o\",3]\n[7,\"o\",3]\n[40,\"i\",2]\n[2,\"o\",6]\n";
    check(&Plan::recorded(&parse_timeline(timeline).unwrap()), "0>1 0:ab 7:cd 40>2 2:ef\ngh");
}

#[test]
fn every_fault_of_an_answer_is_a_plan() {
    let stdin = stdin();
    let capture = Capture { stdout: STDOUT, stdin: &stdin };
    let plan = Plan::canonical(capture, 1);
    assert!(plan.is_faithful(&stdin));
    let plans = plan.faulty_dialogues(capture);
    assert_eq!(plans.len(), AnswerFault::ALL.len());
    for ((name, plan), expect) in plans.iter().zip([
        "0>1 0:ab 3000>2 1:cd 1:ef 1:gh",
        "0>1 0:ab 1:cd 1:ef 3000>2 1:gh",
        "0>1 0:ab 1:cd 1:ef 1:gh 3000>2",
        "0>1 0:ab 1:cd 1:ef 1:gh 3000>2",
        "0>1 0:ab 1:cd 3000>2 1:ef 0>2 1:gh",
        "0>1 0:ab 1:cd 1:ef 1:gh",
        "0>1 0:ab 1:cd 3000>? 1:ef 1:gh",
        "0>1 0:ab 1:cd 3000>? 3000>2 1:ef 1:gh",
    ]) {
        check(plan, expect);
        assert!(!plan.is_faithful(&stdin), "{name}");
    }
}

#[test]
fn a_seed_is_the_same_dialogue_everywhere() {
    let stdin = stdin();
    let capture = Capture { stdout: STDOUT, stdin: &stdin };
    let plan = |seed| Plan::paced(STDOUT, 1).with_random_dialogue(capture, seed);
    assert_eq!(plan(7), plan(7));
    let faithful = (1..=200).filter(|&seed| plan(seed).is_faithful(&stdin)).count();
    assert!((90..=150).contains(&faithful), "{faithful} of 200 dialogues have no fault");
    assert_eq!(Plan::parse(&plan(7).to_line(), 12).unwrap(), plan(7));
}

#[test]
fn a_plan_for_another_dialogue_is_refused() {
    let stdin = stdin();
    let capture = Capture { stdout: STDOUT, stdin: &stdin };
    for (host, expect) in [
        (r#"{"line":2,"at":12}"#, None),
        (r#"{"line":3,"at":0}"#, Some("the plan hands over line 3 of stdin at byte 0")),
        (r#"{"line":0,"at":0}"#, Some("the plan hands over line 0 of stdin at byte 0")),
        (r#"{"line":1,"at":13}"#, Some("the plan hands over line 1 of stdin at byte 13")),
    ] {
        let text = format!(r#"{{"format":1,"steps":[[0,12]],"host":[{host}]}}"#);
        let error = Plan::parse(&text, 12).unwrap().check_dialogue(capture).err();
        let error = error.map(|error| error.to_string());
        assert_eq!(error.is_some(), expect.is_some(), "{host}");
        assert!(error.unwrap_or_default().starts_with(expect.unwrap_or_default()), "{host}");
    }
}
