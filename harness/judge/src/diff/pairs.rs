//! Which entries of two lanes belong together: first those with the same content at the same time, then
//! those with the same content at another time, then those with the same identity and another content,
//! then those that are in each other's place.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// What an entry is matched by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryMark {
    /// When it was, in virtual ms.
    pub(crate) at: u64,
    /// Which entry it is: its kind and its ids.
    pub identity: String,
    /// Its identity and its fields, without its time.
    pub content: String,
}

/// One entry beside another, or beside none; numbers are indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// They belong together.
    Both(usize, usize),
    /// Only the old lane has it.
    Old(usize),
    /// Only the new lane has it.
    New(usize),
}

/// What is equal of two marks that belong together.
type MatchKey<'m> = (Option<u64>, &'m str);

/// The ways to belong together, the strictest first.
const KEYS: [fn(&EntryMark) -> MatchKey<'_>; 3] = [
    |mark| (Some(mark.at), &mark.content),
    |mark| (None, &mark.content),
    |mark| (None, &mark.identity),
];

/// Pairs the entries of two lanes, in their order.
pub(crate) fn pairs(old: &[EntryMark], new: &[EntryMark]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    by(&KEYS, old, 0..old.len(), new, 0..new.len(), &mut pairs);
    pairs
}

/// Pairs what is equal by the first key within two ranges, and what stands between by the next.
fn by(
    keys: &[fn(&EntryMark) -> MatchKey<'_>],
    old: &[EntryMark],
    olds: Range<usize>,
    new: &[EntryMark],
    news: Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    let Some((key, rest)) = keys.split_first() else {
        let both = olds.len().min(news.len());
        pairs.extend(olds.clone().zip(news.clone()).map(|(old, new)| Pair::Both(old, new)));
        pairs.extend(olds.skip(both).map(Pair::Old));
        pairs.extend(news.skip(both).map(Pair::New));
        return;
    };
    let keys = [&old[olds.clone()], &new[news.clone()]]
        .map(|marks| marks.iter().map(key).collect::<Vec<_>>());
    for op in capture_diff_slices(Algorithm::Myers, &keys[0], &keys[1]) {
        let shifted = |range: Range<usize>, by: usize| range.start + by..range.end + by;
        let was = shifted(op.old_range(), olds.start);
        let is = shifted(op.new_range(), news.start);
        match op {
            DiffOp::Equal { .. } => {
                pairs.extend(was.zip(is).map(|(old, new)| Pair::Both(old, new)));
            }
            _ => by(rest, old, was, new, is, pairs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries such as `e:text@7`, with what they are before the colon and their time, if it matters;
    /// pairs as `old|new`.
    fn check(old: &str, new: &str, expect: &str) {
        let marks = |text: &str| -> Vec<EntryMark> {
            let mark = |entry: &str| {
                let (content, at) = entry.split_once('@').unwrap_or((entry, "0"));
                let identity = content.split(':').next().unwrap().to_owned();
                EntryMark { at: at.parse().unwrap(), identity, content: content.to_owned() }
            };
            text.split_whitespace().map(mark).collect()
        };
        let (old, new) = (marks(old), marks(new));
        let tell = |mark: &EntryMark| match mark.at {
            0 => mark.content.clone(),
            at => format!("{}@{at}", mark.content),
        };
        let shown = pairs(&old, &new).into_iter().map(|pair| match pair {
            Pair::Both(i, j) => format!("{}|{}", tell(&old[i]), tell(&new[j])),
            Pair::Old(i) => format!("{}|", tell(&old[i])),
            Pair::New(j) => format!("|{}", tell(&new[j])),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expect);
    }

    #[test]
    fn what_says_the_same_belongs_together_before_what_is_the_same() {
        check("e:a e:b", "e:a e:b", "e:a|e:a e:b|e:b");
        check("e:a e:b e:c", "e:a e:x e:b e:c", "e:a|e:a |e:x e:b|e:b e:c|e:c");
        check("e:a f:b e:c", "e:A f:b", "e:a|e:A f:b|f:b e:c|");
        check("s:1 e:a", "e:A", "s:1| e:a|e:A");
        check("a:1 b:2", "c:3", "a:1|c:3 b:2|");
        check("", "a:1", "|a:1");
        check("t:x@1 t:x@2 t:x@3", "t:x@1 t:x@3", "t:x@1|t:x@1 t:x@2| t:x@3|t:x@3");
        check("e:a@1 e:b@2 e:c@3", "e:a@1 e:c@9", "e:a@1|e:a@1 e:b@2| e:c@3|e:c@9");
    }
}
