//! Compares the words of a text with the messages that a person was shown. A chat may cut the text into pages, wrap it,
//! colour it, escape it, write it as JSON, or mask a possible secret in it.
//!
//! The subject of a button is compared character by character, without blanks. A text in Markdown is compared by its
//! letters and digits alone, in pieces of some words. A chat may write a line number or the sign of a difference
//! between two lines, a page number around a page, and a mask for a secret. No other text may be missing or come
//! between.

use std::collections::{BTreeSet, HashSet};

use clitape_gateway::sanitise;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::safe::marked;

/// The number of words of a piece.
const WORDS: usize = 6;
/// The most characters that a gateway writes around a page, such as `(2/3)`.
const AROUND_PAGE: usize = 60;

/// Some consecutive words of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The letters and digits in lower case.
    pub letters: String,
    /// The words as they are written.
    pub words: String,
}

/// The messages shown so far.
#[derive(Debug, Clone, Default)]
pub struct ShownTexts {
    /// The letters of each message.
    letters: Vec<String>,
    /// Each message unchanged, read as JSON, and read as JSON in a string of JSON.
    readings: [MessagePages; 3],
    /// The hiding characters in the messages as they were sent.
    hidden: BTreeSet<char>,
}

impl ShownTexts {
    /// Adds the text of a message, without its markup.
    pub fn add(&mut self, text: &str) {
        self.letters.push(letters(text));
        let once = unescaped(text);
        let twice = unescaped(&once);
        for (pages, text) in self.readings.iter_mut().zip([text, &once, &twice]) {
            pages.add(text);
        }
    }

    /// Records the characters of a message, as it was sent, that hide or change the order of reading.
    pub fn note_hidden(&mut self, sent: &str) {
        self.hidden.extend(hidden(sent));
    }

    /// Returns the first character of `text` that hides, or changes the order of reading, and was shown unchanged.
    pub fn hides(&self, text: &str) -> Option<char> {
        hidden(text).find(|c| self.hidden.contains(c))
    }

    /// Adds a text that does not continue in the next one.
    pub fn add_alone(&mut self, text: &str) {
        self.add(text);
        self.add("");
    }

    /// Returns the first words of `text` that no message shows; `None` if all of it is there, in order. A secret may be
    /// masked.
    pub fn lack(&self, text: &str) -> Option<String> {
        self.lacking(&ShownNeedle::text(text))
    }

    /// Returns the first words of a key and its values, in order, that no message shows.
    pub fn lack_field(&self, key: &str, values: &[String]) -> Option<String> {
        self.lacking(&ShownNeedle::field(key, values))
    }

    /// Returns the first words of a text in Markdown that no message shows.
    pub fn lack_markdown(&self, markdown: &str) -> Option<String> {
        let pages: Vec<&str> = self.letters.iter().map(String::as_str).collect();
        let is_missing =
            |piece: &Piece| !contains(&pages, &piece.letters) && self.lack(&piece.words).is_some();
        pieces(markdown).into_iter().find(is_missing).map(|piece| piece.words)
    }

    /// Returns the words that are missing in the reading with most of the text.
    fn lacking(&self, needle: &ShownNeedle) -> Option<String> {
        let mut most: Option<(usize, String)> = None;
        for pages in &self.readings {
            let lack = pages.lack(needle)?;
            most = most.filter(|most| most.0 >= lack.0).or(Some(lack));
        }
        most.map(|(_, words)| words)
    }
}

/// Returns the hiding characters of a text, without those that end a line.
fn hidden(text: &str) -> impl Iterator<Item = char> + '_ {
    let hides = |(c, hides): &(char, bool)| *hides && !matches!(c, '\n' | '\r' | '\t');
    marked(text).filter(hides).map(|(c, _)| c)
}

