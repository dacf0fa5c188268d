//! Tests that a text that grows in the chat does not become shorter.

use super::*;

#[test]
fn sb015_a_text_that_grows_does_not_shrink() {
    let (more, less) = (&ANSWER[..60], &ANSWER[..40]);
    check(
        &good_but(1, &[edit(5_000, 7, more), edit(6_000, 7, less), edit(9_000, 7, ANSWER)]),
        &[K::TextTakenBack],
    );
    check(&good_but(1, &[edit(5_000, 7, less), edit(6_000, 7, more), edit(9_000, 7, ANSWER)]), &[]);
    check(
        &good_but(1, &[edit(5_000, 7, more), edit(6_000, 7, TOOLS), edit(9_000, 7, ANSWER)]),
        &[],
    );
}

#[test]
fn sb015_the_first_page_of_a_long_text_may_end_earlier_than_its_draft() {
    const LONG: &str = "markdown-pages/2.1.332";
    let cassette = Cassette::load(&root().join("cassettes").join(LONG)).unwrap();
    let answer = facts_of(&cassette).turn_facts()[0].answer.clone().unwrap();
    let part = |from: usize, to: usize| {
        let at = |length: usize| answer.floor_char_boundary(length);
        &answer[at(from)..at(to)]
    };
    let page = edit(9_000, 7, part(0, 1_500));
    let rest = (0..).zip(1..8).map(|(number, id)| {
        send(9_100, 7 + id, part(1_500 + 3_000 * number, 4_500 + 3_000 * number))
    });
    let rest: Vec<Entry> = rest.filter(|entry| !entry.text("text").is_empty()).collect();
    let draft = [send(1_000, 7, part(0, 1_000)), edit(5_000, 7, part(0, 2_500))];
    check_of(LONG, &[&draft[..], std::slice::from_ref(&page), &rest].concat(), &[]);
    let shorter = [edit(6_000, 7, part(0, 1_000)), page];
    check_of(LONG, &[&draft[..], &shorter, &rest].concat(), &[K::TextTakenBack]);
}

#[test]
fn sb015_the_source_of_a_link_gives_way_to_its_text() {
    let head = "A head x\n\nOne bo c**d ld and st in 2 ** 3, 2**3 a ` b *x* ";
    let check_drafts = |before: &str, after: &str, expect: &[K]| {
        let [before, after] = [before, after].map(|end| format!("{head}{end}"));
        let lines = [send(5_000, 7, &before), edit(6_000, 7, &after)];
        let cassette = "markdown-forms/2.1.332";
        // Most of the answer is missing.
        let expect = [&[K::AnswerNotWhole], expect].concat();
        check_seen(Seen { cassette, lines: &lines, ..Seen::default() }, &expect);
    };
    check_drafts("[web](https://x.example/a_(b)", "web", &[]);
    check_drafts("[web](https://x.example/a_(b)", "we", &[K::TextTakenBack]);
    check_drafts("web <https://y.exa", "web https://y.example", &[]);
    check_drafts(
        "[web](https://x.example/a_(b) \"t\") <https://y.example>.",
        "web https://y.example.",
        &[],
    );
    check_drafts(
        "[web](https://x.example/a_(b) \"t\") <https://y.example>.",
        "web https://y.",
        &[K::TextTakenBack],
    );
    check_drafts(
        "web https://y.example.\n\n• one t\n  wo x\n• [x] do",
        "web https://y.example.\n\n• one t\n  wo x\n☑ done",
        &[],
    );
}
