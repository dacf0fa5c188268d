use crate::diff::divergence::moment;
use crate::diff::pairs::Class;
use crate::diff::*;

mod context;
mod final_text;

const ONE: &str =
    r#"{"at":0,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"Hello"}}"#;
const TWO: &str = r#"{"at":1240,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"Hello you"}}"#;

fn entries(lines: &[impl AsRef<str>]) -> Vec<Entry> {
    lines.iter().map(|line| serde_json::from_str(line.as_ref()).unwrap()).collect()
}

fn check(expected: &[&str], got: &[&str], sentence: Option<&str>) {
    let (old, new) = (entries(expected), entries(got));
    let found = TraceDiff::new(&old, &new, Times::Compared).first();
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
    let long = |end: &str| TWO.replace("Hello", &("long ".repeat(40) + end));
    check(
        &[&long("a")],
        &[&long("b")],
        Some("+1,240 ms: expected edit #1 “…long long long a you”, got “…long long long b you”"),
    );
}

#[test]
fn a_sentence_obeys_nothing_and_cuts_no_cluster() {
    let telegram = |text: &str| {
        let data = serde_json::json!({"message_id": 1, "text": text});
        format!(r#"{{"at":0,"lane":"telegram","kind":"sendMessage","data":{data}}}"#)
    };
    let long = "long ".repeat(10);
    for (expected, got, a, b) in [
        ("a\u{202e}b", "a\u{7}c", r"a\u{202e}b", r"a\u{7}c"),
        ("🛠️ a\u{200d}b", "🛠️ c", r"🛠️ a\u{200d}b", "🛠️ c"),
        ("👩‍👩‍👧", "👩‍👩‍👦", "👩‍👩‍👧", "👩‍👩‍👦"),
        (&*format!("{long}👩‍👩‍👧"), &*format!("{long}👩‍👩‍👦"), "…long long long 👩‍👩‍👧", "…long long long 👩‍👩‍👦"),
    ] {
        let sentence = format!("expected message #1 “{a}”, got “{b}”");
        check(&[&telegram(expected)], &[&telegram(got)], Some(&sentence));
    }
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
    let trace = entries(&trace);
    let places = [0, 1, 2, 3, 4, 5, 6].map(|index| moment(&trace, index));
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
    // With times ignored, the trace gives the times.
    let (short, long) = (entries(&[ONE, TWO]), entries(&[ONE, TWO, TWO]));
    let diff = |old, new, trace| TraceDiff::new(old, new, Times::Ignored).within(trace).first();
    let found = diff(&short, &long, &trace).unwrap();
    let sentence = "turn 2, +12,345,678 ms: expected nothing more, got edit #1 “Hello you”";
    assert_eq!((found.at, found.sentence.as_str()), (Some(12_345_678), sentence));
    let alone = entries(&[ONE]);
    let found = diff(&long, &alone, &trace[..3]).unwrap();
    let sentence = "turn 1, +5 ms: expected edit #1 “Hello you”, got nothing more";
    assert_eq!((found.at, found.sentence.as_str()), (Some(5), sentence));
}

#[test]
fn of_a_session_the_run_is_told() {
    let line = |calls: &str| {
        let data = format!(r#"{{"run":2,"calls":["{calls}"]}}"#);
        format!(r#"{{"at":900,"lane":"session","kind":"resume","data":{data}}}"#)
    };
    let (old, new) = (entries(&[line("dropped")]), entries(&[line("answered")]));
    let found = TraceDiff::new(&old, &new, Times::Compared).within(&new).first();
    let sentence = r#"run 2: `calls` of resume should be ["dropped"], it is ["answered"]"#;
    assert_eq!(found.unwrap().sentence, sentence);
}

#[test]
fn times_may_be_ignored() {
    let (old, new) = (entries(&[ONE, TWO]), entries(&[ONE, &TWO.replace("1240", "950")]));
    let diff = TraceDiff::new(&old, &new, Times::Ignored);
    assert_eq!((diff.first(), diff.change(), diff.lines()), (None, None, Vec::new()));
    let diff = TraceDiff::new(&old, &new, Times::Compared);
    assert_eq!(diff.change().map(|change| change.class), Some(Class::Timing));
}

/// The texts of equal entries may differ all the same.
#[test]
fn equal_entries_may_be_written_differently() {
    let at = "+1,240 ms: edit #1 “Hello you” was expected at +1,240 ms, it came at +1,240 ms";
    let same = format!("{ONE}\n{TWO}\n");
    let read = entries(&[ONE, TWO]);
    for (text, sentence, lines) in [
        (same.clone(), None, 0),
        (same.replace(r#"{"at":1240"#, r#"{ "at":1240"#), Some(at), 3),
        (same.replace("\n", "\r\n"), Some("the texts differ in their line ends only"), 0),
        (same.trim_end().to_owned(), Some("the texts differ in their line ends only"), 0),
    ] {
        for new in [None, Some(same.as_str())] {
            let diff = TraceDiff::new(&read, &read, Times::Compared).read_from(&text, new);
            let found = diff.first().map(|found| found.sentence);
            assert_eq!(found.as_deref(), sentence, "{text:?}");
            assert_eq!((diff.change(), diff.lines().len()), (None, lines), "{text:?}");
        }
    }
    // Without texts, the order of the fields counts as well.
    let turned = r#""message_id":1,"text":"Hello you""#;
    let turned = TWO.replace(turned, r#""text":"Hello you","message_id":1"#);
    check(&[ONE, TWO], &[ONE, &turned], Some(at));
    check(
        &[r#"{"at":0,"lane":"bus","kind":"x","data":{"n":0.0}}"#],
        &[r#"{"at":0,"lane":"bus","kind":"x","data":{"n":-0.0}}"#],
        Some("x {\"n\":-0.0} was expected at +0 ms, it came at +0 ms"),
    );
}

fn edit(at: u64, id: u64, text: &str) -> String {
    let data = format!(r#"{{"message_id":{id},"text":"{text}"}}"#);
    format!(r#"{{"at":{at},"lane":"telegram","kind":"editMessageText","data":{data}}}"#)
}

fn check_change(expected: &[String], got: &[String], class: Option<Class>, then: &[&str]) {
    let (old, new) = (entries(expected), entries(got));
    let found = TraceDiff::new(&old, &new, Times::Compared).change();
    assert_eq!(found.as_ref().map(|change| change.class), class);
    let consequences = found.map(|change| change.consequences).unwrap_or_default();
    assert_eq!(consequences, then);
}

#[test]
fn a_change_has_a_class_and_consequences() {
    let before = [edit(1, 1, "a"), edit(2, 1, "b"), edit(3, 2, "c")];
    check_change(&before, &before, None, &[]);
    let later = [edit(1, 1, "a"), edit(4, 1, "b"), edit(5, 2, "c")];
    check_change(&before, &later, Some(Class::Timing), &["1 × editMessageText at another time"]);
    let other = [edit(1, 1, "A"), edit(2, 1, "B"), edit(3, 2, "C")];
    check_change(&before, &other, Some(Class::Text), &["2 × editMessageText with another text"]);
    let fewer = [edit(1, 1, "a"), edit(4, 1, "b")];
    check_change(&before, &fewer, Some(Class::Contract), &["1 × editMessageText missing"]);
    let more = [edit(1, 1, "a"), edit(1, 7, "a"), edit(2, 1, "b"), edit(3, 2, "d")];
    check_change(&before, &more, Some(Class::Contract), &["1 × editMessageText with another text"]);
    let field = [edit(1, 1, "a").replace("text", "txet")];
    check_change(&before[..1], &field, Some(Class::Contract), &[]);
}

/// Compares lanes of calls such as `5 edit 1 text`; expects `time, messages above: expected | actual`, with a slash
/// between messages.
fn check_chat(old: &[&str], new: &[&str], expect: Option<&str>) {
    let lanes = [old, new].map(|calls| -> Vec<Entry> {
        let entry = |call: &&str| {
            let words: Vec<&str> = call.splitn(4, ' ').collect();
            let [at, kind, id, text] = words[..] else { panic!("{call}") };
            let data =
                serde_json::json!({ "message_id": id.parse::<u64>().unwrap(), "text": text });
            let method = if kind == "send" { "sendMessage" } else { "editMessageText" };
            let line =
                format!(r#"{{"at":{at},"lane":"telegram","kind":"{method}","data":{data}}}"#);
            serde_json::from_str(&line).unwrap()
        };
        calls.iter().map(entry).collect()
    });
    let diff = TraceDiff::new(&lanes[0], &lanes[1], Times::Compared);
    let shown = diff.chat(ChatProfile::Telegram).map(|chat| {
        let side = |side: &[Vec<String>]| {
            side.iter().map(|lines| lines.join("\\n")).collect::<Vec<_>>().join(" / ")
        };
        let (expected, got) = (side(&chat.expected), side(&chat.got));
        format!("{}, {}: {expected} | {got}", chat.at.unwrap(), chat.above)
    });
    assert_eq!(shown.as_deref(), expect, "{old:?} {new:?}");
}

#[test]
fn the_first_moment_at_which_a_person_sees_something_else() {
    check_chat(&["1 send 1 a", "2 edit 1 b"], &["1 send 1 a", "2 edit 1 c"], Some("2, 0: b | c"));
    // Times and calls that change no text are ignored.
    check_chat(&["1 send 1 a", "2 edit 1 b"], &["3 send 1 a", "4 edit 1 b"], None);
    check_chat(&["1 send 1 a"], &["1 send 1 a", "2 edit 1 a"], None);
    // A missing message, and one too many.
    check_chat(&["1 send 1 a", "2 send 2 b"], &["1 send 1 a"], Some("2, 1: b | "));
    check_chat(&["1 send 1 a"], &["1 send 1 a", "2 send 2 b"], Some("2, 1:  | b"));
    // Marks are shown where only they differ.
    check_chat(&["1 send 1 <b>a</b> x"], &["1 send 1 a x"], Some("1, 0: <b>a</b> x | a x"));
    check_chat(&["1 send 1 <b>a</b> x"], &["1 send 1 <b>b</b> x"], Some("1, 0: a x | b x"));
    check_chat(&["1 send 1 a\u{1b}"], &["1 send 1 b\u{1b}"], Some("1, 0: a␛ | b␛"));
}
