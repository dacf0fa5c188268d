//! Compares texts: finds many of them in another one at once, the names that a misspelt one may mean, and the words
//! that differ. The work of a search grows with the length of the searched text rather than with the number of texts.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use similar::{ChangeTag, TextDiff};

use super::{common_end, common_start};

/// The number of texts up to which they are searched one by one, because that is faster than making an automaton.
const FEW: usize = 8;
/// The bytes of the start of a text that are searched; the rest is compared at each match, so that a long text needs
/// little memory.
const START: usize = 256;

/// A search for texts, none of which is empty. They are numbered from 0, in their order; equal ones share the first
/// one's number.
#[derive(Debug)]
pub enum TextSearch<'t> {
    /// The texts are searched one by one.
    Few(Vec<Sought<'t>>),
    /// The texts are searched all at once.
    Many {
        /// The starts of all texts.
        starts: AhoCorasick,
        /// The texts with each of the starts.
        texts: Vec<Vec<Sought<'t>>>,
    },
}

/// The number of a searched text, and the text.
type Sought<'t> = (usize, &'t str);

impl<'t> TextSearch<'t> {
    /// Makes a search for these texts.
    pub fn new(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, text) in texts.into_iter().enumerate() {
            numbers.entry(text).or_insert(number);
        }
        let texts = numbers.into_iter().map(|(text, number)| (number, text));
        if texts.len() <= FEW { Self::Few(texts.collect()) } else { Self::many(texts) }
    }

    #[allow(clippy::expect_used, reason = "the starts are fewer than an automaton can have")]
    fn many(texts: impl Iterator<Item = Sought<'t>>) -> Self {
        let mut by_start: BTreeMap<&[u8], Vec<Sought<'t>>> = BTreeMap::new();
        for (number, text) in texts {
            let start = &text.as_bytes()[..text.len().min(START)];
            by_start.entry(start).or_default().push((number, text));
        }
        let (starts, texts): (Vec<&[u8]>, Vec<_>) = by_start.into_iter().unzip();
        // The kind of automaton that is made fastest, because a search reads little.
        let kind = Some(AhoCorasickKind::NoncontiguousNFA);
        let starts = AhoCorasick::builder().kind(kind).build(starts);
        Self::Many { starts: starts.expect("2^31 states are enough"), texts }
    }

    /// Counts the occurrences of each text in `text`, by number; occurrences of the same one do not overlap.
    pub fn times_in(&self, text: &str) -> BTreeMap<usize, usize> {
        match self {
            Self::Few(texts) => {
                let times = |sought: &str| memmem::find_iter(text.as_bytes(), sought).count();
                let found = texts.iter().map(|(number, sought)| (*number, times(sought)));
                found.filter(|(_, times)| *times > 0).collect()
            }
            Self::Many { starts, texts } => times_at_once(starts, texts, text),
        }
    }
}

/// Counts the occurrences in `text` of each of the texts with these starts.
fn times_at_once(
    starts: &AhoCorasick,
    texts: &[Vec<Sought<'_>>],
    text: &str,
) -> BTreeMap<usize, usize> {
    // The count of each text, and the end of its last occurrence.
    let mut found: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for start in starts.find_overlapping_iter(text) {
        let at = start.start();
        for (number, sought) in &texts[start.pattern().as_usize()] {
            let is_over = found.get(number).is_none_or(|(_, end)| at >= *end);
            if is_over && text.as_bytes()[at..].starts_with(sought.as_bytes()) {
                let (times, end) = found.entry(*number).or_default();
                (*times, *end) = (*times + 1, at + sought.len());
            }
        }
    }
    found.into_iter().map(|(number, (times, _))| (number, times)).collect()
}

/// The most names that [`near`] returns.
const MOST: usize = 4;

/// Returns the names of `known` that `asked` may mean, the nearest first: those that contain it or that it contains,
/// and those that differ from it by few letters.
pub fn near<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let allowed = (asked.chars().count() / 3).clamp(1, 2);
    let is_near = |name: &'a str| {
        let letters = distance(asked, name);
        let is_part = asked.len() > 2 && (name.contains(asked) || asked.contains(name));
        (letters <= allowed || is_part).then_some((letters, name))
    };
    let mut found: Vec<(usize, &str)> = known.into_iter().filter_map(is_near).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// Asks for the names that a misspelt one may mean, as the end of a sentence; empty without such names.
pub fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        [first @ .., last] => format!("; did you mean `{}` or `{last}`?", first.join("`, `")),
    }
}

/// Counts the letters to add, remove or replace to turn one text into another.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The length in bytes up to which texts are compared word by word.
const WORDS: usize = 8_192;
/// The share that two texts must have in common so that they are compared word by word.
const ALIKE: f32 = 0.3;

/// A text in parts; `true` marks the parts that differ from the other side's.
pub type WordDiff = Vec<(bool, String)>;

