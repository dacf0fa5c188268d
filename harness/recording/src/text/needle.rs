//! Finds a text in what was shown: every character of it but blanks, in order.
//!
//! Between two of its lines a chat may write a line number or the sign of a difference, around a page its number, and
//! in the place of a secret a mask. Nothing else may be missing or come between.

use std::collections::HashSet;

use super::safe::marked;

/// The most characters that a chat writes between two lines, or between a key and its value: none is a letter.
const BETWEEN: usize = 16;
/// The most characters that a chat writes around a page, such as `(2/3)`.
const AROUND_PAGE: usize = 60;
/// The messages after a page of which one goes on: a page whose reply is lost is sent again.
const PAGES_ON: usize = 3;
/// A text with fewer characters is found between words alone.
const SHORT: usize = 12;
/// The most characters in the place of a secret, and of a character that hides, such as `⟨U+202E⟩`.
const SECRET_SHOWN: usize = 200;
const HIDDEN_SHOWN: usize = 10;
/// The signs in the place of a secret.
const MASKS: [&str; 4] = ["…redacted…", "…", "***", "[redacted]"];
/// Characters of a word that a chat may mask between two parts that it shows, and of one at an end, which has
/// letters and digits.
const MASKED_WITHIN: usize = 4;
const MASKED_AT_END: usize = 12;
/// Signs with which a shell goes on to other commands: a mask covers none of them.
const SHELL: &str = "|&;<>(){}$`\\";
/// Words that are named of a text that is missing.
const WORDS: usize = 6;
/// Those of its line before the first one that is missing.
const WORDS_BEFORE: usize = 2;

/// A place in a text where something may come between.
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
    /// As many characters as this at most.
    Any(usize),
}

/// A text that must have been shown.
#[derive(Debug, Clone, Default)]
pub(super) struct ShownNeedle {
    signs: Vec<(Gap, Sign)>,
    /// The words, each with the number of the sign after it and whether it begins a line.
    words: Vec<(String, usize, bool)>,
}

impl ShownNeedle {
    /// A text as it is, in which masks stand for secrets.
    pub(super) fn text(text: &str) -> Self {
        let mut needle = Self::default();
        needle.push(text, Gap::None, Sign::Char);
        needle
    }

    /// A key, and behind it the values, one after another.
    pub(super) fn field(key: &str, values: &[String]) -> Self {
        let mut needle = Self::default();
        needle.push(key, Gap::None, Sign::Key);
        for value in values {
            let is_word = ["true", "false"].contains(&value.as_str());
            needle.push(value, Gap::Value, if is_word { Sign::Key } else { Sign::Char });
        }
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

    /// Whether it is found between words alone, because it could be a part of another one by chance.
    fn is_word(&self) -> bool {
        self.signs.len() < SHORT || self.signs.iter().any(|(gap, _)| *gap == Gap::Value)
    }

    /// The words around the sign with this number.
    fn words_at(&self, sign: usize) -> String {
        let last = self.words.len().saturating_sub(1);
        let at = self.words.iter().position(|(_, end, _)| *end > sign).unwrap_or(last);
        let begins_line = |at: &usize| self.words.get(*at).is_none_or(|(.., begins)| *begins);
        let first = (at.saturating_sub(WORDS_BEFORE)..=at).rfind(begins_line);
        let words = self.words.iter().skip(first.unwrap_or(at.saturating_sub(WORDS_BEFORE)));
        let line = words.enumerate().take_while(|(n, (.., starts))| *n == 0 || !starts);
        let words: Vec<&str> = line.take(WORDS).map(|(_, (word, ..))| word.as_str()).collect();
        words.join(" ")
    }

    /// The signs from `start` up to `end` may be behind a mask.
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

/// What a message says, without blanks and without characters that hide.
#[derive(Debug, Clone, Default)]
struct Page {
    /// Each with whether a blank comes before it.
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

    /// No word goes on here.
    fn is_between_words(&self, at: usize) -> bool {
        let is_letter = |at: usize| self.chars.get(at).is_some_and(|(c, _)| c.is_alphanumeric());
        let is_after_blank = self.chars.get(at).is_none_or(|(_, blank)| *blank);
        at == 0 || is_after_blank || !is_letter(at) || !is_letter(at - 1)
    }

    /// The length of the mask at this place.
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

/// Messages, one after another.
#[derive(Debug, Clone, Default)]
pub(super) struct MessagePages(Vec<Page>);

/// How much of a text was found: a sign of it, and a place in a page.
type SearchPosition = (usize, usize, usize);

impl MessagePages {
    pub(super) fn add(&mut self, text: &str) {
        self.0.push(Page::of(text));
    }

    /// The words of the text that are missing, with how many of its signs come before them.
    pub(super) fn lack(&self, needle: &ShownNeedle) -> Option<(usize, String)> {
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

    /// The text may begin here.
    fn begins(&self, needle: &ShownNeedle, page: &Page, at: usize) -> bool {
        let is_word = !needle.is_word() || page.is_between_words(at);
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
                    if !needle.is_word() || page.is_between_words(at) {
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

    /// Adds the other places where the text may go on; `false` if there is none.
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
