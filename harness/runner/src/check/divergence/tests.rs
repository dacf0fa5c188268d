use super::*;

const ONE: &str =
    r#"{"at":0,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"Hello"}}"#;
const TWO: &str = r#"{"at":1240,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"Hello you"}}"#;

fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn check(expected: &[&str], got: &[&str], sentence: Option<&str>) {
    let found = first_divergence(&text(expected), &text(got), &[]);
    assert_eq!(found.map(|found| found.sentence).as_deref(), sentence);
}

#[test]
fn the_first_divergence_is_one_sentence() {
    check(&[ONE, TWO], &[ONE, TWO], None);
    check(
        &[ONE, TWO],
        &[ONE, &TWO.replace("you", "you!")],
        Some("+1,240 ms: expected edit #1 “Hello you”, got “Hello you!”"),
    );
    check(
        &[ONE, TWO],
        &[ONE, &TWO.replace("1240", "950")],
        Some("+950 ms: edit #1 “Hello you” was expected at +1,240 ms, it came at +950 ms"),
    );
    check(
        &[ONE, TWO],
        &[ONE, &ONE.replace(":0", ":900")],
        Some("+900 ms: expected edit #1 “Hello you”, got a second message “Hello”"),
    );
    check(&[ONE], &[ONE, TWO], Some("+1,240 ms: expected nothing more, got edit #1 “Hello you”"));
    check(&[ONE, TWO], &[ONE], Some("+1,240 ms: expected edit #1 “Hello you”, got nothing more"));
    check(
        &[ONE],
        &[&ONE.replace(r#""message_id":1,"#, "")],
        Some("`message_id` of message should be 1, it is absent"),
    );
    check(&["x"], &[ONE], Some("expected \"x\", which is no trace entry, got message #1 “Hello”"));
    check(&["\"Hello\""], &["\"Hell\\n\""], Some("expected “Hello”, got “Hell\\n”"));
    let long = |end: &str| TWO.replace("Hello", &("long ".repeat(40) + end));
    check(
        &[&long("a")],
        &[&long("b")],
        Some("+1,240 ms: expected edit #1 “…long long long a you”, got “…long long long b you”"),
    );
}

#[test]
fn a_divergence_says_in_which_turn_it_was() {
    let lifecycle = |at: u64, kind: &str| {
        format!(r#"{{"at":{at},"lane":"lifecycle","kind":"{kind}","data":{{}}}}"#)
    };
    let trace = [
        lifecycle(1, "text"),
        ONE.to_owned(),
        lifecycle(5, "outcome"),
        TWO.to_owned(),
        lifecycle(1300, "notice"),
        lifecycle(2000, "text"),
        TWO.replace("1240", "12345678"),
    ];
    let entries: Vec<Entry> =
        trace.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places = [0, 1, 2, 3, 4, 5, 6].map(|index| moment(&entries, index));
    assert_eq!(
        places,
        [
            "turn 1, +1 ms",
            "turn 1, +0 ms",
            "turn 1, +5 ms",
            "turn 1, +1,240 ms",
            "turn 1, +1,300 ms",
            "turn 2, +2,000 ms",
            "turn 2, +12,345,678 ms",
        ]
    );
    // Times left aside, the trace tells them.
    let timeless = |line: &str| line.replace("1240", "0").replace("12345678", "0");
    let got = text(&[ONE, &timeless(TWO), &timeless(TWO)]);
    let found = first_divergence(&text(&[ONE, &timeless(TWO)]), &got, &entries).unwrap();
    let sentence = "turn 2, +12,345,678 ms: expected nothing more, got edit #1 “Hello you”";
    assert_eq!((found.at, found.sentence.as_str()), (Some(12_345_678), sentence));
    let found = first_divergence(&got, &text(&[ONE]), &entries[..3]).unwrap();
    let sentence = "turn 1, +5 ms: expected edit #1 “Hello you”, got nothing more";
    assert_eq!((found.at, found.sentence.as_str()), (Some(5), sentence));
}

#[test]
fn of_a_session_the_run_is_told() {
    let line = |calls: &str| {
        let data = format!(r#"{{"run":2,"calls":["{calls}"]}}"#);
        format!(r#"{{"at":900,"lane":"session","kind":"resume","data":{data}}}"#)
    };
    let entries = [serde_json::from_str(&line("answered")).unwrap()];
    let expected = line("dropped");
    let found = first_divergence(&text(&[&expected]), &text(&[&line("answered")]), &entries);
    let sentence = r#"run 2: `calls` of resume should be ["dropped"], it is ["answered"]"#;
    assert_eq!(found.unwrap().sentence, sentence);
}
