//! The draft after a few events.

use std::time::Duration;

use super::*;
use crate::profile::{DISCORD, TELEGRAM, length};

mod random;

enum ComposeStep {
    Text(&'static str),
    /// The reasoning goes on.
    Thought(&'static str),
    /// Seconds go by.
    Wait(u64),
    /// The answer is this again: the text behind it was taken back.
    Back(&'static str),
    Start(&'static str, &'static str, Option<&'static str>),
    End(&'static str, bool, bool),
    /// A message of the person's became part of the turn.
    Heard(&'static str),
    /// A question holds a call back, or does so no longer.
    Hold(&'static str, bool),
}
use ComposeStep::{Back, End, Heard, Hold, Start, Text, Thought, Wait};

fn settings(mode: DraftMode) -> TelegramSettings {
    TelegramSettings { mode, ..TelegramSettings::default() }
}

fn compose(mode: DraftMode, ops: &[ComposeStep]) -> Option<String> {
    compose_with(settings(mode), ops)
}

fn compose_with(settings: TelegramSettings, ops: &[ComposeStep]) -> Option<String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true);
    runtime.build().expect("a runtime").block_on(compose_in(settings, ops))
}

async fn compose_in(settings: TelegramSettings, ops: &[ComposeStep]) -> Option<String> {
    let mut compositor = Compositor::new(settings);
    let (mut text, mut thought) = (String::new(), String::new());
    for op in ops {
        match *op {
            Thought(delta) => {
                thought.push_str(delta);
                compositor.text(TextLane::Thought, &thought);
            }
            Wait(seconds) => tokio::time::advance(Duration::from_secs(seconds)).await,
            Text(delta) => {
                text.push_str(delta);
                compositor.text(TextLane::Answer, &text);
            }
            Back(left) => {
                left.clone_into(&mut text);
                assert!(compositor.text(TextLane::Answer, &text), "the draft looks different");
            }
            Heard(text) => compositor.heard(text),
            Hold(id, holds) => compositor.hold(id, holds),
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

fn check(mode: DraftMode, ops: &[ComposeStep], expect: &str) {
    assert_eq!(compose(mode, ops).unwrap_or_default(), expect);
}

#[test]
pub(crate) fn q2_the_line_of_a_call_that_waits_says_so() {
    let asked = [Start("a", "Bash: a", None), Hold("a", true)];
    check(DraftMode::Partial, &asked, "Bash: a <i>⏸️ waits for your answer</i>");
    let [ask, hold] = asked;
    let rest = [ask, hold, Hold("a", false), Hold("b", true)];
    check(DraftMode::Partial, &rest, "Bash: a <i>running…</i>");
    let ended = [Start("a", "Bash: a", None), Hold("a", true), End("a", false, false)];
    check(DraftMode::Partial, &ended, "Bash: a");
}

#[test]
pub(crate) fn q9_a_message_that_was_heard_is_a_line() {
    let long = "wörter ".repeat(100);
    let long: &'static str = long.leak();
    check(
        DraftMode::Progress,
        &[Start("a", "Bash: a", None), Heard("by <the>\n way"), End("a", false, false)],
        "Bash: a\n💬 Heard: by &lt;the&gt; way",
    );
    let line = compose(DraftMode::Partial, &[Heard(long)]).expect("a line is worth a message");
    assert_eq!(line.chars().count(), "💬 Heard: ".chars().count() + 201);
}

#[test]
pub(crate) fn v2_a_line_belongs_to_its_call() {
    check(
        DraftMode::Partial,
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
pub(crate) fn v2_equal_neighbours_are_counted() {
    check(
        DraftMode::Partial,
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
pub(crate) fn u4_an_id_used_again_is_a_new_line() {
    check(
        DraftMode::Partial,
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
pub(crate) fn u5_tools_of_a_subagent_are_below_their_parent() {
    check(
        DraftMode::Progress,
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

/// A line that comes above a parent moves it, and the lines that come below it later.
#[test]
fn u5_lines_come_below_a_parent_that_others_have_moved() {
    check(
        DraftMode::Progress,
        &[
            Start("p", "Agent", None),
            Start("q", "Task", None),
            Start("d", "Glob", Some("q")),
            Start("c", "Grep", Some("p")),
            Start("e", "Bash", Some("q")),
        ],
        "Agent <i>running…</i>\n↳ Grep <i>running…</i>\n\
         Task <i>running…</i>\n↳ Glob <i>running…</i>\n↳ Bash <i>running…</i>",
    );
}

#[test]
pub(crate) fn v2_older_lines_fold() {
    let names = ["0", "1", "1", "3", "4", "5", "6", "7", "8", "9", "10"];
    let mut ops = vec![Text("Before.")];
    for name in names {
        ops.push(Start("x", name, None));
        ops.push(End("x", false, false));
    }
    check(DraftMode::Partial, &ops, "Before.\n\n+3 earlier\n3\n4\n5\n6\n7\n8\n9\n10");
}

#[test]
pub(crate) fn v3_lines_show_before_between_and_after_text() {
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
        DraftMode::Partial,
        &ops(),
        "A\n\nI read\nit.\n\nB <i>running…</i>\n\n<pre>open</pre>\n\nC <i>running…</i>",
    );
    check(DraftMode::Progress, &ops(), "A\nB <i>running…</i>\nC <i>running…</i>");
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
        DraftMode::Partial,
        &ops[..3],
        "I'll count them\n\nBash: wc <i>running…</i>\n\nThere are some of th",
    );
    check(DraftMode::Partial, &ops[..4], "I'll count them\n\nBash: wc <i>running…</i>");
    check(
        DraftMode::Partial,
        &ops,
        "I'll count them\n\nBash: wc <i>running…</i>\n\nThere are four.",
    );
    check(DraftMode::Progress, &ops, "Bash: wc <i>running…</i>");
}

#[test]
fn v3_text_taken_back_from_the_middle_leaves_what_still_begins_the_answer() {
    let ops =
        [Text("one"), Start("a", "Bash", None), Text("\n\ntwo\n\nthree"), Back("one\n\nthree")];
    check(DraftMode::Partial, &ops, "one\n\nBash <i>running…</i>\n\nthree");
    let ops = [Text("one"), Start("a", "Bash", None), Text("\n\ntwo three"), Back("one\n\ntwo")];
    check(DraftMode::Partial, &ops, "one\n\nBash <i>running…</i>\n\ntwo");
    // The text that differs from the new beginning goes, with all that came after it.
    let ops = [
        Text("one"),
        Start("a", "Bash", None),
        Thought("hm"),
        Text("\n\ntwo"),
        Start("b", "Read", None),
        Text("three"),
        Back("on"),
    ];
    check(DraftMode::Partial, &ops, "on\n\nBash <i>running…</i>\nRead <i>running…</i>");
    check(
        DraftMode::Partial,
        &[Text("one"), Start("a", "Bash", None), Back("")],
        "Bash <i>running…</i>",
    );
}

#[test]
pub(crate) fn v4_a_first_message_needs_a_line_or_thirty_characters() {
    check(DraftMode::Partial, &[Text("twenty-nine characters, <b>. ")], "");
    check(
        DraftMode::Partial,
        &[Text("thirty characters & no more: <")],
        "thirty characters &amp; no more: &lt;",
    );
    check(DraftMode::Partial, &[Text("x"), Start("a", "A", None)], "x\n\nA <i>running…</i>");
    check(DraftMode::Progress, &[Text("much text that is never shown here")], "");
}

#[test]
fn v5_a_long_draft_keeps_its_lines_and_the_newest_text() {
    let long = "&<> ".repeat(2_000).leak();
    let ops = [Text("old"), Start("a", "A", None), Text(long), Start("b", "B", None), Text("new")];
    let draft = compose(DraftMode::Partial, &ops).expect("there is a draft");
    assert!(draft.starts_with("…\n\nA <i>running…</i>\n\n&amp;&lt;"), "{draft}");
    assert!(draft.ends_with("&gt;…\n\nB <i>running…</i>\n\nnew"), "{draft}");
    assert!((3_900..=TELEGRAM.limit).contains(&length(&draft)), "{}", length(&draft));
}

#[test]
fn v5_text_beyond_the_draft_changes_nothing() {
    let mut compositor = Compositor::new(settings(DraftMode::Partial));
    let long = "word ".repeat(1_000);
    assert!(compositor.text(TextLane::Answer, &long));
    let draft = compositor.draft();
    let longer = long + "more";
    assert!(!compositor.text(TextLane::Answer, &longer));
    assert_eq!(compositor.draft(), draft);
    compositor.start("a", "A", None);
    assert!(compositor.text(TextLane::Answer, &(longer + "after")));
}

#[test]
fn v5_long_lines_fold_early() {
    let long: &str = "&".repeat(190).leak();
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let titles = [long, "B"].into_iter().cycle();
    let ops: Vec<ComposeStep> =
        ids.iter().zip(titles).map(|(id, title)| Start(id, title, None)).collect();
    let draft = compose(DraftMode::Partial, &ops).expect("there is a draft");
    assert!(draft.starts_with("+3 earlier\nB"), "{draft}");
    assert!(length(&draft) <= TELEGRAM.limit, "{}", length(&draft));
}

#[test]
pub(crate) fn v1_block_mode_shows_blocks_that_have_ended() {
    let ops = [
        Text("Hm.\n\nSecond **par"),
        Text("agraph**\ngoes on"),
        Text("\n\n```\ncode\n"),
        Text("```\n"),
        Text("last"),
        Start("a", "A", None),
        Text("\n\nafter"),
    ];
    check(DraftMode::Block, &ops[..1], "Hm.");
    check(DraftMode::Block, &ops[..2], "Hm.");
    let two = "Hm.\n\nSecond <b>paragraph</b>\ngoes on";
    check(DraftMode::Block, &ops[..3], two);
    check(DraftMode::Block, &ops[..4], &format!("{two}\n\n<pre>code</pre>"));
    check(DraftMode::Block, &ops[..5], &format!("{two}\n\n<pre>code</pre>"));
    let line = format!("{two}\n\n<pre>code</pre>\nlast\n\nA <i>running…</i>");
    check(DraftMode::Block, &ops[..6], &line);
    check(DraftMode::Block, &ops, &line);
}

#[test]
fn v1_block_mode_looks_again_when_a_line_ends() {
    let mut compositor = Compositor::new(settings(DraftMode::Block));
    for (text, expect) in [("one", true), ("one two", false), ("one two\n\n", true)] {
        assert_eq!(compositor.text(TextLane::Answer, text), expect, "{text}");
    }
}

fn check_reasoning(mode: DraftMode, ops: &[ComposeStep], expect: &str) {
    let time_of_day = Duration::from_secs(24 * 60 * 60 - 5);
    let settings = TelegramSettings { mode, reasoning: true, time_of_day, ..settings(mode) };
    let draft = compose_with(settings, ops);
    assert_eq!(draft.unwrap_or_default(), expect, "{mode:?}");
}

#[test]
pub(crate) fn v9_reasoning_is_among_lines_with_the_time() {
    let ops = [
        Thought("I look at *the* <file>."),
        Wait(2),
        Start("a", "📖 Read: from /etc/hosts", None),
        Wait(19),
        Wait(30),
        End("a", true, false),
        Thought("\n\nIt is not there."),
        Text("There is none."),
    ];
    let thought = "<i>I look at *the* &lt;file&gt;.</i>";
    let line = "[23:59:57] 📖 Read: from /etc/hosts";
    check_reasoning(DraftMode::Partial, &ops[..4], &format!("{thought}\n\n{line} <i>running…</i>"));
    let running = format!("{thought}\n\n{line} <i>40s — 00:00:37</i>");
    check_reasoning(DraftMode::Progress, &ops[..5], &running);
    let ended = format!("{thought}\n\n{line} <i>⚠️ failed</i>\n\n<i>It is not there.</i>");
    check_reasoning(DraftMode::Progress, &ops, &ended);
    check_reasoning(DraftMode::Partial, &ops, &format!("{ended}\n\nThere is none."));
    check(DraftMode::Progress, &ops, "📖 Read: from /etc/hosts <i>⚠️ failed</i>");
}

#[test]
fn v9_long_reasoning_shows_its_end() {
    let long: &str = "word ".repeat(1_000).leak();
    let expect = format!("<i>… {}end</i>", "word ".repeat(199));
    check_reasoning(DraftMode::Progress, &[Thought(long), Thought("end")], &expect);
}

#[test]
fn v10_the_draft_of_another_profile() {
    let long: &str = "word * ".repeat(1_000).leak();
    let ops = [Text("**a** b"), Start("a", "Read: a_b", None), Text(long)];
    let settings = TelegramSettings { profile: &DISCORD, ..settings(DraftMode::Partial) };
    let draft = compose_with(settings, &ops).expect("there is a draft");
    assert!(draft.contains("Read: a\\_b *running…*\n\nword \\* word"), "{draft}");
    assert!((1_800..=2_000).contains(&length(&draft)), "{}", draft.len());
}

#[test]
fn v2_calls_that_folded_are_counted_and_change_no_line() {
    let mut ops = vec![];
    for name in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        ops.push(Start(name, name, None));
    }
    ops.push(End("0", true, false));
    ops.push(End("9", true, false));
    let draft = compose(DraftMode::Progress, &ops).expect("there is a draft");
    assert!(draft.starts_with("+2 earlier\n2 <i>running…</i>\n3"), "{draft}");
    assert!(draft.ends_with("8 <i>running…</i>\n9 <i>⚠️ failed</i>"), "{draft}");
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_that_is_taken_back_looks_as_one_that_never_had_more() {
    let long = "long words ".repeat(10_000);
    let draft = |texts: &[&str]| {
        let mut compositor = Compositor::new(TelegramSettings::default());
        for text in texts {
            compositor.text(TextLane::Answer, text);
        }
        assert_eq!(compositor.seen[0], texts[texts.len() - 1].len());
        compositor.draft()
    };
    for left in [&long[..99_000], &long[..50_000], &long[..300]] {
        let again = format!("{left}and more");
        assert_eq!(draft(&[&long, left, &again]), draft(&[&again]), "{}", left.len());
    }
}
