//! Compares the text of a message, without its markup, with the words of an answer.
//!
//! A gateway may send Markdown unchanged, HTML, MarkdownV2 or plain text with entities, may cut an answer into pages
//! anywhere, and may draw lists and tables in its own way. So an answer is compared by its letters and digits alone, in
//! pieces of some words ([`Piece`]). The parts that a renderer may leave out are in no piece: the address of a link,
//! the number of an item, the language of a code block, raw HTML.

use clitape_recording::text::quoted;
use clitape_recording::text::shown::markdown_options;
pub(crate) use clitape_recording::text::shown::{
    Piece, contains, letters, pieces, pieces_of_plain,
};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// The number of letters below which a piece may be in a text by chance.
pub(crate) const FEW_LETTERS: usize = 12;
/// A number of letters that is greater than the length of a scheme's name at the start of an address.
const BEGUN: usize = 6;
/// A letter or a digit of Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Letter {
    /// The letter in lower case.
    letter: char,
    /// True if every renderer shows it. The address of a link is shown until the link is closed.
    is_text: bool,
}

impl Letter {
    /// The letter in lower case.
    pub(crate) fn letter(&self) -> char {
        self.letter
    }

    /// Returns whether every renderer shows the letter.
    pub(crate) fn is_text(&self) -> bool {
        self.is_text
    }
}

/// The letters and digits of Markdown, in lower case.
pub(crate) fn letters_of_markdown(markdown: &str) -> Vec<Letter> {
    let mut is_text = vec![false; markdown.len()];
    let mut images = 0_usize;
    for (event, range) in Parser::new_ext(markdown, markdown_options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Image { .. }) => images += 1,
            Event::End(TagEnd::Image) => images = images.saturating_sub(1),
            Event::Text(_) | Event::Code(_) => {
                let is_shown = images == 0 && !markdown[range.clone()].starts_with('&');
                is_text[range].fill(is_shown);
            }
            _ => {}
        }
    }
    let all = markdown.char_indices().filter(|(_, c)| c.is_alphanumeric());
    let lower = |(at, c): (usize, char)| c.to_lowercase().map(move |letter| (at, letter));
    all.flat_map(lower).map(|(at, letter)| Letter { letter, is_text: is_text[at] }).collect()
}

/// The number of letters that every renderer shows and that are in `page`, one after another from the first one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ShownLetters {
    /// The number if the page shows all letters that it may leave out.
    pub(crate) at_least: usize,
    /// The number if the page leaves out all letters that it may.
    pub(crate) at_most: usize,
}

/// Counts the letters of `markdown` that are in the letters of a page; 0 if they may be there by chance.
pub(crate) fn shown_letters(markdown: &[Letter], page: &str) -> ShownLetters {
    let page: Vec<char> = page.chars().collect();
    let text = markdown.iter().position(|letter| letter.is_text).unwrap_or(markdown.len());
    let markdown = &markdown[text..];
    let first = markdown.first().map(|first| first.letter);
    let begins: Vec<usize> = (0..page.len()).filter(|at| Some(page[*at]) == first).collect();
    let at_least = begins.iter().map(|at| shown_from(markdown, &page[*at..])).max().unwrap_or(0);
    let at_most = shown_at_most(markdown, &page, begins);
    let by_chance = 2 * FEW_LETTERS;
    let sure = |count: usize| if count < by_chance { 0 } else { count };
    ShownLetters { at_least: sure(at_least), at_most: sure(at_most) }
}

/// Counts the letters that every renderer shows at the start of `page`. A run of the other letters is on the page as a
/// whole or not at all; one that has begun may continue there, so that the letters after it do not count.
fn shown_from(markdown: &[Letter], page: &[char]) -> usize {
    let (mut at, mut count) = (0, 0);
    for run in markdown.chunk_by(|a, b| a.is_text == b.is_text) {
        let pairs = run.iter().zip(&page[at..]);
        let same = pairs.take_while(|(own, shown)| own.letter == **shown).count();
        let is_text = run.iter().all(|letter| letter.is_text);
        let has_begun = same >= BEGUN || at + same == page.len();
        count += if is_text { same } else { 0 };
        match same == run.len() {
            true => at += same,
            false if is_text || has_begun => break,
            false => {}
        }
    }
    count
}

/// Counts the most letters that every renderer shows from one of these places on, where each other letter is shown or
/// not.
fn shown_at_most(markdown: &[Letter], page: &[char], mut places: Vec<usize>) -> usize {
    let mut count = 0;
    for Letter { letter, is_text } in markdown {
        let is_there = |at: &&usize| page.get(**at) == Some(letter);
        let mut next: Vec<usize> = places.iter().filter(is_there).map(|at| at + 1).collect();
        if *is_text && next.is_empty() {
            break;
        }
        if !is_text {
            next.append(&mut places);
            next.sort_unstable();
            next.dedup();
        }
        places = next;
        count += usize::from(*is_text);
    }
    count
}

/// Counts the occurrences of the piece in the pages.
pub(crate) fn count<S: AsRef<str>>(pages: &[S], piece: &str) -> usize {
    pages.iter().map(|page| page.as_ref().matches(piece).count()).sum()
}

/// Returns the last words of a subject, as a part of a sentence.
pub(crate) fn told(last_words: &str) -> String {
    match last_words.trim() {
        "" => "it printed nothing".to_owned(),
        words => format!("its last words are {}", quoted(words)),
    }
}

/// Formats a time for a person: `12.3 s`.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_of_a_page_are_those_that_every_renderer_shows() {
        let check = |markdown: &str, page: &str, expect: [usize; 2]| {
            let shown = shown_letters(&letters_of_markdown(markdown), &letters(page));
            assert_eq!([shown.at_least, shown.at_most], expect, "{markdown} {page}");
        };
        let text = "Abc def ghi jkl mno pqr stu vwx";
        check(text, "⏳ Abc def ghi jkl mno pqr stu vwx", [24, 24]);
        check(text, "Abc def ghi jkl mno pqr stu vw", [0, 0]);
        check(text, "bc def ghi jkl mno pqr stu vwx", [0, 0]);
        check(text, "Abc Abc def ghi jkl mno pqr stu vwx", [24, 24]);
        // An address may be shown, left out, or begun.
        let link = &format!("1. {text} [here](https://h.example \"t\") http");
        check(link, &format!("1. {text} [here](https://h.example \"t\") h"), [29, 32]);
        check(link, &format!("{text} [here](https:"), [28, 32]);
        check(link, &format!("{text} here"), [28, 28]);
        check(link, &format!("{text} here http"), [28, 32]);
        // The same applies to an image, raw HTML, entities, the box of a task and the language of code.
        let rest = format!("![i](j) <b a=\"k\"> &lt; {text}\n- [x] l\n\n```m\nn\n```");
        check(&rest, &format!("< {text} ☑ l n"), [26, 26]);
        check(&rest, &rest, [26, 26]);
        check("", "a", [0, 0]);
        check("![i](j)", "ij", [0, 0]);
    }
}
