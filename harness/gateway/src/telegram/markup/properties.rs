//! Properties of the pieces of any Markdown, whole and in its drafts.

use proptest::prelude::*;
use pulldown_cmark::{Event, Tag, TagEnd};

use super::super::page::pages;
use super::{events, finished, mend, read};
use crate::profile::{DISCORD, Profile, SLACK, TELEGRAM, length};

/// Returns the letters that a person reads of `markdown`, by its parser alone. The address of a link
/// is one of the texts where the link has no words, or can't be followed.
fn expected_letters(markdown: &str) -> String {
    let (mut all, mut links) = (String::new(), Vec::<(String, String)>::new());
    let mut is_in_table = false;
    for (event, _) in events(markdown) {
        let text = match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                text.into_string()
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push((dest_url.into_string(), String::new()));
                continue;
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let (url, words) = links.pop().unwrap();
                let is_followed = url.starts_with("https://") && !is_in_table;
                if !words.is_empty() && (is_followed || url == words) {
                    continue;
                }
                url
            }
            Event::Start(Tag::Table(_)) => {
                is_in_table = true;
                continue;
            }
            Event::End(TagEnd::Table) => {
                is_in_table = false;
                continue;
            }
            _ => continue,
        };
        links.iter_mut().for_each(|(_, words)| words.push_str(&text));
        all.extend(letters(&text));
    }
    all
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_alphabetic())
}

/// The letters of Telegram HTML; fails where a tag or an entity is not whole.
fn shown(html: &str) -> Result<String, TestCaseError> {
    let mut text = String::new();
    let mut open = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '>']) {
        text.push_str(&rest[..at]);
        prop_assert!(rest[at..].starts_with('<'), "{html}");
        let end = rest.find('>').ok_or_else(|| TestCaseError::fail(html.to_owned()))?;
        let tag = &rest[at + 1..end];
        match tag.strip_prefix('/') {
            Some(name) => prop_assert_eq!(open.pop(), Some(name), "{}", html),
            None => open.push(tag.split(' ').next().unwrap_or_default()),
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    prop_assert!(open.is_empty(), "{html}");
    let entities = ["&lt;", "&gt;", "&amp;"];
    let text = entities.iter().fold(text, |text, entity| text.replace(entity, " "));
    prop_assert!(!text.contains('&'), "{html}");
    Ok(letters(&text).collect())
}

fn markdown() -> impl Strategy<Value = String> {
    markdown_without(&[])
}

/// Markdown without parts that contain one of `marks`.
fn markdown_without(marks: &[char]) -> impl Strategy<Value = String> + use<> {
    let mut parts = vec![
        "word",
        "Ünï",
        " ",
        "\n",
        "\n\n",
        "**",
        "*",
        "_",
        "~~",
        "`",
        "```",
        "```rust\n",
        "\n```\n",
        "- ",
        "  - ",
        "1. ",
        "# ",
        "> ",
        "| a | b |\n|---|---|\n| c | d |\n",
        "[x](https://y.z)",
        "[",
        "](",
        ")",
        "<b>",
        "</div>",
        "<",
        "&",
        "&amp;",
        "\\",
        "---",
        "===",
        "👩‍👩‍👧",
        "é",
        "- [ ] ",
        "long long long words that fill a page sooner",
    ];
    parts.retain(|part| !part.contains(marks));
    prop::collection::vec(prop::sample::select(parts), 0..40).prop_map(|parts| parts.concat())
}

#[test]
pub(crate) fn v5_pages_say_what_the_markdown_says() {
    proptest!(|(text in markdown(), limit in 90_usize..400)| {
        let profile = Profile { limit, ..TELEGRAM };
        let pages = pages(&read(&text), &profile);
        let mut all = String::new();
        for page in &pages {
            prop_assert!(length(page) <= limit, "{page}");
            all += &shown(page)?;
        }
        prop_assert_eq!(all, expected_letters(&text));
    });
}

#[test]
fn v8_every_draft_is_valid() {
    proptest!(|(text in markdown())| {
        for (at, _) in text.char_indices() {
            for draft in [&mend(&text[..at]), finished(&text[..at])] {
                for page in pages(&read(draft), &TELEGRAM) {
                    shown(&page)?;
                }
            }
        }
    });
}

/// The marks that are left out can change the lines before them: a line of `===` makes a heading of
/// the paragraph before it, a line of `***` is a rule until a letter follows, and an indented line
/// continues the list or the code before it.
#[test]
fn v1_what_has_ended_stays() {
    proptest!(|(
        text in markdown_without(&['|', '[', '>', '-', '=', '`', '*', '_', '.', ' ']),
    )| {
        let mut before = 0;
        for (at, _) in text.char_indices() {
            let ended = finished(&text[..at]).len();
            prop_assert!(ended >= before, "{:?}: {} < {}", &text[..at], ended, before);
            before = ended;
        }
    });
}

#[test]
fn v1_blanks_after_a_block_do_not_reopen_it() {
    proptest!(|(blanks in "[ \t]{0,3}")| {
        let text = format!("word\n\n{blanks}");
        prop_assert_eq!(finished(&text), "word");
    });
}

#[test]
fn v10_other_profiles_keep_their_limits() {
    proptest!(|(text in markdown(), limit in 90_usize..400)| {
        for profile in [DISCORD, SLACK] {
            let profile = Profile { limit, ..profile };
            for page in pages(&read(&text), &profile) {
                prop_assert!(length(&page) <= limit, "{page}");
            }
        }
    });
}
