use clitape_judge::Class;

use super::*;
use crate::compare::{Cell, Compared, Comparison, DiffRow, Failed, LaneDiff, SideDescription};

fn about(name: &str) -> SideDescription {
    let facts = vec![("revision", "abc".to_owned())];
    SideDescription {
        name: name.to_owned(),
        facts,
        command: "clitape".to_owned(),
        note: String::new(),
    }
}

/// Makes a cassette whose bus differs by `text`; without a text, both sides are equal.
fn compared(scenario: &str, version: &str, text: Option<&str>) -> Compared {
    let cell = |text: &str| Cell {
        at: 1_500,
        words: "assistant".to_owned(),
        fields: vec![(
            "text".to_owned(),
            vec![(false, "same ".to_owned()), (true, text.to_owned())],
        )],
    };
    let lane = |text: &str| LaneDiff {
        view: "bus".to_owned(),
        class: Class::Text,
        first: format!("turn 1, +7 ms: {text}"),
        consequences: vec!["2 × assistant with another text".to_owned()],
        rows: vec![
            DiffRow::Differ { class: Class::Text, a: Some(cell("A")), b: Some(cell(text)) },
            DiffRow::Differ { class: Class::Contract, a: None, b: Some(cell(text)) },
            DiffRow::More("9 more differ".to_owned()),
        ],
        commands: ["clitape replay x".to_owned(), "other replay x".to_owned()],
    };
    Compared {
        scenario: scenario.to_owned(),
        title: format!("The {scenario}"),
        versions: [version, version].map(|version| version.parse().unwrap()),
        views: 6,
        lanes: text.map(lane).into_iter().collect(),
        chats: Vec::new(),
    }
}

fn comparison(compared: Vec<Compared>, failed: Vec<Failed>) -> Comparison {
    let uncovered = vec!["All the rest.".to_owned()];
    Comparison {
        a: about("this"),
        b: about("git:x"),
        compared,
        failed,
        uncovered,
        unchecked: 0,
        is_stopped: false,
    }
}

fn failed(why: &str, count: usize) -> Vec<Failed> {
    let failed = |at| Failed { place: format!("s {at}"), why: why.to_owned() };
    (0..count).map(failed).collect()
}

/// Returns the page, the text and the terminal's output, each of which must contain these parts.
fn check(comparison: &Comparison, parts: &[&str]) -> [String; 3] {
    let mut told = Vec::new();
    let document = compare_document(comparison);
    document.terminal(&mut told).unwrap();
    let told = anstream::adapter::strip_str(&String::from_utf8(told).unwrap()).to_string();
    let texts = [document.page(), document.markdown(), told];
    for text in &texts {
        for part in parts {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
    }
    texts
}

#[test]
fn every_text_says_what_differs_and_what_was_not_covered() {
    let two = vec![
        compared("one", "1.0", Some("other")),
        compared("one", "2.0", Some("other")),
        compared("two", "1.0", None),
    ];
    let shown = comparison(two, Vec::new());
    let parts = ["2 of 3 cassettes differ", "turn 1, +7 ms: other", "All the rest.", "git:x"];
    let [page, text, told] = check(&shown, &parts);
    assert!(page.contains("<ins>other</ins>") && page.contains("<del>A</del>"), "{page}");
    assert!(page.contains("It differs in the same way as 1.0."), "{page}");
    assert!(page.contains("1 cassette, in every lane"), "{page}");
    assert!(page.contains("A  clitape replay x\nB  other replay x"), "{page}");
    assert!(text.contains("- equal: 1\n- differ in timing: 0\n- differ in text: 2\n"), "{text}");
    assert!(told.contains("A  this (revision abc)\nB  git:x (revision abc)\n"), "{told}");
    assert_eq!(page.matches("<details open>").count(), 1);
}

#[test]
fn reasons_stand_once_each_with_their_places() {
    let mut all = failed("it hangs", 8);
    all.extend(failed("it ended", 1));
    let shown = comparison(vec![compared("one", "1.0", None)], all);
    assert!(!shown.holds());
    let lines = ["it hangs [s 0; s 1; s 2; s 3; s 4; s 5; 2 more]", "it ended [s 0]"];
    let verdict = "nothing differs in 1 cassette; 9 replays could not be compared";
    check(&shown, &[&lines[..], &[verdict]].concat());
}

#[test]
fn a_page_of_everything_stays_small() {
    let long = "x".repeat(1_000);
    let all = (0..4_000).map(|i| compared(&format!("s{i}"), "1.0", Some(&long))).collect();
    let [page, text, told] = check(&comparison(all, Vec::new()), &["4000 of 4000"]);
    assert!(page.len() < 9_000_000, "{}", page.len());
    assert!(page.contains("The page is full: compare this scenario alone."));
    assert!(text.len() < 80_000 && told.len() < 80_000, "{} {}", text.len(), told.len());
}

#[test]
fn recorded_text_is_text() {
    let odd = "</pre><script>alert(1)</script>\u{1b}[31m```\u{202e}";
    let shown = comparison(vec![compared(odd, "2.1.329", Some(odd))], failed(odd, 1));
    let [page, text, told] = check(&shown, &[]);
    assert!(!page.contains("<script"), "{page}");
    for text in [&page, &text, &told] {
        let turns = text.chars().find(|c| *c == '\u{202e}' || (c.is_control() && *c != '\n'));
        assert_eq!(turns, None, "{text}");
    }
    assert!(text.contains(" ````turn 1, "), "{text}");
}
