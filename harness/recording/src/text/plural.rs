//! Numbers of things.

use std::fmt::Display;

/// A number and the noun it counts, `1 cassette` or `2 cassettes`.
///
/// `noun` is the singular, and words may come before it: `more line`, `pending golden`.
pub fn plural<N: Copy + Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    if n == N::from(1) {
        return format!("{n} {noun}");
    }
    let is_vowel = |c: char| "aeiou".contains(c);
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{n} {stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) => {
            format!("{n} {noun}es")
        }
        _ => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_plural() {
        for (n, noun, expect) in [
            (0, "cassette", "0 cassettes"),
            (1, "cassette", "1 cassette"),
            (2, "cassette", "2 cassettes"),
            (1, "more kind", "1 more kind"),
            (11, "more kind", "11 more kinds"),
            (1, "entry", "1 entry"),
            (3, "entry", "3 entries"),
            (3, "replay", "3 replays"),
            (3, "process", "3 processes"),
            (3, "patch", "3 patches"),
        ] {
            assert_eq!(plural(n, noun), expect);
            assert_eq!(plural(n as u64, noun), expect, "of any width");
        }
    }
}
