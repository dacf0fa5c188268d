//! Looks for many texts in another one at once: the work grows with what is read, and not with the number of texts.

use std::collections::BTreeMap;

/// Bytes of the beginning of a text by which most places are passed over.
const HEAD: usize = 4;
/// The bits of the number of a beginning's place in [`TextSearch::heads`].
const HEAD_BITS: u32 = 16;
/// An odd number that spreads beginnings over these places: 2^32 divided by the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;

/// Texts that are looked for, each of at least [`HEAD`] bytes. They have numbers from 0, in the order in which they were given; equal
/// ones have the first one's number.
#[derive(Debug)]
pub(crate) struct TextSearch<'t> {
    /// The texts, in the order of their bytes, each once.
    sought: Vec<Sought<'t>>,
    /// A bit for each place of a beginning: whether one of them may begin so.
    heads: Vec<u64>,
}

#[derive(Debug)]
struct Sought<'t> {
    text: &'t str,
    number: usize,
    /// The index of the longest other one with which it begins.
    beginning: Option<usize>,
}

impl<'t> TextSearch<'t> {
    pub(crate) fn new(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let texts = texts.into_iter().enumerate();
        let mut sought: Vec<Sought<'t>> =
            texts.map(|(number, text)| Sought { text, number, beginning: None }).collect();
        sought.sort_by_key(|it| it.text);
        sought.dedup_by_key(|it| it.text);
        let mut heads = vec![0; 1 << (HEAD_BITS - u64::BITS.ilog2())];
        // The texts with which the current one begins, the longest last.
        let mut beginnings: Vec<usize> = Vec::new();
        for index in 0..sought.len() {
            let text = sought[index].text;
            if let Some(head) = text.as_bytes().first_chunk() {
                let (word, bit) = place(*head);
                heads[word] |= 1 << bit;
            }
            while beginnings.pop_if(|known| !text.starts_with(sought[*known].text)).is_some() {}
            sought[index].beginning = beginnings.last().copied();
            beginnings.push(index);
        }
        Self { sought, heads }
    }

    /// The numbers of the texts that `text` has, and how often it has each: occurrences of the same one do not overlap.
    pub(crate) fn times_in(&self, text: &str) -> BTreeMap<usize, usize> {
        // How often, and where the last one ends.
        let mut found: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            let rest = &bytes[at..];
            let Some(head) = rest.first_chunk() else { break };
            let (word, bit) = place(*head);
            if self.heads[word] >> bit & 1 == 0 {
                continue;
            }
            for sought in self.beginnings_of(rest) {
                let (times, end) = found.entry(sought.number).or_default();
                if at >= *end {
                    (*times, *end) = (*times + 1, at + sought.text.len());
                }
            }
        }
        found.into_iter().map(|(number, (times, _))| (number, times)).collect()
    }

    /// The texts with which `bytes` begin, the longest first.
    fn beginnings_of(&self, bytes: &[u8]) -> impl Iterator<Item = &Sought<'t>> {
        // What `bytes` begin with is the last text up to them, or a beginning of it.
        let last = self.sought.partition_point(|it| it.text.as_bytes() <= bytes).checked_sub(1);
        let shorter = |index: &usize| self.sought[*index].beginning;
        let all = std::iter::successors(last, shorter).map(|index| &self.sought[index]);
        all.skip_while(|it| !bytes.starts_with(it.text.as_bytes()))
    }
}

/// The place of a beginning: a word of [`TextSearch::heads`] and a bit of it.
fn place(head: [u8; HEAD]) -> (usize, u32) {
    let place = u32::from_le_bytes(head).wrapping_mul(SPREAD) >> (u32::BITS - HEAD_BITS);
    ((place / u64::BITS) as usize, place % u64::BITS)
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

    fn check(texts: &[&str], text: &str) {
        let found = TextSearch::new(texts.iter().copied()).times_in(text);
        assert_eq!(found, one_by_one(texts, text), "{texts:?} in {text:?}");
    }

    #[test]
    fn issue_20_many_texts_are_found_at_once() {
        check(&[], "some words");
        check(&["some words"], "");
        check(&["words", "some", "word"], "some words of some");
        check(&["aaaa", "aaaaa", "aaaa"], "aaaaaaaaaa");
        check(&["zwölf Bücher", "zwölf"], "zwölf Bücher, zwölf");
        // A text between two others that are in `text`, which begins with the shorter one.
        check(&["some", "some words of", "some more"], "some words");
    }

    proptest! {
        #[test]
        fn issue_20_a_search_for_many_finds_what_one_for_each_does(
            texts in prop::collection::vec("[abß]{4,7}", 0..12),
            text in "[abß]{0,60}",
        ) {
            check(&texts.iter().map(String::as_str).collect::<Vec<_>>(), &text);
        }
    }
}
