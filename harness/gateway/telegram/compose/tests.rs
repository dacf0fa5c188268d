//! What the draft shows after a few events.

use super::super::page::{LIMIT, units};
use super::*;

enum Op {
    Text(&'static str),
    /// The answer is this again: what it had more was taken back.
    Back(&'static str),
    Start(&'static str, &'static str, Option<&'static str>),
    End(&'static str, bool, bool),
}
use Op::{Back, End, Start, Text};

fn compose(mode: Mode, ops: &[Op]) -> Option<String> {
    let mut compositor = Compositor::new(mode);
    let mut text = String::new();
    for op in ops {
        match *op {
            Text(delta) => {
                text.push_str(delta);
                compositor.text(&text);
            }
            Back(left) => {
                left.clone_into(&mut text);
                assert!(compositor.text(&text), "the draft looks different");
            }
            Start(id, title, parent) => compositor.start(id, title, parent),
            End(id, is_error, is_incomplete) => compositor.tool(&Tool::Result {
                id: id.to_owned(),
                name: String::new(),
                is_error,
                result: serde_json::Value::Null,
                incomplete: is_incomplete.then_some(clitape_stream::Incomplete::Incomplete),
                parent: None,
            }),
        }
    }
    compositor.draft()
}

fn check(mode: Mode, ops: &[Op], expect: &str) {
    assert_eq!(compose(mode, ops).unwrap_or_default(), expect);
}

#[test]
fn v2_a_line_belongs_to_its_call() {
    check(
        Mode::Partial,
        &[
            Start("a", "Read: <a>", None),
            Start("b", "Read: b", None),
            Start("c", "Bash: c", None),
            Start("d", "Bash: d", None),
            End("b", true, false),
            End("a", false, false),
            End("d", false, true),
            End("unknown", false, false),
        ],
        "Read: &lt;a&gt;\nRead: b <i>⚠️ failed</i>\nBash: c <i>running…</i>\n\
         Bash: d <i>⚠️ no result</i>",
    );
}

#[test]
fn v2_equal_neighbours_are_counted() {
    check(
        Mode::Partial,
        &[
            Start("a", "Read: x", None),
            End("a", false, false),
            Start("b", "Read: x", None),
            End("b", false, false),
            Start("c", "Read: x", None),
        ],
        "Read: x ×2\nRead: x <i>running…</i>",
    );
}

#[test]
fn u4_an_id_used_again_is_a_new_line() {
    check(
        Mode::Partial,
        &[
            Start("a", "one", None),
            End("a", false, false),
            Start("a", "two", None),
            End("a", true, false),
        ],
        "one\ntwo <i>⚠️ failed</i>",
    );
}

#[test]
fn u5_tools_of_a_subagent_stand_below_their_parent() {
    check(
        Mode::Progress,
        &[
            Start("p", "Agent", None),
            Start("q", "Read", None),
            Start("c", "Grep", Some("p")),
            Start("e", "Glob", Some("c")),
            Start("d", "Bash", Some("p")),
            Start("x", "Skill", Some("lost")),
        ],
        "Agent <i>running…</i>\n↳ Grep <i>running…</i>\n↳ ↳ Glob <i>running…</i>\n\
         ↳ Bash <i>running…</i>\nRead <i>running…</i>\n↳ Skill <i>running…</i>",
    );
}

#[test]
fn v2_older_lines_fold() {
    let names = ["0", "1", "1", "3", "4", "5", "6", "7", "8", "9", "10"];
    let mut ops = vec![Text("Before.")];
    for name in names {
        ops.push(Start("x", name, None));
        ops.push(End("x", false, false));
    }
    check(Mode::Partial, &ops, "Before.\n\n+3 earlier\n3\n4\n5\n6\n7\n8\n9\n10");
}

#[test]
fn v3_lines_show_before_between_and_after_text() {
    let ops = || {
        [
            Start("a", "A", None),
            Text("I read\nit.\n"),
            End("a", false, false),
            Start("b", "B", None),
            Text("\n\n```\nopen"),
            Start("c", "C", None),
        ]
    };
    check(
        Mode::Partial,
        &ops(),
        "A\n\nI read\nit.\n\nB <i>running…</i>\n\n<pre>open</pre>\n\nC <i>running…</i>",
    );
    check(Mode::Progress, &ops(), "A\nB <i>running…</i>\nC <i>running…</i>");
}

#[test]
fn v3_text_that_is_taken_back_goes_and_lines_stay() {
    let ops = [
        Text("I'll count them"),
        Start("a", "Bash: wc", None),
        Text("\n\nThere are some of th"),
        Back("I'll count them"),
        Text("\n\nThere are four."),
    ];
    check(
        Mode::Partial,
        &ops[..3],
        "I'll count them\n\nBash: wc <i>running…</i>\n\nThere are some of th",
    );
    check(Mode::Partial, &ops[..4], "I'll count them\n\nBash: wc <i>running…</i>");
    check(Mode::Partial, &ops, "I'll count them\n\nBash: wc <i>running…</i>\n\nThere are four.");
    check(Mode::Progress, &ops, "Bash: wc <i>running…</i>");
}

#[test]
fn v3_text_taken_back_from_the_middle_leaves_what_still_begins_the_answer() {
    let ops =
        [Text("one"), Start("a", "Bash", None), Text("\n\ntwo\n\nthree"), Back("one\n\nthree")];
    check(Mode::Partial, &ops, "one\n\nBash <i>running…</i>\n\nthree");
    check(
        Mode::Partial,
        &[Text("one"), Start("a", "Bash", None), Back("")],
        "Bash <i>running…</i>",
    );
}

#[test]
fn v4_a_first_message_needs_a_line_or_thirty_characters() {
    check(Mode::Partial, &[Text("twenty-nine characters, <b>. ")], "");
    check(
        Mode::Partial,
        &[Text("thirty characters & no more: <")],
        "thirty characters &amp; no more: &lt;",
    );
    check(Mode::Partial, &[Text("x"), Start("a", "A", None)], "x\n\nA <i>running…</i>");
    check(Mode::Progress, &[Text("much text that is never shown here")], "");
}

#[test]
fn v5_a_long_draft_keeps_its_lines_and_the_newest_text() {
    let long = "&<> ".repeat(2_000).leak();
    let ops = [Text("old"), Start("a", "A", None), Text(long), Start("b", "B", None), Text("new")];
    let draft = compose(Mode::Partial, &ops).expect("there is a draft");
    assert!(draft.starts_with("…\n\nA <i>running…</i>\n\n&amp;&lt;"), "{draft}");
    assert!(draft.ends_with("&gt;…\n\nB <i>running…</i>\n\nnew"), "{draft}");
    assert!((3_900..=LIMIT).contains(&units(&draft)), "{}", units(&draft));
}

#[test]
fn v5_text_beyond_the_draft_changes_nothing() {
    let mut compositor = Compositor::new(Mode::Partial);
    let long = "word ".repeat(1_000);
    assert!(compositor.text(&long));
    let draft = compositor.draft();
    let longer = long + "more";
    assert!(!compositor.text(&longer));
    assert_eq!(compositor.draft(), draft);
    compositor.start("a", "A", None);
    assert!(compositor.text(&(longer + "after")));
}

#[test]
fn v5_long_lines_fold_early() {
    let long: &str = "&".repeat(190).leak();
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let titles = [long, "B"].into_iter().cycle();
    let ops: Vec<Op> = ids.iter().zip(titles).map(|(id, title)| Start(id, title, None)).collect();
    let draft = compose(Mode::Partial, &ops).expect("there is a draft");
    assert!(draft.starts_with("+3 earlier\nB"), "{draft}");
    assert!(units(&draft) <= LIMIT, "{}", units(&draft));
}