/// Decodes the JSON escapes in a text.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        if let Some(escape) = after.strip_prefix('u')
            && let Some(Ok(first)) = escape.get(..4).map(|code| u16::from_str_radix(code, 16))
        {
            let second = escape[4..].strip_prefix("\\u").and_then(|code| code.get(..4));
            let second = second.and_then(|code| u16::from_str_radix(code, 16).ok());
            let pair: Vec<u16> = [first].into_iter().chain(second).collect();
            let read = char::decode_utf16(pair).next().and_then(Result::ok);
            out.extend(read);
            let is_pair = read.is_some_and(|c| c.len_utf16() == 2);
            rest = &escape[if is_pair { 10 } else { 4 }..];
            continue;
        }
        let mut letters = after.chars();
        out.extend(letters.next().map(|escape| match escape {
            'n' => '\n',
            't' | 'r' | 'b' | 'f' => ' ',
            other => other,
        }));
        rest = letters.as_str();
    }
    out + rest
}

/// Returns the letters and digits of a text, in lower case.
pub fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the pieces of an answer in Markdown, without the parts that a renderer may leave out and without secrets,
/// which a gateway may mask, and control sequences, which it may strip.
pub fn pieces(markdown: &str) -> Vec<Piece> {
    let mut runs = vec![String::new()];
    let mut images = 0_usize;
    for (event, range) in Parser::new_ext(markdown, markdown_options()).into_offset_iter() {
        let run = runs.last_mut();
        match (event, run) {
            (Event::Start(Tag::Image { .. }), _) => images += 1,
            (Event::End(TagEnd::Image), _) => images = images.saturating_sub(1),
            (Event::Text(text), Some(run))
                if images == 0 && !markdown[range.clone()].starts_with('&') =>
            {
                run.push_str(&text);
                continue;
            }
            (Event::Code(text), Some(run)) if images == 0 => {
                run.push_str(&text);
                continue;
            }
            (Event::SoftBreak | Event::HardBreak, Some(run)) => {
                run.push(' ');
                continue;
            }
            (
                Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })
                | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough),
                _,
            ) => continue,
            _ => {}
        }
        runs.push(String::new());
    }
    let pieces = runs.iter().flat_map(|run| pieces_of_plain(run));
    let pieces = pieces.filter(|piece| !piece.words.contains(char::is_control));
    pieces.filter(|piece| sanitise::find(&format!("{}\n", piece.words)).is_empty()).collect()
}

/// Returns the pieces of a text without markup.
pub fn pieces_of_plain(text: &str) -> Vec<Piece> {
    let words: Vec<(&str, String)> = text
        .split_whitespace()
        .map(|word| (word, letters(word)))
        .filter(|(_, letters)| !letters.is_empty())
        .collect();
    let mut starts: Vec<usize> = (0..words.len()).step_by(WORDS).collect();
    // A short rest belongs to the piece before it.
    if starts.len() > 1 && words.len() % WORDS == 1 {
        starts.pop();
    }
    let ends = starts.iter().skip(1).copied().chain([words.len()]);
    let piece = |(start, end): (usize, usize)| {
        let (shown, plain): (Vec<&str>, Vec<&str>) =
            words[start..end].iter().map(|(word, letters)| (*word, letters.as_str())).unzip();
        Piece { letters: plain.concat(), words: shown.join(" ") }
    };
    starts.iter().copied().zip(ends).map(piece).collect()
}

/// Returns whether the piece is in one of the pages, or is cut by the end of one.
pub fn contains(pages: &[&str], piece: &str) -> bool {
    pages.iter().any(|page| page.contains(piece))
        || pages.windows(2).any(|two| is_cut_between(two[0], two[1], piece))
}

/// Returns whether the end of `left` and the start of `right` together have the piece.
fn is_cut_between(left: &str, right: &str, piece: &str) -> bool {
    piece.char_indices().skip(1).any(|(cut, _)| {
        let (a, b) = piece.split_at(cut);
        let start = left.len().saturating_sub(a.len() + AROUND_PAGE);
        let end = right.ceil_char_boundary(b.len() + AROUND_PAGE);
        left[left.floor_char_boundary(start)..].contains(a) && right[..end].contains(b)
    })
}

