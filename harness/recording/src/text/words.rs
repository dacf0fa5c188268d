//! Which words of two texts differ.

use similar::{ChangeTag, TextDiff};

use super::{common_end, common_start};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that differ stand in brackets.
    fn check(a: &str, b: &str, expect: [&str; 2]) {
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
        check("one two three", "one 2 three", ["one [two] three", "one [2] three"]);
        check("a b", "a b", ["a b", "a b"]);
        check("", "new", ["", "[new]"]);
        // Texts with little in common differ from the common beginning to the common end.
        check("(uvw xyz)", "(12 34 56 78 90 12 34)", ["([uvw xyz])", "([12 34 56 78 90 12 34])"]);
    }
}
