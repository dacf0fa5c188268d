//! Looks for many texts in another one at once: the work grows with what is read, and not with the number of texts.

use std::collections::BTreeMap;

/// Bytes of the start of a text by which most places are passed over.
const HEAD: usize = 4;
/// The bits of the number of a head's place in [`TextSearch::heads`].
const HEAD_BITS: u32 = 16;
/// An odd number that spreads heads over these places: 2^32 divided by the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;
/// Bytes by which texts are sorted, so that a long text that repeats itself is not compared with all of itself at each
/// place.
const KEY: usize = 256;

/// Texts that are looked for, each of at least [`HEAD`] bytes. They have numbers from 0, in the order in which they were
/// given; equal ones have the first one's number.
#[derive(Debug)]
pub(crate) struct TextSearch<'t> {
    /// The starts of all texts, sorted.
    keys: Vec<Key<'t>>,
    /// A bit for each place of a head: whether a text may start with it.
    heads: Vec<u64>,
}

/// Texts that start with the same [`KEY`] bytes, or one text that has no more.
#[derive(Debug)]
struct Key<'t> {
    bytes: &'t [u8],
    /// The texts with their numbers.
    texts: Vec<(usize, &'t str)>,
    /// The index of the longest other key with which this one starts.
    shorter: Option<usize>,
}

impl<'t> TextSearch<'t> {
    pub(crate) fn new(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut texts: Vec<(usize, &'t str)> = texts.into_iter().enumerate().collect();
        texts.sort_by_key(|(_, text)| *text);
        texts.dedup_by_key(|(_, text)| *text);
        let mut search =
            Self { keys: Vec::new(), heads: vec![0; 1 << (HEAD_BITS - u64::BITS.ilog2())] };
        // The keys with which the current one starts, the longest last.
        let mut starts: Vec<usize> = Vec::new();
        for (number, text) in texts {
            let bytes = &text.as_bytes()[..text.len().min(KEY)];
            if let Some(last) = search.keys.last_mut().filter(|last| last.bytes == bytes) {
                last.texts.push((number, text));
                continue;
            }
            if let Some(head) = bytes.first_chunk() {
                let (word, bit) = place(*head);
                search.heads[word] |= 1 << bit;
            }
            while starts.pop_if(|start| !bytes.starts_with(search.keys[*start].bytes)).is_some() {}
            let shorter = starts.last().copied();
            starts.push(search.keys.len());
            search.keys.push(Key { bytes, texts: vec![(number, text)], shorter });
        }
        search
    }

    /// The numbers of the texts that `text` has, and how often it has each: occurrences of the same one do not overlap.
    pub(crate) fn times_in(&self, text: &str) -> BTreeMap<usize, usize> {
        // How often, and where the last one ends.
        let mut found: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for at in 0..text.len() {
            let rest = &text.as_bytes()[at..];
            let Some(head) = rest.first_chunk() else { break };
            let (word, bit) = place(*head);
            if self.heads[word] >> bit & 1 == 0 {
                continue;
            }
            for (number, text) in self.keys_of(rest).flat_map(|key| &key.texts) {
                let is_over = found.get(number).is_none_or(|(_, end)| at >= *end);
                if is_over && rest.starts_with(text.as_bytes()) {
                    let (times, end) = found.entry(*number).or_default();
                    (*times, *end) = (*times + 1, at + text.len());
                }
            }
        }
        found.into_iter().map(|(number, (times, _))| (number, times)).collect()
    }

    /// The keys with which `bytes` start, the longest first.
    fn keys_of(&self, bytes: &[u8]) -> impl Iterator<Item = &Key<'t>> {
        // The longest one is the last key up to `bytes`, or a start of that.
        let last = self.keys.partition_point(|key| key.bytes <= bytes).checked_sub(1);
        let all = std::iter::successors(last, |index| self.keys[*index].shorter);
        all.map(|index| &self.keys[index]).skip_while(|key| !bytes.starts_with(key.bytes))
    }
}

/// The place of a head: a word of [`TextSearch::heads`] and a bit of it.
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
        // The last key up to the text is not one that it starts with.
        check(&["some", "some more", "some words of"], "some words");
        // Long texts with the same key.
        let long = "words ".repeat(KEY);
        let [a, b] = ["a", "b"].map(|end| format!("{long}{end}"));
        check(&[&a, &b, &long, &long[..KEY]], &format!("{b} {a} {long}"));
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