/// Returns the extensions of the Markdown that models write.
pub fn markdown_options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The most characters that a chat writes between two lines, or between a key and its value; none is a letter.
const BETWEEN: usize = 16;
/// The number of messages after a page in which the text may continue, because a page with a lost reply is sent again.
const PAGES_ON: usize = 3;
/// The length below which a text is found only between words.
const SHORT: usize = 12;
/// The most characters of a mask, and of a sign for a hiding character, such as `⟨U+202E⟩`.
const SECRET_SHOWN: usize = 200;
const HIDDEN_SHOWN: usize = 10;
/// The signs that replace a secret.
const MASKS: [&str; 12] = [
    "…redacted…",
    "…",
    "***",
    "•••",
    "●●●",
    "███",
    "[redacted]",
    "[hidden]",
    "[masked]",
    "[secret]",
    "<redacted>",
    "<hidden>",
];
/// The characters of a word that a chat may mask between two shown parts, and those at an end, among them letters and
/// digits.
const MASKED_WITHIN: usize = 4;
const MASKED_AT_END: usize = 12;
/// The signs that start another command in a shell, which a mask must not cover.
const SHELL: &str = "|&;<>(){}$`\\";
/// The number of missing words that are named.
const WORDS_NAMED: usize = 6;
/// The number of words of the line before the first missing one.
const WORDS_BEFORE: usize = 2;

/// The text that may come between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Blank,
    Line,
    Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Char(char),
    /// A character of a key: in any case, and after an underscore or a blank.
    Key(char),
    /// At most this number of any characters.
    Any(usize),
}

/// A text that must have been shown.
#[derive(Debug, Clone, Default)]
struct ShownNeedle {
    signs: Vec<(Gap, Sign)>,
    /// The words, each with the number of the sign after it, and true if it begins a line.
    words: Vec<(String, usize, bool)>,
    /// True if it is found only between words, because it could be a part of another one by chance.
    is_word: bool,
}

impl ShownNeedle {
    /// Takes a text, in which masks may replace secrets.
    pub(super) fn text(text: &str) -> Self {
        let mut needle = Self::default();
        needle.push(text, Gap::None, Sign::Char);
        needle.is_word = needle.signs.len() < SHORT;
        needle
    }

    /// Takes a key, and the values behind it, in order.
    fn field(key: &str, values: &[String]) -> Self {
        let mut needle = Self::default();
        needle.push(key, Gap::None, Sign::Key);
        for value in values {
            let is_word = ["true", "false"].contains(&value.as_str());
            needle.push(value, Gap::Value, if is_word { Sign::Key } else { Sign::Char });
        }
        needle.is_word =
            needle.signs.len() < SHORT || needle.signs.iter().any(|(gap, _)| *gap == Gap::Value);
        needle
    }

    fn push(&mut self, text: &str, first: Gap, sign: fn(char) -> Sign) {
        let mut first = Some(first);
        for line in text.split(['\n', '\r']) {
            let mut is_line_start = first != Some(Gap::Value);
            for word in line.split_whitespace() {
                let gap = if is_line_start { Gap::Line } else { Gap::Blank };
                let mut gap = first.take().unwrap_or(gap);
                let mut rest = word;
                while !rest.is_empty() {
                    let mask = MASKS.iter().find_map(|mask| rest.strip_prefix(mask));
                    if let Some(after) = mask {
                        self.signs.push((gap, Sign::Any(SECRET_SHOWN)));
                        rest = after;
                    } else {
                        let end = MASKS.iter().filter_map(|mask| rest.find(mask)).min();
                        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
                        for (c, hides) in marked(part) {
                            let sign = if hides { Sign::Any(HIDDEN_SHOWN) } else { sign(c) };
                            if matches!(sign, Sign::Key('_' | '-')) {
                                continue;
                            }
                            self.signs.push((gap, sign));
                            gap = Gap::None;
                        }
                        rest = after;
                    }
                    gap = Gap::None;
                }
                self.words.push((word.to_owned(), self.signs.len(), is_line_start));
                is_line_start = false;
            }
        }
    }

    /// Returns the words around the sign with this number.
    fn words_at(&self, sign: usize) -> String {
        let last = self.words.len().saturating_sub(1);
        let at = self.words.iter().position(|(_, end, _)| *end > sign).unwrap_or(last);
        let begins_line = |at: &usize| self.words.get(*at).is_none_or(|(.., begins)| *begins);
        let first = (at.saturating_sub(WORDS_BEFORE)..=at).rfind(begins_line);
        let words = self.words.iter().skip(first.unwrap_or(at.saturating_sub(WORDS_BEFORE)));
        let line = words.enumerate().take_while(|(n, (.., starts))| *n == 0 || !starts);
        let words: Vec<&str> =
            line.take(WORDS_NAMED).map(|(_, (word, ..))| word.as_str()).collect();
        words.join(" ")
    }

