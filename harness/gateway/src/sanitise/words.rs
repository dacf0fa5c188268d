//! Tells words, names and placeholders from what a program made, or a person who knows what a
//! password is.

use std::sync::LazyLock;

use regex::Regex;

use super::table::TABLE;

/// The shortest value of a weak name.
pub(super) const SHORTEST: usize = 6;
/// A shorter word is too short for a secret that a program makes; a longer run of letters is more than a word.
pub(super) const LONGEST_WORD: usize = 16;
/// Words that a seed phrase has at least.
const SEED_PHRASE: usize = 12;

/// A character that JSON escapes.
#[allow(clippy::expect_used, reason = "a test uses it")]
static ESCAPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\u[0-9a-fA-F]{4}").expect("the built-in pattern is valid"));

/// Returns whether a text has only words, one of them from the lists of words that are not secret.
pub(super) fn is_words(text: &str) -> bool {
    let (words, text) = (&TABLE.words, ESCAPE.replace_all(text.trim(), " "));
    let runs = || text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    let is_code = |run: &str| words.code.contains(&run.to_lowercase());
    if runs().all(is_repeated) {
        return true;
    }
    if runs().any(|run| is_made(run) && !is_code(run)) {
        return false;
    }
    if words.scripts.iter().any(|word| text.contains(&**word)) {
        return true;
    }
    let is_prose = text.contains(' ');
    // Seed phrases have words of any page in them.
    if is_prose && runs().count() >= SEED_PHRASE && !text.contains(char::is_uppercase) {
        return false;
    }
    if is_foreign_prose(&text) {
        return true;
    }
    let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
    let is_label = |part: &str| words.labels.contains(&part.to_lowercase());
    let is_x = |run: &str| is_repeated(run) && run.starts_with(['x', 'X']);
    let labels = |run: &str| match is_label(run) || is_x(run) {
        true => letters(run),
        false => parts(run).into_iter().filter(|part| is_label(part)).map(letters).sum(),
    };
    let known = |run: &str| if is_code(run) { letters(run) } else { labels(run) };
    let [labels, known, all] =
        [runs().map(labels).sum::<usize>(), runs().map(known).sum(), letters(&text)];
    let has_short_numbers =
        runs().all(|run| run.len() <= 4 || !run.bytes().all(|b| b.is_ascii_digit()));
    has_short_numbers && (labels > 0 && (is_prose || known * 3 >= all) || known == all && all > 0)
}

/// Returns whether a text has letters beyond ASCII and no digit, in several words or without any letter of ASCII: a
/// label of a page, in whatever language. Passwords that people choose are seldom such sentences.
fn is_foreign_prose(text: &str) -> bool {
    let has = |of: fn(char) -> bool| text.chars().any(of);
    has(|c| !c.is_ascii() && c.is_alphabetic())
        && !has(|c| c.is_ascii_digit())
        && (text.contains(' ') || !has(|c| c.is_ascii_alphanumeric()))
}

/// The words of a name such as `accessToken`.
fn parts(run: &str) -> Vec<&str> {
    let (mut parts, mut from, mut was_lower) = (Vec::new(), 0, false);
    for (at, c) in run.char_indices() {
        if was_lower && c.is_uppercase() {
            parts.push(&run[from..at]);
            from = at;
        }
        was_lower = c.is_lowercase();
    }
    parts.push(&run[from..]);
    parts
}

/// `xxxx`.
fn is_repeated(run: &str) -> bool {
    let first = run.chars().next();
    run.len() >= 3
        && run.chars().all(|c| Some(c) == first)
        && first.is_some_and(|c| c.is_alphabetic() || c == '0')
}

/// Returns whether a run of letters and digits looks random: neither a word nor a name.
fn is_made(run: &str) -> bool {
    let count = |of: fn(char) -> bool| run.chars().filter(|c| of(*c)).count();
    let (digits, upper, lower) =
        (count(|c| c.is_ascii_digit()), count(char::is_uppercase), count(char::is_lowercase));
    let cases = || run.chars().zip(run.chars().skip(1));
    let changes = || cases().filter(|(a, b)| a.is_uppercase() != b.is_uppercase()).count();
    let is_mixed_case = run.len() >= 10
        && upper * 10 >= run.len() * 3
        && lower * 10 >= run.len() * 3
        // `HTTPServer` has one.
        && changes() >= 3;
    let has_both = digits > 0 && digits < run.len() && run.len() >= SHORTEST;
    // `NUMERICIDENTIFIER` is a name of a program.
    let is_run = || run.is_ascii() && run.len() >= LONGEST_WORD && upper < run.len();
    let is_long = || is_run() && (parts(run).len() < 2 || !is_name(run));
    !is_repeated(run) && !is_numbered(run) && (has_both || is_mixed_case || is_long())
}

/// Returns whether a run is a word of programs with a number, such as `value1`, or a type, such as `Ed25519PrivateKey`.
fn is_numbered(run: &str) -> bool {
    let words = &TABLE.words;
    let stem = run.trim_end_matches(|c: char| c.is_ascii_digit());
    // `corev1`, `metav1`.
    let is_version = stem.len() <= 5
        && run.len() == stem.len() + 1
        && stem.ends_with('v')
        && stem.bytes().all(|b| b.is_ascii_lowercase());
    let is_label = |part: &str| {
        part.chars().skip(1).all(char::is_lowercase) && words.labels.contains(&part.to_lowercase())
    };
    let is_type = parts(run).len() > 1 && parts(run).last().is_some_and(|last| is_label(last));
    is_type
        || is_version
        || run.len() <= stem.len() + 2 && words.code.contains(&stem.to_lowercase())
}

pub(super) fn has_made_part(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|run| run.len() >= 8 && is_made(run) && !is_name(run))
}

/// Returns whether a run is a name of a program, such as `getUserByName` or `id_ed25519`.
fn is_name(run: &str) -> bool {
    let letters = run.trim_end_matches(|c: char| c.is_ascii_digit());
    let upper = letters.chars().filter(|c| c.is_uppercase()).count();
    letters.bytes().all(|b| b.is_ascii_alphabetic())
        && upper * 10 < letters.len() * 3
        && letters.len() >= parts(letters).len() * 4
        && parts(letters).iter().all(|part| part.len() < LONGEST_WORD)
}

/// Returns whether a value looks made by a program, or by a person who knows what a password is.
pub(super) fn looks_made(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_mixed = |run: &&str| run.contains(is_digit) && run.contains(char::is_alphabetic);
    let is_odd = text.contains(|c| "!#$^&*?=@+~%".contains(c)) && is_mixed(&text);
    let runs = || {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|run| !TABLE.words.code.contains(&run.to_lowercase()))
    };
    is_odd || runs().any(is_made) || runs().filter(is_mixed).count() >= 2
}

/// Words and names of programs.
pub(super) fn is_short_words(text: &str) -> bool {
    let is_word = |run: &str| {
        let is_short = run.len() <= 2 || run.len() <= 4 && run.bytes().all(|b| b.is_ascii_digit());
        (is_short || run.chars().all(char::is_alphabetic) || is_numbered(run)) && !is_made(run)
    };
    !looks_made(text)
        && text.chars().any(char::is_alphabetic)
        && text.chars().all(|c| !c.is_ascii() || c.is_alphanumeric() || "._-:/ ".contains(c))
        && text.split(|c: char| !c.is_alphanumeric()).all(is_word)
}
