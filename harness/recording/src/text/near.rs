//! Names that a misspelt one may mean.

/// The most names that [`near`] gives.
const MOST: usize = 4;

/// The names of `known` that `asked` may mean, the nearest first: those that contain it or that it contains, and those
/// that differ from it by few letters.
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

/// A question that names what a misspelt name may mean, as the end of a sentence; empty without such names.
pub fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        [first @ .., last] => format!("; did you mean `{}` or `{last}`?", first.join("`, `")),
    }
}

/// The number of letters to add, remove or replace to make one text of another.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