    /// Returns whether the signs from `start` up to `end` may be masked.
    fn may_be_masked(&self, start: usize, end: usize) -> bool {
        let run = &self.signs[start..end];
        let chars = || {
            run.iter().filter_map(|(_, sign)| match sign {
                Sign::Char(c) => Some(*c),
                _ => None,
            })
        };
        let is_secret = run.iter().any(|(_, sign)| matches!(sign, Sign::Any(SECRET_SHOWN)));
        let is_mixed = chars().any(char::is_numeric) && chars().any(char::is_alphabetic);
        let is_within = start > 0 && end < self.signs.len();
        let is_long = match is_within {
            true => run.len() >= MASKED_WITHIN,
            false => run.len() >= MASKED_AT_END && is_mixed,
        };
        let is_plain = run.iter().all(|(_, sign)| !matches!(sign, Sign::Key(_)));
        is_plain && !chars().any(|c| SHELL.contains(c)) && (is_secret || is_long)
    }
}

/// The characters of a message, without blanks and hiding characters.
#[derive(Debug, Clone, Default)]
struct Page {
    /// The characters, each with true if a blank comes before it.
    chars: Vec<(char, bool)>,
}

impl Page {
    fn of(text: &str) -> Self {
        let mut chars = Vec::new();
        let mut is_after_blank = true;
        for (c, hides) in marked(text) {
            if c.is_whitespace() {
                is_after_blank = true;
            } else if !hides {
                chars.push((c, is_after_blank));
                is_after_blank = false;
            }
        }
        Self { chars }
    }

    /// Returns whether no word continues at this place.
    fn is_between_words(&self, at: usize) -> bool {
        let is_letter = |at: usize| self.chars.get(at).is_some_and(|(c, _)| c.is_alphanumeric());
        let is_after_blank = self.chars.get(at).is_none_or(|(_, blank)| *blank);
        at == 0 || is_after_blank || !is_letter(at) || !is_letter(at - 1)
    }

    /// Returns the length of the mask at this place.
    fn mask(&self, at: usize) -> Option<usize> {
        let rest = &self.chars[at..];
        MASKS.iter().find_map(|mask| {
            let length = mask.chars().count();
            let is_it = rest.len() >= length
                && mask.chars().zip(rest).all(|(own, (shown, _))| own == *shown);
            is_it.then_some(length)
        })
    }
}

/// The pages of the messages, in order.
#[derive(Debug, Clone, Default)]
struct MessagePages(Vec<Page>);

/// The progress of a search: a sign, a page, and a place in the page.
type SearchPosition = (usize, usize, usize);

impl MessagePages {
    pub(super) fn add(&mut self, text: &str) {
        self.0.push(Page::of(text));
    }

    /// Returns the missing words of the text, with the number of its signs before them.
    fn lack(&self, needle: &ShownNeedle) -> Option<(usize, String)> {
        let mut furthest = 0;
        let mut seen = HashSet::new();
        for (number, page) in self.0.iter().enumerate() {
            for at in 0..=page.chars.len() {
                if self.begins(needle, page, at)
                    && self.has(needle, (0, number, at), &mut furthest, &mut seen)
                {
                    return None;
                }
            }
        }
        let is_empty = !needle.signs.iter().any(|(_, sign)| !matches!(sign, Sign::Any(_)));
        (!is_empty).then(|| (furthest, needle.words_at(furthest)))
    }

    /// Returns whether the text may begin at this place.
    fn begins(&self, needle: &ShownNeedle, page: &Page, at: usize) -> bool {
        let is_word = !needle.is_word || page.is_between_words(at);
        let Some((_, first)) = needle.signs.first() else { return true };
        let Some((c, _)) = page.chars.get(at) else { return false };
        is_word && (is_same(*first, *c) || page.mask(at).is_some())
    }