/// Compares two texts word by word. Of texts that are too long for that, or have little in common, the part
/// between the common beginning and the common end differs.
pub fn changed_words(a: &str, b: &str) -> [WordDiff; 2] {
    if a.len().max(b.len()) <= WORDS {
        let diff = TextDiff::from_unicode_words(a, b);
        if diff.ratio() > ALIKE {
            return [ChangeTag::Delete, ChangeTag::Insert].map(|side| {
                let changes = diff.iter_all_changes();
                let mut parts = WordDiff::new();
                for change in changes.filter(|c| c.tag() == ChangeTag::Equal || c.tag() == side) {
                    let changed = change.tag() == side;
                    match parts.last_mut() {
                        Some((before, text)) if *before == changed => text.push_str(change.value()),
                        _ => parts.push((changed, change.value().to_owned())),
                    }
                }
                parts
            });
        }
    }
    let head = common_start(a, b).len();
    let tail = common_end(&a[head..], &b[head..]).len();
    [a, b].map(|text| {
        let end = text.len() - tail;
        let parts = [(false, &text[..head]), (true, &text[head..end]), (false, &text[end..])];
        let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
        parts.map(|(changed, text)| (changed, text.to_owned())).collect()
    })
}

/// Returns a text without blanks, to compare two texts with different line breaks.
pub fn solid(text: &str) -> String {
    solid_chars(text).collect()
}

/// The characters of a text without the blanks.
pub fn solid_chars(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches one text after the other, for comparison.
    fn one_by_one(texts: &[&str], text: &str) -> BTreeMap<usize, usize> {
        let is_first = |(number, sought): &(usize, &&str)| !texts[..*number].contains(sought);
        let times = texts.iter().enumerate().filter(is_first);
        let times = times.map(|(number, sought)| (number, text.matches(sought).count()));
        times.filter(|(_, times)| *times > 0).collect()
    }

    /// Searches the texts in the usual way for their number, and all at once.
    fn check(texts: &[&str], text: &str) {
        let is_first = |(number, sought): &(usize, &str)| !texts[..*number].contains(sought);
        let first = texts.iter().copied().enumerate().filter(is_first);
        for search in [TextSearch::new(texts.iter().copied()), TextSearch::many(first)] {
            let found = search.times_in(text);
            assert_eq!(found, one_by_one(texts, text), "{texts:?} in {text:?}");
        }
    }

    #[test]
    fn many_texts_are_found_at_once() {
        check(&[], "some words");
        check(&["some words"], "");
        check(&["words", "some", "word"], "some words of some");
        check(&["aaaa", "aaaaa", "aaaa"], "aaaaaaaaaa");
        check(&["zwölf Bücher", "zwölf"], "zwölf Bücher, zwölf");
        check(&["some", "some more", "some words of"], "some words");
        // Long texts with the same start.
        let long = "words ".repeat(START);
        let [a, b] = ["a", "b"].map(|end| format!("{long}{end}"));
        check(&[&a, &b, &long, &long[..START]], &format!("{b} {a} {long}"));
    }

    proptest! {
        #[test]
        fn a_search_for_many_finds_what_one_for_each_does(
            texts in prop::collection::vec("[abß]{4,7}", 0..12),
            text in "[abß]{0,60}",
        ) {
            check(&texts.iter().map(String::as_str).collect::<Vec<_>>(), &text);
        }
    }

    #[test]
    fn a_misspelt_name_is_answered_with_those_near_it() {
        let known = ["three-tools", "three-tools-live", "tool-error", "thinking", "plain-text"];
        for (asked, expect) in [
            ("three-tolls", vec!["three-tools"]),
            ("tree-tools", vec!["three-tools"]),
            ("thinkign", vec!["thinking"]),
            ("tools", vec!["three-tools", "three-tools-live"]),
            ("plain-text-2", vec!["plain-text"]),
            ("x", vec![]),
            ("something-else", vec![]),
        ] {
            assert_eq!(near(asked, known), expect, "{asked}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(did_you_mean(&[]), "");
        assert_eq!(did_you_mean(&["a"]), "; did you mean `a`?");
        assert_eq!(did_you_mean(&["a", "b", "c"]), "; did you mean `a`, `b` or `c`?");
    }

    /// Compares two texts; the parts that differ are in brackets.
    fn check_words(a: &str, b: &str, expect: [&str; 2]) {
        let shown = changed_words(a, b).map(|parts| {
            let part = |(changed, text): (bool, String)| match changed {
                true => format!("[{text}]"),
                false => text,
            };
            parts.into_iter().map(part).collect::<String>()
        });
        assert_eq!(shown, expect);
    }

    #[test]
    fn words_that_differ_are_marked_on_each_side() {
        check_words("one two three", "one 2 three", ["one [two] three", "one [2] three"]);
        check_words("a b", "a b", ["a b", "a b"]);
        check_words("", "new", ["", "[new]"]);
        // Texts with little in common differ from the common beginning to the common end.
        check_words(
            "(uvw xyz)",
            "(12 34 56 78 90 12 34)",
            ["([uvw xyz])", "([12 34 56 78 90 12 34])"],
        );
    }
}
