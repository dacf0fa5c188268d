//! Names that a misspelt one may mean.

/// The most names that [`near`] gives.
const MOST: usize = 4;

/// The names of `known` that `asked` may mean, the nearest first: those that contain it or that it contains, and those
/// that differ from it by few letters.
pub fn near<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let allowed = (asked.chars().count() / 3).clamp(1, 2);
    let distance = |name: &'a str| {
        let letters = edits(asked, name);
        let is_part = asked.len() > 2 && (name.contains(asked) || asked.contains(name));
        (letters <= allowed || is_part).then_some((letters, name))
    };
    let mut found: Vec<(usize, &str)> = known.into_iter().filter_map(distance).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// A question that names what a misspelt name may mean, as the end of a sentence; empty without such names.
pub fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        [first @ .., last] => format!("; did you mean `{}` or `{last}`?", first.join("`, `")),
    }
}

/// The number of letters to add, remove, change or swap with the next one so that `a` becomes `b`.
fn edits(a: &str, b: &str) -> usize {
    let [a, b]: [Vec<char>; 2] = [a, b].map(|text| text.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            let mut best = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_19_point_9_a_misspelt_name_is_answered_with_those_near_it() {
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
        assert_eq!(did_you_mean(&[]), "");
        assert_eq!(did_you_mean(&["a"]), "; did you mean `a`?");
        assert_eq!(did_you_mean(&["a", "b", "c"]), "; did you mean `a`, `b` or `c`?");
    }
}