    fn has(
        &self,
        needle: &ShownNeedle,
        from: SearchPosition,
        furthest: &mut usize,
        seen: &mut HashSet<SearchPosition>,
    ) -> bool {
        let mut open = vec![from];
        while let Some((mut sign, number, mut at)) = open.pop() {
            let page = &self.0[number];
            let mut is_branch = true;
            loop {
                *furthest = sign.max(*furthest);
                let Some((gap, own)) = needle.signs.get(sign) else {
                    if !needle.is_word || page.is_between_words(at) {
                        return true;
                    }
                    break;
                };
                if is_branch && !seen.insert((sign, number, at)) {
                    break;
                }
                is_branch = self.branches(needle, (sign, number, at), &mut open);
                let is_next = page.chars.get(at).is_some_and(|(c, _)| is_same(*own, *c));
                if !is_next || matches!(own, Sign::Any(_)) || *gap == Gap::Value && is_branch {
                    break;
                }
                (sign, at) = (sign + 1, at + 1);
            }
        }
        false
    }

    /// Adds the other places where the text may continue; returns `false` if there are none.
    fn branches(
        &self,
        needle: &ShownNeedle,
        place: SearchPosition,
        open: &mut Vec<SearchPosition>,
    ) -> bool {
        let (sign, number, at) = place;
        let (page, before) = (&self.0[number], open.len());
        let (gap, own) = needle.signs[sign];
        let shown = |at: usize| page.chars.get(at).map(|(c, _)| *c);
        match (gap, own) {
            (_, Sign::Any(most)) => {
                let next = needle.signs.get(sign + 1).map(|(_, next)| *next);
                let is_next = |at: &usize| match (next, shown(*at)) {
                    (Some(next), Some(c)) => is_same(next, c) || matches!(next, Sign::Any(_)),
                    (None, _) => true,
                    (Some(_), None) => *at == page.chars.len(),
                };
                let ends = (at..=(at + most).min(page.chars.len())).filter(is_next);
                open.extend(ends.map(|end| (sign + 1, number, end)));
            }
            (Gap::Line | Gap::Value, _) if sign > 0 => {
                let is_skipped = |at: &usize| {
                    shown(*at).is_some_and(|c| match gap {
                        Gap::Value => !c.is_alphanumeric(),
                        _ => !c.is_alphabetic(),
                    })
                };
                let skipped = (at..at + BETWEEN).take_while(is_skipped).count();
                let starts = (at..=at + skipped).filter(|start| {
                    shown(*start).is_some_and(|c| is_same(own, c)) && page.is_between_words(*start)
                });
                let starts = starts.filter(|start| *start > at || gap == Gap::Value);
                open.extend(starts.map(|start| (sign + 1, number, start + 1)));
            }
            (_, Sign::Key(_)) if sign > 0 && matches!(shown(at), Some('_' | '-')) => {
                open.push((sign, number, at + 1));
            }
            _ => {}
        }
        if let Some(length) = shown(at).and_then(|_| page.mask(at)) {
            let ends = (sign + 1..=needle.signs.len()).take_while(|end| {
                (sign + 1..*end).all(|within| needle.signs[within].0 == Gap::None)
            });
            let ends = ends.filter(|end| needle.may_be_masked(sign, *end));
            open.extend(ends.map(|end| (end, number, at + length)));
        }
        let is_page_end = page.chars.len() - at <= AROUND_PAGE
            && (at == page.chars.len() || page.is_between_words(at));
        let later = self.0.iter().enumerate().skip(number + 1).take(PAGES_ON);
        for (page, next) in later.filter(|_| is_page_end && sign > 0) {
            let starts = (0..next.chars.len().min(AROUND_PAGE)).filter(|start| {
                is_same(own, next.chars[*start].0) && next.is_between_words(*start)
            });
            open.extend(starts.map(|start| (sign, page, start)));
        }
        open.len() > before
    }
}

