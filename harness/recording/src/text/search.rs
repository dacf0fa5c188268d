//! Looks for many texts in another one at once: the work grows with what is read, and not with the number of texts.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;

/// Up to so many texts are looked for one after another, because an automaton takes longer to make than that takes.
const FEW: usize = 8;
/// Bytes of the start of a text that are looked for; the rest is compared where they are found, so that the memory for a
/// long text is small.
const START: usize = 256;

/// Texts that are looked for, none of which is empty. They have numbers from 0, in the order in which they were given;
/// equal ones have the first one's number.
#[derive(Debug)]
pub enum TextSearch<'t> {
    /// One after another.
    Few(Vec<Sought<'t>>),
    /// All at once.
    Many {
        /// The starts of all texts.
        starts: AhoCorasick,
        /// The texts with each of the starts.
        texts: Vec<Vec<Sought<'t>>>,
    },
}

/// The number of a text that is looked for, and the text.
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
        // The kind that is made fastest: a search reads little.
        let kind = Some(AhoCorasickKind::NoncontiguousNFA);
        let starts = AhoCorasick::builder().kind(kind).build(starts);
        Self::Many { starts: starts.expect("2^31 states are enough"), texts }
    }

    /// The numbers of the texts that `text` has, and how often it has each: occurrences of the same one do not overlap.
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

/// How often `text` has each of the texts that have one of these starts.
fn times_at_once(
    starts: &AhoCorasick,
    texts: &[Vec<Sought<'_>>],
    text: &str,
) -> BTreeMap<usize, usize> {
    // How often, and where the last one ends.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a search for one text after the other finds.
    fn one_by_one(texts: &[&str], text: &str) -> BTreeMap<usize, usize> {
        let is_first = |(number, sought): &(usize, &&str)| !texts[..*number].contains(sought);
        let times = texts.iter().enumerate().filter(is_first);
        let times = times.map(|(number, sought)| (number, text.matches(sought).count()));
        times.filter(|(_, times)| *times > 0).collect()
    }

    /// Looks for the texts as so many are looked for, and at once.
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
}
