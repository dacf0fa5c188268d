//! What holds for any Markdown, whole and in its drafts.

use proptest::prelude::*;
use pulldown_cmark::Event;

use super::super::page::pages;
use super::read::events;
use super::{finished, mend, read};
use crate::profile::{DISCORD, Profile, SLACK, TELEGRAM};

/// The letters of what `markdown` says, by its parser alone.
fn said(markdown: &str) -> String {
    let text = events(markdown).filter_map(|(event, _)| match event {
        Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
            Some(text)
        }
        _ => None,
    });
    text.flat_map(|text| letters(&text).collect::<Vec<_>>()).collect()
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
    let part = prop::sample::select(vec![
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
    ]);
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn v5_pages_say_what_the_markdown_says(text in markdown(), limit in 90_usize..400) {
        let profile = Profile { limit, ..TELEGRAM };
        let pages = pages(&read(&text), &profile);
        let mut all = String::new();
        for page in &pages {
            prop_assert!(profile.unit.count(page) <= limit, "{page}");
            all += &shown(page)?;
        }
        // An address is told beside the words of a link that can't be followed.
        if !text.contains("](") || !text.contains('[') {
            prop_assert_eq!(all, said(&text));
        }
    }

    #[test]
    fn v8_every_draft_is_valid(text in markdown()) {
        for (at, _) in text.char_indices() {
            for draft in [&mend(&text[..at]), finished(&text[..at])] {
                for page in pages(&read(draft), &TELEGRAM) {
                    shown(&page)?;
                }
            }
        }
    }

    #[test]
    fn v1_what_has_ended_stays(text in markdown()) {
        let mut before = 0;
        for (at, _) in text.char_indices() {
            let ended = finished(&text[..at]).len();
            if !text.contains(['|', '[', '>', '-', '=', '`']) {
                prop_assert!(ended >= before, "{:?} {:?}", &text[..at], &text[..before]);
            }
            before = ended;
        }
    }

    #[test]
    fn v10_other_profiles_keep_their_limits(text in markdown(), limit in 90_usize..400) {
        for profile in [DISCORD, SLACK] {
            let profile = Profile { limit, ..profile };
            for page in pages(&read(&text), &profile) {
                prop_assert!(profile.unit.count(&page) <= limit, "{page}");
            }
        }
    }
}