fn is_same(own: Sign, shown: char) -> bool {
    match own {
        Sign::Char(own) => own == shown,
        Sign::Key(own) => own.to_lowercase().eq(shown.to_lowercase()),
        Sign::Any(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_only_what_every_renderer_shows() {
        let check = |markdown: &str, expect: &[&str]| {
            let pieces: Vec<String> = pieces(markdown).into_iter().map(|p| p.letters).collect();
            assert_eq!(pieces, expect, "{markdown}");
        };
        check("They **do** n`o`t [agree](http://x.y): 1.", &["theydonotagree", "1"]);
        check("1. one\n2. two\n\n- [x] done", &["one", "two", "done"]);
        check("| a | b |\n|---|---|\n| c | d |", &["a", "b", "c", "d"]);
        check("```rust\nlet x = 1;\n```\n![alt](p.png)", &["letx1"]);
        check("a &amp; b <br> c", &["a", "b", "c"]);
        check("1\\. a b c d e f g", &["1abcde", "fg"]);
        check("👍", &[]);
    }

    #[test]
    fn a_piece_may_be_cut_by_the_end_of_a_page() {
        let check = |pages: &[&str], piece: &str, expect: bool| {
            assert_eq!(contains(pages, piece), expect, "{pages:?} {piece}");
        };
        check(&["wesayhello"], "sayhel", true);
        check(&["wesayhel12", "22loworld"], "hello", true);
        check(&["wesay", "world"], "hello", false);
    }

    #[test]
    fn what_hides_is_found_where_it_was_shown_as_it_is() {
        for (sent, text, expect) in [
            ("ls \u{202e};x", "ls \u{202e};x", Some('\u{202e}')),
            ("ls ⟨U+202E⟩;x", "ls \u{202e};x", None),
            ("\u{200b} ls", "ls \u{202e};x", None),
            ("a\r\n\tb 👩‍👩‍👧", "a\r\n\tb 👩‍👩‍👧", None),
        ] {
            let mut shown = ShownTexts::default();
            shown.note_hidden(sent);
            assert_eq!(shown.hides(text), expect, "{sent:?}");
        }
    }

    #[test]
    fn a_text_is_shown_in_many_ways() {
        let text =
            "cd /srv/app && make \"all\"\nfor f in *.txt; do\n  cat <$f> | grep é\ndone\nrm -rf /";
        let json = serde_json::json!({ "command": text }).to_string();
        let ascii = json.replace('é', "\\u00e9");
        let wrapped = text.replace(' ', "\n    ");
        let numbered: String =
            text.lines().zip(1..).map(|(l, n)| format!("{n:>3} | {l}\n")).collect();
        let (before, after) = text.split_at(30);
        let pages = [format!("(1/2) {before}"), format!("(2/2) {after}")];
        let check = |messages: &[&str], expect: Option<&str>| {
            let mut shown = ShownTexts::default();
            messages.iter().for_each(|message| shown.add(message));
            assert_eq!(shown.lack(text).as_deref(), expect, "{messages:?}");
        };
        for message in [text, &json, &ascii, &wrapped, &numbered] {
            check(&["🔐 May Bash run?", message], None);
        }
        check(&[&pages[0], &pages[1]], None);
        check(&[], Some("cd /srv/app && make \"all\""));
        check(&[&text.replace("rm -rf /", "")], Some("rm -rf /"));
        check(&[&text[..text.len() - 3]], Some("rm -rf /"));
        check(&[&text.replace("  cat <$f> | grep é\n", "")], Some("cat <$f> | grep é"));
        check(&[&text[20..]], Some("cd /srv/app && make \"all\""));
        check(
            &["🔐 May Bash run? cd /srv/app && make \"all\"… (4 more lines)"],
            Some("for f in *.txt; do"),
        );
    }

    #[test]
    fn what_may_be_a_secret_may_be_masked() {
        let mut shown = ShownTexts::default();
        shown.add("curl --token *** https://x.example/*** && rm -rf x");
        let text = "curl --token Ab1Cd2Ef3Gh4 https://x.example/a1b2c3d4 && rm -rf x";
        assert_eq!(shown.lack(text), None);
        assert_eq!(shown.lack(&text.replace("rm -rf x", "rm -rf y")).as_deref(), Some("rm -rf y"));
        shown.add("# Plan\n1. Look at <b>it</b>\n2. Write [the file](https://x.example)");
        assert_eq!(
            shown.lack_markdown("# Plan\n\n1. Look\n2. Write [the file](https://y.example)"),
            None
        );
        let more =
            shown.lack_markdown("1. Look\n2. Write [the file](https://y.example)\n3. Remove all");
        assert_eq!(more.as_deref(), Some("Remove all"));
    }
}
