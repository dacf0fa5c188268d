//! Pages end where a reader would end them, and keep every word.

use proptest::prelude::*;

use super::super::markup::{Face, Style, piece, read};
use super::*;
use crate::profile::{DISCORD, SLACK, TELEGRAM, length};

fn check(pieces: &[StyledText], limit: usize, expect: &[&str]) {
    let profile = Profile { limit, ..TELEGRAM };
    let pages = pages(pieces, &profile);
    assert_eq!(pages, expect);
    assert_eq!(laid_out(pieces, &profile, limit), expect);
    let first = first_page(pieces, &profile, limit);
    assert_eq!(first, pages.first().map(|p| (p.clone(), pages.len() == 1)));
}

#[test]
pub(crate) fn v5_pages_end_at_words() {
    let plain = |text: &str| vec![piece(Style::PLAIN, text)];
    check(&plain("  \n "), 10, &[]);
    check(&plain(" one two "), 10, &["one two"]);
    check(&plain("0123456789 0123456789 tail"), 15, &["0123456789", "0123456789 tail"]);
    check(&plain("one two\n\nthree four"), 12, &["one two", "three four"]);
    check(&plain("abcdefghij"), 4, &["abcd", "efgh", "ij"]);
    // A character that is longer than a page has one of its own.
    check(&plain("&&"), 4, &["&amp;", "&amp;"]);
    check(&plain("a&b <c> d"), 9, &["a&amp;b", "&lt;c&gt;", "d"]);
    check(&plain("🦀🦀🦀"), 2, &["🦀🦀", "🦀"]);
    check(&plain("👩‍👩‍👧👩‍👩‍👧é🇩🇪"), 7, &["👩‍👩‍👧", "👩‍👩‍👧é", "🇩🇪"]);
    check(&read("ab **cd ef** gh"), 12, &["ab <b>cd</b>", "<b>ef</b> gh"]);
}

#[test]
fn v5_a_character_is_what_a_person_sees() {
    for text in
        ["", "a", "a\r\nb", "\r", "\r\r\n", "e\u{301}x", "x\u{200d}", "🇩🇪🇫🇷a", "👩‍👩‍👧b", "日本 語"]
    {
        assert!(graphemes(text).eq(text.graphemes(true)), "{text:?}");
    }
}

#[test]
pub(crate) fn v5_code_stays_code() {
    let block = |text: &str| piece(Style::block(""), text);
    check(
        &[piece(Style::PLAIN, "some words\n"), block("x = 1\ny = 2")],
        30,
        &["some words", "<pre>x = 1\ny = 2</pre>"],
    );
    check(&[block("  a b\n  c d\n  e f")], 23, &["<pre>  a b\n  c d</pre>", "<pre>  e f</pre>"]);
    // No page is blank.
    check(&[block("ab\n\n\n\n\n\n\ncd")], 14, &["<pre>ab\n</pre>", "<pre>\ncd</pre>"]);
    check(&[block("abcdef")], 15, &["<pre>abcd</pre>", "<pre>ef</pre>"]);
}

/// Takes tags and entities away, and then whitespace, which a seam may swallow.
fn letters(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        let close = rest[open..].find('>').expect("a tag is whole on its page");
        rest = &rest[open + close + 1..];
    }
    text.push_str(rest);
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    text.split_whitespace().collect()
}

#[test]
pub(crate) fn v5_nothing_is_lost_or_doubled_at_a_seam() {
    let text = "Wörds & <tags>, **bold _parts_** and `in line`; 日本語は空白がない 👩‍👩‍👧.\n\n\
                ```rust\nlet a = b && c;\n    indented(\"<x>\");\n```\n- list **x** y\n\n\
                > quoted [link](https://x.y)\n> here\n\n";
    for text in [text.to_owned(), text.repeat(7), "x".repeat(99), "a ".repeat(99)] {
        let pieces = read(&text);
        let whole: String = pieces.iter().flat_map(|p| p.text.split_whitespace()).collect();
        for limit in 80..200 {
            let profile = Profile { limit, ..TELEGRAM };
            let pages = pages(&pieces, &profile);
            let joined: String = pages.iter().map(|page| letters(page)).collect();
            assert_eq!(joined, whole, "limit {limit}");
            for page in &pages {
                let units = length(page);
                assert!(units <= limit, "{units} > {limit}: {page}");
                for tag in ["pre", "b", "i", "code", "a", "blockquote"] {
                    let count = |mark: String| page.matches(&mark).count();
                    let open = count(format!("<{tag}>")) + count(format!("<{tag} "));
                    assert_eq!(open, count(format!("</{tag}>")), "{page}");
                }
                assert!(!letters(page).is_empty(), "limit {limit}: an empty page");
            }
        }
    }
}

#[test]
fn v10_pages_are_within_the_limit_of_every_profile() {
    let text = "**Bold** _it_ & `co` > 2*3 <x>.\n\n> quote\n> more\n\n```rs\na ``` b\n```\n\n";
    for profile in [&TELEGRAM, &DISCORD, &SLACK] {
        let pages = pages(&read(&text.repeat(200)), profile);
        assert!(pages.len() > 2, "{}", profile.name);
        for page in pages {
            let units = length(&page);
            assert!(units <= profile.limit, "{}: {units}", profile.name);
            let is_fenced = profile.name != "telegram";
            assert!(!is_fenced || page.matches("```").count() % 2 == 0, "{page}");
        }
    }
}

fn pieces() -> impl Strategy<Value = Vec<StyledText>> {
    let face = prop_oneof![
        4 => Just(Face::Text),
        1 => Just(Face::Address),
        1 => Just(Face::Code),
        1 => "[a-z]{0,1}".prop_map(Face::Block),
    ];
    let style = (
        any::<(bool, bool)>(),
        proptest::option::weighted(0.2, Just("https://x.y/?a&b".into())),
        face,
    )
        .prop_map(|((quote, bold), link, face)| Style {
            quote,
            bold,
            link,
            face,
            ..Style::PLAIN
        });
    let text = prop_oneof![4 => "[a-c &<_`\n]{0,6}", 1 => "(a\u{301}|\u{600} |\r\n|🇩🇪|👩\u{200d}👧|日){0,3}"];
    let styled = (style, text).prop_map(|(style, text)| piece(style, text));
    proptest::collection::vec(styled, 0..5)
}

proptest! {
    #[test]
    fn what_fits_a_page_is_written_as_it_is_laid_out(
        pieces in pieces(),
        limit in 1_usize..120,
        profile in proptest::sample::select(&[&TELEGRAM, &DISCORD, &SLACK][..]),
    ) {
        if let Some(page) = whole(&pieces, profile, limit) {
            prop_assert_eq!(laid_out(&pieces, profile, limit), [page]);
        }
    }
}

#[test]
fn most_texts_are_written_as_they_are() {
    for (markdown, is_whole) in [
        ("A **bold** word & `a < b`.\n\n> quoted\n> more\n\n```rs\nx = 1\n```\n\nend", true),
        ("", false),
        ("```\na ` b\n```", false),
    ] {
        let found = whole(&read(markdown), &TELEGRAM, TELEGRAM.limit);
        assert_eq!(found.is_some(), is_whole, "{markdown}: {found:?}");
    }
    let blank_at_the_end = [piece(Style::PLAIN, "a ")];
    assert_eq!(whole(&blank_at_the_end, &TELEGRAM, TELEGRAM.limit), None);
}
