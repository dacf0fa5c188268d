//! Answers with words for the host, whole and cut anywhere.

use super::*;

/// Reads `text` whole, cut once at each place, and character by character: the answer is `expect`, and what a person
/// sees while it grows never becomes shorter.
fn check(text: &str, expect: &str) {
    let whole = PersonAnswer::of(text);
    assert_eq!(whole.text, expect, "{text:?}");
    let places = text.char_indices().map(|(at, _)| at);
    let cuts = places.clone().map(|at| vec![&text[..at], &text[at..]]);
    let characters = places.map(|at| &text[at..text.ceil_char_boundary(at + 1)]).collect();
    for deltas in cuts.chain([characters]) {
        let mut answer = GrowingAnswer::default();
        let mut before = String::new();
        for delta in &deltas {
            answer.push(delta);
            let now = answer.growing();
            assert!(now.starts_with(&before), "{deltas:?}: {before:?} became {now:?}");
            before = now.to_owned();
        }
        assert!(before.len() <= text.len(), "{deltas:?}");
        let shown = before.trim().to_owned();
        let end = answer.end();
        assert!(end.text.starts_with(&shown), "{deltas:?}: {shown:?} stays, {:?}", end.text);
        assert_eq!(end, whole, "{deltas:?}");
    }
}

#[test]
pub(crate) fn g3_a_word_for_silence_is_never_shown() {
    for word in SILENT_WORDS {
        for text in [word.to_owned(), format!(" \n{word}\n\n"), format!("{word}\n{word}")] {
            check(&text, "");
            assert!(PersonAnswer::of(&text).is_silent, "{text:?}");
        }
        for (text, expect) in [
            (format!("I'll look at the tasks.\n\n{word}"), "I'll look at the tasks."),
            (format!("Grüße 🛠️\r\n{word}\r\n"), "Grüße 🛠️"),
            (format!("- one\n- two\n  {word} \n\n"), "- one\n- two"),
        ] {
            check(&text, expect);
            assert!(!PersonAnswer::of(&text).is_silent, "{text:?}");
        }
    }
}

#[test]
pub(crate) fn g3_a_text_about_a_word_for_silence_stays() {
    for text in [
        "NO",
        "N",
        "NO_REPLY_AT_ALL",
        "NO_REPLY is the word.",
        "The word is NO_REPLY",
        "NO_REPLY\n\nBut one thing: the disk is full.",
        "```\nNO_REPLY\n```",
        "~~~text\nNO_REPLY",
        "`NO_REPLY`",
        "no_reply",
        "Nothing else.",
    ] {
        check(text, text);
        assert!(!PersonAnswer::of(text).is_silent, "{text:?}");
    }
    assert!(!PersonAnswer::of(" \n").is_silent);
}

#[test]
pub(crate) fn v11_directives_are_left_out() {
    for (text, expect) in [
        ("[[reply_to_current]] Hello", "Hello"),
        ("[[ reply_to: 123 ]]\nHello", "Hello"),
        ("Hello [[audio_as_voice]]", "Hello"),
        ("<final>Hello</final>", "Hello"),
        ("Here it is:\nMEDIA:/tmp/plot.png\nSee it?", "Here it is:\nSee it?"),
        ("MEDIA: https://example.org/a.png", ""),
        ("[[[reply_to_current]]x", "[x"),
    ] {
        check(text, expect);
        assert!(!PersonAnswer::of(text).is_silent, "{text:?}");
    }
    for text in [
        "[[wiki page]] and [a](b)",
        "[[reply_to_current",
        "[[reply_to: 1\n]]",
        "`[[reply_to_current]]` quotes the message, `<final>` ends it",
        "```\n<final>\n[[reply_to_current]]\nMEDIA:/tmp/plot.png\n```",
        "MEDIA: the press says so.",
        "MEDIA:",
        "<finally> <f",
        "a < b && c > d",
    ] {
        check(text, text);
    }
}

/// A call as text, in tags with the prefix `ns`.
fn written(ns: &str) -> String {
    format!(
        "<{ns}invoke name=\"Bash\">\n<{ns}parameter name=\"command\">ls\n\n-la</{ns}parameter>\n</{ns}invoke>"
    )
}

#[test]
pub(crate) fn v11_a_tool_call_that_is_written_as_text_is_no_answer() {
    for ns in ["", concat!("antml", ":")] {
        let call = written(ns);
        for (text, expect) in [
            (call.clone(), ""),
            (format!("I'll look.\n\n{call}"), "I'll look."),
            (format!("I'll look.\n\ncall\n{call}\n\nDone."), "I'll look.\n\n\n\nDone."),
            (format!("count\n\n<{ns}function_calls>\n{call}\n{call}\n</{ns}function_calls>\n"), ""),
            (format!("<{ns}invoke name=\"mcp__a__b\"></{ns}invoke> done"), "done"),
            (
                format!("A.\n<{ns}invoke name=\"Read\">\n<{ns}parameter name=\"path\">/etc\n\nB."),
                "A.\nB.",
            ),
            (format!("A.\n<{ns}invoke name=\"Read\">\n<{ns}parameter name=\"path\">/etc"), "A."),
        ] {
            check(&text, expect);
            assert!(PersonAnswer::of(&text).has_written_call, "{text:?}");
        }
        for text in [
            format!("```xml\n{call}\n```"),
            format!(
                "A call begins with `<{ns}invoke name=\"Bash\">`, then <{ns}parameter name=\"x\">."
            ),
            format!("<{ns}invoke name=\"Bash\">"),
            format!("<{ns}invoke name=\"\"><{ns}parameter name=\"x\">"),
            "call\nme".to_owned(),
            "court".to_owned(),
        ] {
            check(&text, &text);
            assert!(!PersonAnswer::of(&text).has_written_call, "{text:?}");
        }
    }
}

#[test]
fn a_block_of_code_ends_with_as_many_marks_as_it_began() {
    for text in [
        "````\n```\nNO_REPLY\n````\nNO_REPLY",
        "```\nx\n``` y\nNO_REPLY\n```\nNO_REPLY",
        "```\nx\n~~~\nNO_REPLY\n```\nNO_REPLY",
        "``` a ``` b\nNO_REPLY",
    ] {
        let expect = text.strip_suffix("\nNO_REPLY").expect("the word is the last line");
        check(text, expect);
    }
}

#[test]
fn a_text_is_held_back_no_longer_than_words_for_the_host_are() {
    let long = "x".repeat(HELD_LIMIT);
    for text in [
        format!("MEDIA:/{long}\nend"),
        format!("[[reply_to:{long}]]"),
        format!("<invoke name=\"{long}\"><parameter name=\"x\">"),
    ] {
        check(&text, &text);
    }
    let fits = |around: &str| &long[around.len()..];
    check(&format!("[[reply_to:{}]]", fits("[[reply_to:]]")), "");
    check(&format!("MEDIA:/{}\nend", fits("MEDIA:/\n")), "end");
}
